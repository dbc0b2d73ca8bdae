"""Does the committed table of lossless and lossy rules hold, and would it see a rule that loses a little?"""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from simspec import theory
from simspec.claims import lossless
from simspec.model.schemes import Tokens

COMMITTED = Path(__file__).parents[2] / "results" / "systems"
FRESH, SEED = 150_000, 77
FAR = 5.5
"""Standard errors: false alarm 4e-8."""


@pytest.fixture(scope="module")
def committed():
    return pd.read_parquet(COMMITTED / "lossless.parquet")


def test_every_case_is_in_the_committed_table(committed):
    assert committed.scheme.tolist() == [str(case.scheme) for case in lossless.CASES]
    assert (committed.tokens >= lossless.TOKENS).all()
    for row, case in zip(committed.itertuples(), lossless.CASES, strict=True):
        law = theory.token_walk(case.scheme, case.pair, lossless.KAPPA)
        assert (row.accepted_exact, row.tv_exact) == (
            pytest.approx(law.mean_accepted, rel=1e-9),
            pytest.approx(law.tv_pairs, abs=1e-9),
        )


def test_the_committed_table_says_what_it_should(committed):
    own = committed[committed.lossless]
    assert (own.p_value >= lossless.FALSE_ALARM).all()
    assert (own.tv_exact < 1e-12).all()
    lossy = committed[~committed.lossless]
    assert (lossy.tv_exact > 0.1).all()
    assert (abs(committed.tv - committed.tv_exact) <= FAR * committed.tv_error + 1e-9).all()
    assert (abs(committed.accepted - committed.accepted_exact) <= FAR * committed.accepted_error + 1e-9).all()
    assert (COMMITTED / "lossless.md").read_text(encoding="utf-8") == lossless.page(committed, 1)


@pytest.mark.parametrize("first", [0, *(pytest.param(at, marks=pytest.mark.deep) for at in (1, 2, 3))])
def test_a_fresh_run_agrees(committed, first):
    """Other words, fewer tokens: false alarm 1e-6 per chi-square, 4e-8 per mean.  One case in four by default."""
    fresh = lossless.lossless_table(SEED, FRESH, lossless.CASES[first::4])
    committed = committed.iloc[first::4].reset_index(drop=True)
    assert fresh.scheme.tolist() == committed.scheme.tolist()
    assert (fresh[fresh.lossless].p_value >= lossless.FALSE_ALARM).all()
    for name in ("accepted", "tv"):
        error = np.hypot(fresh[f"{name}_error"], committed[f"{name}_error"])
        assert (abs(fresh[name] - committed[name]) <= FAR * error + 1e-9).all(), name


def test_a_rule_that_loses_a_little_is_seen():
    """Lenience .99, held against the target as if it were lossless: pairs are off by some thousandths."""
    scheme = Tokens(rule="lenient", lenience=0.99)
    off = theory.token_walk(scheme, lossless.PAIR, lossless.KAPPA).tv_pairs
    assert 0.0 < off < 0.005
    pairs, _ = lossless.pair_counts(scheme, lossless.PAIR, lossless.KAPPA, 3_000_000, 1)
    assert lossless.chi_square(pairs.sum(axis=0), np.array(lossless.PAIR.target)) < lossless.FALSE_ALARM


def test_the_command(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(lossless, "CASES", (lossless.CASES[0], lossless.CASES[-1]))
    assert lossless.main([str(tmp_path), "--tokens", "70000", "--quiet"]) == 0
    assert {entry.name for entry in tmp_path.iterdir()} == {"lossless.md", "lossless.parquet"}
    assert "2 ways to verify" in capsys.readouterr().err
    for arguments, told in ((["--tokens", "10"], "tokens = 10"), (["--seed", "-1"], "seed = -1")):
        assert lossless.main([str(tmp_path), *arguments]) == 2
        assert told in capsys.readouterr().err
    (tmp_path / "lossless.md").write_text("mine", encoding="utf-8")
    assert lossless.main([str(tmp_path), "--tokens", "70000", "--quiet"]) == 2
    assert "is another page" in capsys.readouterr().err
    assert (tmp_path / "lossless.md").read_text(encoding="utf-8") == "mine"
