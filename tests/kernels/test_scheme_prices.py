"""Does a round of every way to draft cost what its passes cost?  By hand and by kind, then simulated."""

from fractions import Fraction
from itertools import product

import pytest

import simspec
from simspec import theory
from simspec.kernels.lower_schemes import scheme_form
from simspec.kernels.play import scheme_counts
from simspec.kernels.words import LANES, stream_keys
from simspec.model import Cost, Drift, Hmm, Iid, Markov, ParameterError, Position, Simulation, Survival
from simspec.model.draft_laws import draft_law
from simspec.model.schemes import (
    Ahead,
    BigLittle,
    Chain,
    DynamicTree,
    Lookahead,
    Lookup,
    Parallel,
    SelfDraft,
    Stop,
    Tree,
    Unmask,
)

COSTS = [
    Cost(),
    Cost(c_d=0.1),
    Cost(c0=1.25, c_d=0.07, c_v=0.01, c_r=0.3, off=1.1),
    Cost(c0=0.5, c_d=0.0, c_v=0.05, c_r=1.0),
    Cost(draft_table=(0.01, 0.06, 0.1, 0.13, 0.15, 0.16, 0.17, 0.18), c_v=0.02),
    Cost(c_d=0.05, verify_table=(1.0, 1.0, 1.1, 1.1, 1.5, 1.5, 1.5, 1.6)),
    Cost(draft_table=(0.0,) + (0.2,) * 8, verify_table=(0.9,) * 4 + (1.3,) * 4, c_r=0.25),
]
SELF = [
    SelfDraft(layers=0.25),
    SelfDraft(layers=0.25, reuse=False),
    SelfDraft(layers=0.0625, adapter=0.03, theta=0.6),
    SelfDraft(layers=0.4, adapter=0.1, reuse=False, theta=0.3, rule="survival", kmin=2),
    SelfDraft(layers=0.0),
    SelfDraft(layers=1.0, adapter=0.02),
]
HEADS = [
    Chain(),
    Chain(drafting="window"),
    Chain(drafting="node"),
    Chain(heads=2),
    Chain(heads=5),
    Tree(misses=(0.4, 0.2)),
    Tree(misses=(0.4, 0.2), drafting="window"),
    Tree(misses=(0.4, 0.2), drafting="node"),
    Tree(misses=(0.4,), heads=2),
    Tree(widths=(2, 2), misses=(0.3,), siblings="sequential", drafting="window"),
]
UNSURE = Hmm(P=((0.6, 0.3, 0.1),) * 3, alphas=(0.95, 0.6, 0.2))


def target(cost, tokens):
    """A whole pass over the token that is known and so many drafts."""
    return cost.c0 + cost.c_v * tokens if cost.verify_table is None else cost.verify_table[tokens]


def drafting(cost, steps):
    return cost.c_d * steps if cost.draft_table is None else cost.draft_table[steps]


def by_hand(scheme, cost, drafted, depth, rejected):
    """What a round costs, pass by pass."""
    paid = cost.c_r if rejected else 0.0
    if isinstance(scheme, SelfDraft):
        for _ in range(drafted):
            paid += scheme.layers + scheme.adapter
        first = target(cost, 0 if scheme.reuse else drafted)
        return paid + scheme.layers * first + (1.0 - scheme.layers) * target(cost, drafted)
    steps = drafted if scheme.drafting == "node" else 0
    level = 0
    while steps == 0 and scheme.drafting == "window" and depth > 0:
        steps = 1
    while scheme.drafting == "depth" and level < depth:
        steps, level = steps + 1, level + scheme.heads
    return paid + drafting(cost, steps) + target(cost, drafted)


def depth_of(scheme, kappa, process):
    return scheme.drafts(draft_law(process, kappa), kappa).depth if isinstance(scheme, Tree) else kappa


@pytest.mark.parametrize("scheme", [*SELF, *HEADS], ids=str)
@pytest.mark.parametrize("cost", COSTS, ids=range(len(COSTS)))
def test_every_kind_of_round_costs_its_passes(scheme, cost):
    """κ = 0, 1 and more; with and without a rejection; every price of a cost set 0 somewhere."""
    process = UNSURE if isinstance(scheme, SelfDraft) and scheme.stop else Iid(alpha=0.7)
    for kappa in (0, 1, 3, 6):
        for kind in scheme.rounds(draft_law(process, kappa), kappa).kinds:
            depth = depth_of(scheme, kappa, process)
            expected = by_hand(scheme, cost, kind.drafted, depth, kind.rejected)
            assert kind.price(scheme.priced(cost)) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("scheme", [*SELF, *HEADS], ids=str)
