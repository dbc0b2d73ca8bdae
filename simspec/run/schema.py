"""What does each column mean?  The schemas of all tables; every field carries its description."""

from __future__ import annotations

import pyarrow as pa

SCHEMA_VERSION = 7

WHOLE_CHUNK = -1
"""The lane of a row that holds a whole chunk, since its windows are independent."""

_WORD = pa.dictionary(pa.int32(), pa.string())

_ORIGIN = [
    ("seed", pa.uint64(), "root seed of the run"),
    (
        "method",
        _WORD,
        'how the numbers came about: "simulate", "multinomial" (one draw of the counts of all windows) or "exact" '
        "(exact values: nothing drawn, no counts, intervals of no width)",
    ),
    ("stream_version", pa.int16(), "version of the layout of random words"),
]


def _schema(fields: list[tuple[str, pa.DataType, str]]) -> pa.Schema:
    return pa.schema([pa.field(name, kind, metadata={"description": text}) for name, kind, text in fields])


CHUNKS = _schema(
    [
        ("simulation_id", _WORD, "SHA-256 of the canonical JSON of process, scheme and policy"),
        ("kappa", pa.int16(), "draft length (γ, num_speculative_tokens)"),
        (
            "chunk",
            pa.int32(),
            "chunk of random words: 64 lanes, many windows that are independent, or one multinomial draw",
        ),
        (
            "lane",
            pa.int16(),
            "lane in the chunk: one chain of rounds, or one generation, the independent unit; the first lane of a "
            "batch that is served together; -1: the whole chunk, whose windows are independent (their law is in the "
            "counts)",
        ),
        ("n", pa.int64(), "rounds played by the lane, or in the chunk"),
        ("sum_accepted", pa.int64(), "Σ A, accepted drafts"),
        ("sum_accepted_sq", pa.int64(), "Σ A²"),
        ("sum_rejected", pa.int64(), "rounds with a rejection, A < drafted"),
        ("sum_accepted_rejected", pa.int64(), "Σ A over rounds with a rejection"),
        ("sum_zero", pa.int64(), "rounds with A = 0"),
        ("sum_drafted", pa.int64(), "Σ drafted tokens"),
        ("sum_tokens", pa.int64(), "Σ emitted tokens, A + 1 per round unless surplus is discarded"),
        *_ORIGIN,
    ]
)

COUNTS = _schema(
    [
        ("simulation_id", _WORD, "SHA-256 of the canonical JSON of process, scheme and policy"),
        ("kappa", pa.int16(), "draft length asked for"),
        (
            "drafted",
            pa.int16(),
            "drafts of the round; less than kappa at the end of a truncated generation, or by policy",
        ),
        ("accepted", pa.int16(), "accepted length A"),
        ("count", pa.int64(), "rounds"),
        *_ORIGIN,
    ]
)


def _with_interval(name: str, text: str) -> list[tuple[str, pa.DataType, str]]:
    return [
        (name, pa.float64(), text),
        (f"{name}_low", pa.float64(), f"lower end of the interval of {name} at `level`"),
        (f"{name}_high", pa.float64(), f"upper end of the interval of {name} at `level`"),
    ]


