"""What does a round cost if the model drafts with some of its own layers?"""

from __future__ import annotations

from simspec.model.cost import Cost
from simspec.theory.ranges import check_finite, check_range


def self_draft_cost(fraction: float, head: float = 0.0, c_v: float = 0.0, c_r: float = 0.0, reuse: bool = True) -> Cost:
    """Prices of self-speculation, in plain target steps.

    Parameters
    ----------
    fraction : float
        Share of the layers that a draft step runs, 0 to 1.
    head : float
        What a draft step adds to them, such as an adapter and its head (Kangaroo), ≥ 0.
    c_v : float
        Verifying one more token through all layers, ≥ 0: what its arithmetic costs beside the pass over the weights.
    c_r : float
        A round with a rejection, ≥ 0.
    reuse : bool
        Whether verification starts from the draft's own layers, the first ones (LayerSkip, Kangaroo), or runs all of
        them again, as it must if layers in between are skipped (Draft & Verify).

    Returns
    -------
    Cost
        c0 = 1, c_d = fraction + head; c_v less the share of the layers that is reused.

    Raises
    ------
    ParameterError
        If an argument is out of range.

    Notes
    -----
    A pass over some layers costs their weights, whatever its width.  κ drafts are κ passes over the first layers; the
    last token must go through them once more, and all of them through the others: κ·e + e + (1 − e) = 1 + κ·e, the same
    as without reuse.  Reuse saves arithmetic (and cache), hence a part of c_v; it saves no pass.

    References
    ----------
    Elhoushi et al. (2024), LayerSkip; Zhang et al. (2024), Draft & Verify; Liu et al. (2024), Kangaroo.

    Examples
    --------
    >>> print(self_draft_cost(0.25, c_v=0.04))
    c0 = 1, c_d = 0.25, c_v = 0.03, c_r = 0, off = 1
    """
    check_range("fraction", fraction, 0, 1)
    for key, value in (("head", head), ("c_v", c_v), ("c_r", c_r)):
        check_finite(key, value, 0)
    return Cost(c_d=fraction + head, c_v=c_v * (1.0 - fraction if reuse else 1.0), c_r=c_r)
