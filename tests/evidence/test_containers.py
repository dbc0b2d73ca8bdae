"""Lines inside what Docker or Kubernetes puts around them say what they say alone; what breaks off is warned of."""

import json
import re

import pytest
from writers import SAMPLES

import simspec
from simspec.cli.main import main
from simspec.evidence.containers import Unwrap


def docker(text, size=10**9):
    """As the json-file driver writes it, which cuts long lines into parts without a line end."""
    parts = [own[i : i + size] for own in re.findall(r"[^\n]*\n|[^\n]+", text) for i in range(0, len(own), size)]
    rows = ({"log": own, "stream": "stderr", "time": "2026-01-02T03:04:05.678901234Z"} for own in parts)
    return "".join(json.dumps(row, separators=(",", ":")) + "\n" for row in rows)


def kubernetes(text, size=10**9):
    out = []
    for own in text.split("\n")[: -1 if text.endswith("\n") else None]:
        parts = [own[i : i + size] for i in range(0, len(own), size)] or [""]
        flags = ["P"] * (len(parts) - 1) + ["F"]
        out += [f"2026-01-02T03:04:05.678901234Z stdout {f} {part}" for f, part in zip(flags, parts, strict=True)]
    return "\n".join(out) + "\n" * text.endswith("\n")


def said(file, text):
    file.write_text(text)
    return [source.to_dict() for source in simspec.fit(file)]


@pytest.mark.parametrize("wrap", [docker, kubernetes])
@pytest.mark.parametrize("shape", SAMPLES)
def test_what_is_wrapped_says_what_it_says_alone(tmp_path, shape, wrap):
    text = SAMPLES[shape]
    alone = said(tmp_path / "file", text)
    assert said(tmp_path / "file", wrap(text)) == alone
    assert said(tmp_path / "file", wrap(text, 30)) == alone


def test_a_line_of_docker_that_breaks_off_is_dropped_and_said(tmp_path):
    text = docker(SAMPLES["vllm-v1-current"] * 3)
    (own,) = said(tmp_path / "file", text[:-40])
    assert "TRUNCATED_LINE_DROPPED" in own["warn"]
    (own,) = said(tmp_path / "file", text[40:])
    assert "TRUNCATED_LINE_DROPPED" in own["warn"]


def test_a_line_of_kubernetes_that_breaks_off_is_not_taken_as_whole(tmp_path):
    text = kubernetes(SAMPLES["vllm-v1-current"] * 3)
    cut = text[: text.rstrip("\n").rfind("acceptance rate") + 18]
    (whole,), (own,) = said(tmp_path / "file", text), said(tmp_path / "file", cut)
    assert "TRUNCATED_LINE_DROPPED" in own["warn"]
    assert own["pooled"]["drafts"] < whole["pooled"]["drafts"]


def test_other_lines_among_those_of_docker_are_refused_by_number(tmp_path, capsys):
    (tmp_path / "file").write_text(docker("INFO ready\n") + SAMPLES["vllm-v1-current"])
    assert main(["fit", str(tmp_path / "file")]) == 2
    assert "file:2: not JSON as Docker writes it" in capsys.readouterr().err


def test_pieces_may_be_cut_anywhere():
    text = docker("one\ntwo \xe4\nthree\n", 2).encode()
    for at in range(len(text)):
        own = Unwrap("docker", "file")
        assert own.feed(text[:at], last=False) + own.feed(text[at:], last=True) == "one\ntwo \xe4\nthree\n".encode()


def test_a_timestamp_of_kubectl_is_passed_over(tmp_path):
    text = SAMPLES["vllm-v1-current"]
    stamped = "".join(f"[pod/vllm-0/vllm] 2026-01-02T03:04:05.678Z {line}\n" for line in text.splitlines())
    assert said(tmp_path / "file", stamped) == said(tmp_path / "file", text)
