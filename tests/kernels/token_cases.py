"""Schemes on real tokens at usual places and at edges, for tests of every kind of agreement."""

from simspec.model import TokenChain
from simspec.model.schemes import Tokens

TARGET = ((0.5, 0.3, 0.2), (0.1, 0.6, 0.3), (0.3, 0.3, 0.4))
DRAFT = ((0.2, 0.3, 0.5), (0.3, 0.3, 0.4), (0.6, 0.2, 0.2))
OTHER = ((0.4, 0.4, 0.2), (0.2, 0.5, 0.3), (0.1, 0.1, 0.8))
GAPS = ((0.7, 0.0, 0.3), (0.0, 0.5, 0.5), (0.0, 1.0, 0.0))
SURE = ((0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (1.0, 0.0, 0.0))
PAIR = TokenChain(target=TARGET, draft=DRAFT)
SAME = TokenChain(target=TARGET, draft=TARGET)
"""α = 1."""
APART = TokenChain(
    target=((0.0, 0.5, 0.5), (1.0, 0.0, 0.0), (1.0, 0.0, 0.0)),
    draft=((1.0, 0.0, 0.0), (0.0, 0.4, 0.6), (0.0, 1.0, 0.0)),
)
"""α = 0: what one draws, the other never does."""
HOLES = TokenChain(target=TARGET, draft=GAPS)
SPARSE = TokenChain(target=GAPS, draft=DRAFT)
ZERO = TokenChain(target=SURE, draft=DRAFT)
"""Temperature 0."""
ONE = TokenChain(target=((1.0,),), draft=((1.0,),))
"""One token."""
PAIRS = (PAIR, SAME, APART, HOLES, SPARSE, ZERO, ONE)

LOSSLESS = [
    Tokens(),
    Tokens(rule="naive"),
    Tokens(rule="block"),
    Tokens(rule="lenient", lenience=1.0),
    Tokens(drafts="likeliest"),
    Tokens(rule="naive", drafts="likeliest"),
    Tokens(rule="block", drafts="likeliest"),
    Tokens(widths=(2, 1, 2)),
    Tokens(rule="naive", widths=(2, 1, 2)),
    Tokens(rule="rrs_wor", widths=(2, 1, 2)),
    Tokens(rule="kseq", widths=(3, 1, 2)),
    Tokens(rule="otm", widths=(2, 1, 2)),
    Tokens(rule="otm_wor", widths=(2, 1, 2)),
    Tokens(widths=(2, 2, 1), drafts="likeliest"),
    Tokens(rule="otm", widths=(2, 2, 1), drafts="likeliest"),
    Tokens(sequences=3),
    Tokens(rule="naive", sequences=3),
    Tokens(rule="kseq", sequences=3),
]
OF_TWO = [  # two draft models
    Tokens(sequences=2, others=(OTHER,)),
    Tokens(rule="naive", sequences=2, others=(OTHER,)),
    Tokens(widths=(2, 2, 2), others=(OTHER,)),
    Tokens(rule="naive", widths=(2, 2, 2), others=(OTHER,)),
    Tokens(rule="otm", widths=(2, 2, 2), others=(OTHER,)),
]
AT_ONCE = [  # all levels drafted at once
    Tokens(drafting="window"),
    Tokens(rule="block", drafting="window"),
    Tokens(widths=(2, 1, 2), drafting="window"),
    Tokens(rule="otm", widths=(2, 2, 1), drafting="window"),
    Tokens(widths=(2, 2, 1), drafts="likeliest", drafting="window"),
    Tokens(sequences=2, drafting="window"),
    Tokens(rule="kseq", sequences=2, drafting="window"),
    Tokens(widths=(2, 2, 2), others=(OTHER,), drafting="node"),
]
LOSSY = [
    Tokens(rule="typical", epsilon=0.3, delta=0.5, widths=(2, 2, 1), drafts="likeliest", drafting="window"),
    Tokens(rule="lenient", lenience=0.5),
    Tokens(rule="lenient", lenience=0.1, widths=(2, 1, 2)),
    Tokens(rule="lenient", lenience=0.5, sequences=2),
    Tokens(rule="typical"),
    Tokens(rule="typical", epsilon=0.3, delta=0.5, widths=(2, 2, 1)),
    Tokens(rule="typical", epsilon=1.0, delta=9.0),
    Tokens(rule="typical", epsilon=0.25, delta=9.0, widths=(2, 2, 2), others=(OTHER,)),
    Tokens(rule="typical", epsilon=0.25, delta=9.0, widths=(2, 1, 2), ends="greedy"),
]
"""The last one repeats itself on some pairs."""
REPEATING = (AT_ONCE[4], LOSSY[0])
"""Without any chance where the target has none."""
MEDUSA = Tokens(rule="typical", epsilon=0.3, delta=0.09, widths=(2, 2, 1), drafts="likeliest", ends="greedy")
"""Thresholds are defaults of two helper functions of Medusa's code, which no caller leaves so."""


def widest(scheme: Tokens) -> int:
    return max(scheme.widths or (1,))


def can_draft(scheme: Tokens, pair: TokenChain) -> bool:
    """Whether the pair has as many different drafts as the scheme asks for."""
    size = len(pair.target)
    if any(len(rows) != size for rows in scheme.others or ()):
        return False
    if scheme.drafts == "likeliest":
        return widest(scheme) <= size
    return not scheme.rule.endswith("wor") or widest(scheme) <= min(sum(own > 0 for own in row) for row in pair.draft)


TOKENS = [
    *((scheme, pair, 3) for scheme in LOSSLESS for pair in PAIRS if can_draft(scheme, pair)),
    *((scheme, pair, 3) for scheme in (*OF_TWO, *AT_ONCE, *LOSSY[:-1]) for pair in (PAIR, SPARSE, HOLES)),
    *((scheme, ZERO, 3) for scheme in (*OF_TWO, *AT_ONCE, *LOSSY[:-1]) if scheme not in REPEATING),
    *((LOSSY[-1], pair, 3) for pair in (PAIR, SAME)),
    *((MEDUSA, pair, 3) for pair in (PAIR, ZERO)),
    *((scheme, PAIR, 1) for scheme in (*LOSSLESS, *AT_ONCE, *LOSSY)),
    *((scheme, PAIR, 0) for scheme in (LOSSLESS[0], LOSSLESS[2], LOSSLESS[-1], LOSSY[0], AT_ONCE[0])),
    *((Tokens(rule=rule), PAIR, 5) for rule in ("rrs", "naive", "block", "typical")),
]
FEW = TOKENS[::7]
"""For tests that every scheme undergoes."""
