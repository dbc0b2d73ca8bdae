"""How long are drafts copied from where the last tokens stood before, and how do rounds with and without one follow?

The state is the last tokens of the text, as many as are looked through.  It says what is copied; the target draws its
own tokens and keeps the copy as far as they agree.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from simspec.model.errors import ParameterError
from simspec.theory.law import FloatArray
from simspec.theory.ranges import EXACT_KAPPA_LIMIT, check_whole
from simspec.theory.round_chains import STATES_LIMIT, long_run
from simspec.theory.token_pools import returning_rows

Window = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class CopyLaw:
    """Long-run law of rounds whose drafts are copied.

    Attributes
    ----------
    joint : array, shape (kappa + 1, kappa + 1)
        P(d tokens are copied, of which the first a are kept) at [d, a].
    p_match : float
        Share of rounds with a draft.
    after_match, after_miss : float
        Chance of a draft, given that the round before had one, and that it had none; NaN where that never happens.
    after_two_matches, after_two_misses : float
        The same given the two rounds before.  `Lookup` with its two chances takes them to be equal to those after one.
    mean_matched_run, mean_missed_run : float
        Rounds on end with a draft, and without: 1/(1 − after_match), 1/after_miss.
    """

    joint: FloatArray
    p_match: float
    after_match: float
    after_miss: float
    after_two_matches: float
    after_two_misses: float

    @property
    def mean_accepted(self) -> float:
        """Tokens kept per round; one more is emitted."""
        return float(self.joint.sum(axis=0) @ np.arange(len(self.joint)))

    @property
    def mean_drafted(self) -> float:
        """Tokens copied per round."""
        return float(self.joint.sum(axis=1) @ np.arange(len(self.joint)))

    @property
    def p_rejected(self) -> float:
        """Share of rounds in which a copied token is rejected."""
        return float(np.tril(self.joint, -1).sum())

    @property
    def mean_matched_run(self) -> float:
        """Rounds on end with a draft."""
        return _mean_run(1.0 - self.after_match)

    @property
    def mean_missed_run(self) -> float:
        """Rounds on end without a draft."""
        return _mean_run(self.after_miss)


def _mean_run(leaving: float) -> float:
    """Rounds on end that are left with a given chance; none are ever left where it is 0."""
    return 1.0 / leaving if leaving != 0.0 else np.inf


def copy_law(
    target: Sequence[Sequence[float]],
    kappa: int,
    memory: int,
    match_max: int = 3,
    match_min: int = 1,
    which: Literal["earliest", "latest"] = "earliest",
) -> CopyLaw:
    """Law of rounds that draft what followed the last tokens of the text where they stood before.

    Parameters
    ----------
    target : sequence of rows
        Law of the next token by the last one; all tokens keep coming back.
    kappa : int
        Longest draft, 0 to 1000.
    memory : int
        Tokens looked through, 2 or more; V^memory texts are listed, 5,000 at most.
    match_max, match_min : int
        Tokens that have to match, as many as possible between these.
    which : {"earliest", "latest"}
        Of several places, which one is copied from.

    Returns
    -------
    CopyLaw

    Raises
    ------
    ParameterError
        A row is no law, there are too many texts, or rounds fall into one of several cycles.

    References
    ----------
    Saxena (2023), Prompt Lookup Decoding.

    Examples
    --------
    >>> law = copy_law([[0.9, 0.1], [0.4, 0.6]], kappa=2, memory=4, match_min=2)
    >>> round(law.p_match, 6), round(law.mean_accepted, 6), round(law.mean_matched_run, 4)
    (0.588266, 0.504876, 3.9726)
    """
    rows = returning_rows(target)
    check_whole("kappa", kappa, 0, EXACT_KAPPA_LIMIT)
    check_whole("memory", memory, 2)
    check_whole("match_max", match_max, 1)
    check_whole("match_min", match_min, 1, match_max)
    if which not in ("earliest", "latest"):
        raise ParameterError("which", f'which = {which!r} is unknown; allowed: "earliest" or "latest"')
    most = int(np.log(STATES_LIMIT) / np.log(len(rows))) if len(rows) > 1 else memory
    if memory > most:
        told = f"memory = {memory} makes {len(rows)}^{memory} texts"
        raise ParameterError(
            "memory", f"{told}, more than an exact answer can list; allowed: memory ≤ {most} with {len(rows)} tokens"
        )
    draft = {
        text: _copy(text, kappa, match_max, match_min, which)
        for text in itertools.product(range(len(rows)), repeat=memory)
        if all(rows[a, b] > 0.0 for a, b in itertools.pairwise(text))
    }
    ends = {text: list(_endings(text, copied, rows)) for text, copied in draft.items()}
    law = long_run(draft, lambda text: ((chance, after) for chance, _, after in ends[text]))
    joint = np.zeros((kappa + 1, kappa + 1))
    for text, weight in law.items():
        for chance, kept, _ in ends[text]:
            joint[len(draft[text]), kept] += weight * chance

    def share(*matches: bool) -> float:
        """Chance that successive rounds have a draft, or none, in this order."""
        value = dict.fromkeys(draft, 1.0)
        for i, asked in enumerate(reversed(matches)):
            if i > 0:
                value = {text: sum(chance * value[after] for chance, _, after in ends[text]) for text in ends}
            value = {text: own if (len(draft[text]) > 0) == asked else 0.0 for text, own in value.items()}
        return sum(own * value[text] for text, own in law.items())

    def given(*before: bool) -> float:
        seen = share(*before)
        return share(*before, True) / seen if seen > 1e-15 else np.nan

    return CopyLaw(joint, share(True), given(True), given(False), given(True, True), given(False, False))


def _endings(text: Window, draft: Window, rows: FloatArray) -> Iterator[tuple[float, int, Window]]:
    """Chance, tokens kept and the text after a round, for all ways in which it may end."""
    reached = 1.0
    for kept, copied in enumerate((*draft, None)):
        for token in range(len(rows)):
            chance = reached * float(rows[text[-1], token])
            if token != copied and chance > 0.0:
                yield chance, kept, (*text[1:], token)
        if copied is not None:
            reached *= float(rows[text[-1], copied])
            text = (*text[1:], copied)


def _copy(text: Window, kappa: int, longest: int, shortest: int, which: str) -> Window:
    """What followed the last tokens: of all places that with the longest match, be it cut, then the first or last."""
    found = (0, 0)
    for end in range(1, len(text)):  # a place between two tokens: what precedes it, and the text, end alike
        alike = 0
        while alike < min(longest, end) and text[end - 1 - alike] == text[-1 - alike]:
            alike += 1
        if alike >= shortest and (alike > found[0] or (alike == found[0] and which == "latest")):
            found = (alike, end)
    return text[found[1] : found[1] + kappa] if found[0] else ()
