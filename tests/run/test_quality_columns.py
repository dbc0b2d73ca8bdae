"""What a lossy system loses, from its rounds to the tables: counted, exact, a proxy called a proxy, or not known."""

import itertools
import json
import shutil
from typing import Literal

import numpy as np
import pyarrow.parquet as pq
import pytest

import simspec
from simspec import theory, write_report
from simspec.cli.main import main
from simspec.kernels import play, twin
from simspec.kernels.lower_schemes import scheme_form, tally_of
from simspec.kernels.words import LANES, stream_keys
from simspec.model import Cost, Hmm, Iid, ParameterError, RoundTable, Scenario, Simulation, TokenChain
from simspec.model.loss import Loss
from simspec.model.schemes import BigLittle, Schemes, Tokens, Unmask
from simspec.report.systems_folder import stored, write
from simspec.run.dataset import read
from simspec.run.dispatch import run_jobs
from simspec.run.engine import Job
from simspec.run.sweep import sweep
from simspec.run.systems import process_of, scheme_of, systems_text
from simspec.run.tables import Block, estimate_table
from simspec.stats.counts import Counts
from simspec.stats.point import loss_estimates

FOUR = TokenChain(
    target=((0.1, 0.7, 0.1, 0.1), (0.05, 0.05, 0.2, 0.7), (0.4, 0.3, 0.2, 0.1), (0.6, 0.0, 0.3, 0.1)),
    draft=((0.1, 0.8, 0.05, 0.05), (0.02, 0.02, 0.9, 0.06), (0.45, 0.25, 0.2, 0.1), (0.1, 0.7, 0.1, 0.1)),
)
TWO = TokenChain(target=((0.2, 0.8), (0.6, 0.4)), draft=((0.3, 0.7), (0.1, 0.9)))
ONE = TokenChain(target=((1.0,),), draft=((1.0,),))
MASKS = Hmm(P=((0.5, 0.3, 0.2),) * 3, alphas=(0.9, 0.6, 0.2))


def turns(scheme, process, kappa):
    own = scheme.models(process.target, process.draft)
    return theory.big_little_text(
        process.target, process.draft, kappa, own.fallback, own.rollback, own.sampled
    ).disagreement


def schedule(scheme, process, kappa):
    if isinstance(process, Hmm):
        return theory.remask(kappa + 1, scheme.steps, process.alphas, process.P[0], scheme.tau).p_unsure
    weights = (process.alpha, 1.0 - process.alpha)
    return theory.remask(kappa + 1, scheme.steps, (1.0, 0.0), weights, 0.5).p_unsure


def threshold(scheme, process, kappa):
    chance = process.alpha if scheme.tau is None else sum(
        share for share, own in zip(process.P[0], process.alphas, strict=True) if own >= scheme.tau
    )  # fmt: skip
    return theory.parallel_unmask(kappa + 1, chance).p_unsure


COUNTED = [
    (BigLittle(fallback=0.6), FOUR, 10, turns),  # as published: one ring of three tokens
    (BigLittle(fallback=0.4, rollback=5.0, sampled=True), FOUR, 3, turns),
    (BigLittle(fallback=0.75, rollback=1.5, sampled=True), FOUR, 4, turns),
    (BigLittle(fallback=0.0, rollback=0.8, sampled=True), TWO, 5, turns),
    (BigLittle(fallback=0.0, rollback=0.0, sampled=True), TWO, 3, turns),  # all is taken back
    (BigLittle(fallback=1.0), TWO, 3, turns),  # the large model alone
    (BigLittle(fallback=0.6, sampled=True), FOUR, 0, turns),  # no drafts: and yet it is lossy by this measure
    (BigLittle(fallback=0.6), ONE, 2, turns),
    (Unmask(steps=4), Iid(alpha=0.6), 7, schedule),
    (Unmask(steps=8), Iid(alpha=0.5), 7, schedule),
    (Unmask(steps=1), Iid(alpha=0.4), 0, schedule),
    (Unmask(steps=2), Iid(alpha=0.0), 4, schedule),
    (Unmask(steps=2), Iid(alpha=1.0), 4, schedule),
    (Unmask(steps=5, tau=0.7), MASKS, 11, schedule),
    (Unmask(), Iid(alpha=0.3), 15, threshold),
    (Unmask(), Iid(alpha=0.3), 0, threshold),
    (Unmask(), Iid(alpha=0.0), 5, threshold),
    (Unmask(), Iid(alpha=1.0), 5, threshold),
    (Unmask(tau=0.5), MASKS, 9, threshold),
]
LEVEL = 1.0 - 1e-6 / len(COUNTED)
IDS = [f"{scheme} {process.type} {kappa}" for scheme, process, kappa, _ in COUNTED]


