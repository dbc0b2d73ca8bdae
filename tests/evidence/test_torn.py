"""A file that is cut, glued to another, compressed or written by another system gives the same counts, or is refused.

What a cut file may say is what its whole lines say: with the cut line, if that is whole after all, or without it.
"""

import gzip
import json
import os
from pathlib import Path

import pytest
from writers import ANSI, OTHER, SAMPLES, SMALL, keyvalue, lines, vllm_current, vllm_engine, vllm_mid, vllm_scrape

import simspec

SHARED = os.environ.get("SIMSPEC_LOG_SAMPLES")
"""A folder of samples with their expected values beside them (NAME.expected.json), tried too where it is named."""
TEXT = {shape: text.encode() for shape, text in SAMPLES.items()}
LOSES_MORE = ("vllm-prometheus", "vllm-v0-prometheus", "key-value")
"""A scrape is dropped whole; a line without a beginning of its own is lost with the torn one.  Both are tried below."""
DOCUMENTS = ("llamacpp-timings", "lmstudio-stats")
"""One JSON document over several lines: glued to a torn one nothing can be told apart."""


LOGS = ("vllm-v1-mid", "vllm-v1-current", "sglang-decode-len", "llamacpp-server-per-position")


def figures(place, data):
    """What a file says, without what may differ: warnings, identities, texts; or None if it is refused."""
    file = place / "file"
    file.write_bytes(data)
    try:
        found = [source.to_dict() for source in simspec.fit(file)]
    except simspec.ParameterError:
        return None
    texts = ("warn", "warnings", "identities", "reasons", "ambiguous", "conventions", "rules")
    return json.dumps([{k: v for k, v in own.items() if k not in texts} for own in found])


@pytest.mark.parametrize("shape", TEXT)
def test_line_ends_compression_and_encodings_change_nothing(tmp_path, shape):
    data = TEXT[shape]
    whole, half = figures(tmp_path, data), len(data) // 2
    assert whole is not None
    variants = {
        "CRLF": data.replace(b"\n", b"\r\n"),
        "gzip": gzip.compress(data),
        "gzip in two members": gzip.compress(data[:half]) + gzip.compress(data[half:]),
        "byte order mark": b"\xef\xbb\xbf" + data,
        "UTF-16, as PowerShell redirects": b"\xff\xfe" + data.decode().encode("utf-16-le"),
        "carriage returns alone": data.replace(b"\n", b"\r"),
        "a progress bar before a line": data.replace(b"\n", b"\n 10%|#  |\r", 1) if shape in LOGS else data,
    }
    for name, variant in variants.items():
        assert figures(tmp_path, variant) == whole, name