@pytest.mark.parametrize("cost", COSTS, ids=range(len(COSTS)))
@pytest.mark.parametrize("kappa", [0, 1, 5])
def test_the_exact_law_prices_by_another_way(scheme, cost, kappa):
    """Against the prices by hand, weighed with chances that are listed outcome by outcome."""
    process = UNSURE if isinstance(scheme, SelfDraft) and scheme.stop else Iid(alpha=0.7)
    law = theory.scheme_law(scheme, process, kappa)
    expected = sum(
        p * by_hand(scheme, cost, drafted, depth_of(scheme, kappa, process), rejected)
        for p, drafted, rejected in outcomes(scheme, process, kappa)
    )
    assert law.price(cost) == pytest.approx(expected, abs=1e-10)
    assert law.speedup(cost) == pytest.approx(law.mean_tokens / expected, abs=1e-10)


def outcomes(scheme, process, kappa):
    """Chance, drafts and rejection of every way a round can go: confidences and verdicts of all drafts are listed."""
    if isinstance(scheme, Tree):
        tree = theory.tree_of(scheme, process, kappa)
        law = theory.tree_law(tree)
        return [(1.0 - law.p_rejected, tree.nodes, False), (law.p_rejected, tree.nodes, True)]
    if not (isinstance(scheme, SelfDraft) and scheme.stop):
        full = 0.7**kappa
        return [(full, kappa, False), (1.0 - full, kappa, True)]
    out = []
    weights = dict(zip(process.alphas, process.P[0], strict=True))
    for rates in product(weights, repeat=kappa):
        chance, sure, length = 1.0, 1.0, kappa
        for j, rate in enumerate(rates, 1):
            chance *= weights[rate]
            sure = rate if scheme.rule == "confidence" else sure * rate
            if length == kappa and j >= scheme.kmin and sure < scheme.theta:
                length = min(length, j)
        kept = 1.0
        for rate in rates[:length]:
            kept *= rate
        out += [(chance * kept, length, False), (chance * (1.0 - kept), length, True)]
    return out


def passes(cost, kind, kappa, scheme):
    """Costs a round of any other scheme may have, in the words of its paper, by what it drafted and kept."""
    wide, step = target(cost, kind.drafted), lambda number: drafting(cost, number)
    rollback = cost.c_r if kind.rejected else 0.0
    if isinstance(scheme, (Lookup, Lookahead, Unmask)):  # no draft model runs
        return {wide + rollback}
    if isinstance(scheme, Stop):  # the last draft, which ends it, is made and verified too
        return {step(kind.drafted) + wide + rollback}
    if isinstance(scheme, DynamicTree):  # a step per layer, whatever is kept of it
        return {step(scheme.depth) + wide + rollback}
    if isinstance(scheme, BigLittle):  # a pass in which the small model is unsure is paid, and its token is lost
        return {step(kind.drafted + wasted) + wide + rollback for wasted in (0, kind.drafted < kappa)}
    if isinstance(scheme, Ahead):  # what is drafted meanwhile hides, or is hidden; after a rejection, alone
        both = max(wide, step(kappa))
        return {alone + both + rollback for alone in (0.0, step(kappa))}
    assert isinstance(scheme, Parallel)  # an accepted block takes its drafting, a rejected one the pass that judges it
    return {step(kappa), wide + rollback, step(kappa) + wide + rollback}


OTHERS = [
    (Stop(theta=0.4), UNSURE, 5), (Stop(theta=0.4, rule="confidence", kmin=2), UNSURE, 4),
    (DynamicTree(misses=(0.4, 0.2), breadth=2, depth=3), UNSURE, 5), (BigLittle(p_fallback=0.2), Iid(alpha=0.8), 5),
    (Lookup(after_match=0.8, after_miss=0.2), Iid(alpha=0.7), 5), (Lookahead(candidates=2), Iid(alpha=0.5), 3),
    (Unmask(), Iid(alpha=0.4), 5), (Ahead(), Iid(alpha=0.7), 4), (Parallel(), Iid(alpha=0.7), 4),
]  # fmt: skip


