"""How does a command take a pair of token laws by context?  A row per context, or one row for all."""

from __future__ import annotations

import argparse
from typing import Any

from simspec.cli.common import numbers

EXAMPLE = {
    "target": [[0.7, 0.2, 0.1], [0.2, 0.6, 0.2], [0.1, 0.3, 0.6]],
    "draft": [[0.5, 0.3, 0.2], [0.3, 0.4, 0.3], [0.2, 0.3, 0.5]],
}
"""Three tokens: a pair to look at, not a measured one."""
EXAMPLE_NOTE = (
    "the pair of models is an example over three tokens: give yours with --target-rows and --draft-rows, a row per "
    "context"
)


def add_pair(parser: argparse.ArgumentParser) -> None:
    """``--target-rows`` and ``--draft-rows``."""
    parser.add_argument(
        "--target-rows", nargs="+", action="append", default=None, metavar="P1,P2,…",
        help="instead of --alpha: next-token probabilities of the target model behind token 1; again for token 2, 3, "
        "…; given once: the same behind every token; default: an example, where --scheme needs real tokens",
    )  # fmt: skip
    parser.add_argument(
        "--draft-rows", nargs="+", action="append", default=None, metavar="Q1,Q2,…",
        help="the same of the draft (speculative, assistant) model; goes with --target-rows, default: its example",
    )  # fmt: skip


def pair_from(args: argparse.Namespace) -> dict[str, Any] | None:
    """The process that these options describe; None where they are not given.

    Raises
    ------
    ParameterError
        One of the two is missing, or a row holds no numbers.
    """
    from simspec.model.errors import ParameterError

    given = {"target_rows": args.target_rows, "draft_rows": args.draft_rows}
    if all(rows is None for rows in given.values()):
        return None
    for key, rows in given.items():
        if rows is None:
            flag, other = (f"--{name.replace('_', '-')}" for name in (key, *(own for own in given if own != key)))
            raise ParameterError(key, f"{flag} is missing; it goes with {other}")
    laws = {key: [numbers(key.replace("_", "-"), row) for row in rows] for key, rows in given.items()}
    many = max(len(row) for rows in laws.values() for row in rows)
    target, draft = (rows * many if len(rows) == 1 else rows for rows in laws.values())
    return {"type": "token_chain", "target": target, "draft": draft}
