"""Claims C46–C49, C54 in a round: do a mean confidence, a mean of heads, or α = 1 stand for other fast decoding?

Windows are simulated where a process of the engine describes them, rounds of other schemes by their table; what is only
counted is judged by two exact routes, one of them an enumeration.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

import numpy as np

from simspec import theory
from simspec.claims.claim import Claim, above, below, formula, integer, untestable
from simspec.claims.quantity import Formula, Speedup, SpeedupGain, difference, exact_best
from simspec.claims.scheme_quantity import SchemeMean, SchemeSpeed
from simspec.claims.setup import STANDARD
from simspec.claims.system_figures.heads import medusa_rounds, medusa_scheme
from simspec.claims.window_quantity import WindowShare
from simspec.model import Cost, DiscreteMixture, Hmm, Iid, Position
from simspec.model.schemes import Chain, Lookahead, Stop, Unmask
from simspec.theory import article

BRANCHES = (0.4, 0.9)
REDRAWN = Hmm(P=((0.5, 0.5), (0.5, 0.5)), alphas=BRANCHES)
"""One of the two rates drawn anew at every position: a hidden state without memory."""
LONGEST = 20
"""Most drafts of a round that stops by itself."""
AT_ONCE = Cost(c_d=0.1, c_v=0.01)
"""A draft step for all heads, and what one more verified token costs."""
HEADS = {
    "falling .8, .6, .5, .4": (0.8, 0.6, 0.5, 0.4),
    "falling .6, .42, .3, .22": (0.6, 0.42, 0.3, 0.22),
    "rising .4, .5, .6, .8": (0.4, 0.5, 0.6, 0.8),
    "falling .85, .8, .75, .7, .62": (0.85, 0.8, 0.75, 0.7, 0.62),
}
"""Acceptance of head i, given that the heads before it were accepted."""


def claims() -> list[Claim]:
    """Rows of C46–C49, and one of C54."""
    return [*_mean_confidence(), *_candidates(), *_geometric(), *_tree(), *_threshold(), *_diffusion(), *_stops()]


def _mean_confidence() -> list[Claim]:
    row = partial(Claim, "C46", "6.1")
    mean = sum(BRANCHES) / 2
    branch = DiscreteMixture(alphas=BRANCHES, weights=(0.5, 0.5))
    statement = "With the expected branch confidence for alpha the number of accepted tokens, E[A], comes out right."
    rows = [
        untestable(
            "C46",
            "6.1",
            "acceptance as a continuous score",
            "In lookahead decoding acceptance is a continuous score rather than a yes or no.",
            "what the method does is a matter of its definition",
            "Fu et al. (2024) verify n-grams token by token against the target, a yes or no each: where 15 of them, "
            f"each of 4 tokens accepted with .5, are tried side by side, a step makes {_step_tokens(15):.4f} tokens.",
        )
    ]
    for kappa in (2, 4, 6, 8):
        own = WindowShare(branch, kappa, "accepted per window")
        plug = theory.expected_accepted(mean, kappa)
        rows.append(
            row(
                f"a branch has rate .4 or .9 for a whole window of kappa = {kappa}: E[A]",
                statement,
                formula(plug),
                own,
                f"E[A] is convex in the rate, so the mean rate .65 gives {plug:.4f}, {plug / own.exact() - 1:.1%}: the "
                f"truth is E[A] = {own.exact():.5f}.",
            )
        )
    four = WindowShare(REDRAWN, 4, "accepted per window")
    rows.append(
        row(
            "a rate .4 or .9 drawn anew at every position, kappa = 4: E[A]",
            statement,
            formula(theory.expected_accepted(mean, 4)),
            four,
            f"Rates drawn anew and independently at every position do act like their mean: E[A] = {four.exact():.4f}.",
        )
    )
    return rows


def _candidates() -> list[Claim]:
    row = partial(Claim, "C46", "6.1")
    single = theory.lookahead_step(0.5, 4, 1).mean_tokens
    rows = []
    for candidates in (7, 15):
        own = theory.lookahead_step(0.5, 4, candidates).mean_tokens
        rows.append(
            row(
                f"{candidates} branches verified side by side, each of 4 tokens accepted with .5: E[tokens] of a step",
                "Put into the formulas of one draft, the mean branch confidence describes lookahead decoding.",
                formula(single),
                SchemeMean(Lookahead(candidates=candidates), Iid(alpha=0.5), 4, "tokens per round"),
                "The branch with the longest accepted part is kept. With G branches of g tokens E[tokens] = (g + 1) - "
                f"sum over i = 1..g of (1 - alpha^i)^G: one branch makes {single:.4f} tokens, {candidates} make "
                f"{own:.4f}.",
            )
        )
    return rows


def _step_tokens(candidates: int) -> float:
    return theory.lookahead_step(0.5, 4, candidates).mean_tokens


def geometric(rates: Sequence[float]) -> float:
    """The article's mean rate of heads."""
    return math.prod(rates) ** (1 / len(rates))


