"""Drafting is switched off where too little is accepted, for good or for a while."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from simspec.model.errors import ParameterError
from simspec.model.policies.policy import POLICY_KAPPA_LIMIT, Bounded, Policies

MEAN_LIMIT = 4096
"""Longest rolling mean: every lane remembers that many rounds."""


@Policies.add
class Gate(Bounded):
    """Drafting ends once too little of it is accepted: for good, or until the gate is tried again.

    Parameters
    ----------
    rounds : int
        Rounds of a stretch, or of the rolling mean.
    least : float
        What must be reached.  A share of drafts is no acceptance rate: at α = .7 it is .44 for κ = 4.
    of : str
        ``"stretch"``: accepted over drafted of a stretch of rounds; the next one begins with empty counts.
        ``"share"``: mean of accepted/drafted over the last rounds that drafted, judged after every round.
        ``"length"``: the same mean of accepted lengths.
    probe : int, optional
        Rounds after which a closed gate opens again, at κ = ``first`` and with nothing in its memory.  If left out: it
        never does.
    trial : int, optional
        Rounds before an opened gate is judged; if left out, ``rounds``.

    Notes
    -----
    A gate counts the rounds that it is told of: where news are late by d rounds, it stays closed for ``probe`` + d.
    As released, the mean is a running sum over the rounds, so that its last bits depend on rounds before these; they
    matter where it equals ``least``.

    References
    ----------
    TensorRT-LLM, tensorrt_llm/_torch/speculative/speculation_gate.py: ``"share"`` with
    ``acceptance_rate_window_size`` and ``acceptance_rate_threshold``, for good.  Earlier releases
    (``acceptance_window``, ``acceptance_length_threshold``) take the mean accepted length of each of the last completed
    requests; ``"length"`` is that by rounds, since a policy does not learn where a request ends.

    Examples
    --------
    >>> Gate(of="share", rounds=64, least=0.3, probe=256, trial=8).trial
    8
    """

    later = frozenset({"of"})
    type: Literal["gate"] = "gate"
    lowest: int = Field(default=0, ge=0, le=0, description="drafting may end")
    rounds: int = Field(default=32, ge=1, le=10**6, description="rounds of a stretch, or of the mean")
    least: float = Field(default=0.3, ge=0, le=POLICY_KAPPA_LIMIT, description="least share, or length, accepted")
    of: Literal["stretch", "share", "length"] = Field(default="stretch", description="what is held against it")
    probe: int | None = Field(default=None, ge=1, le=10**6, description="rounds after which it opens again")
    trial: int | None = Field(default=None, ge=1, le=10**6, description="rounds before an opened gate is judged")

    def __init__(self, /, *unnamed: Any, **data: Any) -> None:
        super().__init__(*unnamed, **data)
        if self.of != "length" and self.least > 1.0:
            told = f"least = {self.least:g} is no share of drafts"
            raise ParameterError("least", f'{told}; allowed: 0 ≤ least ≤ 1, or a length with of = "length"')
        if self.of != "stretch" and self.rounds > MEAN_LIMIT:
            told = f"rounds = {self.rounds} are too many for a rolling mean"
            raise ParameterError("rounds", f'{told}; allowed: rounds ≤ {MEAN_LIMIT}, or of = "stretch"')
        if self.probe is None and self.trial is not None:
            raise ParameterError("trial", f"trial = {self.trial} without probe has no meaning; allowed: both")
        if self.trial is not None and self.trial > self.rounds:
            told = f"trial = {self.trial} is above rounds = {self.rounds}"
            raise ParameterError("trial", f"{told}; allowed: trial ≤ rounds")
        if self.probe is not None and self.first == 0:
            raise ParameterError("first", "first = 0 leaves nothing to try again with; allowed: first ≥ 1 with probe")
