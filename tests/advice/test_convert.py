"""From one convention to another and back; what contradicts is refused; what does not follow is null."""

import math

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import simspec
from simspec.advice.convert.conventions import BY_NAME, CONVENTIONS, DEAD_ENDS, QUANTITIES
from simspec.advice.convert.conversion import Conversion, conventions, convert, listed
from simspec.advice.convert.rules import RULES, follow
from simspec.evidence.source import Unknown

ROUND_TRIPS = [own for own in CONVENTIONS if own.name not in ("iid", "medusa-heads", "tree")]


@st.composite
def histograms(draw):
    """Counts of rounds by accepted length, κ = 1 … 8."""
    kappa = draw(st.integers(1, 8))
    counts = draw(st.lists(st.integers(0, 5000), min_size=kappa + 1, max_size=kappa + 1).filter(any))
    return [max(1, count) if i == 0 else count for i, count in enumerate(counts)]


def moments(histogram):
    """The quantities straight from the definition."""
    rounds, kappa = sum(histogram), len(histogram) - 1
    accepted = sum(j * count for j, count in enumerate(histogram))
    examined = sum(min(j + 1, kappa) * count for j, count in enumerate(histogram))
    mean = accepted / rounds
    return {
        "kappa": kappa,
        "drafts": rounds,
        "draft_tokens": kappa * rounds,
        "accepted_tokens": accepted,
        "emitted_tokens": accepted + rounds,
        "mean_accepted_per_round": mean,
        "mean_emitted_per_round": mean + 1,
        "draft_acceptance_rate": accepted / (kappa * rounds),
        "rate_with_bonus": (accepted + rounds) / ((kappa + 1) * rounds),
        "survival": [sum(histogram[j:]) / rounds for j in range(1, kappa + 1)],
        "pmf_accepted": [count / rounds for count in histogram],
        "alpha_examined": accepted / examined,
        "p_zero_accepted": histogram[0] / rounds,
        "p_full": histogram[-1] / rounds,
        "var_accepted": sum(count * (j - mean) ** 2 for j, count in enumerate(histogram)) / rounds,
    }


@settings(max_examples=60, deadline=None, derandomize=True)
@given(histograms())
def test_everything_follows_from_a_histogram(histogram):
    own = convert("plain", histogram=histogram)
    for name, value in moments(histogram).items():
        assert own[name] == pytest.approx(value, rel=1e-9, abs=1e-9), name


@pytest.mark.parametrize("target", ROUND_TRIPS, ids=lambda own: own.name)
@settings(max_examples=25, deadline=None, derandomize=True)
@given(histograms())
def test_there_and_back(target, histogram):
    """Whatever another convention can say says the same when it is read again."""
    first = convert("plain", histogram=histogram)
    fields = {
        field: value
        for field, value in Conversion(first.convention, target, first.derived).fields.items()
        if not isinstance(value, Unknown)
        and not (isinstance(value, list) and None in value)  # a position never reached has no rate
    }
    assume(fields)  # a conditional rate of a position never reached is none
    back = convert(target.name, **{"kappa": first["kappa"], **fields})
    for name in back.derived:
        if name in first.derived:
            seen, expected = back[name], first[name]
            if isinstance(seen, list):
                pairs = [(a, b) for a, b in zip(seen, expected, strict=True) if None not in (a, b)]
                assert [a for a, _ in pairs] == pytest.approx([b for _, b in pairs], rel=1e-6, abs=1e-9), name
            else:
                assert seen == pytest.approx(expected, rel=1e-6, abs=1e-6), name