@pytest.mark.parametrize(("scheme", "process", "kappa"), OTHERS, ids=str)
@pytest.mark.parametrize("cost", COSTS, ids=range(len(COSTS)))
def test_every_other_scheme_pays_what_it_says(scheme, process, kappa, cost):
    """Kinds that occur, in one chunk; then the exact mean, where the law knows such a price (false alarm 1e-6)."""
    form = scheme_form(scheme.rounds(draft_law(process, kappa), kappa))
    counts = scheme_counts(form, stream_keys(1, "prices"), 0, LANES, 200).sum(axis=0)
    for kind, count in zip(form.kinds, counts, strict=True):
        allowed = passes(cost, kind, kappa, scheme)
        assert count == 0 or any(kind.price(scheme.priced(cost)) == pytest.approx(own, abs=1e-12) for own in allowed)
    if (isinstance(scheme, Parallel) and drafting(cost, kappa) == 0.0) or (
        isinstance(scheme, BigLittle) and cost.tables()
    ):
        return  # rounds without a pass would be free; its law knows no tables
    found = simspec.simulate(process, cost, kappa=kappa, windows=50_000, scheme=scheme, level=1 - 1e-6).to_pandas()
    exact = theory.scheme_law(scheme, process, kappa).price(cost)
    assert found.mean_round_cost_low[0] - 1e-9 <= exact <= found.mean_round_cost_high[0] + 1e-9


@pytest.mark.parametrize(("layers", "adapter", "c_v", "reuse"), [
    (0.25, 0.0, 0.04, True), (0.25, 0.0, 0.04, False), (0.0625, 0.03, 0.0, True), (0.0, 0.0, 0.1, True),
    (1.0, 0.5, 0.1, True), (0.5, 0.0, 0.02, False),
])  # fmt: skip
def test_prices_are_those_of_self_draft_cost(layers, adapter, c_v, reuse):
    scheme = SelfDraft(layers=layers, adapter=adapter, reuse=reuse)
    stated = theory.self_draft_cost(layers, adapter, c_v, 0.3, reuse)
    assert scheme.priced(Cost(c_d=0.9, c_v=c_v, c_r=0.3)) == stated
    work = theory.self_draft_work(layers, 5, reuse)
    by_work = (1.0 - c_v) * work.passes + c_v * work.arithmetic + 5 * adapter  # a plain step holds c_v of arithmetic
    assert stated.of_round(5, rejected=False) == pytest.approx(by_work)


@pytest.mark.parametrize(("first", "layers", "kappa"), [(8, 32, 6), (2, 32, 6), (0, 4, 3), (4, 4, 2), (3, 7, 0)])
def test_reuse_saves_arithmetic_and_no_pass(first, layers, kappa):
    """Layer by layer and token by token: what is computed, and how often the weights of a layer are read."""
    for reuse in (True, False):
        known, reads, computed = set(), 0, 0

        def run(which, tokens, known=known, reuse=reuse):
            """Tokens go through these layers together; what is known of them is not computed again."""
            new = [(layer, token) for layer in which for token in tokens if not (reuse and (layer, token) in known)]
            known.update(new)
            return len({layer for layer, _ in new}), len(new)

        calls = [run(range(first), [token]) for token in range(kappa)]  # token 0 is known, its follower is draft 1
        calls.append(run(range(layers), range(kappa + 1)))
        reads, computed = (sum(Fraction(call[i], layers) for call in calls) for i in (0, 1))
        work = theory.self_draft_work(first / layers, kappa, reuse)
        assert (work.passes, work.arithmetic) == pytest.approx((float(reads), float(computed)))
        assert reads == 1 + Fraction(kappa * first, layers)
        assert computed == kappa + 1 + (0 if reuse else Fraction(kappa * first, layers))


RUNS = [
    (SelfDraft(layers=0.25), Iid(alpha=0.8), 5),
    (SelfDraft(layers=0.0625, adapter=0.03, theta=0.6), UNSURE, 5),
    (SelfDraft(layers=0.5, reuse=False), Markov(alpha=0.7, rho=0.3, start="carry"), 4),
    (SelfDraft(layers=0.3), Drift(shape="table", alphas=[0.9, 0.8, 0.7, 0.6, 0.5, 0.4]), 3),
    (Chain(drafting="window"), Position(alphas=(0.79, 0.74, 0.72, 0.73, 0.67)), 5),
    (Chain(heads=2), Drift(shape="table", alphas=[0.9, 0.8, 0.7, 0.6, 0.5, 0.4]), 3),
    (Chain(drafting="window"), Iid(alpha=0.0), 3),
    (Chain(heads=3), Iid(alpha=1.0), 4),
    (Tree(misses=(0.4, 0.2), drafting="window"), Survival(survival=(0.8, 0.5, 0.3)), 7),
    (Tree(misses=(0.4, 0.2), drafting="node"), Iid(alpha=0.6), 7),
]


