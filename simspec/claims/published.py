"""Which figures have others published?  Numbers only, each with its source, what it measures, and its error if known.

Definitions differ between sources, so each table says which one it holds: survival S_j (of all rounds) or conditional
rates (of the rounds that got there), with or without the bonus token, chain or tree.  "Computed" marks figures obtained
here from a published per-request file, with errors between requests.
"""

from __future__ import annotations

from dataclasses import dataclass

UNKNOWN = 0
"""Number of rounds where the source gives none: then no error is known."""


@dataclass(frozen=True)
class Profile:
    """How far rounds got: S_1 … S_κ of all rounds, the bonus token not counted.

    Attributes
    ----------
    source, system : str
    survival : tuple of float
        S_j, not conditional.
    rounds : int
        Rounds behind it; `UNKNOWN` if the source does not say.
    tree : bool
        Several candidates per position: S_j is that of the best branch, and no single α stands behind it.
    digits : int
        Decimals as printed.
    """

    source: str
    system: str
    survival: tuple[float, ...]
    rounds: int
    tree: bool = False
    digits: int = 4

    @property
    def kappa(self) -> int:
        """Draft length, or depth of a tree."""
        return len(self.survival)


@dataclass(frozen=True)
class Reported:
    """One figure; ``error`` is its standard error, None if unknown, ``units`` the independent units behind it.

    ``low`` and ``high`` are given where the source states a range over several settings.
    """

    source: str
    system: str
    value: float
    error: float | None = None
    units: int = 0
    low: float | None = None
    high: float | None = None


def _chained(source: str, system: str, conditional: tuple[float, ...]) -> Profile:
    """Survival from rates that are conditional on all drafts before."""
    survival, reached = [], 1.0
    for rate in conditional:
        reached *= rate
        survival.append(reached)
    return Profile(source, system, tuple(survival), UNKNOWN, digits=2)


_MTP8 = "vLLM pull request 48892, bench output of 2026-08-03"
_PADDED = "vLLM pull request 26498, offline example with K = 10"
_SPECULATORS = "vllm-project/speculators docs/fp8_ablation @a910cec, bf16"
_SPEC_BENCH = "Spec-Bench answers, BNukhkadiev/Spec-Bench @0f00011 (computed)"
_SPEC_BENCH_2 = "Spec-Bench answers, yukiki-jc/Spec-Bench @3b73a28 (computed)"
_EAGLE1 = "EAGLE, arXiv 2401.15077, Table 2, n-alpha on MT-bench with chain drafts"