def row_of(scheme, process, kappa, level=0.95, windows=60_000, seed=3):
    ((job, tallies),) = run_jobs([Job(Simulation(process, scheme), (kappa,), windows, seed)], 1)
    (row,) = estimate_table([Block(job, tallies, [Cost()], level)]).to_pylist()
    return row


def case_is_random(scheme):
    """Where lanes do not spread at all nothing is known of how tokens depend, and an interval counts lanes."""
    return not isinstance(scheme, BigLittle) or scheme.sampled


@pytest.mark.parametrize(("scheme", "process", "kappa", "exact"), COUNTED, ids=IDS)
def test_what_is_counted_is_what_is_known(scheme, process, kappa, exact):
    """19 sets, all of them inside intervals that err once in a million for all together."""
    row = row_of(scheme, process, kappa, LEVEL)
    known = exact(scheme, process, kappa)
    assert row["loss_exact"] == pytest.approx(known, abs=1e-12)
    assert row["loss_per_token_low"] <= known + 1e-12
    assert known - 1e-12 <= row["loss_per_token_high"]
    if known in (0.0, 1.0):
        assert row["loss_per_token"] == pytest.approx(known, abs=1e-12)
    elif case_is_random(scheme):  # an interval that a wrong count would leave
        assert row["loss_per_token_high"] - row["loss_per_token_low"] < max(0.25 * known, 0.02)


def test_a_wrong_loss_lies_outside():
    """What another threshold loses, and a token more or less in each round that loses one."""
    scheme, process, kappa, _ = COUNTED[1]
    row = row_of(scheme, process, kappa, LEVEL)
    for other in (turns(BigLittle(fallback=0.5, rollback=5.0, sampled=True), process, kappa), row["loss_exact"] * 1.05):
        assert not row["loss_per_token_low"] <= other <= row["loss_per_token_high"]
    scheme, process, kappa, _ = COUNTED[8]
    row = row_of(scheme, process, kappa, LEVEL)
    wrong = theory.remask(8, 4, (1.0, 0.0), (0.62, 0.38), 0.5).p_unsure
    assert not row["loss_per_token_low"] <= wrong <= row["loss_per_token_high"]


@pytest.mark.parametrize("case", [1, 8, 14])
def test_kernel_and_twin_lose_alike(case):
    scheme, process, kappa, _ = COUNTED[case]
    form, keys = scheme_form(Simulation(process, scheme).rounds(kappa)), stream_keys(2, "loss")
    fast, slow = (
        loss_estimates(
            Counts.of([tally_of(form.kinds, player.scheme_counts(form, keys, 1, 8, 40), kappa)], False), 0.95
        )
        for player in (play, twin)
    )
    assert all(np.array_equal(fast[name], slow[name]) for name in fast)
    assert fast["loss_per_token"][0] > 0.0


RINGS = TokenChain(  # greedy texts stay in one of two rings: one loses nothing, the other every second token
    target=((0.1, 0.6, 0.2, 0.1), (0.6, 0.1, 0.2, 0.1), (0.1, 0.5, 0.05, 0.35), (0.05, 0.05, 0.8, 0.1)),
    draft=((0.1, 0.7, 0.1, 0.1), (0.7, 0.1, 0.1, 0.1), (0.1, 0.1, 0.1, 0.7), (0.1, 0.1, 0.7, 0.1)),
)


@pytest.mark.parametrize(
    "case", [(BigLittle(fallback=0.5), RINGS, 3, turns), COUNTED[1], COUNTED[13]], ids=["rings", "turns", "schedule"]
)
def test_intervals_of_a_loss_cover(case):
    """150 groups of 32 lanes: fewer than 126 of the intervals at 95% cover once in 3 million times.  Tokens of one lane
    depend on each other, or each lane of greedy texts is one ring: a third of the width covers far less."""
    scheme, process, kappa, exact = case
    form, keys = scheme_form(Simulation(process, scheme).rounds(kappa)), stream_keys(5, f"cover {scheme}")
    lanes = np.concatenate([play.scheme_counts(form, keys, chunk, LANES, 400) for chunk in range(75)])
    known, covered, narrow = exact(scheme, process, kappa), 0, 0
    for own in lanes.reshape(150, 32, -1):
        found = loss_estimates(Counts.of([tally_of(form.kinds, own, kappa)], False), 0.95)
        at, low, high = (float(found[f"loss_per_token{end}"][0]) for end in ("", "_low", "_high"))
        covered += low <= known <= high
        narrow += at - (at - low) / 3 <= known <= at + (high - at) / 3
    assert covered >= 126
    assert narrow < 126


