"""How is advice written so that an engine takes it: which flags, which file, what is lost, how is it switched off?"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from simspec.advice.acceptance import Acceptance
from simspec.advice.export.llamacpp import LLAMACPP
from simspec.advice.export.parts import ONE, Advice, Cell, Engine, Names, Written
from simspec.advice.export.read import advice_of, advice_of_kappa
from simspec.advice.export.sglang import SGLANG
from simspec.advice.export.synthetic import BENCHMARK_ONLY, acceptance_of_recommendation, synthetic_of
from simspec.advice.export.table import inside, over_contexts
from simspec.advice.export.trtllm import TRTLLM
from simspec.advice.export.vllm import VLLM
from simspec.model.errors import ParameterError, did_you_mean
from simspec.text import clean, wrapped

ENGINES = {engine.name: engine for engine in (VLLM, SGLANG, TRTLLM, LLAMACPP)}
_ALSO = {"llama.cpp": "llamacpp", "tensorrt-llm": "trtllm", "tensorrt_llm": "trtllm"}
_BORDERS = "between two loads of the advice the border lies at their geometric mean: measure there to do better"


@dataclass(frozen=True, repr=False)
class Export:
    """Configuration of one engine.

    Attributes
    ----------
    engine, form : str
        Which engine, and which of its forms; form ``"synthetic"`` imitates acceptance.
    says : str
        The advice in one sentence.
    settings : dict
        The engine's own names and values, as data.
    command : str
        The engine's command line with the settings; words in capital letters are the reader's to fill in.
    environment, files : dict
        Environment variables; files by name.
    losses, notes : tuple of str
        What the engine cannot express; what it does with the rest.
    shows : str or None
        What the engine's log will say, for synthetic acceptance.
    since, verified : str
        Which versions take this form; where it was read.
    """

    engine: str
    form: str
    says: str
    settings: Mapping[str, Any]
    command: str
    environment: Mapping[str, str]
    files: Mapping[str, str]
    losses: tuple[str, ...]
    notes: tuple[str, ...]
    shows: str | None
    since: str
    verified: str

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        own = dict(vars(self))
        return own | {"losses": list(self.losses), "notes": list(self.notes)}

    def __repr__(self) -> str:
        """A shell script: comments say what it means, the rest can be pasted."""
        lines = _comment(f"{ENGINES[self.engine].title}: {self.says}")
        lines += [line for text in self.losses for line in _comment(f"lost: {text}")]
        lines += [f"export {name}={shlex.quote(value)}" for name, value in self.environment.items()]
        for name, text in self.files.items():
            lines += [f"cat > {shlex.quote(name)} <<'END'", text, "END"]
        lines.append(self.command)
        tail = [f"its log will say: {self.shows}"] if self.shows else []
        tail += [f"note: {text}" for text in self.notes]
        tail += [f"form: {self.form}, {self.since}", f"verified: {self.verified}"]
        return "\n".join([*lines, *(line for text in tail for line in _comment(text))])


def _comment(text: str) -> list[str]:
    return wrapped(clean(text), "# ", "#   ").split("\n")


def export(
    recommendation: Any,
    engine: str,
    *,
    kappa: int | None = None,
    form: str | None = None,
    max_batch: int | None = None,
    acceptance: Acceptance | None = None,
    synthetic: bool = False,
    iid: bool = False,
    model: str = "MODEL",
    draft: str = "DRAFT",
    method: str | None = None,
) -> Export:
    """Advice as the configuration of an engine.

    Parameters
    ----------
    recommendation : Recommendation, mapping or None
        What `simspec.recommend` gives, or its ``to_dict()``; None with ``kappa`` or ``acceptance``.
    engine : {"vllm", "sglang", "trtllm", "llamacpp"}
    kappa : int, optional
        Draft length to set instead, 0 to 1000; 0 is off.
    form : str, optional
        Which form of the engine's options, by version; the default is the newest in a release that holds the advice.
    max_batch : int, optional
        Largest batch that runs (max_num_seqs, max_running_requests, max_batch_size); default: the largest advised on.
    acceptance : Acceptance, optional
        Acceptance that the engine is to imitate, for benchmarks; excludes ``recommendation``.
    synthetic : bool
        Imitate the acceptance that ``recommendation`` rests on instead of setting κ only.
    iid : bool
        Give ``acceptance`` without survival the curve α^j of i.i.d. drafts.
    model, draft, method : str
        What the engine calls the target, the draft and the way of drafting; capital letters are left to fill in.

    Raises
    ------
    ParameterError
        Nothing is given, or what the engine has no way to express; the message says what it takes instead, and how
        speculation is switched off there.

    References
    ----------
    Sources of every option are named in docs/export.md and in ``verified``.

    Examples
    --------
    >>> grid = [{"batch": 1, "kappa": 4}, {"batch": 8, "kappa": 2}, {"batch": 64, "kappa": 0}]
    >>> own = export({"kappa_star": 4, "grid": grid}, "vllm", max_batch=256)
    >>> own.settings["speculative_config"]["num_speculative_tokens_per_batch_size"]
    [[1, 2, 4], [3, 22, 2], [23, 256, 0]]
    >>> export(None, "llamacpp", kappa=3).command
    'llama-server -m MODEL -md DRAFT --spec-draft-n-max 3 --spec-draft-n-min 0 --spec-draft-p-min 0'
    """
    own, names = engine_of(engine), Names(model, draft, method)
    if acceptance is not None:
        if recommendation is not None:
            raise ParameterError("acceptance", "acceptance and a recommendation given; allowed: one of them")
        if form is not None or max_batch is not None:
            raise ParameterError("form", "form and max_batch go with advice; acceptance is imitated at one κ")
        return imitation(own, acceptance, kappa, iid, names)
    if recommendation is None:
        if kappa is None:
            raise ParameterError("recommendation", "nothing to export; give a recommendation, kappa or acceptance")
        return configuration(own, advice_of_kappa(kappa), form, max_batch, names)
    given = recommendation if isinstance(recommendation, Mapping) else recommendation.to_dict()
    if synthetic:
        return imitation(own, *acceptance_of_recommendation(given, kappa), False, names)
    return configuration(own, advice_of(given, kappa), form, max_batch, names)


def engine_of(name: str) -> Engine:
    """The engine of that name; llama.cpp and TensorRT-LLM also as they write themselves."""
    plain = _ALSO.get(name.lower(), name.lower())
    if plain not in ENGINES:
        raise ParameterError("engine", f"engine = {name!r} is unknown{did_you_mean(plain, ENGINES)}")
    return ENGINES[plain]


def configuration(engine: Engine, advice: Advice, form: str | None, most: int | None, names: Names) -> Export:
    """Flags and files that make the engine follow the advice."""
    if most is not None and most < 1:
        raise ParameterError("max_batch", f"max_batch = {most} is out of range; allowed: from 1")
    if all(cell.kappa == 0 for cell in advice.cells):
        raise ParameterError("kappa", f"{engine.off} (advice: {advice.says})")
    chosen = _form(engine, form, advice.cells)
    own = engine.forms[chosen]
    cells, lost = (advice.cells, []) if own.holds == ONE else inside(_with_batches(advice.cells))
    written = engine.write(chosen, cells, most, names)
    if _is_off(written):
        raise ParameterError("form", f"one κ for all loads would be 0, off: {engine.off}{_rather(engine)}")
    borders = (_BORDERS,) if own.holds != ONE and len(cells) > 1 else ()
    written = replace(written, losses=(*lost, *written.losses), notes=(*advice.notes, *borders, *written.notes))
    return _export(engine, chosen, advice.says, written, names, own.since, own.verified)


def _form(engine: Engine, name: str | None, cells: Sequence[Cell]) -> str:
    """The form asked for; else one κ where that is all there is to say, and the engine's table otherwise."""
    if name is None:
        by_load = all(cell.batch is not None for cell in cells)
        differ = by_load and len({cell.kappa for cell in over_contexts(cells)[0]}) > 1
        return engine.table if differ and engine.table is not None else engine.fixed
    if name not in engine.forms:
        known = "; ".join(f"{own} ({form.holds}, {form.since})" for own, form in engine.forms.items())
        raise ParameterError("form", f"form = {name!r} is unknown to {engine.title}; allowed: {known}")
    return name


