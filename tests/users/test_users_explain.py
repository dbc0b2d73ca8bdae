"""What users of engines asked, answered by `explain` and `convert`: their figures in, the number and the sentence out.

Figures are the reporters' own; the source stands in each docstring.  Ids are those of the list of reports.
"""

import math

import numpy as np
import pytest

import simspec
from simspec.cli.main import main
from simspec.evidence.source import Unknown


def close(value, expected, tolerance=0.005):
    assert value == pytest.approx(expected, rel=tolerance)


def cost(**figures):
    return simspec.explain(**figures).round_cost.value


def refused(function, *arguments, **figures):
    """The one line in which the input is refused."""
    with pytest.raises(simspec.ParameterError) as told:
        function(*arguments, **figures)
    assert "\n" not in str(told.value)
    return str(told.value)


def on_screen(capsys, *words):
    """What is printed, on one line."""
    assert main(list(words)) == 0
    return " ".join(capsys.readouterr().out.split())


def test_u01_slower_and_no_acceptance_shown(capsys):
    """vllm-project/vllm issue 8439: n-gram κ = 5, batch 1, 69.79 → 61.79 tok/s."""
    own = simspec.explain(base_tok_s=69.79, spec_tok_s=61.79, streams=1)
    close(own.speedup.value, 0.885, 1e-3)
    assert own.round_cost is None
    close(own.to_dict()["round_cost_over_emitted"], 1.13, 1e-3)
    text = on_screen(capsys, "explain", "--base-speed", "69.79", "--spec-speed", "61.79", "--streams", "1")
    assert (
        "even with nothing accepted a round costs at least 1.129 plain steps (1.86 ms beyond the plain 14.33)" in text
    )
    assert "give E to tell acceptance from cost" in text
    assert "Mean acceptance length" in text  # where to find it


def test_u02_accepted_of_vllm_v0_goes_on_after_the_first_rejection(capsys):
    """vllm-project/vllm issues 9539 and 7301."""
    own = simspec.convert("vllm-v0", k=3, accepted=8547, drafted=13311, emitted=10616)
    assert own["drafts"] == 4437
    close(own["mean_emitted_per_round"], 2.393, 1e-3)
    close(own["iid_alpha_mle_from_mean"], 0.663, 1e-3)
    close(own["rate_with_bonus"], 0.598, 1e-3)
    close(own["naive_wrong_emitted_per_round"], 2.926, 1e-3)
    assert isinstance(own["survival"], Unknown)
    other = simspec.convert("vllm-v0", k=4, drafted=53716, emitted=34244, system_efficiency=0.510)
    assert other["drafts"] == 13429
    close(other["mean_emitted_per_round"], 2.550, 1e-3)
    close(other["iid_alpha_mle_from_mean"], 0.655, 2e-3)
    last = simspec.convert("vllm-v0", k=5, accepted=1, drafted=5, emitted=1)
    assert (last["mean_emitted_per_round"], last["accepted_tokens"]) == (1.0, 0)
    text = on_screen(capsys, "convert", "vllm-v0", "k=3", "accepted=8547", "drafted=13311", "emitted=10616")
    assert "goes on after the first rejection" in text


@pytest.mark.parametrize(
    ("kappa", "drafted", "emitted", "below"), [(3, 483, 161, "0.019"), (16, 42272, 2642, "0.0012")]
)
def test_u04_never_accepted_is_broken_not_weak(kappa, drafted, emitted, below):
    """vllm-project/vllm issues 8620 and 6768: a Medusa draft of which nothing is accepted."""
    own = simspec.convert("vllm-v0", k=kappa, drafted=drafted, emitted=emitted)
    assert own["mean_emitted_per_round"] == 1.0
    assert any(f"below {below} at 95%" in note and "broken" in note for note in own.notes)
    told = simspec.explain(emitted=1.0, kappa=kappa, rounds=own["drafts"])
    assert f"below {below}" in told.flags["NEVER_ACCEPTED"]
    assert "best κ is 0" in told.verdict


def test_u07_more_accepted_and_slower():
    """vllm-project/vllm PR 16937: 133 tok/s plain, EAGLE at κ = 2, 4, 7."""
    told = [simspec.explain(kappa=k, base_tok_s=133, spec_tok_s=s) for k, s in ((2, 201.7), (4, 198), (7, 169.9))]
    for own, expected in zip(told, (1.52, 1.49, 1.28), strict=True):
        close(own.speedup.value, expected)
        assert "without E neither acceptance nor cost can be judged" in own.verdict
    per_token = [own.to_dict()["round_cost_over_emitted"] for own in told]
    assert per_token == sorted(per_token)  # the round grows faster than what it emits


