"""What is a draft that comes out of the text itself?  The third form of a round: tokens, and what is remembered."""

from __future__ import annotations

from dataclasses import dataclass

from simspec.model.errors import ParameterError
from simspec.model.rounds import KINDS_LIMIT, RoundKind

Rows = tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class PoolRounds:
    """The target's tokens come from a chain; a draft follows, from token to token, what came after each when last seen.

    Attributes
    ----------
    target : tuple of rows
        Law of the next token, by the last one.
    kappa : int
        Longest draft; it ends earlier at a token not seen before.
    """

    target: Rows
    kappa: int

    @property
    def skipped(self) -> int:
        """Rounds of a lane that fill its memory and are not counted."""
        return 256

    @property
    def kinds(self) -> list[RoundKind]:
        """By (drafted, accepted): number drafted·(kappa + 1) + accepted; copies take no draft step."""
        return [_copied(d, a) for d in range(self.kappa + 1) for a in range(self.kappa + 1)]

    def check(self) -> None:
        """Raise `ParameterError` if there are too many kinds of round."""
        many = len(self.kinds)
        if many > KINDS_LIMIT:
            raise ParameterError(
                "kappa", f"kappa = {self.kappa} makes {many:,} kinds of round here; allowed: {KINDS_LIMIT:,}, so a "
                "smaller kappa"
            )  # fmt: skip


@dataclass(frozen=True)
class CopyRounds(PoolRounds):
    """A draft is what followed the last tokens of the text where they stood before.

    Attributes
    ----------
    longest, shortest : int
        Tokens that have to match: as many as possible between these.
    memory : int
        Tokens of the text that are looked through.
    earliest : bool
        Of several places, the first one is copied from; else the last one.
    """

    longest: int
    shortest: int
    memory: int
    earliest: bool

    @property
    def skipped(self) -> int:
        """As many as there are tokens in the memory, which each round fills by one at least."""
        return max(super().skipped, self.memory)

    @property
    def kinds(self) -> list[RoundKind]:
        """By (match in the round before, drafted, accepted): number (b·(kappa + 1) + d)·(kappa + 1) + a; mark = b."""
        sizes = range(self.kappa + 1)
        return [_copied(d, a, before) for before in (0, 1) for d in sizes for a in sizes]


@dataclass(frozen=True)
class GramRounds(PoolRounds):
    """All n-grams known for the last token are verified side by side; the one that agrees longest is kept.

    Attributes
    ----------
    candidates : int
        n-grams remembered of a token, the most recent ones.
    window : int
        n-grams guessed in every round, which widen its pass.
    guess : tuple of rows
        Law of the next token of a guess, by the last one.
    """

    candidates: int
    window: int
    guess: Rows

    @property
    def skipped(self) -> int:
        """More where many tokens have to meet many n-grams."""
        return min(super().skipped + 4 * len(self.target) * self.candidates, 4096)

    @property
    def kinds(self) -> list[RoundKind]:
        """By (candidates, accepted): number c·(kappa + 1) + a; nothing is rejected where there is no candidate."""
        return [
            RoundKind(
                min(a, self.kappa * c), self.kappa * (c + self.window), 0, c > 0 and a < self.kappa,
                min(a, self.kappa * c) + 1,
            )
            for c in range(self.candidates + 1)
            for a in range(self.kappa + 1)
        ]  # fmt: skip


def _copied(drafted: int, accepted: int, mark: int = 0) -> RoundKind:
    kept = min(accepted, drafted)
    return RoundKind(kept, drafted, 0, kept < drafted, kept + 1, mark=mark)
