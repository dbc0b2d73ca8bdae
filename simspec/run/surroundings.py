"""Where are controllers tried?  Drafts of one rate, rates that change, a recorded model, outputs that become dear."""

from __future__ import annotations

from dataclasses import dataclass

from simspec.model import Cost, DiscreteMixture, Drift, Hmm, Iid, Markov, Process, Survival, Trace
from simspec.theory.stretch_costs import Stretches

TOKENS = 1024
HIGH, LOW = 0.9, 0.45
PERIODS = (4, 8, 16, 32, 64, 128, 256, 512)
"""Tokens that a rate holds before an adversary changes it."""
_MTP_8 = (0.7617, 0.6158, 0.5125, 0.4243, 0.3640, 0.3094, 0.2722, 0.2365)
"""Survival by draft position of a multi-token predictor, as printed in vLLM pull request 48892."""

_RECORDED: dict[str, str | int | float | bool] = {"draft": "tl24", "temperature": 1.0}


@dataclass(frozen=True)
class Surrounding:
    """One place where controllers play.

    Attributes
    ----------
    process : Process
    says : str
        What it is, in words.
    dearer : tuple of (int, float)
        (output position, factor): from there on drafting and verifying cost so many times as much; empty: the same
        prices everywhere.
    kappa : int, optional
        The draft length that is set there now, which plays too.
    """

    process: Process
    says: str
    dearer: tuple[tuple[int, float], ...] = ()
    kappa: int | None = None

    @property
    def forgets(self) -> bool:
        """Whether no round tells of the next, so that the best fixed κ cannot be beaten."""
        return self.process.unit == "window"

    def prices(self, cost: Cost) -> Stretches:
        """Prices by stretch of the output.

        Examples
        --------
        >>> [(first, own.c_d) for first, own in surroundings()["long"].prices(Cost(c_d=0.1))]
        [(0, 0.1), (1024, 0.15), (2048, 0.2), (3072, 0.25)]
        """
        if cost.longest_draft is not None:
            return [(first, _table(cost, factor)) for first, factor in self.dearer]
        return [
            (first, cost.changed(c_d=round(cost.c_d * factor, 12), c_v=round(cost.c_v * factor, 12)))
            for first, factor in self.dearer
        ]


def _table(cost: Cost, factor: float) -> Cost:
    """What κ drafts add to a plain pass, so many times; prices that are tables stay tables."""
    keys = cost.tables()
    if "draft_table" in keys:
        keys["draft_table"] = [factor * own for own in keys["draft_table"]]
    if "verify_table" in keys:
        plain = keys["verify_table"][0]
        keys["verify_table"] = [plain + factor * (own - plain) for own in keys["verify_table"]]
    lone = {key: factor * getattr(cost, key) for key in ("c_d", "c_v")}
    return cost.changed(**(lone | keys))


def surroundings() -> dict[str, Surrounding]:
    """All of them, by name."""
    return {
        "α .6": Surrounding(Iid(alpha=0.6), "independent drafts"),
        "α .7": Surrounding(Iid(alpha=0.7), "independent drafts"),
        "α .85": Surrounding(Iid(alpha=0.85), "independent drafts"),
        "runs": Surrounding(Markov(alpha=0.7, rho=0.3, start="carry"), "a carried Markov chain, α = .7, ρ = .3"),
        "rising": Surrounding(
            Survival(survival=_MTP_8),
            "survival of eight draft positions of a multi-token predictor (vLLM pull request 48892)",
        ),
        "hidden": Surrounding(
            Hmm(P=((0.98, 0.02), (0.02, 0.98)), alphas=(HIGH, LOW), start="carry"),
            "α is .9 or .45 by a hidden state that changes after 50 tokens on average",
        ),
        "falls": Surrounding(_line(0.85, 0.62, TOKENS), f"α falls from .85 to .62 over {TOKENS:,} tokens"),
        "grows": Surrounding(_line(0.62, 0.85, TOKENS), f"α grows from .62 to .85 over {TOKENS:,} tokens"),
        "long": Surrounding(
            _line(0.85, 0.6, 4 * TOKENS),
            f"α falls from .85 to .6 over {4 * TOKENS:,} tokens, and drafts cost 1, 1.5, 2 and 2.5 times as much by "
            "quarters, of which controllers know the first; every output begins with an empty memory",
            tuple((TOKENS * i, 1.0 + 0.5 * i) for i in range(4)),
        ),
        "regimes": Surrounding(by_turns(256), "α is .9 and .45 by turns, 256 tokens each"),
        "quick": Surrounding(by_turns(16), "the same by turns of 16 tokens"),
        "mix": Surrounding(
            DiscreteMixture(
                alphas=(0.91, 0.49), weights=(0.5, 0.5), weights_of="requests", request_tokens=TOKENS // 4
            ),
            f"half of the requests of {TOKENS // 4} tokens have α = .91 (code), the others .49 (prose)",
        ),
        "recorded": Surrounding(
            Trace(path="shipped:smollm2", alpha="alpha", request="request", where=_RECORDED),
            "chances of acceptance recorded at every position of 72 texts: SmolLM2-135M drafts with a map of layer 24",
        ),
    }  # fmt: skip


def by_turns(length: int) -> Drift:
    """A high and a low rate by turns, ``length`` tokens each.

    Examples
    --------
    >>> by_turns(256).rates()[255:257]
    [0.9, 0.45]
    """
    return Drift(shape="table", alphas=tuple(HIGH if i // length % 2 == 0 else LOW for i in range(TOKENS)))


def _line(first: float, last: float, tokens: int) -> Drift:
    return Drift(alpha_start=first, alpha_end=last, tokens=tokens)