def test_u08_the_thirty_second_draft_costs_and_brings_nothing():
    """vllm-project/vllm PR 24343: A100, batch 1, plain about 82 tok/s; κ = 1: 108.5, E 1.63; κ = 32: 48.3, E 2.18."""
    one = simspec.explain(emitted=1.63, kappa=1, base_tok_s=82, spec_tok_s=108.5, streams=1)
    many = simspec.explain(emitted=2.18, kappa=32, base_tok_s=82, spec_tok_s=48.3, streams=1)
    close(one.round_cost.value, 1.23)
    close(many.round_cost.value, 3.70)
    close((many.round_ms - one.round_ms) / 31, 0.97)
    assert "slower" in many.verdict
    assert "faster" in one.verdict
    close(simspec.convert("iid", alpha=0.63, gamma=32)["mean_emitted_per_round"], 2.70)  # observed: 2.18


def test_u11_unequal_output_is_not_compared():
    """vllm-project/vllm issue 16258: 10236 tokens at 305.5 tok/s against 2118 at 74.3 and 946 at 88.5."""
    for speed, tokens in ((74.3, 2118), (88.5, 946)):
        said = refused(simspec.explain, base_tok_s=305.5, spec_tok_s=speed, base_tokens=10236, spec_tokens=tokens)
        assert "not comparable" in said
        assert "10,236" in said
        assert f"{tokens:,}" in said
    assert simspec.explain(base_tok_s=305.5, spec_tok_s=300.0, base_tokens=10236, spec_tokens=10100).speedup.value < 1.0


def test_u14_ninety_seven_percent_and_slower(capsys):
    """vllm-project/vllm issue 39680: 342.2 → 128.3 tok/s at κ = 1, α = .966."""
    own = simspec.explain(alpha=0.966, kappa=1, base_tok_s=342.2, spec_tok_s=128.3, streams=1)
    close(own.round_cost.value, 5.25)
    close(own.round_ms, 15.4, 0.01)
    close(own.speeds.plain_ms, 2.92)
    close(own.ceiling, 0.38, 0.005)
    assert "CEILING_BELOW_ONE" in own.flags
    text = on_screen(
        capsys, "explain", "--alpha", ".966", "--kappa", "1", "--base-speed", "342.2", "--spec-speed", "128.3"
    )
    assert "better acceptance cannot help" in text.splitlines()[0]
    assert "switch speculation off" in text.splitlines()[0]


def test_u20_itl_is_per_round():
    """vllm-project/vllm PR 48892: κ = 8, 38611 accepted, 11043 drafts; TPOT 37.2 → 27.5, median ITL 22.4 → 159.6."""
    emitted = simspec.convert("vllm-v1", accepted=38611, drafts=11043, kappa=8)["mean_emitted_per_round"]
    close(emitted, 4.50)
    own = simspec.explain(emitted=emitted, kappa=8, base_tpot_ms=37.2, spec_tpot_ms=27.5, spec_itl_ms=159.6)
    close(own.speedup.value, 1.353)
    assert "faster" in own.verdict
    assert "the mean gap is 123.7 ms" in own.flags["ITL_IS_PER_ROUND"]  # the median is another number


def test_u22_a_drop_of_a_tenth_is_real():
    """vllm-project/vllm issue 26191: κ = 7, 4816 drafts, 12208 accepted, E 3.53."""
    own = simspec.convert("vllm-v1", accepted=12208, drafts=4816, kappa=7, mean_acceptance_length=3.53)
    close(own["mean_emitted_per_round"], 3.53)
    close(own["iid_alpha_mle_from_mean"], 0.744, 1e-3)
    law = simspec.convert("iid", alpha=own["iid_alpha_mle_from_mean"], gamma=7)
    close(math.sqrt(law["var_accepted"]), 2.39)
    low, high = simspec.explain(emitted=12208 / 4816 + 1, kappa=7, rounds=4816).acceptance.emitted_interval
    error = (high - low) / 2 / 1.96
    close(error, 0.034, 0.02)
    assert 1.96 * math.sqrt(2) * error < 0.10  # two such runs: a drop of .10 is beyond 95%


