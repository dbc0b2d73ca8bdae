"""Whatever stands in a file: an answer or one refusal, never a crash, a hang, or a number that cannot be."""

import json
import math
import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from writers import (
    SAMPLES,
    Truth,
    lines,
    llamacpp_mean_len,
    llamacpp_request,
    llamacpp_statistics,
    sglang_meta,
    trtllm_iteration,
    vllm_current,
    vllm_mid,
    vllm_request,
    vllm_scrape,
)

import simspec
from simspec.evidence.readers.counts import drafts_of

QUIET = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
BYTES = {shape: text.encode() for shape, text in SAMPLES.items()}
ONE, TWO, BOTH = Truth((7, 5, 8, 0)), Truth((17, 9, 6, 8)), Truth((24, 14, 14, 8))
BYTES["llamacpp-server-mean"] = lines(
    llamacpp_mean_len(ONE, 1), llamacpp_mean_len(TWO, 2), llamacpp_statistics(BOTH)
).encode()
NASTY = [
    b"nan",
    b"-1",
    b"1e999",
    b"9" * 30,
    b"9" * 5000,
    b"1.2.3",
    b"0",
    b"null",
    b"\n",
    b"\r",
    b"\x00",
    b"\xff",
    b"{",
    b"]",
]
TOKENS = sorted({token for text in BYTES.values() for token in text.split()[:60]})


def check(place, data):
    """Read; whatever comes back must be able to be."""
    file = place / "file"
    file.write_bytes(data)
    for kappa in (None,) if len(data) % 4 else (None, 3):
        found, refusal = [], ""
        try:
            found = simspec.fit(file, kappa=kappa)
        except simspec.ParameterError as error:
            refusal = str(error)
        assert refusal or found
        assert "\n" not in refusal
        for source in found:
            sane(json.loads(json.dumps(source.to_dict(), allow_nan=False)))


def sane(value):
    """Counts are whole and ≥ 0, accepted ≤ drafted, survival falls in [0, 1], E ≤ κ + 1; unless an identity broke."""
    broken = {"IDENTITY_BROKEN", "RATE_CONTRADICTS_COUNTS"} & set(value["warn"])

    def walk(block):
        if isinstance(block, list):
            for entry in block:
                walk(entry)
        if not isinstance(block, dict):
            return
        for entry in block.values():
            walk(entry)
        for name in ("drafts", "draft_tokens", "accepted_tokens"):
            count = block.get(name)
            assert count is None or (isinstance(count, int) and count >= 0)
        if broken:
            return
        drafted, accepted = block.get("draft_tokens"), block.get("accepted_tokens")
        assert drafted is None or accepted is None or accepted <= drafted
        survival = block.get("survival")
        if isinstance(survival, list) and all(isinstance(s, float) for s in survival):
            assert all(0 <= b <= a <= 1 for a, b in zip([1.0, *survival], survival, strict=False))
        emitted, kappa = block.get("mean_emitted_per_round"), block.get("kappa")
        most = kappa + 1 if isinstance(kappa, int) else math.inf
        assert not isinstance(emitted, (int, float)) or 1 <= emitted <= most + 1e-9
        for assumed, told in block.get("given_kappa", {}).items():
            walk(told | {"kappa": int(assumed)})

    texts = ("identities", "conventions", "warnings", "reasons", "rules", "ambiguous")
    walk({key: entry for key, entry in value.items() if key not in texts})


def edited(draw):
    """A sample with pieces cut out, doubled, replaced or put in."""
    data = draw(st.sampled_from(sorted(BYTES.values())))
    for _ in range(draw(st.integers(1, 4))):
        if not data:
            break
        start = draw(st.integers(0, len(data)))
        end = min(len(data), start + draw(st.integers(0, 40)))
        piece = draw(
            st.one_of(
                st.just(b""), st.just(data[start:end] * 2), st.binary(max_size=6), st.sampled_from(TOKENS),
                st.sampled_from(NASTY),
            )
        )  # fmt: skip
        data = data[:start] + piece + data[end:]
    return data


