"""Speculative sampling on real tokens: lossless for both rules, at the exact rates, and every planted error is seen.

Cells of at least 25 expected tokens; `ALARM` each, below 1e-6 in all by default and under -m deep.
"""

import dataclasses
import json
import os
import subprocess
import sys

import numpy as np
import pytest
from scipy.stats import binom

import simspec
from simspec import theory
from simspec.kernels.token_tables import ONE, Lookup, block_tables, token_tables
from simspec.model import ParameterError, TokenChain
from simspec.model.pairs import DirichletPair, GivenPair, LogitPair, ZipfPair
from simspec.run.sampled import run_sampled, sample
from simspec.run.token_job import SampledJob
from simspec.run.token_result import SampledTokens
from simspec.stats.goodness import goodness

ALARM = 1e-9
LEAST = 25.0
SIGMAS = 6.4
"""Standard errors beyond which a mean is called wrong: below 3e-9, at the 127 lanes of the smallest run."""

SKEW = GivenPair(target=(0.5, 0.3, 0.2), draft=(0.2, 0.3, 0.5))
CHAIN = TokenChain(
    target=((0.7, 0.2, 0.1), (0.2, 0.5, 0.3), (0.1, 0.2, 0.7)),
    draft=((0.3, 0.4, 0.3), (0.3, 0.3, 0.4), (0.5, 0.0, 0.5)),
)
TWENTY = [
    *(DirichletPair(vocabulary=v, concentration=c, seed=v) for v in (3, 8, 30, 100) for c in (0.1, 1.0)),
    *(ZipfPair(vocabulary=v, sigma=s, seed=v) for v in (5, 20, 60, 300) for s in (0.3, 1.5)),
    *(LogitPair(vocabulary=50, correlation=r, temperature=t, seed=9) for r in (0.5, 0.95) for t in (0.6, 1.2)),
]
RULES = ("token", "block")


def losses(found):
    """Names of the laws that counted tokens do not follow."""
    target, draft = found.job.laws
    checks = {"emitted": (found.emitted, target)}
    if found.job.rule == "token":
        kinds = {"accepted": np.minimum(target, draft), "corrected": np.maximum(target - draft, 0.0)}
        for kind, (name, law) in enumerate(kinds.items()):
            total = law.sum(axis=1, keepdims=True)
            checks[name] = (found.tokens[kind], law / np.where(total > 0, total, 1.0))
    return [name for name, (counts, law) in checks.items() if goodness(counts, law, LEAST).p_value < ALARM]


def windows_for(pair, tokens):
    """Rounds that emit that many tokens, with room to spare for chance."""
    target, draft = SampledJob(pair, 4, 1, 1).laws
    alpha = float(np.minimum(target, draft).sum())
    return int(1.02 * tokens / sum(alpha**j for j in range(5)))


def twenty_pairs(rule, tokens):
    jobs = [SampledJob(pair, 4, windows_for(pair, tokens), 7, rule) for pair in TWENTY]
    for job, counted, accepted in run_sampled(jobs):
        found = SampledTokens(job, counted, accepted)
        assert found.emitted.sum() >= tokens
        yield found


@pytest.mark.parametrize(("rule", "tokens"), [("token", 10**7), ("block", 2 * 10**6)])
def test_twenty_random_pairs_are_lossless(rule, tokens):
    """So many emitted tokens each; the token rule at its exact rate, block verification at it or above."""
    assert len(TWENTY) == 20
    better = 0
    for found in twenty_pairs(rule, tokens):
        assert losses(found) == []
        mean, by_token = found.mean_accepted, found.exact["token_mean_accepted"]
        if rule == "token":
            assert abs(found.alpha.value - found.exact["alpha"]) < SIGMAS * found.alpha.error
            assert abs(mean.value - by_token) < SIGMAS * mean.error
        else:
            assert mean.value > by_token - SIGMAS * mean.error
            better += mean.value > by_token + SIGMAS * mean.error
            exact = found.exact["mean_accepted"]  # too many paths for the larger vocabularies
            assert exact is None or abs(mean.value - exact) < SIGMAS * mean.error
    assert better >= 15 or rule == "token"


@pytest.mark.deep
@pytest.mark.parametrize("rule", RULES)
def test_twenty_random_pairs_are_lossless_over_a_hundred_million_tokens(rule):
    assert [losses(found) for found in twenty_pairs(rule, 10**8)] == [[]] * 20


