"""Reductions that leave out what is NaN."""

import math

from weft import ops
from weft._weft import tensor
from weft.functions._arguments import WHOLE, axis_of, flat, real
from weft.functions.arranging import squeeze, stack
from weft.functions.elementwise import sqrt, square
from weft.functions.order import on_line, shares_of, sort
from weft.functions.picking import take_along_axis
from weft.functions.reductions import all, max, min, prod, sum

__all__ = """
    nanmax nanmean nanmedian nanmin nanpercentile nanprod nanquantile nanstd nansum nanvar
""".split()


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


def nanquantile(x, q, axis=None, keepdims=False):
    """quantile() of what is not NaN; NaN if all is."""
    shares, is_one = shares_of(q)
    return _nanquantile(x, shares, is_one, axis, keepdims)


def nanpercentile(x, q, axis=None, keepdims=False):
    """nanquantile() of so many hundredths."""
    shares, is_one = shares_of(q, of=100)
    return _nanquantile(x, shares, is_one, axis, keepdims)


def nanmedian(x, axis=None, keepdims=False):
    """The middle element of what is not NaN; NaN if all is."""
    return nanquantile(x, 0.5, axis, keepdims)


def _nanquantile(x, shares, is_one, axis, keepdims):
    x = real(x)
    rank = x.ndim
    if axis is None:
        x = flat(x)
    at = 0 if axis is None else axis_of(x, axis, "nanquantile")
    # NaN is sorted behind all numbers.
    x, count = sort(x, at), sum(~ops.is_nan(x), at, keepdims=True)

    def found(share):
        place = share * ops.maximum(count - 1, 0).cast("f64")
        low = ops.floor(place)
        below = take_along_axis(x, low.cast("i64"), at)
        above = take_along_axis(x, ops.ceil(place).cast("i64"), at)
        line = on_line(below, above, (place - low).cast(x.dtype))
        if axis is None:
            return line.reshape((1,) * rank if keepdims else ())
        return line if keepdims else squeeze(line, at)

    results = [found(share) for share in shares]
    return results[0] if is_one else stack(results)
