"""How far do published rounds get?  Survival by method and task, computed from published lists of accepted lengths.

S_j is the share of all rounds that keep at least j drafts; ``tokens`` counts the corrected or bonus token.  With
SIMSPEC_SPEC_BENCH and SIMSPEC_TOKEN_RECYCLING naming the lists, a test computes every figure anew.
"""

from __future__ import annotations

from typing import NamedTuple


class Shape(NamedTuple):
    """Rounds of one method on one task; ``depth`` is the longest draft."""

    answers: str
    method: str
    task: str
    rounds: int
    tokens: float
    survival: tuple[float, ...]
    depth: int

    @property
    def name(self) -> str:
        """Method, task and whose answers."""
        return f"{self.method}, {self.task} ({self.answers})"


ANSWERS = {
    "BN": "BNukhkadiev/Spec-Bench @0f00011", "YK": "yukiki-jc/Spec-Bench @3b73a28", "ZY": "zy-ning/Spec-Bench @cdd4452",
}  # fmt: skip
"""Whose answers of Vicuna-7B on Spec-Bench, all Apache-2.0."""

ADAPTED, STOPPED = 60, 20
"""Longest drafts that chains of BN (adapted from 5 by two up or one down) and of YK (stopped below .4) reach."""

TREES = (
    Shape("BN", "Medusa", "MT-bench", 16_996, 2.5172, (0.8340, 0.4851, 0.1776, 0.0205), 4),
    Shape("BN", "EAGLE", "all", 12_143, 3.7599, (0.9193, 0.7548, 0.5710, 0.3105, 0.2043), 5),
    Shape("BN", "EAGLE", "MT-bench", 11_111, 3.8373, (0.9244, 0.7706, 0.5927, 0.3294, 0.2201), 5),
    Shape("BN", "EAGLE", "summarization", 197, 3.3096, (0.8832, 0.7157, 0.4772, 0.1777, 0.0558), 5),
    Shape("BN", "EAGLE", "translation", 835, 2.8371, (0.8599, 0.5545, 0.3042, 0.0898, 0.0287), 5),
    Shape("BN", "EAGLE", "product classes", 1_651, 4.0697, (0.9455, 0.8213, 0.6511, 0.3961, 0.2556), 5),
    Shape("BN", "EAGLE", "product ranks", 3_383, 3.9095, (0.9500, 0.8073, 0.6080, 0.3311, 0.2131), 5),
    Shape("BN", "Hydra", "product classes", 1_999, 3.3592, (0.9230, 0.7719, 0.5163, 0.1481), 4),
    Shape("BN", "Hydra", "product ranks", 4_392, 3.0002, (0.8636, 0.6507, 0.3912, 0.0947), 4),
    Shape("YK", "EAGLE", "all", 25_525, 3.5785, (0.8969, 0.7202, 0.5224, 0.2701, 0.1689), 5),
    Shape("YK", "EAGLE", "MT-bench", 11_173, 3.8436, (0.9287, 0.7734, 0.5916, 0.3311, 0.2189), 5),
    Shape("YK", "EAGLE", "math_reasoning", 3_648, 3.9178, (0.9400, 0.8120, 0.6286, 0.3311, 0.2061), 5),
    Shape("YK", "EAGLE", "qa", 3_586, 3.1121, (0.7967, 0.6040, 0.3993, 0.1899, 0.1221), 5),
    Shape("YK", "EAGLE", "rag", 2_062, 3.2110, (0.8409, 0.6305, 0.4248, 0.2027, 0.1120), 5),
    Shape("YK", "EAGLE", "summarization", 4_221, 3.3061, (0.8955, 0.6752, 0.4433, 0.1924, 0.0997), 5),
    Shape("YK", "EAGLE", "translation", 835, 2.8371, (0.8587, 0.5545, 0.3030, 0.0922, 0.0287), 5),
    Shape("ZY", "Token Recycling", "all", 36_064, 2.7333, (0.7140, 0.4884, 0.2944, 0.1468, 0.0660, 0.0238), 6),
)
"""Several candidates per position: S_j is that of the best branch."""