REDUNDANT = (
    "vllm-v0-speculative-metrics", "vllm-v1-early", "vllm-v1-mid", "vllm-v1-current", "vllm-prometheus",
    "vllm-bench-serve", "vllm-bench-json", "vllm-offline-example", "vllm-per-request", "sglang-meta-info",
    "llamacpp-speculative-cli", "llamacpp-server-per-position", "trtllm-iteration-stats", "trtllm-request-metrics",
    "speculators-csv", "llamacpp-prometheus", "llamacpp-server-mean", "lmstudio-stats", "gpt-fast-summary", "key-value",
)  # fmt: skip
"""Shapes whose figures are tied to one another: what damages one of them is seen.  In the others a digit is a digit."""
COMPARED = ("kappa", "drafts", "draft_tokens", "accepted_tokens", "emitted_tokens", "accepted_at_position", "survival",
            "mean_emitted_per_round")  # fmt: skip
PERCENT = 0.01


def counts_of(place, data):
    """The counts of every block of every source, and the warnings; None if refused."""
    (place / "damaged").write_bytes(data)
    try:
        found = [source.to_dict() for source in simspec.fit(place / "damaged")]
    except simspec.ParameterError:
        return None, set()
    blocks = []
    for own in found:
        parts = [own.get("pooled"), own.get("pooled_with_histogram"), *own.get("segments", [])]
        blocks += [{name: part.get(name) for name in COMPARED} for part in parts if isinstance(part, dict)]
    return blocks, set().union(*(own["warn"] for own in found))


def alike(now, before):
    """Nothing new: every count that is said is within one percent of what it was; a null says nothing."""
    if now is None:
        return True
    if isinstance(now, dict) and isinstance(before, dict):
        return all(alike(now[name], before[name]) for name in now)
    if isinstance(now, list) and isinstance(before, list):
        return len(now) == len(before) and all(map(alike, now, before))
    both = isinstance(now, (int, float)) and isinstance(before, (int, float))
    return both and abs(now - before) <= PERCENT * max(abs(now), abs(before))


def silently_wrong(place, data, line, start, size, piece, known):
    """What a text says whose one line is damaged, if it is neither what the whole one says, nor what it says without
    that line, nor warned of."""
    lines = data.split(b"\n")
    damaged = lines[line][:start] + piece.replace(b"\n", b"") + lines[line][start + size :]
    now, warned = counts_of(place, b"\n".join([*lines[:line], damaged, *lines[line + 1 :]]))
    for without in (False, True):
        if (data, line, without) not in known:
            rest = lines[:line] + lines[line + 1 :] if without else lines
            known[data, line, without] = counts_of(place, b"\n".join(rest))
    before, usual = known[data, line, False]
    if now is None or warned - usual or alike(now, before) or alike(now, known[data, line, True][0]):
        return None
    return damaged, now


def damage(draw, data):
    """A line, where it is damaged, how far, and what stands there then."""
    line = draw(st.sampled_from([i for i, text in enumerate(data.split(b"\n")) if text]))
    text = data.split(b"\n")[line]
    start, size = draw(st.integers(0, len(text))), draw(st.sampled_from([0, 1, 1, 2, 3, 5, 10, 30]))
    pieces = st.one_of(
        st.just(b""), st.sampled_from([b"0", b"1", b"5", b"9", b"77", b".", b" ", b","]), st.sampled_from(text.split()),
        st.just(text[start : start + size] * 2), st.binary(max_size=4),
    )  # fmt: skip
    return line, start, size, draw(pieces)


KNOWN = {}


@settings(max_examples=400, deadline=2000, suppress_health_check=QUIET, derandomize=True)
@given(data=st.data())
def test_one_damaged_line_gives_no_wrong_number_in_silence(tmp_path, data):
    """Refused, warned of, left out, or harmless."""
    text = BYTES[data.draw(st.sampled_from(REDUNDANT))]
    assert silently_wrong(tmp_path, text, *damage(data.draw, text), KNOWN) is None


def test_a_wrong_number_in_silence_would_be_seen(tmp_path):
    """A shape without redundancy: one digit more in a table of rounds."""
    text = BYTES["rounds-csv"]
    assert silently_wrong(tmp_path, text, 5, 0, 1, b"3", {}) is not None


