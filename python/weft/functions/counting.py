"""How often values are there, and what lies between some that are known."""

import operator

from weft import ops
from weft._weft import InvalidArgument, Tensor, Variable, tensor
from weft.functions._arguments import flat, known_size, real
from weft.functions.creation import linspace, ones
from weft.functions.elementwise import clip
from weft.functions.order import searchsorted
from weft.functions.picking import take
from weft.functions.reductions import diff, max, min, sum

__all__ = "bincount digitize histogram histogram_bin_edges interp".split()


def bincount(x, weights=None, minlength=0, length=None):
    """How many elements are 0, 1, 2, …; or the sums of their weights. `length` says how
    many are counted, which must be known where the function is staged.
    """
    x = tensor(x)
    if x.ndim != 1 or x.dtype not in ("u8", "i8", "i16", "i32", "i64"):
        raise InvalidArgument(
            f"bincount: {list(x.shape)} of {x.dtype} is no vector of integers"
        )
    x = x.cast("i64")
    if length is None:
        if x.is_staged:
            raise InvalidArgument(
                "bincount: the largest element is known only when the function runs; "
                "`length` says how many to count"
            )
        if x.size > 0 and int(min(x)) < 0:
            raise InvalidArgument(f"bincount: {int(min(x))} is below 0")
        length = int(max(x)) + 1 if x.size > 0 else 0
        length = length if length > minlength else operator.index(minlength)
    weights = ones(x.shape, "i64") if weights is None else real(weights)
    is_counted = (x >= 0) & (x < length)
    # What is not counted is added up in one more place.
    place = ops.where(is_counted, x, tensor(length, dtype="i64"))
    return ops.scatter_add(weights, place, size=length + 1)[:length]


def digitize(x, bins, right=False):
    """Between which of some bins each element lies, the number of the upper one in the
    order that they have, i64: bins[i - 1] <= x < bins[i] where they ascend, and
    bins[i - 1] > x >= bins[i] where they descend; `right` closes the other end.
    """
    bins = tensor(bins)
    count = known_size(bins, 0, "digitize")
    side = "left" if right else "right"
    ascending = searchsorted(bins, x, side)
    if count < 2:
        return ascending
    descending = count - searchsorted(bins[::-1], x, side)
    return ops.where(bins[0] <= bins[-1], ascending, descending)


def _require(is_right, x, what):
    # Staged, numbers are not known, and what is wrong counts nothing.
    if not x.is_staged and not is_right():
        raise InvalidArgument(f"histogram: {what}")


def histogram_bin_edges(x, bins=10, range=None):
    """The edges of so many bins of one width, over all elements or a range."""
    if isinstance(bins, (tuple, list, Tensor, Variable)) or hasattr(bins, "shape"):
        edges = tensor(bins)
        _require(lambda: bool(ops.all(diff(edges) >= 0)), edges, "edges must ascend")
        return edges
    bins = operator.index(bins)
    if bins < 1:
        raise InvalidArgument(f"histogram: {bins} bins are none")
    x = flat(real(x))
    if range is not None:
        low, high = (tensor(end, dtype=x.dtype) for end in range)
    elif known_size(x, 0, "histogram") == 0:
        low, high = tensor(0.0, dtype=x.dtype), tensor(1.0, dtype=x.dtype)
    else:
        low, high = min(x), max(x)
    for end in (low, high):
        _require(lambda: bool(ops.is_finite(end)), end, "a range must be finite")
    width = high - low
    _require(lambda: float(width) >= 0, width, "a range must ascend")
    is_one = ops.equal(low, high)
    low, high = ops.where(is_one, low - 0.5, low), ops.where(is_one, high + 0.5, high)
    return linspace(low, high, bins + 1, dtype=x.dtype)


def histogram(x, bins=10, range=None, density=False, weights=None):
    """How many elements lie in each bin, i64, or the sums of their weights, and the
    edges: each bin has its lower edge, and the last one both. As a density, bins times
    their widths add up to 1.
    """
    x = flat(real(x))
    edges = histogram_bin_edges(x, bins, range)
    count = known_size(edges, 0, "histogram") - 1
    place = searchsorted(edges, x, "right") - 1
    place = ops.where(ops.equal(x, edges[-1]), tensor(count - 1, dtype="i64"), place)
    if weights is not None:
        weights = flat(weights)
    counts = bincount(place, weights, length=count)
    if density:
        counts = real(counts) / diff(edges) / sum(real(counts))
    return counts, edges


def interp(x, xp, fp, left=None, right=None):
    """What lies at x on the lines between points (xp, fp), xp ascending; before the first
    point it is `left` and behind the last `right`, by default as at these.
    """
    x, xp, fp = real(x), real(xp), real(fp)
    count = known_size(xp, 0, "interp")
    if xp.ndim != 1 or count == 0 or fp.shape != xp.shape:
        raise InvalidArgument(
            f"interp: {list(xp.shape)} places and {list(fp.shape)} values are no points"
        )
    place = clip(searchsorted(xp, x, "right") - 1, 0, count - 1)
    behind = ops.minimum(place + 1, count - 1)
    x0, x1, y0, y1 = (take(of, at, 0) for of in (xp, fp) for at in (place, behind))
    width = x1 - x0
    is_point = ops.equal(width, 0) | ops.equal(x, x0)
    share = (x - x0) / ops.where(is_point, ops.cast(1.0, dtype=width.dtype), width)
    y = ops.where(is_point, y0, y0 + (y1 - y0) * share)
    left = fp[0] if left is None else tensor(left, dtype=fp.dtype)
    right = fp[-1] if right is None else tensor(right, dtype=fp.dtype)
    y = ops.where(x < xp[0], left, ops.where(x > xp[-1], right, y))
    return ops.where(ops.is_nan(x), ops.cast(x, dtype=y.dtype), y)
