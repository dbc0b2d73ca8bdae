"""The rounds behind the figures: every round of a source is kept or counted as left out, by request and in order."""

import json
import os
import re
from array import array
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from writers import (
    DEEP,
    OTHER,
    SAMPLES,
    SMALL,
    Truth,
    keyvalue,
    lines,
    llamacpp_old,
    llamacpp_request,
    llamacpp_statistics,
    mlc,
    rounds_csv,
    sglang_meta,
    specbench,
    vllm_current,
    vllm_mid,
    vllm_request,
    vllm_scrape,
)

import simspec
from simspec.cli.main import main
from simspec.evidence import gather
from simspec.evidence.gather import Blocks, Kept, pooled
from simspec.evidence.observed import ENGINE, INTERVAL, LOG_LINE, NO_UNIT, REQUEST, Observed
from simspec.evidence.source import Unknown

NO_ROUNDS = {
    "vllm-v0-speculative-metrics": "no counts per position",
    "vllm-v1-early": "nothing per position",
    "sglang-decode-len": "means without counts",
    "sglang-decode-rate-draft-only": "means without counts",
    "sglang-decode-rate-with-bonus": "means without counts",
    "sglang-bench-serving": "mean without counts",
    "sglang-bench-json": "mean without counts",
    "sglang-prometheus": "gauges",
    "vllm-v0-prometheus": "adds the totals",
    "llamacpp-speculative-cli": "no counts per position",
    "llamacpp-server-rate": "no drafts per position",
    "llamacpp-timings": "not given",
    "trtllm-iteration-stats": "nothing per position",
    "trtllm-request-metrics": "nothing per position",
    "eagle-medusa-eval": "nothing per step",
    "gpt-fast-summary": "without a number of rounds",
    "lmstudio-stats": "no number of rounds",
    "spec-bench": "does not hold κ",
}
"""Shape → words of the reason for which its samples hold no rounds."""
UNITS = {"rounds-csv": NO_UNIT, "vllm-prometheus": NO_UNIT, "vllm-bench-serve": NO_UNIT,
         "vllm-bench-json": NO_UNIT, "llamacpp-prometheus": NO_UNIT, "mlc-metrics": NO_UNIT,
         "vllm-offline-example": NO_UNIT, "speculators-csv": NO_UNIT, "vllm-v1-mid": LOG_LINE,
         "vllm-v1-current": LOG_LINE, "key-value": LOG_LINE}  # fmt: skip
"""Shape → what a group is; else a request."""


@pytest.fixture
def fit(tmp_path):
    """The only source of a text."""

    def read(text, **options):
        (tmp_path / "file").write_text(text)
        (own,) = simspec.fit(tmp_path / "file", **options)
        return own

    return read


def block_of(source):
    """The figures of all rounds."""
    return source.body.get("pooled") or source.body["pooled_with_histogram"]


def same(source):
    """Rounds kept and left out are those of the figures; where none is left out, position by position."""
    seen, block = source.observed, block_of(source)
    assert seen.rounds + seen.left_out == block["drafts"]
    if not seen.left_out:
        if not isinstance(block["accepted_at_position"], Unknown):
            assert seen.reached().tolist() == block["accepted_at_position"]
        assert int(seen.drafted @ seen.count) - seen.missing == block["draft_tokens"]
    return seen


@pytest.mark.parametrize("shape", SAMPLES)
def test_every_shape_hands_over_its_rounds_or_says_why_not(fit, shape):
    own = fit(SAMPLES[shape])
    if shape in NO_ROUNDS:
        assert isinstance(own.observed, Unknown)
        assert NO_ROUNDS[shape] in own.observed.reason
    else:
        seen = same(own)
        assert seen.unit == UNITS.get(shape, REQUEST)
        assert seen.left_out == 0


TRUTHS = st.lists(st.integers(0, 60), min_size=2, max_size=9).filter(any).map(tuple).map(Truth)


@settings(max_examples=60, deadline=2000, derandomize=True)
@given(first=TRUTHS, second=TRUTHS)
def test_rounds_of_written_counts_come_back(tmp_path_factory, first, second):
    place = tmp_path_factory.mktemp("texts")
    texts = [
        lines(vllm_current(first), vllm_current(second)),
        lines(vllm_request(first, "a"), vllm_request(second, "b")),
        lines(sglang_meta(first, "a"), sglang_meta(second, "b")),
        lines(llamacpp_request(first), llamacpp_request(second, 2)),
        keyvalue(first) + keyvalue(second),
    ]
    for text in texts:
        (place / "file").write_text(text)
        (own,) = simspec.fit(place / "file")
        seen = same(own)
        assert seen.groups == 2
        for group, truth in enumerate((first, second)):
            part = seen.take([group])
            wanted = [(truth.kappa, far, n) for far, n in enumerate(truth.histogram) if n]
            assert list(zip(part.drafted.tolist(), part.accepted.tolist(), part.count.tolist(), strict=True)) == wanted


