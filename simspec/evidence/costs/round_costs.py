"""What does a round of κ drafts cost?  R(κ) in plain target steps at one load, and by load: errors, draws, origin."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from simspec.evidence.costs.points import Edge, Point
from simspec.model.cost import Cost
from simspec.model.errors import ParameterError

Floats = NDArray[np.float64]

DOMAIN = "round costs"
LEAST = 1e-6
"""No draw of a cost lies below: a cost is positive, a normal law knows nothing of that."""
NO_NOISE = "nothing is known about noise: one figure per κ; draws do not vary"


@dataclass(frozen=True, eq=False)
class RoundCosts:
    """R(κ) at one load: straight between its nodes, and beyond them.

    Attributes
    ----------
    model : str
        ``"affine"``, ``"table"``, ``"roofline"``, ``"through plain"`` (one κ measured, no fixed cost assumed) or
        ``"given"``.
    nodes : float array (n,)
        κ at which ``mean`` stands, ascending.
    mean : float array (n,)
        R at the nodes, in plain target steps.
    spread : float array (n, m)
        R at the nodes varies as ``mean + spread @ z``, z independent of mean 0 and variance 1.
    plain_error : float
        Relative standard error of the plain step, which all R share.
    freedom : float
        Degrees of freedom of all these errors, which come from one noise; infinite for a normal law.
    off : float
        Cost of a token with speculation off: 1 unless the engine's own loop is dearer.
    rollback : float
        Cost of a round that rejects a draft, on top of `at`.
    draft : float or None
        Cost of one draft token, where it is known apart; None where only whole rounds were measured.
    plain_ms : float or None
        One plain target step, in ms.
    measured : tuple of Point
        In order of κ.
    edges : tuple of Edge
    notes : tuple of str
        What these numbers cannot tell, and what looks wrong.
    origin : str
        Where they come from.
    figures : dict
        Of the straight line through the measured points, where there are two: ``fixed``, ``slope``, their standard
        errors (None where unknown) and ``largest_residual``.
    batch, context : float or None
        The load; None where it was not stated.
    given : Cost or None
        The numbers, where they were given as such.
    seen : (float, float) or None
        Least and largest κ behind the numbers, (0, 0) at a load beyond them; None: those of ``measured``.

    Examples
    --------
    >>> own = RoundCosts.affine(1.09, 0.105, kappas=(2, 3, 4))
    >>> round(own.at(3), 3), own.extrapolated(3), own.extrapolated(7), own.cost(8).c0
    (1.405, False, True, 1.09)
    """

    model: str
    nodes: Floats
    mean: Floats
    spread: Floats
    plain_error: float = 0.0
    freedom: float = math.inf
    off: float = 1.0
    rollback: float = 0.0
    draft: float | None = None
    plain_ms: float | None = None
    measured: tuple[Point, ...] = ()
    edges: tuple[Edge, ...] = ()
    notes: tuple[str, ...] = ()
    origin: str = ""
    figures: dict[str, float | None] = field(default_factory=dict)
    batch: float | None = None
    context: float | None = None
    given: Cost | None = None
    seen: tuple[float, float] | None = None

    @classmethod
    def affine(
        cls, fixed: float, slope: float, kappas: Sequence[int] = (), covariance: Floats | None = None, **more: Any
    ) -> RoundCosts:
        """R(κ) = ``fixed`` + ``slope``·κ; ``covariance`` (2, 2) of both, or None where nothing is known.

        Examples
        --------
        >>> own = RoundCosts.affine(1.0, 0.1, covariance=np.diag([0.01, 0.0]) ** 2)
        >>> round(own.error(5), 4)
        0.01
        """
        nodes = np.array([0.0, 1.0])
        basis = np.array([[1.0, 0.0], [1.0, 1.0]])
        spread = np.zeros((2, 0)) if covariance is None else basis @ _root(covariance)
        more = {"model": "affine", "measured": tuple(Point(k, k, fixed + slope * k, None) for k in kappas)} | more
        return cls(nodes=nodes, mean=basis @ [fixed, slope], spread=spread, **more)

    @classmethod
    def of_cost(cls, cost: Cost, origin: str = "given as numbers") -> RoundCosts:
        """A given `Cost` as round costs without errors.

        Examples
        --------
        >>> RoundCosts.of_cost(Cost(c_d=0.1, verify_table=[1.0, 1.2])).at(1)
        1.3
        """
        longest = cost.longest_draft
        if longest == 0:
            raise ParameterError("cost", "a cost table of one entry says nothing of κ ≥ 1; give an entry for κ = 1")
        nodes = np.arange(2.0 if longest is None else longest + 1.0)
        mean = np.array([cost.base(int(kappa)) for kappa in nodes])
        draft = cost.c_d if cost.draft_table is None else None
        return cls(
            "given", nodes, mean, np.zeros((len(nodes), 0)), off=cost.off, rollback=cost.c_r, draft=draft,
            origin=origin, given=cost, notes=(NO_NOISE.replace("one figure per κ", "costs are given numbers"),),
        )  # fmt: skip

    @property
    def kappas(self) -> tuple[int, ...]:
        """κ measured, as configured; empty for given numbers."""
        return tuple(sorted({point.kappa for point in self.measured}))

    @property
    def known_noise(self) -> bool:
        """Whether errors could be had."""
        return self.spread.size > 0 or self.plain_error > 0.0

    def extrapolated(self, kappa: float) -> bool:
        """Whether κ lies outside what was measured, or beyond the tables given; a given line is valid everywhere."""
        if self.given is not None:
            longest = self.given.longest_draft
            return longest is not None and kappa > longest
        made = [point.at for point in self.measured] or [float(self.nodes[0]), float(self.nodes[-1])]
        low, high = self.seen or (min(made), max(made))
        return not low - 1e-9 <= kappa <= high + 1e-9

    def at(self, kappa: float) -> float:
        """R(κ) without rollback, in plain target steps; a straight line where κ is `extrapolated`.

        Raises
        ------
        ParameterError
            κ is negative, or the line that goes on beyond what was measured falls to nothing there.
        """
        value = float((self._weights([kappa]) @ self.mean)[0])
        if value < LEAST:
            raise ParameterError(
                "kappa", f"kappa = {kappa:g}: the cost goes on from what was measured to {value:.3g}; measure nearer"
            )
        return value

    def error(self, kappa: float) -> float:
        """Standard error of R(κ), that of the plain step included; 0 where nothing is known about noise."""
        own = self._weights([kappa]) @ self.spread
        return float(math.sqrt(float((own * own).sum()) + (self.at(kappa) * self.plain_error) ** 2))

    def draws(self, kappas: Sequence[float], count: int, seed: int) -> Floats:
        """R of each κ under the sampling law of what was measured; all κ of a draw share its errors.

        Parameters
        ----------
        kappas : sequence of float
        count : int
            Number of draws.
        seed : int
            0 ≤ seed < 2⁶⁴.

        Returns
        -------
        float array (count, kappas)
            Student's law with `freedom` degrees on nodes and plain step together; `at` in every draw where nothing is
            known about noise (see `known_noise`).

        Examples
        --------
        >>> own = RoundCosts.affine(1.0, 0.1, covariance=np.diag([0.02, 0.01]) ** 2)
        >>> own.draws([0, 4], 4000, seed=1).std(axis=0).round(2).tolist()
        [0.02, 0.04]
        """
        mean = np.array([self.at(kappa) for kappa in kappas])
        if not self.known_noise:
            return np.tile(mean, (count, 1))
        from scipy.special import gammaincinv, ndtri

        from simspec.evidence.words import uniforms
        from simspec.kernels.words import stream_keys

        keys = stream_keys(seed, "costs", DOMAIN)
        size = self.spread.shape[1]
        word = [uniforms(keys, np.arange(count), i) + 2.0**-54 for i in range(size + 2)]
        scale = np.ones(count)
        if math.isfinite(self.freedom):
            scale = np.sqrt(self.freedom / (2.0 * gammaincinv(self.freedom / 2.0, word[0])))
        plain = 1.0 + scale * self.plain_error * ndtri(word[1])
        noise = np.stack([ndtri(own) for own in word[2:]], axis=1) if size else np.zeros((count, 0))
        spread = self._weights(kappas) @ self.spread
        return np.asarray(
            np.maximum(mean + scale[:, None] * (noise @ spread.T), LEAST) / np.maximum(plain, 0.1)[:, None]
        )

    def cost(self, kappa_max: int) -> Cost:
        """As a scenario's costs, good for 0 ≤ κ ≤ ``kappa_max``.

        A straight line becomes c0 and a cost per draft; where drafting is not known apart, all of the latter is booked
        as ``c_d``, since R alone cannot tell drafting from wider verification.  Anything else becomes a
        ``verify_table``.

        Examples
        --------
        >>> RoundCosts.affine(1.1, 0.2, draft=0.15).cost(4).c_v.__round__(3)
        0.05
        """
        if self.given is not None and not self.extrapolated(kappa_max):
            return self.given
        draft = self.draft or 0.0
        if self.model in ("affine", "through plain") and self.mean[0] > 0.0:
            fixed, slope = self.at(0), float(self.mean[1] - self.mean[0]) / float(self.nodes[1] - self.nodes[0])
            if slope >= draft:
                drafting = slope if self.draft is None else draft
                return Cost(c0=fixed, c_d=drafting, c_v=slope - drafting, c_r=self.rollback, off=self.off)
        whole = [self.at(kappa) for kappa in range(kappa_max + 1)]
        passes = [value - draft * kappa for kappa, value in enumerate(whole)]
        if min(passes) < LEAST:  # less than the drafts said to be in it
            passes, draft = whole, 0.0
        return Cost(verify_table=tuple(passes), c_d=draft, c_r=self.rollback, off=self.off)

    def _weights(self, kappas: Sequence[float]) -> Floats:
        """Shares of the nodes in R of each κ, (kappas, nodes)."""
        out = np.zeros((len(kappas), len(self.nodes)))
        for row, kappa in zip(out, kappas, strict=True):
            if not 0 <= kappa < math.inf:
                raise ParameterError("kappa", f"kappa = {kappa} is out of range; allowed: 0 ≤ kappa")
            if len(self.nodes) == 1:
                if abs(kappa - self.nodes[0]) > 1e-9:
                    raise ParameterError(
                        "kappa", f"kappa = {kappa:g}: only κ = {self.nodes[0]:g} was measured; measure a second κ"
                    )
                row[0] = 1.0
                continue
            i = int(np.clip(np.searchsorted(self.nodes, kappa, side="right") - 1, 0, len(self.nodes) - 2))
            share = (kappa - self.nodes[i]) / (self.nodes[i + 1] - self.nodes[i])
            row[i], row[i + 1] = 1.0 - share, share
        return out


def _root(covariance: Floats) -> Floats:
    """A factor F with F Fᵀ = ``covariance``."""
    values, vectors = np.linalg.eigh(np.asarray(covariance, np.float64))
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))


Load = tuple[float | None, float | None]
"""(batch, context); None where it was not stated."""


class Surface(Protocol):
    """R(κ) at any load."""

    @property
    def largest_residual(self) -> float:
        """What it misses of a row at most, as a share."""

    def at(self, batch: float, context: float | None) -> RoundCosts:
        """R(κ) at this load."""


@dataclass(frozen=True, eq=False)
class CostGrid:
    """Round costs by load.

    Attributes
    ----------
    cells : mapping from (batch, context) to RoundCosts
        What was measured; a part of the load that was not stated is None.
    surface : Surface or None
        A roofline fitted to all cells, which answers at other loads too.
    notes : tuple of str
        What holds of all cells.

    Examples
    --------
    >>> grid = CostGrid.of(RoundCosts.affine(1.1, 0.1))
    >>> round(grid.at().at(4), 3)
    1.5
    """

    cells: Mapping[Load, RoundCosts]
    surface: Surface | None = None
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, costs: RoundCosts) -> CostGrid:
        """One load only."""
        return cls({(costs.batch, costs.context): costs})

    @property
    def loads(self) -> list[Load]:
        """Loads measured, in order."""
        return sorted(self.cells, key=lambda load: tuple(-1.0 if part is None else part for part in load))

    def at(self, batch: float | None = None, context: float | None = None) -> RoundCosts:
        """R(κ) at a load.

        Parameters
        ----------
        batch, context : float, optional
            Running requests, and tokens each has before it.  What is left out must be the same in all that was
            measured.

        Raises
        ------
        ParameterError
            That load was not measured and no roofline was fitted, or several fit.
        """
        found = [
            load
            for load in self.loads
            if all(asked is None or asked == own for asked, own in zip((batch, context), load, strict=True))
        ]
        if len(found) == 1:
            return self.cells[found[0]]
        asked_for = _spelled((batch, context))
        measured = ", ".join(_spelled(load) for load in self.loads[:8]) + (", …" if len(self.loads) > 8 else "")
        if len(found) > 1:
            raise ParameterError("batch", f"costs at {asked_for}: say which of the loads measured: {measured}")
        if self.surface is None:
            raise ParameterError(
                "batch", f"costs at {asked_for} were not measured, and no roofline was fitted; measured: {measured}"
            )
        if batch is None or (context is None) != all(own is None for _, own in self.loads):
            raise ParameterError("batch", f"costs at {asked_for}: say both as they were measured: {measured}")
        return self.surface.at(batch, context)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready, as ``simspec costs --json`` prints it and ``--costs`` reads it."""
        from simspec.evidence.costs.files import grid_to_dict

        return grid_to_dict(self)

    def __str__(self) -> str:
        from simspec.evidence.costs.show import shown

        return shown(self)

    __repr__ = __str__


def _spelled(load: Load) -> str:
    words = [f"{name} {part:g}" for name, part in zip(("batch", "context"), load, strict=True) if part is not None]
    return ", ".join(words) if words else "a load not stated"