@pytest.mark.parametrize(("scheme", "process", "kappa"), RUNS, ids=str)
@pytest.mark.parametrize("cost", [COSTS[2], COSTS[4], COSTS[6]], ids=["prices", "draft table", "both tables"])
def test_simulated_speedups_hold_the_exact_one(scheme, process, kappa, cost):
    """An interval at level 1 − 1e-6 and, for the mean cost, the same; false alarm at most 1e-6 each."""
    found = simspec.simulate(process, cost, kappa=kappa, windows=200_000, seed=3, level=1 - 1e-6, scheme=scheme)
    row, law = found.to_pandas().iloc[0], theory.scheme_law(scheme, process, kappa)
    for low, high, exact in (
        (row.speedup_low, row.speedup_high, law.speedup(cost)),
        (row.mean_round_cost_low, row.mean_round_cost_high, law.price(cost)),
    ):
        assert low - 1e-9 <= exact <= high + 1e-9
    assert row.speedup_exact == pytest.approx(law.speedup(cost), abs=1e-9)
    exactly = simspec.simulate(process, cost, kappa=kappa, scheme=scheme, method="exact").to_pandas().iloc[0]
    assert exactly.speedup == pytest.approx(row.speedup_exact)
    assert exactly.mean_round_cost == pytest.approx(law.price(cost))


def test_a_wrong_share_of_layers_would_be_seen():
    """Planted: .26 of the layers are priced where .25 are meant."""
    wrong = simspec.simulate(
        Iid(alpha=0.8), COSTS[2], kappa=5, windows=200_000, seed=3, level=1 - 1e-6, scheme=SelfDraft(layers=0.26)
    ).to_pandas()
    assert wrong.speedup_high[0] < theory.scheme_law(SelfDraft(layers=0.25), Iid(alpha=0.8), 5).speedup(COSTS[2])


def test_prices_change_no_simulation():
    """Heads and layers play the windows of the plain chain; a cost changes no tally; the plain chain keeps its id."""
    pair, runs = Iid(alpha=0.7), []
    for scheme in (Chain(), Chain(drafting="window"), SelfDraft(layers=0.25), SelfDraft(layers=0.5)):
        for cost in COSTS[:3]:
            runs.append(simspec.simulate(pair, cost, kappa=[2, 5], windows=20_000, scheme=scheme))
    counts = {tuple(tally.histogram.tobytes() for tally in run.tallies) for run in runs}
    assert len(counts) == 1
    assert Simulation(pair).id.startswith("1a10c3fa3b07")
    assert Chain(drafting="node").identity() == Chain(heads=1).identity() == {"type": "chain"}
    assert len({Simulation(pair, scheme).id for scheme in (Chain(), *HEADS[1:5:2], *SELF)}) == 9


def test_one_run_prices_alike_kinds_of_rounds_by_their_own_scheme(tmp_path):
    """Rounds of the same kinds stand together in the arithmetic of a run; what they pay may not."""
    table = {
        "name": "layers", "windows": 10_000, "kappa": [4], "process": {"type": "iid", "alpha": 0.7},
        "cost": {"c_d": [0.1, 0.2], "c_v": 0.02},
        "scheme": [{"type": "self_draft", "layers": [0.25, 0.5], "theta": 0.2}, {"type": "stop", "theta": 0.2},
                   {"type": "self_draft", "layers": [0.25, 0.5]}, {"type": "chain"}],
    }  # fmt: skip
    rows = simspec.sweep(table, output=tmp_path / "layers").estimates
    for row in rows.itertuples():
        share = {"stop": row.c_d, "chain": row.c_d}.get(row.scheme)
        layers = 0.5 if '"layers":0.5' in row.scheme_parameters else 0.25
        least = 1.0 + 4 * (share if share is not None else layers)
        assert row.mean_round_cost == pytest.approx(least + 4 * 0.02 * (1.0 if share else 1.0 - layers))
    assert set(rows.mean_steps) == {4.0}


def test_runs_of_heads_are_told_apart_and_compared_at_their_prices(tmp_path):
    table = {
        "name": "heads", "windows": 20_000, "kappa": [4],
        "process": {"type": "iid", "alpha": 0.7}, "cost": {"c_d": 0.1},
        "scheme": [{"type": "chain"}, {"type": "chain", "drafting": "window"}, {"type": "layerskip"}],
    }  # fmt: skip
    one, two = (simspec.sweep(table, output=tmp_path / str(seed), seed=seed) for seed in (1, 2))
    assert "chain drafting=window" in repr(one)
    rows = simspec.compare(one, two).to_pandas()
    spent = rows[rows.quantity == "mean_round_cost"]
    assert sorted(spent.a) == pytest.approx([1.1, 1.4, 2.0])
    alone = simspec.sweep(table | {"name": "window", "scheme": table["scheme"][1]}, output=tmp_path / "window")
    assert "a draft step makes all levels of a round" in repr(alone)


