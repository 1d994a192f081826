"""Loops that are made of other functions."""

from weft import _weft
from weft.functions import concatenate, flip, moveaxis, stack
from weft.functions._arguments import axis_of, known_size


def fori_loop(lower, upper, body, carried):
    """Applies body(i, carried) for i = lower, lower + 1, ... below upper, an i64, and
    returns what is carried in the end. The bounds are integers, or tensors of one.
    """
    first, upper = (_weft.tensor(bound).cast("i64") for bound in (lower, upper))

    def step(state):
        i, carried = state
        return i + 1, body(i, carried)

    return _weft.while_loop(lambda state: state[0] < upper, step, (first, carried))[1]


def associative_scan(function, elements, axis=0, reverse=False):
    """x0, f(x0, x1), f(f(x0, x1), x2), ... along an axis, or from its end, for a function
    that is associative, of slices of any number of elements at once. It takes about 2 n
    calls' work in 2 log2(n) calls, where scan() makes n calls one after another.
    `elements` is a tensor, or a tuple or list of them with one size along the axis,
    and then so are the slices.
    """
    if not isinstance(elements, (tuple, list)):
        one = associative_scan(
            lambda a, b: [function(a[0], b[0])], [elements], axis, reverse
        )
        return one[0]
    tensors = [_weft.tensor(x) for x in elements]
    axes = [axis_of(x, axis, "associative_scan") for x in tensors]
    sizes = {known_size(x, at, "associative_scan") for x, at in zip(tensors, axes)}
    if len(sizes) > 1:
        raise _weft.InvalidArgument(
            f"associative_scan: sizes along the axis differ: {sorted(sizes)}"
        )
    kind = type(elements)
    slices = [moveaxis(x, at, 0) for x, at in zip(tensors, axes)]
    if reverse:
        slices = [flip(x, 0) for x in slices]
    if sizes:
        slices = _prefixes(lambda a, b: list(function(kind(a), kind(b))), slices)
    if reverse:
        slices = [flip(x, 0) for x in slices]
    return kind(moveaxis(x, 0, at) for x, at in zip(slices, axes))


def _prefixes(combine, tensors):
    # Pairs are combined, the prefixes of pairs are those that end at odd places, and
    # each even place takes one more element (Blelloch, "Prefix Sums and Their
    # Applications", 1990).
    size = tensors[0].shape[0]
    if size < 2:
        return tensors
    pairs = combine([x[: size - 1 : 2] for x in tensors], [x[1::2] for x in tensors])
    odd = _prefixes(combine, pairs)
    even = [x[:1] for x in tensors]
    if size > 2:
        before = [x[: (size - 1) // 2] for x in odd]
        behind = combine(before, [x[2::2] for x in tensors])
        even = [concatenate([x, y]) for x, y in zip(even, behind)]
    return [_interleaved(x, y) for x, y in zip(even, odd)]


def _interleaved(even, odd):
    paired = odd.shape[0]
    rows = stack([even[:paired], odd], axis=1)
    rows = rows.reshape((2 * paired, *odd.shape[1:]))
    return concatenate([rows, even[paired:]]) if even.shape[0] > paired else rows
