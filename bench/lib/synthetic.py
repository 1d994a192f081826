"""Weights and batches that any side can compute without a file or a library.

Every number is a Philox word turned into a float by exact operations, so two
implementations agree to the last bit.
"""

import numpy as np

from lib.models import Model
from lib.philox import uniform, words

SEED = 1
INPUT_STREAM, LABEL_STREAM, WEIGHT_STREAM = 100, 101, 200
DISTINCT_BATCHES = 8  # batch number `step` is batch step % 8


def weights(model: Model) -> dict[str, np.ndarray]:
    """Initial weights: parameter k is drawn from stream 200 + k."""
    tensors = {}
    for k, parameter in enumerate(model.parameters):
        count = int(np.prod(parameter.shape))
        if parameter.bound:
            drawn = uniform(count, seed=SEED, stream=WEIGHT_STREAM + k)
            centred = np.float32(2) * drawn - np.float32(1)
            values = centred * np.float32(parameter.bound)
        else:
            values = np.full(count, parameter.constant, dtype=np.float32)
        tensors[parameter.name] = values.reshape(parameter.shape)
    return tensors


def batch(model: Model, size: int, step: int) -> tuple[np.ndarray, np.ndarray]:
    """Inputs and labels of one training step.

    Images: f32[size, H, W, C] in [0, 1), labels i64[size]. Tokens:
    i64[time, size] twice, the labels one position later than the inputs; or, of
    texts that have a class, i64[size, time] and i64[size].
    """
    step %= DISTINCT_BATCHES
    if model.words:
        drawn = words(size * model.steps, seed=SEED, stream=INPUT_STREAM,
                      step=step)
        tokens = (drawn % np.uint32(model.words)).astype(np.int64)
        return tokens.reshape(size, model.steps), _classes(model, size, step)
    if not model.image:
        count = (model.steps + 1) * size
        drawn = words(count, seed=SEED, stream=INPUT_STREAM, step=step)
        tokens = (drawn % np.uint32(model.classes)).astype(np.int64)
        tokens = tokens.reshape(model.steps + 1, size)
        return tokens[:-1], tokens[1:]
    shape = (size, *model.image)
    images = uniform(int(np.prod(shape)), seed=SEED, stream=INPUT_STREAM,
                     step=step).reshape(shape)
    return images, _classes(model, size, step)


def _classes(model: Model, size: int, step: int) -> np.ndarray:
    labels = words(size, seed=SEED, stream=LABEL_STREAM, step=step)
    return (labels % np.uint32(model.classes)).astype(np.int64)