def test_u26_twenty_three_rounds(tmp_path):
    """vllm-project/vllm-ascend issue 13640: κ = 7, 44 of 161, seven rates."""
    rates = [0.739, 0.478, 0.261, 0.174, 0.130, 0.087, 0.043]
    own = simspec.convert("vllm-v1", accepted=44, drafted=161, kappa=7, per_position=rates)
    assert own["drafts"] == 23
    for alpha, expected in zip(own["cond_alpha"], (0.74, 0.65, 0.55, 0.67, 0.75, 0.67, 0.49), strict=True):
        assert alpha == pytest.approx(expected, abs=0.006)
    few = simspec.convert("plain", survival=rates[:3])
    close(few["mean_emitted_per_round"] / own["mean_emitted_per_round"], 0.85)  # for 3/7 of the drafting
    log = tmp_path / "one.log"
    log.write_text(
        "INFO 05-08 16:26:29 [metrics.py:10] SpecDecoding metrics: Mean acceptance length: 2.91, Accepted throughput: "
        "4.40 tokens/s, Drafted throughput: 16.10 tokens/s, Accepted: 44 tokens, Drafted: 161 tokens, Per-position "
        "acceptance rate: 0.739, 0.478, 0.261, 0.174, 0.130, 0.087, 0.043, Avg Draft acceptance rate: 27.3%\n"
    )
    told = simspec.explain(log, base_tok_s=100, spec_tok_s=150)
    low, high = told.acceptance.emitted_interval
    assert high - low > 1.2  # E = 2.91 is hardly known
    assert told.interval(told.round_cost) is not None
    close((0.739 * 0.261 / 23) ** 0.5, 0.0916, 0.01)


def test_u29_which_rule_accepts_most():
    """vllm-project/vllm PRs 16899, 40651, 35461: p = (.9, .1), q = (.6, .4)."""
    cases = [
        {"id": scheme, "kind": "multidraft", "p": [0.9, 0.1], "q": [0.6, 0.4], "K": 1, "scheme": scheme}
        for scheme in ("naive", "single", "topk_deterministic")
    ]
    match, rejection, argmax = (answer["acceptance"] for answer in simspec.solve(cases))
    assert (match, rejection, argmax) == pytest.approx((0.58, 0.70, 0.90))
    assert match <= rejection < argmax


def test_u31_all_or_nothing_hides_in_the_mean(capsys):
    """vllm-project/vllm PR 48915: histogram 39, 1, 0, 3 over 43 steps, 10 of 129."""
    own = simspec.convert(
        "vllm-per-request", acceptance_histogram=[39, 1, 0, 3], num_spec_steps=43, num_draft_tokens=129,
        num_accepted_draft_tokens=10, mean_acceptance_length=1.2326,
    )  # fmt: skip
    assert own["survival"] == pytest.approx([0.093, 0.070, 0.070], abs=5e-4)
    assert own["cond_alpha"] == pytest.approx([0.093, 0.75, 1.0], abs=5e-4)
    close(own["draft_acceptance_rate"], 0.0775, 1e-3)
    text = on_screen(capsys, "convert", "vllm-per-request", "acceptance_histogram=39,1,0,3")
    assert "conditional α rises from 0.09 to 1.00" in text
    assert "the mean hides it" in text


def test_u32_the_bonus_is_in_the_rate():
    """sgl-project/sglang issue 11948: accept len 2.17, 1.95, 1.80 and rate .54, .49, .45 with four draft tokens."""
    for length, rate, draft_only in ((2.17, 0.54, 0.39), (1.95, 0.49, 0.32), (1.80, 0.45, 0.27)):
        said = refused(simspec.convert, "sglang", accept_len=length, accept_rate=rate, num_draft_tokens=4)
        assert "the figures fit sglang-before-23530" in said
        own = simspec.convert(
            "sglang-before-23530", to="sglang", accept_len=length, accept_rate=rate, num_draft_tokens=4
        )
        assert own.fields["accept_rate"] == pytest.approx(draft_only, abs=0.005)
        assert own["kappa"] == 3


def test_u35_same_acceptance_dearer_round():
    """sgl-project/sglang issue 6949: tensor parallel 1: 21 → 30 tok/s; 4: 61 → 59."""
    one = simspec.explain(emitted=2.0, base_tok_s=21, spec_tok_s=30)
    four = simspec.explain(emitted=2.0, base_tok_s=61, spec_tok_s=59)
    close(four.round_cost.value / one.round_cost.value, 1.48)  # whatever E is, if it is the same
    assert "faster" in one.verdict
    assert "slower" in four.verdict
    said = refused(simspec.explain, base_tok_s=21, spec_tok_s=59, base_setup="tp 1", spec_setup="tp 4")
    assert "not comparable" in said


