"""What are decoding systems called, and with which published parameters were they run?  A table of data."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

COVERAGE = {
    "greedy": {
        "Alpaca": (0.68, 0.77, 0.81, 0.84, 0.85), "CP": (0.69, 0.79, 0.83, 0.86, 0.87),
        "WebQA": (0.62, 0.72, 0.77, 0.80, 0.82), "CIP": (0.70, 0.81, 0.85, 0.88, 0.89),
        "PIQA": (0.63, 0.75, 0.79, 0.83, 0.85),
    },
    "stochastic": {
        "Alpaca": (0.54, 0.81, 0.91, 0.95, 0.97), "CP": (0.56, 0.82, 0.92, 0.95, 0.97),
        "WebQA": (0.52, 0.80, 0.90, 0.94, 0.96), "CIP": (0.57, 0.84, 0.92, 0.95, 0.97),
        "PIQA": (0.55, 0.82, 0.91, 0.95, 0.97),
    },
}  # fmt: skip
"""How often the target's token is among the first 1 … 5 of a draft model, by data set: Miao et al. (2024), SpecInfer,
Table 1, LLaMA-68M for LLaMA-7B."""
COVERAGE_GREEDY, COVERAGE_STOCHASTIC = (
    tuple(round(sum(column) / len(rows), 4) for column in zip(*rows.values(), strict=True))
    for rows in COVERAGE.values()
)
"""Means of its five data sets."""
COVERAGE_MEDUSA = (
    (0.5604, 0.6717, 0.7271, 0.7599, 0.7799), (0.3164, 0.4236, 0.4851, 0.5282, 0.5625),
    (0.2010, 0.2879, 0.3475, 0.3834, 0.4169), (0.1474, 0.2250, 0.2737, 0.3109, 0.3397),
)  # fmt: skip
"""How often the token is among the first 1 … 5 of Medusa's heads 1 … 4, each by itself: Medusa's code,
assets/medusa_acc.csv, Vicuna-7B."""


def shares(coverage: Sequence[float], in_turn: bool = False) -> tuple[float, ...]:
    """What ranks 2, 3, … recover of the misses of rank 1; ``in_turn``: of the misses of all ranks before.

    Examples
    --------
    >>> shares((0.6, 0.8, 0.9)), shares((0.6, 0.8, 0.9), in_turn=True)
    ((0.5, 0.25), (0.5, 0.5))
    """
    own = []
    for before, after in itertools.pairwise(coverage):
        own.append(round((after - before) / (1.0 - (before if in_turn else coverage[0])), 4))
    return tuple(own)


@dataclass(frozen=True)
class System:
    """A decoding system: a scheme with the parameters it was published or released with.

    Attributes
    ----------
    names : tuple of str
        What it is called; case, spaces and dashes do not matter.
    scheme : str
        The ``type`` of its scheme.
    source : str
        Where its parameters stand.
    keys : mapping
        Parameters of the scheme, from the source unless they are in ``assumed``.
    assumed : mapping
        Parameter → what was put in its place where no source gives it, in words.
    asked : mapping
        Parameter without a usual value, which the scheme could do without and the system cannot → what is allowed.
    kappas : tuple of int
        κ of the source: drafts of a chain, nodes of a tree, masks of a block less one.
    figures : str
        Rates, prices and speeds as published; a scenario gives its own.
    """

    names: tuple[str, ...]
    scheme: str
    source: str
    keys: Mapping[str, Any] = field(default_factory=dict)
    assumed: Mapping[str, str] = field(default_factory=dict)
    asked: Mapping[str, str] = field(default_factory=dict)
    kappas: tuple[int, ...] = ()
    figures: str = ""


_RANKS = (
    "ranks 2 to 5 recover of the misses of rank 1 what they do for LLaMA-68M and LLaMA-7B, greedy (SpecInfer, Table "
    "1); this system's own are not published"
)
_BEYOND = f"{_RANKS}, and ranks 6 to 10 recover nothing"
_EAGLE_PARENTS = (0, 0, 0, 0, 1, 1, 1, 2, 2, 3, 3, 4, 5, 5, 5, 6, 6, 7, 7, 8, 13, 13, 13, 21, 21)
_EAGLE_RANKS = (1, 2, 3, 4, 1, 2, 3, 1, 2, 1, 2, 1, 1, 2, 3, 1, 2, 1, 2, 1, 1, 2, 3, 1, 2)
_GREEDY = shares(COVERAGE_GREEDY)
_TEN = (*_GREEDY, 0.0, 0.0, 0.0, 0.0, 0.0)
_HEADS = tuple(shares(own) for own in COVERAGE_MEDUSA)

SYSTEMS = (
    System(
        ("leviathan", "chen", "draft model", "speculative decoding", "speculative sampling"), "chain",
        "Leviathan et al. (2023), Tables 2 and 4; Chen et al. (2023)",
        kappas=(3, 4, 5, 7),
        figures="α .53 … .82, c .02 … .11 (T5): ×1.4 … 3.4; K = 4, c = .128 (Chinchilla): ×1.92 … 2.46",
    ),
    System(
        ("draft & verify", "draft and verify"), "self_draft",
        "Zhang et al. (2024): layers in between are skipped, so verification runs all of them again",
        {"reuse": False},
        figures="up to ×1.99 (Llama-2)",
    ),
    System(
        ("layerskip",), "self_draft",
        "Elhoushi et al. (2024); its README for Llama-2-7B: exit after 8 of 32 layers, 6 drafts",
        {"layers": 0.25, "reuse": True},
        kappas=(6,),
        figures="up to ×2.16 (CNN/DM), 1.82 (code)",
    ),
    System(
        ("kangaroo",), "self_draft",
        "Liu et al. (2024); its README for Vicuna-7B: exit after 2 of 32 layers, threshold .6, 6 drafts",
        {"layers": 0.0625, "reuse": True, "adapter": 0.03, "theta": 0.6, "rule": "confidence"},
        {"adapter": "adapter and head cost .03 of a plain step, their share of the weights: 67 M (its abstract) "
                    "and 131 M of 6,740 M"},
        kappas=(6,),
        figures="up to ×1.68 (Spec-Bench)",
    ),
    System(
        ("eagle", "eagle1"), "tree",
        "Li et al. (2024), EAGLE, Table 2; the static tree of its code: 25 nodes, 5 levels",
        {"parents": _EAGLE_PARENTS, "ranks": _EAGLE_RANKS, "misses": _GREEDY},
        {"misses": _RANKS},
        kappas=(25,),
        figures="chain 0-α … 4-α .79 .74 .72 .73 .67, 3.94 tokens per round of the tree (Vicuna-7B, T = 0)",
    ),
    System(
        ("eagle2",), "dynamic_tree",
        "Li et al. (2024), EAGLE-2: k = 10, 6 levels; 60, 50, 48 nodes for 7B, 13B, 70B; its code counts the root "
        "among them, and calls 6 levels depth = 5",
        {"breadth": 10, "depth": 6, "misses": _TEN},
        {"misses": _BEYOND},
        kappas=(48, 50, 60),
        figures="4.83 tokens per round, ×4.26 (Vicuna-13B, T = 0)",
    ),
    System(
        ("eagle3",), "dynamic_tree",
        "Li et al. (2025), EAGLE-3, appendix A: as many nodes as EAGLE-2, but 8 levels (depth = 7 in its code)",
        {"breadth": 10, "depth": 8, "misses": _TEN},
        {"misses": _BEYOND},
        kappas=(48, 50, 60),
        figures="6.65 tokens per round, ×5.58 (Vicuna-13B, T = 0)",
    ),
    System(
        ("mtp", "deepseek mtp"), "chain",
        "DeepSeek-V3 (2024): one module, one draft; GLM-5 uses it again for 4 drafts",
        kappas=(1, 4),
        figures="α .85 … .90, ×1.8 (K = 1); 2.76 tokens per round (K = 4, GLM-5)",
    ),
    System(
        ("parallel heads", "multi token prediction", "mtp heads"), "chain",
        "Gloeckle et al. (2024), section 3.2: 4 heads side by side, so 3 drafts by one step",
        {"drafting": "window"},
        kappas=(3,),
        figures="×3.0 (code, 2.5 of 3 drafts accepted), 2.7 (text)",
    ),
    System(
        ("medusa", "medusa1", "medusa2"), "tree",
        "Cai et al. (2024), section 2.3.3: the best tree by products of accuracies, 64 nodes with the root; 4 levels "
        "in its code",
        {"drafting": "window", "max_depth": 4, "misses": _HEADS},
        {"misses": "ranks 2 to 5 recover of the misses of rank 1 what they do for Medusa's heads 1 to 4, each counted "
                   "by itself (medusa_acc.csv, Vicuna-7B), and ranks 6 to 10 recover nothing"},
        kappas=(63,),
        figures="heads right with .56 .32 .20 .15, each by itself; ×2.18 (Medusa-1), 2.83 (Medusa-2, Vicuna-7B)",
    ),
    System(
        ("medusa typical",), "tokens",
        "Cai et al. (2024), sections 2.3.1 and 3.3.2: δ = √ε, ε from .01 to .25; .09 in its code; here a sampled chain",
        {"rule": "typical", "epsilon": 0.09},
    ),
    System(
        ("medusa typical released",), "tokens",
        "Medusa's code, medusa_generate: posterior_threshold = .09, posterior_alpha = .3; the heads' likeliest "
        "tokens and a greedy first token, so that nothing is drawn; a tree of 4 levels, here a chain without widths",
        {"rule": "typical", "epsilon": 0.09, "delta": 0.3, "drafts": "likeliest", "drafting": "window",
         "ends": "greedy"},
        kappas=(4,),
    ),
    System(
        ("specinfer",), "tree",
        "Miao et al. (2024), SpecInfer, section 6.1: widths ⟨1, 1, 3, 1, 1, 1, 1, 1⟩ (k for 3, 1 to 5, in section "
        "6.4); Table 1, stochastic, for the ranks (LLaMA-68M and LLaMA-7B)",
        {"siblings": "sequential", "widths": (1, 1, 3, 1, 1, 1, 1, 1),
         "misses": shares(COVERAGE_STOCHASTIC, in_turn=True)},
        kappas=(20,),
        figures="rank 1 covers .52 … .57, five .96 … .97; 2.08 … 2.26 tokens verified per step at k = 3 (Table 2)",
    ),
    System(
        ("spectr",), "tokens",
        "Sun et al. (2023), SpecTr: K-SEQ on K whole sequences; 8 of 8 drafts each for PaLM-2",
        {"rule": "kseq"},
        asked={"sequences": "1 to 64, K; or widths"},
        kappas=(8,),
        figures="K = 8: ×2.13, 1.37 times as fast as one sequence",
    ),
    System(
        ("sequoia",), "tree",
        "Chen et al. (2024), Sequoia: the best tree for a budget of nodes, 64 to 128 where the model fits the GPU",
        {"misses": _GREEDY},
        {"misses": _RANKS},
        kappas=(64, 128),
        figures="c = .021: 128 nodes, 10 levels: 5.08 tokens per round, ×4.04 (Llama-2-7B + 68M, C4, T = 0)",
    ),
    System(
        ("specdec++",), "stop",
        "Huang et al. (2024): stop where a rejection is likelier than h, θ = 1 − h; its code: h = .7 (sample.py) or .3 "
        "(README), 2 to 20 drafts, each judged a draft later, so that a round has one more",
        {"theta": 0.3, "rule": "survival", "kmin": 2},
        kappas=(20,),
        figures="c = .209: ×2.04 (Alpaca), 2.23 (HumanEval), 2.26 (GSM8K) with Llama-2-chat 7B/70B",
    ),
    System(
        ("disco", "dsd"), "stop",
        "Mamou et al. (2024); Hugging Face transformers: assistant_confidence_threshold = 0.4, at most 20 drafts",
        {"theta": 0.4, "rule": "confidence"},
        {"theta": "the confidence threshold .4 of Hugging Face's dynamic speculation; the paper trains a classifier"},
        kappas=(20,),
        figures="12.58 ms a token against 14.16 of the best fixed κ (MBPP)",
    ),
    System(
        ("p_min", "llama.cpp", "draft p min"), "stop",
        "llama.cpp until spring 2026, common/common.h: p_min = .75, at most 16 drafts; since: p_min = 0, at most 3, "
        "and a draft that fails is thrown away, not verified (pull request 22506): theta = 0, or submits = false",
        {"theta": 0.75, "rule": "confidence"},
        kappas=(16,),
    ),
    System(
        ("pearl",), "ahead",
        "Liu et al. (2025), PEARL: pre-verify and post-verify; γ = c_t/c_d",
        {"pre_verify": True},
        figures="up to ×4.43, 1.50 times as fast as in turns",
    ),
    System(
        ("dsi", "distributed speculative inference"), "parallel",
        "Timor et al. (2024), DSI: a target pass per ℓ drafts, on 1/(ℓ·c_d) copies of the target",
        figures="1.29 … 1.92 times as fast as in turns (simulated)",
    ),
    System(
        ("prompt lookup", "pld", "ngram"), "lookup",
        "Saxena (2023), Prompt Lookup Decoding: the last 3, 2 or 1 tokens looked up, 10 copied; how often the text "
        "matches is a property of the text (the scheme copy finds it on a token_chain)",
        kappas=(10,),
        figures="1.75 tokens per round, ×1.66 (Spec-Bench, Vicuna-7B, A100)",
    ),
    System(
        ("lookahead decoding",), "lookahead",
        "Fu et al. (2024), Table 4: N = 5, W = G = 15 for 7B models on an A100; its README and Spec-Bench say 5, 7, 7",
        {"candidates": 15, "window": 15},
        {"good": "every step has candidates (good = 1); the share of such steps is not published"},
        kappas=(4,),
        figures="×1.64 (MT-bench, 7B, A100); with 5, 7, 7: 1.64 tokens per round, ×1.34 (Spec-Bench, Vicuna-7B, A100)",
    ),
    System(
        ("bild", "big little decoder", "big little decoding"), "big_little",
        "Kim et al. (2023), BiLD; its code: fallback .6, rollback 5, at most 10 small tokens; takes a token_chain, or "
        "p_fallback",
        {"fallback": 0.6, "rollback": 5.0},
        kappas=(10,),
        figures="up to ×2.12 at about 1 point less (T4, one request)",
    ),
    System(
        ("llada",), "unmask",
        "Nie et al. (2025), LLaDA; generate.py: 128 tokens in one block and 128 passes",
        {"steps": 128},
        kappas=(127,),
    ),
    System(
        ("fast dllm",), "unmask",
        "Wu et al. (2025), Fast-dLLM: blocks of 32, confident from .9 on; α is the chance of that; its cache is not "
        "modelled",
        kappas=(31,),
    ),
)  # fmt: skip
"""Every system that a scenario may ask for by name."""

INSTEAD = {
    "widths": ("parents", "ranks", "max_depth", "sequences"),
    "parents": ("widths", "max_depth"),
    "max_depth": ("widths", "parents", "ranks"),
    "vectors": ("misses",),
    "p_fallback": ("fallback", "rollback"),
}
"""A parameter that is given → those of a system that it replaces, since both say the same thing."""


def plain(name: str) -> str:
    """A name without case, spaces and punctuation but +.

    Examples
    --------
    >>> plain("EAGLE-2"), plain("Draft & Verify"), plain("SpecDec++")
    ('eagle2', 'draftverify', 'specdec++')
    """
    return "".join(letter for letter in name.lower() if letter.isalnum() or letter == "+")


SYSTEM_OF = {plain(name): system for system in SYSTEMS for name in system.names}
"""Plain name → system."""


def published_table() -> list[str]:
    """A Markdown table of all systems, as in docs/systems.md.

    Examples
    --------
    >>> print(published_table()[4])
    | `layerskip` | `self_draft` | `layers` = 0.25, `reuse` = true | 6 | up to ×2.16 (CNN/DM), 1.82 (code) | Elhoushi \
