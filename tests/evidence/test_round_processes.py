"""Which process to use is computed and said; what κ did, what cannot be told, and what to paste."""

import json
import tomllib

import numpy as np
import pytest
from rounds_played import beta_requests, curve, fixed, heuristic, hmm, iid, two_kinds, without_order
from scipy.stats import chi2
from writers import SMALL, lines, vllm_v0

import simspec
from simspec.cli.main import main
from simspec.evidence.observed import Observed
from simspec.evidence.rounds.kappa_rule import CODE, _dependence, kappa_rule
from simspec.evidence.rounds.process_toml import toml_of
from simspec.evidence.rounds.processes import NO_GROUPS, NO_ORDER, SAME_LAW, fit_processes, tokens_at
from simspec.model.process import Processes
from simspec.model.scenario import Scenario
from simspec.theory import window

QUICK = ("i.i.d.", "geometric tail", "position", "Markov", "Beta by request", "2 classes of requests")


def table_of(observed, file):
    rows = zip(observed.group, observed.drafted, observed.accepted, strict=True)
    file.write_text("request,kappa,accepted\n" + "".join(f"r{g},{k},{a}\n" for g, k, a in rows))
    return str(file)


def test_the_process_that_made_the_rounds_is_named():
    found = fit_processes(curve(1, [0.75, 0.5], 30, 100, fixed(4)), QUICK)
    assert found.best.name == "geometric tail"
    assert found.adequate
    assert found.says.startswith('Use "geometric tail" (E = ')
    assert set(found.kappas) == {2, 4, 8}


def test_where_the_named_process_ends_another_is_named():
    found = fit_processes(without_order(curve(1, [0.8, 0.5, 0.8], 1, 4000, fixed(3))))
    assert found.best.name == "position"
    assert "says nothing beyond κ = 3; of the others" in found.says
    assert tokens_at(found.best, 4)[0] != tokens_at(found.best, 4)[0]


def test_where_none_is_adequate_it_is_said():
    observed = curve(1, [0.6, 0.8, 0.5, 0.9], 60, 60, fixed(4))
    found = fit_processes(observed, ["i.i.d.", "geometric tail"])
    assert not found.adequate
    assert found.says.startswith("No process is adequate")
    assert "position profile" in found.says


def test_a_rule_for_kappa_is_seen_and_a_schedule_is_not():
    """Rounds of one rate: only who chose κ differs.  False alarm 8e-7; the rule lies 30 errors away."""
    schedule = np.random.default_rng(1).integers(2, 9, 4000).tolist()
    assert not kappa_rule(iid(1, 0.6, 20, 100, lambda before, full: schedule.pop())).follows
    rule = kappa_rule(iid(1, 0.6, 20, 100, heuristic))
    assert rule.follows
    assert rule.errors > 10
    assert rule.after_full == pytest.approx(2.0)
    assert kappa_rule(iid(1, 0.6, 20, 100, fixed(4))) is None


@pytest.mark.parametrize(("groups", "rounds"), [(100, 4), (60, 8), (10, 60)])
def test_errors_of_a_rule_that_is_none_are_standard_errors(groups, rounds):
    """150 logs of random κ, requests of any rate: Σ z² within the law χ²(150) at 1e-6, by either side.

    Without the freedom that a stratum's mean takes, z has spread 1.4 in short requests, and Σ z² lies outside.
    """
    rng = np.random.default_rng(3)
    squares = 0.0
    for seed in range(150):
        schedule = rng.integers(1, 9, groups * rounds).tolist()
        observed = beta_requests(seed, 3, 2, groups, rounds, lambda before, full, left=schedule: left.pop())
        squares += _dependence(observed, observed.accepted == observed.drafted, 1)[0] ** 2
    assert squares < chi2.isf(5e-7, 150)
    assert rounds < 10 or squares > chi2.ppf(5e-7, 150)  # short requests: in many logs hardly two rounds are alike


def test_a_rule_that_looks_two_rounds_back_is_seen():
    def rule(before, full, seen=[]):  # noqa: B006 - what the rule remembers
        if before is None:
            seen.clear()
            return 5
        seen.append(full)
        return min(8, before + 1) if len(seen) > 1 and seen[-2] else max(1, before - 1)

    found = kappa_rule(iid(1, 0.6, 20, 60, rule))
    assert found.follows
    assert found.lag == 2
    assert "2 rounds before" in found.says


def test_drafts_cut_at_the_end_of_a_request_are_no_rule():
    """A full round leaves fewer tokens, so that the next draft is cut: 500 requests of 64 tokens."""
    rng, long, far = np.random.default_rng(1), [], []
    for _ in range(500):
        left, own = 64, []
        while left > 0:
            kappa = min(4, max(1, left - 1))
            own.append((kappa, min(int(rng.geometric(0.25)) - 1, kappa)))
            left -= own[-1][1] + 1
        long.append([kappa for kappa, _ in own])
        far.append([a for _, a in own])
    assert not kappa_rule(Observed.in_order(long, far)).follows