def _with_batches(cells: Sequence[Cell]) -> Sequence[Cell]:
    """Advice without loads, in a table: one row from batch 1 up."""
    if len(cells) == 1 and cells[0].batch is None:
        return [replace(cells[0], batch=1, context=cells[0].context or 1)]
    if any(cell.batch is None for cell in cells):
        raise ParameterError(
            "form", "cells of the grid have no batch; allowed: a form with one κ, or --batch in recommend"
        )
    return cells


def _is_off(written: Written) -> bool:
    """A form with one κ that came out as 0."""
    flat = written.settings.get("speculative_config", written.settings)
    lengths = ("num_speculative_tokens", "speculative_num_steps", "max_draft_len", "spec-draft-n-max", "draft-max")
    return any(flat.get(name) == 0 for name in lengths)


def _rather(engine: Engine) -> str:
    return f"; a table can be off for some loads (--form {engine.table})" if engine.table else ""


def imitation(engine: Engine, acceptance: Acceptance, kappa: int | None, iid: bool, names: Names) -> Export:
    """Settings that make the engine accept as asked."""
    wanted = synthetic_of(acceptance, kappa, iid)
    written = engine.imitate(wanted, names)
    says = f"{wanted.emitted:.3f} tokens per round at κ = {wanted.kappa}, bonus token included ({acceptance.origin})"
    written = replace(written, notes=(BENCHMARK_ONLY, *written.notes))
    return _export(engine, "synthetic", says, written, names, engine.imitate_since, engine.imitate_verified)


def _export(
    engine: Engine,
    form: str,
    says: str,
    written: Written,
    names: Names,
    since: str,
    verified: str,
) -> Export:
    command = engine.command.format(model=shlex.quote(names.model))
    words = " ".join(shlex.quote(word) for word in written.words)
    return Export(
        engine=engine.name,
        form=form,
        says=says.replace("{setting}", engine.setting),
        settings=written.settings,
        command=f"{command} {words}".rstrip(),
        environment=written.environment,
        files=written.files,
        losses=written.losses,
        notes=written.notes,
        shows=written.shows,
        since=since,
        verified=verified,
    )
