"""What users of engines asked of two runs, or of a strange one, answered by `simspec.ab`: the number and the sentence.

Figures are the reporters' own; the source stands in each docstring.  Ids are those of the list of reports.
"""

import pytest

import simspec
from simspec.cli.main import main
from simspec.evidence.observed import Observed


def codes(found, which="a"):
    return [fault.code for fault in found.faults[which]]


@pytest.mark.parametrize(
    ("figures", "bound"),
    [("k=3 drafted=483 tokens=161", "below 0.0184"), ("k=16 drafted=42272 tokens=2642", "below 0.0011")],
)
def test_u04_e_of_exactly_1_is_a_broken_draft(figures, bound, capsys):
    """vllm-project/vllm issues 8620 and 6768: Medusa drafts of which none was accepted."""
    assert main(["ab", figures]) == 1
    told = " ".join(capsys.readouterr().out.split())
    assert told.startswith("A looks broken rather than weak (below).")
    assert f"E is exactly 1: α of the first draft is {bound} (95%, each round for itself): a broken draft" in told
    assert "κ = 0 is best" in told


def test_no_draft_accepted_in_894_rounds_is_not_bad_luck():
    """α below .0033 at 95%; a draft with α = .3 does this once in 10^138, one of α = .01 once in 8,000."""
    found = simspec.ab("kappa=3 rounds=894 accepted=0", "kappa=3 rounds=900 survival=.3,.12,.05")
    fault = found.faults["a"][0]
    assert (fault.code, fault.broken) == ("NO_DRAFT_ACCEPTED", True)
    assert "below 0.0033" in fault.says
    assert fault.chance == pytest.approx(0.7**894)
    assert found.row("S_1").real
    few = simspec.ab("kappa=3 rounds=8 accepted=0").faults["a"][0]
    assert not few.broken
    assert "too few rounds" in few.says


def test_u22_a_drop_of_a_tenth_is_real_and_less_is_not():
    """vllm-project/vllm issue 26191: κ = 7, 4,816 drafts, 12,208 accepted; did it regress?"""
    before = "kappa=7 drafts=4816 accepted=12208"
    alone = simspec.ab(before)
    assert alone.a.emitted == pytest.approx(3.535, abs=1e-3)
    assert alone.a.error == pytest.approx(0.034, abs=5e-4)
    assert alone.power.significant == pytest.approx(0.095, abs=1e-3)
    assert "standard deviation 2.39" in " ".join(repr(alone).split())
    assert simspec.ab(before, "kappa=7 drafts=4816 emitted=3.43").differs
    same = simspec.ab(before, "kappa=7 drafts=4816 emitted=3.48")
    assert not same.differs
    assert "found with probability 0.9" in " ".join(repr(same).split())
    assert same.effects[4.0] > same.effects[2.0] > same.row("E").change.p_value


def test_u23_another_runner_is_tested_in_pairs_with_intervals_by_position():
    """vllm-project/vllm issue 40551: the new runner reads E = 2.3; runner or noise?

    The prompts are the same; requests differ by much more than the runner takes off, and only pairs can see it.
    """
    import numpy as np

    rng = np.random.default_rng(23)
    names = tuple(f"prompt {i}" for i in range(80))
    rates = rng.beta(4, 3, size=80)

    def rounds(less):
        far = [np.minimum(rng.geometric(1 - rate + less, size=50) - 1, 6).tolist() for rate in rates]
        own = Observed.in_order([[6] * 50] * 80, far)
        return Observed(own.drafted, own.accepted, own.count, own.offsets, own.unit, own.ordered, names=names)

    old, new = rounds(0.0), rounds(0.02)
    found = simspec.ab(old, new)
    assert (found.pairs, found.unit) == (80, "request")
    assert found.row("E").real
    assert [row.quantity for row in found.rows if row.family == "S"] == [f"S_{j}" for j in range(1, 7)]
    assert all(row.change.low < row.change.difference < row.change.high for row in found.rows)
    unnamed = [Observed(o.drafted, o.accepted, o.count, o.offsets, o.unit, o.ordered) for o in (old, new)]
    assert not simspec.ab(*unnamed).differs


def test_u25_two_windows_of_other_content_are_not_to_be_merged():
    """eugr/spark-vllm-docker issue 343: κ = 4 reads .844 .599 .385 .271, κ = 2 reads .766 .545.

    The report gives no number of rounds; with 500 each the first positions differ, though no draft was changed.
    """
    found = simspec.ab("rounds=500 survival=.844,.599,.385,.271", "rounds=500 survival=.766,.545")
    assert found.kappa == 2
    assert found.differs
    first = found.row("S_1")
    assert first.real
    assert first.change.difference == pytest.approx(-0.078)
    assert any("run the same κ to judge a draft" in note for note in found.notes)
    assert not simspec.ab("rounds=60 survival=.844,.599", "rounds=60 survival=.766,.545").differs


