"""What do counts of sampled tokens say?  Whether they follow the target, at which rate drafts pass, and how far."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from simspec import theory
from simspec.kernels.sampling import ACCEPTED, BONUS, CORRECTED
from simspec.model import Iid, ParameterError, TokenChain
from simspec.run.token_job import SampledJob
from simspec.stats.goodness import Goodness, goodness
from simspec.stats.intervals import ratio, student
from simspec.text import number, table
from simspec.theory.token_laws import Law

if TYPE_CHECKING:
    import pandas as pd

Ints = NDArray[np.int64]
FALSE_ALARM = 1e-6
"""Below this p-value tokens are said not to follow a law."""

NEED_NOT = "accepted tokens alone do not follow p unless q = p: what they lack, corrected tokens make up for"
MOST_SHOWN, MOST_LISTED = 10, 1000
"""Tokens in a table for people, and in JSON."""


@dataclass(frozen=True)
class Shown:
    """An estimate with its interval and standard error."""

    value: float
    low: float
    high: float
    error: float

    def __str__(self) -> str:
        return f"{self.value:.6f} [{self.low:.6f}, {self.high:.6f}]"


class SampledTokens:
    """Tokens that one pair of laws emitted under one rule.

    Attributes
    ----------
    job : SampledJob
        Pair, κ, budget, seed and rule.
    tokens : int array (3, contexts, V)
        Emitted tokens: accepted drafts, corrected tokens, bonus tokens.
    accepted : int array (lanes, kappa + 1)
        Rounds of each lane by accepted length A.
    level : float
        Of the intervals.
    """

    def __init__(self, job: SampledJob, tokens: Ints, accepted: Ints, level: float = 0.95) -> None:
        self.job, self.tokens, self.accepted, self.level = job, tokens, accepted, level

    @property
    def rounds(self) -> int:
        """Rounds counted."""
        return int(self.accepted.sum())

    @property
    def emitted(self) -> Ints:
        """Emitted tokens, (contexts, V)."""
        return np.asarray(self.tokens.sum(axis=0))

    @functools.cached_property
    def lossless(self) -> Goodness:
        """Emitted tokens against the target."""
        return goodness(self.emitted, self.job.laws[0])

    @property
    def is_lossless(self) -> bool:
        """Whether emitted tokens may be the target's; a false "no" has probability `FALSE_ALARM` or less."""
        return self.lossless.p_value >= FALSE_ALARM

    @functools.cached_property
    def accepted_against_target(self) -> Goodness:
        """Accepted tokens alone against the target: they follow another law unless p = q on the draft's support."""
        return goodness(self.tokens[ACCEPTED], self.job.laws[0])

    @functools.cached_property
    def accepted_against_overlap(self) -> Goodness | None:
        """Accepted tokens against min(p, q)/α; None under block verification, whose law differs by position."""
        target, draft = self.job.laws
        return goodness(self.tokens[ACCEPTED], _scaled(np.minimum(target, draft))) if self._by_token else None

    @functools.cached_property
    def corrected_against_residual(self) -> Goodness | None:
        """Corrected tokens against (p − q)⁺/(1 − α); None under block verification."""
        target, draft = self.job.laws
        return goodness(self.tokens[CORRECTED], _scaled(np.maximum(target - draft, 0.0))) if self._by_token else None

    @property
    def _by_token(self) -> bool:
        return self.job.rule == "token"

    @functools.cached_property
    def mean_accepted(self) -> Shown:
        """E[A]."""
        return self._ratio(self._accepted_by_lane, self.accepted.sum(axis=1))

    @functools.cached_property
    def alpha(self) -> Shown | None:
        """Accepted over examined drafts; None without drafts, and under block verification, which judges prefixes."""
        if not self._by_token or self.job.kappa == 0:
            return None
        rejected = self.accepted[:, :-1].sum(axis=1)
        return self._ratio(self._accepted_by_lane, self._accepted_by_lane + rejected)

    @property
    def _accepted_by_lane(self) -> Ints:
        return np.asarray(self.accepted @ np.arange(self.job.kappa + 1))

    def _ratio(self, top: Ints, bottom: Ints) -> Shown:
        own = ratio(top[None, :], bottom[None, :])
        value, error = float(own.value[0]), float(own.error[0])
        half = student(self.level, len(top)) * error
        return Shown(value, value - half, value + half, error)

    @functools.cached_property
    def exact(self) -> dict[str, float | None]:
        """What theory says: ``alpha``, ``mean_accepted``, and more of a single context.

        That is ``total_variation``, ``bhattacharyya``, ``d_half``, ``alpha_lower``, ``alpha_upper`` and
        ``token_mean_accepted``.  Where block verification makes too many paths to list, ``mean_accepted`` is None;
        ``mean_accepted_lower`` and ``mean_accepted_upper`` hold it in a single context.
        """
        pair, kappa = self.job.pair, self.job.kappa
        if isinstance(pair, TokenChain):
            law = theory.window(pair, kappa)
            alpha = law.mean_accepted / law.mean_examined if kappa else None
            return {
                "alpha": alpha,
                "mean_accepted": law.mean_accepted if self._by_token else _listed(pair, None, kappa),
            }
        target, draft = (law[0] for law in self.job.laws)
        both, d_half = theory.overlap(target, draft), theory.renyi(target, draft, 0.5)
        lower, upper = theory.alpha_bounds_from_half(d_half)
        by_token = theory.window(Iid(alpha=both.alpha), kappa).mean_accepted
        found = {
            "alpha": both.alpha,
            "total_variation": both.total_variation,
            "bhattacharyya": both.bhattacharyya,
            "d_half": d_half,
            "alpha_lower": lower,
            "alpha_upper": upper,
            "token_mean_accepted": by_token,
            "mean_accepted": by_token if self._by_token else _listed(target, draft, kappa),
        }
        if found["mean_accepted"] is None:
            found["mean_accepted_lower"], found["mean_accepted_upper"] = theory.block_bracket(target, draft, kappa)
        return found

    def to_dict(self) -> dict[str, Any]:
        """Everything but the counts by token, as plain JSON values; an infinite divergence is None."""
        checks = {
            "emitted_against_target": self.lossless,
            "accepted_against_target": self.accepted_against_target,
            "accepted_against_overlap": self.accepted_against_overlap,
            "corrected_against_residual": self.corrected_against_residual,
        }
        shown = {"alpha": self.alpha, "mean_accepted": self.mean_accepted}
        return {
            "pair": str(self.job.pair),
            "kappa": self.job.kappa,
            "rule": self.job.rule,
            "seed": self.job.seed,
            "rounds": self.rounds,
            "tokens": int(self.tokens.sum()),
            "level": self.level,
            "exact": {
                key: value if value is None or math.isfinite(value) else None for key, value in self.exact.items()
            },
            "simulated": {key: None if value is None else vars(value) for key, value in shown.items()},
            "accepted_lengths": self.accepted.sum(axis=0).tolist(),
            "lossless": self.is_lossless,
            "laws": self._few_laws(),
            "checks": {key: None if value is None else value.to_dict() for key, value in checks.items()},
        }

    def _few_laws(self) -> dict[str, list[float]] | None:
        """Simulated laws of one context with few tokens; counts of larger ones are in `to_pandas`."""
        if self.tokens[0].size > MOST_LISTED or len(self.tokens[0]) > 1:
            return None
        laws = {"emitted": self.emitted, "accepted": self.tokens[ACCEPTED], "corrected": self.tokens[CORRECTED]}
        return {name: _scaled(counts[0].astype(float)).tolist() for name, counts in laws.items()}

    def to_pandas(self) -> pd.DataFrame:
        """One row per context and token: probabilities and counts."""
        import pandas as pd

        target, draft = self.job.laws
        contexts, size = target.shape
        columns: dict[str, Any] = {
            "context": np.repeat(np.arange(contexts), size),
            "token": np.tile(np.arange(size), contexts),
            "target": target.ravel(),
            "draft": draft.ravel(),
        }
        for kind, name in ((ACCEPTED, "accepted"), (CORRECTED, "corrected"), (BONUS, "bonus")):
            columns[name] = self.tokens[kind].ravel()
        return pd.DataFrame(columns)

    def __repr__(self) -> str:
        job = self.job
        total = int(self.tokens.sum())
        verdict = "lossless: emitted tokens follow the target" if self.is_lossless else "NOT LOSSLESS"
        asked = "" if self.rounds == job.windows else f" ({job.windows:,} asked, in whole lanes)"
        head = (
            f"{job.pair}; {job.rule} rule, κ = {job.kappa}; {self.rounds:,} rounds{asked}, {total:,} tokens, "
            f"seed {job.seed}"
        )
        return "\n".join([head, "", self._numbers(), "", self._checks(), "", self._laws(), "", verdict])

    def _numbers(self) -> str:
        exact, rows = self.exact, []
        names = (
            ("alpha", "α, accepted/examined", self.alpha),
            ("total_variation", "total variation, 1 − α", None),
            ("d_half", "D_½ = −2 ln Σ√(pq)", None),
            ("alpha_lower", "least α at this D_½", None),
            ("alpha_upper", "largest α at this D_½", None),
            ("mean_accepted", "E[A]", self.mean_accepted),
        )
        for key, name, seen in names:
            if key in exact:
                rows.append([name, self._told(key), "" if seen is None else str(seen)])
        if not self._by_token and "token_mean_accepted" in exact:
            rows.append(["E[A] of the token rule", self._told("token_mean_accepted"), ""])
        return table(["", "exact", f"simulated [{self.level:.0%}]"], rows)

    def _told(self, key: str) -> str:
        """An exact value; its bounds, or that there is none, where too many paths would have to be listed."""
        value = self.exact[key]
        if value is not None:
            return number(value, 6)
        lower, upper = (self.exact.get(f"{key}_{end}") for end in ("lower", "upper"))
        return "too many paths" if lower is None or upper is None else f"{lower:.5f} to {upper:.5f}"

    def _checks(self) -> str:
        rows = []
        for name, found, must in (
            ("emitted ~ p", self.lossless, True),
            ("accepted ~ p", self.accepted_against_target, False),
            ("accepted ~ min(p, q)/α", self.accepted_against_overlap, True),
            ("corrected ~ (p − q)⁺/(1 − α)", self.corrected_against_residual, True),
        ):
            if found is not None and found.tokens:
                agrees = found.p_value >= FALSE_ALARM
                fine = ("yes" if agrees else "NO") if must else "need not agree"
                figures = [f"{found.statistic:.1f}", f"{found.freedom:,}", f"{found.p_value:.3g}"]
                rows.append([name, *figures, "yes" if agrees else "no", fine])
        text = table(["tokens and law", "χ²", "freedom", "p-value", "agree", "as it should"], rows)
        return text + "\n" + NEED_NOT

    def _laws(self) -> str:
        """The likeliest tokens: what is accepted is not what is emitted."""
        target, draft = self.job.laws
        likely = np.argsort(-target, axis=None, kind="stable")[:MOST_SHOWN]
        emitted, accepted = _scaled(self.emitted.astype(float)), _scaled(self.tokens[ACCEPTED].astype(float))
        rows = []
        for flat in likely:
            context, token = divmod(int(flat), target.shape[1])
            laws = (target, draft, emitted, accepted)
            name = f"{token}" if len(target) == 1 else f"{context}→{token}"
            rows.append([name, *(f"{law[context, token]:.6f}" for law in laws)])
        more = target.size - len(rows)
        text = table(["token", "p", "q", "emitted", "accepted"], rows)
        return text + (f"\n… and {more:,} less likely" if more else "")


def _listed(target: Law | TokenChain, draft: Law | None, kappa: int) -> float | None:
    """E[A] of block verification; None where it takes too many paths, which is said where the number would stand."""
    try:
        return theory.block_verification(target, draft, kappa).mean_accepted
    except ParameterError:
        return None


def _scaled(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rows divided by their sums; a row without anything stays empty."""
    total = weights.sum(axis=-1, keepdims=True)
    out = np.zeros(weights.shape)
    np.divide(weights, total, out=out, where=total > 0.0)
    return out
