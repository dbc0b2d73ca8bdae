"""At which points, with which weights, is a smooth function averaged over a Beta law?"""

from __future__ import annotations

import functools

import numpy as np

from simspec.theory.law import FloatArray


@functools.lru_cache(maxsize=32)
def beta_nodes(a: float, b: float, size: int) -> tuple[FloatArray, FloatArray]:
    """Gauss-Jacobi nodes in [0, 1] and weights that average over Beta(a, b), exact to polynomial degree 2·size − 1.

    Parameters
    ----------
    a, b : float
        Beta parameters, > 0.
    size : int
        Number of nodes, ≥ 1.

    Returns
    -------
    nodes, weights : array, shape (size,)
        Read-only; the weights add up to 1.

    References
    ----------
    Golub, Welsch (1969): eigenvalues of the Jacobi matrix, and squares of the first entries of its eigenvectors.

    Examples
    --------
    >>> nodes, weights = beta_nodes(1.0, 1.0, 3)
    >>> round(float(weights @ nodes**5), 12)  # 1/6 under the uniform law
    0.166666666667
    """
    degree = np.arange(1.0, size)
    total = 2.0 * degree - 2.0 + a + b
    middle = np.empty(size)
    middle[0] = (a - b) / (a + b)
    middle[1:] = (a - b) * (a + b - 2.0) / (total * (total + 2.0))
    beside = np.empty(size - 1)
    beside[:1] = 4.0 * a * b / ((a + b) ** 2 * (a + b + 1.0))
    k, t = degree[1:], total[1:]
    beside[1:] = 4.0 * k * (k + a - 1.0) * (k + b - 1.0) * (k + a + b - 2.0) / (t**2 * (t - 1.0) * (t + 1.0))
    off = np.diag(np.sqrt(beside), 1)
    points, vectors = np.linalg.eigh(np.diag(middle) + off + off.T)
    nodes, weights = np.clip(0.5 * (1.0 + points), 0.0, 1.0), vectors[0] ** 2
    weights /= weights.sum()
    nodes.setflags(write=False)
    weights.setflags(write=False)
    return nodes, weights