def test_rounds_of_one_kind_have_no_error():
    """A schedule of one token a pass: nothing is rejected or accepted by chance, however often it was seen."""
    row = simspec.simulate(Iid(alpha=0.7), COSTS[2], kappa=127, windows=5000, scheme="llada").to_pandas().iloc[0]
    assert [row.speedup_low, row.speedup, row.speedup_high] == pytest.approx([1.0 / (1.25 + 1.27)] * 3)
    sure = simspec.simulate(Iid(alpha=1.0), kappa=4, windows=5000).to_pandas().iloc[0]
    assert sure.speedup_low < sure.speedup  # a chain may reject, even if it never did


def test_steps_are_those_that_are_paid():
    """Draft steps per round, simulated and exact; the end of a generation cuts some."""
    ending = Drift(shape="table", alphas=[0.5, 0.5, 0.5])
    for scheme, process, kappa, steps in (
        (Chain(), Iid(alpha=0.7), 5, 5.0), (Chain(drafting="window"), Iid(alpha=0.7), 5, 1.0),
        (Chain(heads=2), Iid(alpha=0.7), 5, 3.0), (Chain(drafting="window"), Iid(alpha=0.7), 0, 0.0),
        (Chain(drafting="window"), ending, 1, 2 / 3),
    ):  # fmt: skip
        exact = simspec.simulate(process, kappa=kappa, scheme=scheme, method="exact").to_pandas()
        assert exact.mean_steps[0] == pytest.approx(steps)
        own = simspec.simulate(process, kappa=kappa, windows=60_000, scheme=scheme).to_pandas()
        assert own.mean_steps[0] == pytest.approx(steps, abs=0.0 if process is not ending else 0.01)


def test_what_cannot_be_priced_says_so():
    for make, named in (
        (lambda: SelfDraft(layers=1.2), "layers"),
        (lambda: SelfDraft(layers=0.5, adapter=-1), "adapter"),
        (lambda: SelfDraft(layers=0.5, theta=2), "theta"),
        (lambda: SelfDraft(), "layers"),
        (lambda: SelfDraft(layers=0.5, kmin=2), "kmin"),
        (lambda: SelfDraft(layers=0.5, rule="survival"), "rule"),
        (lambda: Chain(drafting="layer"), "drafting"),
        (lambda: Chain(heads=0), "heads"),
        (lambda: Tree(heads=2, drafting="window"), "heads"),
        (lambda: simspec.simulate(Iid(alpha=0.5), COSTS[5], kappa=9, scheme=SelfDraft(layers=0.5)), "kappa"),
        (lambda: simspec.simulate(Iid(alpha=0.5), COSTS[4], kappa=9, scheme=Chain()), "kappa"),
        (lambda: theory.self_draft_work(2.0, 3), "fraction"),
    ):
        with pytest.raises(ParameterError) as caught:
            make()
        assert caught.value.key == named
    wide = simspec.simulate(Iid(alpha=0.5), COSTS[4], kappa=9, scheme=Chain(drafting="window"), windows=1000)
    assert wide.to_pandas().mean_round_cost[0] == pytest.approx(1.0 + 9 * 0.02 + 0.06)  # one step of the table is asked


def test_a_table_of_draft_steps_is_asked_as_far_as_steps_go():
    """Two drafts a step: three entries price four drafts and no fifth; layers ask for no entry."""
    short = Cost(draft_table=(0.0, 0.1, 0.15), c_v=0.01)
    assert Chain(heads=2).priced(short).longest_draft == 4
    assert Chain(heads=2).priced(short).of_round(4, rejected=False) == pytest.approx(1.0 + 0.15 + 0.04)
    found = simspec.simulate(Iid(alpha=0.5), short, kappa=4, windows=1000, scheme=Chain(heads=2))
    assert found.to_pandas().mean_round_cost[0] == pytest.approx(1.19)
    with pytest.raises(ParameterError, match="kappa = 5 is beyond the cost tables; allowed: 0 ≤ kappa ≤ 4"):
        simspec.simulate(Iid(alpha=0.5), short, kappa=5, scheme=Chain(heads=2))
    for scheme in (SelfDraft(layers=0.5), SelfDraft(layers=0.5, theta=0.2)):
        own = simspec.simulate(Iid(alpha=0.5), short, kappa=6, windows=1000, scheme=scheme).to_pandas()
        assert own.mean_round_cost[0] == pytest.approx(1.0 + 6 * 0.5 + 6 * 0.005)
