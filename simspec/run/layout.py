"""How is a budget cut into chunks and lanes?  From the process and the budget alone, never from the machine."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from simspec.kernels.words import LANES
from simspec.model import BetaMixture, DiscreteMixture, Drift, Process

USUAL_ROUNDS = 4096
USUAL_GENERATIONS = 64
FEWEST_LANES = 2 * LANES
MOST_LANES = 2**13


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
    """

    lanes: int
    rounds: int
    generations: int = 0

    @property
    def length(self) -> int:
        """Rounds or generations per lane."""
        return self.rounds or self.generations

    @property
    def chunks(self) -> int:
        return -(-self.lanes // LANES)

    def lanes_of(self, chunk: int) -> int:
        """Lanes played in a chunk: 64, fewer in the last one."""
        return min(LANES, self.lanes - LANES * chunk)

    def windows_of(self, chunk: int) -> int:
        """Fresh windows of a chunk: the rounds of its lanes."""
        return self.lanes_of(chunk) * self.rounds


def layout(
    process: Process,
    windows: int,
    kappas: Sequence[int],
    fewest: int = FEWEST_LANES,
    rounds_only: bool = False,
    batch: int = 1,
) -> Layout:
    """Cut ``windows`` rounds per κ into lanes, rounding up.

    A lane has 4096 rounds; fewer (a power of two) if that would leave less than 128 lanes, which an error estimate
    needs, and more if it would take over 8192.  Generations are shared out likewise, 64 to a lane.  A generation's
    rounds are random: their number is planned so that every κ gets at least ``windows`` rounds but for odds below 1e-9,
    and what was run is reported.  Fresh windows need no lanes for their error: a chunk plays the rounds of its 64 lanes
    as one, and ``fewest`` may be small.  With ``rounds_only`` lanes play rounds whatever the process: a scheme's lane
    begins anywhere in a generation, as often as rounds do.  Of lanes that are served together, ``batch`` at a time,
    there are whole batches, and as many of these as of lanes otherwise.

    Examples
    --------
    >>> from simspec.model import Iid
    >>> layout(Iid(alpha=0.7), 1_000_000, [4])
    Layout(lanes=245, rounds=4096, generations=0)
    >>> layout(Iid(alpha=0.7), 1000, [4])
    Layout(lanes=250, rounds=4, generations=0)
    """
    fewest *= batch
    if process.unit == "generation" and not rounds_only:
        wanted = max(_generations(process, windows, max(kappas)), fewest if batch > 1 else 0)
        each = _share(wanted, USUAL_GENERATIONS, fewest)
        return Layout(_whole(-(-wanted // each), batch), 0, each)
    rounds = _share(windows, USUAL_ROUNDS, fewest)
    return Layout(_whole(max(fewest, -(-windows // rounds)), batch), rounds)


def _whole(lanes: int, batch: int) -> int:
    """At least so many lanes in whole batches."""
    return -(-lanes // batch) * batch


def _share(wanted: int, usual: int, fewest: int) -> int:
    """How much of it one lane plays: a power of two."""
    each = usual
    while each > 1 and wanted < each * fewest:
        each //= 2
    while wanted > each * MOST_LANES:
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
