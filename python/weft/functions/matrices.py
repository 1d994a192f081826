"""Functions of matrices, and products of tensors."""

import builtins
import string

from weft import ops
from weft._weft import InvalidArgument, Tensor, Variable, tensor
from weft.functions._arguments import axes_of, flat, known_size
from weft.functions.arranging import moveaxis, pad, stack, swapaxes
from weft.functions.creation import arange
from weft.functions.reductions import sum

__all__ = """
    cross diag diagonal dot einsum eye identity inner kron matmul matrix_transpose outer
    tensordot trace tri tril triu vdot vecdot
""".split()


def _offsets(rows, columns):
    # How far each place is to the right of the diagonal.
    return arange(columns) - arange(rows).reshape((-1, 1))


def eye(n, m=None, k=0, dtype="f32"):
    """n rows, m or as many columns, and ones on the k-th diagonal to the right."""
    return ops.equal(_offsets(n, n if m is None else m), k).cast(dtype)


def identity(n, dtype="f32"):
    """The matrix of n rows that changes nothing."""
    return eye(n, dtype=dtype)


def tri(n, m=None, k=0, dtype="f32"):
    """Ones on the k-th diagonal to the right and to the left of it."""
    return (_offsets(n, n if m is None else m) <= k).cast(dtype)


def _is_matrix(x, name):
    if x.ndim < 2:
        raise InvalidArgument(f"{name}: {list(x.shape)} is no matrix")
    return x


def tril(x, k=0):
    """Matrices, with 0 to the right of the k-th diagonal."""
    x = _is_matrix(tensor(x), "tril")
    return ops.where(_offsets(*x.shape[-2:]) <= k, x, tensor(0, dtype=x.dtype))


def triu(x, k=0):
    """Matrices, with 0 to the left of the k-th diagonal."""
    x = _is_matrix(tensor(x), "triu")
    return ops.where(_offsets(*x.shape[-2:]) >= k, x, tensor(0, dtype=x.dtype))


def diagonal(x, offset=0, axis1=0, axis2=1):
    """The elements on a diagonal of two axes, along a new last axis."""
    x = _is_matrix(tensor(x), "diagonal")
    x = moveaxis(x, (axis1, axis2), (-2, -1))
    rows, columns = (known_size(x, axis, "diagonal") for axis in (-2, -1))
    down, right = builtins.max(-offset, 0), builtins.max(offset, 0)
    size = builtins.max(0, builtins.min(rows - down, columns - right))
    return x[..., arange(size) + down, arange(size) + right]


def trace(x, offset=0, axis1=0, axis2=1):
    """The sum of a diagonal."""
    return sum(diagonal(x, offset, axis1, axis2), axis=-1)


def diag(x, k=0):
    """A matrix with a vector on its k-th diagonal, or that diagonal of a matrix."""
    x = tensor(x)
    if x.ndim == 2:
        return diagonal(x, k)
    if x.ndim != 1:
        raise InvalidArgument(f"diag: {list(x.shape)} is neither vector nor matrix")
    size = known_size(x, 0, "diag") + builtins.abs(k)
    column = pad(x, (builtins.max(-k, 0), builtins.max(k, 0))).reshape((size, 1))
    is_there = ops.equal(_offsets(size, size), k)
    return ops.where(is_there, column, tensor(0, dtype=x.dtype))


def matrix_transpose(x):
    """The last two axes in each other's place."""
    return swapaxes(_is_matrix(tensor(x), "matrix_transpose"), -2, -1)


def matmul(a, b):
    """a @ b: the product of matrices, whose leading axes broadcast; a vector is a
    row on the left and a column on the right.
    """
    if not isinstance(a, (Tensor, Variable)):
        a = tensor(a)
    return a @ b


def einsum(equation, *operands):
    """Sums of products: "ij,jk->ik" is a matrix product."""
    # One list alone would be a list of operands.
    operands = [tensor(x) if isinstance(x, list) else x for x in operands]
    return ops.einsum(*operands, equation=equation)


def tensordot(a, b, axes=2):
    """Sums of products over so many last axes of a and first ones of b, or over axes
    of a, and of b, that are named.
    """
    a, b = tensor(a), tensor(b)
    if isinstance(axes, (tuple, list)):
        of_a, of_b = axes
    else:
        if not 0 <= axes <= builtins.min(a.ndim, b.ndim):
            raise InvalidArgument(f"tensordot: there are no {axes} axes to sum over")
        of_a, of_b = tuple(range(a.ndim - axes, a.ndim)), tuple(range(axes))
    of_a, of_b = axes_of(a, of_a, "tensordot"), axes_of(b, of_b, "tensordot")
    if len(of_a) != len(of_b):
        raise InvalidArgument(f"tensordot: {len(of_a)} axes of a meet {len(of_b)} of b")
    names_a = list(string.ascii_letters[: a.ndim])
    names_b = list(string.ascii_letters[a.ndim : a.ndim + b.ndim])
    for in_a, in_b in zip(of_a, of_b):
        names_b[in_b] = names_a[in_a]
    left = [name for axis, name in enumerate(names_a) if axis not in of_a]
    left += [name for axis, name in enumerate(names_b) if axis not in of_b]
    return einsum(f"{''.join(names_a)},{''.join(names_b)}->{''.join(left)}", a, b)


def dot(a, b):
    """The sum of products over the last axis of a and the last but one of b, or its
    only one; a product where one is a number.
    """
    a, b = tensor(a), tensor(b)
    if a.ndim == 0 or b.ndim == 0:
        return a * b
    return tensordot(a, b, ((-1,), (-1 if b.ndim == 1 else -2,)))


def inner(a, b):
    """The sum of products over the last axes; a product where one is a number."""
    a, b = tensor(a), tensor(b)
    return a * b if a.ndim == 0 or b.ndim == 0 else tensordot(a, b, ((-1,), (-1,)))


def vdot(a, b):
    """The sum of products of all elements in order."""
    return dot(flat(a), flat(b))


def vecdot(a, b, axis=-1):
    """The sum of products along an axis; the others broadcast."""
    return sum(moveaxis(a, axis, -1) * moveaxis(b, axis, -1), axis=-1)


def outer(a, b):
    """The product of each element of a with each of b: a matrix."""
    return flat(a).reshape((-1, 1)) * flat(b)


def kron(a, b):
    """A block of b for each element of a, which multiplies it."""
    a, b = tensor(a), tensor(b)
    rank = builtins.max(a.ndim, b.ndim)
    of_a = (1,) * (rank - a.ndim) + a.shape
    of_b = (1,) * (rank - b.ndim) + b.shape
    a = a.reshape([size for each in of_a for size in (each, 1)])
    b = b.reshape([size for each in of_b for size in (1, each)])
    return (a * b).reshape([m * n for m, n in zip(of_a, of_b)])


def cross(a, b, axis=-1):
    """The vector product of vectors of three elements along an axis."""
    a, b = tensor(a), tensor(b)
    a, b = moveaxis(a, axis, -1), moveaxis(b, axis, -1)
    if a.shape[-1] != 3 or b.shape[-1] != 3:
        raise InvalidArgument(
            f"cross: vectors have 3 elements, not {a.shape[-1]} and {b.shape[-1]}"
        )
    x, y = ([each[..., i] for i in range(3)] for each in (a, b))
    turned = [x[i - 2] * y[i - 1] - x[i - 1] * y[i - 2] for i in range(3)]
    return moveaxis(stack(turned, axis=-1), -1, axis)
