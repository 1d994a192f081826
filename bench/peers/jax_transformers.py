"""BERT and GPT-2 in JAX: one product for queries, keys and values, and the
attention that the library brings."""

import jax
import jax.numpy as jnp
from jax import lax

from lib.models import LAYERS, WIDTH

Weights = dict[str, jax.Array]
HEADS = 12
EPSILON = 1e-5


def merged(weights: Weights) -> Weights:
    """Queries, keys and values one behind the other."""
    found: Weights = {}
    for key, value in weights.items():
        name = key
        for part in ("query", "key", "value"):
            name = name.replace(f"attention.{part}", "qkv")
        found[name] = (jnp.concatenate((found[name], value), -1)
                       if name in found else value)
    return found


def linear(weights: Weights, name: str, x):
    return x @ weights[f"{name}.weight"] + weights[f"{name}.bias"]


def layer_norm(weights: Weights, name: str, x):
    mean = x.mean(-1, keepdims=True)
    variance = jnp.square(x - mean).mean(-1, keepdims=True)
    return ((x - mean) * lax.rsqrt(variance + EPSILON)
            * weights[f"{name}.weight"] + weights[f"{name}.bias"])


def attention(weights: Weights, name: str, x, is_causal: bool, mask):
    batch, length, _ = x.shape
    parts = linear(weights, f"{name}.qkv", x).reshape(
        batch, length, 3, HEADS, WIDTH // HEADS)
    mixed = jax.nn.dot_product_attention(
        parts[:, :, 0], parts[:, :, 1], parts[:, :, 2], mask=mask,
        is_causal=is_causal)
    return linear(weights, f"{name}.attention.out", mixed.reshape(x.shape))


def dense(weights: Weights, name: str, x):
    up = jax.nn.gelu(linear(weights, f"{name}.up", x), approximate=False)
    return linear(weights, f"{name}.down", up)


def through(weights: Weights, x, is_causal: bool, mask=None):
    """GPT-2 normalises what goes into each half, BERT what comes out."""
    for layer in range(LAYERS):
        name = f"layers.{layer}"
        first, second = f"{name}.norm1", f"{name}.norm2"
        if is_causal:
            x = x + attention(weights, name, layer_norm(weights, first, x),
                              True, mask)
            x = x + dense(weights, name, layer_norm(weights, second, x))
        else:
            x = layer_norm(weights, first,
                           x + attention(weights, name, x, False, mask))
            x = layer_norm(weights, second, x + dense(weights, name, x))
    return x


def embedded(weights: Weights, tokens):
    return (weights["embedding.words.weight"][tokens]
            + weights["embedding.positions.weight"])


def bert(weights: Weights, tokens, state):
    """Tokens [batch, length] to logits [batch, classes]."""
    x = layer_norm(weights, "norm", embedded(weights, tokens))
    # Token 0 is padding, but for the first, which stands for the text.
    seen = (tokens != 0).at[:, 0].set(True)
    x = through(weights, x, is_causal=False, mask=seen[:, None, None, :])
    pooled = jnp.tanh(linear(weights, "pooler", x[:, 0]))
    return linear(weights, "classifier", pooled), state, {}


def gpt(weights: Weights, tokens, state):
    """Tokens [length, batch] to logits [length x batch, words]."""
    x = through(weights, embedded(weights, tokens.T), is_causal=True)
    x = layer_norm(weights, "norm", x).swapaxes(0, 1)
    logits = x @ weights["embedding.words.weight"].T
    return logits.reshape(-1, logits.shape[-1]), state, {}
