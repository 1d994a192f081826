"""jit, grad and value_and_grad: functions from functions."""

import functools

from weft import _weft


def jit(
    function=None,
    *,
    input_signature=None,
    results=None,
    relax_dims=True,
    fuse=True,
    max_graphs=64,
    warn_after=8,
):
    """Stages a function: traced once per kind of arguments, a graph after.

    Tensors count by dtype and shape, numbers and texts by value, objects by
    identity, tuples, lists and dicts by what is in them. A dim that keeps
    changing becomes a weft.Dim, and one graph serves all sizes.

    input_signature: a TensorType for each argument, then there is one graph.
    results: TensorTypes of what is returned, for a function that calls itself.
    fuse=False: every op by itself, with the bits of eager execution.
    """
    if function is None:
        return functools.partial(
            jit,
            input_signature=input_signature,
            results=results,
            relax_dims=relax_dims,
            fuse=fuse,
            max_graphs=max_graphs,
            warn_after=warn_after,
        )
    return _weft.Jit(
        function,
        input_signature=input_signature,
        results=results,
        relax_dims=relax_dims,
        fuse=fuse,
        max_graphs=max_graphs,
        warn_after=warn_after,
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
