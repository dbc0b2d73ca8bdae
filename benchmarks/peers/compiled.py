"""The same in C: plain token loops with a fast generator, and SIMD thresholds; ``peers.c``, compiled on the spot."""

from __future__ import annotations

import ctypes
import itertools
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import setting
from setting import IntArray

from peers.base import Missing, Peer, check_all
from peers.loops import WIDE, units

SOURCE = Path(__file__).with_name("peers.c")
FLAGS = ("-O3", "-march=native", "-shared", "-fPIC")
U64 = np.uint64

_folder = tempfile.TemporaryDirectory(prefix="simspec-peers-")


def build(*extra: str) -> ctypes.CDLL:
    """Compile ``peers.c`` with the user's own compiler, into a folder that goes when the process ends.

    Raises
    ------
    Missing
        There is no gcc (or no $CC), or it fails.
    """
    compiler = shutil.which(os.environ.get("CC", "gcc"))
    if compiler is None:
        raise Missing("a C compiler (install gcc, or name one in $CC; it adds the peers c_loop and c_simd)")
    library = Path(_folder.name) / f"peers{len(extra)}.so"
    command = [compiler, *FLAGS, *extra, str(SOURCE), "-o", str(library)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Missing(f"a C compiler that takes peers.c ({compiler} says: {done.stderr.strip()[:300]})")
    return ctypes.CDLL(str(library))


_wide = build()
_narrow = build("-DBYTES=32")
_seeds = itertools.count(1)


def _word(rates: Any) -> Any:
    """Rates as 64-bit thresholds: a word below it is an acceptance."""
    return (np.asarray(rates, np.longdouble) * np.longdouble(2.0) ** 64).astype(U64)


def _half(survival: Any) -> Any:
    """Survival probabilities as thresholds of signed 32-bit words."""
    return (np.rint(np.asarray(survival) * 2.0**32).clip(0, 2**32 - 1).astype(np.int64) - 2**31).astype(np.int32)


def _argument(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return ctypes.c_void_p(value.ctypes.data)
    return ctypes.c_uint64(int(value)) if isinstance(value, U64) else ctypes.c_int(value)


def _call(function: Any, amount: int, *rest: Any) -> None:
    function.restype = None
    function(ctypes.c_uint64(next(_seeds)), ctypes.c_int64(amount), *map(_argument, rest))


def _loop(case: str, name: str, *rest: Any) -> Peer:
    shape = (WIDE, WIDE) if name.startswith("policy") else (WIDE,)

    def play(windows: int) -> IntArray:
        hist = np.zeros(shape, np.int64)
        _call(getattr(_wide, name), units(case, windows), *rest, hist)
        return hist

    return Peer("c_loop", case, "token loop", play)


def _requests(case: str, draw: Callable[[int], Any]) -> Peer:
    """Requests whose rates numpy draws beforehand, one draw per 512 tokens."""

    def play(windows: int) -> IntArray:
        rates, hist = _word(draw(units(case, windows))), np.zeros(WIDE, np.int64)
        _call(_wide.loop_requests, len(rates), setting.TOKENS, rates, setting.KAPPA, hist)
        return hist

    return Peer("c_loop", case, "token loop", play)


def _simd(case: str, library: ctypes.CDLL, *tables: Any) -> Peer:
    buffer = library.windows_per_buffer()

    def play(windows: int) -> IntArray:
        hist = np.zeros(setting.KAPPA + 1, np.int64)
        _call(getattr(library, f"simd_{case}"), -(-windows // buffer), *tables, setting.KAPPA, hist)
        return hist

    return Peer("c_simd", case, f"{8 * library.vector_bytes()}-bit vectors", play)


def _tree() -> tuple[Any, ...]:
    """Children of each node and the thresholds between them, as one array each."""
    parents, chances = setting.tree()
    own = [np.flatnonzero(parents == node) for node in range(len(parents) + 1)]
    first = np.cumsum([0, *map(len, own)]).astype(np.int32)
    below = np.concatenate([_word(np.cumsum(chances[children])) for children in own if len(children)])
    child = (np.concatenate(own) + 1).astype(np.int32)
    return first, child, below, setting.tree_depths(parents).astype(np.int32)


_rng = np.random.default_rng(1)
_depth = np.arange(setting.KAPPA)
_ALPHA, _DRIFT = _word(setting.ALPHA)[()], _word(setting.DRIFT_RATES)
_CHAIN = (_word(setting.AFTER_REJECT)[()], _word(setting.AFTER_ACCEPT)[()])
_ROLLING = (
    setting.POLICY_START,
    setting.lengths().astype(np.int32),
    setting.CELLS,
    np.array([setting.SMOOTHING, setting.FIRST_ESTIMATE]),
)
_IID = (_half(setting.ALPHA ** (_depth + 1.0)),)
_BY_STATE = (
    _half(setting.AFTER_REJECT * setting.AFTER_ACCEPT**_depth),
    _half(setting.AFTER_ACCEPT ** (_depth + 1.0)),
)
_REGIMES = (_word(setting.REGIMES), _word(np.cumsum(setting.MOVES, axis=1)[:, :2].copy()))
_TABLES = {"iid": _IID, "markov": _BY_STATE}
_WIDTHS = [_wide] if _wide.vector_bytes() == _narrow.vector_bytes() else [_wide, _narrow]

PEERS = [
    _loop("iid", "loop_iid", _ALPHA, setting.KAPPA),
    _loop("markov", "loop_markov", *_CHAIN, setting.KAPPA),
    _loop("drift", "loop_drift", setting.TOKENS, _DRIFT, setting.DRIFT_KAPPA),
    _loop("hmm", "loop_hmm", *_REGIMES, setting.KAPPA),
    _loop("tree", "loop_tree", *_tree()),
    _requests("beta requests", lambda n: _rng.beta(setting.BETA_A, setting.BETA_B, n)),
    _requests("discrete requests", lambda n: _rng.choice(setting.MIX_ALPHAS, n, p=setting.MIX_WEIGHTS)),
    _loop("iid fixed", "policy_iid", _ALPHA, setting.KAPPA, 0),
    _loop("markov fixed", "policy_markov", *_CHAIN, setting.KAPPA, 0),
    _loop("drift fixed", "policy_drift", setting.TOKENS, _DRIFT, setting.DRIFT_KAPPA, 0),
    _loop("iid heuristic", "policy_iid", _ALPHA, setting.POLICY_START, 1),
    _loop("markov heuristic", "policy_markov", *_CHAIN, setting.POLICY_START, 1),
    _loop("drift heuristic", "policy_drift", setting.TOKENS, _DRIFT, setting.POLICY_START, 1),
    _loop("iid rolling", "policy_rolling", _ALPHA, _ALPHA, *_ROLLING),
    _loop("markov rolling", "policy_rolling", *_CHAIN, *_ROLLING),
    _loop("drift rolling", "policy_rolling_drift", setting.TOKENS, _DRIFT, *_ROLLING),
    *[_simd(case, library, *_TABLES[case]) for case in _TABLES for library in _WIDTHS],
]


def check() -> None:
    """Compare every C function with the exact law."""
    check_all(PEERS)
