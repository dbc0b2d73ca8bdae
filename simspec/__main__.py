"""``python -m simspec`` is ``simspec``."""

from simspec.cli.main import entry

if __name__ == "__main__":
    entry()
