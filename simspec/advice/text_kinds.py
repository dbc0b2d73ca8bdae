"""What does `simspec solve` say of two models in turn, and of the confidence of a schedule's tokens?"""

from __future__ import annotations

from typing import Any

import numpy as np

from simspec import theory
from simspec.advice import fields
from simspec.kernels.lower_schemes import KindTally
from simspec.model import Cost, Iid, ParameterError, Process, TokenChain
from simspec.model.errors import shown
from simspec.model.schemes import BigLittle
from simspec.model.schemes.big_little import PUBLISHED_FALLBACK, PUBLISHED_ROLLBACK
from simspec.run.single import run_single
from simspec.stats.intervals import proportion, ratio
from simspec.theory.ranges import EXACT_KAPPA_LIMIT

LEVEL = 0.95


def bild(case: fields.Case, windows: int | None = None, seed: int = 1) -> dict[str, Any]:
    """Turns of Big Little Decoding, by chances or by thresholds on token laws; with ``windows`` also played so often.

    Examples
    --------
    >>> round(bild({"p_fallback": 0.2, "p_rollback": 0.1, "kmax": 2})["mean_kept"], 6)
    1.2384
    """
    if case.keys() & {"target", "draft", "fallback", "rollback", "sampled"}:
        return bild_text(case, windows, seed)
    fields.check_known(case, "p_fallback", "p_rollback", "kmax", "cost")
    cost, kmax = fields.cost(case), fields.whole(case, "kmax", 0, EXACT_KAPPA_LIMIT)
    unsure, wrong = fields.number(case, "p_fallback"), fields.number(case, "p_rollback")
    turn = theory.big_little(unsure, wrong, kmax)
    mean_cost = fields.under_cost(lambda: turn.mean_cost(cost))
    answer: dict[str, Any] = {
        "mean_small_tokens": turn.mean_small_tokens,
        "mean_small_passes": turn.mean_small_passes,
        "mean_kept": turn.mean_kept,
        "p_rollback_turn": turn.p_rollback,
        "mean_cost": mean_cost,
        "speedup": turn.mean_tokens / mean_cost,
    }
    if windows is not None:
        played = _played(BigLittle(p_fallback=unsure), Iid(alpha=1.0 - wrong), cost, kmax, windows, seed)
        del played["disagreement"], played["disagreement_interval"]  # there are no tokens that could differ
        answer["simulated"] = played
    return answer


def bild_text(case: fields.Case, windows: int | None = None, seed: int = 1) -> dict[str, Any]:
    """Turns of Big Little Decoding by its thresholds, on next-token laws of the large and the small model.

    Examples
    --------
    >>> laws = {"target": [[0.2, 0.8], [0.6, 0.4]], "draft": [[0.3, 0.7], [0.1, 0.9]]}
    >>> answer = bild_text({**laws, "kmax": 3})
    >>> answer["mean_kept"], round(answer["disagreement"], 6), round(answer["tv_output_target"], 6)
    (3.0, 0.5, 0.5)
    """
    fields.check_known(case, "target", "draft", "fallback", "rollback", "sampled", "kmax", "cost")
    cost, large = fields.cost(case), case.get("target")
    if not isinstance(large, (list, tuple)) or not large:
        raise ParameterError("target", f"target = {shown(large)} is no list of laws; allowed: one law per last token")
    rows, small = ([law.tolist() for law in fields.laws(case, key, len(large))] for key in ("target", "draft"))
    kmax, sampled = fields.whole(case, "kmax", 0, EXACT_KAPPA_LIMIT), fields.yes_or_no(case, "sampled", default=False)
    fallback = fields.number(case, "fallback", PUBLISHED_FALLBACK)
    rollback = fields.number(case, "rollback", PUBLISHED_ROLLBACK)
    text = theory.big_little_text(rows, small, kmax, fallback, rollback, sampled)
    mean_cost = fields.under_cost(lambda: text.mean_cost(cost))
    played = {}
    if windows is not None:
        scheme = BigLittle(fallback=fallback, rollback=rollback, sampled=sampled)
        process = TokenChain(target=tuple(map(tuple, rows)), draft=tuple(map(tuple, small)))
        played = {"simulated": _played(scheme, process, cost, kmax, windows, seed)}
    return {
        "mean_small_tokens": text.mean_small_tokens,
        "mean_small_passes": text.mean_small_passes,
        "mean_kept": text.mean_kept,
        "p_rollback_turn": text.p_rollback,
        "mean_cost": mean_cost,
        "speedup": (text.mean_kept + 1.0) / mean_cost,
        "disagreement": text.disagreement,
        "own_disagreement": text.own_disagreement,
        "tv_output_target": text.tv,
        **played,
    }


def _played(scheme: BigLittle, process: Process, cost: Cost, kmax: int, windows: int, seed: int) -> dict[str, Any]:
    """Turns played one by one; errors are those of lanes."""
    try:
        result = run_single(process, cost, [kmax], windows, seed, LEVEL, scheme=scheme)
    except ParameterError as error:
        if error.key == "scheme":
            raise ParameterError("kmax", f"kmax = {kmax} is too much to play: {error.message}") from None
        raise fields.renamed(error, {"kappa": "kmax"}) from None
    row, (tally,) = result.to_pandas().iloc[0], result.tallies
    assert isinstance(tally, KindTally)  # a scheme's
    out: dict[str, Any] = {}
    for name, column in (("mean_kept", "mean_accepted"), ("mean_cost", "mean_round_cost"), ("speedup", "speedup")):
        out[name] = float(row[column])
        out[f"{name}_interval"] = [float(row[f"{column}_low"]), float(row[f"{column}_high"])]
    differ = tally.counts @ np.array([kind.lost for kind in tally.kinds])
    tokens = tally.counts @ np.array([kind.tokens for kind in tally.kinds])
    share = ratio(differ[None], tokens[None])
    low, high = proportion(share.value, share.error, tokens.sum(keepdims=True), share.units, False, LEVEL)
    out |= {"disagreement": float(share.value[0]), "disagreement_interval": [float(low[0]), float(high[0])]}
    return out | {"windows": int(row["rounds"]), "level": LEVEL, "seed": seed}


def schedule_proxies(case: fields.Case, block_length: int, steps: int) -> dict[str, Any]:
    """How confident the tokens of a block are when they are filled in, if the case says what confidences there are.

    Examples
    --------
    >>> schedule_proxies({"values": [1.0, 0.0], "weights": [0.5, 0.5], "tau": 0.5}, block_length=2, steps=1)
    {'mean_confidence': 0.5, 'p_unsure': 0.5}
    """
    if not case.keys() & {"values", "weights", "tau"}:
        return {}
    tau = fields.number(case, "tau", 1.0)
    found = theory.remask(block_length, steps, fields.numbers(case, "values"), fields.numbers(case, "weights"), tau)
    unsure = {"p_unsure": found.p_unsure} if "tau" in case else {}
    return {"mean_confidence": found.mean_confidence, **unsure}
