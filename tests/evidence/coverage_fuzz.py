"""Coverage-guided fuzzing of the readers, by hand: pip install atheris, then

    python tests/evidence/coverage_fuzz.py -max_total_time=600 CORPUS

CORPUS is a folder; it is filled with the samples of the tests if it is empty.  Every input is read as a file; and it is
taken as the damage to one line of a sample whose figures are tied to one another, which must not give a wrong number in
silence.
"""

import sys
import tempfile
from pathlib import Path

LONGEST_DAMAGE, LONGEST_PIECE = 40, 24


def damage(data, samples):
    """Sample, line, place, size and what stands there then, by the bytes of the input."""
    text = samples[data[0] % len(samples)]
    lines = text.split(b"\n")
    line = data[1] % len(lines)
    start = int.from_bytes(data[2:4], "little") % (len(lines[line]) + 1)
    return text, line, start, data[4] % LONGEST_DAMAGE, data[5 : 5 + LONGEST_PIECE]


def main():
    """Until the time is over, or a reader crashes, hangs, or gives a number that cannot be."""
    import atheris  # only here: the tests do without

    with atheris.instrument_imports(include=["simspec.evidence"]):
        from test_fuzz import BYTES, KNOWN, REDUNDANT, check, silently_wrong
    samples = [BYTES[shape] for shape in REDUNDANT]
    for corpus in (Path(argument) for argument in sys.argv[1:] if not argument.startswith("-")):
        corpus.mkdir(exist_ok=True)
        if not any(corpus.iterdir()):
            for name, text in BYTES.items():
                (corpus / name).write_bytes(text)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)

        def one(data):
            check(place, data)
            if len(data) > 4:
                assert silently_wrong(place, *damage(data, samples), KNOWN) is None

        atheris.Setup(sys.argv, one)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
