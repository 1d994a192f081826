"""Functions that give elements another order or shape."""

import builtins
import operator

from weft import ops
from weft._weft import Dim, InvalidArgument, tensor
from weft.functions._arguments import axes_of, axis_of, flat, is_beyond_doubles
from weft.functions._arguments import known_size, place_among

__all__ = """
    append array_split atleast_1d atleast_2d broadcast_arrays broadcast_to column_stack
    concatenate delete dstack expand_dims flip fliplr flipud hstack insert moveaxis pad
    ravel repeat reshape roll rot90 split squeeze stack swapaxes tile transpose unstack vstack
""".split()


def reshape(x, shape):
    """The same elements under another shape; one dim may be -1."""
    return tensor(x).reshape(shape)


def ravel(x):
    """The elements in one axis."""
    return flat(x)


def transpose(x, axes=None):
    """The axes in another order, or reversed."""
    return ops.transpose(x, permutation=() if axes is None else axes)


def moveaxis(x, source, destination):
    """The axes in another order, in which some come to the given places."""
    x = tensor(x)
    source = axes_of(x, source, "moveaxis")
    destination = axes_of(x, destination, "moveaxis")
    if len(source) != len(destination):
        raise InvalidArgument(
            f"moveaxis: {len(source)} axes have {len(destination)} places"
        )
    order = [axis for axis in range(x.ndim) if axis not in source]
    for place, axis in sorted(zip(destination, source)):
        order.insert(place, axis)
    return transpose(x, order)


def swapaxes(x, axis1, axis2):
    """Two axes in each other's place."""
    x = tensor(x)
    order = list(range(x.ndim))
    first, second = axis_of(x, axis1, "swapaxes"), axis_of(x, axis2, "swapaxes")
    order[first], order[second] = second, first
    return transpose(x, order)


def broadcast_to(x, shape):
    """Repeats along axes of size 1 and new leading axes."""
    return ops.broadcast_to(x, shape=shape)


def broadcast_arrays(*xs):
    """A list of tensors that repeat along axes until all have one shape."""
    xs = [tensor(x) for x in xs]
    rank = builtins.max((x.ndim for x in xs), default=0)
    shape = [1] * rank
    for x in xs:
        for axis, size in enumerate(x.shape, rank - x.ndim):
            shape[axis] = size if shape[axis] == 1 else shape[axis]
    return [broadcast_to(x, shape) for x in xs]


def expand_dims(x, axis):
    """A new axis of size 1 at that place of the result."""
    x = tensor(x)
    axis = place_among(x.ndim + 1, axis, "expand_dims")
    return x[(slice(None),) * axis + (None,)]


def squeeze(x, axis=None):
    """Without some axes of size 1, or all."""
    x = tensor(x)
    if axis is None:
        gone = {i for i, size in enumerate(x.shape) if size == 1}
    else:
        axes = axis if isinstance(axis, (tuple, list)) else (axis,)
        gone = {axis_of(x, each, "squeeze") for each in axes}
    for each in sorted(gone):
        if x.shape[each] != 1:
            raise InvalidArgument(
                f"squeeze: the axis {each} has the size {x.shape[each]}, not 1"
            )
    return x.reshape([n for i, n in enumerate(x.shape) if i not in gone])


def _atleast(rank, xs):
    found = [tensor(x) for x in xs]
    found = [x.reshape((1,) * builtins.max(0, rank - x.ndim) + x.shape) for x in found]
    return found[0] if len(found) == 1 else found


def atleast_1d(*xs):
    """With an axis at least; a list if there are several."""
    return _atleast(1, xs)


def atleast_2d(*xs):
    """With two axes at least, the new ones first; a list if there are several."""
    return _atleast(2, xs)


def concatenate(xs, axis=0):
    """Tensors one after another along an axis, or all flat if it is None."""
    if axis is None:
        return ops.concat([flat(x) for x in xs], axis=0)
    return ops.concat(xs, axis=axis)


def stack(xs, axis=0):
    """Tensors beside each other along a new axis."""
    return ops.concat([expand_dims(x, axis) for x in xs], axis=axis)


def hstack(xs):
    """One after another along the second axis, or the only one."""
    xs = [atleast_1d(x) for x in xs]
    return concatenate(xs, axis=0 if xs and xs[0].ndim == 1 else 1)


def vstack(xs):
    """One below another: vectors are rows."""
    return concatenate([atleast_2d(x) for x in xs], axis=0)


def dstack(xs):
    """One behind another along the third axis."""
    xs = [atleast_2d(x) for x in xs]
    return concatenate([x[..., None] if x.ndim == 2 else x for x in xs], axis=2)


def column_stack(xs):
    """One beside another: vectors are columns."""
    xs = [tensor(x) for x in xs]
    return concatenate(
        [atleast_1d(x)[:, None] if x.ndim < 2 else x for x in xs], axis=1
    )


def _cut(x, cuts, axis):
    before = (slice(None),) * axis
    return [
        x[(*before, slice(begin, end))] for begin, end in zip([0, *cuts], [*cuts, None])
    ]


def split(x, indices_or_sections, axis=0):
    """A list of parts along an axis: so many equal ones, or cut before the
    given indices.
    """
    x = tensor(x)
    axis = axis_of(x, axis, "split")
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
    return _cut(x, cuts, axis)


def array_split(x, indices_or_sections, axis=0):
    """As split(), but the first parts are longer by one where they cannot be equal."""
    x = tensor(x)
    try:
        sections = operator.index(indices_or_sections)
    except TypeError:
        return split(x, indices_or_sections, axis)
    if sections < 1:
        raise InvalidArgument(f"array_split: {sections} parts are none")
    axis = axis_of(x, axis, "array_split")
    each, longer = divmod(known_size(x, axis, "array_split"), sections)
    cuts = [each * part + builtins.min(part, longer) for part in range(1, sections)]
    return _cut(x, cuts, axis)