SCHEMES = [
    {"type": "chain", "label": "plain", "process": "pair"},
    {"type": "big_little", "label": "by chances", "p_fallback": 0.2, "process": "pair"},
    {"type": "big_little", "label": "by thresholds", "fallback": 0.6, "process": "text", "kappa": [0, 4]},
    {"type": "big_little", "label": "drawn", "fallback": 0.6, "sampled": True, "process": "text"},
    {"type": "tokens", "label": "lenient", "rule": "lenient", "lenience": 0.5, "process": "text"},
    {"type": "tokens", "label": "merged", "sequences": 3, "process": "text"},
    {"type": "tokens", "label": "sure", "rule": "lenient", "lenience": 1.0, "process": "text"},
    {"type": "unmask", "label": "masks", "steps": 4, "tau": 0.7, "process": "masks", "kappa": [7]},
]
SCENARIO = {
    "name": "loses",
    "windows": 20_000,
    "kappa": [1, 3],
    "process": [
        {"type": "iid", "alpha": 0.7, "label": "pair"},
        {**FOUR.identity(), "label": "text"},
        {**MASKS.identity(), "label": "masks"},
    ],
    "scheme": SCHEMES,
    "cost": {"c_d": 0.05},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("loses")


@pytest.fixture(scope="module")
def played(folder):
    return sweep(Scenario.from_dict(SCENARIO), folder / "played")


@pytest.fixture(scope="module")
def known(folder):
    return sweep(Scenario.from_dict({**SCENARIO, "method": "exact"}), folder / "known")


ENDS = ("loss_per_token", "loss_per_token_low", "loss_per_token_high")


@pytest.mark.parametrize("label", ["plain", "merged", "sure"])
def test_what_is_lossless_loses_nothing(played, known, label):
    for data in (played, known):
        rows = data.estimates.query("scheme_label == @label")
        assert set(rows["loses"]) == {"lossless"}
        assert (rows[[*ENDS, "loss_exact"]] == 0.0).all(axis=None)


def test_a_distance_is_exact_only_and_chances_know_nothing(played, known):
    for data in (played, known):
        rows = data.estimates.query("scheme_label == 'lenient'")
        assert rows[list(ENDS)].isna().all(axis=None)
        for row in rows.itertuples():
            law = theory.token_walk(Tokens(rule="lenient", lenience=0.5), FOUR, row.kappa)
            assert row.loss_exact == pytest.approx(law.tv_pairs, abs=1e-15)
            assert row.loss_exact > 0.01
        rows = data.estimates.query("scheme_label == 'by chances'")
        assert set(rows["loses"]) == {"not known"}
        assert rows[[*ENDS, "loss_exact"]].isna().all(axis=None)


def test_exact_runs_hold_the_same_columns(played, known):
    a, b = (
        data.estimates.astype({"point_id": str}).set_index(["point_id", "kappa"]).sort_index()
        for data in (played, known)
    )
    assert a["loses"].astype(str).tolist() == b["loses"].astype(str).tolist()
    np.testing.assert_array_equal(a["loss_exact"], b["loss_exact"])
    assert (a["loss_per_token"].isna() == b["loss_per_token"].isna()).all()
    counted = b[b["loss_per_token"].notna()]
    assert all((counted[end] == counted["loss_exact"]).all() for end in ENDS)


SAID = [
    "by thresholds: the output is not the target's; lost: share of tokens that are not the large model's likeliest",
    "lenient: the output is not the target's; lost: distance in total variation between pairs of tokens here and in",
    "by the exact route alone, since rounds do not count it",
    "by chances: the output is not the target's; what it loses is not known from acceptance rates alone",
    "masks: the output is not the target's; lost: proxy, no measure of quality: share of tokens filled in whose "
    "confidence was below 0.7",
    "loses: what is lost per emitted token, each lossy way by a measure of its own, told below",
]


def test_the_tables_say_what_the_number_is(played, folder, capsys):
    text = " ".join(played.summary().split())
    for said in SAID:
        assert said in text
    lines = {line.split("  ")[0].removesuffix(" (lossy)"): line.rstrip() for line in played.summary().splitlines()}
    assert lines["plain"].endswith("  lossless")
    assert lines["by chances"].endswith("  not known")
    law = theory.token_walk(Tokens(rule="lenient", lenience=0.5), FOUR, 3)
    assert lines["lenient"].endswith(f"  {law.tv_pairs:.4f} (exact)")
    own = played.estimates.query("scheme_label == 'drawn' and kappa == kappa_star").iloc[0]
    told = f"{own.loss_per_token:.4f} [{own.loss_per_token_low:.4f}, {own.loss_per_token_high:.4f}]"
    assert lines["drawn"].endswith(f"  {told}, exact {own.loss_exact:.4f}")
    assert main(["show", str(played.path)]) == 0
    assert capsys.readouterr().out.count("lossless") == 3
    page = write_report(played.path, folder / "page.html").read_text(encoding="utf-8")
    running = " ".join(page.replace("&nbsp;", " ").replace("&#x27;", "'").replace("&#39;", "'").split())
    for said in ("proxy, no measure of quality", "by the exact route alone", "Loses", "not known", *SAID[3:4]):
        assert said in running
    write(Scenario.from_dict(SCENARIO), folder / "systems", "the scenario")
    markdown = (folder / "systems" / "README.md").read_text(encoding="utf-8")
    assert "| steps | loses |" in markdown
    assert "not the large model's likeliest." in " ".join(markdown.split())


def test_merged_trees_and_drawn_turns_say_what_else_is_exact(played):
    """Three chains of drafts by hand: at depth 1 Σ 1 − (1 − q)³ nodes, at depth 2 the same by the paths."""
    text = " ".join(played.summary().split())
    row = played.estimates.query("scheme_label == 'merged' and kappa == kappa_star").iloc[0]
    kappa, draft = int(row.kappa), np.array(FOUR.draft)
    start, nodes = theory.token_walk(Tokens(sequences=3), FOUR, kappa).start_law, 0.0
    for depth in range(1, kappa + 1):
        for path in itertools.product(range(4), repeat=depth + 1):
            chance = np.prod([draft[a, b] for a, b in itertools.pairwise(path)])
            nodes += start[path[0]] * (1 - (1 - chance) ** 3)
    assert f"merged: merged into one tree, {nodes:.2f} of its {3 * kappa} drafted tokens differ (exact)" in text
    own = played.estimates.query("scheme_label == 'drawn' and kappa == kappa_star").iloc[0]
    law = theory.big_little_text(FOUR.target, FOUR.draft, int(own.kappa), 0.6, 5.0, True)
    assert f"drawn: where the large model draws alone {law.own_disagreement:.4f} of its tokens" in text
    assert f"is {law.tv:.4f} from its law in total variation (exact)" in text


def test_merged_trees_too_large_to_list_say_so():
    with pytest.raises(ParameterError, match=r"sequences = 64 of .* paths each are too many; allowed: \d+"):
        theory.merged_nodes(Tokens(sequences=64), FOUR, 8)


NEW = ["loses", "loss_exact", *ENDS]


def aged(source, target, version, missing):
    """A folder as an older version wrote it."""
    shutil.copytree(source, target)
    manifest = json.loads((target / "manifest.json").read_text())
    (target / "manifest.json").write_text(json.dumps(manifest | {"schema_version": version}))
    for part in (target / "estimates").glob("*.parquet"):
        pq.write_table(pq.read_table(part).drop_columns(missing), part)
    return read(target)


def test_a_folder_of_version_3_is_read_and_says_that_it_is_not_stored(played, folder):
    data = aged(played.path, folder / "three", 3, NEW)
    assert data.estimates[NEW].isna().all(axis=None)
    assert data.estimates["speedup"].tolist() == played.estimates["speedup"].tolist()
    text = " ".join(systems_text(data.systems(), None).split())
    assert "not stored in a run of this age: run it again" in text
    assert text.count(" lossless ") >= 3  # which needs no column
    assert "not stored" in write_report(data.path, folder / "three.html").read_text(encoding="utf-8")


def test_a_folder_of_version_2_is_read(folder):
    """Chains alone, before there were schemes."""
    chains = sweep(Scenario.from_dict({**SCENARIO, "scheme": [{"type": "chain"}]}), folder / "chains")
    gone = ["scheme", "scheme_parameters", "scheme_label", "mean_drafted", "mean_steps", "mean_wasted"]
    data = aged(chains.path, folder / "two", 2, [*NEW, *gone])
    assert data.estimates[[*NEW, *gone]].isna().all(axis=None)
    assert data.estimates["speedup"].tolist() == chains.estimates["speedup"].tolist()
    assert data.summary().splitlines()[2:8] == chains.summary().splitlines()[2:8]
    assert len(data.systems()) == 3
    assert all(own.lossless and own.cells()[-1] == "lossless" for own in data.systems())


def test_exact_says_it_too(capsys):
    assert main(["exact", "--alpha", ".1", "--scheme", "fast dllm", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["loses"] == "proxy, no measure of quality: share of tokens filled in that were not confident"
    for row in told["by_kappa"]:
        assert row["loss"] == pytest.approx(theory.parallel_unmask(row["kappa"] + 1, 0.1).p_unsure)
    for words, said in (
        (["bild", "p_fallback=.2"], "lost: not known"),
        (["fast dllm"], "(proxy, no measure of quality: "),
    ):
        assert main(["exact", "--scheme", *words]) == 0
        assert said in " ".join(capsys.readouterr().out.split())
    assert main(["exact", "--scheme", "medusa"]) == 0
    assert "lost: " not in capsys.readouterr().out


def test_the_committed_table_of_systems_says_what_is_lost(request):
    """Exact values as of today; counted ones inside six standard errors of them (an interval at 95% being 1.96)."""
    rows = [row for row in stored(request.config.rootpath / "results" / "systems") if row["loses"] != "lossless"]
    assert len({row["scheme_label"] for row in rows}) == 5
    for row in rows:
        law = theory.scheme_law(scheme_of(row), process_of(row), row["kappa"])
        assert row["loss_exact"] == (None if law.loss is None else pytest.approx(law.loss, rel=1e-9))
        if row["loss_per_token"] is not None:
            wide = 6 / 1.96 * (row["loss_per_token_high"] - row["loss_per_token_low"]) / 2
            assert abs(row["loss_per_token"] - law.loss) <= wide


def test_one_simulation_says_it_too():
    """In Python, without a folder: nulls are None here."""
    for own, said in (
        ({"type": "big_little", "fallback": 0.6}, "lost: share of tokens that are not the large model's likeliest"),
        ({"type": "tokens", "rule": "typical"}, "(exact)"),
        ({"type": "tokens", "sequences": 2}, "drafted tokens differ (exact)"),
    ):
        assert said in " ".join(repr(simspec.simulate(FOUR, kappa=[2], windows=5000, scheme=own)).split())
    assert "loses" not in repr(simspec.simulate(Iid(alpha=0.5), kappa=[2], windows=5000))


def test_a_scheme_of_ones_own_counts_its_own_loss():
    @simspec.register_scheme
    class Careless(simspec.Scheme):
        """Keeps its one draft always; of two wrong ones it loses one."""

        type: Literal["careless"] = "careless"

        @property
        def lossless(self):
            return False

        @property
        def loses(self):
            return Loss("share of wrong tokens")

        def rounds(self, draft, kappa):
            table, (rate, *_) = RoundTable(), draft.rates(kappa)
            table.add([(rate, table.end(1, 1)), (1 - rate, table.end(1, 1, lost=1))])
            return table

    try:
        row = simspec.simulate(Iid(alpha=0.6), kappa=[1], windows=100_000, level=LEVEL, scheme=Careless()).to_pandas()
        assert row["loses"].tolist() == ["share of wrong tokens"]
        assert row["loss_per_token_low"][0] <= 0.2 <= row["loss_per_token_high"][0]
        assert not row["loss_per_token_low"][0] <= 0.21 <= row["loss_per_token_high"][0]
        assert np.isnan(row["loss_exact"][0])
    finally:
        del Schemes.table["careless"]


@pytest.mark.parametrize("lost", [-1, 3])
def test_a_round_cannot_lose_what_it_does_not_emit(lost):
    table = RoundTable()
    table.add([(1.0, table.end(1, 1, lost=lost))])
    with pytest.raises(ParameterError, match=f"loses {lost} of its tokens; allowed: 0 to 2"):
        table.check()
