"""Stores what JAX makes of the functions in transformed.py, in f64.

Each way of each function (vjp, jvp, a Hessian times a vector, vmap, vmap of the
gradient) as a flat list of numbers; tests/python/transforms_reference_test.py
compares Weft with them. The arguments are arithmetic, so they are not stored.

    python bench/reference/make_transforms.py
"""

import json
from pathlib import Path
from types import SimpleNamespace

import jax

jax.config.update("jax_enable_x64", True)

import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from transformed import (  # noqa: E402
    FUNCTIONS, INSTANCES, SHARED, Transformed)

OUT = Path(__file__).with_name("transforms.json")


def layer_norm(x, scale, shift):
    mean = x.mean(-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(-1, keepdims=True)
    return (x - mean) / jnp.sqrt(variance + 1e-5) * scale + shift


def custom_gradient(forward, backward):
    f = jax.custom_vjp(lambda *xs: forward(*xs)[0])

    def back(saved, dy):
        gradients = backward(saved, dy)
        return gradients if isinstance(gradients, tuple) else (gradients,)

    f.defvjp(forward, back)
    return f


def jax_names() -> SimpleNamespace:
    return SimpleNamespace(
        **{name: getattr(jnp, name) for name in SHARED},
        softmax=jax.nn.softmax, log_softmax=jax.nn.log_softmax,
        sigmoid=jax.nn.sigmoid,
        gelu=lambda x: jax.nn.gelu(x, approximate=False),
        layer_norm=layer_norm, cholesky=jnp.linalg.cholesky,
        eigenvalues=jnp.linalg.eigvalsh,
        singular_values=lambda x: jnp.linalg.svd(
            x, full_matrices=False, compute_uv=False),
        constant=jnp.asarray, scan=jax.lax.scan,
        while_loop=jax.lax.while_loop, cond=jax.lax.cond,
        custom_gradient=custom_gradient, remat=jax.checkpoint)


def flat(*arrays) -> list[float]:
    return np.concatenate([np.ravel(array) for array in arrays]).tolist()


def recorded(names: SimpleNamespace, case: Transformed) -> dict:
    def f(*xs):
        return case.function(names, *xs)

    xs = [jnp.asarray(x) for x in case.arguments()]
    many = [jnp.asarray(x) for x in case.arguments((INSTANCES,))]
    tangents = [jnp.asarray(x) for x in case.tangents()]
    value = f(*xs)
    seed = case.seed(np.asarray(value))
    slope = jax.grad(lambda *xs: (f(*xs) * seed).sum(), tuple(range(len(xs))))
    ways = {
        "value": lambda: [value],
        "jvp": lambda: [jax.jvp(f, xs, tangents)[1]],
        "vjp": lambda: jax.vjp(f, *xs)[1](jnp.asarray(seed)),
        "hessian": lambda: jax.jvp(slope, xs, tangents)[1],
        "vmap": lambda: [jax.vmap(f)(*many)],
        "vmap of grad": lambda: jax.vmap(slope)(*many),
    }
    return {way: flat(*ways[way]()) for way in case.ways}


def main() -> None:
    names = jax_names()
    functions = {name: recorded(names, case)
                 for name, case in FUNCTIONS.items()}
    origin = {"jax": jax.__version__, "numpy": np.__version__,
              "made by": "bench/reference/make_transforms.py"}
    # A line for each way: a change of one is seen as that.
    lines = [f"  {json.dumps(name)}: {{\n" + ",\n".join(
        f"    {json.dumps(way)}: {json.dumps(values)}"
        for way, values in ways.items()) + "\n  }"
        for name, ways in functions.items()]
    OUT.write_text(f'{{"origin": {json.dumps(origin)},\n"functions": {{\n'
                   + ",\n".join(lines) + "\n}}\n")


if __name__ == "__main__":
    main()