def unstack(x, axis=0):
    """A list of what stands beside each other along an axis."""
    x = tensor(x)
    axis = axis_of(x, axis, "unstack")
    before = (slice(None),) * axis
    return [x[(*before, at)] for at in range(known_size(x, axis, "unstack"))]


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


def repeat(x, repeats, axis=None):
    """Each element so many times in a row, along an axis or of all; each place of
    the axis has a number of its own if `repeats` is a sequence.
    """
    x = tensor(x)
    if axis is None:
        x, axis = flat(x), 0
    axis = axis_of(x, axis, "repeat")
    try:
        times = operator.index(repeats)
    except TypeError:
        return _repeat_each(x, [operator.index(each) for each in repeats], axis)
    if times < 0:
        raise InvalidArgument(f"repeat: {times} times are less than none")
    before, behind = x.shape[: axis + 1], x.shape[axis + 1 :]
    copies = broadcast_to(x.reshape((*before, 1, *behind)), (*before, times, *behind))
    return copies.reshape((*before[:-1], before[-1] * times, *behind))


def _repeat_each(x, repeats, axis):
    size = known_size(x, axis, "repeat")
    if len(repeats) == 1:
        repeats = repeats * size
    if len(repeats) != size or builtins.any(times < 0 for times in repeats):
        raise InvalidArgument(
            f"repeat: {size} places of the axis take as many numbers from 0 on, "
            f"not {repeats}"
        )
    places = [at for at, times in enumerate(repeats) for _ in range(times)]
    return ops.gather(x, tensor(places, dtype="i64"), axis=axis)


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
    if is_beyond_doubles(value):
        ones = ops.full(shape=x.shape, value=1.0, dtype=x.dtype)
        inside = ops.pad(ones, low=low, high=high, value=0.0)
        around = tensor(operator.index(value), dtype=x.dtype)
        x = ops.pad(x, low=low, high=high, value=0.0)
        return ops.where(ops.cast(inside, dtype="bool"), x, around)
    return ops.pad(x, low=low, high=high, value=value)


def flip(x, axis=None):
    """The elements along some axes, or all, in the opposite order."""
    x = tensor(x)
    key = [slice(None)] * x.ndim
    for each in axes_of(x, axis, "flip"):
        key[each] = slice(None, None, -1)
    return x[tuple(key)]


def fliplr(x):
    """Columns in the opposite order."""
    return flip(x, 1)


def flipud(x):
    """Rows in the opposite order."""
    return flip(x, 0)


def rot90(x, k=1, axes=(0, 1)):
    """Turned by k quarters, from the first of two axes towards the second."""
    x = tensor(x)
    first, second = axes_of(x, tuple(axes), "rot90")
    k %= 4
    if k == 0:
        return x
    if k == 2:
        return flip(x, (first, second))
    return flip(swapaxes(x, first, second), first if k == 1 else second)


def roll(x, shift, axis=None):
    """Moved by `shift` places along an axis, or several by one shift each; what goes
    beyond the end comes in at the front. Of all elements in order if the axis is None.
    """
    x = tensor(x)
    if axis is None:
        return roll(flat(x), shift, 0).reshape(x.shape)
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    shifts = shift if isinstance(shift, (tuple, list)) else (shift,) * len(axes)
    if len(shifts) == 1:
        shifts = tuple(shifts) * len(axes)
    if len(shifts) != len(axes):
        raise InvalidArgument(f"roll: {len(axes)} axes have {len(shifts)} shifts")
    for each, places in zip(axes, shifts):
        x = _roll(x, operator.index(places), axis_of(x, each, "roll"))
    return x


def _roll(x, places, axis):
    size = known_size(x, axis, "roll")
    if size == 0 or places % size == 0:
        return x
    front, back = _cut(x, [size - places % size], axis)
    return concatenate([back, front], axis)


def append(x, values, axis=None):
    """Values behind x along an axis; both are made flat without one."""
    if axis is None:
        return concatenate([flat(x), flat(values)])
    return concatenate([tensor(x), tensor(values)], axis)


def _along(x, axis, name):
    # x along one axis, and how many elements it has there.
    x, at = (flat(x), 0) if axis is None else (tensor(x), axis_of(x, axis, name))
    return x, at, known_size(x, at, name)


def delete(x, places, axis=None):
    """x without what is at some places (a number, a slice or a sequence) along an axis,
    or of all elements.
    """
    x, at, size = _along(tensor(x), axis, "delete")
    if isinstance(places, slice):
        gone = set(range(size)[places])
    else:
        places = places if isinstance(places, (tuple, list)) else [places]
        gone = {place_among(size, place, "delete") for place in places}
    return ops.gather(x, [n for n in range(size) if n not in gone], axis=at)


def insert(x, place, values, axis=None):
    """Values, which broadcast beside the axis, before what is at a place along it, or
    before one of all elements.
    """
    x, at, size = _along(tensor(x), axis, "insert")
    place = operator.index(place)
    if not -size <= place <= size:
        raise InvalidArgument(f"insert: {size} elements have no place {place}")
    place += size if place < 0 else 0
    values = ops.cast(values, dtype=x.dtype)
    if axis is None:
        values = flat(values)
    # As in NumPy, the first axis of as many as x has counts what is inserted.
    values = reshape(values, (1,) * (x.ndim - values.ndim) + values.shape)
    values = moveaxis(values, 0, at)
    shape = (*x.shape[:at], values.shape[at], *x.shape[at + 1 :])
    values = broadcast_to(values, shape)
    before = (slice(None),) * at
    return concatenate(
        [x[(*before, slice(None, place))], values, x[(*before, slice(place, None))]], at
    )