PROFILES = (
    Profile(_MTP8, "MTP, K = 8, gsm8k", (0.7617, 0.6158, 0.5125, 0.4243, 0.3640, 0.3094, 0.2722, 0.2365), 11_043),
    Profile(
        _PADDED, "MT-bench", (0.74, 0.54, 0.41, 0.30, 0.22, 0.16, 0.12, 0.08, 0.05, 0.02), 4_687, digits=2
    ),
    Profile(
        _PADDED, "Spec-Bench", (0.71, 0.50, 0.36, 0.26, 0.18, 0.13, 0.10, 0.07, 0.04, 0.02), 20_468, digits=2
    ),
    Profile(_SPECULATORS, "Qwen3-8B + EAGLE-3, K = 3, HumanEval", (0.6369, 0.3720, 0.2136), 127_667),
    Profile(_SPECULATORS, "Qwen3-8B + EAGLE-3, K = 3, math", (0.6700, 0.4144, 0.2557), 63_638),
    Profile(_SPECULATORS, "Qwen3-8B + EAGLE-3, K = 3, qa", (0.5452, 0.2689, 0.1320), 59_031),
    Profile(_SPECULATORS, "Qwen3-8B + EAGLE-3, K = 3, translation", (0.4901, 0.2210, 0.0910), 33_672),
    Profile(_SPECULATORS, "Qwen3-8B + EAGLE-3, K = 3, summarization", (0.4668, 0.1813, 0.0679), 26_798),
    Profile(
        _SPECULATORS,
        "Qwen3-8B + DFlash, K = 15, HumanEval, first 8 positions",
        (0.6295, 0.3161, 0.1490, 0.0688, 0.0315, 0.0140, 0.0059, 0.0026),
        127_947,
    ),
    Profile(
        _SPECULATORS,
        "Qwen3-8B + DFlash, K = 15, math, first 8 positions",
        (0.6534, 0.3602, 0.1967, 0.1055, 0.0547, 0.0272, 0.0129, 0.0054),
        64_478,
    ),
    _chained(_EAGLE1, "Vicuna-7B, T = 0", (0.79, 0.74, 0.72, 0.73, 0.67)),
    _chained(_EAGLE1, "Vicuna-13B, T = 0", (0.79, 0.74, 0.72, 0.74, 0.70)),
    _chained(_EAGLE1, "Vicuna-33B, T = 0", (0.74, 0.69, 0.67, 0.67, 0.66)),
    _chained(_EAGLE1, "LLaMA2-Chat-7B, T = 0", (0.76, 0.69, 0.67, 0.68, 0.68)),
    _chained(_EAGLE1, "LLaMA2-Chat-13B, T = 0", (0.77, 0.69, 0.69, 0.70, 0.71)),
    _chained(_EAGLE1, "LLaMA2-Chat-70B, T = 0", (0.75, 0.69, 0.65, 0.64, 0.64)),
    _chained(_EAGLE1, "Vicuna-7B, T = 1", (0.71, 0.68, 0.66, 0.66, 0.65)),
    _chained(_EAGLE1, "LLaMA2-Chat-70B, T = 1", (0.73, 0.67, 0.64, 0.66, 0.65)),
    Profile(_SPEC_BENCH, "Vicuna-7B + Medusa, tree, MT-bench", (0.8340, 0.4851, 0.1776, 0.0205), 16_996, tree=True),
    Profile(
        _SPEC_BENCH_2, "Vicuna-7B + EAGLE, tree", (0.8969, 0.7202, 0.5224, 0.2701, 0.1689), 25_525, tree=True
    ),
)  # fmt: skip
"""Survival lists.  EAGLE's n-alpha are conditional in the paper and chained here; the others are as printed."""

MEDUSA_HEADS = (
    Reported("FasterDecoding/Medusa assets/medusa_acc.csv @e2a5d20", "Vicuna-7B, top-1 of heads 1 to 5: "
             ".560 .316 .201 .147 .118", 0.5604),
    Reported("FasterDecoding/Medusa assets/medusa_acc.csv @e2a5d20", "Vicuna-13B, top-1 of heads 1 to 5: "
             ".594 .340 .216 .150 .122", 0.5939),
    Reported("FasterDecoding/Medusa assets/medusa_acc.csv @e2a5d20", "Vicuna-33B, top-1 of heads 1 to 5: "
             ".605 .356 .225 .160 .137", 0.6046),
)  # fmt: skip
"""Unconditional accuracies of single heads: no survival, and no joint acceptance of several heads."""

FIRST_REJECTED = (
    (Reported(_SPEC_BENCH, "Vicuna-7B + 68M, chain, K adapted (mean 3.2)", 0.42764, 0.00452, 560), 0.6425, 3, "a"),
    (Reported(_SPEC_BENCH_2, "Vicuna-7B + 68M, chain, K up to 20, threshold", 0.43498, 0.00456, 560), 0.565, 3, "S₁"),
)
"""1 − S_1 with its error between turns, α, a κ no larger than usual, and what stands for α: accepted ÷ examined or S_1.

K followed past success in both, so deeper positions tell of good stretches only; the first position is free of that.
"""

ALONG_OUTPUT = (
    Reported("SpecDecode-Bench/simulator @2fdccbd (computed)", "Llama-3.1-8B + EAGLE, gsm8k, .650 to .770", 0.120),
    Reported("SpecDecode-Bench/simulator @2fdccbd (computed)", "Llama-3.1-8B + EAGLE, sharegpt, .596 to .771", 0.175),
    Reported("SpecDecode-Bench/simulator @2fdccbd (computed)", "Llama-3.1-8B + EAGLE, cnn, .647 to .775", 0.128),
    Reported("SpecDecode-Bench/simulator @2fdccbd (computed)", "Llama-3.1-8B + EAGLE, instructcoder, flat", 0.0),
)
"""Acceptance late in the output minus that at its beginning, dense traces; of the fourth set only "flat" is known."""

