"""i.i.d. windows with JAX on the processor: inversion and bincount in one jitted function."""

from __future__ import annotations

import itertools
import os
from functools import partial

import numpy as np
from setting import ALPHA, KAPPA, IntArray

from peers.base import Missing, Peer, check_all

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")
try:
    import jax
    import jax.numpy as jnp
except ImportError as error:
    raise Missing("jax (pip install jax adds the peer of that name)") from error

BLOCK = 2**20
"""Windows per call: one compiled shape, and large enough that dispatch is free."""

_seeds = itertools.count(1)


@partial(jax.jit, static_argnums=1)
def _block(key: jax.Array, windows: int) -> jax.Array:
    uniform = jax.random.uniform(key, (windows,), minval=jnp.finfo(jnp.float32).tiny)
    runs = jnp.minimum(jnp.log(uniform) / np.log(ALPHA), KAPPA).astype(jnp.int32)
    return jnp.bincount(runs, length=KAPPA + 1)


def play(windows: int) -> IntArray:
    """Histogram of at least ``windows`` windows, a whole number of blocks."""
    blocks = -(-windows // BLOCK)
    keys = jax.random.split(jax.random.key(next(_seeds)), blocks)
    return np.sum([np.asarray(_block(key, BLOCK)) for key in keys], axis=0, dtype=np.int64)


PEERS = [Peer("jax", "iid", "inversion", play)]


def check() -> None:
    """Compare with the exact law."""
    check_all(PEERS)