def _geometric() -> list[Claim]:
    row = partial(Claim, "C47", "6.2")
    rows = []
    for name, rates in HEADS.items():
        heads, mean = Position(alphas=rates), geometric(rates)
        own, rule = WindowShare(heads, len(rates), "accepted per window"), theory.expected_accepted(mean, len(rates))
        rows.append(
            row(
                f"heads {name}: E[A]",
                "With the geometric mean of the heads' rates for alpha the accepted tokens, E[A], come out right.",
                formula(rule),
                own,
                f"E[A] is the sum of the products of the first j rates: the geometric mean {mean:.4f} gives {rule:.4f} "
                f"({rule / own.exact() - 1:+.1%}), the truth is {own.exact():.5f}.",
            )
        )
    rates = HEADS["falling .8, .6, .5, .4"]
    rejecting = WindowShare(Position(alphas=rates), 4, "windows with a rejection")
    return [
        *rows,
        row(
            "heads falling .8, .6, .5, .4: share of rounds with a rejection",
            "With the geometric mean of the heads' rates for alpha the share of incomplete rounds comes out right.",
            formula(1 - geometric(rates) ** 4),
            rejecting,
            f"P(all heads accepted) is the only thing the geometric mean gets right: {1 - rejecting.exact():.4f}.",
        ),
    ]


def _tree() -> list[Claim]:
    model = "Vicuna-7B"
    scheme, process = medusa_scheme(model)
    nodes, truth = len(scheme.parents or ()), medusa_rounds(model).mean_accepted
    mean, heads = geometric(process.alphas), len(process.alphas)
    rule = theory.expected_accepted(mean, heads)
    return [
        Claim(
            "C47",
            "6.2",
            f"Medusa's published heads of {model} (ranks 1 to 5, taken as independent) on its tree of {nodes} nodes: "
            "E[A]",
            "With the geometric mean of the heads' rates for alpha the accepted tokens, E[A], come out right.",
            formula(rule),
            SchemeMean(scheme, process, nodes, "accepted per round"),
            f"The geometric mean {mean:.4f} of the heads' first guesses gives {rule:.4f}. A round is a tree: E[A] is "
            f"the sum of the products of accuracies along its paths, {truth:.4f}.",
        )
    ]


def _threshold() -> list[Claim]:
    return [*_mean_of_heads(), *_whole_of_heads()]


def _mean_of_heads() -> list[Claim]:
    """The article's own words: what a head below α_c does to the mean rate, and so to its rule."""
    row = partial(Claim, "C48", "6.2")
    rates, low = HEADS["falling .8, .6, .5, .4"], (0.6, 0.7)
    statement = "A head whose rate lies below alpha_c = .74 drags the mean rate down."
    rule = [theory.expected_accepted(geometric(rates[:heads]), heads) for heads in (2, 3, 4)]
    truth = [theory.expected_accepted_heads(rates[:heads]) for heads in (2, 3, 4)]
    return [
        row(
            "heads .8, .6, .5 and a fourth of .4: geometric mean with it minus without",
            statement,
            below(0.0),
            Formula(lambda: geometric(rates) - geometric(rates[:3])),
            "A head lowers a mean if it lies below that mean, wherever alpha_c is: the fourth moves it from "
            f"{geometric(rates[:3]):.4f} to {geometric(rates):.4f}.",
        ),
        row(
            "a head .6 and a second of .7: geometric mean with it minus without",
            statement,
            below(0.0),
            Formula(lambda: geometric(low) - low[0]),
            "The border is the mean of the heads before, not alpha_c: a head of .7 after one of .6 raises the mean "
            f"from {low[0]:.4f} to {geometric(low):.4f}.",
        ),
        row(
            "the article's rule: E[A] at the geometric mean of .8, .6, .5, .4 minus E[A] at that of .8, .6, .5",
            "A head whose rate lies below alpha_c = .74 drags the whole down.",
            below(0.0),
            Formula(lambda: rule[2] - rule[1]),
            "With 2, 3, 4 heads the rule says " + ", ".join(f"{value:.3f}" for value in rule) + " accepted tokens; "
            "that it falls is its own error, since the truth is " + ", ".join(f"{value:.3f}" for value in truth) + ".",
        ),
    ]


