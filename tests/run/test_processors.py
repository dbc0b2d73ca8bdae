"""How many threads does a container, a mask or a user leave?"""

import pytest

from simspec.model import ParameterError
from simspec.run import processors
from simspec.run.processors import cpu_quota, default_threads


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """Write files of a pretended machine with eight processors; returns its root."""
    monkeypatch.delenv("SIMSPEC_THREADS", raising=False)
    monkeypatch.setattr(processors, "allowed_processors", lambda: 8)

    def make(files):
        for name, text in files.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text)
        return tmp_path

    return make


V2 = {"proc/self/cgroup": "0::/user.slice/job\n"}
V1 = {"proc/self/cgroup": "4:memory:/job\n3:cpu,cpuacct:/job\n0::/system\n"}
QUOTAS = {
    "no control groups": ({}, None, 8),
    "v2, no limit": (V2 | {"sys/fs/cgroup/user.slice/job/cpu.max": "max 100000\n"}, None, 8),
    "v2, two": (V2 | {"sys/fs/cgroup/user.slice/job/cpu.max": "200000 100000\n"}, 2.0, 2),
    "v2, one and a half": (V2 | {"sys/fs/cgroup/user.slice/job/cpu.max": "150000 100000\n"}, 1.5, 2),
    "v2, one and a quarter": (V2 | {"sys/fs/cgroup/user.slice/job/cpu.max": "125000 100000\n"}, 1.25, 2),
    "v2, a tenth": (V2 | {"sys/fs/cgroup/user.slice/job/cpu.max": "10000 100000\n"}, 0.1, 1),
    "v2, more than there are": (V2 | {"sys/fs/cgroup/user.slice/job/cpu.max": "9900000 100000\n"}, 99.0, 8),
    "v2, limited above": (
        V2
        | {
            "sys/fs/cgroup/user.slice/job/cpu.max": "max 100000\n",
            "sys/fs/cgroup/user.slice/cpu.max": "300000 100000\n",
        },
        3.0,
        3,
    ),
    "v2, in a container whose path is not mounted": (V2 | {"sys/fs/cgroup/cpu.max": "400000 100000\n"}, 4.0, 4),
    "v2, another namespace": (
        {"proc/self/cgroup": "0::/../../other\n", "sys/fs/cgroup/cpu.max": "400000 100000\n"},
        4.0,
        4,
    ),
    "v1, three": (
        V1
        | {
            "sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us": "300000\n",
            "sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us": "100000\n",
        },
        3.0,
        3,
    ),
    "v1, under its short name": (
        V1 | {"sys/fs/cgroup/cpu/cpu.cfs_quota_us": "50000\n", "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n"},
        0.5,
        1,
    ),
    "v1, no limit": (
        V1
        | {
            "sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us": "-1\n",
            "sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us": "100000\n",
        },
        None,
        8,
    ),
    "rubbish": (
        {"proc/self/cgroup": "what\n::\n0::/\n", "sys/fs/cgroup/cpu.max": "x y z\n"},
        None,
        8,
    ),
}


@pytest.mark.parametrize(("files", "quota", "threads"), QUOTAS.values(), ids=QUOTAS)
def test_a_quota_limits_the_threads(machine, files, quota, threads):
    root = machine(files)
    assert cpu_quota(root) == quota
    assert default_threads(root) == threads


def test_the_mask_limits_the_threads(machine, monkeypatch):
    root = machine(V2 | {"sys/fs/cgroup/user.slice/job/cpu.max": "400000 100000\n"})
    monkeypatch.setattr(processors, "allowed_processors", lambda: 2)
    assert default_threads(root) == 2


def test_the_user_has_the_last_word(machine, monkeypatch):
    root = machine(V2 | {"sys/fs/cgroup/user.slice/job/cpu.max": "200000 100000\n"})
    monkeypatch.setenv("SIMSPEC_THREADS", " 12 ")
    assert default_threads(root) == 12
    monkeypatch.setenv("SIMSPEC_THREADS", "")
    assert default_threads(root) == 2


@pytest.mark.parametrize("text", ["0", "-1", "1.5", "many", "²", "9" * 10])
def test_a_wrong_wish_is_one_clear_line(machine, monkeypatch, text):
    monkeypatch.setenv("SIMSPEC_THREADS", text)
    with pytest.raises(ParameterError, match=r"^SIMSPEC_THREADS = .* allowed: a whole number of at least 1"):
        default_threads(machine({}))


def test_this_machine_has_at_least_one():
    assert processors.allowed_processors() >= 1
    assert (cpu_quota() or 1) > 0
