"""From a recommendation to the settings of an engine: what is taken, what is refused, how off is said."""

import shlex
import subprocess

import pytest

from simspec import ParameterError, export
from simspec.advice.export.configuration import ENGINES

ALL = ("vllm", "sglang", "trtllm", "llamacpp")


@pytest.mark.parametrize("engine", ALL)
def test_off_is_refused_and_the_message_says_how_it_is_done(engine):
    for own in ({"recommendation": None, "kappa": 0}, {"recommendation": {"kappa_star": 0}},
                {"recommendation": {"kappa_star": 0, "grid": [{"batch": 8, "kappa": 0}]}}):  # fmt: skip
        with pytest.raises(ParameterError, match=r"to switch speculation off, leave .* out.*\(advice: "):
            export(**own, engine=engine)


def test_a_static_form_that_comes_out_as_off_points_to_the_table():
    rows = [{"kappa": 0, "speedup": 1.0}, {"kappa": 2, "speedup": 0.5}]
    grid = [{"batch": 8, "kappa": 0, "kappas": rows}, {"batch": 1, "kappa": 2,
             "kappas": [{"kappa": 0, "speedup": 1.0}, {"kappa": 2, "speedup": 1.1}]}]  # fmt: skip
    with pytest.raises(ParameterError, match="--form batch"):
        export({"kappa_star": 2, "grid": grid}, "vllm", form="static")
    with pytest.raises(ParameterError, match=r"would be 0, off: llama\.cpp"):
        export({"kappa_star": 2, "grid": grid}, "llamacpp")


def test_what_is_recommended_is_set_and_what_is_as_good_is_said():
    advice = {
        "kappa_star": 4,
        "indistinguishable": [0, 1, 2, 3, 4, 5],
        "band": {"within": 0.02, "kappas": [2, 3, 4, 5]},
        "kappas": [{"kappa": 4, "speedup": 1.62}],
    }
    own = export(advice, "vllm")
    assert own.settings["speculative_config"]["num_speculative_tokens"] == 4
    assert own.says == "use κ = 4 (num_speculative_tokens): 1.62x"
    assert own.notes[:3] == (  # κ = 1 is not told apart either, but may lose more than the flat band
        "κ = 2-3 are as good by these data and draft less: --kappa 2 sets the shortest",
        "κ = 5 cannot be told from it by these data either, and drafts more",
        "whether speculation pays at all is not decided by these data",
    )
    own = export(advice | {"indistinguishable": [3, 4]}, "vllm")
    assert own.notes[0] == "κ = 3 is as good by these data and drafts less: --kappa 3 sets it"
    assert not any("as good" in note for note in export(advice | {"indistinguishable": [1, 4]}, "vllm").notes)
    own = export(advice, "vllm", kappa=3)
    assert own.settings["speculative_config"]["num_speculative_tokens"] == 3
    assert own.notes == ("the recommendation says κ = 4",)


def test_a_recommendation_object_is_taken_as_it_is():
    class Recommendation:
        def to_dict(self):
            return {"kappa_star": 3}

    assert export(Recommendation(), "sglang").settings["speculative_num_draft_tokens"] == 4


def test_what_recommend_gives_is_what_export_takes():
    """The keys of the real recommendation, over loads and without."""
    from simspec import recommend
    from simspec.advice.acceptance import acceptance_of_numbers

    seen = acceptance_of_numbers(survival=[0.84, 0.60, 0.39, 0.27], rounds=400)
    advice = recommend(seen, {"c_d": 0.12, "c0": 1.05})
    own = export(advice, "vllm")
    taken = own.settings["speculative_config"]["num_speculative_tokens"]
    assert taken == advice.kappa_star == 4
    assert f"{advice.speedup:.2f}x" in own.says
    assert own.notes[0] == "κ = 3 is as good by these data and drafts less: --kappa 3 sets it"
    rates = export(advice, "vllm", synthetic=True).settings["speculative_config"]["synthetic_acceptance_rates"]
    assert rates == [0.84, 0.60, 0.39, 0.27][:taken]


@pytest.mark.parametrize(
    ("advice", "key"),
    [
        ({}, "kappa_star"),
        ({"kappa_star": -1}, "kappa_star"),
        ({"kappa_star": 2.5}, "kappa_star"),
        ({"kappa_star": True}, "kappa_star"),
        ({"kappa_star": "3"}, "kappa_star"),
        ({"kappa_star": 10**9}, "kappa_star"),
        ({"kappa_star": 3, "grid": 5}, "grid"),
        ({"kappa_star": 3, "grid": [5]}, "grid[0]"),
        ({"kappa_star": 3, "grid": [{"batch": 0, "kappa": 1}]}, "grid[0].batch"),
        ({"kappa_star": 3, "grid": [{"batch": 1.5, "kappa": 1}]}, "grid[0].batch"),
        ({"kappa_star": 3, "grid": [{"batch": float("inf"), "kappa": 1}]}, "grid[0].batch"),
        ({"kappa_star": 3, "grid": [{"context": float("nan"), "kappa": 1}]}, "grid[0].context"),
        ({"kappa_star": 3, "grid": [{"batch": 1}]}, "grid[0].kappa"),
        ({"kappa_star": 3, "grid": [{"batch": 1, "kappa": 1, "kappas": [{"kappa": 1, "speedup": -2}]}]},
         "grid[0].kappas[0].speedup"),
        ({"kappa_star": 3, "kappas": {"1": 2}}, "kappas"),
        ({"kappa_star": 3, "indistinguishable": ["off"]}, "indistinguishable: kappa"),
        ({"kappa_star": 3, "band": [3]}, "band"),
        ({"kappa_star": 3, "band": {"kappas": 3}}, "band.kappas"),
    ],
)  # fmt: skip
def test_a_recommendation_with_rubbish_in_it_is_refused_by_its_key(advice, key):
    with pytest.raises(ParameterError) as error:
        export(advice, "vllm")
    assert error.value.key == key


