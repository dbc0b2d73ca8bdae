"""Tables for engines: what each engine checks, in our own words, and what it would look up at every load."""

import bisect
import itertools
import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simspec import ParameterError, export
from simspec.advice.export.table import Span, spans

BATCHES = st.lists(st.integers(1, 600), min_size=1, max_size=5, unique=True).map(sorted)
CONTEXTS = st.lists(st.integers(1, 200_000), min_size=1, max_size=3, unique=True).map(sorted)
SPEEDS = st.lists(st.floats(0.2, 3.0), min_size=6, max_size=6)


@st.composite
def grids(draw):
    """Advice over a full grid, every cell with the speed-up of κ = 0 … 5 and of off."""
    out = []
    batches, contexts = draw(BATCHES), draw(CONTEXTS)
    for batch in batches:
        for context in contexts:
            speeds = draw(SPEEDS)
            off = max(1.0, speeds[0])
            best = max(range(6), key=lambda k: speeds[k])
            kappa = best if best and speeds[best] > off else 0
            rows = [{"kappa": k, "speedup": s} for k, s in enumerate(speeds)]
            out.append(
                {"batch": batch, "context": context, "kappa": kappa, "plain_or_off_speedup": off, "kappas": rows}
            )
    return out


def wanted_inside(cell):
    """κ of a cell in a table, where off is κ = 0 in the loop."""
    speeds = [row["speedup"] for row in cell["kappas"]]
    best = max(range(6), key=lambda k: speeds[k])
    slow = speeds[best] < 0.995 * cell["plain_or_off_speedup"]
    return best if cell["kappa"] == 0 and slow else cell["kappa"]


def exported(grid, engine, form, **more):
    """The export, or None where it is refused."""
    try:
        return export({"kappa_star": grid[0]["kappa"], "grid": grid}, engine, form=form, **more)
    except ParameterError as error:
        message = error.message
    assert "off" in message
    return None


# vLLM, vllm/v1/spec_decode/dynamic/utils.py: what is refused, and what is looked up


def vllm_accepts(config):
    """Raise as the engine would."""
    longest, table = config["num_speculative_tokens"], config["num_speculative_tokens_per_batch_size"]
    assert longest > 0
    assert table
    assert len({len(row) for row in table}) == 1
    assert len(table[0]) in (3, 5)
    assert all(isinstance(value, int) for row in table for value in row)
    assert all(row[0] <= row[1] and row[0] > 0 and row[-1] >= 0 for row in table)
    batches = sorted({(row[0], row[1]) for row in table})
    assert batches[0][0] == 1
    assert all(after[0] > before[1] for before, after in itertools.pairwise(batches))
    if len(table[0]) == 5:
        contexts = sorted({(row[2], row[3]) for row in table})
        assert len(table) == len(batches) * len(contexts) == len({tuple(row[:4]) for row in table})
        assert contexts[0][0] == 1
        assert all(after[0] == before[1] + 1 for before, after in itertools.pairwise(contexts))
        assert contexts[-1][1] == 2**31 - 1  # so that no loader reads it as the end
    assert all(row[-1] <= longest for row in table)  # the document asks for it, the engine would cut


def vllm_looks_up(config, batch, context=1):
    """κ of a step: gaps and the tail keep the κ before them."""
    kappa = None
    for row in sorted(config["num_speculative_tokens_per_batch_size"]):
        inside = len(row) == 3 or row[2] <= context <= row[3]
        if inside and (row[0] <= batch or kappa is None):
            kappa = row[-1]
    return min(kappa, config["num_speculative_tokens"])


@settings(max_examples=100, deadline=None)
@given(grids(), st.integers(600, 4096))
def test_vllm_would_take_the_table_by_batch_and_context_and_find_every_cell(grid, most):
    own = exported(grid, "vllm", "context", max_batch=most)
    if own is None:
        assert all(cell["kappa"] == 0 for cell in grid) or all(wanted_inside(cell) == 0 for cell in grid)
        return
    config = own.settings["speculative_config"]
    vllm_accepts(config)
    assert json.loads(own.command.split("'")[1]) == config
    for cell in grid:
        assert vllm_looks_up(config, cell["batch"], cell["context"]) == wanted_inside(cell)
    assert config["num_speculative_tokens_per_batch_size"][-1][1] == most
    last = max(grid, key=lambda cell: (cell["batch"], cell["context"]))
    assert vllm_looks_up(config, 10**6, 10**9) == wanted_inside(last)


@settings(max_examples=100, deadline=None)
@given(grids())
def test_a_table_by_batch_takes_the_least_mean_loss_and_names_every_loss(grid):
    own = exported(grid, "vllm", "batch")
    if own is None:
        return
    config = own.settings["speculative_config"]
    vllm_accepts(config)
    for batch in sorted({cell["batch"] for cell in grid}):
        cells = [cell for cell in grid if cell["batch"] == batch]
        kappa = vllm_looks_up(config, batch)

        def loss(cell, k):
            speeds = [row["speedup"] for row in cell["kappas"]]
            return max(0.0, 1.0 - speeds[k] / speeds[wanted_inside(cell)])

        if len({wanted_inside(cell) for cell in cells}) == 1:
            assert kappa == wanted_inside(cells[0])
            continue
        means = [math.fsum(loss(cell, k) for cell in cells) for k in range(6)]
        assert means[kappa] <= min(means) + 1e-12
        for cell in cells:
            if wanted_inside(cell) != kappa and loss(cell, kappa) > 0.006:
                where = f"batch {batch:,}, context {cell['context']:,}"
                assert any(f"{100 * loss(cell, kappa):.1f}%" in text and where in text for text in own.losses)


