"""What do any two local models of the transformers library do as target and draft?  Both read along, token by token."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from simspec.evidence.ngram_model import check_recording
from simspec.evidence.pairs_prompts import Prompt, read_prompts
from simspec.evidence.pairs_rows import Laws, RequestRows, compare, draw_keys, joined
from simspec.evidence.words import uniforms
from simspec.model import ParameterError
from simspec.model.errors import shown
from simspec.run.progress import Progress


def record_pair(
    target: str | Path,
    draft: str | Path,
    prompts: str | Path | None = None,
    *,
    chat: bool = False,
    requests: int = 24,
    tokens: int = 128,
    temperature: float = 1.0,
    seed: int = 1,
    device: str = "cpu",
    progress: Progress | None = None,
) -> pa.Table:
    """A dense trace of two models from local folders: what the draft thinks at every token the target writes.

    Needs ``pip install torch transformers``.  Nothing is downloaded, and no code from the folders is run.

    Parameters
    ----------
    target, draft : str or Path
        Folders as ``save_pretrained`` writes them, with tokenizers of one and the same vocabulary.
    prompts : str or Path, optional
        A text file, one prompt per line; default 24 short prompts of four kinds.  Request r continues prompt r, counted
        round and round.
    chat : bool
        The lines of that file are messages of a chat; the target's chat template goes around them, if it has one.
    requests, tokens : int
        1 to 32,767; a request ends with one of the target's end tokens or after ``tokens`` tokens.
    temperature : float
        Of both models; 0 is greedy.
    seed : int
        Root seed of the addressed random words.
    device : str
        As torch names it.
    progress : Progress, optional
        Told what is being done.

    Returns
    -------
    pyarrow.Table
        `simspec.evidence.pairs_rows.SCHEMA`; ``draft`` is the name of the draft's folder.  Weights are computed with in
        float32.  Logits of numbers that are no token (a padded head) count for nothing.

    Raises
    ------
    ParameterError
        torch or transformers is missing, a folder holds no model, the vocabularies differ, or a parameter is outside
        its range.

    References
    ----------
    Leviathan, Kalman, Matias (2023), section 3.1: α = Σ min(p, q).

    Examples
    --------
    >>> record_pair("models/large", "models/small", requests=8)  # doctest: +SKIP
    """
    parts = pair_requests(
        target, draft, prompts, chat=chat, requests=requests, tokens=tokens, temperature=temperature, seed=seed,
        device=device, progress=progress,
    )  # fmt: skip
    return joined(list(parts))


def pair_requests(
    target: str | Path, draft: str | Path, prompts: str | Path | None = None, *, chat: bool = False,
    requests: int = 24, tokens: int = 128, temperature: float = 1.0, seed: int = 1, device: str = "cpu",
    progress: Progress | None = None,
) -> Iterator[pa.Table]:  # fmt: skip
    """The tables of `record_pair` one request at a time, as they end."""
    check_recording(requests, tokens, temperature)
    texts, drafts = (draw_keys(seed, "transformers", draw) for draw in ("text", "draft"))
    asked = read_prompts(prompts, chat)
    progress = progress or Progress(quiet=True)
    progress.say("loading torch and transformers")
    sides = [_Side("target", target, device), _Side("draft", draft, device)]
    vocabulary = _common_vocabulary(*sides)
    name = Path(draft).resolve().name
    read = [sides[0].prompt(prompt) for prompt in asked[:requests]]
    for side in sides:
        side.check_length(max(map(len, read)) + tokens)

    def one(number: int) -> pa.Table:
        rows = RequestRows(number, asked[number % len(asked)].kind, temperature)
        address, unread = np.array([number]), read[number % len(asked)]
        for side in sides:
            side.begin()
        for position in range(tokens):
            progress.say(f"token {position + 1} of {tokens}, request {number + 1} of {requests}")
            laws = [Laws.of(side.read(unread)[None, :vocabulary], temperature) for side in sides]
            drawn = laws[0].best if temperature == 0.0 else laws[0].draw(uniforms(texts, address, position))
            uniform = np.stack([uniforms(drafts, address, 2 * position + i) for i in (0, 1)], axis=1)
            figures = compare(laws[0], laws[1], drawn, uniform, temperature, laws[0].entropy)
            rows.add(np.array([position]), name, figures)
            unread = [int(drawn[0])]
            if unread[0] in sides[0].ends:
                break
        return rows.table()

    return (one(number) for number in range(requests))


class _Side:
    """One of the two models, and what it has read of the current request."""

    def __init__(self, key: str, folder: str | Path, device: str) -> None:
        self.key, self.folder = key, folder
        try:
            import torch
            import transformers
        except ImportError:
            raise ParameterError(
                "source", "two transformers models need packages that are missing: pip install torch transformers"
            ) from None
        if not Path(folder).is_dir():
            raise ParameterError(key, f"{key} = {shown(str(folder))} is no folder; allowed: a local model's folder")
        self.torch = torch
        transformers.utils.logging.set_verbosity_error()
        transformers.utils.logging.disable_progress_bar()
        try:
            own = {"local_files_only": True, "trust_remote_code": False}  # a folder's own code is not even asked about
            self.tokenizer: Any = transformers.AutoTokenizer.from_pretrained(folder, **own)
            model: Any = transformers.AutoModelForCausalLM.from_pretrained(folder, **own)
        except (OSError, ValueError, KeyError, ImportError) as error:
            said = (str(error).strip().splitlines() or [type(error).__name__])[0]
            raise ParameterError(key, f"{key} = {shown(str(folder))}: no model can be read from it ({said})") from None
        try:
            self.model = model.float().eval().to(device)
        except (RuntimeError, AssertionError) as error:
            raise ParameterError("device", f"device = {shown(device)}: {str(error).splitlines()[0]}") from None
        known = inspect.signature(self.model.forward).parameters  # transformers 5 renames the argument
        self.memory = "cache" if "cache" in known else "past_key_values"
        ends = self.model.generation_config.eos_token_id
        own = self.tokenizer.eos_token_id
        self.ends = {*(ends if isinstance(ends, list) else [ends]), own} - {None}

    def prompt(self, prompt: Prompt) -> list[int]:
        """Tokens of a prompt, inside the chat template where its kind asks for that and there is one."""
        if prompt.chat and self.tokenizer.chat_template:
            messages = [{"role": "user", "content": prompt.text}]
            text = self.tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
            tokens = self.tokenizer(text, add_special_tokens=False)["input_ids"]
        else:
            tokens = self.tokenizer(prompt.text)["input_ids"]
        if not tokens:
            raise ParameterError("prompts", f"the prompt {shown(prompt.text)} has no token in the target's vocabulary")
        return list(tokens)

    def check_length(self, longest: int) -> None:
        """Raise `ParameterError` unless a request of so many tokens fits."""
        limit = getattr(self.model.config, "max_position_embeddings", None)
        if limit is not None and longest > limit:
            raise ParameterError("tokens", f"prompt and tokens make {longest}; allowed by the {self.key}: {limit}")

    def begin(self) -> None:
        """Forget the last request."""
        self.tokens: list[int] = []
        self.past: Any = None

    def read(self, tokens: list[int]) -> np.ndarray:
        """Logits after some more tokens; a model that keeps no past is given all of them again."""
        self.tokens += tokens
        fed = self.tokens if self.past is None else tokens
        with self.torch.inference_mode():
            given = self.torch.tensor([fed], device=self.model.device)
            out = self.model(input_ids=given, use_cache=True, **{self.memory: self.past})
        self.past = getattr(out, self.memory, None)
        return np.asarray(out.logits[0, -1].float().cpu().numpy())


def _common_vocabulary(target: _Side, draft: _Side) -> int:
    """Its size, of two models whose tokens have the same numbers."""
    own, other = target.tokenizer.get_vocab(), draft.tokenizer.get_vocab()
    if own != other:
        raise ParameterError(
            "draft", f"draft = {shown(str(draft.folder))}: its vocabulary ({len(other):,} tokens) is not the target's "
            f"({len(own):,}), so the laws of their next tokens cannot be compared; allowed: one and the same vocabulary"
        )  # fmt: skip
    size = int(max(own.values())) + 1
    for side in (target, draft):
        width = side.model.get_output_embeddings().weight.shape[0]
        if width < size:
            raise ParameterError(
                side.key,
                f"{side.key} = {shown(str(side.folder))}: {width:,} logits for {size:,} tokens; allowed: one each",
            )
    return size
