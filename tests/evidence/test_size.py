"""A gigabyte of log: how long, and in how much memory?  Memory must not grow with the file."""

import resource
import subprocess
import sys
import time

import pytest
from writers import (
    ANSI,
    OTHER,
    SMALL,
    lines,
    llamacpp_request,
    llamacpp_statistics,
    sglang_decode,
    vllm_current,
    vllm_engine,
)

READ = """
import re, sys, simspec
own, = simspec.fit(sys.argv[1])
most = re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())  # ru_maxrss begins with that of the parent
print(int(most[1]) // 1024, own.body["pooled"]["drafts"])
"""
ACCESS = f'{ANSI}INFO:     127.0.0.1:49754 - "POST /v1/chat/completions HTTP/1.1" 200 OK'
VLLM = lines(vllm_engine(prefix=ANSI), vllm_current(SMALL, ANSI), ACCESS, vllm_engine(prefix=ANSI),
             vllm_current(OTHER, ANSI), ACCESS)  # fmt: skip
DENSE = {
    "vllm": lines(vllm_current(SMALL), vllm_current(OTHER)),
    "sglang": lines(sglang_decode(2.85, 0.62), sglang_decode(2.76, 0.59)),
    "llama.cpp": lines(llamacpp_request(SMALL), llamacpp_statistics(SMALL)),
}


def written(path, text, size):
    """The text over and over; how often."""
    times = size // len(text.encode())
    piece = text.encode() * max(1, min(times, 2**20 // len(text)))
    with path.open("wb") as handle:
        for _ in range(times // (len(piece) // len(text.encode()))):
            handle.write(piece)
    return path.stat().st_size // len(text.encode())


def read(path):
    """Megabytes, drafts, seconds of the processor."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([sys.executable, "-c", READ, str(path)], capture_output=True, text=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    memory, drafts = done.stdout.split(maxsplit=1)
    return int(memory), drafts, after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


@pytest.mark.parametrize("name", DENSE)
def test_memory_does_not_grow_with_the_file(tmp_path, name):
    """4 MB against 1 MB: another 3 MB of text, in memory as objects, would be more than 10."""
    sizes = []
    for size in (10**6, 4 * 10**6):
        written(tmp_path / "log", DENSE[name], size)
        sizes.append(read(tmp_path / "log")[0])
    assert sizes[1] - sizes[0] < 8


@pytest.mark.deep
def test_a_gigabyte_in_a_minute_and_200_megabytes(tmp_path):
    times = written(tmp_path / "log", VLLM, 10**9)
    began = time.perf_counter()
    memory, drafts, busy = read(tmp_path / "log")
    print(f"1 GB: {time.perf_counter() - began:.1f} s, of the processor {busy:.1f} s, {memory} MB")
    assert int(drafts) == times * (SMALL.drafts + OTHER.drafts)
    assert memory <= 200
    assert busy <= 60
