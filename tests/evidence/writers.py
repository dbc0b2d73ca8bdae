"""What each engine prints of rounds whose counts are known: the formats as documented, with counts of our own.

A reader is right if it gives back the counts that went in.
"""

import json
from dataclasses import dataclass
from itertools import accumulate


@dataclass(frozen=True)
class Truth:
    """``histogram[j]``: rounds that accepted exactly j of κ drafts; every draft is full."""

    histogram: tuple[int, ...]

    @property
    def kappa(self):
        return len(self.histogram) - 1

    @property
    def drafts(self):
        return sum(self.histogram)

    @property
    def drafted(self):
        return self.kappa * self.drafts

    @property
    def accepted(self):
        return sum(j * count for j, count in enumerate(self.histogram))

    @property
    def reached(self):
        return list(accumulate(self.histogram[:0:-1]))[::-1]

    @property
    def survival(self):
        return [count / self.drafts for count in self.reached]

    @property
    def length(self):
        return 1 + self.accepted / self.drafts

    @property
    def rate(self):
        return self.accepted / self.drafted


SMALL = Truth((17, 9, 6, 8))
OTHER = Truth((40, 12, 20, 31))
DEEP = Truth((90, 41, 30, 22, 11, 60))


def lines(*texts):
    return "".join(text + "\n" for text in texts)


# vLLM


def vllm_engine(engine=0, tokens=100.0, running=1, prefix=""):
    return (
        f"{prefix}INFO 05-08 16:26:29 [loggers.py:271] Engine {engine:03d}: Avg prompt throughput: 5.0 tokens/s, Avg "
        f"generation throughput: {tokens:.1f} tokens/s, Running: {running} reqs, Waiting: 0 reqs, GPU KV cache usage: "
        "7.4%, Prefix cache hit rate: 0.0%"
    )


def rates(truth):
    return ", ".join(f"{s:.3f}" for s in truth.survival)


def vllm_current(truth, prefix="", depth=False):
    tail = f", Current speculative depth: {truth.kappa}" if depth else ""
    return (
        f"{prefix}INFO 05-08 16:26:29 [metrics.py:101] SpecDecoding metrics: Mean acceptance length: "
        f"{truth.length:.2f}, Accepted throughput: {truth.accepted / 10:.2f} tokens/s, Drafted throughput: "
        f"{truth.drafted / 10:.2f} tokens/s, Accepted: {truth.accepted} tokens, Drafted: {truth.drafted} tokens, "
        f"Per-position acceptance rate: {rates(truth)}, Avg Draft acceptance rate: {100 * truth.rate:.1f}%{tail}"
    )


def vllm_mid(truth, drafted=None, bonus=True):
    drafted = truth.drafted if drafted is None else drafted
    return (
        f"INFO 06-06 14:20:34 [metrics.py:86] SpecDecoding metrics: Draft acceptance rate: "
        f"{100 * truth.accepted / drafted:.1f}%, Mean acceptance length: {truth.length - (not bonus):.2f}, Accepted: "
        f"{truth.accepted} tokens, Drafted: {drafted} tokens, Per-position acceptance rate: {rates(truth)}"
    )


def vllm_early(truth):
    return (
        f"INFO 04-09 09:15:40 [metrics.py:61] SpecDecoding metrics: Draft acceptance rate: {100 * truth.rate:.1f}%, "
        f"Accepted: {truth.accepted} tokens, Drafted: {truth.drafted} tokens"
    )


def vllm_early_fraction(truth):
    return (
        f"INFO 04-01 17:02:11 [metrics.py:57] Speculative metrics: Draft acceptance rate: {truth.rate:.3f}, Number of "
        f"accepted tokens: {truth.accepted}, Number of draft tokens: {truth.drafted}, "
    )


def vllm_v0(truth, agreeing=None):
    """``agreeing``: the line's accepted tokens, which go on after the first rejection."""
    agreeing = truth.accepted if agreeing is None else agreeing
    emitted = truth.accepted + truth.drafts
    return (
        f"INFO 10-16 19:05:47 metrics.py:367] Speculative metrics: Draft acceptance rate: "
        f"{agreeing / truth.drafted:.3f}, System efficiency: {emitted / (truth.drafts * (truth.kappa + 1)):.3f}, "
        f"Number of speculative tokens: {truth.kappa}, "
        f"Number of accepted tokens: {agreeing}, Number of draft tokens: {truth.drafted}, Number of "
        f"emitted tokens: {emitted}."
    )