def test_u37_adaptive_against_the_best_static():
    """sgl-project/sglang PR 21599: 461 tok/s plain; κ = 1, 3, 7: 621, 955, 999 with E 2.00, 3.88, 6.25."""
    for kappa, emitted, speed, expected in ((1, 2.00, 621, 1.48), (3, 3.88, 955, 1.87), (7, 6.25, 999, 2.88)):
        own = simspec.explain(emitted=emitted, kappa=kappa, base_tok_s=461, spec_tok_s=speed)
        close(own.round_cost.value, expected)
        assert ("ALWAYS_ACCEPTED" in own.flags) == (emitted == kappa + 1)
    own = simspec.explain(base_tok_s=768, spec_tok_s=791)  # the best static one is the base
    close(own.speedup.value, 1.03)
    own = simspec.explain(base_tok_s="768±20", spec_tok_s="791±20")
    assert "WITHIN_ERROR" in own.flags


def test_u38_acceptance_does_not_depend_on_the_batch():
    """sgl-project/sglang PR 22520: κ = 5, batch 1 to 64, accepted without the bonus token."""
    accepted, speedups = (1.62, 1.39, 1.54, 1.57, 1.47, 1.52), (1.81, 1.83, 1.91, 1.81, 1.56, 1.21)
    costs = []
    for mean, speedup in zip(accepted, speedups, strict=True):
        emitted = simspec.convert("without-bonus", mean_accepted=mean, kappa=5)["mean_emitted_per_round"]
        costs.append(cost(emitted=emitted, kappa=5, base_tok_s=1.0, spec_tok_s=speedup))
    assert costs == pytest.approx([1.45, 1.31, 1.33, 1.42, 1.59, 2.08], abs=0.01)
    assert max(accepted) / min(accepted) < 1.17 < max(costs) / min(costs)
    refused(simspec.explain, emitted=0.9, kappa=5, base_tok_s=1.0, spec_tok_s=1.2)


def test_u40_a_gap_is_a_round(capsys):
    """sgl-project/sglang PR 12064: median ITL 8.72 ms at 292 tok/s."""
    own = simspec.explain(spec_tok_s=292, streams=1, spec_itl_ms=8.72)
    close(own.speeds.token_ms, 3.42, 2e-3)
    close(own.speeds.gap_ms / own.speeds.token_ms, 2.55)
    text = on_screen(capsys, "explain", "--spec-speed", "292", "--streams", "1", "--spec-itl", "8.72")
    assert "A token takes 3.42 ms, not 8.72: ITL is one gap per round" in text
    alone = simspec.explain(emitted=2.55, kappa=4, base_tpot_ms=6.0, spec_itl_ms=8.72)
    close(alone.round_cost.value, 1.453)
    close(alone.speedup.value, 1.754)


def test_u41_a_rate_above_one_is_explained():
    """sgl-project/sglang PRs 11572 and 13212: rates above 100%; which denominator depends on the version."""
    for name, field in (("sglang", "accept_rate"), ("trtllm", "acceptance_rate")):
        said = refused(simspec.convert, name, **{field: "108%"}, kappa=3)
        assert "a rate above 100% counts the bonus token above the line only" in said
    old, new = (
        simspec.convert(name, accept_rate=0.5, num_draft_tokens=4)["mean_emitted_per_round"]
        for name in ("sglang-before-23530", "sglang")
    )
    assert (old, new) == (2.0, 2.5)


def test_u43_exactly_one_or_full_is_a_numeric_fault():
    """NVIDIA/TensorRT-LLM PR 5146: E 1.83 of 4 → 1.26x, 2.90 → 1.67x; before, NaN gave E = 1 or full."""
    close(cost(emitted=1.83, kappa=3, base_tok_s=1.0, spec_tok_s=1.26), 1.45)
    close(cost(emitted=2.90, kappa=3, base_tok_s=1.0, spec_tok_s=1.67), 1.74)
    full = simspec.explain(emitted=4.0, kappa=3, rounds=500, base_tok_s=1.0, spec_tok_s=1.67)
    assert "in 500 rounds" in full.flags["ALWAYS_ACCEPTED"]
    assert "numeric fault" in repr(full)
    assert "NEVER_ACCEPTED" in simspec.explain(emitted=1.0, kappa=3, base_tok_s=1.0, spec_tok_s=0.7).flags
    assert any("numeric fault" in note for note in simspec.convert("vllm-v1", mean_acceptance_length=4, kappa=3).notes)


