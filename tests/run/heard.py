"""What is a user told while a run is at work?"""

from simspec.run.progress import Progress


class Heard(Progress):
    """Keeps the lines that it is told at once."""

    def __init__(self):
        super().__init__(quiet=True)
        self.lines = []

    def note(self, line):
        self.lines.append(line)