NO_DRAFTS = {"vllm-bench-serve": r"(Drafts: +)\d+", "vllm-offline-example": r"(num_drafts: )\d+",
             "vllm-bench-json": r'("spec_decode_num_drafts": )\d+', "key-value": r"(^drafts=)\d+",
             "vllm-v0-speculative-metrics": r"(Number of draft tokens: )\d+",
             "llamacpp-server-rate": r"(#gen drafts = )\d+"}  # fmt: skip
"""Where the number of drafts, or of drafted tokens, stands: with 0 of them nothing can be accepted."""


@pytest.mark.parametrize("shape", NO_DRAFTS)
def test_tokens_without_a_draft_are_refused(tmp_path, shape):
    text = re.sub(NO_DRAFTS[shape], r"\g<1>0", SAMPLES[shape])
    for part in (text, re.sub(r" kappa=.*|acceptance at .*\n|  Position .*\n", "", text)):  # with positions and without
        (tmp_path / "file").write_text(part)
        with pytest.raises(simspec.ParameterError):
            simspec.fit(tmp_path / "file")


CANNOT_BE = {
    "a step without a token": json.dumps({"choices": [{"idxs": [99], "new_tokens": [35]}]}),
    "more requests with drafts than drafted tokens": trtllm_iteration(1, 8, 3, 2).replace(
        '"numDraftTokens": 24', '"numDraftTokens": 3'
    ),
    "a rate that lost its decimals": SAMPLES["speculators-csv"].replace("0.49514563106796117", "0.5"),
    "more accepted than n_draft allows": SAMPLES["llamacpp-speculative-cli"].replace("n_draft   = 5", "n_draft   = 1"),
    "more drafted than κ drafts": lines(llamacpp_statistics(Truth((17, 9, 6, 8)))).replace(
        "#gen tokens =    120", "#gen tokens =   1200"
    ),
}


@pytest.mark.parametrize("text", CANNOT_BE.values(), ids=CANNOT_BE)
def test_figures_that_cannot_stand_together_are_said(tmp_path, text):
    (tmp_path / "file").write_text(text)
    (own,) = simspec.fit(tmp_path / "file")
    assert "IDENTITY_BROKEN" in own.warn


@pytest.mark.parametrize("line", [
    "vllm:spec_decode_efficiency 5.31", "vllm:spec_decode_draft_acceptance_rate -1", "sglang:spec_accept_length 0.5",
    "sglang:spec_accept_rate 1.5",
])  # fmt: skip
def test_a_gauge_outside_its_range_is_refused(tmp_path, line):
    (tmp_path / "file").write_text(line + "\n")
    with pytest.raises(simspec.ParameterError, match="allowed"):
        simspec.fit(tmp_path / "file", kappa=3)


@pytest.mark.parametrize("ms", ["-1.5", "1e300", "inf"])
def test_what_is_no_time_of_a_round_is_refused(tmp_path, ms):
    (tmp_path / "file").write_text(f"accepted,kappa,draft_ms\n0,3,1.5\n3,3,{ms}\n")
    with pytest.raises(simspec.ParameterError, match=r"file:3: .* is no time"):
        simspec.fit(tmp_path / "file")


def test_rates_of_fewer_positions_than_drafts_are_long_give_no_kappa(tmp_path):
    """As llama.cpp prints them of an n-gram drafter beside another: 31 drafts of 920 tokens, two positions."""
    line = llamacpp_statistics(Truth((3, 3, 25)), "ngram-mod").replace("#gen tokens =     62", "#gen tokens =    920")
    (tmp_path / "file").write_text(line.replace("#acc tokens =    53", "#acc tokens =   527") + "\n")
    (own,) = simspec.fit(tmp_path / "file")
    pooled = own.to_dict()["pooled"]
    assert (pooled["kappa"], pooled["survival"], pooled["mean_emitted_per_round"]) == (None, None, 18.0)
    assert "IDENTITY_BROKEN" in own.warn


def test_a_request_line_without_positions_gives_its_mean_and_no_kappa(tmp_path):
    (tmp_path / "file").write_text(lines(llamacpp_mean_len(ONE, 1), llamacpp_mean_len(TWO, 2)))
    (own,) = simspec.fit(tmp_path / "file")
    body = own.to_dict()
    assert [row["mean_emitted_per_round"] for row in body["per_task"].values()] == [round(ONE.length, 2), 2.12]
    assert body["pooled"]["accepted_tokens"] == ONE.accepted + TWO.accepted
    assert (body["pooled"]["kappa"], set(own.warn)) == (None, {"KAPPA_UNKNOWN"})


