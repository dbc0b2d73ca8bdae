"""How many kernels are there, are they vectors, and what do they become without a compiler?"""

import ast
import json
import os
import platform
import subprocess
import sys
from pathlib import Path

import llvmlite.binding
import pytest

import simspec.kernels
from simspec.kernels.entries import entry_points

KERNELS = Path(simspec.kernels.__file__).parent
MOST = 12
HOT = ("count_cells", "count_chain", "play_rounds", "count_steps")
VECTORS = platform.machine() in ("x86_64", "AMD64") and llvmlite.binding.get_host_cpu_features().get("avx2", False)


def test_there_are_twelve_kernels_or_fewer():
    names = [name for name, _ in entry_points()]
    assert len(names) == len(set(names)) <= MOST


def test_no_kernel_holds_the_interpreters_lock():
    """Threads play at once only without it."""
    assert [name for name, ready in entry_points() if not ready().targetoptions.get("nogil")] == []


def test_every_kernel_that_python_calls_is_listed():
    """Whatever the callers import from a module of kernels and call is an entry point, or plain Python."""
    listed = {name for name, _ in entry_points()}
    compiled = {}
    for source in KERNELS.glob("*.py"):
        for node in ast.parse(source.read_text()).body:
            if isinstance(node, ast.FunctionDef) and any(getattr(d, "id", "") == "njit" for d in node.decorator_list):
                compiled[node.name] = source.stem
    called = set()
    for path in [KERNELS / "play.py", *KERNELS.parent.glob("run/*.py")]:
        tree = list(ast.walk(ast.parse(path.read_text())))
        froms = [n for n in tree if isinstance(n, ast.ImportFrom) and (n.module or "").startswith("simspec.kernels.")]
        called |= {alias.name for node in froms for alias in node.names if alias.name in compiled}
    assert called <= listed
    assert {"count_cells", "count_chain", "count_steps", "count_tokens", "list_cells"} <= called
    assert {"count_sampled", "count_blocks"} <= called


COLD = """
import json, time
began = time.process_time()
from simspec.kernels.entries import entry_points
kernels = {name: ready() for name, ready in entry_points()}
cold = time.process_time() - began
from simspec.kernels import lower, play
from simspec.kernels.forms import Policy
from simspec.kernels.words import stream_keys
from simspec.model import *
keys = stream_keys(1, "x")
processes = [Markov(alpha=.7, rho=.2, start="carry"), Drift(alpha_start=.8, alpha_end=.5, tokens=40),
             BetaMixture(alpha=.7, rho=.1, request_tokens=30), Hmm(P=((.9, .1), (.2, .8)), alphas=(.9, .5)),
             DiscreteMixture(alphas=(.9, .6), weights=(.5, .5), weights_of="requests", request_tokens=20)]
for process in processes:
    for kappa in (0, 3, 20):
        form = lower.form(process, kappa)
        for policy in (None, Policy(2, -1, 1, 20)):
            if policy is None or kappa == 20 and process.type != "hmm":
                play.play(form, keys, 0, 5, 2, min(kappa, 3) if policy else kappa, policy)
                if policy is None:
                    play.rounds_of(form, keys, 0, 5, 2, kappa)
for kappa in (0, 3):
    form = lower.form(Iid(alpha=.7), kappa)
    play.fresh_runs(form, keys, 0, __import__("numpy").array([7]))
    play.rounds_of(form, keys, 0, 5, 2, kappa)
from simspec.model.pairs import ZipfPair
from simspec.run.sampled import play as sample_chunks
from simspec.run.token_job import SampledJob
chain = TokenChain(target=((.7, .3), (.4, .6)), draft=((.5, .5), (.5, .5)))
for pair in (ZipfPair(vocabulary=50), chain):
    for rule in ("token", "block"):
        for kappa in (0, 3):
            sample_chunks(SampledJob(pair, kappa, 100, 1, rule), [0])
code = {name: "".join(k.inspect_asm().values()) for name, k in kernels.items()}
vectors = {name: text.count("ymm") + text.count("zmm") for name, text in code.items()}
signatures = {name: len(k.signatures) for name, k in kernels.items()}
print(json.dumps({"cold": cold, "vectors": vectors, "signatures": signatures}))
"""


@pytest.fixture(scope="module")
def compiled_anew(tmp_path_factory):
    """What a process with an empty cache finds; code from the cache cannot be looked into."""
    environment = {**os.environ, "SIMSPEC_CACHE_DIR": str(tmp_path_factory.mktemp("cache"))}
    done = subprocess.run([sys.executable, "-c", COLD], capture_output=True, text=True, env=environment, check=True)
    return json.loads(done.stdout)


def test_no_process_or_policy_compiles_another_version(compiled_anew, record_property):
    """Every entry point has one signature after processes × κ × policies; the cold compile time is on record.

    The target is 30 s of a quiet core; the bound here only catches a kernel that multiplies.
    """
    record_property("cold_compile_seconds", compiled_anew["cold"])
    assert set(compiled_anew["signatures"].values()) == {1}
    assert compiled_anew["cold"] < 90.0


@pytest.mark.skipif(not VECTORS, reason="asks for AVX2")
def test_hot_kernels_are_vectors(compiled_anew):
    """Hundreds of instructions on 256 or 512 bits each; a stray `min` or an unknown bound leaves a loop scalar."""
    for name in HOT:
        assert compiled_anew["vectors"][name] > 100, name


UNCOMPILED = """
import sys
import simspec
from simspec.model import Markov, Iid, Drift, Hmm
for process in (Iid(alpha=.7), Markov(alpha=.7, rho=.3, start="carry"), Drift(alpha_start=.8, alpha_end=.5, tokens=40),
                Hmm(P=((.9, .1), (.2, .8)), alphas=(.9, .5))):
    result = simspec.simulate(process, kappa=[2, 3], windows=2000, seed=5)
    print([t.sums.sum(axis=0).tolist() for t in result.tallies])
assert ("numba" in sys.modules) == (sys.argv[1] == "compiled")
"""


def test_without_a_compiler_the_twins_play():
    """NUMBA_DISABLE_JIT=1: the same integers, and numba is not even imported."""
    printed = []
    for name, flag in (("compiled", "0"), ("plain", "1")):
        environment = {**os.environ, "NUMBA_DISABLE_JIT": flag}
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", UNCOMPILED, name], capture_output=True, text=True, env=environment
        )
        assert done.returncode == 0, done.stderr
        printed.append(done.stdout)
    assert printed[0] == printed[1]


UNJUDGED = """
from simspec.model import Iid, SimspecError
from simspec.run.judged import JudgedJob, play_tokens
try:
    play_tokens(JudgedJob(Iid(alpha=.7), 3, 100, 1), [0])
except SimspecError as error:
    print(error)
"""


def test_the_checker_without_a_compiler_is_refused_in_one_line():
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", UNJUDGED], capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0, done.stderr
    assert "unset NUMBA_DISABLE_JIT" in done.stdout
