"""Time, memory and rate of every arm of simspec, on one thread."""

from __future__ import annotations

import arms
from timing import Play, sample

NAMES = [*arms.ARMS, *arms.POLICY_ARMS]
WINDOWS = 4_000_000
SAMPLES = 7


class _Arms:
    params = NAMES
    param_names = ("arm",)
    timeout = 300.0
    play: Play

    def setup(self, arm: str) -> None:
        """Build and compile; an arm that this commit cannot build is skipped."""
        try:
            self.play = arms.player(arm)
            self.play(arms.first_try(arm))
        except Exception as error:
            raise NotImplementedError(f"{type(error).__name__}: {error}") from error


class Time(_Arms):
    """Seconds for four million windows."""

    def time_windows(self, arm: str) -> None:
        """Play them."""
        self.play(WINDOWS)


class Memory(_Arms):
    """Peak memory of the process that plays four million windows."""

    def peakmem_windows(self, arm: str) -> None:
        """Play them."""
        self.play(WINDOWS)


class Rate(_Arms):
    """Windows per second, which stays comparable when the number of windows changes."""

    unit = "windows/s"

    def track_windows(self, arm: str) -> float:
        """The best of a few samples."""
        return 1e9 / min(sample(self.play, WINDOWS)[0] for _ in range(SAMPLES))
