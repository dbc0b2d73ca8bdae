"""Acceptance that engines imitate: what each would show is what was asked for."""

import itertools
import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import simspec
from simspec import ParameterError, export
from simspec.advice.acceptance import acceptance_of_numbers
from simspec.evidence.words import DOMAIN, uniforms
from simspec.kernels.words import stream_keys

CURVES = st.lists(st.floats(0.0, 1.0), min_size=1, max_size=12).map(lambda s: sorted(s, reverse=True))


def of(survival, engine, **more):
    return export(None, engine, acceptance=acceptance_of_numbers(survival=survival), **more)


def law(engine, own, kappa):
    """P(A = 0 … κ) that the engine would follow with these settings, from its own rules."""
    if engine == "vllm":
        config = own.settings["speculative_config"]
        assert config["rejection_sample_method"] == "synthetic"
        assert ("synthetic_acceptance_rates" in config) != ("synthetic_acceptance_length" in config)
        assert config["num_speculative_tokens"] == kappa
        return by_rates(config.get("synthetic_acceptance_rates") or vllm_rates(config, kappa), kappa)
    if engine == "llamacpp":
        words = own.command.split()
        if "--spec-synth-rates" in words:
            return by_rates([float(r) for r in words[words.index("--spec-synth-rates") + 1].split(",")], kappa)
        length = float(words[words.index("--spec-synth-len") + 1])
        assert 1.0 <= length <= kappa + 1
        return by_rates(llamacpp_rates(length, kappa), kappa)
    drafts = {
        "sglang": lambda: float(own.environment["SGLANG_SIMULATE_ACC_LEN"]) - 1.0,
        "trtllm": lambda: float(own.environment["TLLM_SPEC_DECODE_FORCE_NUM_ACCEPTED_TOKENS"]),
    }[engine]()
    whole = min(int(drafts), kappa)
    pmf = [0.0] * (kappa + 1)
    pmf[whole] += 1.0 - (drafts - whole)
    pmf[min(whole + 1, kappa)] += drafts - whole
    return pmf


def by_rates(rates, kappa):
    """Unconditional rates: refused unless they are κ shares that never rise; accepted one by one, conditionally."""
    assert len(rates) == kappa
    assert all(0.0 <= rate <= 1.0 for rate in rates)
    assert all(after <= before for before, after in itertools.pairwise(rates))
    reach, pmf, before = 1.0, [], 1.0
    for rate in rates:
        conditional = rate / before if before else 0.0
        pmf.append(reach * (1.0 - conditional))
        reach, before = reach * conditional, rate
    return [*pmf, reach]


def vllm_rates(config, kappa):
    """The least varied curve of that mean."""
    drafts = config["synthetic_acceptance_length"] - 1.0
    assert 0.0 <= drafts <= kappa
    return [min(1.0, max(0.0, drafts - j)) for j in range(kappa)]


def llamacpp_rates(length, kappa):
    """One chance for every draft: p + … + p^κ = length − 1, by halving."""
    low, high = 0.0, 1.0
    for _ in range(100):
        p = (low + high) / 2
        low, high = (p, high) if sum(p**j for j in range(1, kappa + 1)) < length - 1.0 else (low, p)
    return [p**j for j in range(1, kappa + 1)]


def mean(pmf):
    return math.fsum(a * p for a, p in enumerate(pmf))


def curve(pmf):
    return [math.fsum(pmf[j:]) for j in range(1, len(pmf))]


@settings(max_examples=200, deadline=None)
@given(CURVES)
def test_vllm_and_llamacpp_would_show_the_survival_that_was_given(survival):
    for engine in ("vllm", "llamacpp"):
        pmf = law(engine, of(survival, engine), len(survival))
        assert curve(pmf) == pytest.approx(survival, abs=2e-6)


@settings(max_examples=200, deadline=None)
@given(CURVES)
def test_sglang_and_tensorrt_would_show_the_mean_and_say_that_the_shape_is_lost(survival):
    for engine in ("sglang", "trtllm"):
        if engine == "trtllm" and round(sum(survival), 6) == 0.0:
            with pytest.raises(ParameterError, match="cannot imitate E = 1"):
                of(survival, engine)
            continue
        own = of(survival, engine)
        assert mean(law(engine, own, len(survival))) == pytest.approx(sum(survival), abs=2e-6)
        assert "only the mean is imitated" in own.losses[0]


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 10), st.floats(0.001, 1.0))
def test_a_mean_alone_comes_back_from_every_engine(kappa, share):
    acceptance = acceptance_of_numbers(kappa=kappa, emitted=1.0 + share * kappa)
    for engine in ("vllm", "sglang", "trtllm", "llamacpp"):
        own = export(None, engine, acceptance=acceptance)
        assert mean(law(engine, own, kappa)) == pytest.approx(share * kappa, abs=2e-6)


