"""Drafts of real tokens, judged token by token: chains, trees and several sequences, under every rule."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from simspec.model.base import Probability
from simspec.model.chains import Row, check_stochastic, normalised
from simspec.model.errors import ParameterError
from simspec.model.loss import Loss
from simspec.model.rounds import DraftLaw, RoundTable
from simspec.model.schemes.drafting import Drafting
from simspec.model.schemes.scheme import Schemes
from simspec.model.token_rules import (
    TURNS,
    Judge,
    ahead,
    distinct,
    in_turn,
    likeliest,
    matching,
    one_hot,
    transport,
    typical_tokens,
)
from simspec.model.token_rules.rounds import Laws, Rows, TokenRounds, greedy_rows

Rule = Literal["rrs", "rrs_wor", "naive", "kseq", "otm", "otm_wor", "lenient", "typical", "block"]
SEVERAL_LAWS = ("rrs", "naive", "otm", "lenient", "typical")
"""Rules whose drafts may differ in law."""
OF_SEQUENCES = ("rrs", "naive", "kseq", "lenient")
LOSSY = ("lenient", "typical")
_OWN = {"lenience": "lenient", "epsilon": "typical", "delta": "typical", "ends": "typical"}
"""Parameters of one rule alone."""
MOST = 64
"""Drafts of one position."""


@Schemes.add
class Tokens(Drafting):
    """κ levels of drafts on the token laws of a ``token_chain``, the context being the last emitted token.

    Parameters
    ----------
    rule : str
        How drafts are judged.  ``"rrs"``: speculative sampling, of several drafts one after the other (multi-step
        rejection).  ``"rrs_wor"``: the same with drafts that differ.  ``"naive"``: kept if the target draws the same.
        ``"kseq"``: SpecTr's K-SEQ with its best ρ.  ``"otm"``, ``"otm_wor"``: the best any lossless rule can do with
        independent or distinct drafts.  ``"block"``: block verification of a chain.  Lossy: ``"lenient"`` keeps with
        min(1, p/(l·q)); ``"typical"`` keeps what the target finds likely enough, p > min(ε, δe^(−H)).
    widths : list of int
        Drafts per node at depth 1, 2, … (SpecInfer's expansion vector); 1 everywhere if left out.
    sequences : int
        Instead: whole sequences of κ drafts, merged where they agree; a node's drafts are the next tokens of the
        sequences that agree with the path so far.
    others : list of matrices
        Further draft models: draft 2, 3, … of a node, or sequence 2, 3, …, is theirs, in this order.
    drafts : {"sampled", "likeliest"}
        Whether drafts are drawn, or the likeliest tokens are taken (argmax, top-k).
    drafting : {"depth", "window", "node"}
        Whether a draft step is paid per level, for all levels at once, or per drafted token.  In the second case drafts
        do not know each other (Medusa's heads): at depth j the law is that of the draft's j-th token from the last
        emitted one, whatever stands between.
    lenience : float
        l, 0 < l ≤ 1; 1 is lossless.
    epsilon, delta : float
        ε, .09 if left out, and δ, √ε if left out.
    ends : {"target", "greedy"}
        Whether the token behind the typical drafts is drawn from the target or is its likeliest one (Medusa, where it
        is the first token of the next step).  It says nothing of κ = 0, which is plain decoding: the token is drawn.

    Notes
    -----
    Greedy decoding (temperature 0) is a ``token_chain`` whose target rows are 0 and 1.  c_v is paid per
    drafted token: κ per sequence, or every node of the tree, also where two drafts of a node agree.

    References
    ----------
    Leviathan, Kalman, Matias (2023), Algorithm 1 and appendix A.5; Miao et al. (2024), SpecInfer, Algorithm 2; Sun et
    al. (2023), SpecTr, Algorithms 2 and 3; Jeon et al. (2024), Recursive Speculative Decoding; Cai et al. (2024),
    Medusa, section 2.3.1; Sun et al. (2025), Block Verification.

    Examples
    --------
    >>> laws = DraftLaw((), tokens=((0.7, 0.3), (0.4, 0.6)), drafts=((0.5, 0.5),) * 2)
    >>> sorted({kind.accepted for kind in Tokens(widths=[2, 2]).rounds(laws, 2).kinds})
    [0, 1, 2]
    """

    usual_kappas: ClassVar[tuple[int, ...]] = tuple(range(7))

    type: Literal["tokens"] = "tokens"
    rule: Rule = "rrs"
    widths: tuple[Annotated[int, Field(ge=1, le=MOST)], ...] | None = Field(
        default=None, description="drafts per node at depth 1, 2, …"
    )
    sequences: Annotated[int, Field(ge=1, le=MOST)] | None = Field(default=None, description="whole drafted sequences")
    others: tuple[tuple[Row, ...], ...] | None = Field(default=None, description="further draft models, a matrix each")
    drafts: Literal["sampled", "likeliest"] = "sampled"
    lenience: Annotated[float, Field(gt=0.0, le=1.0)] | None = Field(default=None, description="l of lenience")
    epsilon: Probability | None = Field(default=None, description="hard threshold of typical acceptance")
    delta: Annotated[float, Field(ge=0.0, le=1e9)] | None = Field(default=None, description="threshold by entropy")
    ends: Literal["target", "greedy"] | None = Field(default=None, description="the token behind typical drafts")

    @property
    def lossless(self) -> bool:
        return self.rule not in LOSSY or (self.rule == "lenient" and self.lenience == 1.0)

    @property
    def loses(self) -> Loss | None:
        if self.lossless:
            return None
        return Loss("distance in total variation between pairs of tokens here and in the target's text", counted=False)

    @model_validator(mode="after")
    def _fits(self) -> Tokens:
        for key, rule in _OWN.items():
            if getattr(self, key) is not None and self.rule != rule:
                raise ParameterError(key, f'{key} has no meaning for rule = "{self.rule}"; allowed: rule = "{rule}"')
        if self.heads > 1:
            told = f"heads = {self.heads} has no meaning for real tokens"
            raise ParameterError("heads", f'{told}; allowed: drafting = "window", all levels at once')
        if self.rule == "lenient" and self.lenience is None:
            raise ParameterError("lenience", "lenience is missing; allowed: 0 < lenience ≤ 1")
        if self.widths == ():
            raise ParameterError("widths", "widths = [] is empty; allowed: a width ≥ 1 per depth")
        if self.widths is not None and self.sequences is not None:
            raise ParameterError("sequences", "sequences beside widths; allowed: one of them")
        self._check_rule()
        if self.others == ():
            raise ParameterError("others", "others = [] is empty; allowed: a matrix per further draft model")
        for i, rows in enumerate(self.others or ()):
            check_stochastic(f"others[{i}]", rows)
        return self

    def _check_rule(self) -> None:
        """Raise unless the rule has a meaning for what is drafted."""
        many = self.sequences or 1
        if self.rule == "block" and (many > 1 or max(self.widths or (1,)) > 1 or self.others):
            raise ParameterError("rule", 'rule = "block" verifies one chain; allowed: no widths, sequences or others')
        if many > 1 and self.rule not in OF_SEQUENCES:
            told = f'rule = "{self.rule}" has no meaning for several sequences'
            raise ParameterError("rule", f"{told}; allowed: {', '.join(OF_SEQUENCES)}, or widths")
        if self.sequences is not None and self.drafts == "likeliest":
            raise ParameterError("drafts", 'drafts = "likeliest" makes all sequences the same; allowed: widths')
        if self.others and self.rule not in SEVERAL_LAWS:
            told = f'others has no meaning for rule = "{self.rule}", whose drafts have one law'
            raise ParameterError("others", f"{told}; allowed: {', '.join(SEVERAL_LAWS)}")
        if self.others and self.drafts == "likeliest":
            raise ParameterError("others", 'others has no meaning for drafts = "likeliest"; allowed: one draft model')
        widest, models = max(self.widths or (many,)), 1 + len(self.others or ())
        if self.others and widest != models:
            key = "sequences" if self.widths is None else "widths"
            raise ParameterError(key, f"{key} leads to {widest} drafts of {models} models; allowed: one per model")
        if self.drafts == "likeliest" and self.rule in ("kseq", "rrs_wor", "otm_wor"):
            told = f'drafts = "likeliest" has no meaning for rule = "{self.rule}"'
            raise ParameterError("drafts", f'{told}; allowed: rule = "rrs", which then keeps what the target draws')

    def width(self, depth: int) -> int:
        """Drafts of a node whose children stand at ``depth``, from 1 on."""
        return 1 if self.widths is None else self.widths[depth - 1]

    def nodes(self, kappa: int) -> int:
        """Drafted tokens of κ levels."""
        if self.widths is None:
            return kappa * (self.sequences or 1)
        return sum(math.prod(self.widths[:depth]) for depth in range(1, kappa + 1))

    def rounds(self, draft: DraftLaw, kappa: int) -> RoundTable:
        return self.table(draft, kappa)

    def table(self, draft: DraftLaw, kappa: int, paths: bool = False) -> RoundTable:
        """The table of a round; with ``paths`` the mark of a kind spells its tokens (`token_rules.rounds.spelt`)."""
        if draft.tokens is None or draft.drafts is None:
            raise ParameterError("process", 'the process has no tokens; allowed: type = "token_chain"')
        target, models = draft.tokens, [draft.drafts, *(normalised(rows) for rows in self.others or ())]
        self._check_size(draft, kappa)
        nodes, unseen = self.nodes(kappa), self.drafting == "window"
        own = TokenRounds(target, kappa, nodes, self.steps(kappa, nodes), unseen, paths)
        laws = self._laws([ahead(rows, kappa if unseen else 1) for rows in models], unseen)
        if self.rule == "block":
            return own.by_blocks(laws)
        if self.rule == "typical":
            ends = greedy_rows(target) if self.ends == "greedy" else target
            passes = [typical_tokens(row, self.used_epsilon, self.used_delta) for row in target]
            return own.by_levels(laws, passes, ends)
        judges: dict[str, Callable[[], Judge]] = {
            "rrs": lambda: in_turn(TURNS["rrs"]),
            "rrs_wor": lambda: distinct,
            "naive": lambda: matching,
            "kseq": lambda: in_turn(TURNS["kseq"], remember=self.sequences is not None),
            "otm": lambda: transport(),
            "otm_wor": lambda: transport(unlike=True),
            "lenient": lambda: in_turn(partial(TURNS["lenient"], lenience=self.lenience)),
        }
        return own.by_position(
            judges[self.rule](), laws, self.sequences, alike=self.sequences is not None and not self.others
        )

    @property
    def used_epsilon(self) -> float:
        return 0.09 if self.epsilon is None else self.epsilon

    @property
    def used_delta(self) -> float:
        return math.sqrt(self.used_epsilon) if self.delta is None else self.delta

    def _laws(self, models: Sequence[Sequence[Rows]], unseen: bool) -> Laws:
        """Laws of the drafts of a node, from those of each model by how far ahead it drafts."""

        def laws(context: int, depth: int, live: tuple[int, ...]) -> Rows:
            own = [model[depth if unseen else 0][context] for model in models]
            if self.sequences is not None:
                return [own[i if self.others else 0] for i in live or (0,)]
            many = self.width(depth + 1)
            if self.drafts == "likeliest":
                return [one_hot(token, len(own[0])) for token in likeliest(own[0], many)]
            return [own[i if self.others else 0] for i in range(many)]

        return laws

    def _check_size(self, draft: DraftLaw, kappa: int) -> None:
        """Raise unless there are levels for κ and tokens for every draft."""
        assert draft.drafts is not None
        if self.widths is not None and kappa > len(self.widths):
            most = len(self.widths)
            raise ParameterError(
                "kappa", f"kappa = {kappa} is beyond the {most} levels of widths; allowed: 0 to {most}"
            )
        for i, rows in enumerate(self.others or ()):
            if len(rows) != len(draft.drafts):
                told = f"others[{i}] has {len(rows)} contexts, the target {len(draft.drafts)}"
                raise ParameterError(f"others[{i}]", f"{told}; allowed: as many")
        widest = max((self.width(depth) for depth in range(1, kappa + 1)), default=1)
        if self.rule in ("rrs_wor", "otm_wor") or self.drafts == "likeliest":
            for context, row in enumerate(draft.drafts):
                there = len(row) if self.drafts == "likeliest" else sum(own > 0.0 for own in row)
                if widest > there:
                    told = f"widths asks for {widest} different drafts where context {context} has {there}"
                    raise ParameterError("widths", f"{told}; allowed: at most {there}")