def test_u26_23_rounds_say_little():
    """vllm-project/vllm-ascend issue 13640: κ = 7, 44 of 161, .739 .478 .261 .174 .130 .087 .043: too low?"""
    figures = "rounds=23 survival=.739,.478,.261,.174,.130,.087,.043"
    found = simspec.ab(figures)
    assert found.faults["a"] == ()
    assert found.a.emitted == pytest.approx(1 + 44 / 23)
    assert found.power.significant > 0.9  # of 2.9
    against = simspec.ab(figures, "rounds=1000 survival=.80,.6,.4,.3,.2,.15,.1")
    assert not against.differs
    assert against.row("S_1").change.low < -0.05 < 0.2 < against.row("S_1").change.high


def test_u31_all_or_nothing_is_told_though_the_mean_hides_it():
    """vllm-project/vllm PR 48915: histogram 39, 1, 0, 3 of 43 steps, E 1.23."""
    found = simspec.ab("histogram=39,1,0,3")
    assert found.a.emitted == pytest.approx(1.2326, abs=1e-4)
    assert codes(found) == ["ALL_OR_NOTHING"]
    says = found.faults["a"][0].says
    assert "39 rounds accept no draft, 3 all of them, 1 some" in says
    assert "0.093 for the first draft" in says
    assert not found.broken


def test_u76_a_curve_that_rises_with_depth_is_no_survival():
    """ggml-org/llama.cpp PR 25682: replayed drafts were counted as accepted."""
    found = simspec.ab("rounds=500 survival=.70,.55,.80,.85")
    assert codes(found) == ["SURVIVAL_RISES"]
    assert found.broken
    assert "S_3 = 0.8 above S_2 = 0.55" in " ".join(repr(found).split())
    assert "replayed" in " ".join(repr(found).split())
    flat = simspec.ab("rounds=500 survival=.60,.50,.50,.50")
    assert codes(flat)[0] == "REPLAYED_DRAFTS"
    assert "accepted every time they were examined" in " ".join(repr(flat).split())


def test_u20_the_first_position_moves_with_kappa_by_itself():
    """vllm-project/vllm PR 48892: κ = 1 accepts 22,021 of 26,407; κ = 8 reads .762 at its first position."""
    found = simspec.ab(
        "kappa=1 rounds=26407 accepted=22021",
        "kappa=8 rounds=11043 survival=.762,.616,.513,.424,.364,.309,.272,.237",
    )
    assert found.row("S_1").change.difference == pytest.approx(-0.0719, abs=1e-4)
    assert found.apart
    assert not found.differs
    assert repr(found).startswith("No difference beyond what different κ do by themselves")
    assert "ALPHA_RISES_WITH_DEPTH" in codes(found, "b")
    assert any("S_1 falls as κ grows with no change of the draft" in note for note in found.notes)


def test_u43_every_draft_accepted_in_every_round_is_a_fault():
    """NVIDIA/TensorRT-LLM PR 5146: NaN made E = 1 or E = κ + 1."""
    found = simspec.ab("kappa=3 rounds=200 emitted=4")
    assert codes(found) == ["EVERY_DRAFT_ACCEPTED"]
    assert found.broken
    assert "E is exactly κ + 1" in " ".join(repr(found).split())


def test_zeros_after_the_first_position_are_a_broken_drafter():
    """A vLLM line of a public report: accepted 49 of 2,160 drafted, .340 and then fourteen zeros."""
    figures = "drafted=2160 kappa=15 survival=.340" + ",0" * 14
    found = simspec.ab(figures)
    assert found.a.rounds == 144
    fault = found.faults["a"][0]
    assert (fault.code, fault.broken) == ("ZEROS_AFTER_A_POSITION", True)
    assert fault.chance == pytest.approx((95 / 144) ** 49)
    assert "κ = 1 loses nothing" in fault.says


def test_one_broken_position_and_a_round_below_one_step():
    found = simspec.ab("rounds=1000 survival=.7,.49,.03,.021,.015 speed=200 base=60")
    assert codes(found) == ["BROKEN_POSITION", "ROUND_COST_BELOW_ONE"]
    assert "draft 3 alone is weak" in " ".join(repr(found).split())
    assert "R = E·base/speed = 0.68" in " ".join(repr(found).split())