def test_requests_of_different_kappa_are_no_rule():
    """κ differs between requests, and so does acceptance: nothing moved with what was accepted."""
    low, high = iid(1, 0.4, 10, 100, fixed(3)), iid(2, 0.8, 10, 100, fixed(6))
    both = Observed.in_order(
        [own.drafted[own.group == g].tolist() for own in (low, high) for g in range(10)],
        [own.accepted[own.group == g].tolist() for own in (low, high) for g in range(10)],
    )
    assert not kappa_rule(both).follows


def test_how_much_deep_rates_are_inflated_is_said():
    found = fit_processes(two_kinds(4, 0.9, 0.5, 0.5, 60, 120, heuristic), QUICK, check=False)
    deep = found.to_dict()["kappa_follows_acceptance"]["inflation"]
    assert deep["rate_where_examined"] > deep["rate_at_fixed_kappa"] + 0.02
    assert deep["draft"] < 6  # of the deepest drafts only the good requests are left at a fixed κ too
    assert found.rule_says.startswith(CODE)
    assert found.to_dict()["warn"] == [CODE]


def test_what_rounds_cannot_tell_is_said():
    pooled = fit_processes(without_order(iid(1, 0.6, 1, 400, fixed(3))), check=False)
    assert {NO_ORDER, NO_GROUPS, SAME_LAW} <= set(pooled.cannot_tell)
    assert pooled.left_out["Markov"] == "the order of rounds is not in the source"
    ordered = fit_processes(iid(1, 0.6, 20, 40, fixed(3)), ["i.i.d."], check=False)
    assert not {NO_ORDER, NO_GROUPS} & set(ordered.cannot_tell)


def test_every_process_can_be_pasted_into_a_scenario():
    found = fit_processes(hmm(1, (0.9, 0.4), (0.95, 0.95), 20, 80, fixed(4)), check=False)
    assert len(found.fits) == 9
    for fit in found.fits:
        pasted = Scenario.from_dict({"name": "pasted", **tomllib.loads(toml_of(fit.process)), "kappa": [2, 4]})
        process = Processes.make(**pasted.process[0])
        assert window(process, 4).mean_tokens == pytest.approx(window(fit.process, 4).mean_tokens, abs=1e-5)


def test_the_command_says_which_process_and_json_holds_all(tmp_path, capsys):
    file = table_of(curve(1, [0.75, 0.5], 12, 60, fixed(4)), tmp_path / "rounds.csv")
    assert main(["fit", file]) == 0
    text = capsys.readouterr().out
    assert 'Use "geometric tail" (E = ' in text
    assert "cannot be told from these rounds" in text
    assert '[process]\n    type = "position"' in text
    assert main(["fit", file, "--json"]) == 0
    own = json.loads(capsys.readouterr().out)
    assert own["processes"]["use"] == "geometric tail"
    assert own["processes"]["adequate"] is True
    assert {"name", "estimates", "delta_bic", "adequacy", "toml"} <= set(own["processes"]["fits"][0])
    bare = {key for key in own if key != "processes"}
    assert main(["fit", file, "--json", "--counts-only"]) == 0
    assert set(json.loads(capsys.readouterr().out)) == bare


def test_a_source_without_rounds_has_no_process_and_a_reason(tmp_path, capsys):
    file = tmp_path / "means.txt"
    file.write_text(lines(vllm_v0(SMALL)))
    assert main(["fit", str(file), "--json"]) == 0
    own = json.loads(capsys.readouterr().out)
    assert own["processes"] is None
    assert own["reasons"]["processes"]
    assert main(["fit", str(file)]) == 0
    assert "none is fitted" in capsys.readouterr().out
    with pytest.raises(simspec.ParameterError, match="no process can be fitted"):
        fit_processes(simspec.fit(file)[0])


def test_a_handful_of_rounds_gives_no_process(tmp_path, capsys):
    file = tmp_path / "few.csv"
    file.write_text("accepted,kappa\n" + "1,1\n" * 29)
    assert main(["fit", str(file), "--json"]) == 0
    own = json.loads(capsys.readouterr().out)
    assert own["reasons"]["processes"] == "29 rounds are too few to fit a process; it takes 30"
    with pytest.raises(simspec.ParameterError, match="too few"):
        simspec.fit_processes(simspec.fit(file)[0])
    with pytest.raises(simspec.ParameterError, match="seed = -1 is out of range"):
        simspec.fit_processes(iid(1, 0.6, 4, 40, fixed(3)), seed=-1)


def test_fits_do_not_depend_on_the_order_of_requests():
    observed = hmm(1, (0.9, 0.4), (0.95, 0.95), 10, 60, fixed(4))
    turned = observed.take(np.arange(10)[::-1])
    for one, other in zip(
        fit_processes(observed, check=False).fits, fit_processes(turned, check=False).fits, strict=True
    ):
        assert one.log_likelihood == pytest.approx(other.log_likelihood, abs=1e-3)
