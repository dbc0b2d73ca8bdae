"""An installation that is not sound says so, and what is wrong."""

import subprocess
import sys
from pathlib import Path

import pytest

from simspec.cli.main import main
from simspec.run import doctor

ROOT = Path(__file__).parents[2]


def test_this_installation_is_sound(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(doctor, "SPEED_WINDOWS", 2**20)
    assert main(["doctor", "--results", str(tmp_path / "results")]) == 0
    out = capsys.readouterr().out
    assert out.count("as they must be (stream version 2)") == len(doctor.KNOWN)
    assert "BAD" not in out
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("wrong", ["words", "kernels", "files"])
def test_what_is_not_sound_is_said(wrong, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(doctor, "SPEED_WINDOWS", 2**20)
    place = tmp_path
    if wrong == "words":
        simulation, kappa, accepted, squares = doctor.KNOWN["a policy"]
        monkeypatch.setitem(doctor.KNOWN, "a policy", (simulation, kappa, accepted + 1, squares))
    elif wrong == "kernels":
        from simspec.kernels import twin

        play = twin.play

        def other(*own):
            tally = play(*own)
            tally.sums[3, 1] += 1
            return tally

        monkeypatch.setattr(twin, "play", other)
    else:
        place = tmp_path / "file"
        place.write_text("x")

        def shut(*_, **__):
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr(doctor.tempfile, "TemporaryDirectory", shut)
    assert main(["doctor", "--results", str(place)]) == 1
    assert capsys.readouterr().out.count("BAD") == 1


def test_what_doctor_finds_does_not_hang_on_assertions(tmp_path):
    """python -O drops assert statements."""
    words = "from simspec.run import doctor; own = doctor.KNOWN; one = own['a policy']; "
    words += "own['a policy'] = (*one[:3], one[3] + 1)"
    call = f"{words}; print([f.what for f in doctor.examine({str(tmp_path)!r}) if not f.sound])"
    done = subprocess.run([sys.executable, "-O", "-c", call], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == "['random words, a policy']"
