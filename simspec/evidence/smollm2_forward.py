"""What does a small Llama think after every layer?  A forward pass in NumPy: many requests at once, keys kept."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from simspec.evidence.smollm2_weights import Layer, Weights

_MASKED = np.float32(-1e30)
PIECE = 256
"""Tokens of a prompt that are read at once, so that a long prompt needs no square of its length in memory."""


class Cache:
    """Keys and values of the tokens read so far, of several requests.

    Parameters
    ----------
    weights : Weights
    requests : int
    longest : int
        Most tokens a request can hold.
    """

    def __init__(self, weights: Weights, requests: int, longest: int) -> None:
        shape = (len(weights.layers), requests, weights.key_heads, longest, weights.head_size)
        self.keys, self.values = np.zeros(shape, np.float32), np.zeros(shape, np.float32)
        self.length = np.zeros(requests, np.int64)

    def only(self, request: int) -> Cache:
        """One request; what it reads is read into this cache."""
        one, part = Cache.__new__(Cache), slice(request, request + 1)
        one.keys, one.values, one.length = self.keys[:, part], self.values[:, part], self.length[part]
        return one

    def keep(self, chosen: np.ndarray) -> None:
        """Forget all requests but the chosen ones."""
        self.keys, self.values = self.keys[:, chosen], self.values[:, chosen]
        self.length = self.length[chosen]


def read_prompts(weights: Weights, cache: Cache, prompts: Sequence[Sequence[int]], exits: Sequence[int]) -> np.ndarray:
    """Read one prompt per request of an empty cache; states as from `forward`, at the last token of each."""
    states = []
    for request, prompt in enumerate(prompts):
        own = cache.only(request)
        for first in range(0, len(prompt), PIECE):
            state = forward(weights, own, np.array([prompt[first : first + PIECE]]), exits)
        states.append(state)
    return np.concatenate(states, axis=1)


def forward(weights: Weights, cache: Cache, tokens: np.ndarray, exits: Sequence[int]) -> np.ndarray:
    """Read further tokens, equally many of every request of the cache.

    Parameters
    ----------
    tokens : int array (requests, many)
    exits : sequence of int
        Layers after which the state is asked for, 1 for the first.

    Returns
    -------
    float32 array (exits, requests, width)
        States at the last token.
    """
    requests, many = tokens.shape
    at = cache.length[:, None] + np.arange(many)
    turn = _turns(weights, at)
    hidden = np.arange(int(at.max()) + 1) > at[:, :, None]  # a token does not see what comes after it
    state = weights.embedding[tokens]
    out = np.empty((len(exits), requests, weights.width), np.float32)
    for number, layer in enumerate(weights.layers[: max(exits)], start=1):
        rows = (cache.keys[number - 1], cache.values[number - 1])
        state = state + _attention(
            weights, layer, _normed(state, layer.attention_norm, weights), rows, at, turn, hidden
        )
        state = state + _feed(layer, _normed(state, layer.feed_norm, weights))
        for place in (i for i, own in enumerate(exits) if own == number):
            out[place] = state[:, -1]
    cache.length += many
    return out


def logits(weights: Weights, states: np.ndarray) -> np.ndarray:
    """Logits over the vocabulary from states of any layer: the final norm, then the head."""
    flat = _normed(states, weights.norm, weights).reshape(-1, weights.width) @ weights.embedding.T
    return np.asarray(flat.reshape(*states.shape[:-1], -1))


def _normed(state: np.ndarray, scale: np.ndarray, weights: Weights) -> np.ndarray:
    square = np.mean(np.square(state), axis=-1, keepdims=True, dtype=np.float32)
    return np.asarray(state / np.sqrt(square + np.float32(weights.epsilon)) * scale)


def _turns(weights: Weights, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Cosine and sine of the rotary angles, (requests, most, 1, head size / 2)."""
    powers = np.arange(0, weights.head_size, 2) / weights.head_size
    angle = at[:, :, None, None] / weights.rope_base**powers
    return np.cos(angle).astype(np.float32), np.sin(angle).astype(np.float32)


def _turned(heads: np.ndarray, turn: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """Rotary positions; GGUF stores a pair's two halves beside each other."""
    cos, sin = turn
    even, odd = heads[..., 0::2], heads[..., 1::2]
    out = np.empty_like(heads)
    out[..., 0::2] = even * cos - odd * sin
    out[..., 1::2] = even * sin + odd * cos
    return out


def _attention(
    weights: Weights, layer: Layer, state: np.ndarray, rows: tuple[np.ndarray, np.ndarray], at: np.ndarray,
    turn: tuple[np.ndarray, np.ndarray], hidden: np.ndarray,
) -> np.ndarray:  # fmt: skip
    requests, most, _ = state.shape
    size, key_heads = weights.head_size, weights.key_heads
    shared = weights.heads // key_heads  # query heads that read the same keys
    stacked = (state.reshape(-1, weights.width) @ layer.query_key_value.T).reshape(requests, most, -1, size)
    query = _turned(stacked[:, :, : weights.heads], turn)
    key = _turned(stacked[:, :, weights.heads : weights.heads + key_heads], turn)
    value = stacked[:, :, weights.heads + key_heads :]
    keys, values = rows
    here = np.arange(requests)[:, None]
    keys[here, :, at], values[here, :, at] = key, value
    reach = hidden.shape[-1]
    query = query.reshape(requests, most, key_heads, shared, size).transpose(0, 2, 3, 1, 4)
    scores = query.reshape(requests, key_heads, shared * most, size) @ keys[:, :, :reach].swapaxes(-1, -2)
    scores = scores.reshape(requests, key_heads, shared, most, reach) * np.float32(size**-0.5)
    scores = np.where(hidden[:, None, None], _MASKED, scores)
    scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
    scores /= scores.sum(axis=-1, keepdims=True)
    mixed = scores.reshape(requests, key_heads, shared * most, reach) @ values[:, :, :reach]
    mixed = mixed.reshape(requests, key_heads, shared, most, size).transpose(0, 3, 1, 2, 4)
    flat = mixed.reshape(requests * most, weights.width) @ layer.attention_output.T
    return np.asarray(flat.reshape(requests, most, weights.width))


def _feed(layer: Layer, state: np.ndarray) -> np.ndarray:
    """SwiGLU."""
    both = state.reshape(-1, state.shape[-1]) @ layer.gate_up.T
    gate, up = np.split(both, 2, axis=-1)
    with np.errstate(over="ignore"):  # exp(−gate) = inf means a gate that is shut
        opened = gate / (np.float32(1.0) + np.exp(-gate)) * up
    return np.asarray((opened @ layer.down.T).reshape(state.shape))
