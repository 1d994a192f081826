"""Functions that draw by keys."""

from weft import ops

__all__ = "categorical normal randint split_key uniform".split()


def uniform(key, shape, stream=0, dtype="f32"):
    """Uniform in [0, 1), by a key of two integers: seed and step. Many keys,
    [..., 2], draw `shape` each.
    """
    return ops.uniform(key, shape=shape, stream=stream, dtype=dtype)


def normal(key, shape, stream=0, dtype="f32"):
    """Standard normal, by keys as uniform() takes them."""
    return ops.normal(key, shape=shape, stream=stream, dtype=dtype)


def randint(key, shape, low, high, stream=0, dtype="i64"):
    """Integers in [low, high), by keys as uniform() takes them."""
    return ops.randint(key, shape=shape, low=low, high=high, stream=stream, dtype=dtype)


def categorical(key, logits, stream=0):
    """A class per row of the last axis, drawn with the probability
    softmax(logits), i64.
    """
    return ops.categorical(key, logits, stream=stream)


def split_key(key, count=2):
    """Keys of their own that follow from each key, i64[..., count, 2]."""
    return ops.split_key(key, count=count)
