"""Functions under NumPy's names, which mean what NumPy's do, on tensors.

Most are ops as they stand. The others say in NumPy's words (axis, keepdims)
what an op's attributes say.
"""

import builtins
import math
import operator

from weft import ops
from weft._weft import Dim, InvalidArgument, Tensor, Variable, tensor

_SAME = """
    abs acos acosh add asin asinh atan atan2 atanh bitwise_and bitwise_or bitwise_xor ceil clamp
    cos cross_entropy_dense equal erf exp expm1 floor floor_divide gelu
    greater greater_equal less less_equal log log1p log_softmax logical_and
    logical_not logical_or logical_xor maximum mean_squared_error
    minimum multiply not_equal one_hot power relu remainder rsqrt sigmoid sign
    sin softmax sqrt square stop_gradient subtract tan tanh where
""".split()
for _name in _SAME:
    globals()[_name] = getattr(ops, _name)
negative = ops.negate
arccos, arcsin, arctan, arctan2 = ops.acos, ops.asin, ops.atan, ops.atan2
arccosh, arcsinh, arctanh = ops.acosh, ops.asinh, ops.atanh
isfinite, isnan = ops.is_finite, ops.is_nan
left_shift, right_shift = ops.shift_left, ops.shift_right
mod, rint = ops.remainder, ops.round


def divide(a, b):
    """a / b; of integers, the quotient is f32."""
    if not isinstance(a, (Tensor, Variable)):
        a = tensor(a) if not isinstance(b, (Tensor, Variable)) else a
    return a / b


def matmul(a, b):
    """a @ b: the product of matrices, whose leading axes broadcast; a vector is a
    row on the left and a column on the right.
    """
    if not isinstance(a, (Tensor, Variable)):
        a = tensor(a)
    return a @ b


def cross_entropy(logits, labels):
    """-log softmax(logits)[label], one per row."""
    return ops.cross_entropy(logits, labels)[0]


_SMALL = ("bool", "i8", "u8", "i16", "i32")


def _wide(x):
    # Sums of small integers are i64, as NumPy's are int64: they overflow.
    x = tensor(x)
    return x.cast("i64") if x.dtype in _SMALL else x


def _reduce(op, x, axis, keepdims):
    if axis is None:
        return op(x, keep_dims=keepdims)
    if isinstance(axis, (tuple, list)) and not axis:
        return tensor(x)  # over no axes
    return op(x, axes=axis, keep_dims=keepdims)


def sum(x, axis=None, keepdims=False):
    """The sum over some axes, or all; of small integers i64."""
    return _reduce(ops.sum, _wide(x), axis, keepdims)


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
    return _reduce(ops.prod, _wide(x), axis, keepdims)


def var(x, axis=None, keepdims=False):
    """The biased variance over some axes, or all."""
    return mean(square(x - mean(x, axis, keepdims=True)), axis, keepdims)


def std(x, axis=None, keepdims=False):
    """The root of the variance."""
    return sqrt(var(x, axis, keepdims))


def _flat(x):
    return tensor(x).reshape(-1)


def _place(op, x, axis, keepdims):
    if axis is not None:
        return op(x, axis=axis, keep_dims=keepdims)
    found = op(_flat(x), axis=0)
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


def isinf(x):
    """Whether it is infinity or its negative."""
    return ops.logical_not(ops.logical_or(ops.is_finite(x), ops.is_nan(x)))


def bitwise_not(x):
    """The bits that x has not; of a bool, its opposite."""
    x = tensor(x)
    return ~x


invert = bitwise_not


def _round_whole(x, unit):
    # It is done by integers, as fractions have no room for all digits.
    if unit >= 2**62:
        return zeros_like(x)
    wide = x.cast("i64")
    units = wide // unit
    rest = wide - units * unit
    is_up = (rest * 2 > unit) | ((rest * 2 == unit) & (units % 2 == 1))
    return ((units + is_up) * unit).cast(x.dtype)


def round(x, decimals=0):
    """The nearest number of so many decimals; halves go to the even one."""
    x = tensor(x)
    if x.dtype in (*_SMALL, "i64"):
        return _round_whole(x, 10**-decimals) if decimals < 0 else x
    if decimals == 0:
        return ops.round(x)
    scale = 10.0 ** builtins.abs(decimals)
    if decimals < 0:
        return ops.round(x / scale) * scale
    return ops.round(x * scale) / scale


