"""simspec costs on the command line: answer first, JSON alone, files that come back, errors of one line."""

import argparse
import json
import re

import pytest

from simspec import ParameterError, Scenario
from simspec.cli.cost_options import add_costs, costs_from
from simspec.cli.main import main, parser

SWEEP = ["--kappa", "2,3,4,5,6,7", "--emitted", "2.1,2.29,2.39,2.43,2.45,2.47",
         "--tpot", "4.37,4.29,4.48,4.71,4.94,5.20"]  # fmt: skip
BASE = ["--base-tpot", "7.07"]
"""vllm-project/vllm issue 20780, EAGLE-1."""


SPECULATIVE = """
encoded   12 tokens in    0.514 seconds, speed:   23.346 t/s
decoded  371 tokens in   34.412 seconds, speed:   10.781 t/s

n_draft   = 16
n_predict = 371
n_drafted = 912
n_accept  = 313
accept    = 34.320%

draft:

llama_perf_context_print:        eval time =    8806.60 ms /   855 runs   (   10.30 ms per token,    97.09 tokens per second)

target:

llama_perf_context_print:        eval time =      90.91 ms /     1 runs   (   90.91 ms per token,    11.00 tokens per second)
"""  # noqa: E501
"""ggml-org/llama.cpp pull 10455."""


@pytest.fixture
def say(capsys):
    def run(*words):
        code = main(["costs", *words])
        out, err = capsys.readouterr()
        return code, out, err

    return run


def test_the_answer_comes_first(say):
    code, out, err = say(*SWEEP, *BASE)
    first = out.splitlines()[0]
    assert (code, err) == (0, "")
    assert first.startswith("a round of κ drafts costs R(κ) = 1.0871 (± 0.0097) + 0.1047 (± 0.0022)·κ plain steps")
    assert "within 0.8% of every measured round" in " ".join(out.split())
    assert "plain decoding takes 7.07 ms per token" in out
    assert re.search(r"^3 +1\.4012 .* measured$", out, re.M)
    assert re.search(r"^8 +1\.9247 .* extrapolated$", out, re.M)
    assert "do not tell drafting from wider verification" in out


def test_json_goes_in_again_as_costs(say, tmp_path):
    code, out, _ = say(*SWEEP, *BASE, "--json")
    own = json.loads(out)
    assert code == 0
    assert own["cells"][0]["round_cost"][2] == {
        "kappa": 3, "R": pytest.approx(1.40119, abs=1e-5), "error": pytest.approx(0.0093, abs=1e-4),
        "extrapolated": False,
    }  # fmt: skip
    file = tmp_path / "costs.json"
    file.write_text(out)
    assert options("--costs", str(file)).at().at(3) == own["cells"][0]["round_cost"][2]["R"]


def test_toml_goes_into_a_scenario(say, tmp_path):
    code, out, _ = say(*SWEEP, *BASE, "--toml")
    assert code == 0
    file = tmp_path / "scenario.toml"
    file.write_text(f'kappa = [1, 2, 3]\nwindows = 1000\nseed = 1\n[process]\ntype = "iid"\nalpha = 0.6\n{out}')
    assert [cost.base(3) for cost in Scenario.from_toml(file).costs()] == [pytest.approx(1.40119, abs=1e-4)]
    _, table, _ = say("--width", "1,2,4,8,9,13", "--verify-ms", "31,36.2,42.3,68.7,106.9,113.7", "--draft-cost", "0.05",
                      "--toml", "--kappa-max", "8", "--model", "table")  # fmt: skip
    assert "verify_table = [1, 1.16774," in table
    assert "c_d = 0.05" in table


def test_a_table_and_numbers_say_the_same(say, tmp_path):
    file = tmp_path / "sweep.csv"
    file.write_text(
        "num_speculative_tokens,mean TPOT (ms),acceptance length\n0,7.07,\n2,4.37,2.1\n3,4.29,2.29\n4,4.48,2.39\n"
        "5,4.71,2.43\n6,4.94,2.45\n7,5.20,2.47\n"
    )
    _, from_file, _ = say(str(file))
    _, from_numbers, _ = say(*SWEEP, *BASE)
    assert from_file.replace("sweep.csv", "numbers given") == from_numbers