def vllm_scrape(engines, created=1.5e9):
    """``engines``: label → Truth."""
    out = []
    for name in ("drafts", "draft_tokens", "accepted_tokens"):
        full = f"vllm:spec_decode_num_{name}"
        value = {"drafts": "drafts", "draft_tokens": "drafted", "accepted_tokens": "accepted"}[name]
        out += [f"# HELP {full}_total counter", f"# TYPE {full}_total counter"]
        out += [f'{full}_total{{engine="{e}",model_name="m"}} {float(getattr(t, value))}' for e, t in engines.items()]
        out += [f'{full}_created{{engine="{e}",model_name="m"}} {created}' for e in engines]
    full = "vllm:spec_decode_num_accepted_tokens_per_pos_total"
    out += [f"# HELP {full} Accepted tokens per draft position.", f"# TYPE {full} counter"]
    for engine, truth in engines.items():
        out += [
            f'{full}{{engine="{engine}",model_name="m",position="{j}"}} {float(count)}'
            for j, count in enumerate(truth.reached)
        ]
    return lines(*out, 'vllm:num_requests_running{engine="0",model_name="m"} 4.0')


def bench_frame(*body):
    return lines("============ Serving Benchmark Result ============", *body, "=" * 50)


def vllm_bench(truth):
    positions = [f"  Position {j}:                            {100 * s:.2f}     " for j, s in enumerate(truth.survival)]
    return bench_frame(
        "Successful requests:                     12        ",
        "Maximum request concurrency:             16        ",
        "Output token throughput (tok/s):         1187.08   ",
        "-----Time per Output Token (excl. 1st token)------",
        "Mean TPOT (ms):                          10.00     ",
        "---------------Inter-token Latency----------------",
        "Mean ITL (ms):                           25.00     ",
        "---------------Speculative Decoding---------------",
        f"Acceptance rate (%):                     {100 * truth.rate:.2f}     ",
        f"Acceptance length:                       {truth.length:.2f}      ",
        f"Drafts:                                  {truth.drafts}     ",
        f"Draft tokens:                            {truth.drafted}     ",
        f"Accepted tokens:                         {truth.accepted}     ",
        "Per-position acceptance (%):",
        *positions,
    )


def vllm_bench_json(truth, percent=False):
    unit = 100 if percent else 1
    return json.dumps({
        "request_throughput": 2.5, "output_throughput": 1200.25, "mean_itl_ms": 25.0, "mean_tpot_ms": 10.0,
        "max_concurrency": 8, "spec_decode_acceptance_rate": 100 * truth.rate,
        "spec_decode_acceptance_length": truth.length, "spec_decode_num_drafts": truth.drafts,
        "spec_decode_draft_tokens": truth.drafted, "spec_decode_accepted_tokens": truth.accepted,
        "spec_decode_per_position_acceptance_rates": [unit * s for s in truth.survival]})  # fmt: skip


def vllm_v0_scrape(truth):
    labels = '{model_name="m"}'
    efficiency = truth.length / (truth.kappa + 1)
    counters = (("accepted", truth.accepted), ("draft", truth.drafted), ("emitted", truth.accepted + truth.drafts))
    return lines(
        f"vllm:spec_decode_draft_acceptance_rate{labels} {truth.rate}",
        f"vllm:spec_decode_efficiency{labels} {efficiency}",
        *(f"vllm:spec_decode_num_{name}_tokens_total{labels} {3.0 * count}" for name, count in counters),
    )


def llamacpp_scrape(truth):
    head = "llamacpp:spec_decode_num_"
    rows = [f"llamacpp:n_decode_total {truth.drafts + 5}", f"{head}draft_tokens_total {truth.drafted}",
            f"{head}accepted_tokens_total {truth.accepted}", f"{head}drafts_total {truth.drafts}"]  # fmt: skip
    positions = enumerate(truth.reached)
    return lines(*rows, *(f'{head}accepted_tokens_per_pos_total{{position="{j}"}} {n}' for j, n in positions))


def vllm_offline(truth):
    return lines(
        "-" * 50,
        f"total_num_output_tokens: {truth.accepted + truth.drafts}",
        f"num_drafts: {truth.drafts}",
        f"num_draft_tokens: {truth.drafted}",
        f"num_accepted_tokens: {truth.accepted}",
        f"mean acceptance length: {truth.length:.2f}",
        "-" * 50,
        *(f"acceptance at token {j}: {s:.2f}" for j, s in enumerate(truth.survival)),
    )