ALONG_CONTEXT = (
    (
        "manoj vLLM EAGLE-3 K = 5 runs @d96e4fb, A100",
        "Llama-3.1-8B + EAGLE-3, gsm8k against 7.4k of context",
        2.85,
        1.14,
        5,
    ),
)
"""Emitted tokens per round at short and at long context, bonus included, and κ: acceptance along the context."""

LAG_ONE = (
    Reported("SpecDecode-Bench/simulator @2fdccbd (computed)", "EAGLE, bits within requests, four data sets", 0.12,
             low=0.08, high=0.16),
    Reported("SpecDecode-Bench/simulator @2fdccbd (computed)", "EAGLE, bits pooled, four data sets", 0.175,
             low=0.10, high=0.25),
)  # fmt: skip
"""Lag-1 correlation of the acceptance of neighbouring positions, drafts that read the target's hidden states.

Left out as beyond what the article speaks of: n-gram drafts of the same files, .54 to .78.
"""

SUCCESSIVE_FIRST = (
    Reported(_SPEC_BENCH, "Vicuna-7B + Medusa, tree", 0.0498, 0.0086, 160),
    Reported(_SPEC_BENCH_2, "Vicuna-7B + EAGLE, tree", 0.0472, 0.0109, 560),
)
"""Correlation of the first drafts of successive rounds within turns, drafts that read the target's hidden states.

Not of neighbouring positions: where verdicts are independent it is 0, but it is not ρ_A.
"""

SUCCESSIVE_FIRST_BLIND = (Reported(_SPEC_BENCH, "Vicuna-7B + 68M, chain", 0.0306, 0.0062, 560),)
"""The same of a draft model that reads nothing of the target but its text."""

SUCCESSIVE_LENGTHS = (
    Reported(_SPEC_BENCH_2, "Vicuna-7B + EAGLE", 0.0827, 0.0116, 560),
    Reported(_SPEC_BENCH, "Vicuna-7B + EAGLE", 0.1005, 0.0155, 244),
)
"""Correlation of successive accepted lengths within turns, trees."""

RUN_LENGTH = (
    (Reported("DISCO, arXiv 2405.04304v5, Table 2", "MBPP, Starcoder-15B/168M", 18.0), 46.2),
    (Reported("DISCO, arXiv 2405.04304v5, Table 2", "HumanEval, Starcoder-15B/168M", 14.7), 42.6),
    (Reported("DISCO, arXiv 2405.04304v5, Table 2", "CNN-DM, Vicuna-13B/68M", 3.2), 4.0),
    (Reported("DISCO, arXiv 2405.04304v5, Table 2", "Alpaca, Vicuna-13B/68M", 2.4), 2.1),
)
"""Mean (bonus not counted, by the paper's description) and standard deviation of the run before the first rejection."""

_V100 = "thc1006/qwen3.6-speculative-decoding-v100 @e989488 (computed, 40 prompts, K = 1, 2, 3, 4, 6, 8, 11, 15)"
_TPOT = "vLLM issue 20780, Llama-3.1-8B, batch 1, K = 2 to 7 (no error; K within 2% of the least TPOT)"

