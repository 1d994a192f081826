"""The models of lib/models.py in JAX: functions of a dict of the shared weights,
under their names there. Images are NHWC and kernels HWIO, as XLA's processor
backend computes them."""

import jax
import jax.numpy as jnp
from jax import lax

import jax_transformers

Weights = dict[str, jax.Array]
EPSILON = 1e-5


def conv(weights: Weights, name: str, x, stride: int = 1):
    y = lax.conv_general_dilated(
        x, weights[f"{name}.weight"], (stride, stride), ((1, 1), (1, 1)),
        dimension_numbers=("NHWC", "HWIO", "NHWC"))
    bias = weights.get(f"{name}.bias")
    return y if bias is None else y + bias


def linear(weights: Weights, name: str, x):
    return x @ weights[f"{name}.weight"] + weights[f"{name}.bias"]


def max_pool(x):
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1),
                             "VALID")


def batch_norm(weights: Weights, name: str, x, statistics: dict):
    """With the batch's moments; what follows the running ones goes to
    `statistics`."""
    mean, variance = x.mean((0, 1, 2)), x.var((0, 1, 2))
    count = x.size // x.shape[-1]
    for moment, value in (("running_mean", mean),
                          ("running_var", variance * count / (count - 1))):
        key = f"{name}.{moment}"
        statistics[key] = 0.9 * weights[key] + 0.1 * value
    scale = weights[f"{name}.weight"] * lax.rsqrt(variance + EPSILON)
    return (x - mean) * scale + weights[f"{name}.bias"]


def mnist_cnn(weights: Weights, x, state):
    x = max_pool(jax.nn.relu(conv(weights, "conv1", x)))
    x = max_pool(jax.nn.relu(conv(weights, "conv2", x)))
    x = jax.nn.relu(linear(weights, "fc1", x.reshape(x.shape[0], -1)))
    return linear(weights, "fc2", x), state, {}


def mlp(weights: Weights, x, state):
    for name in ("fc1", "fc2"):
        x = jax.nn.relu(linear(weights, name, x))
    return linear(weights, "fc3", x), state, {}


def resnet20(weights: Weights, x, state):
    statistics: dict = {}

    def normed(name: str, y):
        return batch_norm(weights, name, y, statistics)

    x = jax.nn.relu(normed("bn", conv(weights, "conv", x)))
    for stage in (1, 2, 3):
        for block in range(3):
            name = f"stage{stage}.{block}"
            stride = 2 if stage > 1 and block == 0 else 1
            y = jax.nn.relu(normed(f"{name}.bn1",
                                   conv(weights, f"{name}.conv1", x, stride)))
            y = normed(f"{name}.bn2", conv(weights, f"{name}.conv2", y))
            more = (y.shape[-1] - x.shape[-1]) // 2
            x = x[:, ::stride, ::stride]
            x = jax.nn.relu(y + jnp.pad(x, ((0, 0),) * 3 + ((more, more),)))
    return linear(weights, "fc", x.mean((1, 2))), state, statistics


def lstm_layer(weights: Weights, name: str, xs, state):
    """Inputs of all steps are multiplied at once; gates are i f g o."""
    inputs = xs @ weights[f"{name}.w_ih"] + weights[f"{name}.bias"]

    def step(state, x):
        h, c = state
        i, f, g, o = jnp.split(x + h @ weights[f"{name}.w_hh"], 4, axis=-1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    return lax.scan(step, state, inputs)


def lstm_lm(weights: Weights, tokens, state):
    """Tokens [time, batch] to logits [time x batch, words]."""
    x, following = weights["embedding.weight"][tokens], []
    for layer, before in enumerate(state):
        after, x = lstm_layer(weights, f"lstm.{layer}", x, before)
        following.append(after)
    logits = linear(weights, "decoder", x.reshape(-1, x.shape[-1]))
    return logits, lax.stop_gradient(tuple(following)), {}


MODELS = {"mnist-cnn": mnist_cnn, "mlp": mlp, "resnet20": resnet20,
          "lstm-lm": lstm_lm, "bert": jax_transformers.bert,
          "gpt": jax_transformers.gpt}


def first_state(name: str, batch: int, weights: Weights) -> tuple:
    """Zeros, for a model that runs on from batch to batch."""
    if name != "lstm-lm":
        return ()
    hidden = weights["lstm.0.w_hh"].shape[0]
    # Buffers of their own: a step gives them away.
    return tuple((jnp.zeros((batch, hidden)), jnp.zeros((batch, hidden)))
                 for _ in range(2))