# TensorRT-LLM, llm_args.py: the same numbers, two meanings


def trtllm_accepts(config, form):
    longest, schedule = config["max_draft_len"], config["draft_len_schedule"]
    assert longest > 0
    assert all(batch >= 1 and 0 <= length <= longest for batch, length in schedule.items())
    assert schedule[1 if form == "from" else min(schedule)] == longest


def trtllm_looks_up(config, form, batch):
    keys = sorted(config["draft_len_schedule"])
    if form == "from":
        return config["draft_len_schedule"][keys[bisect.bisect_right(keys, batch) - 1]]
    above = bisect.bisect_left(keys, batch)
    return config["draft_len_schedule"][keys[above]] if above < len(keys) else 0


@pytest.mark.parametrize("form", ["upto", "from"])
def test_tensorrt_would_take_the_schedule_and_find_every_cell(form):
    @settings(max_examples=100, deadline=None)
    @given(grids(), st.integers(600, 4096))
    def check(grid, most):
        first = exported(grid, "vllm", "batch", max_batch=most)
        own = exported(grid, "trtllm", form, max_batch=most)
        if first is None:
            assert own is None
            return
        table = first.settings["speculative_config"]
        top = vllm_looks_up(table, 1)
        assert (own is None) == (top == 0)
        if own is None:
            return
        config = own.settings["speculative_config"]
        trtllm_accepts(config, form)
        for cell in grid:
            asked = vllm_looks_up(table, cell["batch"])
            assert trtllm_looks_up(config, form, cell["batch"]) == min(asked, top)
            if asked > top:
                assert any(f"κ is cut to {top}" in text and f": {asked}" in text for text in own.losses)

    check()


def test_the_same_advice_gives_other_keys_before_and_after_the_change():
    grid = [{"batch": 1, "kappa": 4}, {"batch": 8, "kappa": 2}, {"batch": 64, "kappa": 0}]
    advice = {"kappa_star": 4, "grid": grid}
    after = export(advice, "trtllm")
    before = export(advice, "trtllm", form="from")
    assert after.settings["speculative_config"]["draft_len_schedule"] == {2: 4, 22: 2}
    assert before.settings["speculative_config"]["draft_len_schedule"] == {1: 4, 3: 2, 23: 0}
    assert after.files["speculative.yaml"].splitlines()[-3:] == ["  draft_len_schedule:", "    2: 4", "    22: 2"]


def test_a_tensorrt_table_that_ends_while_drafting_says_that_it_ends():
    grid = [{"batch": 1, "kappa": 4}, {"batch": 8, "kappa": 2}]
    own = export({"kappa_star": 4, "grid": grid}, "trtllm")
    assert any("above batch 8 TensorRT-LLM does not speculate" in note for note in own.notes)
    own = export({"kappa_star": 4, "grid": grid}, "trtllm", max_batch=128)
    assert own.settings["speculative_config"]["draft_len_schedule"] == {2: 4, 128: 2}
    assert not any("does not speculate" in note for note in own.notes)


# SGLang, adaptive_spec_params.py and adaptive_step_router.py


def sglang_accepts(content):
    keys = [key for key in content if key.isdigit()]
    assert keys
    for key in keys:
        steps = content[key]["candidate_steps"]
        assert steps
        assert all(isinstance(step, int) and step >= 0 for step in steps)


def sglang_looks_up(content, batch):
    """The slot of the largest key up to the batch; one candidate leaves its policy no choice."""
    keys = sorted(map(int, content))
    (step,) = content[str(keys[max(0, bisect.bisect_right(keys, batch) - 1)])]["candidate_steps"]
    return step


@settings(max_examples=100, deadline=None)
@given(grids())
def test_sglang_would_take_the_file_and_find_what_vllm_finds(grid):
    first, own = exported(grid, "vllm", "batch"), exported(grid, "sglang", "batch")
    assert (first is None) == (own is None)
    if own is None:
        return
    content = json.loads(own.files["adaptive_spec.json"])
    sglang_accepts(content)
    for cell in grid:
        assert sglang_looks_up(content, cell["batch"]) == vllm_looks_up(
            first.settings["speculative_config"], cell["batch"]
        )
    words = own.command.split()
    steps = int(words[words.index("--speculative-num-steps") + 1])
    assert int(words[words.index("--speculative-num-draft-tokens") + 1]) == steps + 1
    assert words[words.index("--speculative-eagle-topk") + 1] == "1"
    assert steps == max(step for entry in content.values() for step in entry["candidate_steps"])