def test_u44_a_gate_on_the_rate_depends_on_kappa():
    """NVIDIA/TensorRT-LLM PR 12905: off when accepted ÷ drafted falls below a threshold."""
    rates = [simspec.convert("iid", alpha=0.7, gamma=k)["draft_acceptance_rate"] for k in (1, 2, 4, 8)]
    assert rates == pytest.approx([0.70, 0.595, 0.443, 0.275], abs=1e-3)
    best = simspec.exact(simspec.Iid(alpha=0.7), simspec.Cost(c_d=0.1))
    assert best.kappa_star == 4
    close(best.optimum.best_speedup, 1.98)  # at a rate of .44, which a gate at .5 switches off
    cost = [1.0 + 0.1 * k for k in (1, 2, 4, 8)]
    own = [
        simspec.explain(rate=r, kappa=k, base_tpot_ms=1.0, spec_round_ms=c)
        for r, k, c in zip(rates, (1, 2, 4, 8), cost, strict=True)
    ]
    assert [told.break_even_rate for told in own] == pytest.approx([0.1] * 4)  # (R − 1) ÷ κ, here the cost of a draft


def test_u44_a_gate_trips_by_chance():
    """At α = .7 and κ = 4 (rate .443) a gate at .3 over 20 rounds: brute force for one window, growing with the run."""
    own = simspec.gate_trips({"alpha": 0.7, "kappa": 4}, threshold=0.3, window=20, rounds=1000)
    pmf = np.array([0.3, 0.21, 0.147, 0.1029, 0.2401])
    drawn = np.random.default_rng(1).choice(5, size=(400_000, 20), p=pmf).sum(axis=1)
    below = float((drawn < 24).mean())
    assert own.one_window == pytest.approx(below, abs=6 * (below / 400_000) ** 0.5)  # 6 sd: 2e-9
    assert own.ever > 0.5  # a window that fails in one of 25: sooner or later
    assert simspec.gate_trips({"alpha": 0.7, "kappa": 4}, threshold=0.3, window=200, rounds=1000).ever < 0.01
    assert simspec.gate_trips({"alpha": 0.7, "kappa": 4}, threshold=0.3, window=20, rounds=20).ever_interval[0] <= below
    assert own.ever_interval[0] < own.ever < own.ever_interval[1]


def test_u47_the_rate_of_a_long_draft_is_not_alpha():
    """ggml-org/llama.cpp PR 10455: max 16, drafted 912, accepted 313, predicted 371; 11 → 10.78 tok/s; draft 10.3."""
    own = simspec.convert("llamacpp", n_predict=371, n_drafted=912, n_accept=313)
    assert own["drafts"] == 58
    close(own["mean_emitted_per_round"], 6.40)
    close(own["draft_acceptance_rate"], 0.34, 0.01)
    told = simspec.explain(
        emitted=own["mean_emitted_per_round"], kappa=16, base_tok_s=11, spec_tok_s=10.78, streams=1, draft_ms=10.3
    )
    close(told.acceptance.alpha, 0.854, 2e-3)
    close(told.round_cost.value, 6.53)
    assert "slower" in told.verdict
    drafting, rest = told.parts[1:]
    assert rest.name == "verify width and fixed overhead together"
    assert rest.steps > 1.9 * drafting.steps > 3  # wide verification is to blame, not the draft
    assert told.ceiling > 2.5


def test_u50_speed_is_not_monotone_in_e():
    """lightseekorg/tokenspeed PR 795: E and speed-up at concurrency 16 by task."""
    tasks = {
        "coding": (2.82, 1.40, 2.02),
        "rag": (2.95, 1.80, 1.64),
        "summary": (2.85, 1.91, 1.49),
        "roles": (2.26, 1.36, 1.66),
    }
    for emitted, speedup, expected in tasks.values():
        assert cost(emitted=emitted, base_tok_s=1.0, spec_tok_s=speedup) == pytest.approx(expected, abs=0.01)
    by_e, by_speed = (sorted(tasks, key=lambda name: tasks[name][i]) for i in (0, 1))
    assert by_e != by_speed
    runs = ({"n_predict": 64, "n_accept": 51, "n_drafted": 171}, {"n_predict": 64, "n_accept": 31, "n_drafted": 33})
    long, short = (simspec.convert("llamacpp", **run) for run in runs)
    assert long["draft_acceptance_rate"] < short["draft_acceptance_rate"] / 3
    assert long["mean_emitted_per_round"] > 2.5 * short["mean_emitted_per_round"]


def test_u52_drafts_that_stop_early():
    """ggml-org/llama.cpp PRs 2926 and 3006: n_draft 8, 129 tokens, drafted 132, accepted 47; .44 → .52 tok/s."""
    own = simspec.convert("llamacpp", n_predict=129, n_drafted=132, n_accept=47, n_max=8)
    assert own["drafts"] == 82
    close(own["mean_emitted_per_round"], 1.57)
    close(own["mean_drafted_per_round"], 1.61)
    assert isinstance(own["iid_alpha_mle_from_mean"], Unknown)  # drafts have no one length
    close(cost(emitted=own["mean_emitted_per_round"], base_tok_s=0.44, spec_tok_s=0.52), 1.33)
    close(simspec.explain(base_tok_s=20.1, spec_tok_s=22.2).speedup.value, 1.10)


