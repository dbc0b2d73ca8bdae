"""Does the cloud of random pairs fill the region between the edges, and does no pair break a theorem?"""

import math
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

import simspec.report.region as report_region
from simspec import theory
from simspec.model import DatasetError, ParameterError
from simspec.report.region import draw_region
from simspec.run.region import DIRECTIONS, FAMILIES, ORDERS, attainable_region, random_pairs, violations, write_region


@pytest.fixture(scope="module")
def region():
    return attainable_region()


def test_enough_pairs_of_many_families(region):
    assert len(region) == 24_000
    assert set(region["family"]) == set(FAMILIES)
    assert (region["family"].value_counts() == 3000).all()
    assert region["vocabulary"].min() >= 3


def test_alpha_lies_between_the_edges_and_both_are_approached(region):
    """In each of ten ranges of D_½ some pair is within 1e-9 of either edge, and others lie all over between."""
    alpha, lower, upper = (region[name].to_numpy() for name in ("alpha", "lower", "upper"))
    assert (alpha >= lower - 1e-9).all()
    assert (alpha <= upper + 1e-9).all()
    place = (alpha - lower) / np.maximum(upper - lower, 1e-12)
    for low, high in pairwise(np.linspace(0.05, 3.0, 11)):
        here = (region["d_0.5"] >= low) & (region["d_0.5"] < high)
        assert np.abs(alpha - lower)[here].min() < 1e-9
        assert np.abs(upper - alpha)[here].min() < 1e-9
        assert (np.histogram(place[here], bins=8, range=(0.0, 1.0))[0] > 0).all()


def test_no_pair_breaks_a_theorem_and_every_wrong_reading_is_broken(region):
    found = violations(region)
    theorems, readings = found[~found["article"]], found[found["article"]]
    assert len(theorems) == 30
    assert theorems["violations"].sum() == 0
    right = (readings["order"] == 1.0) & readings["inequality"].str.startswith("1 − α")  # Pinsker's inequality
    assert readings[right]["violations"].sum() == 0
    assert (readings[~right]["share"] > 0.1).all()
    assert set(found["direction"]) == set(DIRECTIONS)
    at_half = readings[readings["order"] == 0.5].groupby("inequality")["violations"].nunique()
    assert (at_half == 1).all()  # D_½ has no direction


def test_how_often_a_wrong_reading_fails_says_how_pairs_were_drawn():
    """α ≥ e^(−D_½) fails for all pairs of one family and for none of another: its percentage means nothing."""
    share = {}
    for name in ("swapped", "apart", "flat", "holes"):
        found = violations(attainable_region(1000, families=(name,)))
        row = found[found["article"] & (found["inequality"] == "α ≥ e^−D") & (found["order"] == 0.5)]
        share[name] = row["share"].iloc[0]
    assert share["swapped"] > 0.99
    assert share["apart"] == 0.0
    assert share["flat"] > 0.95
    assert 0.05 < share["holes"] < 0.5


def test_divergences_at_once_and_one_by_one(region):
    """Each family against `theory`, whose digits do not cancel; here divergences below 1e-9 may be noise."""
    pairs = [(p, q) for _, target, draft in random_pairs(160) for p, q in zip(target, draft, strict=True)]
    own = attainable_region(160)
    for i, (p, q) in enumerate(pairs):
        both = theory.overlap(p, q)
        assert own["alpha"][i] == pytest.approx(both.alpha, rel=1e-12)
        assert (own["lower"][i], own["upper"][i]) == pytest.approx(
            theory.alpha_bounds_from_half(theory.renyi(p, q, 0.5)), rel=1e-9, abs=1e-12
        )
        for order in ORDERS:
            for first, second, prefix in ((p, q, "d"), (q, p, "back")):
                exact = theory.renyi(first, second, order)
                seen = own[f"{prefix}_{order:g}"][i]
                assert (math.isinf(exact) and math.isinf(seen)) or seen == pytest.approx(exact, rel=1e-7, abs=1e-12)


def test_a_planted_pair_outside_the_region_is_counted(region):
    wrong = region.head(100).copy()
    wrong.loc[7, "alpha"] = wrong.loc[7, "upper"] + 1e-6
    broken = violations(wrong)
    assert broken[~broken["article"]]["violations"].sum() > 0


def test_seeds_and_shares():
    assert attainable_region(300, seed=4).equals(attainable_region(300, seed=4))
    assert not attainable_region(300, seed=4).equals(attainable_region(300, seed=5))
    assert attainable_region(11)["family"].value_counts().max() == 2


def test_the_table_and_the_picture_are_written_whole(region, tmp_path):
    small = region.head(2000)
    back = pd.read_parquet(write_region(small, tmp_path / "region.parquet"))
    assert back.equals(small)
    picture = draw_region(region, tmp_path / "region.png")
    assert picture.stat().st_size > 50_000
    assert sorted(path.name for path in tmp_path.iterdir()) == ["region.parquet", "region.png"]
    with pytest.raises(DatasetError, match="cannot be written"):
        draw_region(small, tmp_path / "nowhere" / "region.png")


def ink(picture):
    """Share of the picture that is coloured."""
    from matplotlib.image import imread

    pixels = imread(picture)[..., :3]
    return float((pixels.max(axis=2) - pixels.min(axis=2) > 0.25).mean())


def test_a_few_dots_can_be_seen(tmp_path):
    """50 pairs: as dots of a cloud they were some hundred pale pixels."""
    few = draw_region(attainable_region(50), tmp_path / "few.png")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(report_region, "CLOUD", 50)  # as if they were many
        pale = draw_region(attainable_region(50), tmp_path / "pale.png")
    assert ink(few) > ink(pale) + 0.001


def test_table_and_picture_come_together_or_not_at_all(region, tmp_path, monkeypatch):
    def stopped(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(report_region, "draw_region", stopped)
    with pytest.raises(KeyboardInterrupt):
        report_region.write_both(region.head(100), tmp_path)
    assert list(tmp_path.iterdir()) == []


WRONG = [
    ({"pairs": 0}, "pairs"),
    ({"seed": -1}, "seed"),
    ({"families": ("bell",)}, "families"),
    ({"families": ()}, "families"),
]


@pytest.mark.parametrize(("arguments", "key"), WRONG)
def test_what_is_out_of_range_is_named(arguments, key):
    with pytest.raises(ParameterError) as caught:
        attainable_region(**arguments)
    assert caught.value.key == key