def vllm_request(truth, name="r", **changes):
    block = {
        "mean_acceptance_length": truth.length,
        "draft_acceptance_rate": truth.rate,
        "acceptance_histogram": list(truth.histogram),
        "num_spec_steps": truth.drafts,
        "num_accepted_draft_tokens": truth.accepted,
        "num_draft_tokens": truth.drafted,
        "num_spec_tokens": truth.kappa,
    } | changes
    return json.dumps({"id": name, "metrics": {"speculative_decoding": block}})


# SGLang


def sglang_decode(length, rate=None, running=1, dp=None, tp=0):
    """``rate``: as the generation of the line has it, or None for the oldest."""
    ranks = f"DP{dp} TP{tp}" if dp is not None else f"TP{tp}"
    middle = f"accept len: {length:.2f}, " + (f"accept rate: {rate:.2f}, " if rate is not None else "")
    return (
        f"[2026-06-20 14:49:19 {ranks}] Decode batch, #running-req: {running}, #token: 980, token usage: 0.00, {middle}"
        "cuda graph: True, gen throughput (token/s): 72.73, #queue-req: 0"
    )


def sglang_bench(length=3.5):
    return bench_frame(
        "Backend:                                 sglang    ",
        "Total generated tokens:                  10000     ",
        "Total generated tokens (retokenized):    9985      ",
        "Output token throughput (tok/s):         500.00    ",
        "Concurrency:                             10.00     ",
        f"Accept length:                           {length:.2f}      ",
    )


def sglang_meta(truth, name="a", old=False, **changes):
    words = (
        ("spec_accept_token_num", "spec_draft_token_num", "spec_accept_histogram")
        if old
        else ("spec_num_correct_drafts", "spec_num_proposed_drafts", "spec_correct_drafts_histogram")
    )
    completion = truth.accepted + truth.drafts
    meta = {
        "id": name,
        "completion_tokens": completion,
        "spec_verify_ct": truth.drafts,
        "spec_accept_rate": truth.rate,
        "spec_accept_length": completion / truth.drafts,
        words[0]: truth.accepted,
        words[1]: truth.drafted,
        words[2]: list(truth.histogram),
    } | changes
    return json.dumps({"text": "...", "meta_info": meta})


# llama.cpp


def llamacpp_cli(truth):
    emitted = truth.accepted + truth.drafts
    return lines(
        "",
        "encoded   12 tokens in    0.514 seconds, speed:   23.346 t/s",
        f"decoded  {emitted} tokens in   10.000 seconds, speed:   10.781 t/s",
        "",
        f"n_draft   = {truth.kappa}",
        f"n_predict = {emitted}",
        f"n_drafted = {truth.drafted}",
        f"n_accept  = {truth.accepted}",
        f"accept    = {100 * truth.rate:.3f}%",
        "",
        "draft:",
        "",
        "llama_perf_context_print: prompt eval time =   25054.05 ms /   125 tokens (  200.43 ms per token,     4.99 "
        "tokens per second)",
        "llama_perf_context_print:        eval time =    8806.60 ms /   855 runs   (   10.00 ms per token,    97.09 "
        "tokens per second)",
        "",
        "target:",
        "",
        "llama_perf_context_print: prompt eval time =   24612.10 ms /   981 tokens (   25.09 ms per token,    39.86 "
        "tokens per second)",
        "llama_perf_context_print:        eval time =     100.00 ms /     1 runs   (  100.00 ms per token,    11.00 "
        "tokens per second)",
    )


def llamacpp_request(truth, task=0):
    return (
        f"0.06.896.016 I slot print_timing: id  1 | task {task} | draft acceptance = {truth.rate:.5f} ("
        f"{truth.accepted:5d} accepted / {truth.drafted:5d} generated), mean acceptance length = {truth.length:5.2f}, "
        f"acceptance rate per position = ({rates(truth)})"
    )


def llamacpp_mean_len(truth, task=0):
    """Since mid 2026 at the usual verbosity, also in LM Studio's server log: the positions need -lv 4."""
    return (
        f"slot print_timing: id  0 | task {task} | draft acceptance = {truth.rate:.5f} ({truth.accepted:5d} accepted / "
        f"{truth.drafted:5d} generated), mean len = {truth.length:5.2f}"
    )