@pytest.mark.parametrize("rule", RULES)
def test_a_chain_of_contexts_is_lossless_and_has_the_exact_length(rule):
    """3·10⁶ rounds; each row of the target is met, and the long-run E[A] is that of the exact route."""
    found = sample(CHAIN, 5, 3_000_000, 3, rule)
    assert losses(found) == []
    assert (found.emitted.sum(axis=1) > 10**5).all()
    assert abs(found.mean_accepted.value - found.exact["mean_accepted"]) < SIGMAS * found.mean_accepted.error
    exact = theory.window(CHAIN, 5) if rule == "token" else theory.block_verification(CHAIN, kappa=5)
    assert found.exact["mean_accepted"] == exact.mean_accepted
    lengths, rounds = found.accepted.sum(axis=0), found.rounds
    assert np.abs(lengths / rounds - exact.pmf_accepted).max() < SIGMAS * 0.5 / rounds**0.5 * 1.5
    if rule == "token":
        assert abs(found.alpha.value - found.exact["alpha"]) < SIGMAS * found.alpha.error


EDGES = {
    "disjoint": GivenPair(target=(0.5, 0.5, 0.0, 0.0), draft=(0.0, 0.0, 0.3, 0.7)),
    "equal": GivenPair(target=(0.6, 0.3, 0.1), draft=(0.6, 0.3, 0.1)),
    "one-hot draft": GivenPair(target=(0.6, 0.3, 0.1), draft=(0.0, 1.0, 0.0)),
    "one-hot target": GivenPair(target=(0.0, 1.0, 0.0), draft=(0.6, 0.3, 0.1)),
    "zeros on both sides": GivenPair(target=(0.5, 0.0, 0.3, 0.2), draft=(0.4, 0.3, 0.0, 0.3)),
    "greedy target": LogitPair(vocabulary=100, temperature=0.0),
    "greedy draft": LogitPair(vocabulary=100, draft_temperature=0.0),
    "both greedy": LogitPair(vocabulary=100, temperature=0.0, draft_temperature=0.0, correlation=1.0),
    "one token": GivenPair(target=(1.0,), draft=(1.0,)),
    "hardly different": GivenPair(target=(0.5 + 1e-15, 0.5 - 1e-15), draft=(0.5, 0.5)),
    "a token of 1e-300": GivenPair(target=(1.0, 1e-300), draft=(1e-300, 1.0)),
}


@pytest.mark.parametrize("kappa", [0, 1, 4])
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", EDGES)
def test_edges(name, rule, kappa):
    """Zero-probability tokens never come, and what is certain is certain."""
    found = sample(EDGES[name], kappa, 50_000, 5, rule)
    assert losses(found) == []
    assert found.lossless.impossible == 0
    target, draft = found.job.laws
    assert found.tokens[0][draft == 0.0].sum() == 0
    lengths = found.accepted.sum(axis=0)
    if name in ("disjoint", "a token of 1e-300"):
        assert lengths[0] == found.rounds
    if name in ("equal", "both greedy", "one token", "hardly different"):
        assert lengths[kappa] == found.rounds
    json.dumps(found.to_dict(), allow_nan=False)
    assert repr(found).endswith("emitted tokens follow the target")
    assert len(found.to_pandas()) == target.size


@pytest.mark.parametrize("rule", RULES)
def test_a_vocabulary_of_150_000(rule):
    pair = ZipfPair(vocabulary=150_000, sigma=0.5)
    found = sample(pair, 4, 1_500_000 if rule == "token" else 300_000, 2, rule)
    assert losses(found) == []
    assert found.lossless.freedom > 3_000
    if rule == "token":
        assert abs(found.alpha.value - found.exact["alpha"]) < SIGMAS * found.alpha.error
    else:
        lower, upper = found.exact["mean_accepted_lower"], found.exact["mean_accepted_upper"]
        assert upper - lower < 1e-3
        assert lower - SIGMAS * found.mean_accepted.error < found.mean_accepted.value
        assert found.mean_accepted.value < upper + SIGMAS * found.mean_accepted.error
    rare = found.emitted[0, 50_000:].sum() / found.emitted.sum()  # tokens of 10⁻⁶ and less have their share
    truth = found.job.laws[0][0, 50_000:].sum()
    assert abs(rare - truth) < SIGMAS * (truth / found.emitted.sum()) ** 0.5


def planted(tables, job):
    """The same job with other tables."""
    job.__dict__["tables"] = tables
    ((_, tokens, accepted),) = run_sampled([job])
    return SampledTokens(job, tokens, accepted)


def _laws():
    return SampledJob(SKEW, 4, 1, 1).laws


def _unscaled(target, draft):
    """(p − q)⁺ drawn without dividing by its sum: what is missing falls to the last token."""
    sums = np.cumsum(np.rint(np.maximum(target - draft, 0.0) * float(ONE)).astype(np.uint64), axis=1)
    sums[:, -1] = ONE
    return Lookup(sums, np.zeros_like(Lookup.of(target).guide))


def _over(top, bottom):
    return np.rint(np.minimum(top / bottom, 1.0) * float(ONE)).astype(np.uint64)


