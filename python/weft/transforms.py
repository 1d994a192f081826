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
