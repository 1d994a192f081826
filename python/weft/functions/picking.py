"""Functions that read elements by index, and write them."""

from weft import ops
from weft._weft import InvalidArgument, tensor
from weft.functions._arguments import axis_of, flat
from weft.functions.arranging import broadcast_to, stack
from weft.functions.creation import arange

__all__ = """
    dynamic_slice dynamic_update_slice put_along_axis take take_along_axis
""".split()


def take(x, indices, axis=None):
    """Elements by index: rows along an axis, or of the flat tensor; -1 is the
    last."""
    if axis is None:
        return ops.gather(flat(x), indices, axis=0)
    return ops.gather(x, indices, axis=axis)


def _spread_beside(x, like, axis):
    # The other axes of x, broadcast against those of `like`.
    shape = list(x.shape)
    for each, size in enumerate(like.shape):
        if each != axis and shape[each] == 1:
            shape[each] = size
    return x if tuple(shape) == x.shape else broadcast_to(x, shape)


def take_along_axis(x, indices, axis=-1):
    """Elements by index at each place of the other axes, which broadcast; of
    the flat tensor if the axis is None.
    """
    x, indices = tensor(x), tensor(indices)
    if axis is None:
        x, axis = flat(x), 0
    axis = axis_of(x, axis, "take_along_axis")
    if x.ndim != indices.ndim:
        raise InvalidArgument(
            f"take_along_axis: x has {x.ndim} axes, but indices {indices.ndim}"
        )
    indices = _spread_beside(indices, x, axis)
    return ops.pick(_spread_beside(x, indices, axis), indices, axis=axis)


def put_along_axis(x, indices, values, axis=-1, mode="set"):
    """x with values where take_along_axis() reads; `mode` as in x.at[...]:
    "set", "add", "max" or "min".
    """
    x, indices = tensor(x), tensor(indices)
    axis = axis_of(x, axis, "put_along_axis")
    key = [
        arange(size).reshape((1,) * each + (-1,) + (1,) * (x.ndim - each - 1))
        for each, size in enumerate(x.shape)
    ]
    key[axis] = _spread_beside(indices, x, axis)
    return getattr(x.at[tuple(key)], mode)(values)


def _starts(starts):
    if isinstance(starts, (tuple, list)):
        return stack([tensor(each).astype("i64") for each in starts])
    return starts


def dynamic_slice(x, starts, sizes):
    """A part of these sizes that starts where tensors say, one for each axis;
    a start that leaves it no room is an IndexError.
    """
    return ops.dynamic_slice(x, _starts(starts), sizes=sizes)


def dynamic_update_slice(x, update, starts):
    """x with `update` where dynamic_slice() would read."""
    return ops.dynamic_update_slice(x, update, _starts(starts))