def llamacpp_statistics(truth, drafter="draft-eagle3"):
    return (
        f"0.06.896.057 I statistics     {drafter}: #calls(b,g,a) =    1 {truth.drafts:6d} {truth.drafts:6d}, #gen "
        f"drafts = {truth.drafts:6d}, #acc drafts = {truth.reached[0]:5d}, #gen tokens = {truth.drafted:6d}, "
        f"#acc tokens = {truth.accepted:5d}, "
        f"#mean acc len = {truth.length:4.2f}, #acc rate/pos = ({rates(truth)}), dur(b,g,a) = "
        f"0.005, {2.0 * truth.drafts:.3f}, 0.114 ms"
    )


def llamacpp_old(truth):
    emitted = truth.accepted + truth.drafts
    return lines(
        "slot print_timing: id  0 | task 5 | ",
        "prompt eval time =     300.11 ms /    20 tokens (   15.01 ms per token,    66.64 tokens per second)",
        f"       eval time =    2000.00 ms / {emitted:5d} tokens (    8.29 ms per token,   120.61 tokens per second)",
        "slot print_timing: id  0 | task 5 | ",
        f"draft acceptance rate = {truth.rate:.5f} ({truth.accepted:5d} accepted / {truth.drafted:5d} generated)",
        f"statistics draft: #calls = {truth.drafts}, #gen drafts = {truth.drafts}, #acc drafts = {truth.reached[0]}, "
        f"#gen tokens = {truth.drafted}, #acc tokens = {truth.accepted}",
    )


def llamacpp_timings(truth):
    emitted = truth.accepted + truth.drafts
    return {"predicted_n": emitted, "predicted_ms": 10.0 * truth.drafts, "draft_n": truth.drafted,
            "draft_n_accepted": truth.accepted}  # fmt: skip


# others


def trtllm_iteration(number, requests, kappa, accepted, rank=None):
    row = {
        "iter": number,
        "specDecodingStats": {
            "numDraftTokens": requests * kappa,
            "numAcceptedTokens": accepted,
            "numRequestsWithDraftTokens": requests,
            "acceptanceLength": 1 + accepted / requests if requests else 0.0,
        },
    }
    return json.dumps(row | ({} if rank is None else {"attentionDpRank": rank}))


def specbench(question, lengths, category="qa"):
    choice = {"turns": ["..."], "new_tokens": [sum(lengths)], "wall_time": [1.0], "accept_lengths": list(lengths)}
    return json.dumps({"question_id": question, "category": category, "model_id": "m", "choices": [choice]})


def lengths_of(truth):
    return [j + 1 for j, count in enumerate(truth.histogram) for _ in range(count)]


def gptfast(truth):
    shares = [count / truth.drafts for count in truth.histogram]
    return lines(
        f"Acceptance probs: {shares}", f"Mean Accepted: {truth.accepted / truth.drafts}", "Average tokens/sec: 103.30"
    )


def mlc(truth):
    return json.dumps(
        {"usage": {"extra": {"spec_decode": {"draft_count": [truth.drafts] * (truth.kappa + 1),
                                             "accept_count": [truth.drafts, *truth.reached]}}}}
    )  # fmt: skip


def rounds_csv(truth, separator=",", request=None):
    head = separator.join(["accepted", "kappa", *(["request"] if request else []), "draft_ms"])
    rows = [head]
    for i, length in enumerate(lengths_of(truth)):
        cells = [str(length - 1), str(truth.kappa), *([request(i)] if request else []), "1.5"]
        rows.append(separator.join(cells))
    return lines(*rows)


def speculators(subsets):
    kappa = next(iter(subsets.values())).kappa
    head = ["subset", "num_drafts", "num_draft_tokens", "num_accepted_tokens"]
    rows = [",".join([*head, *(f"acceptance_at_pos_{j}" for j in range(kappa))])]
    for name, t in subsets.items():
        rows.append(",".join(map(str, [name, t.drafts, t.drafted, t.accepted, *t.survival])))
    return lines(*rows)


def keyvalue(truth):
    reached = ",".join(map(str, truth.reached))
    return lines(f"drafts={truth.drafts} draft_tokens={truth.drafted} accepted_tokens={truth.accepted} "
                 f"kappa={truth.kappa} accepted_at_position={reached}")  # fmt: skip


ANSI = "\x1b[1;36m(APIServer pid=13026)\x1b[0;0m "

