"""Fresh windows: no window is looked at, only which of 4096 cells of the unit interval its word fell into.

A word of 64 bits serves five windows, 12 bits each.  A threshold between two cells is exact; one inside a cell asks the
windows of that cell for 52 more bits, which have an address (chunk, cell, number in the cell).  So windows have 64-bit
uniforms, and the count at one threshold depends on no other: a run at κ ≤ 32 and a run at κ ≤ 8 agree where they meet.
"""

import numpy as np

from simspec.kernels.jit import njit
from simspec.kernels.words import GENERATORS, aside, next_words, seed_generators, word_of

CELL_BITS = 12
CELLS = 2**CELL_BITS
LOW_BITS = 64 - CELL_BITS
PER_WORD = 64 // CELL_BITS
_BUFFER = 512
_MASK = np.uint64(CELLS - 1)
_SHIFT_1, _SHIFT_2, _SHIFT_3, _SHIFT_4 = (np.uint64(CELL_BITS * i) for i in range(1, PER_WORD))
_ONE = np.uint32(1)


@njit
def count_cells(keys, first, windows, cells, lows, runs):
    """``runs[i, g]`` += windows of chunk ``first`` + i whose uncapped run is g; the last bin holds all longer ones.

    ``windows[i]``: windows of that chunk.  P(run > j) = (cells[j]·2⁵² + lows[j])/2⁶⁴, non-increasing in j.
    """
    state = np.empty((4, GENERATORS), np.uint64)
    pairs = np.empty(_BUFFER, np.uint64)
    counts = np.zeros(CELLS, np.uint32)
    for i in range(windows.size):
        seed_generators(keys, first + i, state)
        fill_cells(state, pairs, windows[i], counts)
        left = below = windows[i]
        top = CELLS
        for j in range(cells.size):
            for cell in range(cells[j], top):
                below -= counts[cell]
            top = cells[j]
            longer = below + inside(keys, first + i, cells[j], lows[j], counts)
            runs[i, j] += left - longer
            left = longer
        runs[i, cells.size] += left
        counts[:] = 0


@njit
def fill_cells(state, pairs, windows, counts):
    """``counts[cell]`` += windows whose word falls into the cell."""
    todo = windows
    while todo > 0:
        next_words(state, pairs)
        whole = min(todo // PER_WORD, pairs.size)
        for i in range(whole):
            word = pairs[i]
            counts[word & _MASK] += _ONE
            counts[(word >> _SHIFT_1) & _MASK] += _ONE
            counts[(word >> _SHIFT_2) & _MASK] += _ONE
            counts[(word >> _SHIFT_3) & _MASK] += _ONE
            counts[(word >> _SHIFT_4) & _MASK] += _ONE
        todo -= PER_WORD * whole
        if whole < pairs.size:
            for piece in range(todo):
                counts[(pairs[whole] >> np.uint64(CELL_BITS * piece)) & _MASK] += _ONE
            todo = 0


@njit
def inside(keys, chunk, cell, low, counts):
    """Windows of a cell whose further bits lie below ``low``."""
    hits = 0
    if low > np.uint64(0):
        base = aside(keys, np.uint64(CELLS * chunk + cell))
        for number in range(counts[cell]):
            hits += word_of(base, number) >> np.uint64(CELL_BITS) < low
    return hits


@njit
def list_cells(keys, chunk, cells, lows, runs):
    """``runs[w]`` = uncapped run of window w of a chunk, capped at cells.size: the windows behind `count_cells`."""
    state = np.empty((4, GENERATORS), np.uint64)
    pairs = np.empty(_BUFFER, np.uint64)
    seen = np.zeros(CELLS, np.int64)  # windows so far, of the cells that have thresholds inside
    sure = np.zeros(CELLS + 1, np.int64)  # thresholds above the whole cell
    known = np.empty(CELLS, np.int32)  # the same where that says all, else −1
    for j in range(cells.size):
        sure[: cells[j]] += 1
    for cell in range(CELLS):
        split = sure[cell] < cells.size and cells[sure[cell]] == cell
        known[cell] = np.int64(-1) if split else sure[cell]
    seed_generators(keys, chunk, state)
    w = 0
    while w < runs.size:
        next_words(state, pairs)
        for i in range(min(pairs.size, (runs.size - w + PER_WORD - 1) // PER_WORD)):
            word = pairs[i]
            for _ in range(min(PER_WORD, runs.size - w)):
                cell = word & _MASK
                word >>= _SHIFT_1
                runs[w] = known[cell]
                if known[cell] < 0:
                    runs[w] = within(keys, chunk, np.int64(cell), cells, lows, sure, seen)
                w += 1


@njit
def within(keys, chunk, cell, cells, lows, sure, seen):
    """The run of a window in a cell with thresholds inside."""
    j = sure[cell]
    low = word_of(aside(keys, np.uint64(CELLS * chunk + cell)), seen[cell]) >> np.uint64(CELL_BITS)
    while j < cells.size and cells[j] == cell and low < lows[j]:
        j += 1
    seen[cell] += 1
    return np.int32(j)