def test_sglang_before_batch_keys_gets_one_list_and_the_loss_is_named():
    grid = [{"batch": 1, "kappa": 5}, {"batch": 64, "kappa": 2}]
    own = export({"kappa_star": 5, "grid": grid}, "sglang", form="flat")
    assert json.loads(own.files["adaptive_spec.json"]) == {"candidate_steps": [2, 5]}
    assert "by accepted length, not by batch" in own.losses[0]
    grid[1]["kappa"] = 0
    with pytest.raises(ParameterError, match="flat' has no 0 steps"):
        export({"kappa_star": 5, "grid": grid}, "sglang", form="flat")


def test_sglangs_adaptive_steps_are_refused_for_drafters_it_does_not_adapt():
    grid = [{"batch": 1, "kappa": 5}, {"batch": 64, "kappa": 2}]
    with pytest.raises(ParameterError, match="allowed: --form static"):
        export({"kappa_star": 5, "grid": grid}, "sglang", method="NGRAM")


# what all tables share


@given(BATCHES, st.none() | st.integers(1, 700))
def test_spans_cover_every_load_once_and_hold_their_point(points, most):
    own = spans(points, most)
    assert own[0].first == 1
    assert own[-1].last == (most or points[-1])
    assert all(after.first == before.last + 1 for before, after in itertools.pairwise(own))
    for span, point in zip(own, points, strict=False):
        assert span.first <= point
        assert point <= span.last or point > (most or point)


def test_a_border_lies_at_the_geometric_mean():
    assert spans([4, 100]) == [Span(1, 20), Span(21, 100)]


def test_off_inside_a_table_is_not_plain_decoding():
    """U19: the arm with κ = 0 costs 21.58% at concurrency 189 (vllm-project/vllm pull request 52087)."""
    rows = [{"kappa": 0, "speedup": 1 / 1.2158}, {"kappa": 1, "speedup": 0.9}, {"kappa": 3, "speedup": 0.7}]
    grid = [{"batch": 2, "kappa": 3}, {"batch": 189, "kappa": 0, "kappas": rows}]
    own = export({"kappa_star": 3, "grid": grid}, "vllm")
    assert own.settings["speculative_config"]["num_speculative_tokens_per_batch_size"] == [[1, 19, 3], [20, 189, 1]]
    assert own.losses == ("at batch 189 off is best (1.00x); inside a table κ = 1 is (0.90x; κ = 0 there 0.82x)",)


def test_a_grid_with_a_hole_is_refused_by_name():
    grid = [{"batch": 1, "context": 10, "kappa": 4}, {"batch": 8, "context": 10, "kappa": 2},
            {"batch": 8, "context": 99, "kappa": 1}]  # fmt: skip
    with pytest.raises(ParameterError, match="batch 1, context 99"):
        export({"kappa_star": 4, "grid": grid}, "vllm", form="context")


def test_llamacpp_has_one_setting_and_says_what_that_loses():
    rows = {1: [0.9, 1.4, 1.9], 64: [1.0, 1.2, 0.8]}
    grid = [
        {"batch": batch, "kappa": kappa, "kappas": [{"kappa": k, "speedup": s} for k, s in enumerate(rows[batch])]}
        for batch, kappa in ((1, 2), (64, 1))
    ]
    own = export({"kappa_star": 2, "grid": grid}, "llamacpp")
    assert own.settings["spec-draft-n-max"] == 1
    assert own.losses == ("one κ = 1 loses 26.3% at batch 1, where κ = 2 is best",)


def test_without_speed_ups_the_smallest_is_taken_and_the_loss_is_not_guessed():
    grid = [{"batch": 1, "kappa": 4}, {"batch": 64, "kappa": 2}]
    own = export({"kappa_star": 4, "grid": grid}, "vllm", form="static")
    assert own.settings["speculative_config"]["num_speculative_tokens"] == 2
    assert "what that loses is not known" in own.losses[0]


def test_kappas_that_a_latency_limit_excludes_are_not_chosen_for_all():
    def rows(*speeds):
        return [{"kappa": k, "speedup": s, "within_limit": k < 3} for k, s in enumerate(speeds)]

    grid = [
        {"batch": 1, "kappa": 2, "kappas": rows(1.0, 1.2, 1.5, 9.0)},
        {"batch": 8, "kappa": 1, "kappas": rows(1.0, 1.3, 1.2, 9.0)},
    ]
    own = export({"kappa_star": 2, "grid": grid}, "llamacpp")
    assert own.settings["spec-draft-n-max"] == 2


def test_a_load_that_stands_twice_is_refused():
    grid = [{"batch": 8, "context": 10, "kappa": 4}, {"batch": 8, "context": 10, "kappa": 2}]
    with pytest.raises(ParameterError, match="batch 8, context 10 twice"):
        export({"kappa_star": 4, "grid": grid}, "vllm", form="context")
    with pytest.raises(ParameterError, match="batch 8, context 10 twice"):
        export({"kappa_star": 4, "grid": grid}, "vllm", form="batch")
