"""What several functions ask of their arguments."""

import builtins
import operator

from weft._weft import Dim, InvalidArgument, Tensor, Variable, tensor

SMALL = ("bool", "i8", "u8", "i16", "i32")
WHOLE = (*SMALL, "i64")


def wide(x):
    # Sums of small integers are i64, as NumPy's are int64: they overflow.
    x = tensor(x)
    return x.cast("i64") if x.dtype in SMALL else x


def real(x):
    """x, or of integers the same numbers in f32."""
    x = tensor(x)
    return x.cast("f32") if x.dtype in WHOLE else x


def alike(a, b, convert=real):
    """Both converted to tensors; a number of Python takes the dtype of the other."""
    if _is_number(a) and not _is_number(b):
        return alike(b, a, convert)[::-1]
    a = convert(a)
    return a, tensor(b, dtype=a.dtype) if _is_number(b) else convert(b)


def _is_number(x):
    return isinstance(x, (int, float)) and not hasattr(x, "dtype")


def flat(x):
    return tensor(x).reshape(-1)


def place_among(rank, axis, name):
    at = operator.index(axis)
    if not -rank <= at < rank:
        raise InvalidArgument(f"{name}: {rank} axes have no axis {at}")
    return at % rank


def axis_of(x, axis, name):
    return place_among(x.ndim, axis, name)


def axes_of(x, axes, name):
    """Some axes, of a number, a sequence of them or None for all, from 0 on."""
    if axes is None:
        return tuple(range(x.ndim))
    axes = axes if isinstance(axes, (tuple, list)) else (axes,)
    found = tuple(axis_of(x, each, name) for each in axes)
    if len(set(found)) != len(found):
        raise InvalidArgument(f"{name}: an axis is named twice")
    return found


def known_size(x, axis, name):
    """The size of an axis, for what cannot be made of one that is a symbol."""
    size = x.shape[axis]
    if isinstance(size, Dim):
        raise InvalidArgument(
            f"{name}: the size of the axis, {size}, is known only when the "
            "function runs"
        )
    return size


def is_beyond_doubles(value):
    # Attributes of ops are doubles, which have no room for such an integer.
    if isinstance(value, (Tensor, Variable, float)):
        return False
    return hasattr(value, "__index__") and builtins.abs(int(value)) > 2**53