def test_u53_a_rate_says_nothing_where_nothing_is_drafted():
    """ggml-org/llama.cpp PR 3624: predicted 101, drafted 19, accepted 18 (94.7%)."""
    own = simspec.convert("llamacpp", n_predict=101, n_drafted=19, n_accept=18, accept="94.7%")
    close(own["mean_emitted_per_round"], 1.217, 1e-3)
    close(own["mean_drafted_per_round"], 0.23, 0.01)
    assert any("the rate says nothing" in note for note in own.notes)


def test_u55_the_third_position_costs_and_brings_nothing():
    """ggml-org/llama.cpp PR 24508: 26.7 tok/s plain; n 3: 23.5 at 34%; n 2: 29.6 at 54%; p_min .6: 30.5."""
    three = simspec.explain(rate=0.34, kappa=3, base_tok_s=26.7, spec_tok_s=23.5)
    two = simspec.explain(rate=0.54, kappa=2, base_tok_s=26.7, spec_tok_s=29.6)
    close(three.emitted, 2.02)
    close(two.emitted, 2.08)
    assert three.emitted < two.emitted
    close(three.round_cost.value - two.round_cost.value, 0.42, 0.02)
    assert "slower" in three.verdict
    assert "faster" in two.verdict
    close(simspec.explain(base_tok_s=29.6, spec_tok_s=30.5).speedup.value, 1.03)


def test_u56_a_hidden_draft_at_n_0():
    """LostRuins/koboldcpp issue 2262: 36 tok/s plain; n 1, 2, 3, 4, 8; and 44.4 tok/s at "n = 0"."""
    rows = {
        1: (47.8, 0.47, 1.11),
        2: (45.5, 0.30, 1.27),
        3: (44.4, 0.23, 1.37),
        4: (41.9, 0.20, 1.55),
        8: (30.9, 0.11, 2.19),
    }
    told = {k: simspec.explain(rate=r, kappa=k, base_tok_s=36, spec_tok_s=s) for k, (s, r, _) in rows.items()}
    for kappa, own in told.items():
        assert own.round_cost.value == pytest.approx(rows[kappa][2], abs=0.01)
    assert max(told, key=lambda kappa: told[kappa].speedup.value) == 1
    close(told[1].speedup.value, 1.33)
    assert "slower" in told[8].verdict
    hidden = simspec.explain(kappa=0, base_tok_s=36, spec_tok_s=44.4)
    close(hidden.round_cost.value, 0.811)
    assert "ROUND_CHEAPER_THAN_STEP" in hidden.flags  # a loop that drafts nothing cannot be faster
    assert "which no round can" in hidden.verdict


def test_u59_verification_as_dear_as_its_width():
    """lablup/mlxcel issue 736: 69 ms plain; κ = 2: blocks of 140 ms, .77x; κ = 4: 270 ms, .52x."""
    for kappa, block, speedup, expected, emitted in ((2, 140, 0.77, 2.03, 1.56), (4, 270, 0.52, 3.91, 2.03)):
        own = simspec.explain(emitted=emitted, kappa=kappa, base_tpot_ms=69, spec_round_ms=block)
        close(own.round_cost.value, expected)
        close(own.speedup.value, speedup, 0.01)
        assert "slower" in own.verdict
        assert own.break_even_alpha > own.acceptance.alpha
    costs = [cost(emitted=e, kappa=k, base_tpot_ms=69, spec_round_ms=b) for e, k, b in ((1.56, 2, 140), (2.03, 4, 270))]
    close((costs[1] - costs[0]) / 2, 0.94)  # almost a plain step per token verified: linear, not √κ


def test_u62_eighty_five_percent_of_what(capsys):
    """raullenchai/Rapid-MLX issue 2175: 85.2% at κ = 3, 1.05x."""
    own = simspec.explain(rate=0.852, kappa=3, base_tok_s=1.0, spec_tok_s=1.05)
    close(own.round_cost.value, 3.39)
    said = own.flags["RATE_NEEDS_A_BASE"]
    for part in (
        "per drafted token: E = 3.56, R = 3.39",
        "per examined token (α): E = 3.20, R = 3.04",
        "per attempt (rounds with one accepted): E = 1.85 to 3.56, R = 1.76 to 3.39",
        "which is it?",
    ):
        assert part in said
    text = on_screen(capsys, "explain", "--rate", ".852", "--kappa", "3", "--base-speed", "100", "--spec-speed", "105")
    assert "which is it?" in text


