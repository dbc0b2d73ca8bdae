"""The n-gram pair: laws by hand, recordings against plain Python, rounds against replay, no token law changed."""

import collections
import math

import numpy as np
import pytest

from simspec.evidence import ngram
from simspec.evidence.ngram import record_ngram, record_ngram_rounds
from simspec.evidence.ngram_model import NgramModel, train_pair
from simspec.evidence.replay import replay
from simspec.evidence.tables import dense_of
from simspec.evidence.texts import TEXTS, shipped_text
from simspec.evidence.words import DOMAIN
from simspec.kernels.words import aside, stream_keys, word_of
from simspec.model import ParameterError
from simspec.model.identity import digest
from simspec.stats.clusters import share

TEXT = "the cat sat on the mat and the dog sat on the cat but a cat is not a dog and a mat is a mat " * 6


def plain_law(tokens, size, order, context):
    """Witten–Bell by the definition, one probability at a time."""
    law = [1.0 / size] * size
    for length in range(order):
        after = context[len(context) - length :]
        seen = collections.Counter(
            tokens[i + length] for i in range(len(tokens) - length) if tokens[i : i + length] == after
        )
        total, types = sum(seen.values()), len(seen)
        if total:
            law = [(seen[w] + types * law[w]) / (total + types) for w in range(size)]
    return law


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_laws_are_those_of_the_definition(order):
    rng = np.random.default_rng(order)
    tokens = rng.choice(7, 120, p=[0.4, 0.2, 0.15, 0.1, 0.1, 0.05, 0.0])  # token 6 never occurs
    contexts = np.vstack([rng.integers(0, 7, (40, 4)), tokens[20:60].reshape(10, 4)])
    laws = NgramModel(tokens, 7, order).laws(contexts)
    plain = [plain_law(tokens.tolist(), 7, order, row) for row in contexts.tolist()]
    assert np.allclose(laws, plain, rtol=1e-12)
    assert np.allclose(laws.sum(axis=1), 1.0)
    assert laws.min() > 0.0