def test_the_round_trip_would_see_a_wrong_convention(monkeypatch):
    """Planted: the old SGLang rate read as the new one; the figures then disagree by the bonus token."""
    first = convert("plain", histogram=[30, 25, 20, 25])
    printed = Conversion(first.convention, BY_NAME["sglang-before-23530"], first.derived).fields["accept_rate"]
    read = convert("sglang", accept_rate=printed, kappa=3)["mean_emitted_per_round"]
    assert abs(read - first["mean_emitted_per_round"]) > 0.1


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: f"{rule.gives} from {' '.join(rule.needs)}")
def test_every_rule_agrees_with_the_definition(rule):
    """Each equation by itself, on one histogram."""
    truth = moments([30, 25, 20, 25])
    truth |= {
        "histogram": [30, 25, 20, 25], "accepted_at_position": [70, 45, 25], "mean_drafted_per_round": 3.0,
        "cond_alpha": [0.7, 45 / 70, 25 / 45], "relative_survival": [1.0, 45 / 70, 25 / 70],
        "iid_alpha_mle_from_mean": 0.6646, "agreed_tokens": 200, "agreement_rate": 200 / 300,
        "naive_wrong_emitted_per_round": 3.0,
    }  # fmt: skip
    if "alpha" in rule.needs:
        alpha = 0.7
        expected = [alpha, alpha**2, alpha**3] if rule.gives == "survival" else alpha
        assert rule.how(*({"alpha": alpha, "kappa": 3}[name] for name in rule.needs)) == pytest.approx(expected)
        return
    value = rule.how(*(truth[name] for name in rule.needs))
    assert value == pytest.approx(truth[rule.gives], rel=1e-3)


def test_what_does_not_follow_has_a_reason():
    own = convert("trtllm", acceptance_rate=0.4, kappa=3)
    assert own["mean_emitted_per_round"] == pytest.approx(2.2)
    for name in ("survival", "cond_alpha", "drafts", "var_accepted", "alpha_examined", "p_full"):
        assert isinstance(own[name], Unknown), name
        assert own[name].reason
    data = own.to_dict()
    assert data["values"]["survival"] is None
    assert "survival" in data["reasons"]
    with pytest.raises(KeyError):
        own["no such quantity"]


@pytest.mark.parametrize(
    ("name", "fields", "part"),
    [
        ("sgang", {}, 'did you mean "sglang"'),
        ("sglang", {}, "nothing given"),
        ("sglang", {"accept_length": 2}, 'did you mean "accept_len"'),
        ("sglang", {"accept_len": "two", "kappa": 3}, "is not a number"),
        ("sglang", {"accept_len": "50%", "kappa": 3}, "not a percentage"),
        ("sglang", {"accept_len": 0.7, "kappa": 3}, "below 1"),
        ("sglang", {"accept_len": 4.2, "kappa": 3}, "above κ + 1 = 4"),
        ("sglang", {"accept_rate": float("nan"), "kappa": 3}, "out of range"),
        ("sglang", {"accept_rate": -0.1, "kappa": 3}, "out of range"),
        ("sglang", {"accept_rate": True, "kappa": 3}, "out of range"),
        ("sglang", {"accept_rate": 64.2, "kappa": 3}, "is written 64.2%"),
        ("sglang", {"accept_len": 2, "kappa": 3, "num_draft_tokens": 5}, "given twice"),
        ("vllm-v1", {"per_position": [0.5, 0.6]}, "S_j never rises"),
        ("vllm-v1", {"per_position": [0.5, 0.3], "kappa": 4}, "contradicts"),
        ("vllm-v1", {"per_position": "0.9," * 2000}, "entries; allowed"),
        ("vllm-v0", {"drafted": "13,311", "kappa": 3}, "no thousands separator"),
        ("vllm-v1", {"accepted": 45, "drafted": 120, "kappa": 3, "mean_acceptance_length": 3.0}, "contradicts"),
        ("vllm-v1-before-17908", {"accepted": 45, "drafts": 40, "mean_acceptance_length": 2.125, "kappa": 3},
         "the figures fit vllm-v1"),
        ("gpt-fast", {"acceptance_probs": [0.5, 0.3]}, "does not add up to 1"),
        ("anchored", {"acceptance": [0.9, 0.8]}, "first entry is the target's own token"),
        ("tree", {"accept_rate": 0.095}, "cannot be converted"),
        ("medusa-heads", {"top1": [0.56, 0.316]}, "cannot be converted"),
        ("llamacpp", {"n_predict": 10, "n_accept": 20}, "below 1"),
        ("plain", {"kappa": 10**30}, "out of range"),
        ("vllm-v1", {"mean_acceptance_length": 2, "kappa": 10_001}, "allowed: up to 10,000"),
    ],
)  # fmt: skip
def test_rubbish_is_refused_in_one_line(name, fields, part):
    with pytest.raises(simspec.ParameterError) as told:
        convert(name, **fields)
    assert part in str(told.value)
    assert "\n" not in str(told.value)