ESTIMATES = _schema(
    [
        ("point_id", _WORD, "SHA-256 of simulation id and cost"),
        ("simulation_id", _WORD, "SHA-256 of the canonical JSON of process, scheme and policy"),
        ("process", _WORD, "type of the acceptance process"),
        ("alpha", pa.float64(), "the process' alpha; null where it has none"),
        ("rho", pa.float64(), "the process' rho; null where it has none"),
        ("parameters", _WORD, "all parameters of the process as canonical JSON"),
        ("label", _WORD, "the label given in the scenario"),
        ("scheme", _WORD, "drafting scheme: chain, tree, stop, …"),
        ("scheme_parameters", _WORD, "all parameters of the scheme as canonical JSON; {} for a chain"),
        ("scheme_label", _WORD, "the label given to the scheme in the scenario"),
        ("policy", _WORD, "who chooses κ: fixed, heuristic, rolling, …"),
        ("policy_parameters", _WORD, "all parameters of the policy as canonical JSON; {} for a fixed κ"),
        ("policy_label", _WORD, "the label given to the policy in the scenario"),
        ("serving_batch", pa.int16(), "requests that are served together, in lock step; 1 where nothing was said"),
        ("serving_shares", pa.bool_(), "whether the requests of a batch have one κ; else each chooses its own"),
        ("serving_delay", pa.int16(), "rounds that news take to reach the policy; 0 where nothing was said"),
        ("serving_stale_rounds", pa.int16(), "rounds in which a drafter is stale that was off"),
        ("serving_stale_factor", pa.float64(), "acceptance of its drafts then, as a factor; 1 where nothing was said"),
        ("c0", pa.float64(), "cost of the target pass of a round, in plain target steps"),
        ("c_d", pa.float64(), "cost of one draft token"),
        ("c_v", pa.float64(), "cost of verifying one more token"),
        ("c_r", pa.float64(), "cost of a round with a rejection"),
        ("off", pa.float64(), "cost of one token without speculation"),
        ("c_switch", pa.float64(), "cost of a round that asks for another κ than the round before"),
        ("c_wake", pa.float64(), "cost of a round that drafts in a request whose last round had κ = 0"),
        ("cost_tables", _WORD, "draft_table and verify_table as canonical JSON; {} without"),
        (
            "kappa",
            pa.int16(),
            "draft length (γ, num_speculative_tokens); nodes of a tree, most drafts of a stop or policy",
        ),
        ("windows", pa.int64(), "rounds asked for"),
        ("rounds", pa.int64(), "rounds run; 0 for exact values"),
        (
            "units",
            pa.int64(),
            "independent units behind the intervals: windows where they are independent, else lanes or generations; "
            "0 for exact values",
        ),
        (
            "level",
            pa.float64(),
            "confidence level of every interval of the row, where `looks` is not 0 at all looks together: each is then "
            "one of 1 − (1 − level)/(looks·(looks + 1))",
        ),
        (
            "looks",
            pa.int16(),
            "how often intervals were looked at before the simulation stopped by itself; 0: the budget was fixed",
        ),
        *_with_interval("mean_accepted", "E[A], accepted drafts per round"),
        *_with_interval("mean_tokens", "E[tokens] per round, bonus or corrected token included"),
        *_with_interval("var_accepted", "Var[A] of one round"),
        *_with_interval("p_zero_accepted", "P(A = 0), no draft of the round accepted"),
        *_with_interval("p_full", "P(no rejection in the round), A = kappa unless the draft was truncated"),
        *_with_interval(
            "alpha_examined", "accepted ÷ examined drafts; the parameter alpha only for independent drafts"
        ),
        ("mean_drafted", pa.float64(), "drafted tokens verified per round; the target pass is one wider"),
        ("flips_per_1000", pa.float64(), "rounds in 1,000 that ask for another κ than the round before; 0 if fixed"),
        (
            "wakes_per_1000",
            pa.float64(),
            "rounds in 1,000 that draft in a request whose last round had κ = 0; 0 if fixed",
        ),
        *_with_interval(
            "mean_kappa", "mean κ over rounds, as asked for: the end of a request may cut a draft; κ itself if fixed"
        ),
        ("sd_kappa", pa.float64(), "standard deviation of κ over rounds; 0 if fixed"),
        ("share_off", pa.float64(), "share of the rounds with κ = 0"),
        ("kappa_fixed", pa.float64(), "best fixed κ up to 64, exact; null where not known, and where κ is fixed"),
        ("best_fixed", pa.float64(), "S at that κ, exact"),
        ("share_best", pa.float64(), "share of the rounds at that κ; the others probe, wander, or know better"),
        *_with_interval("loss_fixed", "1 - speedup / best_fixed: what is lost against the best fixed κ; below 0: won"),
        (
            "best_schedule",
            pa.float64(),
            "S of the best κ by output position, exact, where rates are known by position; changes of κ are free",
        ),
        *_with_interval("loss_schedule", "1 - speedup / best_schedule"),
        ("mean_steps", pa.float64(), "draft steps per round: drafts of a chain, levels of a tree"),
        ("mean_wasted", pa.float64(), "drafted tokens per round that are not emitted"),
        ("tokens_p05", pa.float64(), "5% quantile of the tokens of one round, A + 1"),
        ("tokens_p50", pa.float64(), "median of the tokens of one round"),
        ("tokens_p95", pa.float64(), "95% quantile of the tokens of one round"),
        ("loses", _WORD, '"lossless", or what a lossy scheme loses, in words; "not known" where nothing measures it'),
        *_with_interval(
            "loss_per_token",
            "share of the emitted tokens that are lost by that measure; 0 if lossless, null where rounds do not count",
        ),
        ("loss_exact", pa.float64(), "what is lost by the exact route; null where there is none"),
        *_with_interval("mean_round_cost", "E[cost] of one round, in plain target steps"),
        *_with_interval("speedup", "S = E[tokens]/E[cost], throughput against one plain target step"),
        *_with_interval(
            "straggling",
            "share of the time of a request that it waits for others of its batch, 1 − E[own cost]/E[cost of the step]",
        ),
        ("speedup_exact", pa.float64(), "S by the exact route; null where the process has none"),
        ("round_cost_p50", pa.float64(), "median cost of one round"),
        ("round_cost_p95", pa.float64(), "95% quantile of the cost of one round"),
        ("round_cost_p99", pa.float64(), "99% quantile of the cost of one round"),
        ("round_token_cost_p50", pa.float64(), "median over rounds of the cost of one round over its own tokens"),
        ("round_token_cost_p99", pa.float64(), "99% quantile of the same"),
        ("unit_token_cost_p50", pa.float64(), "median over units of the cost of N tokens over N, N = `unit_tokens`"),
        *_with_interval("unit_token_cost_p99", "99% quantile of the same"),
        ("unit_tokens", pa.float64(), "N: mean tokens of one unit (window, lane, generation or request)"),
        ("kappa_star", pa.int16(), "best kappa of the point among those run (the same in all its rows)"),
        ("at_kappa_max", pa.bool_(), "kappa_star is the largest kappa run: the optimum may lie beyond"),
        ("off_is_better", pa.bool_(), "1/off beats the best kappa: do not speculate"),
        ("behind_best", pa.float64(), "speedup minus that of kappa_star"),
        ("behind_best_low", pa.float64(), "lower end of its simultaneous paired interval"),
        ("behind_best_high", pa.float64(), "upper end of its simultaneous paired interval"),
        ("indistinguishable", pa.bool_(), "this kappa cannot be told from kappa_star at this budget"),
        ("within_1pct", pa.bool_(), "speedup within 1% of the best"),
        ("within_2pct", pa.bool_(), "speedup within 2% of the best"),
        *_ORIGIN,
    ]
)