def _whole_of_heads() -> list[Claim]:
    """The whole read as accepted tokens, and as speed."""
    row = partial(Claim, "C48", "6.2")
    heads, price = Position(alphas=HEADS["falling .8, .6, .5, .4"]), STANDARD.c_d
    four, three = (WindowShare(heads, kappa, "accepted per window") for kappa in (4, 3))
    rows = [
        row(
            "the whole as accepted tokens, heads .8, .6, .5 and a fourth of .4: E[A] with it minus without",
            "A head whose rate lies below alpha_c = .74 drags the whole down.",
            below(0.0),
            difference(four, three),
            "A head adds the product of all rates up to its own to the accepted tokens and takes nothing away: "
            f"E[A] rises from {three.exact():.3f} to {four.exact():.3f}.",
        )
    ]
    for kappa, own, last in ((3, ".8, .6", ".5"), (4, ".8, .6, .5", ".4")):
        gain = SpeedupGain(heads, kappa, kappa - 1, STANDARD)
        speed = theory.speedup(heads, kappa - 1, STANDARD)
        product = math.prod(heads.alphas[:kappa])
        rows.append(
            row(
                f"the whole as speed-up S, a cost of .1 per head, heads {own} and one more of {last}: S with it minus "
                "without",
                "A head whose rate lies below alpha_c = .74 drags the whole down.",
                below(0.0),
                gain,
                "A head pays while the product of the rates up to it exceeds its cost times the speed without it, "
                f"whatever alpha_c is: here {product:.3f} against {price:g} x {speed:.3f} = {price * speed:.3f}, and S "
                f"changes by {gain.exact():+.4f}.",
            )
        )
    drafted_at_once = Chain(drafting="window")
    with_it, without = (SchemeSpeed(drafted_at_once, heads, kappa, AT_ONCE) for kappa in (4, 3))
    at_once = difference(with_it, without)
    return [
        *rows,
        row(
            "the whole as speed-up S, all heads drafted by one step of .1 as in Medusa and .01 per verified token, "
            "heads .8, .6, .5 and one more of .4: S with it minus without",
            "A head whose rate lies below alpha_c = .74 drags the whole down.",
            below(0.0),
            at_once,
            "Heads side by side cost a step together, and one more a verified token: S goes from "
            f"{without.exact():.4f} to {with_it.exact():.4f}.",
        ),
        untestable(
            "C48",
            "6.2",
            "independence of the heads",
            "Medusa's verdicts are kappa independent events.",
            "needs Medusa's joint verdicts; its paper prints each head's own accuracy",
            "Heads are made to depend on one another in Hydra (Ankner et al. 2024, arXiv 2402.05109). If they were "
            f"independent, E[A] of .8, .6, .5, .4 would be {four.exact():.4f}.",
        ),
    ]


def schedule_steps(tokens: int, steps: int) -> int:
    """Denoising steps with a fixed schedule: tokens/steps are unmasked in each, one more in the first ones."""
    left, played = tokens, 0
    while left > 0:
        left -= tokens // steps + (played < tokens % steps)
        played += 1
    return played


