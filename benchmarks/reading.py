"""How long does `simspec fit` take for a gigabyte of log, and in how much memory?

python benchmarks/reading.py [--shapes vllm,rounds] [--megabytes 1000] [--folder DIR] [--json]

A text of one megabyte, no two lines of which are alike, is written over and over; another process reads the file.
Wall time counts what else the machine does, processor time does not.  It reports and does not judge: exit code 0.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from timing import progress

SECONDS_GOAL, MEMORY_GOAL = 60.0, 200
PIECE = 2**20
KAPPA = 4
READ = """
import resource, sys, simspec
own, = simspec.fit(sys.argv[1])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""


@dataclass
class Row:
    """What one shape took for a gigabyte, and the most memory the process held."""

    shape: str
    megabytes: int
    seconds: float
    processor: float
    memory: int


def histogram(chance: random.Random) -> list[int]:
    """Rounds by accepted length."""
    return [chance.randrange(1, 90) for _ in range(KAPPA + 1)]


def survival(counts: list[int]) -> tuple[int, int, list[float]]:
    """Drafts, accepted tokens, and the share that accepted drafts 1 … j."""
    drafts = sum(counts)
    reached = [sum(counts[j:]) for j in range(1, KAPPA + 1)]
    return drafts, sum(reached), [count / drafts for count in reached]


def vllm(chance: random.Random) -> str:
    """A window of vLLM 0.11: statistics, metrics, four lines of access."""
    drafts, accepted, rates = survival(histogram(chance))
    drafted = drafts * KAPPA
    stamp = f"(APIServer pid=1302) INFO 05-08 16:{chance.randrange(60):02d}:29"
    access = '(APIServer pid=1302) INFO:     127.0.0.1:49754 - "POST /v1/chat/completions HTTP/1.1" 200 OK\n'
    return (
        f"{stamp} [loggers.py:248] Engine 000: Avg prompt throughput: 12.4 tokens/s, Avg generation throughput: "
        f"{accepted / 10 + drafts / 10:.1f} tokens/s, Running: 4 reqs, Waiting: 0 reqs, GPU KV cache usage: 1.2%, "
        f"Prefix cache hit rate: 0.0%\n{stamp} [metrics.py:101] SpecDecoding metrics: Mean acceptance length: "
        f"{1 + accepted / drafts:.2f}, Accepted throughput: {accepted / 10:.2f} tokens/s, Drafted throughput: "
        f"{drafted / 10:.2f} tokens/s, Accepted: {accepted} tokens, Drafted: {drafted} tokens, Per-position acceptance "
        f"rate: {', '.join(f'{rate:.3f}' for rate in rates)}, Avg Draft acceptance rate: "
        f"{100 * accepted / drafted:.1f}%\n{4 * access}"
    )


def metrics_only(chance: random.Random) -> str:
    """The worst case of vLLM: every line is one of metrics."""
    return next(line for line in vllm(chance).splitlines() if "SpecDecoding" in line) + "\n"


def llamacpp(chance: random.Random) -> str:
    """A request of llama.cpp's server."""
    drafts, accepted, rates = survival(histogram(chance))
    drafted, task = drafts * KAPPA, chance.randrange(10**6)
    slot = f"0.06.{chance.randrange(1000):03d}.980 I slot"
    return (
        f"{slot} print_timing: id  1 | task {task} | prompt eval time =     300.11 ms /    20 tokens\n"
        f"{slot} print_timing: id  1 | task {task} |        eval time =    2296.72 ms / {drafts + accepted + 1} "
        "tokens (    8.29 ms per token,   120.61 tokens per second)\n"
        f"{slot} print_timing: id  1 | task {task} | draft acceptance = {accepted / drafted:.5f} (  {accepted} "
        f"accepted /   {drafted} generated), mean acceptance length =  {1 + accepted / drafts:.2f}, acceptance rate "
        f"per position = ({', '.join(f'{rate:.3f}' for rate in rates)})\n"
        f"{slot}      release: id  1 | task {task} | stop processing: n_tokens = 296, truncated = 0\n"
    )


def sglang(chance: random.Random) -> str:
    """A decode line of SGLang."""
    length = 1 + chance.random() * KAPPA
    return (
        f"[2026-06-20 14:49:{chance.randrange(60):02d} TP0] Decode batch, #running-req: {chance.randrange(1, 9)}, "
        f"#token: 4130, token usage: 0.01, accept len: {length:.2f}, accept rate: {(length - 1) / KAPPA:.2f}, "
        "cuda graph: True, gen throughput (token/s): 312.40, #queue-req: 0\n"
    )


def requests(chance: random.Random) -> str:
    """A response of vLLM with summary metrics and a text."""
    counts = histogram(chance)
    return response(chance, {"acceptance_histogram": counts}, counts)