def test_u64_a_probe_lasts_longer_than_a_round():
    """bstnxbt/dflash-mlx issue 32: block 8: E 3.73 at 13.7 tok/s; block 4: 2.80 at 25.1; 28 of 274 cycles probe."""
    probe = simspec.explain(emitted=3.73, base_tok_s=25.1, spec_tok_s=13.7, streams=1)
    usual = simspec.explain(emitted=2.80, base_tok_s=25.1, spec_tok_s=25.1, streams=1)
    close(probe.round_ms, 272)
    close(usual.round_ms, 112, 0.01)
    tokens = 28 * 3.73 + 246 * 2.80
    seconds = (28 * probe.round_ms + 246 * usual.round_ms) / 1000
    own = simspec.explain(base_tok_s=tokens / seconds, spec_tok_s=25.1)
    close(own.speedup.value, 1.113)  # if a probe costs a round of block 8; 6.2% was measured


def test_u65_compare_by_e_not_by_rate():
    """MiaAI-Lab GLM issue 73: accepted ÷ drafted .32 at 2.9 drafts per round, 1.9 to 2.1 tokens per step."""
    own = simspec.convert("plain", draft_acceptance_rate=0.32, mean_drafted_per_round=2.9)
    close(own["mean_emitted_per_round"], 1.928, 1e-3)
    full = simspec.convert("plain", draft_acceptance_rate=0.16, kappa=7)
    assert full["mean_emitted_per_round"] > own["mean_emitted_per_round"]  # at half the rate
    close(simspec.explain(base_tok_s=25, spec_tok_s=12.6).speedup.value, 0.504)


def test_u67_a_power_cap_makes_the_round_dearer():
    """theroyallab/tabbyAPI issue 166: 300 W: 18.05 → 29.66; 150 W: 11.65 → 11.34."""
    free, capped = (
        simspec.explain(base_tok_s=base, spec_tok_s=spec).to_dict()["round_cost_over_emitted"]
        for base, spec in ((18.05, 29.66), (11.65, 11.34))
    )
    close(capped / free, 1.69, 2e-3)
    said = refused(simspec.explain, base_tok_s=18.05, spec_tok_s=11.34, base_setup="300 W", spec_setup="150 W")
    assert "300 W" in said
    assert "150 W" in said


@pytest.mark.parametrize(
    ("base", "spec", "ratio", "word"), [(103.3, 104.5, 1.01, "faster"), (14.55, 13.41, 0.92, "slower")]
)
def test_u68_without_counts_only_the_ratio(base, spec, ratio, word, capsys):
    """meta-pytorch/gpt-fast issue 198."""
    own = simspec.explain(base_tok_s=base, spec_tok_s=spec)
    close(own.speedup.value, ratio)
    assert own.to_dict()["reasons"]["emitted"] == "not given"
    text = on_screen(capsys, "explain", "--base-speed", str(base), "--spec-speed", str(spec))
    assert word in text.splitlines()[0]
    assert "gpt-fast: 'Mean Accepted' + 1" in text


def test_u70_a_draft_seven_times_faster_is_not_340_percent():
    """lmstudio-ai/lmstudio-bug-tracker issue 458: 40% accepted, draft 7 times faster."""
    best = simspec.exact(simspec.Iid(alpha=0.4), simspec.Cost(c_d=1 / 7))
    assert best.kappa_star == 1
    close(best.optimum.best_speedup, 1.22)
    own = simspec.explain(alpha=0.4, kappa=1, base_tpot_ms=7.0, spec_round_ms=8.0, draft_ms=1.0)
    close(own.speedup.value, 1.225)
    assert own.ceiling < 1.76  # far from 3.4, with every draft accepted


def test_u71_no_chain_is_that_long():
    """SafeAILab/EAGLE issue 169: rate .65, length 3.25."""
    said = refused(simspec.convert, "plain", alpha=0.65, mean_emitted_per_round=3.25)
    assert "above 1 ÷ (1 − α) = 2.857" in said
    assert "a tree, or the rate is another one" in said
    said = refused(simspec.convert, "vllm-v1", mean_acceptance_length=5.2, kappa=4)
    assert "above κ + 1 = 5" in said
    assert simspec.convert("vllm-v1", mean_acceptance_length=4.6, kappa=4)["mean_accepted_per_round"] > 3.5  # above κ


