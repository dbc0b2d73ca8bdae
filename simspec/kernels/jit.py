"""How are kernels compiled?  One place for the flags; `simspec.kernels.shelf` keeps the machine code on disk."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

DISABLED: bool = os.environ.get("NUMBA_DISABLE_JIT", "") not in ("", "0")
"""Kernels stay plain Python, and numba is never imported."""


def njit(function: Callable[..., Any], signature: Any = None, checked: bool = False) -> Callable[..., Any]:
    """Compile without the GIL, serially and without fast-math; the machine code is kept on disk where that is possible.

    Parameters
    ----------
    function : callable
        A kernel, or a helper that kernels call.
    signature : numba signature, optional
        Compile for these types at once and for no others; needed where an argument is itself a function.
    checked : bool
        An index beyond an array raises; for code that is not ours.

    Returns
    -------
    callable
        The numba dispatcher; ``function`` itself under ``NUMBA_DISABLE_JIT=1``.
    """
    if DISABLED:
        return function
    import numba

    from simspec.kernels.shelf import keep

    dispatcher: Any = keep(numba.njit(nogil=True, error_model="numpy", boundscheck=checked or None)(function))
    if signature is not None:
        dispatcher.compile(signature)
        dispatcher.disable_compile()
    compiled: Callable[..., Any] = dispatcher
    return compiled
