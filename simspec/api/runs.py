"""What does a simulation show?  simulate and sweep, and read, compare and write_report for what they left."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simspec.model import Cost, Process, Scenario, Scheme
from simspec.model.asked import as_cost, as_policy, as_process, as_scheme, as_serving

if TYPE_CHECKING:
    from simspec.claims.validation import Validation
    from simspec.model.policies import Policy
    from simspec.model.serving import Serving
    from simspec.run.comparison import Comparison
    from simspec.run.dataset import Dataset
    from simspec.run.executors import Crew
    from simspec.run.single import SimulationResult


def simulate(
    process: Process | dict[str, Any],
    cost: Cost | dict[str, Any] | None = None,
    kappa: Iterable[int] | int | None = None,
    windows: int = 1_000_000,
    seed: int = 1,
    level: float = 0.95,
    threads: int | None = None,
    method: str = "simulate",
    scheme: Scheme | dict[str, Any] | str | None = None,
    policy: Policy | dict[str, Any] | str | None = None,
    serving: Serving | dict[str, Any] | None = None,
) -> SimulationResult:
    """Simulate one process at one cost, in memory.

    Parameters
    ----------
    process, cost
        As for `exact`.
    kappa : int or iterable of int, optional
        Draft lengths, 0 to 256; default 0 … 16, or 0 … n for a curve of n measured positions.
    windows : int
        Rounds per κ, rounded up to whole lanes or generations; what was run is in the column ``rounds``.
    seed : int
        0 ≤ seed < 2⁶⁴; the only source of randomness.
    level : float
        Confidence level of the intervals, 0.5 ≤ level < 1.
    threads : int, optional
        Worker threads; changes no number.
    method : str
        ``"simulate"``: rounds are played.  ``"multinomial"``: where windows are independent, the counts of exactly
        ``windows`` of them are drawn at once, in a time that does not grow with their number; the draw depends on seed,
        process and ``windows``, and on the numpy version, which promises no bits.  It is made over the runs up to the
        longest κ and folded for the others, and runs are drawn in order, so that other κ give the same windows.
        ``"exact"``: exact values with intervals of no width, ``rounds`` and ``units`` 0; unknown columns are null.
    scheme : Scheme, dict or str, optional
        How a round drafts and verifies, e.g. ``{"type": "tree", "misses": [0.4, 0.2]}``, or the name of a system, such
        as ``"medusa"`` (docs/systems.md); a chain unless given.
    policy : Policy, dict or str, optional
        Who chooses κ between rounds, e.g. ``{"type": "heuristic", "first": 5}`` or ``"rolling"``; ``kappa`` is then not
        read.  The same κ in every round unless given.
    serving : Serving or dict, optional
        How requests are served: ``{"batch": 8}`` in steps of eight that share one κ, ``{"delay": 2}``: the policy is
        told of a round two rounds later (docs/serving.md); each alone and told at once unless given.

    Returns
    -------
    SimulationResult
        With ``to_pandas()`` (one row per κ, columns as in the estimates table), ``tallies`` and a readable repr.

    Raises
    ------
    ParameterError
        A parameter is outside its range, or ``method`` is impossible for the process.

    Examples
    --------
    >>> import simspec
    >>> result = simspec.simulate(simspec.Iid(alpha=0.7), {"c_d": 0.1}, kappa=range(9), windows=100_000, seed=1)
    >>> result.kappa_star
    4
    >>> many = simspec.simulate(simspec.Iid(alpha=0.7), {"c_d": 0.1}, windows=10**12, method="multinomial")
    >>> many.tallies[4].total("n"), simspec.simulate(simspec.Iid(alpha=0.7), kappa=4, method="exact").tallies
    (1000000000000, [])
    """
    from simspec.run.single import run_single

    return run_single(
        as_process(process),
        as_cost(cost),
        kappa,
        windows,
        seed,
        level,
        threads,
        method,
        as_scheme(scheme),
        as_policy(policy),
        as_serving(serving),
    )


def sweep(
    scenario: Scenario | str | Path | dict[str, Any],
    output: str | Path | None = None,
    threads: int | None = None,
    seed: int | None = None,
    windows: int | None = None,
    method: str | None = None,
    record: int | None = None,
    record_every: int = 1,
    crew: Crew | None = None,
) -> Dataset:
    """Run a scenario into a folder of Parquet files and open it.

    Parameters
    ----------
    scenario : Scenario, path or dict
        A scenario, the TOML file of one, or its keys.
    output : path or address, optional
        Folder; default ``results/<scenario name>``.  Or e.g. ``"s3://bucket/name"`` (docs/sweeps.md).
    threads : int, optional
        Worker threads; changes no number.
    seed, windows : int, optional
        Override those of the scenario.
    method : str, optional
        Likewise: ``"simulate"``, ``"multinomial"`` or ``"exact"``, see `simulate`.
    record : int, optional
        Also write the first so many of the counted rounds of each simulation and κ, at most 4096 of each lane.  Default
        none: writing a round takes far longer than playing it.
    record_every : int
        Take only every so many-th chunk of 64 lanes: a sample spread over the budget.
    crew : Crew, optional
        Who plays instead of threads: processes, a cluster, an executor of your own; changes no number.

    Returns
    -------
    Dataset
        With ``estimates``, ``counts``, ``chunks``, ``best()``, ``to_pandas()``, and ``rounds()`` if they were recorded.

    Raises
    ------
    ScenarioError, ParameterError
        The scenario is wrong; the message names file, line and key.
    DatasetError
        The folder cannot be written, or holds another run.

    Examples
    --------
    >>> import simspec, tempfile, pathlib
    >>> table = {"name": "tiny", "windows": 10_000, "kappa": [0, 4], "process": {"type": "iid", "alpha": 0.7}}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     simspec.sweep(table, output=pathlib.Path(folder) / "tiny").estimates["kappa"].tolist()
    [0, 4]
    """
    from simspec.run.record import Recording
    from simspec.run.sweep import sweep as run_sweep

    given = {"seed": seed, "windows": windows, "method": method}
    changed: dict[str, Any] = {key: value for key, value in given.items() if value is not None}
    if isinstance(scenario, Scenario):
        scenario = replace(scenario, **changed)
    elif isinstance(scenario, dict):
        scenario = Scenario.from_dict(scenario | changed)
    else:
        scenario = Scenario.from_toml(scenario, **changed)
    recording = None if record is None else Recording(record, record_every)
    return run_sweep(scenario, output, threads, recording=recording, crew=crew)


def read(path: str | Path) -> Dataset | Validation:
    """Open a folder that ``simspec run`` or ``simspec validate`` wrote, or its address in an object store.

    Raises
    ------
    DatasetError
        The folder is missing, is no simspec dataset, or was written by a newer simspec.

    Examples
    --------
    >>> import simspec
    >>> simspec.read("results/never-run")
    Traceback (most recent call last):
    ...
    simspec.model.errors.DatasetError: results/never-run: there is no such folder
    """
    from simspec.run.dataset import read as read_dataset

    found = read_dataset(path)
    if found.manifest.get("kind") == "claims":
        from simspec.claims.validation import Validation

        return Validation.stored(found)
    return found


def compare(
    a: str | Path | Dataset, b: str | Path | Dataset, error: float = 1e-3, shift: float = 0.002,
    policies: Sequence[str] = (),
) -> Comparison:  # fmt: skip
    """Do two runs differ beyond chance?  Every quantity of every simulation, point and κ, with one error for all.

    Parameters
    ----------
    a, b : path or Dataset
        Two folders that ``simspec run`` wrote.
    error : float
        Probability of any false alarm over all comparisons (Holm).
    shift : float
        Relative shift of E[A] for which the needed budget is given.
    policies : (str, str), optional
        Compare who chooses κ instead: a policy of ``a`` against one of ``b`` (which may be the same folder), by the
        names that a summary shows; a number is a fixed κ.

    Returns
    -------
    Comparison
        With ``differs``, ``rows``, ``to_pandas()`` and a readable repr.

    Raises
    ------
    DatasetError
        A folder cannot be read, or the two have nothing in common.

    Examples
    --------
    >>> import simspec, tempfile, pathlib
    >>> table = {"name": "tiny", "windows": 10_000, "kappa": [4], "process": {"type": "iid", "alpha": 0.7}}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     runs = [simspec.sweep(table, output=pathlib.Path(folder) / str(seed), seed=seed) for seed in (1, 2)]
    ...     simspec.compare(*runs).differs
    False
    """
    from simspec.run.compare import compare as run_compare

    return run_compare(a, b, error, shift, policies)


def write_report(
    results: str | Path, output: str | Path = "report.html", where: dict[str, Any] | None = None
) -> Path:  # fmt: skip
    """Write one self-contained offline HTML page of a result folder.

    Parameters
    ----------
    results : path
        A folder that ``simspec run`` or ``simspec validate`` wrote.
    output : path
        The page; replaced if it exists.
    where : dict, optional
        Only what was run so, e.g. ``{"policy": "rolling"}``; as for ``read(…).where``.

    Returns
    -------
    Path
        The page.

    Raises
    ------
    DatasetError
        The folder cannot be read or the page not written.
    SimspecError
        matplotlib is missing: ``pip install 'simspec[report]'``.

    Examples
    --------
    >>> import simspec, tempfile, pathlib
    >>> table = {"name": "tiny", "windows": 10_000, "kappa": [0, 4], "process": {"type": "iid", "alpha": 0.7}}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     data = simspec.sweep(table, output=pathlib.Path(folder) / "tiny")
    ...     simspec.write_report(data.path, pathlib.Path(folder) / "page.html").name
    'page.html'
    """
    from simspec.report import report

    return report(results, output, where)