TOKEN_ERRORS = {
    "the residual forgotten": lambda t, p, q: {"residual": t.target},
    "the residual not clipped": lambda t, p, q: {"residual": Lookup.of(np.abs(p - q))},
    "the residual not normalised": lambda t, p, q: {"residual": _unscaled(p, q)},
    "the residual of the swapped laws": lambda t, p, q: {"residual": Lookup.of(np.maximum(q - p, 0.0))},
    "p and q swapped in the verdict": lambda t, p, q: {"accept": _over(q, p)},
    "every draft accepted": lambda t, p, q: {"accept": np.full_like(t.accept, ONE)},
    "a verdict one percent too strict": lambda t, p, q: {"accept": (t.accept // np.uint64(100)) * np.uint64(99)},
    "the bonus token from q": lambda t, p, q: {"target": t.draft},
    "drafts from p": lambda t, p, q: {"draft": t.target},
}


@pytest.mark.parametrize("name", TOKEN_ERRORS)
def test_a_planted_error_of_the_token_rule_is_seen(name):
    p, q = _laws()
    right = token_tables(p, q)
    job = SampledJob(SKEW, 4, 1_000_000, 1)
    found = planted(dataclasses.replace(right, **TOKEN_ERRORS[name](right, p, q)), job)
    assert "emitted" in losses(found)
    assert not found.is_lossless


BLOCK_ERRORS = {
    "the residual forgotten": lambda t: {"below": np.stack([t.below[0], 0.0 * t.below[1]])},
    "p and q swapped in the account": lambda t: {"ratio": 1.0 / t.ratio},
    "no account: every ratio cut at 1": lambda t: {"ratio": np.minimum(t.ratio, 1.0), "limits": t.limits * 0.9},
    "the residual's tokens in the wrong order": lambda t: {"order": np.ascontiguousarray(t.order[:, ::-1])},
    "the bonus token from q": lambda t: {"target": t.draft},
    "drafts from p": lambda t: {"draft": t.target},
}


@pytest.mark.parametrize("name", BLOCK_ERRORS)
def test_a_planted_error_of_block_verification_is_seen(name):
    right = block_tables(*_laws())
    found = planted(dataclasses.replace(right, **BLOCK_ERRORS[name](right)), SampledJob(SKEW, 4, 1_000_000, 1, "block"))
    assert "emitted" in losses(found)


def test_a_law_off_by_a_thousandth_is_seen():
    """10⁷ tokens held against p with .0015 of its mass moved."""
    found = sample(SKEW, 4, 3_700_000, 1)
    moved = np.array([[0.5015, 0.2985, 0.2]])
    assert found.emitted.sum() > 10**7
    assert goodness(found.emitted, moved, LEAST).p_value < ALARM < goodness(found.emitted, found.job.laws[0]).p_value


def test_a_lossless_pair_is_not_called_lossy_by_a_skewed_count():
    """16 tokens of 256 where 5.05 are expected: once in 7,000 runs, though the chi-square says once in 10⁶."""
    share = 0.0197269433
    job = SampledJob(GivenPair(target=(1 - share, share), draft=(1 - share, share)), 0, 256, 1)
    tokens = np.zeros((3, 1, 2), np.int64)
    tokens[2, 0] = 240, 16
    found = SampledTokens(job, tokens, np.full((128, 1), 2))
    assert found.lossless.freedom == 1
    assert found.lossless.p_value == pytest.approx(2 * binom.sf(15, 256, share))
    assert found.is_lossless
    assert not SampledTokens(job, tokens + np.array([-8, 8]) * (tokens > 0), found.accepted).is_lossless


def test_what_need_not_agree_is_said():
    """Accepted tokens do not follow p, and the table does not alarm; a law that should be followed does."""
    found = sample(SKEW, 4, 1, 4)
    assert "128 rounds (1 asked, in whole lanes)" in repr(found)
    found = sample(SKEW, 4, 10_000, 4)
    lines = {line.split("  ")[0]: line for line in repr(found).splitlines()}
    assert lines["accepted ~ p"].endswith("need not agree")
    assert lines["emitted ~ p"].endswith("yes")
    wrong = SampledTokens(found.job, found.tokens + np.array([0, 0, 10**6]), found.accepted)
    assert next(line for line in repr(wrong).splitlines() if line.startswith("emitted ~ p")).endswith("NO")


def test_a_numpy_integer_is_a_whole_number():
    found = simspec.sample_tokens(
        SKEW, kappa=np.int64(2), windows=np.int32(1000), seed=np.uint64(3), threads=np.int8(1)
    )
    assert found.accepted.tolist() == sample(SKEW, 2, 1000, 3).accepted.tolist()
    json.dumps(found.to_dict())


def test_accepted_tokens_are_not_the_targets():
    """Claim C08: min(p, q)/α = (2, 3, 2)/7 among accepted ones, p among emitted ones, (1, 0, 0) after a rejection."""
    found = sample(SKEW, 4, 1_000_000, 4)
    assert found.accepted_against_target.p_value == 0.0
    assert found.accepted_against_overlap.p_value > ALARM
    assert found.tokens[1, 0, 1:].tolist() == [0, 0]
    shares = found.tokens[0, 0] / found.tokens[0].sum()
    assert np.abs(shares - np.array([2, 3, 2]) / 7).max() < 0.003


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("pair", [SKEW, CHAIN, ZipfPair(vocabulary=1000)], ids=str)
def test_threads_change_nothing(pair, rule):
    job = SampledJob(pair, 3, 90_000, 5, rule)
    results = [(tokens, accepted) for threads in (1, 2, 7) for _, tokens, accepted in run_sampled([job], threads)]
    for tokens, accepted in results[1:]:
        assert (tokens == results[0][0]).all()
        assert (accepted == results[0][1]).all()


def test_a_run_contains_no_other():
    """Seeds, and pairs that differ in a digit, have words of their own."""
    first, other = sample(SKEW, 4, 10_000, 1), sample(SKEW, 4, 10_000, 2)
    near = sample(GivenPair(target=(0.5, 0.3, 0.2), draft=(0.2, 0.3, 0.5000001)), 4, 10_000, 1)
    assert (first.accepted != other.accepted).any()
    assert (first.accepted != near.accepted).any()


def test_the_public_function():
    found = simspec.sample_tokens({"target": [0.5, 0.5], "draft": [0.75, 0.25]}, kappa=2, windows=50_000, rule="block")
    assert found.exact["mean_accepted"] == pytest.approx(1.375)
    assert found.to_dict()["simulated"]["alpha"] is None
    assert simspec.sample_tokens(CHAIN, windows=1000).job.kappa == 4


@pytest.mark.parametrize(
    ("arguments", "key"),
    [
        ({"kappa": -1}, "kappa"),
        ({"kappa": 257}, "kappa"),
        ({"kappa": 2.0}, "kappa"),
        ({"windows": 0}, "windows"),
        ({"windows": True}, "windows"),
        ({"seed": -1}, "seed"),
        ({"seed": 2**64}, "seed"),
        ({"rule": "greedy"}, "rule"),
        ({"threads": 0}, "threads"),
        ({"level": 1.0}, "level"),
        ({"pair": 7}, "pair"),
        ({"pair": {"target": [0.5, 0.4], "draft": [0.5, 0.5]}}, "target"),
        ({"pair": {"target": [0.5, 0.5], "draft": [1.0]}}, "draft"),
        ({"pair": {"target": [1.5, -0.5], "draft": [0.5, 0.5]}}, "target"),
        ({"pair": {"type": "zipf"}}, "vocabulary"),
        ({"pair": {"type": "zipf", "vocabulary": 150_001}}, "vocabulary"),
        ({"pair": {"type": "zipf", "vocabulary": 10, "temperature": 1.0}}, "temperature"),
        ({"pair": {"type": "zpif", "vocabulary": 10}}, "type"),
        ({"pair": {"type": "logits", "vocabulary": 10, "correlation": 1.5}}, "correlation"),
        ({"pair": {"type": "dirichlet", "vocabulary": 10, "concentration": 0.0}}, "concentration"),
    ],
)
def test_what_is_out_of_range_is_named(arguments, key):
    pair = arguments.pop("pair", SKEW)
    with pytest.raises(ParameterError) as caught:
        simspec.sample_tokens(pair, **arguments)
    assert caught.value.key == key
    assert "\n" not in str(caught.value)


UNCOMPILED = """
import sys
import simspec
for pair in ({"target": [.5, .3, .2], "draft": [.2, .3, .5]}, {"type": "logits", "vocabulary": 9, "temperature": .5},
             simspec.TokenChain(target=((.7, .3), (.4, .6)), draft=((.5, .5), (.5, .5)))):
    for rule in ("token", "block"):
        found = simspec.sample_tokens(pair, kappa=3, windows=600, rule=rule)
        print(found.tokens.tolist(), found.accepted.sum(axis=0).tolist())
assert ("numba" in sys.modules) == (sys.argv[1] == "compiled")
"""


def test_without_a_compiler_the_twins_sample():
    """NUMBA_DISABLE_JIT=1: the same integers, and numba is not even imported."""
    printed = []
    for name, flag in (("compiled", "0"), ("plain", "1")):
        environment = {**os.environ, "NUMBA_DISABLE_JIT": flag}
        command = [sys.executable, "-W", "error", "-c", UNCOMPILED, name]
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
        assert done.returncode == 0, done.stderr
        printed.append(done.stdout)
    assert printed[0] == printed[1]