def test_steps_of_a_request_keep_their_order_and_length(fit):
    """vLLM's detailed metrics: what was drafted and accepted in each step."""
    record = {"num_spec_steps": 4, "num_draft_tokens": 9, "num_accepted_draft_tokens": 5, "num_spec_tokens": 3,
              "per_step_accepted": [3, 0, 2, 0], "per_step_drafted": [3, 3, 2, 1]}  # fmt: skip
    seen = same(fit(lines(json.dumps({"id": "a", "metrics": {"speculative_decoding": record}}))))
    assert seen.ordered
    assert (seen.drafted.tolist(), seen.accepted.tolist()) == ([3, 3, 2, 1], [3, 0, 2, 0])
    record["per_step_drafted"] = [3, 3, 3, 0]
    record["per_step_accepted"] = [3, 0, 2, 0]
    seen = same(fit(lines(json.dumps({"id": "a", "metrics": {"speculative_decoding": record}}))))
    assert (seen.rounds, seen.left_out) == (3, 1)  # a step without a draft


def test_steps_in_which_nothing_was_drafted_are_no_rounds(fit):
    record = {"num_spec_steps": 5, "num_draft_tokens": 0, "num_accepted_draft_tokens": 0,
              "acceptance_histogram": [5]}  # fmt: skip
    own = fit(lines(json.dumps({"id": "a", "metrics": {"speculative_decoding": record}})))
    assert own.body["pooled"]["drafts"] == 5
    assert isinstance(own.observed, Unknown)


def test_a_length_beyond_all_drafts_is_refused(fit):
    with pytest.raises(simspec.ParameterError, match="kappa = 70000 is out of range"):
        fit(SAMPLES["spec-bench"], kappa=70_000)


def test_per_step_lists_that_contradict_the_counts_are_refused(fit):
    record = {"num_spec_steps": 2, "num_draft_tokens": 6, "num_accepted_draft_tokens": 3, "num_spec_tokens": 3,
              "per_step_accepted": [3, 0], "per_step_drafted": [3, 2]}  # fmt: skip
    with pytest.raises(simspec.ParameterError, match="per_step_drafted"):
        fit(lines(json.dumps({"id": "a", "metrics": {"speculative_decoding": record}})))


def test_steps_without_lengths_are_in_order_where_every_draft_is_full(fit):
    record = {"num_spec_steps": 2, "num_draft_tokens": 6, "num_accepted_draft_tokens": 3, "num_spec_tokens": 3,
              "per_step_accepted": [3, 0]}  # fmt: skip
    seen = same(fit(lines(json.dumps({"id": "a", "metrics": {"speculative_decoding": record}}))))
    assert (seen.ordered, seen.drafted.tolist()) == (True, [3, 3])


def test_turns_of_a_question_are_generations_of_their_own(fit):
    row = json.loads(specbench(1, [2, 1, 4, 1, 3]))
    row["choices"][0] |= {"turns": ["…", "…"], "decoding_steps": [2, 3]}
    own = fit(lines(json.dumps(row), specbench(2, [1, 1])), kappa=3)
    seen = same(own)
    assert seen.offsets.tolist() == [0, 2, 5, 7]
    assert seen.accepted.tolist() == [1, 0, 3, 0, 2, 0, 0]
    row["choices"][0]["decoding_steps"] = [2, 2]
    own = fit(lines(json.dumps(row)), kappa=3)
    assert same(own).groups == 1
    assert any("turn" in text for text in own.ambiguous)


def test_a_question_that_stands_twice_is_kept_once(fit):
    seen = same(fit(lines(specbench(1, [2, 1, 4]), specbench(1, [1, 3])), kappa=3))
    assert seen.accepted.tolist() == [0, 2]


def test_rows_of_a_request_are_its_rounds_in_order(fit):
    text = "accepted,kappa,request\n0,0,a\n2,4,a\n0,3,a\n0,0,b\n1,1,b\n4,5,c\n"
    seen = same(fit(text))
    assert seen.ordered
    assert seen.offsets.tolist() == [0, 2, 3, 4]
    assert seen.drafted.tolist() == [4, 3, 1, 5]
    assert seen.accepted.tolist() == [2, 0, 1, 4]


def test_lists_of_rounds_are_requests(tmp_path):
    import pyarrow as pa
    from pyarrow import parquet

    parquet.write_table(pa.table({"accepted": [[1, 0, 2], [], [3]], "kappa": [3, 3, 4]}), tmp_path / "lists")
    (own,) = simspec.fit(tmp_path / "lists")
    seen = same(own)
    assert seen.offsets.tolist() == [0, 3, 4]
    assert (seen.drafted.tolist(), seen.accepted.tolist()) == ([3, 3, 3, 4], [1, 0, 2, 3])