def test_several_loads_are_one_table_and_one_of_them_in_full(say, tmp_path):
    file = tmp_path / "grid.csv"
    rows = [
        f"{b},{c},{k},{max(6 + 1e-5 * b * c, 0.04 * b * (k + 1)) + 0.4 * k}"
        for b in (1, 32, 256) for c in (500, 8000) for k in (0, 2, 4)
    ]  # fmt: skip
    file.write_text("batch,context,k,round_ms\n" + "\n".join(rows))
    _, out, _ = say(str(file))
    assert out.startswith("R(4) goes from 1.19 plain steps at batch 32, context 8000 to 5.16 at batch 256, context 500")
    assert "roofline over batch · context · width" in out
    assert "the ridge lies at 150 tokens per step" in " ".join(out.split())
    _, one, _ = say(str(file), "--at", "32,500")
    assert one.startswith("a round")
    _, between, _ = say(str(file), "--at", "100,1000")
    assert "by the roofline" in between
    code, _, err = say(str(file), "--toml")
    assert code == 2
    assert "say which of the loads" in err


def test_several_conditions_are_put_with_where(say, tmp_path):
    file = tmp_path / "models.csv"
    file.write_text("model,k,round_ms\na b,0,7\na b,2,9\na b,3,10\nc,0,3\nc,2,5\n")
    code, _, err = say(str(file))
    assert code == 2
    assert "choose one (--where model='a b')" in err
    code, out, _ = say(str(file), "--where", "model=a b")
    assert code == 0
    assert "plain decoding takes 7 ms" in out
    assert say(str(file), "--where", "model")[0] == 2


BAD = {
    "nothing": ([], "nothing to read"),
    "no base": (SWEEP, "plain decoding is missing"),
    "word": (["--kappa", "two", "--round-ms", "9"], "--kappa: 'two' is not a number"),
    "infinite": (["--kappa", "2", "--round-ms", "inf"], "--round-ms"),
    "no such file": (["/no/such/file.csv"], "/no/such/file.csv"),
    "both outputs": ([*SWEEP, *BASE, "--json", "--toml"], "give one"),
    "at": ([*SWEEP, *BASE, "--at", "8"], "batch 8 were not measured"),
    "huge kappa": (["--kappa", "1e9", "--round-ms", "9", *BASE], "up to 1000"),
}


@pytest.mark.parametrize("name", BAD)
def test_errors_are_one_line_and_exit_code_2(name, say):
    words, message = BAD[name]
    code, out, err = say(*words)
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


def test_a_log_without_times_says_what_to_give(say, tmp_path):
    file = tmp_path / "rounds.csv"
    file.write_text("accepted,kappa,request\n3,4,a\n0,4,a\n4,4,b\n")
    code, _, err = say(str(file))
    assert code == 2
    assert "holds no time of a round" in err
    file.write_text("something else\n")
    assert "a table of measurements needs a column of κ" in say(str(file))[2]


def test_an_engines_output_with_times(say, tmp_path):
    """llama-speculative prints the single step of the target and of the draft: the unit and the draft's share."""
    file = tmp_path / "log.txt"
    file.write_text(SPECULATIVE)
    code, out, err = say(str(file))
    assert (code, err) == (0, "")
    assert out.startswith("a round costs 6.526 plain steps at κ = 16 (15.72 drafts); if its fixed cost is none, R(κ) =")
    assert "tell drafting" not in out  # the draft's own time is printed


def options(*words):
    own = argparse.ArgumentParser()
    add_costs(own)
    return costs_from(own.parse_args(list(words)))


def test_costs_as_options():
    assert options().at().at(3) == pytest.approx(1.3)
    assert "default draft cost" in options().at().origin
    own = options("--draft-cost", "0.2", "--verify-cost", "0.05", "--base-cost", "1.1", "--off-cost", "1.2").at()
    assert (own.at(2), own.off, own.known_noise) == (pytest.approx(1.6), 1.2, False)
    with pytest.raises(ParameterError, match="--draft-cost beside --costs"):
        options("--costs", "x.json", "--draft-cost", "0.1")
    with pytest.raises(ParameterError, match="c_d = -1"):
        options("--draft-cost", "-1")


def test_costs_file_may_be_a_table_or_a_scenario(tmp_path):
    file = tmp_path / "sweep.csv"
    file.write_text("k,round_ms\n0,7\n2,9\n3,10\n")
    assert options("--costs", str(file)).at().at(3) == pytest.approx(10 / 7)
    scenario = tmp_path / "scenario.toml"
    scenario.write_text("[cost]\nc_d = 0.15\n")
    assert options("--costs", str(scenario)).at().at(2) == pytest.approx(1.3)


def test_every_flag_has_a_default_in_its_help():
    own = next(a for a in parser()._actions if isinstance(a, argparse._SubParsersAction)).choices["costs"]
    for action in own._actions:
        assert action.help
        assert "default" in action.help or action.dest == "help", action.dest
    text = own.format_help()
    for word in ("num_speculative_tokens", "γ", "--draft-max", "TPOT", "accept length"):
        assert word in text