CHAINS = (
    Shape("BN", "SpS", "all", 40_632, 2.2781, (0.5724, 0.2888, 0.1638, 0.0864, 0.0496), ADAPTED),
    Shape("BN", "SpS", "MT-bench", 18_347, 2.3513, (0.5900, 0.3067, 0.1768, 0.0960, 0.0566), ADAPTED),
    Shape("BN", "SpS", "math_reasoning", 6_437, 2.0893, (0.5521, 0.2632, 0.1361, 0.0587, 0.0273), ADAPTED),
    Shape("BN", "SpS", "qa", 5_254, 2.2372, (0.5518, 0.2463, 0.1289, 0.0725, 0.0436), ADAPTED),
    Shape("BN", "SpS", "rag", 3_086, 2.4644, (0.6066, 0.3321, 0.1964, 0.1017, 0.0583), ADAPTED),
    Shape("BN", "SpS", "summarization", 5_877, 2.4240, (0.6017, 0.3352, 0.2072, 0.1133, 0.0664), ADAPTED),
    Shape("BN", "SpS", "translation", 1_631, 1.4537, (0.3495, 0.0760, 0.0221, 0.0055, 0.0006), ADAPTED),
    Shape("YK", "SpS", "all", 36_581, 2.5024, (0.5650, 0.3003, 0.1795, 0.1148, 0.0789), STOPPED),
    Shape("YK", "SpS", "MT-bench", 16_376, 2.6234, (0.5865, 0.3221, 0.1957, 0.1242, 0.0867), STOPPED),
    Shape("YK", "SpS", "math_reasoning", 5_949, 2.2513, (0.5424, 0.2703, 0.1481, 0.0914, 0.0603), STOPPED),
    Shape("YK", "SpS", "qa", 4_714, 2.3182, (0.5462, 0.2677, 0.1443, 0.0817, 0.0530), STOPPED),
    Shape("YK", "SpS", "rag", 2_727, 2.7730, (0.6051, 0.3407, 0.2197, 0.1514, 0.1019), STOPPED),
    Shape("YK", "SpS", "summarization", 5_242, 2.7335, (0.5855, 0.3350, 0.2186, 0.1534, 0.1085), STOPPED),
    Shape("YK", "SpS", "translation", 1_573, 1.5060, (0.3452, 0.0998, 0.0362, 0.0134, 0.0064), STOPPED),
)
"""A draft model of 68M, one candidate per position; only the first five S_j, which go on to ``depth``."""

ADAPTED_TURNS, ADAPTED_KAPPA, ADAPTED_SHARE, ADAPTED_ALPHA = 560, 3.243, 0.3941, 0.6425
"""Turns of BN's SpS, mean drafts of a round, accepted over drafted, and accepted over examined, all tasks."""

SPECULATORS = {
    "EAGLE-3, K = 3": (3, (
        ("HumanEval", 0.6369, 0.3720, 2.2226), ("math_reasoning", 0.6700, 0.4144, 2.3401),
        ("qa", 0.5452, 0.2689, 1.9461), ("question", 0.5895, 0.3120, 2.0679),
        ("rag", 0.5398, 0.2559, 1.9145), ("summarization", 0.4668, 0.1813, 1.7160),
        ("tool_call", 0.5515, 0.2662, 1.9439), ("translation", 0.4901, 0.2210, 1.8020),
        ("writing", 0.5953, 0.3192, 2.0864),
    )),
    "DFlash, K = 15": (15, (
        ("HumanEval", 0.6295, 0.3161, 2.2238), ("math_reasoning", 0.6534, 0.3602, 2.4191),
        ("qa", 0.5366, 0.2156, 1.9060), ("question", 0.5772, 0.2601, 2.0424),
        ("rag", 0.5284, 0.2130, 1.8701), ("summarization", 0.4593, 0.1543, 1.6739),
        ("tool_call", 0.5441, 0.2338, 1.9243), ("translation", 0.4718, 0.1945, 1.7620),
        ("writing", 0.5754, 0.2607, 2.0415),
    )),
}  # fmt: skip
"""Draft of Qwen3-8B → K, and by subset S_1, S_2 and tokens a round (docs/fp8_ablation of speculators @a910cec)."""

LENGTHS = (("EAGLE-1", (2.10, 2.29, 2.39), 2.47), ("EAGLE-3", (2.36, 2.79, 3.08), 3.54))
"""Mean acceptance length of Llama-3.1-8B at K = 2, 3, 4, and at 7 (vLLM issue 20780)."""
LENGTHS_LAST = 7

HEADS_USED = (
    ("code", (1.94, 2.78), 3.50, (1.85, 2.54), 3.05), ("Wikipedia", (1.88, 2.57), 3.12, (1.79, 2.35), 2.74),
    ("books", (1.87, 2.56), 3.09, (1.77, 2.32), 2.67),
)  # fmt: skip
"""Text, tokens per pass with 2 and 3 of four heads side by side, with all 4, and the same of the speed-up."""
HEADS_ALL = 4
