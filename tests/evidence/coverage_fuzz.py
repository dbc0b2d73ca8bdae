"""Coverage-guided fuzzing of the readers, by hand: pip install atheris, then

    python tests/evidence/coverage_fuzz.py -max_total_time=600 CORPUS

CORPUS is a folder; it is filled with the samples of the tests if it is empty.
"""

import sys
import tempfile
from pathlib import Path


def main():
    """Until the time is over, or a reader crashes, hangs, or gives a number that cannot be."""
    import atheris  # only here: the tests do without

    with atheris.instrument_imports(include=["simspec.evidence"]):
        from test_fuzz import check
        from writers import SAMPLES
    for corpus in (Path(argument) for argument in sys.argv[1:] if not argument.startswith("-")):
        corpus.mkdir(exist_ok=True)
        if not any(corpus.iterdir()):
            for name, text in SAMPLES.items():
                (corpus / name).write_text(text)
    with tempfile.TemporaryDirectory() as folder:
        atheris.Setup(sys.argv, lambda data: check(Path(folder), data))
        atheris.Fuzz()


if __name__ == "__main__":
    main()
