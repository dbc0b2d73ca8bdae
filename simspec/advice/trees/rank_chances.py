"""How likely is the draft's first, second, third guess?  Chances by rank, and the process and scheme they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

from simspec.model import Iid, ParameterError, Position, Process, Survival
from simspec.model.schemes import Tree
from simspec.theory.best_trees import levels_of
from simspec.theory.scheme_arguments import depth_rates
from simspec.theory.tree_program import Siblings

DEFAULT_ALPHA, DEFAULT_MISSES = 0.7, (0.4, 0.25, 0.1)
RANKS_LIMIT = 64


@dataclass(frozen=True)
class RankChances:
    """Chances of the children of a node.

    Attributes
    ----------
    rows : tuple of tuple of float
        Chance of rank 1, 2, … at depth 1, 2, …; one row where all depths are alike.
    by_depth : bool
        Whether there is a row per depth; none lies deeper.
    siblings : {"exclusive", "sequential"}
    notes : tuple of str
        What of it is an example.
    """

    rows: tuple[tuple[float, ...], ...]
    by_depth: bool
    siblings: Siblings
    notes: tuple[str, ...] = ()

    @property
    def given(self) -> Any:
        """As `simspec.theory` takes them."""
        return [list(row) for row in self.rows] if self.by_depth else list(self.rows[0])

    @property
    def depths(self) -> int | None:
        """How deep a tree may be; None without a bound."""
        return len(self.rows) if self.by_depth else None

    @property
    def process(self) -> Process:
        """Rank 1 as a process."""
        first = tuple(row[0] for row in self.rows)
        return Position(alphas=first) if self.by_depth else Iid(alpha=first[0])

    def scheme(self, parents: Sequence[int], ranks: Sequence[int]) -> Tree:
        """The scheme whose rounds walk through this tree: what rank 1 misses, the others recover in part."""
        rows = tuple(tuple(self._share(row[0], chance) for chance in row[1:]) for row in self.rows)
        misses = rows if self.by_depth and any(rows) else rows[0]
        return Tree(siblings=self.siblings, misses=misses, parents=tuple(parents), ranks=tuple(ranks))

    def _share(self, first: float, chance: float) -> float:
        if self.siblings == "sequential":
            return chance
        return round(min(chance / (1.0 - first), 1.0), 12) if first < 1.0 else 0.0  # typed in, not computed

    def __str__(self) -> str:
        how = "in turn" if self.siblings == "sequential" else "at most one is right"
        rows = [", ".join(f"{chance:g}" for chance in row) for row in self.rows]
        where = "; ".join(f"depth {i}: {row}" for i, row in enumerate(rows, 1)) if self.by_depth else rows[0]
        return f"chance of rank 1, 2, …: {where} ({self.siblings}: {how})"


def rank_chances(
    ranks: Any = None, alpha: Any = None, misses: Any = None, siblings: str = "exclusive", survival: Any = None
) -> RankChances:
    """Chances by rank from any way to say them; see `simspec.plan_tree`.

    Raises
    ------
    ParameterError
        Two ways are used, or a chance is out of range.

    Examples
    --------
    >>> [[round(chance, 3) for chance in row] for row in rank_chances(alpha=0.6, misses=[0.5, 0.2]).rows]
    [[0.6, 0.2, 0.08]]
    >>> rank_chances(ranks=[[0.6, 0.2], [0.5]]).depths
    2
    """
    if siblings not in ("exclusive", "sequential"):
        raise ParameterError("siblings", f"siblings = {siblings!r} is unknown; allowed: exclusive or sequential")
    own = cast(Literal["exclusive", "sequential"], siblings)
    if ranks is not None:
        for key, value in (("alpha", alpha), ("survival", survival), ("misses", misses)):
            if value is not None:
                raise ParameterError(key, f"{key} beside ranks; allowed: ranks, or alpha and misses")
        rows, by_depth = _listed("ranks", ranks)
        return _checked(rows, by_depth, own, ())
    notes = list[str]()
    if survival is not None:
        if alpha is not None:
            raise ParameterError("survival", "survival beside alpha; allowed: one of them")
        alpha = _conditional(survival)
    if alpha is None:
        alpha = DEFAULT_ALPHA
        notes.append(f"α = {DEFAULT_ALPHA:g}, the chance of rank 1, is the default: give --alpha or --ranks")
    if misses is None:
        misses = DEFAULT_MISSES
        example = ", ".join(f"{part:g}" for part in DEFAULT_MISSES)
        notes.append(
            f"what ranks 2, 3, … recover of the misses of rank 1 ({example}) is an example, not measured: give "
            "--misses, or --ranks"
        )
    firsts, by_depth = _flat("alpha", alpha)
    shares, per_depth = _listed("misses", misses) if len(misses) else (((),), False)
    if by_depth and per_depth and len(shares) != len(firsts):
        raise ParameterError("misses", f"misses has {len(shares)} lists; allowed: {len(firsts)}, as alpha")
    many = max(len(firsts), len(shares))
    firsts = firsts * many if len(firsts) == 1 else firsts
    shares = shares * many if len(shares) == 1 else shares
    for i, share in enumerate(shares):
        if own == "exclusive" and sum(share) > 1.0 + 1e-9:
            key = f"misses[{i}]" if per_depth else "misses"
            raise ParameterError(key, f"{key} adds up to {sum(share):g}; allowed: at most 1, the misses of rank 1")
    scales = [1.0 - first if own == "exclusive" else 1.0 for first in firsts]
    rows = tuple(
        (first, *(scale * part for part in share)) for first, scale, share in zip(firsts, scales, shares, strict=True)
    )
    return _checked(rows, by_depth or per_depth, own, tuple(notes))


Rows = tuple[tuple[float, ...], ...]


def _conditional(survival: Any) -> list[float]:
    """Rates of rank 1 by depth behind the chance that the first j drafts are all accepted."""
    if not isinstance(survival, (list, tuple)) or not survival:
        raise ParameterError("survival", f"survival = {survival!r} is no list; allowed: S_1, S_2, …")
    return depth_rates(Survival(survival=tuple(survival)), len(survival))


def _listed(key: str, value: Any) -> tuple[Rows, bool]:
    """A list of chances, or one such list per depth."""
    if not isinstance(value, (list, tuple)) or not value:
        raise ParameterError(key, f"{key} = {value!r} is no list; allowed: chances by rank, or one such list per depth")
    several = isinstance(value[0], (list, tuple))
    rows = value if several else [value]
    for i, row in enumerate(rows):
        name = f"{key}[{i}]" if several else key
        if not isinstance(row, (list, tuple)) or not all(_is_number(entry) for entry in row):
            raise ParameterError(name, f"{name} = {row!r} is no list of numbers; allowed: chances from 0 to 1")
        for j, entry in enumerate(row):
            if not 0.0 <= entry <= 1.0:
                raise ParameterError(f"{name}[{j}]", f"{name}[{j}] = {entry:g} is out of range; allowed: 0 to 1")
    return tuple(tuple(float(entry) for entry in row) for row in rows), several


def _flat(key: str, value: Any) -> tuple[tuple[float, ...], bool]:
    """One rate, or one per depth."""
    several = isinstance(value, (list, tuple))
    entries = value if several else [value]
    for entry in entries:
        if not _is_number(entry) or not 0.0 <= entry <= 1.0:
            raise ParameterError(key, f"{key} = {entry!r} is out of range; allowed: 0 ≤ {key} ≤ 1")
    if not entries:
        raise ParameterError(key, f"{key} is empty; allowed: one rate, or one per depth")
    return tuple(float(entry) for entry in entries), several


def _is_number(entry: Any) -> bool:
    return isinstance(entry, (int, float)) and not isinstance(entry, bool) and entry == entry


def _checked(rows: Rows, by_depth: bool, siblings: Siblings, notes: tuple[str, ...]) -> RankChances:
    for i, row in enumerate(rows):
        name = f"ranks[{i}]" if by_depth else "ranks"
        if not 1 <= len(row) <= RANKS_LIMIT:
            raise ParameterError(name, f"{name} has {len(row)} ranks; allowed: 1 to {RANKS_LIMIT}")
    own = RankChances(rows, by_depth, siblings, notes)
    try:
        levels_of(own.given, 1, None, siblings)
    except ParameterError as error:
        raise ParameterError(
            error.key.replace("rank_chances", "ranks"), error.message.replace("rank_chances", "ranks")
        ) from None
    return own
