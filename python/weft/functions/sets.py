"""Which elements are there, and where: results with as many elements as are found.

What a graph computes has a shape before it runs. Staged, those with a `size` find so
many, the first ones, and put a filler behind them where there are fewer; at once, all
are found.
"""

from weft import ops
from weft._weft import InvalidArgument, tensor
from weft.functions._arguments import flat, known_size
from weft.functions.arranging import concatenate, stack
from weft.functions.creation import arange, zeros_like
from weft.functions.matrices import tri
from weft.functions.order import searchsorted, sort
from weft.functions.picking import take
from weft.functions.reductions import count_nonzero, cumsum

__all__ = """
    argwhere compress extract flatnonzero intersect1d isin nonzero setdiff1d setxor1d
    tril_indices trim_zeros triu_indices union1d unique unique_all unique_counts unique_inverse unique_values
    unravel_index
""".split()


def flatnonzero(x, size=None, fill_value=0):
    """The numbers of the elements that are not 0, i64, counted through all axes."""
    is_some = flat(ops.not_equal(x, 0))
    if size is None:
        if is_some.is_staged:
            raise InvalidArgument(
                "flatnonzero: how many elements are not 0 is known only when the "
                "function runs; `size` says how many to find"
            )
        size = int(count_nonzero(is_some))
    # Sorting keeps the order of equals.
    places = ops.sort(ops.cast(~is_some, dtype="i8"), axis=0)[1]
    missing = size - known_size(places, 0, "flatnonzero")
    if missing > 0:
        places = concatenate([places, arange(missing)])
    is_found = arange(size) < count_nonzero(is_some)
    return ops.where(is_found, places[:size], tensor(fill_value, dtype="i64"))


def unravel_index(indices, shape):
    """The index in each axis of elements that are counted through all of them."""
    rest, found = tensor(indices), []
    for size in reversed(tuple(shape)):
        found.append(rest % size)
        rest = rest // size
    return tuple(reversed(found))


def nonzero(x, size=None, fill_value=0):
    """The indices of the elements that are not 0: a vector for each axis, i64."""
    x = tensor(x)
    if x.ndim == 0:
        raise InvalidArgument("nonzero: a single number has no axes")
    places = flatnonzero(x, size, -1)
    fill_value = tensor(fill_value, dtype="i64")
    return tuple(
        ops.where(places < 0, fill_value, index)
        for index in unravel_index(places, x.shape)
    )


def argwhere(x, size=None, fill_value=0):
    """The indices of the elements that are not 0, a row for each element."""
    return stack(nonzero(x, size, fill_value), axis=-1)


def tril_indices(n, k=0, m=None):
    """The indices of a matrix [n, m] on and below the k-th diagonal, row by row."""
    m = n if m is None else m
    count = sum(min(max(row + k + 1, 0), m) for row in range(n))
    return nonzero(tri(n, m, k), count)


def triu_indices(n, k=0, m=None):
    """The indices of a matrix [n, m] on and above the k-th diagonal, row by row."""
    m = n if m is None else m
    count = sum(m - min(max(row + k, 0), m) for row in range(n))
    return nonzero(1.0 - tri(n, m, k - 1), count)


def extract(condition, x):
    """The elements where a condition is not 0."""
    return take(flat(x), flatnonzero(condition), axis=0)


def compress(condition, x, axis=None):
    """The slices along an axis whose condition is not 0, or elements of all."""
    places = flatnonzero(condition)
    return take(flat(x), places, axis=0) if axis is None else take(x, places, axis)


def trim_zeros(x, trim="fb"):
    """A vector without the zeros at its front, its back, or both."""
    x = tensor(x)
    if x.ndim != 1 or not set(trim) <= set("fb"):
        raise InvalidArgument(
            f'trim_zeros: {list(x.shape)}, {trim!r}: it takes a vector, and "f", "b" '
            'or "fb"'
        )
    places = flatnonzero(x).tolist()
    first, last = (places[0], places[-1] + 1) if places else (x.shape[0], 0)
    return x[first if "f" in trim else 0 : last if "b" in trim else x.shape[0]]


def _differs(x):
    # Which elements of a sorted vector differ from the one before, or are the first.
    # NaN, of which all come last, are one value.
    known = known_size(x, 0, "unique")
    before, behind = x[: known - 1], x[1:]
    same = ops.equal(before, behind) | (
        ops.not_equal(before, before) & ops.not_equal(behind, behind)
    )
    return concatenate([ops.equal(zeros_like(x[:1]), 0), ~same])


def unique(
    x,
    return_index=False,
    return_inverse=False,
    return_counts=False,
    size=None,
    fill_value=None,
):
    """Each of all elements once, ascending; then, if asked for, where the first of
    each is, which of them each element is, and how many there are. With a `size`,
    values that are not there are `fill_value`, by default the smallest, and count 0.
    """
    x = tensor(x)
    values, order = ops.sort(flat(x), axis=0)
    count = known_size(values, 0, "unique")
    is_first = _differs(values)
    starts = flatnonzero(is_first, size, count)
    places = ops.minimum(starts, max(count - 1, 0))
    found = take(values, places, axis=0)
    if size is not None and count > 0:
        filler = values[0] if fill_value is None else tensor(fill_value, dtype=x.dtype)
        found = ops.where(starts < count, found, filler)
    results = [found]
    if return_index:
        results.append(take(order, places, axis=0))
    if return_inverse:
        number = cumsum(is_first) - 1
        back = ops.sort(order, axis=0)[1]
        results.append(take(number, back, axis=0).reshape(x.shape))
    if return_counts:
        next_starts = flatnonzero(is_first, starts.shape[0] + 1, count)[1:]
        results.append(next_starts - starts)
    return results[0] if len(results) == 1 else tuple(results)


def unique_values(x):
    """unique() alone."""
    return unique(x)


def unique_counts(x):
    """unique() and how many there are of each."""
    return unique(x, return_counts=True)


def unique_inverse(x):
    """unique() and which of them each element is."""
    return unique(x, return_inverse=True)


def unique_all(x):
    """unique() with all that it can say."""
    return unique(x, return_index=True, return_inverse=True, return_counts=True)


def isin(x, values):
    """Whether each element is among some values."""
    x, values = tensor(x), sort(flat(values))
    count = known_size(values, 0, "isin")
    if count == 0:
        return ops.not_equal(zeros_like(x), 0)
    place = ops.minimum(searchsorted(values, x), count - 1)
    return ops.equal(take(values, place, axis=0), x)


def union1d(a, b):
    """The values that are in one of two or in both, ascending."""
    return unique(concatenate([flat(a), flat(b)]))


def _both(a, b):
    return sort(concatenate([unique(a), unique(b)]))


def intersect1d(a, b):
    """The values that are in both, ascending."""
    both = _both(a, b)
    is_twice = ops.equal(both[1:], both[:-1])
    return take(both, flatnonzero(is_twice), axis=0)


def setxor1d(a, b):
    """The values that are in one of two and not in the other, ascending."""
    both = _both(a, b)
    is_first = _differs(both)
    is_last = concatenate([is_first[1:], ops.equal(zeros_like(both[:1]), 0)])
    return take(both, flatnonzero(is_first & is_last), axis=0)


def setdiff1d(a, b):
    """The values of the first that the second has not, ascending."""
    a = unique(a)
    return take(a, flatnonzero(~isin(a, b)), axis=0)