SAMPLES = {
    "vllm-v0-speculative-metrics": lines(vllm_v0(SMALL, 70), "noise", vllm_v0(OTHER, 190), vllm_v0(SMALL, 70)),
    "vllm-v1-early": lines(vllm_early_fraction(SMALL), vllm_early(OTHER)),
    "vllm-v1-mid": lines(vllm_engine(), vllm_mid(SMALL), vllm_engine(), vllm_mid(OTHER)),
    "vllm-v1-current": lines(
        vllm_engine(prefix=ANSI), vllm_current(SMALL, ANSI), 'INFO: "POST /v1/chat HTTP/1.1" 200 OK',
        vllm_engine(prefix=ANSI), vllm_current(OTHER, ANSI),
    ),
    "vllm-prometheus": vllm_scrape({"0": SMALL}) + vllm_scrape({"0": OTHER}),
    "vllm-v0-prometheus": vllm_v0_scrape(SMALL),
    "vllm-bench-serve": vllm_bench(DEEP),
    "vllm-bench-json": lines(vllm_bench_json(DEEP)),
    "vllm-offline-example": vllm_offline(SMALL),
    "vllm-per-request": lines(vllm_request(SMALL, "a"), vllm_request(OTHER, "b")),
    "sglang-decode-len": lines(sglang_decode(2.5), sglang_decode(2.25, running=2)),
    "sglang-decode-rate-draft-only": lines(sglang_decode(2.85, 0.62), sglang_decode(2.76, 0.59, running=2)),
    "sglang-decode-rate-with-bonus": lines(sglang_decode(2.17, 0.54), sglang_decode(1.95, 0.49)),
    "sglang-bench-serving": sglang_bench(),
    "sglang-bench-json": lines(json.dumps({"backend": "sglang", "request_throughput": 2.5, "output_throughput": 640.0,
        "accept_length": 2.86, "concurrency": 31.5, "total_output_tokens": 1000,
        "total_output_tokens_retokenized": 990, "mean_itl_ms": 20.0})),
    "sglang-prometheus": lines('sglang:spec_accept_length{model_name="m",tp_rank="0"} 2.5'),
    "sglang-meta-info": lines(sglang_meta(SMALL, "a"), sglang_meta(OTHER, "b", old=True)),
    "llamacpp-speculative-cli": llamacpp_cli(DEEP),
    "llamacpp-server-per-position": lines(
        llamacpp_request(SMALL, 0), llamacpp_statistics(SMALL), "[49965] " + llamacpp_request(OTHER, 9)
    ),
    "llamacpp-server-rate": llamacpp_old(SMALL),
    "llamacpp-prometheus": llamacpp_scrape(SMALL) + llamacpp_scrape(OTHER),
    "llamacpp-timings": json.dumps([llamacpp_timings(SMALL), {"predicted_n": 9, "predicted_ms": 3.0}], indent=1),
    "trtllm-iteration-stats": lines(trtllm_iteration(1, 8, 3, 15), trtllm_iteration(2, 4, 3, 6)),
    "trtllm-request-metrics": lines(json.dumps({"perf_metrics": {"speculative_decoding": {
        "acceptance_rate": 0.5, "total_accepted_draft_tokens": 6, "total_draft_tokens": 12}}})),
    "spec-bench": lines(specbench(1, lengths_of(SMALL)), specbench(2, lengths_of(OTHER), "rag")),
    "eagle-medusa-eval": lines(json.dumps({"question_id": 1, "choices": [
        {"index": 0, "turns": ["a", "b"], "idxs": [9, 19], "new_tokens": [35, 70], "wall_time": [1.0, 2.0]}]})),
    "gpt-fast-summary": gptfast(SMALL),
    "mlc-metrics": lines(mlc(SMALL)),
    "lmstudio-stats": json.dumps({"stats": {"promptTokensCount": 34, "predictedTokensCount": 63,
                                            "totalTokensCount": 97, "totalDraftTokensCount": 50,
        "acceptedDraftTokensCount": 30, "rejectedDraftTokensCount": 15, "ignoredDraftTokensCount": 5}}, indent=1),
    "key-value": keyvalue(SMALL) + keyvalue(OTHER),
    "rounds-csv": rounds_csv(OTHER),
    "speculators-csv": speculators({"x": SMALL, "y": OTHER}),
}  # fmt: skip
"""Shape → a text of it."""
