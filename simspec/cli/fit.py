"""simspec fit: what engine logs, scrapes, benchmark print-outs and traces say of acceptance, and what explains it."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from simspec.cli.common import add_json, number, positive, whole

if TYPE_CHECKING:
    from simspec.evidence.rounds.processes import ProcessFits
    from simspec.evidence.source import Source, Unknown

    Fitted = ProcessFits | Unknown | None


def add(commands: argparse._SubParsersAction[Any]) -> None:
    """Define the command."""
    own = commands.add_parser(
        "fit",
        help="what an engine's log, scrape, print-out or trace says: drafts, survival, α, tokens per round, process",
        description="Read outputs of vLLM, SGLang, llama.cpp, TensorRT-LLM, MLC, LM Studio, gpt-fast, Spec-Bench, "
        "EAGLE and Medusa, or a table of rounds; the shape is recognised, an unknown one refused.  Plain or gzip.  "
        "Scrapes of one server, in order of time, are one source.  --json: one source is an object, several a list.  "
        "Where a source holds rounds, acceptance processes are fitted and checked, for other κ "
        "(num_speculative_tokens, γ, --draft-max) than the one measured.",
    )
    own.add_argument("files", nargs="+", metavar="FILE", help="a file, or - for standard input")
    own.add_argument("--kappa", type=positive, default=None, metavar="N",
                     help="draft length, for shapes that do not hold it; default: unknown")  # fmt: skip
    own.add_argument("--accepted", default=None, metavar="COLUMN",
                     help="accepted length per round, in a table; default: accepted, num_accepted, …")  # fmt: skip
    own.add_argument("--drafted", default=None, metavar="N|COLUMN",
                     help="drafts per round, in a table; default: kappa, drafted, …")  # fmt: skip
    own.add_argument("--bonus-included", choices=("yes", "no"), default=None,
                     help="whether that length counts the bonus token; default: where name or rows tell")  # fmt: skip
    own.add_argument("--request", default=None, metavar="COLUMN",
                     help="column that tells requests apart; default: request, request_id, question_id")  # fmt: skip
    own.add_argument("--counts-only", action="store_true",
                     help="read and count, fit no process (default: fit what the rounds allow)")  # fmt: skip
    own.add_argument("--seed", type=whole, default=1, metavar="N",
                     help="seed of the replicates that check a process, default 1")  # fmt: skip
    own.add_argument("--level", type=number, default=0.95, metavar="P", help="confidence level, default 0.95")
    add_json(own)
    own.set_defaults(do=do)


def do(args: argparse.Namespace) -> int:
    """Read, fit and print."""
    from simspec.cli.common import number_or_word, print_json, reading
    from simspec.evidence.recognise import are_pieces, fit
    from simspec.evidence.show import shown

    with reading():
        sources = fit(
            *args.files,
            level=args.level,
            kappa=args.kappa,
            accepted=args.accepted,
            drafted=number_or_word(args.drafted),
            bonus_included=None if args.bonus_included is None else args.bonus_included == "yes",
            request=args.request,
        )
    processes = [None] * len(sources) if args.counts_only else _processes(sources, args.seed)
    if args.json:
        found = [_with_processes(*pair) for pair in zip(sources, processes, strict=True)]
        print_json(found[0] if len(found) == 1 else found)
    else:
        print("\n\n\n".join(shown(*pair) for pair in zip(sources, processes, strict=True)))
        if are_pieces(sources):
            print(f"\n{len(sources)} files of one shape at one κ: recommend, explain and ab pool them "
                  "(ab: with commas between); here:  zcat -f FILES | simspec fit -")  # fmt: skip
    return 0


def _processes(sources: list[Source], seed: int) -> list[Fitted]:
    """Fits of each source, or why there are none."""
    from simspec.evidence.rounds.processes import fit_processes, rounds_of
    from simspec.evidence.source import Unknown
    from simspec.run.progress import Progress

    with Progress() as progress:
        return [
            rounds if isinstance(rounds, Unknown) else fit_processes(rounds, seed=seed, progress=progress.say)
            for rounds in map(rounds_of, sources)
        ]


def _with_processes(source: Source, found: Fitted) -> dict[str, Any]:
    from simspec.evidence.rounds.processes import ProcessFits

    out = source.to_dict()
    if found is None:
        return out
    if isinstance(found, ProcessFits):
        return {**out, "processes": found.to_dict()}
    return {**out, "processes": None, "reasons": {**out["reasons"], "processes": found.reason}}
