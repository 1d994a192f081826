"""Functions of networks that ops give several results, or other options, of."""

from weft import ops
from weft._weft import InvalidArgument

__all__ = "attention cross_entropy".split()


def cross_entropy(logits, labels):
    """-log softmax(logits)[label], one per row."""
    return ops.cross_entropy(logits, labels)[0]


def attention(query, key, value, mask=None, causal=False, scale=None):
    """softmax(scale * query @ key.T) @ value for [..., length, width], without
    the matrix of weights.

    The scale is 1 / sqrt(width) by default. The mask is of bool, broadcasts to
    [..., queries, keys] and is true where a query looks at a key; if causal,
    query i looks at keys 0 to i alone.
    """
    operands = [query, key, value] + ([] if mask is None else [mask])
    if scale is not None and scale == 0:
        raise InvalidArgument("attention: the scale is 0")
    return ops.attention(*operands, causal=causal, scale=scale or 0.0)[0]