def test_conditional_rates_would_be_the_wrong_convention():
    """The test of the round trip fails where α_j are written for S_j, or the bonus is counted twice."""
    survival = [0.84, 0.60, 0.39, 0.27]
    conditional = [0.84, 0.60 / 0.84, 0.39 / 0.60, 0.27 / 0.39]
    assert curve(by_rates(sorted(conditional, reverse=True), 4)) != pytest.approx(survival, abs=0.05)
    own = of(survival, "trtllm")
    assert mean(law("trtllm", own, 4)) == pytest.approx(2.10)
    assert own.environment == {"TLLM_SPEC_DECODE_FORCE_NUM_ACCEPTED_TOKENS": "2.1"}
    assert of(survival, "sglang").environment["SGLANG_SIMULATE_ACC_LEN"] == "3.1"


def test_a_simulated_vllm_log_of_these_rates_is_read_back_by_fit(tmp_path):
    """100,000 rounds drawn as vLLM draws under the exported rates; S_j within 5.5 deviations (false alarm 2e-7)."""
    survival, rounds = [0.84, 0.60, 0.39, 0.27], 100_000
    own = of(survival, "vllm")
    rates = own.settings["speculative_config"]["synthetic_acceptance_rates"]
    conditional = np.array(rates) / np.array([1.0, *rates[:-1]])
    keys = stream_keys(7, "export", DOMAIN)
    u = np.stack([uniforms(keys, np.arange(rounds), j) for j in range(4)], axis=1)
    counts = np.cumprod(u < conditional, axis=1).sum(axis=0)
    accepted = int(counts.sum())
    positions = ", ".join(f"{count / rounds:.3f}" for count in counts)
    (tmp_path / "server.log").write_text(
        "INFO 05-08 16:26:29 [metrics.py:10] SpecDecoding metrics: "
        f"Mean acceptance length: {1 + accepted / rounds:.2f}, "
        f"Accepted throughput: 4.50 tokens/s, Drafted throughput: 12.00 tokens/s, Accepted: {accepted} tokens, "
        f"Drafted: {4 * rounds} tokens, Per-position acceptance rate: {positions}, "
        f"Avg Draft acceptance rate: {100 * accepted / rounds / 4:.1f}%\n"
    )
    (source,) = simspec.fit(tmp_path / "server.log")
    seen = source.to_dict()["pooled"]["survival"]
    spread = np.sqrt(np.array(survival) * (1 - np.array(survival)) / rounds) + 0.0005
    assert np.all(np.abs(np.array(seen) - survival) < 5.5 * spread)
    assert not np.all(np.abs(np.array(seen) - [0.84, 0.60, 0.39, 0.29]) < 5.5 * spread)  # a planted error is seen
    assert "Per-position acceptance rate: 0.840, 0.600, 0.390, 0.270, Avg Draft acceptance rate: 52.5%" in own.shows


def test_the_first_positions_serve_a_shorter_draft_and_nothing_serves_a_longer_one():
    own = of([0.84, 0.60, 0.39], "vllm", kappa=2)
    assert own.settings["speculative_config"]["synthetic_acceptance_rates"] == [0.84, 0.60]
    for acceptance in (acceptance_of_numbers(survival=[0.84, 0.6]), acceptance_of_numbers(kappa=3, emitted=2.0)):
        with pytest.raises(ParameterError, match="known"):
            export(None, "vllm", acceptance=acceptance, kappa=5)


def test_iid_drafts_have_a_curve():
    own = export(None, "vllm", acceptance=acceptance_of_numbers(alpha=0.7), kappa=3, iid=True)
    rates = own.settings["speculative_config"]["synthetic_acceptance_rates"]
    assert rates == pytest.approx([0.7, 0.49, 0.343])


def test_a_recommendation_carries_the_acceptance_it_rests_on():
    advice = {"kappa_star": 2, "survival": [0.84, 0.6, 0.39], "survival_is": "measured"}
    config = export(advice, "vllm", synthetic=True).settings["speculative_config"]
    assert config["synthetic_acceptance_rates"] == [0.84, 0.6]
    config = export(advice, "vllm", synthetic=True, kappa=3).settings["speculative_config"]
    assert config["synthetic_acceptance_rates"] == [0.84, 0.6, 0.39]
    own = export(advice | {"survival_is": "model"}, "llamacpp", synthetic=True)
    assert "a model's where it was not measured" in own.says
    with pytest.raises(ParameterError, match="holds no survival"):
        export({"kappa_star": 2}, "vllm", synthetic=True)


def test_imitation_always_says_that_its_text_is_worthless_and_advice_never_imitates():
    for engine in ("vllm", "sglang", "trtllm", "llamacpp"):
        assert "worthless" in of([0.8, 0.5], engine).notes[0]
        plain = export({"kappa_star": 2, "survival": [0.8, 0.5]}, engine)
        text = json.dumps(plain.to_dict()).lower()
        assert not any(word in text for word in ("synthetic", "simulate_acc", "force_num", "synth-"))


def test_advice_and_acceptance_exclude_each_other():
    acceptance = acceptance_of_numbers(survival=[0.8])
    with pytest.raises(ParameterError, match="one of them"):
        export({"kappa_star": 1}, "vllm", acceptance=acceptance)
    with pytest.raises(ParameterError, match="form and max_batch go with advice"):
        export(None, "vllm", acceptance=acceptance, form="batch")
