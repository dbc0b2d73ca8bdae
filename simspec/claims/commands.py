"""How does a ``python -m simspec.claims.…`` end?  One line and an exit code, never a traceback for what a user did."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable
from pathlib import Path

from simspec.claims import stop_loading
from simspec.model import DatasetError, SimspecError
from simspec.run import store

STOPPED = 130


def ended(name: str, do: Callable[[], int]) -> int:
    """The exit code of a command: its own, 2 after bad input or a place that cannot be written, 130 if stopped."""
    if signal.getsignal(signal.SIGINT) is stop_loading:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        return do()
    except (SimspecError, OSError, UnicodeError) as error:
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"{name}: stopped; nothing half-written is left", file=sys.stderr)
        return STOPPED
    finally:
        signal.signal(signal.SIGTERM, before)


def check_place(folder: Path, known: str, ours: Callable[[Path], bool]) -> None:
    """Refuse a folder that holds something else, before any work; nothing is made.

    Raises
    ------
    DatasetError
        It is a file, lies in one, or holds files while ``ours`` does not know it.
    """
    for place in (folder, *folder.parents):
        if place.exists():
            if not place.is_dir():
                raise DatasetError(f"{folder}: {place} is a file; allowed: a new folder, or one that {known} wrote")
            break
    if folder.is_dir() and any(not entry.name.startswith(".") for entry in folder.iterdir()) and not ours(folder):
        raise DatasetError(f"{folder}: holds other files; allowed: a new folder, or one that {known} wrote")


def check_page(page: Path, heading: str, known: str) -> None:
    """Refuse to replace a page that does not begin with our heading.

    Raises
    ------
    DatasetError
        Another page stands there.
    """
    if page.is_file() and not page.read_text(encoding="utf-8", errors="replace").startswith(heading):
        raise DatasetError(f"{page}: is another page; allowed: a folder without it, or one that {known} wrote")


def write_all(folder: Path, makers: dict[str, Callable[[Path], object]]) -> None:
    """Write files of a folder: all are made beside it before the first takes its place.

    Raises
    ------
    DatasetError
        One cannot be written; those of before are then still there.
    """
    import os
    import shutil
    import uuid

    fresh = not folder.exists()
    store.make_folder(folder)
    building = folder / f".building-{uuid.uuid4().hex}"
    try:
        building.mkdir()
        for name, make in makers.items():
            make(building / name)
        for name in makers:
            os.replace(building / name, folder / name)
    except DatasetError as error:
        raise DatasetError(str(error).replace(str(building), str(folder))) from None
    except OSError as error:
        raise DatasetError(f"{folder}: cannot be written ({error.strerror or error})") from None
    finally:
        shutil.rmtree(building, ignore_errors=True)
        if fresh and not any(folder.iterdir()):
            folder.rmdir()