BEST_KAPPA = (
    Reported(_V100, "Qwen3.6-27B + DFlash", 4, low=1, high=4, units=40),
    Reported(_V100, "Qwen3.6-35B-A3B + DFlash", 2, low=1, high=6, units=40),
    Reported(_V100, "Qwen3.6-27B + MTP, K up to 6", 4, low=1, high=4, units=40),
    Reported(_V100, "4B dense + DFlash; not drafting at all is among the best", 0, low=0, high=6, units=40),
    Reported(_TPOT, "EAGLE-1", 3, low=2, high=3),
    Reported(_TPOT, "EAGLE-3", 4, low=3, high=5),
    Reported("vLLM pull request 16937, batch 1 (no error; K within 2%)", "EAGLE-1, K = 2, 4, 7", 2, low=2, high=4),
    Reported("Chen et al., arXiv 2302.01318, Chinchilla 70B/4B, XSum", "best K as told, neighbours unknown", 3, low=2,
             high=4),
    Reported("SGLang pull request 22246, batch 1", "235B, best K as told, neighbours unknown", 4, low=3, high=5),
    Reported("SGLang pull request 22246, batch 64", "235B, best K as told, neighbours unknown", 2, low=1, high=3),
    Reported("ashalliants/ninfer-3090 pull request 65 (no error; K within 2%)", "K = 1 to 8, 10, 12", 4, low=3, high=4),
    Reported("LostRuins/koboldcpp issue 2262 (no error; K within 2%)", "K = 1, 2, 3, 4, 8", 1, low=1, high=1),
    Reported("ml-explore/mlx-lm issue 250 (no error; K within 2%)", "K = 1, 2, 3", 1, low=1, high=1),
    Reported("kekzl/imp pull request 1481 (no error; K within 2%)", "multi-token prediction, K = 0 to 3", 1, low=1,
             high=1),
)  # fmt: skip
"""Best κ of every sweep over at least three K that was found, with the κ that cannot be told from it.

``units`` > 0: at 8 standard errors, paired.  One is at batch 64, the others are single streams as far as is told.
"""

EMITTED_BY_KAPPA = (
    ("vLLM issue 20780, Llama-3.1-8B, mean acceptance length, bonus included", "EAGLE-1", 2.10, 2.47, (2, 7)),
    ("vLLM issue 20780, Llama-3.1-8B, mean acceptance length, bonus included", "EAGLE-3", 2.36, 3.54, (2, 7)),
)
"""Emitted tokens per round at two κ of one system: the first may be fitted, the second is a test."""

_FIT = "Spec-Bench wall times, BNukhkadiev/Spec-Bench @0f00011 (computed, least squares over 560 turns)"

ROUND_SLOPE = (
    Reported(_FIT, "Vicuna-7B + 68M: time of a round per draft", 0.0831, 0.0069, 560),
    Reported("vLLM issue 20780 (computed from TPOT x length, K = 2 to 7)", "EAGLE-1, batch 1", 0.104),
    Reported("vLLM issue 20780 (computed from TPOT x length, K = 2 to 7)", "EAGLE-3, batch 1", 0.141),
    Reported("DeepSeek-V3 report, acceptance .85 to .90 and 1.8 times the tokens at K = 1", "MTP", 0.045, low=0.03,
             high=0.06),
    Reported("SpecDecode-Bench/simulator @2fdccbd, cost constants", "Llama-3.1-8B, H100", 0.069, low=0.067, high=0.071),
    Reported("SGLang pull request 22520 (computed from tokens per round and speed-up at K = 5)", "70B + 1B, batch 1 to "
             "64", 0.09, low=0.06, high=0.22),
    Reported("LostRuins/koboldcpp issue 2262 (computed from speed and accepted share, K = 1 to 8)", "1 stream", 0.154),
    Reported("lablup/mlxcel issue 736, 69 ms plain, 140 and 270 ms at K = 2 and 4", "Apple GPU", 0.94, low=0.51,
             high=0.94),
)  # fmt: skip
"""Drafting and verifying one more draft, in plain target steps: an upper limit of c_v alone."""

REJECTION_COST = (Reported(_FIT, "Vicuna-7B + 68M: time per rejected draft", 0.0635, 0.0311, 560),)
"""What a rejected draft adds, in plain target steps."""

DRAFT_COST = (
    Reported("Leviathan et al., arXiv 2211.17192, Table 2", "T5-small for T5-XXL", 0.02),
    Reported("Leviathan et al., arXiv 2211.17192, Table 2", "T5-base for T5-XXL", 0.04),
    Reported("Leviathan et al., arXiv 2211.17192, Table 2", "T5-large for T5-XXL", 0.11),
    Reported("Chen et al., arXiv 2302.01318, 1.8 of 14.1 ms", "4B for Chinchilla 70B", 0.128),
    Reported("SpecDec++, arXiv 2405.19715, .0234 of .112 s", "Llama-2-chat 7B for 70B", 0.209),
    Reported("Sequoia, Table 1, .5 of 24.2 ms", "68M for Llama-2-7B", 0.021),
    Reported(_FIT + ", 1.924 of 22.97 ms", "68M for Vicuna-7B", 0.084),
)
"""Time of one draft step in plain target steps."""