def _running(op, x, axis):
    if axis is None:
        return op(_flat(_wide(x)), axis=0)
    return op(_wide(x), axis=axis)


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


def _sorted(x, axis):
    if axis is None:
        return ops.sort(_flat(x), axis=0)
    return ops.sort(x, axis=axis)


def sort(x, axis=-1):
    """In ascending order along an axis, or all elements."""
    return _sorted(x, axis)[0]


def argsort(x, axis=-1):
    """Where the sorted elements came from, i64; equal ones keep their order."""
    return _sorted(x, axis)[1]


def flip(x, axis=None):
    """The elements along some axes, or all, in the opposite order."""
    x = tensor(x)
    axes = range(x.ndim) if axis is None else axis
    axes = axes if isinstance(axes, (tuple, list, range)) else (axes,)
    key = [slice(None)] * x.ndim
    for each in axes:
        key[_axis_of(x, each, "flip")] = slice(None, None, -1)
    return x[tuple(key)]


def clip(x, a_min, a_max):
    """min(max(x, a_min), a_max); a bound is None, a number or an array."""
    if a_min is None and a_max is None:
        raise InvalidArgument("clip: there is no bound")
    if a_min is not None:
        x = ops.maximum(x, a_min)
    return x if a_max is None else ops.minimum(x, a_max)


def reshape(x, shape):
    """The same elements under another shape; one dim may be -1."""
    return tensor(x).reshape(shape)


def transpose(x, axes=None):
    """The axes in another order, or reversed."""
    return ops.transpose(x, permutation=() if axes is None else axes)


def broadcast_to(x, shape):
    """Repeats along axes of size 1 and new leading axes."""
    return ops.broadcast_to(x, shape=shape)


def expand_dims(x, axis):
    """A new axis of size 1 at that place of the result."""
    x = tensor(x)
    axis = _place_among(x.ndim + 1, axis, "expand_dims")
    return x[(slice(None),) * axis + (None,)]


def _place_among(rank, axis, name):
    at = operator.index(axis)
    if not -rank <= at < rank:
        raise InvalidArgument(f"{name}: {rank} axes have no axis {at}")
    return at % rank


def _axis_of(x, axis, name):
    return _place_among(x.ndim, axis, name)


def squeeze(x, axis=None):
    """Without some axes of size 1, or all."""
    x = tensor(x)
    if axis is None:
        gone = {i for i, size in enumerate(x.shape) if size == 1}
    else:
        axes = axis if isinstance(axis, (tuple, list)) else (axis,)
        gone = {_axis_of(x, each, "squeeze") for each in axes}
    for each in sorted(gone):
        if x.shape[each] != 1:
            raise InvalidArgument(
                f"squeeze: the axis {each} has the size {x.shape[each]}, not 1"
            )
    return x.reshape([n for i, n in enumerate(x.shape) if i not in gone])


def concatenate(xs, axis=0):
    """Tensors one after another along an axis, or all flat if it is None."""
    if axis is None:
        return ops.concat([_flat(x) for x in xs], axis=0)
    return ops.concat(xs, axis=axis)


def stack(xs, axis=0):
    """Tensors beside each other along a new axis."""
    return ops.concat([expand_dims(x, axis) for x in xs], axis=axis)


