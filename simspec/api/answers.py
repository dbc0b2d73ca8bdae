"""What is true of a pair, of cases, of a trace and of the article?  exact, solve, trace, validate."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simspec.model import Cost, Process, Scheme
from simspec.model.asked import as_cost, as_process, as_scheme

if TYPE_CHECKING:
    from simspec.advice.exact import ExactAnswer
    from simspec.advice.scheme_answer import SchemeAnswer
    from simspec.advice.trace import TraceSummary
    from simspec.claims.validation import Validation


def exact(
    process: Process | dict[str, Any],
    cost: Cost | dict[str, Any] | None = None,
    kappa_max: int | None = None,
    scheme: Scheme | dict[str, Any] | str | None = None,
) -> ExactAnswer | SchemeAnswer:
    """The exact answer for one process at one cost: best κ, flatness, what each position buys, off or not.

    Parameters
    ----------
    process : Process or dict
        E.g. ``simspec.Iid(alpha=0.7)`` or ``{"type": "iid", "alpha": 0.7}``.
    cost : Cost or dict, optional
        In plain target steps; default one target pass per round and free drafts.
    kappa_max : int, optional
        Largest κ considered, up to 1,000; default 64, or the length of a measured curve.  With a scheme every κ up to
        it, by default the scheme's usual ones.
    scheme : Scheme, dict or str, optional
        How a round drafts and verifies, as for `simulate`; a chain unless given.

    Returns
    -------
    ExactAnswer or SchemeAnswer
        With ``kappa_star``, ``to_dict()``, ``to_pandas()`` and a readable repr; of a chain also ``optimum``.

    Raises
    ------
    ParameterError
        A parameter is outside its range; the message says what is allowed.

    References
    ----------
    Leviathan, Kalman, Matias (2023), Theorem 3.8, is the case c0 = 1, c_v = c_r = 0.

    Examples
    --------
    >>> import simspec
    >>> simspec.exact({"type": "iid", "alpha": 0.7}, {"c_d": 0.1}).kappa_star
    4
    >>> tree = simspec.exact({"type": "iid", "alpha": 0.7}, {"c_d": 0.1}, scheme={"type": "tree", "misses": [0.4]})
    >>> tree.kappa_star, round(tree.best["speedup"], 4)
    (16, 2.0809)
    """
    from simspec.advice.exact import exact_answer

    return exact_answer(as_process(process), as_cost(cost), kappa_max, as_scheme(scheme))


def solve(cases: list[Any], windows: int | None = None, seed: int = 1) -> list[dict[str, Any]]:
    """Answer a list of cases, as ``simspec solve`` does.

    Parameters
    ----------
    cases : list of dict
        ``{"id", "process", "kappa" | "kappa_max", "cost"}``.
    windows : int, optional
        Also simulate each case.
    seed : int
        Root seed of the simulations.

    Returns
    -------
    list of dict
        In the same order; a case that cannot be answered gives ``{"id", "error": {"key", "message"}}``.

    Examples
    --------
    >>> import simspec
    >>> simspec.solve([{"id": 1, "process": {"type": "iid", "alpha": 0.7}, "kappa_max": 8, "cost": {"c_d": 0.1}}])[0][
    ...     "kappa_star"
    ... ]
    4
    """
    from simspec.advice.solve import solve as answer

    return answer(cases, windows, seed)


def trace(path: str | Path, level: float = 0.95, **keys: Any) -> TraceSummary:
    """What measured rounds say: tokens per round, survival, correlation, with errors clustered by request.

    Parameters
    ----------
    path : str or Path
        Parquet, CSV or JSON lines, or ``shipped:smollm2``.
    level : float
        Confidence level of the intervals.
    **keys
        The keys of a ``trace`` process: ``accepted``, ``bonus_included``, ``drafted``, or ``alpha``; ``request``,
        ``where``.  What simspec records or ships says its columns itself.

    Raises
    ------
    ParameterError
        The file or a column cannot be used; the bonus token is not said to be in or out.

    Examples
    --------
    >>> import simspec, tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "rounds.csv"
    ...     _ = file.write_text("request,accept_len\\na,3\\na,1\\nb,2\\nb,5\\n")
    ...     summary = simspec.trace(file, request="request", accepted="accept_len", bonus_included=True, drafted=4)
    >>> dict(summary.rows)["tokens per round E"].value
    2.75
    """
    from simspec.advice.trace import TraceSummary
    from simspec.evidence.files import first_trace

    return TraceSummary(first_trace(str(path), **keys), level)


def validate(
    quick: bool = False,
    seed: int = 1,
    output: str | Path | None = None,
    threads: int | None = None,
    traces: Iterable[str | Path] = (),
) -> Validation:
    """Judge the article's claims: every row by simulation and by the exact route.

    Parameters
    ----------
    quick : bool
        Smaller budgets: seconds instead of minutes.
    seed : int
        0 ≤ seed < 2⁶⁴.
    output : path, optional
        Folder; default ``results/claims/<quick|full>-seed<seed>``.
    threads : int, optional
        Worker threads; changes no number.
    traces : iterable of path
        Measured traces to hear as well: scenarios with processes of type ``trace``, ``"shipped:smollm2"``, or files
        whose columns say what they are; see ``simspec validate --help``.

    Returns
    -------
    Validation
        With ``rows``, ``agrees`` (False if engine and exact route disagree), ``to_pandas()``, ``to_list()``.  Each row
        also holds ``evidence``, what published figures and the traces say, and ``evidence_verdict``.

    Raises
    ------
    ParameterError, ScenarioError
        A trace cannot be used; the message says what to write.
    DatasetError
        ``output`` holds something else.

    Examples
    --------
    >>> import simspec, tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     rows = simspec.validate(quick=True, output=pathlib.Path(folder) / "claims").to_pandas()
    >>> rows[rows["id"] == "C31"]["verdict"].tolist()
    ['refuted', 'refuted', 'refuted']
    """
    from simspec.claims.validation import validate as run_validation

    return run_validation(quick, seed, output, threads, traces=list(traces))