def unmasking_steps(tokens: int, confident: float) -> float:
    """Mean steps if every masked token is confident independently, and at least one is unmasked per step."""
    mean = np.zeros(tokens + 1)
    for left in range(1, tokens + 1):
        chances = [math.comb(left, k) * confident**k * (1 - confident) ** (left - k) for k in range(left + 1)]
        later = chances[0] * mean[left - 1] + sum(chances[k] * mean[left - k] for k in range(1, left + 1))
        mean[left] = 1.0 + later
    return float(mean[tokens])


def _diffusion() -> list[Claim]:
    row = partial(Claim, "C49", "6.3")
    steps, mean = schedule_steps(128, 128), unmasking_steps(16, 0.3)
    right = theory.speedup(Iid(alpha=1.0), 4, STANDARD)
    return [
        row(
            "LLaDA's default schedule, 128 tokens in 128 steps: number of steps",
            "All masked tokens are accepted at once.",
            integer(1),
            SchemeMean(Unmask(steps=128), Iid(alpha=0.5), 127, "rounds per token", many=128),
            f"Its schedule unmasks 128/128 = 1 token per step, as many passes as one token at a time: {steps} steps.",
        ),
        row(
            "a schedule that unmasks 8 tokens per step, 128 tokens: number of steps",
            "The tokens of a step are like kappa drafts at alpha = 1: all accepted, 128/kappa steps, no rollback.",
            integer(16),
            SchemeMean(Unmask(steps=16), Iid(alpha=0.5), 127, "rounds per token", many=128),
            f"As a count it holds, {schedule_steps(128, 16)} steps; whether 8 tokens at once are good ones nothing in "
            "it says, and in LLaDA's default there is 1 per step.",
        ),
        row(
            "unmasking all confident tokens, 16 tokens, each confident with .3: mean number of steps",
            "All masked tokens are accepted at once.",
            integer(1),
            SchemeMean(Unmask(), Iid(alpha=0.3), 15, "rounds per token", many=16),
            "Nothing is verified, so there is no acceptance rate; it takes "
            f"{mean:.3f} steps, {16 / mean:.2f} tokens each.",
        ),
        row(
            "the article's bound 1/(alpha + beta) at alpha = 1, beta = .1",
            "At alpha = 1, all accepted and nothing rolled back, decoding is accelerated.",
            above(1.0),
            Formula(lambda: article.rho_infinity(1.0, 0.1)),
            f"It is, but not by the article's formula: 1/(1 + beta) = {article.rho_infinity(1.0, 0.1):.4f} is slower "
            f"than plain decoding. Right is (kappa + 1)/(1 + beta kappa), {right:.4f} at kappa = 4.",
        ),
        row(
            "throughput at alpha = 1, kappa = 4, beta = .1",
            "At alpha = 1 the article's rho (reading R1) is the speed-up.",
            formula(article.rho_r1(4, 1.0, 0.1)),
            Speedup(Iid(alpha=1.0), 4, STANDARD),
            f"Every round makes kappa + 1 tokens at cost 1 + beta kappa: S = {right:.4f}.",
        ),
    ]


def _stops() -> list[Claim]:
    """Rates that change inside a round and are known to the draft: the threshold of SpecDec++."""
    kappas = tuple(range(1, 9))
    found, law = theory.best_threshold(BRANCHES, (0.5, 0.5), STANDARD, LONGEST)
    theta = 1.0 if found is None else found  # no rate is 1
    fixed = exact_best(REDRAWN, STANDARD, kappas)
    plain, stopped = theory.speedup(REDRAWN, fixed, STANDARD), law.speedup(STANDARD)
    gain = difference(SchemeSpeed(Stop(theta=theta), REDRAWN, LONGEST, STANDARD), Speedup(REDRAWN, fixed, STANDARD))
    return [
        Claim(
            "C54",
            "8",
            f"a rate .4 or .9 per draft that the draft model knows, beta = .1: S of one threshold, at most {LONGEST} "
            f"drafts, minus S at the best fixed kappa = {fixed}",
            "There is no closed-form adaptive kappa*_i, so that none gains over a fixed kappa.",
            below(0.0),
            gain,
            f"Drafting on while the product of the rates so far is at least {theta:.4f} = S beta over the mean rate is "
            f"the optimum (Huang, Guo, Wang 2024, SpecDec++, for its form): S goes from {plain:.4f} to {stopped:.4f}.",
        )
    ]
