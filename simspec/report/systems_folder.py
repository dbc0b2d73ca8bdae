"""How do all systems of a scenario compare?  ``python -m simspec.report.systems_folder FOLDER`` writes it.

The folder gets ``systems.parquet`` (the estimates at every κ, without the volatile origin of a run), ``README.md`` and
``systems.png``.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pyarrow.parquet as pq

from simspec.claims.commands import check_page, check_place, ended, write_all
from simspec.model import DatasetError, Scenario
from simspec.report.systems import picture, rows
from simspec.run import store
from simspec.run.dataset import Dataset
from simspec.run.processors import default_threads
from simspec.run.sweep import sweep
from simspec.run.systems import FOOT, HEADER, System, cost_of, families, remarks, sentence
from simspec.text import clean, wrapped

COMMAND = "python -m simspec.report.systems_folder"
HEADING = "# Every way to draft and to verify, on one pair"
FOLDER, SCENARIO = Path("results") / "systems", "scenarios/systems.toml"
BESIDE = {
    "lossless.md": "\n[lossless.md](lossless.md): which rules keep the target's law, and how far off the others are.",
    "published.md": "\n[published.md](published.md): what published runs gave, beside what is predicted.",
}
"""Other tables that a folder may hold."""
TABLE, PAGE, PICTURE = "systems.parquet", "README.md", "systems.png"


def write(scenario: Scenario, folder: Path, source: str) -> list[System]:
    """Run a scenario and write its systems into a folder; files of these names are replaced, others are left alone.

    Parameters
    ----------
    scenario : Scenario
        With several schemes at one price.
    folder : Path
    source : str
        What the scenario is called in the text.

    Raises
    ------
    DatasetError
        The folder cannot be written, or there is nothing to compare.
    """
    check_place(folder, COMMAND, lambda _: True)  # other files may lie there
    check_page(folder / PAGE, HEADING, COMMAND)
    with tempfile.TemporaryDirectory() as place:
        data = sweep(scenario, Path(place) / "run", default_threads())
        if data.failed:
            raise DatasetError(f"{data.failed[0]['process']}: {data.failed[0]['error']}")
        found = families(data.systems())
        if len(found) != 1 or len(found[0]) < 2:
            raise DatasetError(f"{source}: holds nothing to compare; allowed: several schemes at one price")
        text = page(data, found[0], source, folder)
        write_all(
            folder,
            {
                TABLE: lambda path: store.write_table(_table(data), path),
                PICTURE: lambda path: picture(found[0], path),
                PAGE: lambda path: path.write_text(text, encoding="utf-8"),
            },
        )
    return found[0]


def _table(data: Dataset) -> pq.ParquetFile:
    import pyarrow as pa

    parts = sorted((data.path / "estimates").glob("part-*.parquet"))
    return pa.concat_tables([pq.read_table(part) for part in parts]).unify_dictionaries()


def page(data: Dataset, family: Sequence[System], source: str, folder: Path) -> str:
    """The text beside the figure."""
    scenario = data.scenario
    lines = [
        HEADING,
        "",
        wrapped(
            f"`{source}` at {cost_of(family[0].row)}; {scenario.windows:,} windows per scheme and κ, seed "
            f"{scenario.seed}, intervals at {scenario.level:.0%}.  `{COMMAND} {folder.as_posix()}"
            f"{'' if source == SCENARIO else f' --scenario {source}'}` makes this "
            f"folder anew; the estimates at every κ are in `{TABLE}`.  What a system cannot share with the others, and "
            "what is assumed in its place, stands beside its process in the scenario.",
        ),
        "",
        wrapped(f"**{sentence(family)}.**"),
        "",
        f"![speed-up, dear answers and tokens of a round]({PICTURE})",
        "",
        *_markdown(("system", "on", *HEADER[1:]), rows(family)),
        "",
        wrapped(f"{FOOT[0].upper()}{FOOT[1:]}"),
        "",
        *(wrapped(f"* {text}.", "", "  ") for text in remarks(family)),
        *[text for name, text in BESIDE.items() if (folder / name).is_file()],
    ]
    return "\n".join(lines) + "\n"


def _markdown(header: Sequence[str], body: Sequence[Sequence[str]]) -> list[str]:
    lines = [header, ["---"] * len(header), *body]
    return ["| " + " | ".join(clean(cell).replace("|", "/") for cell in line) + " |" for line in lines]


def stored(folder: Path) -> list[dict[str, object]]:
    """The estimates that a folder holds, as rows.

    Raises
    ------
    DatasetError
        There are none, or they cannot be read.
    """
    path = folder / TABLE
    try:
        found: list[dict[str, object]] = pq.read_table(path).to_pylist()
    except (OSError, ValueError) as error:
        raise DatasetError(f"{path}: cannot be read ({error})") from None
    return found


def scenario_of(folder: Path) -> Scenario:
    """The scenario that made a folder, as its table says."""
    note = (pq.read_schema(folder / TABLE).metadata or {})[b"simspec"]
    return Scenario.from_dict(json.loads(note)["scenario"])


def main(words: Sequence[str] | None = None) -> int:
    """Write the folder: 0 written, 2 bad input or place, 130 stopped."""
    own = argparse.ArgumentParser(prog=COMMAND, description=(__doc__ or "").splitlines()[0])
    own.add_argument("folder", type=Path, nargs="?", default=FOLDER, help="where the files go; default %(default)s")
    own.add_argument("--scenario", default=SCENARIO, metavar="FILE", help="several schemes at one price; default "
                     "%(default)s")  # fmt: skip
    own.add_argument("--windows", type=int, default=None, metavar="N", help="rounds per scheme and κ; default: the "
                     "scenario's")  # fmt: skip
    args = own.parse_args(words)
    return ended(COMMAND, lambda: _write(args.folder, args.scenario, args.windows))


def _write(folder: Path, source: str, windows: int | None) -> int:
    print(sentence(write(Scenario.from_toml(source, windows=windows), folder, source)))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
