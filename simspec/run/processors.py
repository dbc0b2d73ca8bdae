"""How many processors may this process use?  What affinity and container quotas leave, or what the user says."""

from __future__ import annotations

import math
import os
from pathlib import Path

from simspec.model.errors import ParameterError

VARIABLE = "SIMSPEC_THREADS"


def default_threads(root: Path = Path("/")) -> int:
    """Worker threads where none are asked for.

    ``SIMSPEC_THREADS`` if it is set; else the processors this process may run on (its affinity mask), and no more than
    its control group may use.  A quota of 1.5 processors gives 2 threads: one would leave half a processor idle, while
    two are merely slowed for the last third of each period.

    Parameters
    ----------
    root : Path
        Where ``proc`` and ``sys`` are found.

    Raises
    ------
    ParameterError
        ``SIMSPEC_THREADS`` is not a whole number of at least 1.
    """
    told = os.environ.get(VARIABLE, "").strip()
    if told:
        return _positive(told)
    quota = cpu_quota(root)
    return allowed_processors() if quota is None else min(allowed_processors(), max(1, math.ceil(quota)))


def _positive(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 10 and int(text) > 0):
        raise ParameterError(
            VARIABLE, f"{VARIABLE} = {text!r} is out of range; allowed: a whole number of at least 1, or unset"
        )
    return int(text)


def allowed_processors() -> int:
    """Processors in the affinity mask; all of the machine where there is no such mask."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def cpu_quota(root: Path = Path("/")) -> float | None:
    """Processors that the control groups of this process allow; None without a limit.

    The smallest over the process' own group and all above it, in both versions: ``cpu.max`` (v2) and
    ``cpu.cfs_quota_us`` over ``cpu.cfs_period_us`` (v1).

    Parameters
    ----------
    root : Path
        Where ``proc/self/cgroup`` and ``sys/fs/cgroup`` are found.
    """
    quotas = []
    for mount, group in _groups(root):
        for folder in (group, *group.parents):
            quotas.append(_quota_v2(mount / folder))
            quotas.append(_quota_v1(mount / folder))
    return min((quota for quota in quotas if quota is not None), default=None)


def _groups(root: Path) -> list[tuple[Path, Path]]:
    """(mount, group below it) of the process; inside a container the path may not exist, then its parents do."""
    mounts = root / "sys/fs/cgroup"
    groups = []
    for line in _read(root / "proc/self/cgroup").splitlines():
        _, controllers, path = ([*line.split(":", 2), "", ""])[:3]
        group = Path(path.lstrip("/"))
        if ".." in group.parts:  # another namespace's group: only the mount itself is known
            group = Path()
        if not controllers:
            groups.append((mounts, group))
            groups.append((mounts / "unified", group))
        elif "cpu" in controllers.split(","):
            groups.append((mounts / controllers, group))
            groups.append((mounts / "cpu", group))
    return groups


def _quota_v2(folder: Path) -> float | None:
    words = _read(folder / "cpu.max").split()
    return _ratio(words[0], words[1]) if len(words) == 2 else None


def _quota_v1(folder: Path) -> float | None:
    return _ratio(_read(folder / "cpu.cfs_quota_us"), _read(folder / "cpu.cfs_period_us"))


def _ratio(quota: str, period: str) -> float | None:
    """Quota ÷ period; None for ``max``, −1 and whatever is no number."""
    try:
        top, bottom = int(quota), int(period)
    except ValueError:
        return None
    return top / bottom if top > 0 and bottom > 0 else None


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""