@pytest.mark.parametrize(("old", "new"), [
    ("mean len =  2.12", "mean len =  1.02"), ("mean len =  2.12", "mean len =  0.99"),
    ("   45 accepted", "   48 accepted"),
])  # fmt: skip
def test_a_damaged_request_line_without_positions_is_said(tmp_path, old, new):
    (tmp_path / "file").write_text(lines(llamacpp_mean_len(Truth((17, 9, 6, 8)))).replace(old, new))
    (own,) = simspec.fit(tmp_path / "file")
    assert {"IDENTITY_BROKEN", "RATE_CONTRADICTS_COUNTS"} & set(own.warn)


def test_a_cut_request_line_without_positions_is_dropped(tmp_path):
    text = lines(llamacpp_mean_len(Truth((7, 5, 8)), 1)) + llamacpp_mean_len(Truth((17, 9, 6, 8)), 2)
    for end in range(text.index("draft acceptance", 120) + 20, len(text)):
        (tmp_path / "file").write_text(text[:end])
        (own,) = simspec.fit(tmp_path / "file")
        assert (list(own.body["per_task"]), "TRUNCATED_LINE_DROPPED" in own.warn) == (["1"], True), text[end - 9 : end]


@pytest.mark.parametrize(("old", "new"), [
    ("#gen tokens =    120", "#gen tokens =    100"), ("#acc tokens =    45", "#acc tokens =    44"),
    ("0.350", "0.340"), ("0.200", "0.020"),
])  # fmt: skip
def test_damaged_statistics_without_request_lines_are_said(tmp_path, old, new):
    text = llamacpp_statistics(Truth((17, 9, 6, 8)))
    assert old in text
    (tmp_path / "file").write_text(text.replace(old, new) + "\n")
    (own,) = simspec.fit(tmp_path / "file")
    assert {"IDENTITY_BROKEN", "SHORT_LAST_DRAFT", "VARIABLE_DRAFT_LENGTH"} & set(own.warn)
    (tmp_path / "file").write_text(text + "\n")
    assert set(simspec.fit(tmp_path / "file")[0].warn) == {"CUMULATIVE_STATISTICS"}


def test_a_kappa_that_a_gauge_does_not_allow_gives_no_number(tmp_path):
    text = SAMPLES["vllm-v0-prometheus"]
    for efficiency, allowed in (("0.53125", True), ("0.25", True), ("0.2", False), ("0", False), ("NaN", False)):
        (tmp_path / "file").write_text(text.replace(" 0.53125", f" {efficiency}"))
        (own,) = simspec.fit(tmp_path / "file", kappa=3)
        emitted = own.to_dict()["given_kappa"]["3"]["mean_emitted_per_round"]
        assert (emitted is not None) == allowed, efficiency


@settings(max_examples=300, deadline=2000, suppress_health_check=QUIET, derandomize=True)
@given(data=st.data())
def test_edited_samples(tmp_path, data):
    check(tmp_path, edited(data.draw))


@settings(max_examples=100, deadline=2000, suppress_health_check=QUIET, derandomize=True)
@given(data=st.one_of(st.binary(max_size=300), st.text(max_size=200).map(str.encode)))
def test_rubbish(tmp_path, data):
    check(tmp_path, data)


SCALARS = st.none() | st.booleans() | st.integers(-3, 50) | st.floats(allow_nan=True) | st.text(max_size=5)
JSON = st.deferred(
    lambda: SCALARS | SCALARS | st.lists(JSON, max_size=4) | st.dictionaries(st.text(max_size=5), JSON, max_size=3)
)
OBJECTS = [json.loads(line) for text in SAMPLES.values() for line in text.splitlines()
           if line.startswith('{"') and line.endswith("}")]  # fmt: skip


def mutated(draw, value):
    """A JSON value with one place in it replaced."""
    if isinstance(value, dict) and value and draw(st.integers(0, 4)):
        key = draw(st.sampled_from(sorted(value)))
        return {**value, key: mutated(draw, value[key])}
    if isinstance(value, list) and value and draw(st.integers(0, 4)):
        i = draw(st.integers(0, len(value) - 1))
        return [*value[:i], mutated(draw, value[i]), *value[i + 1 :]]
    return draw(JSON)


