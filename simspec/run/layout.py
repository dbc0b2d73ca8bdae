"""How is a budget cut into chunks and lanes?  From the process and the budget alone, never from the machine."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from simspec.kernels.words import LANES
from simspec.model import BetaMixture, DiscreteMixture, Drift, Process

USUAL_ROUNDS = 4096
USUAL_GENERATIONS = 64
GROWING_GENERATIONS = 16
FEWEST_LANES = 2 * LANES
MOST_LANES = 2**13
FIRST_CHUNKS = 2
"""What a run that stops by itself is looked at after first: the 128 lanes that an error estimate needs."""


@dataclass(frozen=True)
class Layout:
    """A budget as independent units.

    Attributes
    ----------
    lanes : int
        Number of independent units.
    rounds : int
        Rounds per lane; 0 if lanes play generations, which end by themselves.
    generations : int
        Generations per lane, one unless there are very many; 0 if lanes play rounds.
    steady : int
        Chunks after which lanes get longer; 0 if never.  The next half as many chunks have lanes twice as long, the
        half after these four times, so that each doubles what was played before it: lanes do not depend on the budget,
        and there are few of them however large it is.
    """

    lanes: int
    rounds: int
    generations: int = 0
    steady: int = 0

    @property
    def length(self) -> int:
        """Rounds or generations per lane, of the first chunks where lanes get longer."""
        return self.rounds or self.generations

    def growth(self, chunk: int) -> int:
        """How many times as long the lanes of a chunk are.

        Examples
        --------
        >>> [Layout(lanes=640, rounds=16, steady=4).growth(chunk) for chunk in range(10)]
        [1, 1, 1, 1, 2, 2, 4, 4, 8, 8]
        """
        beyond = chunk - self.steady
        return 2 << beyond // (self.steady // 2) if self.steady and beyond >= 0 else 1

    def length_of(self, chunk: int) -> int:
        """Rounds or generations per lane of a chunk."""
        return self.length * self.growth(chunk)

    def played(self, chunks: int) -> int:
        """Rounds, or generations, of all lanes of the first chunks."""
        many = min(chunks, self.steady or chunks, self.chunks - 1)
        rest = range(many, min(chunks, self.chunks))
        return LANES * many * self.length + sum(self.lanes_of(chunk) * self.length_of(chunk) for chunk in rest)

    @property
    def chunks(self) -> int:
        return -(-self.lanes // LANES)

    def lanes_of(self, chunk: int) -> int:
        """Lanes played in a chunk: 64, fewer in the last one."""
        return min(LANES, self.lanes - LANES * chunk)

    def windows_of(self, chunk: int) -> int:
        """Fresh windows of a chunk: the rounds of its lanes."""
        return self.lanes_of(chunk) * self.rounds * self.growth(chunk)


def looks(chunks: int) -> tuple[int, ...]:
    """Numbers of chunks after which a run that stops by itself is looked at; the last is all of them.

    Each look is at twice as much as the one before: at twice as many chunks, or at half of `Layout.steady` more.

    Examples
    --------
    >>> looks(11), looks(1), looks(300)
    ((2, 4, 8, 11), (1,), (2, 4, 8, 16, 32, 64, 128, 192, 256, 300))
    """
    out, at, steady = [], FIRST_CHUNKS, MOST_LANES // LANES
    while at < chunks:
        out.append(at)
        at += min(at, steady // 2)
    return (*out, chunks)


def layout(
    process: Process,
    windows: int,
    kappas: Sequence[int],
    fewest: int = FEWEST_LANES,
    rounds_only: bool = False,
    batch: int = 1,
    grows: bool = False,
) -> Layout:
    """Cut ``windows`` rounds per κ into lanes, rounding up.

    A lane has 4096 rounds; fewer (a power of two) if that would leave less than 128 lanes, which an error estimate
    needs, and more if it would take over 8192.  Generations are shared out likewise, 64 to a lane.  A generation's
    rounds are random: their number is planned so that every κ gets at least ``windows`` rounds but for odds below 1e-9,
    and what was run is reported.  Fresh windows need no lanes for their error: a chunk plays the rounds of its 64 lanes
    as one, and ``fewest`` may be small.  With ``rounds_only`` lanes play rounds whatever the process: a scheme's lane
    begins anywhere in a generation, as often as rounds do.  Of lanes that are served together, ``batch`` at a time,
    there are whole batches, and as many of these as of lanes otherwise.

    Where it ``grows``, for a run that stops by itself, a lane has 4096 rounds or 16 generations unless that would leave
    less than 128; later lanes get longer as there are more of them, see `Layout.steady`.

    Examples
    --------
    >>> from simspec.model import Iid
    >>> layout(Iid(alpha=0.7), 1_000_000, [4])
    Layout(lanes=245, rounds=4096, generations=0, steady=0)
    >>> layout(Iid(alpha=0.7), 1000, [4])
    Layout(lanes=250, rounds=4, generations=0, steady=0)
    >>> layout(Iid(alpha=0.7), 10**12, [4], grows=True)
    Layout(lanes=68891, rounds=4096, generations=0, steady=128)
    """
    fewest *= batch
    if process.unit == "generation" and not rounds_only:
        wanted = max(_generations(process, windows, max(kappas)), fewest if batch > 1 else 0)
        each = _share(wanted, GROWING_GENERATIONS if grows else USUAL_GENERATIONS, fewest, grows)
        own = Layout(-(-wanted // each), 0, each)
    else:
        rounds = _share(windows, USUAL_ROUNDS, fewest, grows)
        own = Layout(max(fewest, -(-windows // rounds)), rounds)
    if grows:
        own = replace(own, lanes=_grown(own.lanes), steady=MOST_LANES // LANES)
    return replace(own, lanes=_whole(own.lanes, batch))


def _grown(lanes: int) -> int:
    """How many lanes do as much as so many of the usual length, where they get longer."""
    many, reached, times = MOST_LANES, MOST_LANES, 2
    while lanes > 2 * reached:
        many, reached, times = many + MOST_LANES // 2, 2 * reached, 2 * times
    return lanes if lanes <= MOST_LANES else many - (reached - lanes) // times


def _whole(lanes: int, batch: int) -> int:
    """At least so many lanes in whole batches."""
    return -(-lanes // batch) * batch


def _share(wanted: int, usual: int, fewest: int, grows: bool) -> int:
    """How much of it one lane plays: a power of two."""
    each = usual
    while each > 1 and wanted < each * fewest:
        each //= 2
    while wanted > each * MOST_LANES and not grows:
        each *= 2
    return each


def _generations(process: Process, windows: int, kappa: int) -> int:
    """Generations whose rounds at the longest draft reach ``windows``, with 7 standard errors to spare.

    A round emits 1 to κ + 1 tokens, at most (1 − a^(κ+1))/(1 − a) on average for a = the largest rate; so a generation
    of N tokens has at least ``least`` rounds on average.
    """
    n, top, spread = _shape(process)
    most_tokens = sum(top**j for j in range(kappa + 1))
    least = max(n / most_tokens, math.ceil(n / (kappa + 1)))
    if spread is None:  # one known rate after another: the variance is at most N(κ/2)²/mean³, the mean ≥ 1
        spread = math.sqrt(n * (kappa / 2) ** 2 / most_tokens**3) if most_tokens < kappa + 1 else 0.0
    wanted = windows / least
    return max(FEWEST_LANES, math.ceil(wanted + 7 * spread / least * math.sqrt(wanted)))


def _shape(process: Process) -> tuple[int, float, float | None]:
    """(mean tokens, largest rate, bound on the standard deviation of rounds if rates or lengths are random)."""
    if isinstance(process, Drift):
        return process.n_tokens, max(process.rates()), None
    assert isinstance(process, (DiscreteMixture, BetaMixture))  # the only other processes with generations
    n = int(process.request_tokens or 1)
    top = max(process.alphas) if isinstance(process, DiscreteMixture) else 1.0
    return n, top, 1.5 * n  # rounds lie between 1 and N for a fixed length; N is geometric otherwise
