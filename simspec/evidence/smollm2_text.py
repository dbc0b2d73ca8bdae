"""How do text and tokens of SmolLM2 turn into each other?  By the vocabulary that lies beside the weights."""

from __future__ import annotations

from typing import Any

from simspec.evidence.pairs_prompts import Prompt
from simspec.evidence.smollm2_weights import INSTALL, Model
from simspec.model import ParameterError

_ENDS = ("<|endoftext|>", "<|im_end|>")
_SYSTEM = "You are a helpful assistant."


class Text:
    """Text to tokens and back.

    Parameters
    ----------
    model : Model

    Raises
    ------
    ParameterError
        The package ``tokenizers`` is missing.
    """

    def __init__(self, model: Model) -> None:
        try:
            import tokenizers
        except ImportError:
            raise ParameterError("weights", f"reading the vocabulary needs a package: {INSTALL}") from None
        number = {token: i for i, token in enumerate(model.tokens)}
        merges = [tuple(merge.split(" ", 1)) for merge in model.merges]
        own: Any = tokenizers.Tokenizer(tokenizers.models.BPE(vocab=number, merges=merges))
        byte_level = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
        digits = tokenizers.pre_tokenizers.Digits(individual_digits=True)
        own.pre_tokenizer = tokenizers.pre_tokenizers.Sequence([digits, byte_level])
        own.decoder = tokenizers.decoders.ByteLevel()
        own.add_special_tokens([model.tokens[i] for i in sorted(model.special)])
        self._own = own
        self.ends = frozenset(number[end] for end in _ENDS)

    def prompt(self, prompt: Prompt) -> list[int]:
        """Tokens of a prompt, inside the chat template where its kind asks for that."""
        text = prompt.text
        if prompt.chat:
            turns = (("system", _SYSTEM), ("user", text))
            said = "".join(f"<|im_start|>{role}\n{words}<|im_end|>\n" for role, words in turns)
            text = f"{said}<|im_start|>assistant\n"
        return self.tokens(text)

    def tokens(self, text: str) -> list[int]:
        """Token numbers."""
        return list(self._own.encode(text).ids)

    def text(self, tokens: list[int]) -> str:
        """The text of tokens, control tokens left out."""
        return str(self._own.decode(tokens))