@settings(max_examples=300, deadline=2000, suppress_health_check=QUIET, derandomize=True)
@given(data=st.data())
def test_objects_with_a_wrong_value(tmp_path, data):
    rows = [mutated(data.draw, data.draw(st.sampled_from(OBJECTS))), data.draw(st.sampled_from(OBJECTS))]
    check(tmp_path, lines(*map(json.dumps, rows)).encode())


TRUTHS = st.lists(st.integers(0, 300), min_size=2, max_size=9).filter(any).map(tuple).map(Truth)


@settings(max_examples=100, deadline=2000, suppress_health_check=QUIET, derandomize=True)
@given(truth=TRUTHS, other=TRUTHS)
def test_printed_counts_come_back_exactly(tmp_path, truth, other):
    """Below 1,000 drafts three decimals hold the counts; above, an error is stated and kept."""
    texts = [vllm_current(truth), vllm_mid(truth), vllm_request(truth), sglang_meta(truth), llamacpp_request(truth),
             llamacpp_statistics(truth), vllm_scrape({"0": truth})]  # fmt: skip
    for text in texts:
        (tmp_path / "file").write_text(text + "\n")
        (own,) = simspec.fit(tmp_path / "file")
        block = own.body.get("pooled") or own.body["pooled_with_histogram"]
        assert (block["drafts"], block["draft_tokens"], block["accepted_tokens"]) == (
            truth.drafts, truth.drafted, truth.accepted,
        )  # fmt: skip
        slack = block.get("accepted_at_position_error", 0)
        assert all(abs(a - b) <= slack for a, b in zip(block["accepted_at_position"], truth.reached, strict=True))
        assert slack == 0 or truth.drafts >= 1000


@settings(max_examples=100, deadline=2000, derandomize=True)
@given(truth=TRUTHS.filter(lambda t: t.accepted > 0), missing=st.integers(1, 40))
def test_the_true_number_of_drafts_is_among_those_that_fit(truth, missing):
    drafted = max(truth.accepted, truth.drafts, truth.drafted - missing)
    found = drafts_of(truth.accepted, drafted, f"{truth.length:.2f}", [f"{s:.3f}" for s in truth.survival])
    assert found.low <= truth.drafts <= found.high or found.exact == drafted // truth.kappa


@pytest.mark.deep
@settings(max_examples=20_000, deadline=None, suppress_health_check=QUIET)
@given(data=st.data())
def test_edited_samples_for_long(tmp_path, data):
    check(tmp_path, edited(data.draw))


@pytest.mark.deep
@settings(max_examples=20_000, deadline=None, suppress_health_check=QUIET)
@given(data=st.data())
def test_one_damaged_line_for_long(tmp_path, data):
    text = BYTES[data.draw(st.sampled_from(REDUNDANT))]
    assert silently_wrong(tmp_path, text, *damage(data.draw, text), KNOWN) is None


@pytest.mark.deep
@settings(max_examples=20_000, deadline=None, suppress_health_check=QUIET)
@given(data=st.data())
def test_objects_with_a_wrong_value_for_long(tmp_path, data):
    rows = [mutated(data.draw, data.draw(st.sampled_from(OBJECTS))) for _ in range(2)]
    check(tmp_path, lines(*map(json.dumps, rows)).encode())


def test_the_check_would_see_a_number_that_cannot_be():
    with pytest.raises(AssertionError):
        sane({"warn": [], "pooled": {"survival": [0.5, 0.6]}})
    with pytest.raises(AssertionError):
        sane({"warn": [], "pooled": {"draft_tokens": 3, "accepted_tokens": 4}})
    with pytest.raises(AssertionError):
        sane({"warn": [], "pooled": {"kappa": 2, "mean_emitted_per_round": math.pi}})
    with pytest.raises(AssertionError):
        sane({"warn": [], "pooled": {"kappa": None, "mean_emitted_per_round": 0.5}})
    with pytest.raises(AssertionError):
        sane({"warn": [], "given_kappa": {"2": {"mean_emitted_per_round": 3.5}}})
