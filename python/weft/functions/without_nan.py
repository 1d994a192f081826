"""Reductions that leave out what is NaN."""

import math

from weft import ops
from weft._weft import tensor
from weft.functions._arguments import WHOLE, real
from weft.functions.elementwise import sqrt, square
from weft.functions.reductions import all, max, min, prod, sum

__all__ = "nanmax nanmean nanmin nanprod nanstd nansum nanvar".split()


def _filled(x, filler):
    """x with another number in place of NaN, and where that is."""
    x = tensor(x)
    if x.dtype in WHOLE:
        return x, ops.not_equal(x, x)
    is_nan = ops.is_nan(x)
    return ops.where(is_nan, tensor(filler, dtype=x.dtype), x), is_nan


def nansum(x, axis=None, keepdims=False):
    """The sum of what is not NaN."""
    return sum(_filled(x, 0.0)[0], axis, keepdims)


def nanprod(x, axis=None, keepdims=False):
    """The product of what is not NaN."""
    return prod(_filled(x, 1.0)[0], axis, keepdims)


def _of_some(reduce, x, filler, axis, keepdims):
    known, is_nan = _filled(x, filler)
    found = reduce(known, axis, keepdims)
    if known.dtype in WHOLE:
        return found
    none = all(is_nan, axis, keepdims)
    return ops.where(none, tensor(math.nan, dtype=known.dtype), found)


def nanmax(x, axis=None, keepdims=False):
    """The maximum of what is not NaN; NaN if all is."""
    return _of_some(max, x, -math.inf, axis, keepdims)


def nanmin(x, axis=None, keepdims=False):
    """The minimum of what is not NaN; NaN if all is."""
    return _of_some(min, x, math.inf, axis, keepdims)


def _mean_of_known(known, is_nan, axis, keepdims):
    count = sum(~is_nan, axis, keepdims).cast(known.dtype)
    return sum(known, axis, keepdims) / count


def nanmean(x, axis=None, keepdims=False):
    """The mean of what is not NaN; NaN if all is."""
    return _mean_of_known(*_filled(real(x), 0.0), axis, keepdims)


def nanvar(x, axis=None, keepdims=False):
    """The variance of what is not NaN; NaN if all is."""
    known, is_nan = _filled(real(x), 0.0)
    distance = known - _mean_of_known(known, is_nan, axis, keepdims=True)
    squares = ops.where(is_nan, tensor(0.0, dtype=known.dtype), square(distance))
    return _mean_of_known(squares, is_nan, axis, keepdims)


def nanstd(x, axis=None, keepdims=False):
    """The root of the variance of what is not NaN."""
    return sqrt(nanvar(x, axis, keepdims))
