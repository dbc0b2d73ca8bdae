"""How are drafts of real tokens judged?  One rule per way, each of which fills its part of a table of rounds."""

from simspec.model.token_rules.blocks import block
from simspec.model.token_rules.in_turn import TURNS, distinct, in_turn, typical
from simspec.model.token_rules.levels import typical_levels
from simspec.model.token_rules.positions import Judge, matching, one_position, settle
from simspec.model.token_rules.transports import transport
from simspec.model.token_rules.walk import Outcomes, Walk, ahead, likeliest, one_hot, typical_tokens

__all__ = [
    "TURNS",
    "Judge",
    "Outcomes",
    "Walk",
    "ahead",
    "block",
    "distinct",
    "in_turn",
    "likeliest",
    "matching",
    "one_hot",
    "one_position",
    "settle",
    "transport",
    "typical",
    "typical_levels",
    "typical_tokens",
]