def test_a_tree_gives_its_length_and_nothing_else():
    """sgl-project: accept len 2.92 at .095 per node, chain 2.25 at .415: the rate falls while the length rises."""
    own = convert("tree", accept_len=2.92, accept_rate=0.095)
    assert own["mean_emitted_per_round"] == 2.92
    assert isinstance(own["draft_acceptance_rate"], Unknown)
    assert any("nodes of a tree" in note for note in own.notes)


@pytest.mark.parametrize(
    ("name", "fields", "emitted"),
    [
        # figures as printed by the engines; sources in the comments
        ("vllm-v1", {"mean_acceptance_length": 5.04, "accepted": 813, "drafted": 1206, "kappa": 6,
                     "per_position": [0.871, 0.751, 0.692, 0.632, 0.562, 0.537]}, 5.04),  # vLLM V1 log line
        ("vllm-per-request", {"acceptance_histogram": [39, 1, 0, 3]}, 1.2326),  # vllm-project/vllm PR 48915
        ("sglang-meta-info", {"spec_accept_rate": 0.2930, "spec_accept_length": 2.4651, "spec_num_correct_drafts": 63,
                              "spec_num_proposed_drafts": 215, "spec_verify_ct": 43,
                              "spec_correct_drafts_histogram": [11, 14, 11, 4, 0, 3]}, 2.4651),  # sglang PR 33518
        ("llamacpp", {"n_predict": 266, "n_drafted": 254, "n_accept": 223, "accept": "87.795%"}, 266 / 43),
        ("llamacpp-per-position", {"mean_acceptance_length": 2.92, "generated": 259, "accepted": 167, "gen_drafts": 87,
                                   "acceptance_rate_per_position": [0.805, 0.632, 0.483],
                                   "draft_acceptance": 0.64479}, 2.92),  # ggml-org/llama.cpp PR 24536
        ("eagle-n-alpha", {"n_alpha": [0.79, 0.74, 0.72, 0.73, 0.67]}, 3.31),  # EAGLE, Vicuna-7B, T = 0, chain
        ("relative", {"relative_survival": [1.0, 0.5], "mean_accepted": 0.9}, 1.9),
    ],
)  # fmt: skip
def test_figures_as_engines_print_them(name, fields, emitted):
    assert convert(name, **fields)["mean_emitted_per_round"] == pytest.approx(emitted, rel=2e-3)


def test_the_table_of_conventions_is_whole():
    assert conventions() is CONVENTIONS
    assert len(BY_NAME) == len(CONVENTIONS)
    text = listed()
    for own in CONVENTIONS:
        assert own.name in text
        assert {own.printed(field).quantity for field in own.fields} <= set(QUANTITIES)
        assert own.cannot
    assert set(DEAD_ENDS) <= set(QUANTITIES)


def test_following_ends_and_keeps_what_was_given():
    found = follow({"mean_emitted_per_round": 2.5, "kappa": 3}, same_length=True)
    assert found["mean_emitted_per_round"].text == "given"
    assert "survival" not in found
    assert math.isclose(found["iid_alpha_mle_from_mean"].value, 0.6914, abs_tol=1e-4)
