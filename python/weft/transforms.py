"""Functions from functions: jit, grad, vjp, jvp, jacobian, hessian,
custom_gradient, remat, vmap."""

import functools
import itertools
import math

from weft import _weft, functions
from weft.functions import _arguments


def jit(
    function=None,
    *,
    input_signature=None,
    results=None,
    relax_dims=True,
    fuse=True,
    optimize="none",
    memory=None,
    max_graphs=64,
    warn_after=8,
    max_frames=1_000_000,
    workers=0,
    batching=None,
):
    """Stages a function: traced once per kind of arguments, a graph after.

    Tensors count by dtype and shape, numbers and texts by value, objects by
    identity, tuples, lists and dicts by what is in them. A dim that keeps
    changing becomes a weft.Dim, and one graph serves all sizes.

    input_signature: a TensorType for each argument, then there is one graph.
    results: TensorTypes of what is returned, for a function that calls itself.
    fuse=False: every op by itself, with the bits of eager execution.
    optimize: "greedy" or "relaxed" looks for faster graphs by measured cost
    before they run, which takes seconds for each kind of arguments.
    memory: what the values of a call may take, as "200MB" or in bytes: what would
    be kept for long is computed again, bit for bit.

    What a function reads from around it counts too: it is traced once for each
    precision and for the modes of the layers that it calls, and draws with the
    random_key around each call.

    For a function that branches, loops or calls itself:
    max_frames: how many activations may be alive at once.
    workers: how many threads run it; 0 is as many as pay.
    batching: whether activations that are ready together run as one; None is
    where it pays.
    """
    if function is None:
        return functools.partial(
            jit,
            input_signature=input_signature,
            results=results,
            relax_dims=relax_dims,
            fuse=fuse,
            optimize=optimize,
            memory=memory,
            max_graphs=max_graphs,
            warn_after=warn_after,
            max_frames=max_frames,
            workers=workers,
            batching=batching,
        )
    return _weft.Jit(
        function,
        input_signature=input_signature,
        results=results,
        relax_dims=relax_dims,
        fuse=fuse,
        optimize=optimize,
        memory=memory,
        max_graphs=max_graphs,
        warn_after=warn_after,
        max_frames=max_frames,
        workers=workers,
        batching=batching,
    )


def value_and_grad(function, argnums=0, *, wrt=None):
    """A function that returns (function(...), gradients).

    The gradients have the structure of the argument, or of the arguments if
    argnums is a tuple; or of `wrt`: variables, modules, or containers of them.
    The function returns a number, or a tuple that begins with one.
    """

    @functools.wraps(function)
    def differentiated(*arguments, **keywords):
        return _weft.value_and_grad(function, argnums, wrt, arguments, keywords)

    return differentiated


def grad(function, argnums=0, *, wrt=None):
    """value_and_grad without the value."""
    both = value_and_grad(function, argnums, wrt=wrt)

    @functools.wraps(function)
    def gradient(*arguments, **keywords):
        return both(*arguments, **keywords)[1]

    return gradient


def vjp(function, *arguments):
    """(function(*arguments), pull_back): pull_back(seeds) has the gradient of
    the sum of seeds * results by each argument, in a tuple.

    Seeds have the structure of the result, gradients that of the arguments; for
    what is no floating tensor, None. pull_back may be called again and again.
    """
    return _weft.vjp(function, *arguments)


def jvp(function, arguments, tangents):
    """(function(*arguments), tangents of its results): how the results change as
    the arguments change by `tangents`, both tuples of one structure.

    None is no change; results that are no floating tensors have None. It costs
    two gradients.
    """
    return _weft.jvp(function, tuple(arguments), tuple(tangents))


def jacobian(function, argnums=0):
    """A function that returns how each element of the result changes with each of
    the argument: for a result of shape r and an argument of shape a, r + a.

    The structure is that of the result, with the argument's in place of each
    tensor, or a tuple of such where argnums is one; what is no floating tensor has
    None. Costs a gradient for each
    element of the result, all at once by vmap. The function is called for the
    shape of its result before it is staged.
    """

    @functools.wraps(function)
    def derivative(*arguments, **keywords):
        is_one = not isinstance(argnums, (tuple, list))
        numbers = (argnums,) if is_one else tuple(argnums)

        def of(*chosen):
            given = list(arguments)
            for number, argument in zip(numbers, chosen):
                given[number] = argument
            return function(*given, **keywords)

        chosen = tuple(
            _with_axes(
                # Numbers of Python are what they are to grad: tensors.
                lambda leaf, _: _weft.tensor(leaf)
                if isinstance(leaf, float)
                else leaf,
                arguments[number],
                None,
            )
            for number in numbers
        )

        def rows(leaf, place, result):
            """The derivative of one leaf of the result."""
            if getattr(leaf, "dtype", None) not in _FLOATS:
                return None

            def pull(seed, *chosen):
                seeds = _at_leaf(result, place, seed)
                return _weft.vjp(of, *chosen)[1](seeds)

            axes = (0,) + (None,) * len(chosen)
            gradients = vmap(pull, axes)(_basis(leaf), *chosen)
            return _with_axes(
                lambda each, _: each
                if each is None
                else each.reshape(*leaf.shape, *each.shape[1:]),
                gradients[0] if is_one else gradients,
                None,
            )

        result = of(*chosen)
        place = itertools.count()
        return _with_axes(
            lambda leaf, _: rows(leaf, next(place), result), result, None
        )

    return derivative


def hessian(function, argnums=0):
    """The jacobian of the gradient of a function that returns a number."""
    return jacobian(grad(function, argnums), argnums)