@pytest.mark.parametrize("shape", TEXT)
def test_a_cut_file_says_what_its_whole_lines_say(tmp_path, shape):
    data = TEXT[shape]
    pieces, known = data.split(b"\n"), {}

    def whole(count):
        if count not in known:
            known[count] = figures(tmp_path, b"\n".join(pieces[:count]) + b"\n")
        return known[count]

    step = max(1, len(data) // 60)
    for end in range(1, len(data), step):
        if data[:end].endswith(b"\n"):
            continue
        count = data[:end].count(b"\n")
        assert figures(tmp_path, data[:end]) in (whole(count), whole(count + 1), None), data[:end][-60:]


@pytest.mark.parametrize("shape", [shape for shape in TEXT if shape not in (*DOCUMENTS, *LOSES_MORE)])
def test_a_cut_file_glued_to_a_whole_one_loses_only_the_torn_line(tmp_path, shape):
    data = TEXT[shape] if TEXT[shape].endswith(b"\n") else TEXT[shape] + b"\n"
    pieces, known = data.split(b"\n"), {}

    def whole(count):
        if count not in known:
            known[count] = figures(tmp_path, b"\n".join(pieces[:count]) + b"\n" + data if count else data)
        return known[count]

    step = max(1, len(data) // 40)
    for end in range(1, len(data), step):
        if data[:end].endswith(b"\n"):
            continue
        count = data[:end].count(b"\n")
        found = figures(tmp_path, data[:end] + data)
        assert found in (whole(count), whole(count + 1), None), data[:end][-60:]


@pytest.mark.parametrize("shape", ["vllm-v1-current", "vllm-v1-mid", "sglang-decode-len", "spec-bench"])
def test_a_cut_inside_a_line_is_said(tmp_path, shape):
    (tmp_path / "cut").write_bytes(TEXT[shape][:-8])
    (own,) = simspec.fit(tmp_path / "cut")
    assert "TRUNCATED_LINE_DROPPED" in own.warn


@pytest.mark.parametrize("shape", [*LOGS, "vllm-v0-speculative-metrics", "vllm-v1-early", "llamacpp-speculative-cli"])
def test_a_line_that_is_cut_before_its_mark_is_said_too(tmp_path, shape):
    """Wherever a file breaks off inside a line whose figures are then missing, it is said or refused."""
    data = TEXT[shape]
    pieces, silent = data.split(b"\n"), []
    for end in range(len(data) // 3, len(data), 7):
        cut = data[:end]
        if cut.endswith(b"\n"):
            continue
        (tmp_path / "cut").write_bytes(cut)
        try:
            found = simspec.fit(tmp_path / "cut")
        except simspec.ParameterError:
            continue
        count = cut.count(b"\n")
        if "TRUNCATED_LINE_DROPPED" not in found[0].warn:
            with_it = figures(tmp_path, b"\n".join(pieces[: count + 1]) + b"\n")
            if figures(tmp_path, cut) != with_it:
                silent.append(cut[-40:])
    assert len(silent) <= SHORT_BEGINNINGS.get(shape, 0), silent


SHORT_BEGINNINGS = {"llamacpp-server-per-position": 3}
"""Beginnings that are those of any line: `0.06.895.980 I s`, a router's prefix that is seen for the first time."""


def test_a_cut_line_far_behind_the_last_one_that_was_used_is_said(tmp_path):
    """A megabyte of other lines lies between: the last block holds no mark at all."""
    text = lines(vllm_current(SMALL)) + lines(*["x" * 99] * 30_000) + vllm_current(SMALL)[:30]
    (tmp_path / "log").write_text(text)
    (own,) = simspec.fit(tmp_path / "log")
    assert own.warn["TRUNCATED_LINE_DROPPED"].endswith("first line 30002")


def test_the_line_in_which_a_table_begins_is_named(tmp_path):
    for before in (1, 30_000):
        (tmp_path / "log").write_text(lines(vllm_current(SMALL), *["x" * 99] * before) + SAMPLES["rounds-csv"])
        with pytest.raises(simspec.ParameterError, match=f"log:{before + 2}: a table"):
            simspec.fit(tmp_path / "log")


def test_a_whole_last_line_without_its_end_is_no_torn_line(tmp_path):
    text = lines(
        vllm_current(SMALL), vllm_current(OTHER), 'INFO:     127.0.0.1:49754 - "POST /v1/chat HTTP/1.1" 200 OK'
    )
    (tmp_path / "log").write_text(text[:-1])
    (own,) = simspec.fit(tmp_path / "log")
    assert own.warn == {}


def test_objects_between_the_lines_of_a_log_are_read(tmp_path):
    objects = SAMPLES["vllm-per-request"].splitlines()
    log = lines(vllm_current(SMALL), objects[0], '{"level": "info"}', vllm_current(SMALL), *objects[1:])
    (tmp_path / "log").write_text(log)
    found = {own.shape: own.body["pooled"]["drafts"] for own in simspec.fit(tmp_path / "log")}
    assert found == {"vllm-v1-current": 2 * SMALL.drafts, "vllm-per-request": SMALL.drafts + OTHER.drafts}
    torn = lines(vllm_current(SMALL), objects[0][:-20], objects[1])
    (tmp_path / "log").write_text(torn)
    found = {own.shape: own for own in simspec.fit(tmp_path / "log")}
    assert found["vllm-per-request"].body["pooled"]["drafts"] == OTHER.drafts
    assert all("TRUNCATED_LINE_DROPPED" in own.warn for own in found.values())


@pytest.mark.parametrize(
    ("shape", "said"),
    [("rounds-csv", "a table of rounds"), ("speculators-csv", "a table"), ("lmstudio-stats", "a JSON document")],
)
def test_what_cannot_be_read_inside_a_log_is_refused(tmp_path, shape, said):
    (tmp_path / "log").write_text(lines(vllm_current(SMALL)) + SAMPLES[shape])
    with pytest.raises(simspec.ParameterError, match=f"{said}.* inside a log"):
        simspec.fit(tmp_path / "log")


ALONE = {}
QUICK = ("vllm-v1-current", "key-value", "vllm-bench-serve")


@pytest.mark.parametrize("one", [
    shape if shape in QUICK else pytest.param(shape, marks=pytest.mark.deep) for shape in TEXT
])  # fmt: skip
def test_files_of_two_shapes_in_one_give_both_or_are_refused(tmp_path, one):
    """Two generations of one engine's lines, which one reader adds up, are left out."""
    for two in TEXT:
        for shape in (one, two):
            if shape not in ALONE:
                ALONE[shape] = json.loads(figures(tmp_path, TEXT[shape]))
        if one.rsplit("-", 2)[0] == two.rsplit("-", 2)[0] or one[:15] == two[:15] == "llamacpp-server":
            continue
        found = figures(tmp_path, TEXT[one].rstrip(b"\n") + b"\n" + TEXT[two])
        if found is not None:
            want = sorted(map(json.dumps, ALONE[one] + ALONE[two]))
            assert sorted(map(json.dumps, json.loads(found))) == want, two


def test_a_compressed_file_that_breaks_off_is_read_up_to_there(tmp_path):
    """An uncompressible rest, so that the cut lies behind whole lines."""
    text = lines(*[vllm_current(SMALL)] * 50) + lines(*(os.urandom(40).hex() for _ in range(9000)))
    packed = gzip.compress(text.encode())
    (tmp_path / "cut.gz").write_bytes(packed[: len(packed) // 2])
    (own,) = simspec.fit(tmp_path / "cut.gz")
    assert own.body["pooled"]["drafts"] == 50 * SMALL.drafts
    assert "TRUNCATED_LINE_DROPPED" in own.warn


@pytest.mark.parametrize("shape", ["vllm-per-request", "spec-bench", "trtllm-iteration-stats"])
def test_a_file_without_its_head_loses_only_the_first_line(tmp_path, shape):
    first, rest = TEXT[shape].split(b"\n", 1)
    assert figures(tmp_path, first[25:] + b"\n" + rest * 2) == figures(tmp_path, rest * 2)
    (tmp_path / "file").write_bytes(first[25:] + b"\n" + rest)
    (own,) = simspec.fit(tmp_path / "file")
    assert "TRUNCATED_LINE_DROPPED" in own.warn


def test_the_second_of_two_lines_that_ran_together_is_kept(tmp_path):
    first, second = vllm_current(OTHER), vllm_current(SMALL, ANSI)
    (tmp_path / "glued").write_text(lines(first[: len(first) // 2] + second, vllm_current(SMALL)))
    (own,) = simspec.fit(tmp_path / "glued")
    assert own.body["pooled"]["drafts"] == 2 * SMALL.drafts
    assert "TRUNCATED_LINE_DROPPED" in own.warn


def test_a_scrape_with_a_torn_line_is_dropped_whole(tmp_path):
    first, second = vllm_scrape({"0": SMALL}), vllm_scrape({"0": OTHER})
    for end in range(1, len(first), 37):
        (tmp_path / "scrapes").write_text(first[:end] + first + second)
        (own,) = simspec.fit(tmp_path / "scrapes")
        said = set(own.warn) & {"TRUNCATED_LINE_DROPPED"}
        deltas = [block["0"]["drafts"] for name, block in own.body.items() if name.startswith("delta")]
        assert deltas in ([OTHER.drafts - SMALL.drafts], [0, OTHER.drafts - SMALL.drafts], []), end
        assert said or deltas


def test_a_line_lost_with_the_torn_one_before_it_is_said(tmp_path):
    first, second = keyvalue(SMALL), keyvalue(OTHER)
    for end in range(1, len(first) - 1):
        (tmp_path / "values").write_text(first[:end] + first + second)
        try:
            (own,) = simspec.fit(tmp_path / "values")
        except simspec.ParameterError:
            continue
        drafts = own.body["pooled"]["drafts"]
        assert drafts == OTHER.drafts + SMALL.drafts or "TRUNCATED_LINE_DROPPED" in own.warn, end
        assert drafts in (OTHER.drafts, OTHER.drafts + SMALL.drafts)


def test_an_open_last_line_is_dropped_since_digits_may_be_missing(tmp_path):
    """Nothing closes the last rate of a line of vLLM 0.8.5 to 0.10."""
    text = lines(vllm_mid(SMALL)) + vllm_mid(SMALL)
    for end in (text, text[:-1], text.rsplit(",", 1)[0]):
        (tmp_path / "open").write_text(end)
        (own,) = simspec.fit(tmp_path / "open")
        assert own.body["pooled"]["drafts"] == SMALL.drafts
        assert own.body["pooled"]["kappa"] == SMALL.kappa


def test_statistics_of_a_dropped_window_are_not_those_of_the_next(tmp_path):
    torn = vllm_current(OTHER)[:150]
    text = lines(vllm_engine(tokens=900.0), torn, vllm_current(SMALL), vllm_engine(tokens=100.0), vllm_current(SMALL))
    (tmp_path / "log").write_text(text)
    (own,) = simspec.fit(tmp_path / "log")
    assert own.body["pooled"]["tokens_per_s_per_request"] == 100.0


# samples with expected values, where a folder of them is named

SIDECARS = sorted(Path(SHARED).glob("*.expected.json")) if SHARED else []
EXTRA_WARNINGS = {"vllm-prometheus": {"MULTI_ENGINE_POOLING"}}
"""Raised beyond those of the samples: two engines are also added up."""
NOT_IN_THE_SHAPE = {
    ("vllm-v1-mid", "pooled.offered_at_position"),
    ("vllm-v1-mid", "pooled.cond_alpha_given_offered"),
    ("sglang-decode-len", "pooled.true_pooled_if_counts_were_known"),
}
"""What the writer of the samples knew and the file does not say: null with a reason here."""


def differences(want, got, path=""):
    """Paths at which a result differs from what is expected, to the decimals of the expectation."""
    if isinstance(want, dict):
        missing = [f"{path}.{key}" for key in want if key not in got] if isinstance(got, dict) else [path]
        both = [key for key in want if key in got] if isinstance(got, dict) else []
        return missing + [d for key in both for d in differences(want[key], got[key], f"{path}.{key}".strip("."))]
    if isinstance(want, list):
        if not isinstance(got, list) or len(got) != len(want):
            return [path]
        return [d for i, (a, b) in enumerate(zip(want, got, strict=True)) for d in differences(a, b, f"{path}[{i}]")]
    if isinstance(want, float):
        half = 0.51 * 10.0 ** -len(repr(want).partition(".")[2])
        return [] if isinstance(got, (int, float)) and abs(got - want) <= half else [path]
    return [] if want == got else [path]


@pytest.mark.parametrize("sidecar", SIDECARS, ids=lambda p: p.name)
def test_samples_give_their_values_nulls_and_warnings(sidecar):
    want = json.loads(sidecar.read_text())
    files = [sidecar.parent / name for name in want.get("files", [want.get("file")])]
    kappa = next(iter(want["given_kappa"])) if "given_kappa" in want else None
    (own,) = [source.to_dict() for source in simspec.fit(*files, kappa=None if kappa is None else int(kappa))]
    shape = want["shape"]
    texts = ("file", "files", "sources", "rules", "warn", "ambiguous", "engine", "tolerance")
    wrong = differences({key: value for key, value in want.items() if key not in texts}, own)
    hidden = {path for name, path in NOT_IN_THE_SHAPE if name == shape}
    assert set(wrong) == hidden
    assert hidden <= set(own["reasons"])
    assert set(own["warn"]) == set(want.get("warn", [])) | EXTRA_WARNINGS.get(shape, set())


@pytest.mark.parametrize("sidecar", SIDECARS, ids=lambda p: p.name)
def test_samples_survive_cuts(tmp_path, sidecar):
    want = json.loads(sidecar.read_text())
    for name in want.get("files", [want.get("file")]):
        data = (sidecar.parent / name).read_bytes()
        whole, pieces = figures(tmp_path, data), data.split(b"\n")
        assert figures(tmp_path, data.replace(b"\n", b"\r\n")) == whole
        assert figures(tmp_path, gzip.compress(data)) == whole
        for end in range(1, len(data), max(1, len(data) // 25)):
            count = data[:end].count(b"\n")
            known = [figures(tmp_path, b"\n".join(pieces[:n]) + b"\n") for n in (count, count + 1)]
            assert figures(tmp_path, data[:end]) in (*known, None), (name, data[:end][-60:])