def test_lists_of_drafts_stand_beside_lists_of_lengths(tmp_path):
    import pyarrow as pa
    from pyarrow import parquet

    table = {"question_id": ["x", "y"], "accepted": [[1, 0, 2], [3]], "kappa": [[5, 7, 6], [5]]}
    parquet.write_table(pa.table(table), tmp_path / "lists")
    (own,) = simspec.fit(tmp_path / "lists")
    seen = same(own)
    assert (seen.drafted.tolist(), seen.names) == ([5, 7, 6, 5], ("x", "y"))
    parquet.write_table(pa.table(table | {"kappa": [[5, 7], [5, 5]]}), tmp_path / "lists")
    with pytest.raises(simspec.ParameterError, match="not as long"):
        simspec.fit(tmp_path / "lists")


def test_a_request_whose_first_rows_have_no_draft_begins_anew(monkeypatch):
    own = Kept()
    none = np.array([], np.int64)
    own.stretch(np.array([2, 2]), np.array([1, 0]), begins=True)
    own.stretch(none, none, begins=True)
    own.stretch(np.array([2]), np.array([2]), begins=False)
    assert own.observed().offsets.tolist() == [0, 2, 3]


def test_a_question_that_is_replaced_makes_room(fit, monkeypatch):
    monkeypatch.setattr(simspec.evidence.readers.specbench, "MOST_KEPT", 15)
    seen = same(fit(lines(*[specbench(1, [1, 2, 4, 1])] * 9), kappa=3))
    assert (seen.rounds, seen.left_out) == (4, 0)


@pytest.mark.parametrize(("text", "kappa"),
                         [(rounds_csv(DEEP), None), (rounds_csv(DEEP, request=lambda i: f"r{i // 10}"), None),
                          (lines(*(specbench(i, [1, 2, 4, 1]) for i in range(9))), 3),
                          (lines(*(vllm_request(SMALL, str(i)) for i in range(9))), None)])  # fmt: skip
def test_what_does_not_fit_is_left_out_and_counted(fit, monkeypatch, text, kappa):
    for module in (gather, simspec.evidence.readers.specbench):
        monkeypatch.setattr(module, "MOST_KEPT", 15)
    own = fit(text, kappa=kappa)
    seen = own.observed
    assert seen.rounds > 0
    assert len(seen.drafted) <= 15
    assert seen.left_out > 0
    assert seen.rounds + seen.left_out == block_of(own)["drafts"]


def test_log_lines_beyond_the_limit_are_added_to_their_neighbours(fit, monkeypatch):
    monkeypatch.setattr(gather, "MOST_BLOCKS", 4)
    own = fit(lines(*[vllm_current(SMALL), vllm_current(DEEP)] * 9))
    seen = own.observed
    assert seen.groups == 3  # blocks of eight lines
    assert seen.rounds == block_of(own)["drafts"]
    assert seen.reached().tolist() == block_of(own)["accepted_at_position"]
    assert seen.kappas == (3, 5)


def test_short_drafts_nobody_can_place_are_said_or_refused(fit):
    whole, few = lines(*[vllm_mid(SMALL)] * 20), vllm_mid(SMALL, SMALL.drafted - 11)
    seen = fit(whole + lines(few)).observed
    assert seen.missing == 11
    assert int(seen.drafted @ seen.count) - 11 == 20 * SMALL.drafted + SMALL.drafted - 11
    observed = fit(lines(few)).observed
    assert isinstance(observed, Unknown)
    assert "shorter than κ" in observed.reason


def test_counts_that_rise_give_no_rounds():
    assert isinstance(pooled([(2, 10, [5, 6], 20)]), Unknown)
    assert isinstance(pooled([(2, 10, [11, 6], 20)]), Unknown)
    kept = pooled([(2, 10, [5, 6], 20), (2, 10, [5, 4], 20)])
    assert (kept.rounds, kept.left_out) == (10, 10)
    blocks = Blocks()
    blocks.line(2, 10, [5, 6], 20, ("server.log", 1))
    assert isinstance(blocks.observed(), Unknown)


def test_several_scrapes_are_blocks_of_time(fit):
    truths = [Truth(tuple(i * n for n in SMALL.histogram)) for i in (1, 2, 4)]
    seen = same(fit("".join(vllm_scrape({"0": truth, "1": truth}) for truth in truths)))
    assert (seen.unit, seen.groups) == (INTERVAL, 4)


