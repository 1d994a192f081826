"""Every transformation of every kind of body: values and derivatives are those of the
body as it runs eagerly, and central differences of it.

Bodies read tensors and variables around them, which each transformation finds in
another way; what is lost on the way would be a zero without a word.
"""

import unittest

import numpy as np

import weft

RANDOM = np.random.default_rng(0)


def draw():
    return weft.tensor(RANDOM.uniform(0.5, 1.5, 3))


W, SEED, X = draw(), draw(), draw()
S = weft.tensor(np.float64(1.3))
V = weft.Variable(RANDOM.uniform(0.5, 1.5, 3))


def scan_over(x, step):
    """What step(x) gives, as what a loop gives in its second turn."""
    return weft.scan(lambda c, e: (c, step(e)), S, weft.stack([x, x]))[1][1]


BODIES = {
    "argument": lambda x: x,
    "captures": lambda x: x * W * S * V,
    "scan": lambda x: weft.scan(lambda c, e: (c * e * S, c * W), x, x)[1].sum(0),
    "cond": lambda x: weft.cond(x.sum() > 0.0, lambda: x * S * W, lambda: x),
    "while": lambda x: weft.while_loop(
        lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * x * S), (0, W)
    )[1],
    "remat": lambda x: weft.remat(lambda y: weft.sin(y * W) * S)(x),
    "custom": lambda x: weft.custom_gradient(
        lambda y: (y * y * S, y), lambda y, dy: dy * 2.0 * y * S
    )(x),
    "gradient by a number": lambda x: x
    * weft.grad(lambda s: (s * s * x).sum())(S),
    "gradient by a capture": lambda x: weft.grad(
        lambda w: (w * w * x).sum()
    )(W),
    "gradient by a variable": lambda x: weft.grad(
        lambda: (V * V * x).sum(), wrt=[V]
    )()[0],
    "pull back": lambda x: weft.vjp(lambda y: (W, y * y), x)[1]((W, W))[0],
    "tangent": lambda x: weft.jvp(lambda y: y * y * W, (x,), (W,))[1],
    "instances": lambda x: weft.vmap(lambda e: e * S * W)(x).sum(1),
    "call": lambda x: weft.jit(lambda y: y * W * S)(x),
    "index": lambda x: x[weft.tensor([2, 0, -1])] * S,
}


def pulled(f, x):
    return weft.vjp(f, x)[1](SEED)[0]


def pushed(f, x):
    return weft.jvp(f, (x,), (SEED,))[1]


def second(f, x):
    return weft.vmap(f)(weft.stack([x, x]))[1]


# Each gives what one of the three does: the body, the gradient, the tangent.
WAYS = {
    "jit": ("value", lambda f: weft.jit(f)(X)),
    "vmap": ("value", lambda f: second(f, X)),
    "vmap of jit": ("value", lambda f: second(weft.jit(f), X)),
    "vmap in jit": ("value", lambda f: weft.jit(lambda x: second(f, x))(X)),
    "scan": (
        "value",
        lambda f: weft.jit(lambda x: scan_over(x, f))(X),
    ),
    "vjp": ("gradient", lambda f: pulled(f, X)),
    "vjp of jit": ("gradient", lambda f: pulled(weft.jit(f), X)),
    "vjp in jit": ("gradient", lambda f: weft.jit(lambda x: pulled(f, x))(X)),
    "vjp in vmap": (
        "gradient",
        lambda f: second(lambda x: pulled(f, x), X),
    ),
    "vjp in scan": (
        "gradient",
        lambda f: weft.jit(
            lambda x: scan_over(x, lambda e: pulled(f, e))
        )(X),
    ),
    "vjp of scan": (
        "gradient",
        lambda f: pulled(lambda x: scan_over(x, f), X),
    ),
    "vjp in cond": (
        "gradient",
        lambda f: weft.jit(
            lambda x: weft.cond(x[0] > 0.0, lambda: pulled(f, x), lambda: x)
        )(X),
    ),
    "vjp of remat": ("gradient", lambda f: pulled(weft.remat(f), X)),
    "jvp": ("tangent", lambda f: pushed(f, X)),
    "jvp of jit": ("tangent", lambda f: pushed(weft.jit(f), X)),
    "jvp in jit": ("tangent", lambda f: weft.jit(lambda x: pushed(f, x))(X)),
}


def differences(f):
    """d f_i / d x_j, by central differences."""
    step = 1e-6
    columns = []
    for direction in np.eye(3):
        high = f(weft.tensor(X.numpy() + step * direction)).numpy()
        low = f(weft.tensor(X.numpy() - step * direction)).numpy()
        columns.append((high - low) / (2 * step))
    return np.stack(columns, 1)


class Compositions(unittest.TestCase):
    def test_all_of_all(self):
        for name, body in BODIES.items():
            slope = differences(body)
            expected = {
                "value": body(X).numpy(),
                "gradient": SEED.numpy() @ slope,
                "tangent": slope @ SEED.numpy(),
            }
            for way, (kind, run) in WAYS.items():
                with self.subTest(f"{way} of {name}"):
                    np.testing.assert_allclose(
                        run(body).numpy(), expected[kind], 1e-6, 1e-7
                    )


if __name__ == "__main__":
    unittest.main()