def steps(chance: random.Random) -> str:
    """The same with every step."""
    counts = histogram(chance)
    lengths = [j for j, count in enumerate(counts) for _ in range(count)]
    chance.shuffle(lengths)
    return response(chance, {"per_step_accepted": lengths, "per_step_drafted": [KAPPA] * len(lengths)}, counts)


def response(chance: random.Random, steps: dict[str, list[int]], counts: list[int]) -> str:
    """One object of a request."""
    drafts, accepted, _ = survival(counts)
    block = {"num_spec_steps": drafts, "num_accepted_draft_tokens": accepted, "num_draft_tokens": KAPPA * drafts,
             "num_spec_tokens": KAPPA, "mean_acceptance_length": 1 + accepted / drafts, **steps}  # fmt: skip
    text = "".join(chance.choices("etaoin shrdlu", k=600))
    whole = {"id": f"r{chance.randrange(10**12)}", "choices": [{"message": {"content": text}}],
             "metrics": {"speculative_decoding": block}}  # fmt: skip
    return json.dumps(whole) + "\n"


def specbench(chance: random.Random) -> str:
    """An answer of Spec-Bench."""
    lengths = [chance.randrange(1, KAPPA + 2) for _ in range(300)]
    choice = {"index": 0, "turns": ["…" * 200], "decoding_steps": [300], "new_tokens": [sum(lengths)],
              "wall_time": [1.5], "accept_lengths": lengths}  # fmt: skip
    return json.dumps({"question_id": chance.randrange(10**5), "category": "qa", "choices": [choice]}) + "\n"


def table(chance: random.Random) -> str:
    """A round as a row; the request is named by the writer."""
    return f"{chance.randrange(KAPPA + 1)},{KAPPA},1.{chance.randrange(999):03d},11.{chance.randrange(999):03d}"


SHAPES: dict[str, Callable[[random.Random], str]] = {
    "vllm": vllm,
    "vllm-metrics-only": metrics_only,
    "llamacpp": llamacpp,
    "sglang": sglang,
    "vllm-requests": requests,
    "vllm-steps": steps,
    "spec-bench": specbench,
    "rounds": table,
    "rounds-by-request": table,
}
ROUNDS_OF_A_REQUEST = 300


def write(shape: str, path: Path, size: int) -> None:
    """A file of about so many bytes."""
    chance, entries, length = random.Random(1), [], 0
    while length < PIECE:
        entries.append(SHAPES[shape](chance))
        length += len(entries[-1].encode())
    with path.open("w") as handle:
        if not shape.startswith("rounds"):
            piece = "".join(entries)
            for _ in range(size // PIECE):
                handle.write(piece)
            return
        by_request, row = shape.endswith("request"), 0
        handle.write("accepted,kappa,draft_ms,verify_ms" + (",request\n" if by_request else "\n"))
        while handle.tell() < size:
            if by_request:
                handle.write("".join(f"{own},r{(row + i) // ROUNDS_OF_A_REQUEST}\n" for i, own in enumerate(entries)))
            else:
                handle.write("\n".join(entries) + "\n")
            row += len(entries)


def read(shape: str, path: Path) -> Row:
    """Time and memory of a process that does nothing else."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run([sys.executable, "-c", READ, str(path)], capture_output=True, text=True, check=True)
    seconds, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    busy = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    size = path.stat().st_size
    return Row(shape, size // 10**6, seconds * 1e9 / size, busy * 1e9 / size, int(done.stdout))


def main() -> None:
    """Every shape, one after the other."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shapes", default=",".join(SHAPES))
    parser.add_argument("--megabytes", type=int, default=1000)
    parser.add_argument("--folder", type=Path, default=None, help="where the file is written; default: a temporary one")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory(dir=args.folder) as folder, progress() as tell:
        for shape in args.shapes.split(","):
            path = Path(folder) / "log"
            tell(f"{shape}: writing")
            write(shape, path, args.megabytes * 10**6)
            tell(f"{shape}: reading")
            rows.append(read(shape, path))
    if args.json:
        print(json.dumps({"load": os.getloadavg(), "rows": [asdict(row) for row in rows]}, indent=1))
        return
    print(f"for 1 GB; goals: {SECONDS_GOAL:g} s, {MEMORY_GOAL} MB; load of the machine {os.getloadavg()[0]:.1f}")
    print(f"{'shape':<20}{'MB read':>10}{'wall s':>10}{'CPU s':>10}{'MB held':>10}")
    for row in rows:
        print(f"{row.shape:<20}{row.megabytes:>10}{row.seconds:>10.1f}{row.processor:>10.1f}{row.memory:>10}")


if __name__ == "__main__":
    main()