def test_survival_that_is_no_list_of_shares_is_refused():
    for survival in (["a"], 5, [2.0], [0.2, 0.5], None):
        with pytest.raises(ParameterError, match="survival"):
            export({"kappa_star": 1, "survival": survival}, "vllm", synthetic=True)


def test_unknown_engines_and_forms_are_refused_with_what_is_known():
    with pytest.raises(ParameterError, match='did you mean "sglang"'):
        export(None, "sgllang", kappa=1)
    with pytest.raises(ParameterError, match="since PR 10860"):
        export(None, "trtllm", kappa=1, form="batch")
    assert export(None, "llama.cpp", kappa=1) == export(None, "llamacpp", kappa=1)
    assert export(None, "TensorRT-LLM", kappa=1).engine == "trtllm"
    with pytest.raises(ParameterError, match="nothing to export"):
        export(None, "vllm")


def test_old_and_new_names_of_llamacpp():
    new = shlex.split(export(None, "llamacpp", kappa=3, method="draft-mtp").command)
    assert new[3:] == ["-md", "DRAFT", "--spec-type", "draft-mtp", "--spec-draft-n-max", "3", "--spec-draft-n-min", "0",
                       "--spec-draft-p-min", "0"]  # fmt: skip
    old = shlex.split(export(None, "llamacpp", kappa=3, form="draft").command)
    assert old[3:] == ["-md", "DRAFT", "--draft-max", "3", "--draft-min", "0", "--draft-p-min", "0"]


def test_a_grid_without_batches_is_one_kappa():
    grid = [{"context": 1024, "kappa": 4}, {"context": 65536, "kappa": 1}]
    own = export({"kappa_star": 4, "grid": grid}, "vllm")
    assert own.form == "static"
    assert own.settings["speculative_config"]["num_speculative_tokens"] == 1
    with pytest.raises(ParameterError, match="have no batch"):
        export({"kappa_star": 4, "grid": grid}, "vllm", form="batch")


@pytest.mark.parametrize("engine", ALL)
def test_the_text_is_a_shell_script_with_hostile_names(engine, tmp_path):
    """Every line is a comment, or does what it says and nothing else."""
    grid = [{"batch": 1, "kappa": 4}, {"batch": 8, "kappa": 2}]
    name = "a b'; touch broken; echo '$(touch broken) `touch broken`"
    own = export({"kappa_star": 4, "grid": grid}, engine, model=name, draft=name)
    text = str(own)
    command = shlex.split(own.command)[0]
    script = f"{command}() {{ printf '%s\\n' \"$@\"; }}\n{text}\n"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, cwd=tmp_path, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert name in done.stdout.splitlines()
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(own.files)
    for file, content in own.files.items():
        assert (tmp_path / file).read_text() == content + "\n"
    assert all(len(line) <= 118 for line in text.splitlines() if line.startswith("#"))


def test_every_form_says_since_when_and_where_it_was_read():
    for engine in ENGINES.values():
        assert engine.fixed in engine.forms
        assert engine.table is None or engine.table in engine.forms
        assert all(form.since and form.verified for form in engine.forms.values())
        assert engine.imitate_since
        assert engine.imitate_verified


def test_documents_name_every_form():
    from pathlib import Path

    text = (Path(__file__).parents[2] / "docs" / "export.md").read_text(encoding="utf-8")
    for engine in ENGINES.values():
        for name in engine.forms:
            assert f"| {engine.title} | `{name}` |" in text, (engine.name, name)


def test_heads_that_need_no_draft_model_get_none_and_others_are_left_to_fill_in():
    assert "model" not in export(None, "vllm", kappa=2, method="mtp").settings["speculative_config"]
    assert any("multiple" in note for note in export(None, "vllm", kappa=2, method="mtp").notes)
    assert export(None, "vllm", kappa=2, method="mtp", draft="x").settings["speculative_config"]["model"] == "x"
    assert export(None, "vllm", kappa=2).settings["speculative_config"]["model"] == "DRAFT"
    assert "draft-model-path" not in export(None, "sglang", kappa=2, method="NEXTN").command
    assert "--speculative-draft-model-path DRAFT" in export(None, "sglang", kappa=2, method="EAGLE").command
    assert "not verified" in export(None, "sglang", kappa=2, method="NGRAM").notes[0]
