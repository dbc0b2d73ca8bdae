"""Of which systems can nothing be predicted?  Published figures without a published input, and the input that lacks."""

from __future__ import annotations

UNPREDICTED = (
    ("Lookahead", "1.64 tokens a step (Spec-Bench, A100); ×1.5 … 2.3 (paper)",
     "rate of a drafted n-gram, and share of steps that have one"),
    ("Prompt lookup", "1.75 tokens a step (Spec-Bench, A100)", "share of steps with a match, rates after one"),
    ("REST", "1.82 tokens a step (Spec-Bench, A100)", "share of steps with a match, rates after one"),
    ("SAMD", "4.58 tokens a step (Spec-Bench, A100)", "rates of its two sources of drafts"),
    ("Hydra", "3.26 tokens a step (Spec-Bench, A100)", "rates of heads given the heads before, by rank"),
    ("EAGLE-3", "6.65 tokens a step (Vicuna-13B, MT-bench)", "rates by depth, and the law of confidences"),
    ("EAGLE, T = 0, Spec-Bench", "3.58, 3.64, 3.39 tokens a step (7B, 13B, 33B)", "rates by depth on these texts"),
    ("SpecInfer against naive sampling", "×1.26 … 1.28 verified tokens", "the laws p and q of one position"),
    ("Draft & Verify, LayerSkip, Kangaroo", "up to ×1.99, 2.16, 1.68", "share of layers that draft, with its α"),
    ("PEARL", "up to ×4.43 (abstract)", "α and γ of the pairs, in the paper's tables"),
    ("Big Little Decoding", "up to ×2.12 at about one point less (T4)", "rates of falling back and rolling back"),
    ("GLM-5, four steps", "2.76 tokens a step; 2.55 for DeepSeek-V3.2", "rates by depth"),
    ("LLaDA", "128 tokens in 128 passes (its default)", "none: a schedule is no measurement"),
)  # fmt: skip
"""System, what is published, and what a prediction lacks."""