et al. (2024); its README for Llama-2-7B: exit after 8 of 32 layers, 6 drafts |
    """
    lines = ["| `type` | scheme | parameters (* assumed) | κ | as published | source |", "|---|---|---|---|---|---|"]
    for own in SYSTEMS:
        keys = [*own.keys, *(key for key in own.assumed if key not in own.keys)]
        told = ", ".join(
            [f"`{key}`{'*' if key in own.assumed else ''}{_value(own.keys.get(key))}" for key in keys]
            + [f"`{key}` asked for" for key in own.asked]
        )
        names, kappas = ", ".join(f"`{name}`" for name in own.names), ", ".join(map(str, own.kappas))
        lines.append(
            f"| {names} | `{own.scheme}` | {told or '–'} | {kappas or '–'} | {own.figures or '–'} | {own.source} |"
        )
    return lines


def _value(value: Any) -> str:
    """`` = value`` as TOML writes it; how many entries for long lists, nothing for the default of the scheme."""
    if value is None:
        return ""
    if isinstance(value, tuple):
        if isinstance(value[0], tuple):
            return f", {len(value)} lists"
        return f" of {len(value)}" if len(value) > 9 else f" = [{', '.join(f'{entry:g}' for entry in value)}]"
    return f" = {str(value).lower()}" if isinstance(value, (bool, str)) else f" = {value:g}"