TALLIES = _schema(
    [
        ("simulation_id", _WORD, "SHA-256 of the canonical JSON of process, scheme and policy"),
        ("kappa", pa.int16(), "draft length asked for; of fresh windows, which are played once for all, the longest"),
        ("first", pa.int32(), "first chunk of random words behind the numbers"),
        ("chunks", pa.int32(), "how many successive chunks"),
        ("lanes", pa.int32(), "lanes of these chunks together"),
        ("length", pa.int64(), "rounds or generations of a lane; of one multinomial draw, its windows"),
        ("field", _WORD, "what was counted: runs, sums, histogram, …"),
        ("shape", pa.list_(pa.int32()), "shape of the array of counts"),
        ("values", pa.list_(pa.int64()), "the counts, the first axis running fastest"),
    ]
)
"""What was played, from which every other table follows; kept so that new costs and κ need no new simulation."""

ROUNDS = pa.schema(
    [
        field.with_nullable(field.name == "position")
        for field in _schema(
            [
                ("unit", pa.int32(), "64·chunk + lane; of fresh windows, which have no lanes, 64·chunk"),
                ("round", pa.int32(), "number of the round in its unit, from 0"),
                (
                    "position",
                    pa.int32(),
                    "output position at which the round starts; null unless output sequences are played",
                ),
                (
                    "drafted",
                    pa.int16(),
                    "drafts of the round; less than kappa only at the end of a truncated generation",
                ),
                ("accepted", pa.int16(), "accepted length A"),
            ]
        )
    ]
)

TABLES: dict[str, pa.Schema] = {"chunks": CHUNKS, "counts": COUNTS, "estimates": ESTIMATES}
