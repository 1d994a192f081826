"""Functions of all elements, or of those along some axes."""

from weft import ops
from weft._weft import InvalidArgument, tensor
from weft.functions._arguments import axes_of, axis_of, flat, real, wide
from weft.functions.elementwise import isfinite, sqrt, square
from weft.functions.creation import zeros_like

__all__ = """
    all any argmax argmin average count_nonzero cumprod cumsum diff logsumexp max mean
    min prod ptp std sum var
""".split()


def _reduce(op, x, axis, keepdims):
    if axis is None:
        return op(x, keep_dims=keepdims)
    if isinstance(axis, (tuple, list)) and not axis:
        return tensor(x)  # over no axes
    return op(x, axes=axis, keep_dims=keepdims)


def sum(x, axis=None, keepdims=False):
    """The sum over some axes, or all; of small integers i64."""
    return _reduce(ops.sum, wide(x), axis, keepdims)


def mean(x, axis=None, keepdims=False):
    """The mean over some axes, or all."""
    return _reduce(ops.mean, x, axis, keepdims)


def max(x, axis=None, keepdims=False):
    """The maximum over some axes, or all; ties share the gradient."""
    return _reduce(ops.max, x, axis, keepdims)


def min(x, axis=None, keepdims=False):
    """The minimum over some axes, or all; ties share the gradient."""
    return _reduce(ops.min, x, axis, keepdims)


def prod(x, axis=None, keepdims=False):
    """The product over some axes, or all; of small integers i64."""
    return _reduce(ops.prod, wide(x), axis, keepdims)


def ptp(x, axis=None, keepdims=False):
    """The maximum less the minimum."""
    return max(x, axis, keepdims) - min(x, axis, keepdims)


def var(x, axis=None, keepdims=False, ddof=0):
    """The variance over some axes, or all: of n squares of distances from the mean,
    the sum divided by n - ddof.
    """
    x = real(x)
    variance = mean(square(x - mean(x, axis, keepdims=True)), axis, keepdims)
    if ddof == 0:
        return variance
    count = 1
    for each in axes_of(x, axis, "var"):
        count = count * x.shape[each]
    return variance * count / (count - ddof)


def std(x, axis=None, keepdims=False, ddof=0):
    """The root of the variance."""
    return sqrt(var(x, axis, keepdims, ddof))


def average(x, axis=None, weights=None, keepdims=False):
    """The mean, in which elements have weights, in the dtype of x: of its shape, or
    one for each place of the axis.
    """
    x = real(x)
    if weights is None:
        return mean(x, axis, keepdims)
    weights = tensor(weights).cast(x.dtype)
    if weights.shape != x.shape:
        if axis is None or weights.ndim != 1:
            raise InvalidArgument(
                f"average: weights are as many as the elements, or one for each place "
                f"of an axis, not {list(weights.shape)} for {list(x.shape)}"
            )
        axis = axis_of(x, axis, "average")
        weights = weights.reshape((-1,) + (1,) * (x.ndim - 1 - axis))
    total = sum(weights + zeros_like(x), axis, keepdims)
    return sum(x * weights, axis, keepdims) / total


def logsumexp(x, axis=None, keepdims=False):
    """log(sum(exp(x))), without overflow."""
    x = real(x)
    most = ops.stop_gradient(max(x, axis, keepdims=True))
    most = ops.where(isfinite(most), most, zeros_like(most))
    total = ops.log(sum(ops.exp(x - most), axis, keepdims=True)) + most
    if keepdims:
        return total
    gone = axes_of(x, axis, "logsumexp")
    return total.reshape([n for i, n in enumerate(x.shape) if i not in gone])


def _place(op, x, axis, keepdims):
    if axis is not None:
        return op(x, axis=axis, keep_dims=keepdims)
    found = op(flat(x), axis=0)
    return found.reshape((1,) * tensor(x).ndim) if keepdims else found


def argmax(x, axis=None, keepdims=False):
    """The index of the first maximum along an axis, or of all, i64."""
    return _place(ops.argmax, x, axis, keepdims)


def argmin(x, axis=None, keepdims=False):
    """The index of the first minimum along an axis, or of all, i64."""
    return _place(ops.argmin, x, axis, keepdims)


def _truth(x):
    x = tensor(x)
    return x if x.dtype == "bool" else x.cast("bool")


def any(x, axis=None, keepdims=False):
    """Whether an element over some axes, or all, is true, or not 0."""
    return _reduce(ops.any, _truth(x), axis, keepdims)


def all(x, axis=None, keepdims=False):
    """Whether all elements over some axes, or all, are true, or not 0."""
    return _reduce(ops.all, _truth(x), axis, keepdims)


def count_nonzero(x, axis=None, keepdims=False):
    """How many elements over some axes, or all, are true, or not 0; i64."""
    return sum(_truth(x), axis, keepdims)


def _running(op, x, axis):
    if axis is None:
        return op(flat(wide(x)), axis=0)
    return op(wide(x), axis=axis)


def cumsum(x, axis=None):
    """The running sum along an axis, or of all elements in order; of small
    integers i64.
    """
    return _running(ops.cumsum, x, axis)


def cumprod(x, axis=None):
    """The running product along an axis, or of all elements in order; of small
    integers i64.
    """
    return _running(ops.cumprod, x, axis)


def diff(x, n=1, axis=-1):
    """Each element less the one before it along an axis, n times over."""
    x = tensor(x)
    if n < 0:
        raise InvalidArgument(f"diff: {n} times are less than none")
    before = (slice(None),) * axis_of(x, axis, "diff")
    for _ in range(n):
        later, earlier = x[(*before, slice(1, None))], x[(*before, slice(None, -1))]
        x = later ^ earlier if x.dtype == "bool" else later - earlier
    return x
