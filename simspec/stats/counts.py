"""What was counted?  The tallies of one simulation, or of many alike, as independent units that errors come from.

The unit is a lane, a generation or a request, one entry each.  Where windows are independent the unit is the window: an
entry then holds all windows of one uncapped run G, the accepted length at κ is min(G, κ), and the histogram of the
longest draft says everything about every κ.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simspec.kernels.lower_schemes import KindTally
from simspec.kernels.tally import SUMS, Tally
from simspec.model import Cost
from simspec.stats.intervals import Floats, Ratio, effective_trials, proportion, ratio
from simspec.stats.kinds import Kinds
from simspec.stats.prices import Prices

Ints = NDArray[np.int64]
_TURNS = ("flips", "wakes")
_STEERED = (*_TURNS, "made")
FEW_EVENTS = 50
"""Below so many effective rejections (or acceptances) an interval from the spread of units is not trusted alone."""


@dataclass(frozen=True)
class Counts:
    """What every estimate starts from; "…" stands for nothing, or for (simulations, 1) where many are held at once.

    The 1 is the place of costs, so that counts (simulations, 1, κ, units) meet prices (costs, κ, units).

    Attributes
    ----------
    kappas : tuple of int
    sums : int64 array (…, κ, units, 8)
        Totals of one unit per entry, columns as in `simspec.kernels.tally.SUMS`.
    weight : int64 array (…, units), with a 1 for κ where "…" is not empty
        Units alike per entry: windows of that run where windows are independent, else 1.
    drafted, accepted : int64 array (κ, cells)
        The kinds of rounds that occurred at each κ, padded.
    rounds : int64 array (…, κ, cells)
        How often each occurred; 0 in the padding.
    fresh : bool
        Whether windows are independent (then proportions use windows as trials).
    kinds : Kinds, optional
        What the rounds of a scheme were, where it is no chain; cells are then kinds.
    steps_of : callable
        Draft steps of a chain of so many drafts.
    flips, wakes : int64 array (…, κ, units), optional
        Rounds of each unit that asked for another κ than the round before, and that drafted in a request whose last
        round had κ = 0; None where κ never changes.
    made : int64 array (…, κ, units, longest + 1), optional
        Rounds of each unit by drafts made; likewise.
    steps : int64 array (…, κ, units, 2(longest + 1)), optional
        Rounds of each unit by the step of their batch, 2·largest + rejected; None where requests are served alone.
    rejects : bool
        Whether a round can end in a rejection: one whose run was known beforehand does not.
    """

    kappas: tuple[int, ...]
    sums: Ints
    weight: Ints
    drafted: Ints
    accepted: Ints
    rounds: Ints
    fresh: bool
    kinds: Kinds | None = None
    steps_of: Callable[[int], int] = int
    flips: Ints | None = None
    wakes: Ints | None = None
    made: Ints | None = None
    steps: Ints | None = None
    rejects: bool = True

    @staticmethod
    def of(tallies: Sequence[Tally], fresh: bool) -> Counts:
        """Counts of one simulation from its tallies, by ascending κ.

        Examples
        --------
        >>> from simspec.kernels.tally import fold
        >>> own = Counts.of([fold(np.array([[3, 2, 1]]), kappa) for kappa in (1, 2)], fresh=True)
        >>> own.units, own.weight.tolist(), own.total("accepted").tolist()
        (6, [3, 2, 1], [3, 4])
        """
        many = Counts.stack([tallies], fresh)
        lead = (0, 0)
        kinds = None if many.kinds is None else replace(many.kinds, by_unit=many.kinds.by_unit[lead])
        weight = many.weight[(*lead, 0)]
        rounds = many.rounds[lead]
        more: dict[str, Any] = {name: getattr(many, name) for name in (*_STEERED, "steps")}
        own = many.kappas, many.sums[lead], weight, many.drafted, many.accepted, rounds, fresh
        more = {name: array[lead] for name, array in more.items() if array is not None}
        return Counts(*own, kinds, **more)

    @staticmethod
    def stack(simulations: Sequence[Sequence[Tally]], fresh: bool) -> Counts:
        """Counts of simulations with equal κ and equally many units."""
        kappas = tuple(t.kappa for t in simulations[0])
        if fresh:
            return Counts.windows(kappas, np.stack([own[-1].histogram[-1] for own in simulations]))
        sums = np.stack([[t.sums for t in own] for own in simulations])[:, None]
        one = np.ones((1, 1, 1, sums.shape[-2]), np.int64)
        if isinstance(simulations[0][0], KindTally):
            kinds = Kinds.of(simulations)
            return Counts(kappas, sums, one, kinds.drafted, kinds.accepted, kinds.by_unit.sum(axis=-2), fresh, kinds)
        drafted, accepted, rounds = _cells(simulations)
        counts = Counts(kappas, sums, one, drafted, accepted, rounds, fresh)
        if all(t.steps.size for own in simulations for t in own):
            counts = replace(counts, steps=_steps(simulations))
        if not all(t.flips.size for own in simulations for t in own):
            return counts
        flips, wakes = (np.stack([[getattr(t, name) for t in own] for own in simulations])[:, None] for name in _TURNS)
        return replace(counts, flips=flips, wakes=wakes, made=_made(simulations))

    @staticmethod
    def windows(kappas: tuple[int, ...], runs: Ints) -> Counts:
        """Counts of independent windows; ``runs[simulation, g]`` windows have run g, longest draft and beyond last."""
        sums = run_sums(kappas, runs.shape[1])
        accepted = sums[..., SUMS.index("accepted")]
        drafted, weight = np.broadcast_to(np.array(kappas)[:, None], accepted.shape), runs[:, None, None]
        return Counts(kappas, sums[None, None], weight, drafted, accepted, weight, True)

    @property
    def units(self) -> int:
        """Independent units of one simulation."""
        return int(self.weight.reshape(-1, self.weight.shape[-1])[0].sum())

    def by_unit(self, name: str) -> Floats:
        """One column as floats, (…, κ, units)."""
        return self.sums[..., SUMS.index(name)].astype(np.float64)

    @functools.cached_property
    def totals(self) -> Ints:
        """All columns summed over units, (…, κ, 8)."""
        return np.asarray(np.einsum("...ux,...u->...x", self.sums, self.weight))

    def total(self, name: str) -> Ints:
        """One column summed over units, (…, κ)."""
        return np.asarray(self.totals[..., SUMS.index(name)])

    @property
    def longest(self) -> int:
        """Most drafts, draft steps or verified tokens of a round: how far prices are asked for."""
        if self.made is not None:
            return int(self.made.shape[-1] - 1)
        return self.kappas[-1] if self.kinds is None else max(self.kappas[-1], self.kinds.longest)

    @property
    def cell_tokens(self) -> Ints:
        """Tokens of each kind of round, (κ, cells)."""
        return self.accepted + 1 if self.kinds is None else self.kinds.tokens

    @property
    def mean_steps(self) -> Floats:
        """Draft steps per round, (…, κ): those beside the target pass too."""
        if self.kinds is None:
            paid = np.array([self.steps_of(drafted) for drafted in range(self.kappas[-1] + 1)])
            return np.asarray((paid[self.drafted] * self.rounds).sum(axis=-1) / self.total("n"))
        steps = (self.kinds.steps + self.kinds.beside) * self.rounds
        return np.asarray(steps.sum(axis=-1) / self.total("n"))

    def cell_costs(self, price: Prices) -> Floats:
        """Cost of each kind of round, (…, κ, cells), … being that of the prices."""
        if self.kinds is None:
            return np.asarray(
                price.base[..., self.drafted] + price.c_r[..., None, None] * (self.accepted < self.drafted)
            )
        return self.kinds.costs(price)

    def step_costs(self, price: Prices) -> Floats:
        """Cost of each kind of step of a batch, 2·largest + rejected, (…, 1, steps)."""
        both = price.base[..., None] + price.c_r[..., None, None] * np.array([0.0, 1.0])
        return np.asarray(both.reshape(*both.shape[:-2], 1, -1))

    def cost_by_unit(self, cost: Cost | Prices) -> Floats:
        """Cost of the rounds of each unit in plain target steps, (…, κ, units); (…, costs, κ, units) of `Prices`."""
        price = cost if isinstance(cost, Prices) else Prices.of(cost, self.longest)
        if self.steps is None:
            return self.own_cost_by_unit(price)
        return np.asarray((self.steps @ self.step_costs(price)[..., None])[..., 0] + self.change_costs(price))

    def waits_by_unit(self, price: Prices) -> Floats:
        """What the rounds of each unit cost beyond their own price, since others of the batch take longer."""
        if self.steps is None:
            return np.zeros((1, 1))
        return np.asarray(self.cost_by_unit(price) - self.own_cost_by_unit(price))

    def own_cost_by_unit(self, price: Prices) -> Floats:
        """The same where no round waits for others."""
        if self.kinds is not None:
            return np.asarray((self.kinds.by_unit @ self.kinds.costs(price)[..., None])[..., 0])
        paid = price.c_r[..., None, None] * self.by_unit("rejected") + self.change_costs(price)
        if self.made is not None:
            return np.asarray((self.made.astype(np.float64) @ price.base[..., None, :, None])[..., 0] + paid)
        n, drafted = self.by_unit("n"), self.by_unit("drafted")
        kappas = np.array(self.kappas)
        full = price.base[..., kappas]
        spent = full[..., None] * n
        lacking = kappas[:, None] * n - drafted
        missing = (lacking * self.weight).sum(axis=-1)
        if missing.any():
            # rounds cut short save in proportion to the drafts they lack: exact in total, per unit if cost is linear
            saved = ((full[..., None] - price.base[..., self.drafted]) * self.rounds).sum(axis=-1)
            spent = spent - (saved / np.where(missing > 0, missing, 1.0))[..., None] * lacking
        return np.asarray(spent + paid)

    def change_costs(self, price: Prices) -> Floats:
        """What changes of κ cost the rounds of each unit, (…, costs, κ, units); 0 where κ never changes."""
        if self.flips is None or self.wakes is None:
            return np.zeros((1, 1))
        return np.asarray(price.c_switch[..., None, None] * self.flips + price.c_wake[..., None, None] * self.wakes)

    @functools.cached_property
    def _rare(self) -> dict[float, Rare]:
        return {}

    def rare(self, level: float) -> Rare:
        """The same for every cost, so computed once per level."""
        if level not in self._rare:
            self._rare[level] = self._find_rare(level)
        return self._rare[level]

    @functools.cached_property
    def events(self) -> tuple[Ratio, Ratio]:
        """Share of rounds with a rejection, and with an acceptance."""
        n = self.by_unit("n")
        rejected, accepted = self.by_unit("rejected"), n - self.by_unit("zero")
        return ratio(rejected, n, self.weight), ratio(accepted, n, self.weight)

    def error_of(self, share: Ratio) -> Floats | None:
        """Error that a share of rounds needs: none where rounds are independent."""
        return None if self.fresh else share.error

    def _find_rare(self, level: float) -> Rare:
        """Largest plausible errors where rejections, or acceptances, are too few for the spread of units to show."""
        trials, (rejected, accepted) = self.total("n"), self.events
        sizes = [effective_trials(own.value, self.error_of(own), trials, self.units, self.fresh) for own in self.events]
        lost, kept, gained = rejected.value * sizes[0], (1.0 - rejected.value) * sizes[0], accepted.value * sizes[1]
        if self.kinds is not None:  # what no kind of round is was not missed by chance
            lost = np.where(self.kinds.possible(self.kinds.rejected > 0), lost, np.inf)
            kept = np.where(self.kinds.possible(self.kinds.rejected == 0), kept, np.inf)
            gained = np.where(self.kinds.possible(self.kinds.accepted > 0), gained, np.inf)
        lost = lost if self.rejects else np.full(lost.shape, np.inf)
        drafting = np.array(self.kappas) > 0
        few = drafting & (np.minimum(lost, gained) < FEW_EVENTS)
        few_ends = drafting & (np.minimum(lost, kept) < FEW_EVENTS)

        def chance(own: Ratio, where: NDArray[np.bool_]) -> Floats:
            out, value, error = np.zeros(where.shape), own.value[where], self.error_of(own)
            known = None if error is None else error[where]
            all_trials = np.broadcast_to(trials, where.shape)[where]
            low, high = proportion(value, known, all_trials, self.units, self.fresh, level)
            out[where] = np.maximum(high - value, value - low)
            return out

        rejection = chance(rejected, few | few_ends) if (few | few_ends).any() else np.zeros(few.shape)
        ends = np.where(few_ends, rejection, 0.0)
        if not few.any():
            return Rare(np.zeros(few.shape), np.zeros(few.shape), ends)
        rejection = np.where(np.isinf(lost), 0.0, rejection)
        acceptance = np.where(np.isinf(gained), 0.0, chance(accepted, few))
        (lost_2, lost_4), (gained_2, gained_4) = self._sizes()
        return Rare(
            np.where(few, np.maximum(rejection * lost_2, acceptance * gained_2), 0.0),
            np.where(few, np.maximum(rejection * lost_4, acceptance * gained_4), 0.0),
            ends,
        )

    def _sizes(self) -> list[list[Floats]]:
        """Root mean square, and of squares, of what a rejection loses (κ_i − A) and of what an acceptance gains (A)."""
        out = []
        for size in (self.drafted - self.accepted, self.accepted):
            count = np.where(size > 0, self.rounds, 0).astype(np.float64)
            total = count.sum(axis=-1)
            worst = np.array(self.kappas, float)  # nothing of the kind was seen: it may be as large as it can
            out.append([
                np.sqrt(np.where(total > 0, (count * size**power).sum(axis=-1) / np.maximum(total, 1.0), worst**power))
                for power in (2, 4)
            ])  # fmt: skip
        return out


def run_sums(kappas: Sequence[int], length: int) -> Ints:
    """The eight sums of one window by κ and uncapped run 0 … length − 1, (κ, length, 8).

    Examples
    --------
    >>> run_sums([1], 3)[0, :, SUMS.index("accepted")].tolist()
    [0, 1, 1]
    """
    kappa = np.array(kappas)[:, None]
    accepted = np.minimum(np.arange(length), kappa)
    return round_sums(np.broadcast_to(kappa, accepted.shape), accepted)


def fold_sums(runs: Ints, kappas: Sequence[int]) -> Ints:
    """The eight sums of windows counted by run, (…, κ, 8): `run_sums` added up, without a table.

    Examples
    --------
    >>> fold_sums(np.array([3, 2, 1]), [1, 2])[:, SUMS.index("accepted_sq")].tolist()
    [3, 6]
    """
    kappa = np.array(kappas)
    longer = np.cumsum(runs[..., ::-1], axis=-1)[..., ::-1]  # windows whose run is at least j
    n, full, j = longer[..., :1], longer[..., kappa], np.arange(runs.shape[-1])
    accepted = np.cumsum(longer, axis=-1)[..., kappa] - n
    columns = {
        "n": n, "accepted": accepted, "accepted_sq": np.cumsum((2 * j - 1) * longer, axis=-1)[..., kappa] + n,
        "rejected": n - full, "accepted_rejected": accepted - kappa * full, "drafted": kappa * n,
        "zero": n - longer[..., np.minimum(kappa, 1)] * (kappa > 0), "tokens": accepted + n,
    }  # fmt: skip
    out = np.empty((*accepted.shape, len(SUMS)), np.int64)
    for i, name in enumerate(SUMS):
        out[..., i] = columns[name]
    return out


def round_sums(drafted: Ints, accepted: Ints) -> Ints:
    """The eight sums of one round that discards nothing, as a last axis."""
    rejected = (accepted < drafted).astype(np.int64)
    columns: dict[str, Any] = {
        "n": np.ones_like(accepted), "accepted": accepted, "accepted_sq": accepted**2, "rejected": rejected,
        "accepted_rejected": accepted * rejected, "zero": (accepted == 0).astype(np.int64), "drafted": drafted,
        "tokens": accepted + 1,
    }  # fmt: skip
    return np.stack([columns[name] for name in SUMS], axis=-1).astype(np.int64)


def _made(simulations: Sequence[Sequence[Tally]]) -> Ints:
    """Rounds by unit and drafts made, (simulations, 1, κ, units, longest + 1)."""
    width = max(t.made.shape[1] for t in simulations[0])
    padded = [[np.pad(t.made, ((0, 0), (0, width - t.made.shape[1]))) for t in own] for own in simulations]
    return np.stack(padded)[:, None]


def _steps(simulations: Sequence[Sequence[Tally]]) -> Ints:
    """Rounds by unit and step of simulations, (simulations, 1, κ, units, 2(longest + 1)), padded."""
    longest = max(t.kappa for t in simulations[0])
    out = np.zeros((len(simulations), 1, len(simulations[0]), len(simulations[0][0].steps), longest + 1, 2), np.int64)
    for j, own in enumerate(simulations):
        for i, tally in enumerate(own):
            out[j, 0, i, :, : tally.kappa + 1] = tally.steps
    return out.reshape(*out.shape[:-2], -1)


def _cells(simulations: Sequence[Sequence[Tally]]) -> tuple[Ints, Ints, Ints]:
    """Kinds of rounds of some simulations as (κ, cells), twice, and (simulations, 1, κ, cells); padded with none."""
    kinds = [np.nonzero(sum(t.histogram for t in same)) for same in zip(*simulations, strict=True)]
    most = max(len(drafted) for drafted, _ in kinds)
    places = np.zeros((2, len(kinds), most), np.int64)
    rounds = np.zeros((len(simulations), 1, len(kinds), most), np.int64)
    for i, (drafted, accepted) in enumerate(kinds):
        places[:, i, : len(drafted)] = drafted, accepted
        for j, own in enumerate(simulations):
            rounds[j, 0, i, : len(drafted)] = own[i].histogram[drafted, accepted]
    return places[0], places[1], rounds


@dataclass(frozen=True)
class Rare:
    """Per κ, 0 where events are plenty; arrays (…, κ).

    Attributes
    ----------
    mean, square : float array
        Plausible error of a mean of A, and of A², that the observed spread may not show.
    rejection : float array
        Plausible error of the probability of a rejection.
    """

    mean: Floats
    square: Floats
    rejection: Floats
