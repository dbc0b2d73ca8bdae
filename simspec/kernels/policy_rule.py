"""What is a policy to its twin?  One lane: told of a round, it answers with a κ."""

from __future__ import annotations

from collections.abc import Sequence


class Rule:
    """One lane of a policy.

    Parameters
    ----------
    figures, initial : sequence of float
        As in `simspec.kernels.forms.Policy`.
    """

    def __init__(self, figures: Sequence[float], initial: Sequence[float]) -> None:
        self.figures = [float(x) for x in figures]
        self.state = [float(x) for x in initial]

    def after(self, kappa: int, asked: int, drafted: int, accepted: int, word: int) -> int:
        """The κ after ``kappa``, told of a round that was to draft ``asked``, and drafted and accepted so many."""
        raise NotImplementedError