def custom_gradient(forward, backward):
    """A function with a gradient of its own.

    forward(*arguments) returns (result, saved); backward(saved, seeds) returns a
    gradient for each argument, in a tuple, or the only one. Seeds have the
    structure of the result; None is no gradient.

        @functools.partial(weft.custom_gradient, backward=lambda x, dy: dy * x)
        def half_square(x):
            return x * x / 2.0, x

    The function is differentiated by its arguments alone: what else it reads is
    constant to it. Gradients of gradients go through both functions.
    """

    @functools.wraps(forward)
    def call(*arguments):
        return _weft.custom_gradient(forward, backward, arguments)

    return call


def remat(function):
    """The function, whose gradient computes it again instead of keeping what
    lies between its arguments and its results: less memory for more time.

    It may read variables and draw at random: the gradient draws alike, and what
    was assigned is assigned once. Outside of jit it is staged by itself.
    """
    staged = jit(
        functools.wraps(function)(
            functools.partial(_weft.rematerialised, function)
        )
    )

    @functools.wraps(function)
    def call(*arguments, **keywords):
        if _weft.is_tracing():
            return _weft.rematerialised(function, *arguments, **keywords)
        return staged(*arguments, **keywords)

    return call


def vmap(function, in_axes=0, out_axes=0):
    """The function over many instances at once, with large products in place of
    many small ones.

    in_axes: which axis of an argument counts the instances; None where all share
    it. A number stands for all arguments, a tuple has one for each, and within
    it containers may have one for each of their items. Keywords have axis 0.
    out_axes: where the axis goes in the results, likewise.

    The function is staged, as by weft.jit. It may branch, loop and call itself:
    where instances differ in a predicate, both branches run and each takes its
    result; a loop or a recursion runs until the last of them has ended.
    Instances draw the same numbers under one random key: pass split keys along
    an axis where they should not.
    """
    mapped = _weft.Vmap(function)

    @functools.wraps(function)
    def over_instances(*arguments, **keywords):
        axes = in_axes if isinstance(in_axes, (tuple, list)) else (
            (in_axes,) * len(arguments)
        )
        if len(axes) != len(arguments):
            raise _weft.InvalidArgument(
                f"vmap: in_axes has {len(axes)} axes for {len(arguments)} "
                "arguments"
            )
        flags, sizes = [], []

        def lead(leaf, axis):
            if axis is not None and isinstance(leaf, _weft.Variable):
                leaf = leaf.read()
            # What C++ counts as a tensor has a flag.
            if not _weft.is_tensor_leaf(leaf):
                return leaf
            flags.append(axis is not None)
            if axis is None:
                return leaf
            leaf = _weft.tensor(leaf)
            if not leaf.shape:
                raise _weft.InvalidArgument(
                    "vmap: a number has no axis of instances; in_axes is None "
                    "for what all share"
                )
            leaf = _moved(leaf, axis, 0)
            sizes.append(leaf.shape[0])
            return leaf

        arguments = tuple(
            _with_axes(lead, each, axis)
            for each, axis in zip(arguments, axes)
        )
        keywords = {
            # The order in which tensors are counted.
            name: _with_axes(lead, keywords[name], 0)
            for name in sorted(keywords)
        }
        if len(set(sizes)) > 1:
            raise _weft.InvalidArgument(
                "vmap: the arguments have different numbers of instances: "
                + ", ".join(map(str, sizes))
            )
        result, is_stacked = mapped.call(arguments, keywords, flags)
        stacked = iter(is_stacked)

        def place(leaf, axis):
            if not isinstance(leaf, _weft.Tensor):
                return leaf
            if not next(stacked):
                if axis is None:
                    return leaf
                leaf = functions.broadcast_to(
                    leaf, (sizes[0], *leaf.shape)
                )
            elif axis is None:
                raise _weft.InvalidArgument(
                    "vmap: out_axes is None for a result that differs between "
                    "instances"
                )
            return _moved(leaf, 0, axis)

        return _with_axes(place, result, out_axes)

    return over_instances


def _moved(x, source, target):
    """The axis at another place, the others in order."""
    rank = len(x.shape)
    source = _arguments.axis_of(x, source, "vmap")
    target = _arguments.axis_of(x, target, "vmap")
    if source == target:
        return x
    axes = [axis for axis in range(rank) if axis != source]
    axes.insert(target, source)
    return functions.transpose(x, axes)


_FLOATS = ("f16", "bf16", "f32", "f64")


def _basis(x):
    """Tensors like x that are 1 at one element and 0 elsewhere, for each."""
    size = math.prod(x.shape)
    ones = functions.one_hot(functions.arange(size), depth=size)
    return ones.cast(x.dtype).reshape(size, *x.shape)


def _at_leaf(tree, place, value):
    """The tree with `value` in place of a leaf, and None in place of others."""
    leaves = itertools.count()
    return _with_axes(
        lambda leaf, _: value if next(leaves) == place else None, tree, None
    )


def _with_axes(change, tree, axes):
    """change(leaf, axis) for each leaf. `axes` has one for all that is below, or
    is a container as the tree is."""
    if isinstance(tree, dict):
        each = axes if isinstance(axes, dict) else dict.fromkeys(tree, axes)
        # Tensors are counted in this order.
        named = all(isinstance(key, str) for key in tree)
        keys = sorted(tree) if named else tree
        return {key: _with_axes(change, tree[key], each[key]) for key in keys}
    if type(tree) in (tuple, list) or hasattr(tree, "_fields"):
        each = axes if isinstance(axes, (tuple, list)) else [axes] * len(tree)
        items = [_with_axes(change, *pair) for pair in zip(tree, each)]
        return (
            type(tree)(*items) if hasattr(tree, "_fields") else type(tree)(items)
        )
    return change(tree, axes)
