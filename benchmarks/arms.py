"""What of simspec is timed?  Each arm plays about as many windows as it is asked for and returns how many there were.

`compare.py` runs this file against older revisions of simspec too.  So nothing of simspec is imported before an arm is
built, and an arm that a revision cannot build costs only itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import setting
from timing import Play

ALL_KAPPAS = tuple(range(33))
SEED = 1


def _markov(model: Any) -> Any:
    return model.Markov(alpha=setting.ALPHA, rho=setting.RHO, start="carry")


def _drift(model: Any) -> Any:
    return model.Drift(alpha_start=setting.DRIFT_START, alpha_end=setting.DRIFT_END, tokens=setting.TOKENS)


def _hmm(model: Any) -> Any:
    return model.Hmm(P=setting.MOVES.tolist(), alphas=setting.REGIMES.tolist(), start="carry")


def _beta(model: Any) -> Any:
    return model.BetaMixture(alpha=setting.BETA_MEAN, rho=setting.BETA_RHO, request_tokens=setting.TOKENS)


def _discrete(model: Any) -> Any:
    alphas, weights = setting.MIX_ALPHAS, setting.MIX_WEIGHTS
    return model.DiscreteMixture(
        alphas=alphas, weights=weights, weights_of="requests", request_tokens=setting.TOKENS
    )  # fmt: skip


ARMS: dict[str, tuple[Callable[[Any], Any], tuple[int, ...]]] = {
    "iid": (lambda model: model.Iid(alpha=setting.ALPHA), (setting.KAPPA,)),
    "iid all kappa": (lambda model: model.Iid(alpha=setting.ALPHA), ALL_KAPPAS),
    "markov": (_markov, (setting.KAPPA,)),
    "drift": (_drift, (setting.DRIFT_KAPPA,)),
    "hmm": (_hmm, (setting.KAPPA,)),
    "beta requests": (_beta, (setting.KAPPA,)),
    "discrete requests": (_discrete, (setting.KAPPA,)),
    "tree": (lambda model: model.Iid(alpha=setting.TREE_ALPHA), (setting.TREE_NODES,)),
}
"""Arm → (process from the module `simspec.model`, its kappas)."""


def _scheme(name: str) -> dict[str, Any]:
    """The scheme of an arm that is no chain, as a keyword; older revisions have none."""
    if name != "tree":
        return {}
    from simspec.model.schemes import Tree

    return {"scheme": Tree(misses=setting.TREE_MISSES)}


def _own(kappa: Any, accepted: Any, full: Any, memory: Any) -> None:
    """A user's policy that computes what "+2/−1" does."""
    for lane in range(kappa.size):
        kappa[lane] += 2 if full[lane] else -1


def _rolling() -> Any:
    """The rolling estimate whose cells are those of the peers: a cut wherever two neighbours differ."""
    from simspec.kernels.lower_policies import policy_form
    from simspec.model.policies import Rolling

    lengths = setting.lengths()
    at = np.flatnonzero(np.diff(lengths)) + 1
    policy = Rolling(
        rule="table", cuts=(at / setting.CELLS).tolist(), kappas=[1, *lengths[at].tolist()], first=setting.POLICY_START,
        highest=setting.LONGEST, smoothing=setting.SMOOTHING, initial=setting.FIRST_ESTIMATE,
    )  # fmt: skip
    return policy_form(policy)[0]


def _policy_arm(process: str, policy: str) -> Play:
    """The general loop at a policy, one thread, chunks of 64 lanes."""

    def timed(windows: int) -> int:
        import simspec.model as model
        from simspec.kernels import lower, play
        from simspec.kernels.forms import Policy
        from simspec.kernels.words import stream_keys

        first = setting.fixed_kappa(process) if policy == "fixed" else setting.POLICY_START
        last = first if policy == "fixed" else setting.LONGEST
        choices = {
            "fixed": Policy(lowest=first, highest=last),
            "heuristic": Policy(2, -1, 1, last),
            "own": Policy(lowest=1, highest=last, own=_own),
        }
        if policy == "rolling":  # older revisions have no such pass
            choices[policy] = _rolling()
        form, keys = lower.form(ARMS[process][0](model), last), stream_keys(SEED, process)
        length = 64 if process == "drift" else 4096
        done = chunk = 0
        while done < windows:
            done += play.play(form, keys, chunk, 64, length, first, choices[policy]).total("n")
            chunk += 1
        return done

    return timed


POLICY_ARMS: dict[str, tuple[Play, int]] = {
    f"{process} {policy}": (_policy_arm(process, policy), 100_000)
    for process in ("iid", "markov", "drift")
    for policy in ("fixed", "heuristic", "rolling", "own")
}
"""Arms of the general loop: "<process> <policy>" → (callable, windows).

The policy "own" is a user's function, compared with the peers' "+2/−1" loops.  The callable plays about as many rounds
as its argument says and returns how many there were; ``windows`` is the size of the first try, which compiles.
"""


def job(name: str, windows: int) -> Any:
    """The job of one of `ARMS` with a budget of ``windows``."""
    import simspec.model as model
    from simspec.run.engine import Job

    make, kappas = ARMS[name]
    return Job(model.Simulation(make(model), **_scheme(name)), kappas, windows, SEED)


def player(name: str) -> Play:
    """One of `ARMS` or `POLICY_ARMS` as something to time, played in the calling thread.

    Windows that answer several kappas at once count once.
    """
    if name in POLICY_ARMS:
        return POLICY_ARMS[name][0]
    from simspec.run.engine import play

    job(name, 1)  # a revision that lacks the process says so here

    def timed(windows: int) -> int:
        work = job(name, windows)
        return int(play(work, range(work.layout.chunks))[0].total("n"))

    return timed


def first_try(name: str) -> int:
    """Windows with which to find the size of a sample."""
    return POLICY_ARMS[name][1] if name in POLICY_ARMS else 100_000


def on_threads(name: str, threads: int) -> Play:
    """The same through `simspec.run.engine.run_jobs`, which cuts the work into pieces for ``threads`` threads."""

    def timed(windows: int) -> int:
        return int(results(name, windows, threads)[0].total("n"))

    return timed


def results(name: str, windows: int, threads: int) -> Any:
    """Tallies of an arm, to be compared bit for bit."""
    from simspec.run.dispatch import run_jobs

    ((_, tallies),) = run_jobs([job(name, windows)], threads=threads)
    return tallies