def test_totals_that_hold_more_than_the_requests_leave_the_rest_out(fit):
    both = Truth(tuple(a + b for a, b in zip(SMALL.histogram, OTHER.histogram, strict=True)))
    seen = same(fit(lines(llamacpp_request(SMALL), llamacpp_statistics(both))))
    assert (seen.rounds, seen.left_out) == (SMALL.drafts, OTHER.drafts)
    seen = same(fit(lines(llamacpp_statistics(both))))
    assert (seen.unit, seen.rounds) == (NO_UNIT, both.drafts)
    own = fit(lines(llamacpp_request(SMALL), llamacpp_statistics(SMALL), llamacpp_request(OTHER, 9)))
    assert same(own).rounds == both.drafts


def test_segments_of_one_reset_counter_are_one_group(fit):
    seen = fit(lines(mlc(OTHER), mlc(SMALL))).observed
    assert seen.groups == 1
    assert seen.rounds == OTHER.drafts + SMALL.drafts
    assert not seen.clustered


def test_old_lines_give_none(fit):
    assert isinstance(fit(llamacpp_old(SMALL)).observed, Unknown)


def test_a_tree_says_that_depth_stands_for_its_drafts(fit):
    text = sglang_meta(SMALL, "a")
    proposed = re.search(r'"spec_num_proposed_drafts": (\d+)', text)
    own = fit(lines(text.replace(proposed.group(0), f'"spec_num_proposed_drafts": {2 * SMALL.drafted}')))
    assert "TREE_DRAFTER" in own.warn
    assert own.observed.kappas == (SMALL.kappa,)
    assert any("deepest path" in text for text in own.ambiguous)


def test_the_identity_would_see_a_round_that_is_lost(fit):
    own = fit(SAMPLES["rounds-csv"])
    seen = own.observed
    own.observed = Observed(seen.drafted[1:], seen.accepted[1:], seen.count[1:], np.array([0, seen.rounds - 1]))
    with pytest.raises(AssertionError):
        same(own)


def test_columns_hold_what_a_draft_can_be():
    assert array("H").itemsize == 2
    assert simspec.evidence.block.LONGEST_DRAFT < 2**16


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("accepted,kappa,request\n2,4,a\n0,3,b\n", ("a", "b")),
        (lines(vllm_request(SMALL, "a"), vllm_request(OTHER, "b")), ("a", "b")),
        (lines(sglang_meta(SMALL, "a"), sglang_meta(OTHER, "b")), ("a", "b")),
        (lines(vllm_current(SMALL)), None),
        (lines(llamacpp_request(SMALL), llamacpp_request(OTHER, 2)), None),  # a task's number is no name
    ],
)
def test_requests_keep_the_name_the_source_gives_them(fit, text, names):
    assert fit(text).observed.names == names


def test_steps_of_an_answer_file_are_no_rounds_until_kappa_is_given(fit, capsys, tmp_path):
    """A step of two tokens may be a rejection of draft 2, or a draft of one: the longest step does not tell."""
    text = lines(specbench(1, [2, 1, 4]), specbench(2, [1, 3]))
    own = fit(text)
    assert own.body["pooled"]["kappa"] == 3  # the figures say what they assume
    assert own.assumes_kappa
    assert "give --kappa" in own.observed.reason
    assert fit(text, kappa=3).observed.names == ("1", "2")
    assert not fit(text, kappa=3).assumes_kappa
    for command in (["recommend", "--draft-cost", "0.1"], ["ab", str(tmp_path / "file")]):
        assert main([command[0], str(tmp_path / "file"), *command[1:]]) == 2
        assert "give --kappa" in capsys.readouterr().err
    assert main(["explain", str(tmp_path / "file"), "--base-speed", "30", "--spec-speed", "50"]) == 0
    said = capsys.readouterr().out
    assert "E = 2.2" in said
    assert "κ is not known: pass --kappa" in said
    assert "break-even accepted" not in said


def test_engines_of_a_scrape_are_engines_and_no_log_lines(fit):
    seen = fit(vllm_scrape({"0": SMALL, "1": OTHER})).observed
    assert (seen.unit, seen.groups) == (ENGINE, 2)


SHARED = os.environ.get("SIMSPEC_LOG_SAMPLES")
"""A folder of samples with their expected values beside them (NAME.expected.json), tried too where it is named."""
SIDECARS = sorted(Path(SHARED).glob("*.expected.json")) if SHARED else []


@pytest.mark.parametrize("sidecar", SIDECARS, ids=lambda path: path.name)
def test_samples_hand_over_every_round(sidecar):
    want = json.loads(sidecar.read_text())
    (own,) = simspec.fit(*(sidecar.parent / name for name in want.get("files", [want.get("file")])))
    block = own.body.get("pooled") or own.body.get("pooled_with_histogram") or {}
    if isinstance(own.observed, Unknown):
        survival = block.get("survival")
        assert own.observed.reason
        assert not isinstance(survival, list) or "VARIABLE_DRAFT_LENGTH" in own.warn or own.assumes_kappa
    else:
        same(own)
