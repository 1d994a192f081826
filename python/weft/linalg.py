"""Linear algebra under NumPy's names, of matrices in the last two axes.

Decompositions are LAPACK's, and everything has derivatives and works within
weft.jit, weft.grad and weft.vmap. A singular matrix gives infinities and NaN, no error:
what a graph computes is known only when it runs.
"""

import math
import operator

from weft import functions, ops
from weft._weft import InvalidArgument, tensor
from weft.functions._arguments import axes_of, known_size, real

__all__ = """
    cholesky cond det eigh eigvalsh inv lstsq matrix_norm matrix_power matrix_rank norm pinv
    qr slogdet solve svd svdvals tensorsolve vector_norm
""".split()


def _square(x, name):
    x = tensor(x)
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise InvalidArgument(f"{name}: {list(x.shape)} is no square matrix")
    return x


def cholesky(x):
    """The lower triangle l with l @ l.T = x, of symmetric matrices above 0."""
    return ops.cholesky(_square(x, "cholesky"))


def qr(x):
    """Orthonormal columns q and an upper triangle r with q @ r = x, which has no more
    columns than rows.
    """
    return ops.qr(x)


def svd(x):
    """u, s and vt with (u * s) @ vt = x, s descending; as many of each as the smaller
    side of x, which is NumPy's full_matrices=False.
    """
    return ops.svd(x)


def svdvals(x):
    """The singular values, in descending order."""
    return ops.svd(x)[1]


def eigh(x):
    """Eigenvalues, ascending, and a column for each of symmetric matrices."""
    return ops.eigh(_square(x, "eigh"))


def eigvalsh(x):
    """The eigenvalues of symmetric matrices, in ascending order."""
    return eigh(x)[0]


def _diagonal_of_lu(x, name):
    factors, _, sign = ops.lu(_square(x, name))
    return functions.diagonal(factors, axis1=-2, axis2=-1), sign


def det(x):
    """The determinant of square matrices. It has no derivative where it is 0."""
    diagonal, sign = _diagonal_of_lu(x, "det")
    return sign * functions.prod(diagonal, axis=-1)


def slogdet(x):
    """The determinant's sign, and the logarithm of its absolute value, which is within
    what numbers hold where the determinant itself is not.
    """
    diagonal, sign = _diagonal_of_lu(x, "slogdet")
    logarithm = functions.sum(functions.log(functions.abs(diagonal)), axis=-1)
    return sign * functions.prod(functions.sign(diagonal), axis=-1), logarithm


def solve(a, b):
    """x with a @ x = b, for square a. A b of one axis is a vector, else the last two
    are matrices.
    """
    a, b = _square(a, "solve"), tensor(b)
    if b.ndim == 1:
        return solve(a, b[:, None])[..., 0]
    factors, order, _ = ops.lu(a)
    # One matrix puts the rows of all right sides into one order.
    if order.ndim == 1:
        b = functions.take(b, order, axis=-2)
    else:
        rank = max(a.ndim, b.ndim)
        order = _with_rank(order[..., None], rank)
        b = functions.take_along_axis(_with_rank(b, rank), order, axis=-2)
    factors = functions.broadcast_to(factors, (*b.shape[:-2], *factors.shape[-2:]))
    lower = ops.triangular_solve(factors, b, unit_diagonal=True)
    return ops.triangular_solve(factors, lower, lower=False)


def _with_rank(x, rank):
    return x.reshape((*(1,) * (rank - x.ndim), *x.shape))


def tensorsolve(a, b, axes=None):
    """x with tensordot(a, x, x.ndim) = b, where a has the axes of b and then those of x;
    `axes` of a are moved behind all others first.
    """
    a, b = tensor(a), tensor(b)
    if axes is not None:
        axes = axes_of(a, axes, "tensorsolve")
        a = functions.moveaxis(a, axes, tuple(range(a.ndim - len(axes), a.ndim)))
    shape = a.shape[b.ndim :]
    rows, columns = math.prod(a.shape[: b.ndim]), math.prod(shape)
    if b.size != rows or rows != columns:
        raise InvalidArgument(
            f"tensorsolve: {list(a.shape)} ties {columns} unknown numbers by {rows} "
            f"equations, for {b.size} right sides"
        )
    return solve(a.reshape(rows, columns), b.reshape(-1)).reshape(shape)


def inv(a):
    """The inverse of square matrices."""
    a = _square(a, "inv")
    one = functions.identity(a.shape[-1], a.dtype)
    return solve(a, functions.broadcast_to(one, a.shape))


def pinv(a, rtol=None):
    """The pseudo-inverse: singular values up to rtol of the largest count as 0, which
    is the longer side times the precision by default.
    """
    u, s, vt = ops.svd(a)
    inverse = _inverse(s, _is_some(tensor(a), s, rtol))
    right = functions.matrix_transpose(vt) * functions.expand_dims(inverse, -2)
    return functions.matmul(right, functions.matrix_transpose(u))


