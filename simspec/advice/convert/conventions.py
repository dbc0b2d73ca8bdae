"""What does each engine call acceptance?  One row per convention: names, versions, formula, what it cannot give."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from simspec.evidence.figure_names import ACCEPTED, DRAFTED, KAPPA, ROUNDS, TOKENS

COUNT, COUNTS, LENGTH, SHARE, SHARES = "whole number", "whole numbers", "number ≥ 0", "share 0…1", "shares 0…1"


@dataclass(frozen=True)
class Quantity:
    """A quantity that does not depend on the engine."""

    kind: str
    means: str
    also: tuple[str, ...] = ()


QUANTITIES = {
    "kappa": Quantity(COUNT, "draft length κ", KAPPA),
    "drafts": Quantity(COUNT, "rounds with a draft", ROUNDS),
    "draft_tokens": Quantity(COUNT, "drafted tokens", (*DRAFTED, "num_draft_tokens")),
    "accepted_tokens": Quantity(COUNT, "accepted drafts, bonus token not counted", (*ACCEPTED, "accepted")),
    "emitted_tokens": Quantity(COUNT, "tokens out, bonus token counted", (*TOKENS, "emitted")),
    "mean_drafted_per_round": Quantity(LENGTH, "drafts per round", ("mean_drafted", "mean_kappa")),
    "mean_accepted_per_round": Quantity(LENGTH, "accepted length E[A], bonus token not counted", ("mean_accepted",)),
    "mean_emitted_per_round": Quantity(LENGTH, "tokens per round E = E[A] + 1", ("mean_emitted", "E", "tau")),
    "draft_acceptance_rate": Quantity(SHARE, "accepted ÷ drafted", ("rate",)),
    "rate_with_bonus": Quantity(SHARE, "E ÷ (κ + 1): the bonus token above and below the line", ()),
    "accepted_at_position": Quantity(COUNTS, "rounds that accepted drafts 1 … j", ()),
    "survival": Quantity(SHARES, "S_j, the first j drafts all accepted", ("S",)),
    "cond_alpha": Quantity(SHARES, "α_j = S_j ÷ S_(j−1), draft j given that all before it were accepted",
                           ("conditional",)),
    "relative_survival": Quantity(SHARES, "S_j ÷ S_1", ()),
    "pmf_accepted": Quantity(SHARES, "P(A = j), j = 0 … κ", ("pmf",)),
    "histogram": Quantity(COUNTS, "rounds with exactly j accepted, j = 0 … κ", ()),
    "alpha_examined": Quantity(SHARE, "accepted ÷ examined drafts", ()),
    "alpha": Quantity(SHARE, "α of i.i.d. drafts: a model, not a measurement", ("alpha_iid",)),
    "iid_alpha_mle_from_mean": Quantity(SHARE, "the i.i.d. α with this mean at this κ", ()),
    "p_zero_accepted": Quantity(SHARE, "P(A = 0)", ()),
    "p_full": Quantity(SHARE, "P(A = κ)", ()),
    "var_accepted": Quantity(LENGTH, "variance of A over rounds", ()),
    "agreed_tokens": Quantity(COUNT, "drafts that agree, also after the first rejection", ()),
    "agreement_rate": Quantity(SHARE, "agreed ÷ drafted: marginal, not conditional", ()),
    "naive_wrong_emitted_per_round": Quantity(LENGTH, "1 + agreed ÷ rounds: what taking them for accepted gives", ()),
    "node_rate": Quantity(SHARE, "accepted ÷ nodes of a draft tree", ()),
    "head_accuracy": Quantity(SHARES, "how often head j alone is right", ()),
}  # fmt: skip
"""Every quantity, in the order in which it is shown."""

DEAD_ENDS = {
    "agreement_rate": "it counts drafts that agree after the first rejection: nothing of a round follows from it",
    "node_rate": "it divides by the nodes of a tree, of which one path can be accepted: no chain quantity follows",
    "head_accuracy": "it says how often head j is right alone, not whether the heads before it were right too",
}
"""Quantities from which nothing about a round follows, and why."""


@dataclass(frozen=True)
class Printed:
    """A printed figure that is not quite the quantity.

    Attributes
    ----------
    quantity : str
    plus : int
        What to add to the printed number.
    leading : bool
        The printed list begins with a 1 for the target's own token.
    """

    quantity: str
    plus: int = 0
    leading: bool = False


@dataclass(frozen=True)
class Convention:
    """How one engine prints acceptance.

    Attributes
    ----------
    name, engine, versions : str
    fields : mapping
        Printed name → quantity.
    formula : str
    cannot : str
        What it does not give.
    same_length : bool
        Whether every draft has κ tokens, so that drafts = drafted ÷ κ.
    """

    name: str
    engine: str
    versions: str
    fields: Mapping[str, str | Printed]
    formula: str
    cannot: str
    same_length: bool = True

    def printed(self, field: str) -> Printed:
        """What a printed field is."""
        own = self.fields[field]
        return own if isinstance(own, Printed) else Printed(own)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        quantities = {field: self.printed(field).quantity for field in self.fields}
        return {**{key: getattr(self, key) for key in ("name", "engine", "versions", "formula", "cannot")},
                "fields": quantities}  # fmt: skip


_MEAN_ONLY = "survival: a mean does not tell positions"
_POSITIONS = {"num_drafts": "drafts", "num_draft_tokens": "draft_tokens", "num_accepted_tokens": "accepted_tokens"}
_SGLANG: dict[str, str | Printed] = {
    "accept_len": "mean_emitted_per_round",
    "num_draft_tokens": Printed("kappa", plus=-1),
}

CONVENTIONS = (
    Convention("plain", "simspec", "all", {name: name for name in QUANTITIES if name not in DEAD_ENDS},
               "the names of simspec fit", "–"),
    Convention("iid", "Leviathan et al. 2023", "papers", {"alpha": "alpha", "gamma": "kappa"},
               "S_j = α^j; E = (1 − α^(γ+1)) ÷ (1 − α)", "anything measured: it is a model"),
    Convention("vllm-v0", "vLLM", "0.5–0.7",
               {"accepted": "agreed_tokens", "drafted": "draft_tokens", "emitted": "emitted_tokens",
                "draft_acceptance_rate": "agreement_rate", "system_efficiency": "rate_with_bonus"},
               "drafts = drafted ÷ κ; E = emitted ÷ drafts; efficiency = E ÷ (κ + 1); totals since the start",
               "survival; its 'accepted' goes on after the first rejection, and so does its rate"),
    Convention("vllm-v1-before-17908", "vLLM V1", "before PR 17908 (2025-05)",
               {"mean_acceptance_length": "mean_accepted_per_round", "accepted": "accepted_tokens",
                "drafted": "draft_tokens", "draft_acceptance_rate": "draft_acceptance_rate"},
               "length = accepted ÷ drafts, bonus token not counted", _MEAN_ONLY),
    Convention("vllm-v1", "vLLM V1", "since PR 17908 (2025-05)",
               {"mean_acceptance_length": "mean_emitted_per_round", "accepted": "accepted_tokens",
                "drafted": "draft_tokens", "per_position": "survival",
                "draft_acceptance_rate": "draft_acceptance_rate", "acceptance_length": "mean_emitted_per_round"},
               "length = 1 + accepted ÷ drafts; per position = S_j; rate = accepted ÷ drafted", "–"),
    Convention("vllm-prometheus", "vLLM V1", "/metrics",
               _POSITIONS | {"num_accepted_tokens_per_pos": "accepted_at_position"},
               "S_j = per_pos[j] ÷ drafts, of differences between scrapes", "–"),
    Convention("vllm-per-request", "vLLM, AIPerf", "since PR 48915",
               {"acceptance_histogram": "histogram", "mean_acceptance_length": "mean_emitted_per_round",
                "draft_acceptance_rate": "draft_acceptance_rate", "num_spec_steps": "drafts",
                "num_draft_tokens": "draft_tokens", "num_accepted_draft_tokens": "accepted_tokens"},
               "S_j = Σ_(m≥j) h_m ÷ Σ h", "–"),
    Convention("sglang-before-23530", "SGLang", "before PR 23530 (2026-04)",
               _SGLANG | {"accept_rate": "rate_with_bonus"},
               "rate = accept len ÷ num_draft_tokens, num_draft_tokens = κ + 1", _MEAN_ONLY),
    Convention("sglang", "SGLang", "since PR 23530 (2026-04)", _SGLANG | {"accept_rate": "draft_acceptance_rate"},
               "rate = (accept len − 1) ÷ (num_draft_tokens − 1)", _MEAN_ONLY),
    Convention("sglang-meta-info", "SGLang", "meta_info",
               {"spec_verify_ct": "drafts", "completion_tokens": "emitted_tokens",
                "spec_accept_length": "mean_emitted_per_round", "spec_accept_rate": "draft_acceptance_rate",
                "spec_accept_token_num": "accepted_tokens", "spec_num_correct_drafts": "accepted_tokens",
                "spec_draft_token_num": "draft_tokens", "spec_num_proposed_drafts": "draft_tokens",
                "spec_accept_histogram": "histogram", "spec_correct_drafts_histogram": "histogram"},
               "E = completion ÷ verify_ct", "–"),
    Convention("tree", "SGLang, EAGLE with topk > 1", "all",
               {"accept_len": "mean_emitted_per_round", "accept_rate": "node_rate"},
               "rate = accepted ÷ nodes", "anything per draft from the rate; κ and α of a chain", False),
    Convention("llamacpp", "llama.cpp CLI, server, timings", "all",
               {"n_predict": "emitted_tokens", "predicted_n": "emitted_tokens", "n_drafted": "draft_tokens",
                "n_accept": "accepted_tokens",
                "accept": "draft_acceptance_rate", "generated": "draft_tokens", "accepted": "accepted_tokens",
                "draft_n": "draft_tokens", "draft_n_accepted": "accepted_tokens"},
               "rounds = predicted − accepted (passes without a draft count too); drafts may be shorter than n_max",
               _MEAN_ONLY, False),
    Convention("llamacpp-per-position", "llama.cpp server", "since PR 24536 (2026-06)",
               {"mean_acceptance_length": "mean_emitted_per_round", "acceptance_rate_per_position": "survival",
                "generated": "draft_tokens", "accepted": "accepted_tokens", "gen_drafts": "drafts",
                "draft_acceptance": "draft_acceptance_rate"},
               "length = 1 + Σ S_j, over all drafts, short ones too", "–", False),
    Convention("trtllm", "TensorRT-LLM", "request metrics",
               {"acceptance_rate": "draft_acceptance_rate", "total_accepted_draft_tokens": "accepted_tokens",
                "total_draft_tokens": "draft_tokens"}, "E = 1 + κ·rate", _MEAN_ONLY),
    Convention("aiperf-per-verified", "AIPerf", "accepted per verified",
               {"accepted_per_verified": "rate_with_bonus"}, "(A + 1) ÷ (κ + 1)", _MEAN_ONLY),
    Convention("spec-bench", "Spec-Bench", "answers",
               {"mean_accepted_tokens": "mean_emitted_per_round", "decoding_steps": "drafts",
                "new_tokens": "emitted_tokens"}, "accept_lengths = A + 1", _MEAN_ONLY, False),
    Convention("eagle-n-alpha", "EAGLE", "paper, chain", {"n_alpha": "cond_alpha"}, "n-α = α_(n+1), conditional", "–"),
    Convention("gpt-fast", "gpt-fast", "all",
               {"acceptance_probs": "pmf_accepted", "mean_accepted": "mean_accepted_per_round"},
               "probs = P(A = j), j from 0; mean accepted without the bonus token", "counts"),
    Convention("without-bonus", "AdaEAGLE, DISCO, averages 'x of k'", "papers, pull requests",
               {"mean_accepted": "mean_accepted_per_round"}, "E = mean + 1", _MEAN_ONLY),
    Convention("relative", "tables scaled to S_1", "papers",
               {"relative_survival": "relative_survival", "mean_accepted": "mean_accepted_per_round"},
               "S_j = printed_j·E[A] ÷ Σ printed", "survival without a mean"),
    Convention("anchored", "tables whose position 0 is the root", "all",
               {"acceptance": Printed("survival", leading=True)}, "printed_0 = 1 always; S_j = printed_j", "–"),
    Convention("speculators", "speculators", "CSV",
               _POSITIONS | {"acceptance_length": "mean_emitted_per_round", "acceptance_at_pos": "survival"},
               "length = 1 + Σ S_j", "–"),
    Convention("examined", "papers", "conditional alpha", {"alpha_conditional": "alpha_examined"},
               "accepted ÷ (accepted + rejections)", "E, unless drafts are i.i.d.: then it is α"),
    Convention("mlc", "MLC-LLM", "metrics",
               {"accept_prob": Printed("survival", leading=True), "accept_rate": Printed("cond_alpha", leading=True)},
               "step 0 is the target's own token; prob = S_j where every draft has κ tokens", "counts"),
    Convention("lmstudio", "LM Studio", "prediction stats",
               {"predictedTokensCount": "emitted_tokens", "acceptedDraftTokensCount": "accepted_tokens",
                "totalDraftTokensCount": "draft_tokens"},
               "rounds are at most predicted − accepted; total counts ignored drafts too", _MEAN_ONLY, False),
    Convention("medusa-heads", "Medusa", "medusa_acc.csv", {"top1": "head_accuracy"}, "each head by itself",
               "anything of a round", False),
)  # fmt: skip
"""Every convention known, by engine."""

BY_NAME = {convention.name: convention for convention in CONVENTIONS}

WHERE_PRINTED = (
    ("vLLM V1", "log line 'Mean acceptance length'; /metrics: 1 + num_accepted_tokens ÷ num_drafts"),
    ("SGLang", "log line 'accept len'; meta_info: completion_tokens ÷ spec_verify_ct"),
    ("llama.cpp", "'mean acceptance length'; else predicted ÷ (predicted − accepted)"),
    ("TensorRT-LLM", "1 + total_accepted_draft_tokens ÷ iterations with a draft"),
    ("gpt-fast", "'Mean Accepted' + 1"),
)
"""Where E stands, by engine."""
