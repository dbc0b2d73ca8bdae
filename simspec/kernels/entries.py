"""Which functions does Python call compiled?  All of them, to be counted, warmed and looked into.

Process × scheme × policy never adds one: processes and schemes are arrays, a user's policy is an argument.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from simspec.kernels import loop
from simspec.kernels.cells import count_cells, list_cells
from simspec.kernels.chain import count_chain
from simspec.kernels.grow import count_grown
from simspec.kernels.machine import count_kinds
from simspec.kernels.pool import count_pool
from simspec.kernels.sampling import count_blocks, count_sampled
from simspec.kernels.steps import count_steps
from simspec.kernels.tokens import count_tokens
from simspec.kernels.words import LANES


def entry_points() -> Iterator[tuple[str, Callable[[], Any]]]:
    """Name of each kernel, and a call that compiles it (or takes it off the shelf) and returns it."""
    yield "count_cells", lambda: _ready(count_cells, 0, _I8, _I8, _U8, _BINS)
    yield "list_cells", lambda: _ready(list_cells, 0, _I8, _U8, _I4)
    yield "count_chain", lambda: _ready(count_chain, 0, 0, 0, _I4, _I4, np.int32(0), np.zeros((LANES, 1), np.int64))
    yield "play_rounds", loop.kernel
    yield "count_steps", lambda: _ready(count_steps, 0, 0, 0, _ROW, _ROW, _ROW, _BINS, np.zeros((0, LANES), np.int32))
    yield (
        "count_kinds",
        lambda: _ready(count_kinds, 0, 0, _ROW, _ROW, _ONE, _ONE, _ROW, np.zeros((LANES, 1), np.int64)),
    )
    yield "count_grown", lambda: _ready(count_grown, 0, 1, 0, _F64, _ROW, _ROW, 1, 1, np.zeros((1, 8), np.int64))
    yield (
        "count_pool",
        lambda: _ready(count_pool, 0, 0, 0, 0, 0, 0, _FOUR, _U8, *_LAWS, np.uint64(0), *_LAWS, _EMITTED[1]),
    )
    yield (
        "count_tokens",
        lambda: _ready(
            count_tokens,
            0,
            1,
            1,
            0,
            _I8,
            _I8,
            0,
            np.zeros(2, np.int64),
            0,
            0,
            True,
            np.zeros((1, 1, 1), np.int64),
            _BINS,
        ),
    )
    yield "count_sampled", lambda: _ready(count_sampled, 0, 0, 0, 0, 0, _U8, *_LAWS * 3, np.uint64(0), _U64, *_EMITTED)
    yield (
        "count_blocks",
        lambda: _ready(
            count_blocks, 0, 0, 0, 0, 0, _U8, *_LAWS * 2, np.uint64(0), _F64, _F64, _I32, np.zeros((2, 1, 1)), *_EMITTED
        ),
    )


_FOUR, _ONE = np.zeros(4, np.int64), np.zeros(1, np.int32)
_I8, _U8, _I4 = np.zeros(0, np.int64), np.zeros(0, np.uint64), np.zeros(0, np.int32)
_U64, _F64, _I32 = np.zeros((1, 1), np.uint64), np.zeros((1, 1)), np.zeros((1, 1), np.int32)
_LAWS, _EMITTED = (_U64, _I32), (np.zeros((3, 1, 1), np.int64), _I8.reshape(0, 1))
_ROW, _BINS = np.full((1, 8), 2**31 - 1, np.int32), np.zeros((LANES, 1), np.int64)


def _ready(kernel: Any, *arguments: Any) -> Any:
    kernel(np.zeros(8, np.uint64), *arguments)
    return kernel
