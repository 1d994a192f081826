"""Functions that ask which element comes before which."""

import math

from weft import ops
from weft._weft import InvalidArgument, tensor
from weft.functions._arguments import axis_of, flat, known_size, real
from weft.functions.arranging import expand_dims, stack
from weft.functions.creation import zeros_like

__all__ = "argsort median percentile quantile searchsorted sort".split()


def _sorted(x, axis):
    if axis is None:
        return ops.sort(flat(x), axis=0)
    return ops.sort(x, axis=axis)


def sort(x, axis=-1):
    """In ascending order along an axis, or all elements."""
    return _sorted(x, axis)[0]


def argsort(x, axis=-1):
    """Where the sorted elements came from, i64; equal ones keep their order."""
    return _sorted(x, axis)[1]


def quantile(x, q, axis=None, keepdims=False):
    """The number below which a share q of the elements lies, along an axis or of all:
    between two elements it is on the line between them. Of several q, the results
    stand along a new first axis.
    """
    x = real(x)
    rank = x.ndim
    at = 0 if axis is None else axis_of(x, axis, "quantile")
    if axis is None:
        x = flat(x)
    size = known_size(x, at, "quantile")
    if size == 0:
        raise InvalidArgument("quantile: there are no elements")
    x = sort(x, at)
    shares, is_one = shares_of(q)
    found = [_between(x, share * (size - 1), at) for share in shares]
    if keepdims:
        found = [
            each.reshape((1,) * rank) if axis is None else expand_dims(each, at)
            for each in found
        ]
    return found[0] if is_one else stack(found)


def shares_of(q, of=1):
    """A list of the shares of 1 that q says, and whether it is a number by itself."""
    if isinstance(q, (tuple, list)):
        numbers = list(q)
    else:
        numbers = q.tolist() if hasattr(q, "tolist") else q
    is_one = not isinstance(numbers, list)
    shares = [each / of for each in ([numbers] if is_one else numbers)]
    for share in shares:
        if not 0 <= share <= 1:
            raise InvalidArgument(f"quantile: a share is from 0 to 1, not {share}")
    return shares, is_one


def on_line(below, above, weight):
    """What lies between two numbers at a weight of the second."""
    # The line between equal infinities would be NaN.
    line = below + (above - below) * weight
    return ops.where(ops.equal(below, above), below, line)


def _between(x, place, axis):
    before = (slice(None),) * axis
    low, weight = math.floor(place), place - math.floor(place)
    below, last = x[(*before, low)], x[(*before, -1)]
    if weight > 0:
        below = on_line(below, x[(*before, low + 1)], weight)
    # NaN is sorted behind all numbers.
    return ops.where(ops.is_nan(last), last, below)


def percentile(x, q, axis=None, keepdims=False):
    """quantile() of so many hundredths."""
    shares, is_one = shares_of(q, of=100)
    return quantile(x, shares[0] if is_one else shares, axis, keepdims)


def median(x, axis=None, keepdims=False):
    """The middle element along an axis, or of all, or the mean of the two there."""
    return quantile(x, 0.5, axis, keepdims)


def searchsorted(x, values, side="left"):
    """Where values are to be put into a sorted vector, so that it stays sorted: before
    elements that are equal, or behind them on the "right"; i64.
    """
    if side not in ("left", "right"):
        raise InvalidArgument(f'searchsorted: side is "left" or "right", not {side!r}')
    x, values = tensor(x), tensor(values)
    if x.ndim != 1:
        raise InvalidArgument(f"searchsorted: {list(x.shape)} is no vector")
    size = known_size(x, 0, "searchsorted")
    found = zeros_like(values).cast("i64")
    step = 1 << size.bit_length() >> 1
    while step > 0:
        # Steps become half as long: a binary search for all values at once.
        next_place = found + step
        element = ops.gather(x, ops.minimum(next_place, size) - 1, axis=0)
        comes_before = (
            _is_less(element, values) if side == "left" else ~_is_less(values, element)
        )
        found = ops.where((next_place <= size) & comes_before, next_place, found)
        step //= 2
    return found


def _is_less(a, b):
    # NaN is sorted behind all numbers.
    return (a < b) | (ops.is_nan(b) & ~ops.is_nan(a))
