"""Functions under NumPy's names, on tensors.

Most are ops as they stand. The others say in NumPy's words (axis, keepdims)
what an op's attributes say.
"""

from weft import ops
from weft._weft import Tensor, Variable, tensor

_SAME = """
    abs add clamp cross_entropy_dense equal erf exp floor gelu
    greater greater_equal less less_equal log log_softmax logical_and
    logical_not logical_or logical_xor matmul maximum mean_squared_error
    minimum multiply not_equal one_hot power relu rsqrt sigmoid sign softmax
    sqrt square subtract tanh where
""".split()
for _name in _SAME:
    globals()[_name] = getattr(ops, _name)
negative = ops.negate


def divide(a, b):
    """a / b; of integers, the quotient is f32."""
    if not isinstance(a, (Tensor, Variable)):
        a = tensor(a) if not isinstance(b, (Tensor, Variable)) else a
    return a / b


def cross_entropy(logits, labels):
    """-log softmax(logits)[label], one per row."""
    return ops.cross_entropy(logits, labels)[0]


def _axes(axis):
    return () if axis is None else axis


def sum(x, axis=None, keepdims=False):
    """The sum over some axes, or all."""
    return ops.sum(x, axes=_axes(axis), keep_dims=keepdims)


def mean(x, axis=None, keepdims=False):
    """The mean over some axes, or all."""
    return ops.mean(x, axes=_axes(axis), keep_dims=keepdims)


def max(x, axis=None, keepdims=False):
    """The maximum over some axes, or all; ties share the gradient."""
    return ops.max(x, axes=_axes(axis), keep_dims=keepdims)


def min(x, axis=None, keepdims=False):
    """The minimum over some axes, or all; ties share the gradient."""
    return ops.min(x, axes=_axes(axis), keep_dims=keepdims)


def prod(x, axis=None, keepdims=False):
    """The product over some axes, or all."""
    return ops.prod(x, axes=_axes(axis), keep_dims=keepdims)


def var(x, axis=None, keepdims=False):
    """The biased variance over some axes, or all."""
    return mean(square(x - mean(x, axis, keepdims=True)), axis, keepdims)


def std(x, axis=None, keepdims=False):
    """The root of the variance."""
    return sqrt(var(x, axis, keepdims))


def argmax(x, axis, keepdims=False):
    """The index of the first maximum along an axis, i64."""
    return ops.argmax(x, axis=axis, keep_dims=keepdims)


def cumsum(x, axis):
    """The running sum along an axis."""
    return ops.cumsum(x, axis=axis)


def sort(x):
    """The last axis in ascending order."""
    return ops.sort(x)[0]


def argsort(x):
    """Where the elements of the sorted last axis came from, i64."""
    return ops.sort(x)[1]


def clip(x, low, high):
    """min(max(x, low), high)."""
    return ops.clamp(x, low=low, high=high)


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
    axis = axis % (x.ndim + 1)
    return x[(slice(None),) * axis + (None,)]


def squeeze(x, axis):
    """Without that axis, whose size is 1."""
    x = tensor(x)
    axis %= x.ndim
    return x.reshape(x.shape[:axis] + x.shape[axis + 1 :])


def concatenate(xs, axis=0):
    """Tensors one after another along an axis."""
    return ops.concat(xs, axis=axis)


def stack(xs, axis=0):
    """Tensors beside each other along a new axis."""
    return ops.concat([expand_dims(x, axis) for x in xs], axis=axis)


def split(x, sizes, axis=0):
    """Parts of the given sizes along an axis."""
    parts = ops.split(x, sizes=sizes, axis=axis)
    return parts if isinstance(parts, tuple) else (parts,)


def tile(x, repeats):
    """The whole tensor, repeated along each axis."""
    return ops.tile(x, repeats=repeats)


def pad(x, widths, value=0.0):
    """(before, after) elements of a value for each axis."""
    low, high = zip(*widths)
    return ops.pad(x, low=low, high=high, value=value)


def take(x, indices, axis=0):
    """Rows along an axis, by index."""
    return ops.gather(x, indices, axis=axis)


def full(shape, value, dtype="f32"):
    """A tensor whose elements are all one number."""
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


def arange(size, dtype="i64"):
    """0, 1, 2, ... as a vector."""
    return ops.iota(shape=size, dtype=dtype)


def uniform(key, shape, stream=0, dtype="f32"):
    """Uniform in [0, 1), by a key of two integers: seed and step."""
    return ops.uniform(key, shape=shape, stream=stream, dtype=dtype)


def normal(key, shape, stream=0, dtype="f32"):
    """Standard normal, by a key of two integers: seed and step."""
    return ops.normal(key, shape=shape, stream=stream, dtype=dtype)


__all__ = [name for name in globals() if not name.startswith("_")]
for _name in ("ops", "Tensor", "Variable", "tensor"):
    __all__.remove(_name)