def test_u77_acceptance_is_not_it():
    """ikawrakow/ik_llama.cpp issue 1807: n-gram and MTP drafts 61.1 tok/s, MTP alone 71.3."""
    mtp = simspec.convert("vllm-v1", drafts=1180, drafted=3540, accepted=2915)
    both = simspec.convert("plain", drafts=1195, accepted_tokens=2915 + 92)
    close(mtp["mean_emitted_per_round"], 3.47)
    close(both["mean_emitted_per_round"], 3.51)
    slow = simspec.explain(emitted=both["mean_emitted_per_round"], base_tok_s=71.3, spec_tok_s=61.1, streams=1)
    fast = simspec.explain(emitted=mtp["mean_emitted_per_round"], base_tok_s=71.3, spec_tok_s=71.3, streams=1)
    close(slow.round_ms, 57.6)
    more = 1195 * (slow.round_ms - fast.round_ms) / 1000
    close(more, 10.6)
    close(more / 15, 0.7, 0.03)  # seconds for each of the 15 wide rounds, if they were to blame


def test_u79_the_loop_itself():
    """panbanda/higgs PR 161: 35 rounds, 29 accepted, 28.2 → 36.4; ml-explore/mlx-lm issue 250: 130 → 200 ms, κ = 0."""
    own = simspec.convert("plain", drafts=35, accepted_tokens=29)
    close(own["mean_emitted_per_round"], 1.83)
    close(cost(emitted=own["mean_emitted_per_round"], base_tok_s=28.2, spec_tok_s=36.4), 1.42)
    loop = simspec.explain(kappa=0, base_tpot_ms=130, spec_round_ms=200)
    close(loop.round_cost.value, 1.54)
    (acceptance, fixed) = loop.parts
    assert (acceptance.per_token, fixed.name, fixed.share) == (0.0, "fixed overhead", 1.0)


def test_u80_acceptance_is_not_the_lever():
    """intel/llm-scaler issue 657: E 4.8 of 5 at 1K and 50K; 2.3x → 1.1 to 1.26x."""
    short = simspec.explain(emitted=4.8, kappa=4, base_tok_s=1.0, spec_tok_s=2.3)
    close(short.round_cost.value, 2.1, 0.01)
    for speedup, expected in ((1.26, 3.8), (1.1, 4.4)):
        long = simspec.explain(emitted=4.8, kappa=4, base_tok_s=1.0, spec_tok_s=speedup)
        close(long.round_cost.value, expected, 0.01)
        acceptance, rounds = long.parts
        assert acceptance.share < 0.02 < 0.98 < rounds.share
        assert long.ceiling < 1.05 * speedup


def test_u83_folk_rules():
    """Four pages with rules: 1/(1 − α); a draft four times smaller; above 70%; below .5 is slower."""
    half = simspec.exact(simspec.Iid(alpha=0.5), simspec.Cost(c_d=0.1))
    assert half.kappa_star == 2
    close(half.optimum.best_speedup, 1.46)  # not 1/(1 − α) = 2
    assert half.to_dict()["break_even_alpha"] == 0.1  # α above c
    own = simspec.explain(alpha=0.4, kappa=1, base_tpot_ms=1.0, spec_round_ms=1.14)
    close(own.speedup.value, 1.228)
    close(own.break_even_alpha, 0.14)
    assert "faster" in own.verdict  # below .5


def test_t2_a_rejected_window_is_a_rejected_first_draft():
    """P(no draft accepted) = 1 − α, not (1 − α)^κ."""
    own = simspec.convert("iid", alpha=0.7, gamma=4)
    close(own["p_zero_accepted"], 0.30, 1e-9)
    assert own["p_zero_accepted"] > 30 * (1 - 0.7) ** 4


def test_t3_longer_is_not_always_better():
    """R = 1 + κb, b = .1: a maximum, then towards 0; 1/(α + b) falls as α rises."""
    for alpha, kappa, speedup in ((0.6, 3, 1.67), (0.85, 7, 2.85)):
        best = simspec.exact(simspec.Iid(alpha=alpha), simspec.Cost(c_d=0.1), kappa_max=200)
        assert best.kappa_star == kappa
        close(best.optimum.best_speedup, speedup)
        assert best.optimum.speedup_by_kappa[200] < 0.35
    assert 1 / (0.6 + 0.1) > 1.4 > 1.06 > 1 / (0.85 + 0.1)


def test_t6_the_count_stops_at_the_first_rejection():
    """Variance of the accepted length at α = .7, κ = 4: not κα(1 − α)."""
    own = simspec.convert("iid", alpha=0.7, gamma=4)
    close(own["mean_accepted_per_round"], 1.7731, 1e-4)
    close(own["var_accepted"], 2.4218, 1e-4)
    assert own["var_accepted"] > 2.8 * (4 * 0.7 * 0.3)