def lstsq(a, b, rcond=None):
    """The shortest x of those with the smallest |a @ x - b|, the square of that for each
    right side, the rank of a and its singular values; rcond is the rtol of pinv().
    """
    a, b = tensor(a), tensor(b)
    if b.ndim == 1:
        x, left, rank, s = lstsq(a, b[:, None], rcond)
        return x[..., 0], left, rank, s
    u, s, vt = ops.svd(a)
    is_some = _is_some(a, s, rcond)
    shares = functions.matmul(functions.matrix_transpose(u), b)
    shares = shares * functions.expand_dims(_inverse(s, is_some), -1)
    x = functions.matmul(functions.matrix_transpose(vt), shares)
    left = functions.sum(functions.square(functions.matmul(a, x) - b), -2)
    return x, left, functions.count_nonzero(is_some, axis=-1), s


_PRECISION = {"f16": 2.0**-10, "bf16": 2.0**-7, "f32": 2.0**-23, "f64": 2.0**-52}


def _is_some(x, s, rtol):
    # Which singular values of x do not count as 0.
    if rtol is None:
        longer = max(known_size(x, axis, "rank") for axis in (-2, -1))
        rtol = longer * _PRECISION[s.dtype]
    return s > functions.max(s, axis=-1, keepdims=True) * rtol


def _inverse(s, is_some):
    # Divisors of 1 keep derivatives finite where there is no inverse.
    some = functions.where(is_some, s, functions.ones_like(s))
    return functions.where(is_some, 1.0 / some, functions.zeros_like(s))


def matrix_rank(x, rtol=None):
    """How many singular values are above rtol of the largest; see pinv(); i64."""
    s = svdvals(x)
    return functions.count_nonzero(_is_some(tensor(x), s, rtol), axis=-1)


def cond(x):
    """The largest singular value over the smallest."""
    s = svdvals(x)
    return s[..., 0] / s[..., -1]


def matrix_power(a, n):
    """a @ a @ …, n times, for square matrices; of the inverse below 0."""
    a, n = _square(a, "matrix_power"), operator.index(n)
    if n < 0:
        return matrix_power(inv(a), -n)
    result = functions.broadcast_to(functions.identity(a.shape[-1], a.dtype), a.shape)
    while n > 0:
        if n % 2 == 1:
            result = functions.matmul(result, a)
        n //= 2
        a = functions.matmul(a, a) if n > 0 else a
    return result


def vector_norm(x, ord=2, axis=None, keepdims=False):
    """The length over some axes, or all, of one vector: the ord-th root of the sum of
    absolute values to that power; the largest or smallest for infinity or its
    negative, and how many are not 0 for 0.
    """
    x = real(x)
    size = functions.abs(x)
    if ord == math.inf:
        return functions.max(size, axis, keepdims)
    if ord == -math.inf:
        return functions.min(size, axis, keepdims)
    if ord == 0:
        return functions.count_nonzero(x, axis, keepdims).cast(x.dtype)
    if ord == 1:
        return functions.sum(size, axis, keepdims)
    if ord == 2:
        return functions.sqrt(functions.sum(functions.square(x), axis, keepdims))
    return functions.sum(size**ord, axis, keepdims) ** (1.0 / ord)


def matrix_norm(x, ord="fro", keepdims=False):
    """The length of matrices: "fro" has the root of the sum of squares, "nuc" the sum
    of singular values, 2 and -2 the largest and smallest one, 1 and -1 the largest and
    smallest sum of a column's absolute values, infinity and its negative those of a
    row's.
    """
    x = real(x)
    if x.ndim < 2:
        raise InvalidArgument(f"matrix_norm: {list(x.shape)} is no matrix")
    if ord == "fro":
        return vector_norm(x, 2, (-2, -1), keepdims)
    if ord in ("nuc", 2, -2):
        reduce = {"nuc": functions.sum, 2: functions.max, -2: functions.min}[ord]
        length = reduce(svdvals(x), -1)
    elif ord in (1, -1, math.inf, -math.inf):
        sums = functions.sum(functions.abs(x), -2 if abs(ord) == 1 else -1)
        length = (functions.max if ord > 0 else functions.min)(sums, -1)
    else:
        raise InvalidArgument(
            f'matrix_norm: ord is "fro", "nuc", 1, 2, infinity or a negative of '
            f"them, not {ord!r}"
        )
    return length[..., None, None] if keepdims else length


def norm(x, ord=None, axis=None, keepdims=False):
    """It is vector_norm() over one axis and matrix_norm() over two; by default the root
    of the sum of all squares.
    """
    x = tensor(x)
    if axis is None and ord is None:
        return vector_norm(x, 2, None, keepdims)
    axes = axes_of(x, axis, "norm")
    if len(axes) == 1:
        return vector_norm(x, 2 if ord is None else ord, axes, keepdims)
    if len(axes) != 2:
        raise InvalidArgument(f"norm: {len(axes)} axes are no vector and no matrix")
    moved = functions.moveaxis(x, axes, (-2, -1))
    length = matrix_norm(moved, "fro" if ord is None else ord, keepdims)
    return functions.moveaxis(length, (-2, -1), axes) if keepdims else length
