"""What does a way to draft lose that changes the output, and is it counted while it is played?"""

from __future__ import annotations

from dataclasses import dataclass

LOSSLESS, NOT_KNOWN = "lossless", "not known"


@dataclass(frozen=True)
class Loss:
    """A measure of what a lossy scheme loses.

    Attributes
    ----------
    what : str
        In words: a share of the emitted tokens, if it is counted.
    counted : bool
        Whether rounds count such tokens (`RoundKind.lost`); else the exact route alone knows it.
    proxy : bool
        Whether it only stands in for quality, which nobody measured.

    Examples
    --------
    >>> print(Loss("tokens that nobody was sure of", proxy=True))
    proxy, no measure of quality: tokens that nobody was sure of
    """

    what: str
    counted: bool = True
    proxy: bool = False

    def __str__(self) -> str:
        return f"proxy, no measure of quality: {self.what}" if self.proxy else self.what