def plain_record(temperature, requests=3, length=6, seed=5):
    """`record_ngram` again, token by token, from the same words."""
    pair = train_pair(TEXT)
    tokens, size = pair.tokens.tolist(), pair.target.size
    keys = stream_keys(seed, digest({"text": pair.text_sha256, "pair": pair.label}), DOMAIN)

    def uniform(address, index):
        return (int(word_of(np.uint64(aside(keys, np.uint64(address))), index)) >> 11) * 2.0**-53

    def temper(law):
        raised = [p ** (1.0 / temperature) if temperature else p for p in law]
        return [p / sum(raised) for p in raised]

    def draw(law, u):
        if temperature == 0.0:
            return max(range(size), key=lambda w: (law[w], -w))
        limit, running = u * sum(law), 0.0
        for w in range(size):
            running += law[w]
            if running > limit:
                return w

    rows = []
    for r in range(requests):
        place = int(uniform(r * 2**20 + 2**20 - 1, 0) * (len(tokens) - 2))
        context = tokens[place : place + 2]
        for position in range(length):
            p = temper(plain_law(tokens, size, 3, context))
            q = temper(plain_law(tokens[: len(tokens) // 2], size, 2, context))
            y, x = (draw(law, uniform(r * 2**20 + position, i)) for i, law in enumerate((p, q)))
            match = float(p.index(max(p)) == q.index(max(q)))
            accept = uniform(r * 2**20 + position, 2) < min(1.0, p[x] / q[x])
            rows.append(
                [sum(map(min, p, q)), match, accept if temperature else match, -sum(a * math.log(a) for a in p),
                 sum(math.sqrt(a * b) for a, b in zip(p, q, strict=True)),
                 sum(b * math.log(b / a) for a, b in zip(p, q, strict=True)),
                 min(1.0, q[y] / p[y]) if temperature else match]
            )  # fmt: skip
            context = [*context[1:], y]
    return np.array(rows, float)


@pytest.mark.parametrize("temperature", [1.0, 0.7, 0.0])
def test_a_recording_equals_plain_python(temperature):
    table = record_ngram(TEXT, requests=3, tokens=6, temperature=temperature, seed=5).to_pandas()
    own = table[["alpha", "match", "accept", "entropy", "bc", "kl", "tok_accept"]].to_numpy(float)
    assert np.allclose(own, plain_record(temperature), rtol=1e-6, atol=1e-7)  # columns have 32 bits


def test_columns_are_those_of_the_shipped_traces():
    import pyarrow.parquet as pq

    from simspec.model.trace import file_of

    dense = pq.read_schema(file_of("shipped:smollm2"))
    own = record_ngram(TEXT, requests=1, tokens=2).schema
    assert {(f.name, str(f.type)) for f in own} == {(f.name, str(f.type)) for f in dense}
    windows = pq.read_schema(file_of("shipped:smollm2_windows"))
    assert set(record_ngram_rounds(TEXT, requests=1, tokens=9).column_names) == set(windows.names)


def test_requests_do_not_depend_on_how_many_there_are_and_seeds_matter():
    few, many = (record_ngram(TEXT, requests=n, tokens=8).to_pandas() for n in (2, 5))
    assert few.equals(many[many["request"] < 2])
    assert not few.equals(record_ngram(TEXT, requests=2, tokens=8, seed=2).to_pandas())


def test_the_longer_draft_goes_on_where_the_shorter_one_ends():
    """Rounds at κ = 3 and 8 share their words: of every first round the shorter accepts min(A, 3)."""
    short, long = (record_ngram_rounds(TEXT, requests=40, tokens=9, kappa=k).to_pandas() for k in (3, 8))
    first = [frame[frame["round"] == 0]["accepted_full"].to_numpy() for frame in (short, long)]
    assert (first[0] == np.minimum(first[1], 3)).all()
    assert first[1].max() > 3


def test_rounds_add_up():
    frame = record_ngram_rounds(TEXT, requests=9, tokens=40, kappa=4).to_pandas()
    assert (frame.groupby("request")["emitted"].sum() == 40).all()
    assert (frame.groupby("request")["ended"].apply(list).map(lambda e: e[-1] == 2 and not any(e[:-1]))).all()
    inside = frame[frame["ended"] == 0]
    assert (inside["accepted"] == inside["accepted_full"]).all()
    assert (inside["emitted"] == inside["accepted"] + 1).all()
    assert (inside["examined"] == np.minimum(inside["accepted"] + 1, 4)).all()
    for _, own in frame.groupby("request"):
        assert own["position"].tolist() == [0, *own["emitted"].cumsum().tolist()[:-1]]


KEYS = {"shipped": "pydoc", "level": "byte", "requests": 200, "tokens": 50}


@pytest.fixture(scope="module")
def recordings():
    """A dense recording, and real rounds of the same pair with other random numbers."""
    return dense_of(record_ngram(**KEYS, seed=1)), record_ngram_rounds(**KEYS, kappa=4, seed=2).to_pandas()


def gap_of_accepted(trace, frame, shift):
    """Accepted length per round, κ = 4: replay (chances shifted) less real rounds, in standard errors."""
    trace = type(trace)(np.clip(trace.chance + shift, 0.0, 1.0), trace.offsets, trace.position, trace.alpha)
    replayed = replay(trace, 4).accepted()
    frame = frame[frame["position"] <= KEYS["tokens"] - 4]
    accepted = frame["accepted_full"].to_numpy(float)
    offsets = np.concatenate([[0], np.cumsum(frame.groupby("request").size())]).astype(np.int64)
    real = share(accepted, np.ones(len(accepted)), offsets)
    return (replayed.value - real.value) / np.hypot(replayed.error, real.error)


def test_replay_of_the_dense_trace_is_what_real_rounds_do(recordings):
    """False alarm 6e-7; chances that are .08 too high are found by the same test."""
    assert abs(gap_of_accepted(*recordings, 0.0)) < 5.0
    assert gap_of_accepted(*recordings, 0.08) > 5.0


def test_speculative_rounds_leave_the_target_law_alone():
    """First emitted token of 20,000 rounds from one context: χ² false alarm 1e-6; the draft's law would fail it."""
    from scipy.stats import chi2

    pair = train_pair(TEXT)
    context = np.tile(pair.tokens[3:5], (20_000, 1))
    after, played = ngram._round(pair, context, 1.0, stream_keys(3, "law", DOMAIN), np.arange(20_000), 1)
    first = np.where(played["accepted_full"] == 1, after[:, 0], after[:, 1])
    seen = np.bincount(first, minlength=pair.target.size)
    limit = chi2.isf(1e-6, pair.target.size - 1)
    for model, fits in ((pair.target, True), (pair.draft, False)):
        expected = 20_000 * model.laws(context[:1])[0]
        assert (((seen - expected) ** 2 / expected).sum() < limit) is np.bool_(fits)


def test_alpha_is_the_mean_of_both_kinds_of_verdicts():
    """Σ min(p, q), the independent draws and the coupled chances have one mean; 5 standard errors."""
    frame = record_ngram(level="byte", requests=100, tokens=50).to_pandas()
    means = frame.groupby("request")[["alpha", "accept", "tok_accept"]].mean()
    for column in ("accept", "tok_accept"):
        gap = means[column] - means["alpha"]
        assert abs(gap.mean()) < 5 * gap.std() / 10


@pytest.mark.parametrize("name", TEXTS)
def test_texts_are_there_and_of_some_length(name):
    assert len(shipped_text(name)) > 100_000


def test_a_cold_pair_stays_finite():
    frame = record_ngram(TEXT, requests=2, tokens=10, temperature=0.01).to_pandas()
    assert np.isfinite(frame[["alpha", "entropy", "bc", "tok_accept"]].to_numpy(float)).all()


WRONG = [
    ({"shipped": "bible"}, "shipped"),
    ({"text": "a b"}, "target_order"),
    ({"target_order": 6}, "target_order"),
    ({"draft_order": 0}, "draft_order"),
    ({"level": "letter"}, "level"),
    ({"requests": 0}, "requests"),
    ({"tokens": 40_000}, "tokens"),
    ({"temperature": -1.0}, "temperature"),
    ({"seed": -1}, "seed"),
]


@pytest.mark.parametrize(("keys", "key"), WRONG, ids=str)
def test_what_cannot_be_recorded_is_said(keys, key):
    with pytest.raises(ParameterError) as caught:
        record_ngram(**({"text": TEXT} if "shipped" not in keys else {}) | keys)
    assert caught.value.key == key


def test_a_file_that_is_no_text_is_said(tmp_path):
    (tmp_path / "bytes").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ParameterError, match="not UTF-8"):
        record_ngram(tmp_path / "bytes")
    with pytest.raises(ParameterError, match="kappa = 0"):
        record_ngram_rounds(TEXT, kappa=0)
