"""Which exact law answers for schemes on real tokens: drafts out of the text, and two models in turn?"""

from __future__ import annotations

from simspec.model.chains import TokenChain
from simspec.model.cost import Cost
from simspec.model.errors import ParameterError
from simspec.model.process import Process
from simspec.model.schemes import BigLittle, Copy, NgramPool, Pool
from simspec.theory.copied_drafts import copy_law
from simspec.theory.ngram_pools import ngram_pool_law
from simspec.theory.scheme_means import SchemeLaw, mean_price
from simspec.theory.token_pools import pool_law
from simspec.theory.two_model_texts import big_little_text


def pool_scheme(scheme: Pool, process: Process, kappa: int) -> SchemeLaw:
    """Once every token has been seen all drafts are κ long.

    Examples
    --------
    >>> swap = TokenChain(target=[[0, 1], [1, 0]], draft=[[0, 1], [1, 0]])
    >>> pool_scheme(Pool(), swap, 2).mean_tokens
    3.0
    """
    law = pool_law(_chain(process).target, kappa)
    rejected = 1.0 - float(law.pmf_accepted[-1]) if kappa else 0.0
    return _text_law(law.mean_accepted, kappa, rejected, {kappa: 1.0})


def copy_scheme(scheme: Copy, process: Process, kappa: int) -> SchemeLaw:
    """Copies are as long as the text goes on behind the match.

    Examples
    --------
    >>> only = TokenChain(target=[[1]], draft=[[1]])
    >>> [copy_scheme(Copy(memory=6, which=place), only, 2).mean_tokens for place in ("earliest", "latest")]
    [3.0, 2.0]
    """
    law = copy_law(
        _chain(process).target, kappa, scheme.memory, scheme.match_max, scheme.match_min, scheme.which
    )  # fmt: skip
    widths = {n: float(share) for n, share in enumerate(law.joint.sum(axis=1)) if share > 0.0}
    return _text_law(law.mean_accepted, law.mean_drafted, law.p_rejected, widths)


def ngram_pool_scheme(scheme: NgramPool, process: Process, kappa: int) -> SchemeLaw:
    """κ tokens for every n-gram verified or guessed.

    Examples
    --------
    >>> swap = TokenChain(target=[[0, 1], [1, 0]], draft=[[0, 1], [1, 0]])
    >>> ngram_pool_scheme(NgramPool(candidates=2), swap, 4).mean_tokens
    5.0
    """
    law = ngram_pool_law(_chain(process).target, kappa, scheme.candidates, scheme.window, scheme.guess)
    many = enumerate(law.joint.sum(axis=1))
    widths = {kappa * (n + scheme.window): float(share) for n, share in many if kappa and share > 0.0}
    return _text_law(law.mean_accepted, law.mean_drafted, law.p_rejected, widths or {0: 1.0})


def big_little_scheme(scheme: BigLittle, process: Process, kappa: int) -> SchemeLaw:
    """Turns by thresholds on token laws.

    Examples
    --------
    >>> swap = TokenChain(target=[[0, 1], [1, 0]], draft=[[0, 1], [1, 0]])
    >>> big_little_scheme(BigLittle(fallback=0.6), swap, 4).mean_tokens
    5.0
    """
    chain = _chain(process, "; or p_fallback, a chance")
    models = scheme.models(chain.target, chain.draft)
    law = big_little_text(chain.target, chain.draft, kappa, models.fallback, models.rollback, models.sampled)
    means = (law.mean_kept + 1.0, law.mean_kept, law.mean_small_tokens, law.p_rollback)
    return SchemeLaw(*means, law.mean_cost, loss=law.disagreement)


def _text_law(accepted: float, drafted: float, rejected: float, widths: dict[int, float]) -> SchemeLaw:
    def price(cost: Cost) -> float:
        return mean_price(widths, rejected, cost)

    return SchemeLaw(accepted + 1.0, accepted, drafted, rejected, price)


def _chain(process: Process, otherwise: str = "") -> TokenChain:
    if not isinstance(process, TokenChain):
        raise ParameterError("process", f'the process has no tokens; allowed: type = "token_chain"{otherwise}')
    return process