def split(x, indices_or_sections, axis=0):
    """A list of parts along an axis: so many equal ones, or cut before the
    given indices.
    """
    x = tensor(x)
    axis = _axis_of(x, axis, "split")
    size = x.shape[axis]
    try:
        sections = operator.index(indices_or_sections)
    except TypeError:
        cuts = [operator.index(cut) for cut in indices_or_sections]
    else:
        if isinstance(size, Dim):
            raise InvalidArgument(
                f"split: the size of the axis, {size}, is known only when the "
                "function runs\n  hint: say by indices where to cut"
            )
        if sections < 1 or size % sections != 0:
            raise InvalidArgument(
                f"split: {size} elements do not make {sections} equal parts"
            )
        cuts = [size // sections * part for part in range(1, sections)]
    before = (slice(None),) * axis
    return [
        x[(*before, slice(begin, end))]
        for begin, end in zip([0, *cuts], [*cuts, None])
    ]


def tile(x, repeats):
    """The whole tensor, repeated along each axis, the last ones last."""
    x = tensor(x)
    try:
        repeats = (operator.index(repeats),)
    except TypeError:
        repeats = tuple(repeats)
    rank = builtins.max(x.ndim, len(repeats))
    x = x.reshape((1,) * (rank - x.ndim) + x.shape)
    return ops.tile(x, repeats=(1,) * (rank - len(repeats)) + repeats)


def pad(x, widths, value=0.0):
    """Elements of a value around: (before, after) for each axis, one such pair
    or one number for all.
    """
    x = tensor(x)
    try:
        widths = (operator.index(widths),) * 2
    except TypeError:
        pass
    if not builtins.all(isinstance(each, (tuple, list)) for each in widths):
        widths = [tuple(widths)] * x.ndim
    elif len(widths) == 1:
        widths = [tuple(widths[0])] * x.ndim
    low, high = zip(*widths) if widths else ((), ())
    if _is_beyond_doubles(value):
        inside = ops.pad(ones_like(x), low=low, high=high, value=0.0)
        around = tensor(operator.index(value), dtype=x.dtype)
        x = ops.pad(x, low=low, high=high, value=0.0)
        return ops.where(ops.cast(inside, dtype="bool"), x, around)
    return ops.pad(x, low=low, high=high, value=value)


def _is_beyond_doubles(value):
    # Attributes of ops are doubles, which have no room for such an integer.
    if isinstance(value, (Tensor, Variable, float)):
        return False
    return hasattr(value, "__index__") and builtins.abs(int(value)) > 2**53


def take(x, indices, axis=None):
    """Elements by index: rows along an axis, or of the flat tensor; -1 is the
    last."""
    if axis is None:
        return ops.gather(_flat(x), indices, axis=0)
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
        x, axis = _flat(x), 0
    axis = _axis_of(x, axis, "take_along_axis")
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
    axis = _axis_of(x, axis, "put_along_axis")
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


def einsum(equation, *operands):
    """Sums of products: "ij,jk->ik" is a matrix product."""
    # One list alone would be a list of operands.
    operands = [tensor(x) if isinstance(x, list) else x for x in operands]
    return ops.einsum(*operands, equation=equation)


def full(shape, value, dtype=None):
    """A tensor whose elements are all one number, of its dtype by default."""
    if dtype is None:
        dtype = tensor(value).dtype
    if _is_beyond_doubles(value):
        one = tensor(operator.index(value), dtype=dtype)
        return broadcast_to(one, shape)
    return ops.full(shape=shape, value=value, dtype=dtype)


def zeros(shape, dtype="f32"):
    """A tensor of zeros."""
    return full(shape, 0.0, dtype)


def ones(shape, dtype="f32"):
    """A tensor of ones."""
    return full(shape, 1.0, dtype)


def zeros_like(x):
    """Zeros of the type of x."""
    return full(x.shape, 0.0, x.dtype)


def ones_like(x):
    """Ones of the type of x."""
    return full(x.shape, 1.0, x.dtype)


def arange(start, stop=None, step=1, dtype=None):
    """start, start + step, ... below stop; or 0, 1, ... below start.

    Of integers i64, else f32, unless a dtype is given.
    """
    if stop is None:
        start, stop = 0, start
    if step == 0:
        raise InvalidArgument("arange: the step is 0")
    numbers = [n for n in (start, stop, step) if not isinstance(n, Dim)]
    is_whole = builtins.all(hasattr(n, "__index__") for n in numbers)
    if dtype is None:
        dtype = "i64" if is_whole else "f32"
    if len(numbers) == 3:
        size = builtins.max(0, math.ceil((stop - start) / step))
    elif step == 1:
        size = stop - start
    else:
        raise InvalidArgument(
            "arange: the step is 1 where a size is known only when the "
            "function runs"
        )
    if start == 0 and step == 1:
        return ops.iota(shape=size, dtype=dtype)
    steps = ops.iota(shape=size, dtype="i64" if is_whole else "f64")
    return ops.cast(steps * step + start, dtype=dtype)


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
    return ops.randint(
        key, shape=shape, low=low, high=high, stream=stream, dtype=dtype
    )


def categorical(key, logits, stream=0):
    """A class per row of the last axis, drawn with the probability
    softmax(logits), i64.
    """
    return ops.categorical(key, logits, stream=stream)


def split_key(key, count=2):
    """Keys of their own that follow from each key, i64[..., count, 2]."""
    return ops.split_key(key, count=count)


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


__all__ = [name for name in globals() if not name.startswith("_")]
_IMPORTED = """
    builtins math operator ops Dim InvalidArgument Tensor Variable tensor
""".split()
for _name in _IMPORTED:
    __all__.remove(_name)
