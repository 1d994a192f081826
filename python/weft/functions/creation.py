"""Functions that make tensors of numbers."""

import builtins
import math
import operator

from weft import ops
from weft._weft import Dim, InvalidArgument, Tensor, Variable, tensor
from weft.functions._arguments import WHOLE, flat, is_beyond_doubles
from weft.functions.arranging import broadcast_arrays, broadcast_to

__all__ = """
    arange full full_like linspace logspace meshgrid ones ones_like zeros zeros_like
""".split()


def full(shape, value, dtype=None):
    """A tensor whose elements are all one number, of its dtype by default, which
    must hold it; the number may be a tensor.
    """
    one = tensor(value) if dtype is None else _held(value, dtype)
    if isinstance(value, (Tensor, Variable)) or is_beyond_doubles(value):
        return broadcast_to(one, shape)
    return ops.full(shape=shape, value=value, dtype=one.dtype)


def _held(value, dtype):
    is_whole = isinstance(value, float) and value.is_integer()
    if is_whole and builtins.abs(value) < 2**63:
        # To integers 2.0 is 2, as to NumPy.
        if tensor(False, dtype=dtype).dtype in WHOLE:
            value = int(value)
    return tensor(value, dtype=dtype)


def zeros(shape, dtype="f32"):
    """A tensor of zeros."""
    return ops.full(shape=shape, value=0.0, dtype=dtype)


def ones(shape, dtype="f32"):
    """A tensor of ones."""
    return ops.full(shape=shape, value=1.0, dtype=dtype)


def zeros_like(x):
    """Zeros of the type of x."""
    return zeros(x.shape, x.dtype)


def ones_like(x):
    """Ones of the type of x."""
    return ones(x.shape, x.dtype)


def full_like(x, value, dtype=None):
    """One number in the shape of x, and of its dtype by default."""
    return full(x.shape, value, x.dtype if dtype is None else dtype)


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
    if len(numbers) == 3:
        size = builtins.max(0, math.ceil((stop - start) / step))
        if dtype is not None and is_whole and size > 0:
            for end in (start, start + (size - 1) * step):
                _held(end, dtype)
    elif step == 1:
        size = stop - start
    else:
        raise InvalidArgument(
            "arange: the step is 1 where a size is known only when the " "function runs"
        )
    if dtype is None:
        dtype = "i64" if is_whole else "f32"
    if start == 0 and step == 1:
        return ops.iota(shape=size, dtype=dtype)
    steps = ops.iota(shape=size, dtype="i64" if is_whole else "f64")
    return ops.cast(steps * step + start, dtype=dtype)


def _line(start, stop, num, endpoint):
    num = operator.index(num)
    if num < 0:
        raise InvalidArgument(f"linspace: {num} numbers are less than none")
    start, stop = broadcast_arrays(_in_f64(start), _in_f64(stop))
    parts = num - 1 if endpoint else num
    at = ops.iota(shape=num, dtype="f64").reshape((num,) + (1,) * start.ndim)
    line = start + at * ((stop - start) / builtins.max(parts, 1))
    # What rounding does to the last number is undone.
    return ops.where(at == parts, stop, line) if endpoint and num > 1 else line


def _in_f64(x):
    is_number = isinstance(x, (int, float))
    return tensor(x, dtype="f64") if is_number else tensor(x).cast("f64")


def linspace(start, stop, num=50, endpoint=True, dtype="f32"):
    """So many numbers from start to stop, or to before it, at equal distances; along
    a new first axis if these are tensors. It is computed in f64.
    """
    return _line(start, stop, num, endpoint).cast(dtype)


def logspace(start, stop, num=50, endpoint=True, base=10.0, dtype="f32"):
    """base ** linspace(start, stop, num, endpoint)."""
    exponents = _line(start, stop, num, endpoint)
    return ops.power(tensor(base, dtype="f64"), exponents).cast(dtype)


def meshgrid(*xs, indexing="xy"):
    """A list of the coordinates of a grid, of vectors: in "xy" the second one is the
    first axis, in "ij" each is its own.
    """
    if indexing not in ("xy", "ij"):
        raise InvalidArgument(f'meshgrid: indexing is "xy" or "ij", not {indexing!r}')
    places = list(range(len(xs)))
    if indexing == "xy" and len(xs) > 1:
        places[:2] = 1, 0
    return broadcast_arrays(
        *(
            flat(x).reshape((1,) * place + (-1,) + (1,) * (len(xs) - 1 - place))
            for x, place in zip(xs, places)
        )
    )
