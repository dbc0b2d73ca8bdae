"""Are random token laws what their name says, the same for the same seed, and safe at their edges?"""

import numpy as np
import pytest
from scipy.stats import kstest

from simspec.kernels.words import stream_keys
from simspec.kernels.words_twin import aside_word
from simspec.model import ParameterError
from simspec.model.identity import digest
from simspec.model.pairs import PAIRS, DirichletPair, GivenPair, LogitPair, ZipfPair, make_pair
from simspec.run.pairs import dirichlet, laws_of, normals, uniforms

KEYS = stream_keys(1, "pairs", "pairs")
DRAWN = [
    DirichletPair(vocabulary=150_000, concentration=0.001),
    DirichletPair(vocabulary=2, concentration=0.001),
    DirichletPair(vocabulary=1000, concentration=1e6),
    ZipfPair(vocabulary=150_000, exponent=10.0, sigma=20.0),
    ZipfPair(vocabulary=2, exponent=0.0),
    LogitPair(vocabulary=150_000, scale=50.0, temperature=0.01, draft_temperature=100.0),
    LogitPair(vocabulary=2, correlation=-1.0),
]


@pytest.mark.parametrize("pair", DRAWN, ids=str)
def test_laws_add_up_and_repeat(pair):
    first, again = laws_of(pair), laws_of(make_pair(**pair.model_dump()))
    for law, same in zip(first, again, strict=True):
        assert law.shape == (1, pair.vocabulary)
        assert law.min() >= 0.0
        assert abs(law.sum() - 1.0) < 1e-9
        assert (law == same).all()
    if "seed" in type(pair).model_fields:
        other = laws_of(pair.model_copy(update={"seed": 2}))
        assert (other[1] != first[1]).any()


def test_words_are_those_of_the_twin_and_fill_the_unit_interval():
    u = uniforms(KEYS, 2**40, 4000)
    assert [float(x) for x in u[:50]] == [((aside_word(KEYS, 2**40, i) >> 11) + 0.5) / 2**53 for i in range(50)]
    assert kstest(u, "uniform").pvalue > 1e-6
    assert kstest(normals(KEYS, 3, 4000), "norm").pvalue > 1e-6
    assert kstest(normals(KEYS, 3, 4000) * 1.1, "norm").pvalue < 0.01


@pytest.mark.parametrize("concentration", [0.05, 1.0, 7.0])
def test_dirichlet_laws_have_the_moments_of_dirichlet_laws(concentration):
    """4000 laws over 5 tokens: mean 1/5, variance (1/5)(4/5)/(5c + 1), within 6 standard errors of both."""
    u = [uniforms(KEYS, address, 20_000).reshape(4000, 5) for address in (1, 2)]
    weights = dirichlet(concentration, *u)
    laws = weights / weights.sum(axis=1, keepdims=True)
    variance = 0.16 / (5 * concentration + 1)
    assert np.abs(laws.mean(axis=0) - 0.2).max() < 6 * (variance / 4000) ** 0.5
    spread = (laws - 0.2) ** 2
    assert np.abs(spread.mean(axis=0) - variance).max() < 6 * (spread.var(axis=0).max() / 4000) ** 0.5


def test_zipf_errors_have_their_spread():
    target, draft = (law[0] for law in laws_of(ZipfPair(vocabulary=20_000, exponent=1.2, sigma=0.7)))
    assert target[0] / target[9] == pytest.approx(10**1.2)
    errors = np.log(draft / target)
    assert kstest((errors - errors.mean()) / errors.std(), "norm").pvalue > 1e-6
    assert errors.std() == pytest.approx(0.7, abs=6 * 0.7 / (2 * 20_000) ** 0.5)


def test_logits_have_their_correlation_and_temperature():
    pair = LogitPair(vocabulary=20_000, scale=2.0, correlation=0.6, temperature=0.5, draft_temperature=4.0)
    target, draft = (np.log(law[0]) for law in laws_of(pair))
    assert np.corrcoef(target, draft)[0, 1] == pytest.approx(0.6, abs=6 * 0.64 / 20_000**0.5)
    assert target.std() == pytest.approx(4.0, rel=0.03)
    assert draft.std() == pytest.approx(0.5, rel=0.03)


def test_temperature_0_is_greedy():
    warm, cold = LogitPair(vocabulary=500), LogitPair(vocabulary=500, temperature=0.0, draft_temperature=0.0)
    for law, greedy in zip(laws_of(warm), laws_of(cold), strict=True):
        assert greedy[0, law[0].argmax()] == 1.0
        assert greedy.sum() == 1.0


def test_one_token_is_one():
    assert str(GivenPair(target=[1.0], draft=[1.0])) == "given(1 token)"


def test_a_perfect_draft_is_the_target():
    for pair in (ZipfPair(vocabulary=100, sigma=0.0), LogitPair(vocabulary=100, correlation=1.0)):
        target, draft = laws_of(pair)
        assert np.abs(target - draft).max() < 1e-15


def test_pairs_are_frozen_and_named_by_what_they_are():
    pair = ZipfPair(vocabulary=10)
    with pytest.raises(Exception, match="frozen"):
        pair.sigma = 2.0
    assert set(PAIRS) == {"given", "dirichlet", "zipf", "logits"}
    assert digest(pair.identity()) == digest(make_pair(type="zipf", vocabulary=10).identity())
    assert digest(pair.identity()) != digest(ZipfPair(vocabulary=10, sigma=1.5).identity())
    assert GivenPair(target=np.array([0.5, 0.5]), draft=[1, 0]).draft == (1.0, 0.0)


@pytest.mark.parametrize(
    "wrong", [{"target": [], "draft": []}, {"target": "x", "draft": [1.0]}, {"type": 3}, {"typ": "zipf"}]
)
def test_nonsense_is_one_line(wrong):
    with pytest.raises(ParameterError) as caught:
        make_pair(**wrong)
    assert "\n" not in str(caught.value)
