"""simspec compare: do two result folders differ beyond chance?"""

from __future__ import annotations

import argparse
import os
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simspec.cli.common import add_json, number

if TYPE_CHECKING:
    from simspec.run.comparison import Comparison


def add(commands: argparse._SubParsersAction[Any]) -> None:
    """Define the command."""
    own = commands.add_parser(
        "compare",
        help="do two result folders differ beyond chance? exit code 1 if they do",
        description="Compare two folders that simspec run wrote, point by point and quantity by quantity, with one "
        "family-wise error (Holm). Exit code 0: no difference beyond chance; 1: they differ; 2: bad input, or no "
        "price in common.",
    )
    own.add_argument("a", help="a folder, e.g. results/before")
    own.add_argument(
        "b", nargs="?", default=None, help="the other folder, e.g. results/after (default with --policy: a)"
    )
    own.add_argument(
        "--policy", nargs=2, default=(), metavar=("X", "Y"),
        help="compare who chooses κ: policy X of the first folder against policy Y of the other, by their names in "
        "simspec show, e.g. rolling heuristic; a number is a fixed κ (default: simulations that both folders have; of "
        "two folders with one policy each, these)",
    )  # fmt: skip
    own.add_argument(
        "--error", type=number, default=1e-3, metavar="X",
        help="probability of any false alarm in the whole comparison, default 0.001",
    )  # fmt: skip
    own.add_argument(
        "--shift", type=number, default=0.002, metavar="X",
        help="relative shift of E[A] whose budget is printed, default 0.002",
    )  # fmt: skip
    own.add_argument("--junit", default=None, metavar="FILE", help="write a JUnit XML report (default: none)")
    add_json(own)
    own.set_defaults(do=do)


def do(args: argparse.Namespace) -> int:
    """Compare, write, print."""
    from simspec.cli.common import print_json
    from simspec.model import DatasetError, ParameterError
    from simspec.run.compare import compare
    from simspec.run.comparison import NO_PRICE

    if args.b is None and not args.policy:
        raise ParameterError("b", "b, the other folder, is missing; allowed: two folders, or one and --policy X Y")
    found = compare(args.a, args.a if args.b is None else args.b, args.error, args.shift, args.policy)
    if args.junit is not None:
        write_junit(found, Path(args.junit))
    if args.json:
        print_json(found.to_dict())
    else:
        print(found)
    if not found.same_price and not found.differs:
        raise DatasetError(f"{found.a} and {found.b}: {NO_PRICE}; allowed: folders with a price in common")
    return 1 if found.differs else 0


def junit(found: Comparison) -> bytes:
    """JUnit XML: a test case per simulation (or point) and κ, skipped ones for what was left out."""
    from xml.etree import ElementTree

    from simspec.text import clean

    suite = ElementTree.Element("testsuite", name=clean(f"simspec compare {found.a} {found.b}"))
    cases: dict[tuple[str, str | None, int], ElementTree.Element] = {}
    failed: dict[tuple[str, str | None, int], list[str]] = {}
    for row in found.rows:
        key = (row.simulation_id, row.point_id, row.kappa)
        if key not in cases:
            where = {"classname": clean(found.name(row)), "name": f"κ = {row.kappa}"}
            cases[key] = ElementTree.SubElement(suite, "testcase", where)
        if row.differs:
            failed.setdefault(key, []).append(
                f"{row.quantity}: {row.a!r} against {row.b!r}, difference {row.difference:.6g} ± {row.error:.3g}, "
                f"p = {row.p_value:.2e}, adjusted {row.p_holm:.2e}, allowed error {found.error:g}"
            )
    for key, lines in failed.items():
        ElementTree.SubElement(cases[key], "failure", message=lines[0]).text = "\n".join(lines)
    for entry in found.left_out:
        case = ElementTree.SubElement(suite, "testcase", classname="left out", name=clean(entry.what))
        ElementTree.SubElement(case, "skipped", message=clean(entry.why))
    suite.set("tests", str(len(suite)))
    suite.set("failures", str(len(failed)))
    suite.set("errors", "0")
    suite.set("skipped", str(len(found.left_out)))
    text: bytes = ElementTree.tostring(suite, encoding="utf-8", xml_declaration=True)
    return text


def write_junit(found: Comparison, path: Path) -> None:
    """Write the report whole or not at all."""
    from simspec.model import DatasetError

    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp") if path.name else path
    try:
        temporary.write_bytes(junit(found))
        os.replace(temporary, path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise DatasetError(f"{path}: cannot be written ({error.strerror or error})") from None
