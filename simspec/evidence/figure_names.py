"""What do people call the same figure?  Names of draft length, rounds, drafted and accepted tokens, and E, in one home.

Only names that mean the same wherever they stand are here: ``num_draft_tokens`` counts tokens in one engine and is
κ + 1 in another, ``accepted`` is a count or a mean, so a table that knows which adds them itself.
"""

KAPPA = ("k", "κ", "gamma", "γ", "n_max", "draft_max", "n_draft", "num_speculative_tokens", "num_spec_tokens",
         "spec_tokens", "draft_len", "max_draft_len", "speculative_num_steps", "num_steps")  # fmt: skip
"""Draft length."""
ROUNDS = ("rounds", "num_drafts", "num_rounds")
"""Rounds with a draft."""
DRAFTED = ("drafted", "drafted_tokens", "draft_n", "n_drafted")
"""Drafted tokens, a count."""
ACCEPTED = ("draft_n_accepted", "n_accepted", "n_accept", "num_accepted_tokens")
"""Accepted drafts, a count."""
TOKENS = ("predicted_n", "n_predict", "completion_tokens", "generated_tokens", "output_tokens")
"""Tokens out, the bonus token counted."""
EMITTED = ("e", "accept_length", "accept_len", "acceptance_length", "mean_acceptance_length", "mean_accept_length",
           "al", "mal", "mat", "tau", "τ", "mean_emitted_per_round", "tokens_per_round", "avg_acc_len")  # fmt: skip
"""Tokens per round, the bonus token counted."""
