"""Functions to be differentiated and mapped, for jax.numpy and for weft alike.

Each takes a namespace first, `weft_names()` here or what make_transforms.py has
of JAX, and then its arguments. All are smooth where `numbers` puts these: in
(0.2, 1.2). What is recorded of each is said by `ways`.
"""

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, Callable

import numpy as np

EVERY = ("value", "jvp", "vjp", "hessian", "vmap", "vmap of grad")
# JAX pushes tangents through a loop whose length depends on values, and pulls
# no gradient back.
FORWARD = ("value", "jvp", "vmap")
# It has no tangents for gradients of one's own.
REVERSE = ("value", "vjp", "vmap", "vmap of grad")
INSTANCES = 3


def numbers(shape: tuple, which: int, low: float = 0.2) -> np.ndarray:
    """Numbers in [low, low + 1), by arithmetic that any machine does alike."""
    count = int(np.prod(shape, dtype=int))
    golden = 0.6180339887498949
    spread = np.arange(1, count + 1) * golden + which * 0.3819660112501051
    return (low + spread % 1.0).reshape(shape)


@dataclass(frozen=True)
class Transformed:
    function: Callable[..., Any]
    shapes: tuple
    ways: tuple = EVERY

    def arguments(self, instances: tuple = ()) -> list[np.ndarray]:
        return [numbers((*instances, *shape), i)
                for i, shape in enumerate(self.shapes)]

    def tangents(self) -> list[np.ndarray]:
        return [numbers(shape, i + 10, -0.5)
                for i, shape in enumerate(self.shapes)]

    @staticmethod
    def seed(like: np.ndarray) -> np.ndarray:
        return numbers(like.shape, 20, -0.5)


def weft_names() -> SimpleNamespace:
    """What functions here are written with, of weft."""
    import weft

    return SimpleNamespace(
        **{name: getattr(weft, name) for name in SHARED},
        softmax=weft.ops.softmax, log_softmax=weft.ops.log_softmax,
        sigmoid=weft.ops.sigmoid, gelu=weft.ops.gelu,
        layer_norm=weft.ops.layer_norm, cholesky=weft.ops.cholesky,
        eigenvalues=lambda x: weft.ops.eigh(x)[0],
        singular_values=lambda x: weft.ops.svd(x)[1],
        constant=lambda values: weft.tensor(np.asarray(values)),
        scan=weft.scan, while_loop=weft.while_loop, cond=weft.cond,
        custom_gradient=weft.custom_gradient, remat=weft.remat)


# These have one name in both.
SHARED = (
    "exp", "log", "expm1", "log1p", "sin", "cos", "tan", "atan2", "tanh", "sqrt",
    "prod", "max", "min", "transpose", "concatenate", "split", "where", "cumsum",
    "einsum", "stack", "sort", "maximum", "minimum", "abs")


def attention(m, q, k, v):
    scores = m.einsum("nd,md->nm", q, k) / 2.0
    return m.einsum("nm,md->nd", m.softmax(scores), v)


def pairs(m, x):
    left, right = m.split(x, 2)
    return m.concatenate([right * left, m.sin(left)])


def network(m, x, w, v):
    return m.tanh(m.tanh(x @ w) @ v)


def positive(m, x):
    """A matrix with eigenvalues above 1."""
    return x @ m.transpose(x, (1, 0)) + m.constant(np.diag([1.0, 2.0, 3.0]))


def recurrence(m, h, w, xs):
    """Carries, rows that go in and rows that come out all count."""
    def step(h, x):
        h = m.tanh(h @ w + x)
        return h, h * x

    h, ys = m.scan(step, h, xs)
    return h + ys.sum(0)


def backward_in_time(m, h, xs):
    def step(h, x):
        return m.sin(h) * x + h, h * h

    h, ys = m.scan(step, h, xs, reverse=True)
    return m.concatenate([ys, h[None]])


def branch(m, x, y):
    return m.cond(x[0] > y[0], lambda: m.exp(x) * y, lambda: m.sin(x) + y * y)


def nested(m, x):
    def step(carry, i):
        return m.cond(i > 1.0, lambda: m.sin(carry) * i,
                      lambda: carry * carry + i), carry

    last, all_of_them = m.scan(step, x, m.constant([0.0, 1.0, 2.0, 3.0]))
    return last + all_of_them.sum(0)


def growth(m, x):
    """How many steps depends on x."""
    return m.while_loop(lambda y: y.sum() < 9.0, lambda y: y * y + y, x)


def polynomial(m, x):
    return m.while_loop(
        lambda s: s[1] < 3.5,
        lambda s: (m.sin(s[0]) * x + s[0], s[1] + 1.0),
        (x, m.constant(0.0)))[0]


def softplus(m, x):
    return m.custom_gradient(
        lambda x: (m.log1p(m.exp(x)), x),
        lambda x, dy: dy * m.sigmoid(x))(x)


def clipped(m, x, y):
    """Its gradient is no more than 0.3, whatever the function says."""
    def backward(saved, dy):
        x, y = saved
        clip = lambda g: m.minimum(m.maximum(g, -0.3), 0.3)  # noqa: E731
        return clip(dy * y), clip(dy * x * 2.0)

    f = m.custom_gradient(lambda x, y: (x * y, (x, y)), backward)
    return m.sin(f(x, y)) * x


def rematerialised(m, x, w):
    block = m.remat(lambda x: m.tanh(x @ w))
    return block(block(x))


def of(function, *shapes, ways=EVERY) -> Transformed:
    return Transformed(function, shapes, ways)


FUNCTIONS = {
    "add": of(lambda m, x, y: x + y, (3, 2), (3, 2)),
    "multiply": of(lambda m, x, y: x * y, (3, 2), (3, 1)),
    "divide": of(lambda m, x, y: x / y, (4,), (4,)),
    "power": of(lambda m, x, y: x**y, (4,), (4,)),
    "exp": of(lambda m, x: m.exp(x), (3,)),
    "log": of(lambda m, x: m.log(x), (3,)),
    "expm1": of(lambda m, x: m.expm1(x), (3,)),
    "log1p": of(lambda m, x: m.log1p(x), (3,)),
    "sin": of(lambda m, x: m.sin(x), (3,)),
    "cos": of(lambda m, x: m.cos(x), (3,)),
    "tan": of(lambda m, x: m.tan(x), (3,)),
    "atan2": of(lambda m, x, y: m.atan2(x, y), (3,), (3,)),
    "tanh": of(lambda m, x: m.tanh(x), (3,)),
    "sigmoid": of(lambda m, x: m.sigmoid(x), (3,)),
    "gelu": of(lambda m, x: m.gelu(x), (3,)),
    "sqrt": of(lambda m, x: m.sqrt(x), (3,)),
    "sum": of(lambda m, x: x.sum(0), (3, 2)),
    "mean": of(lambda m, x: x.mean(-1), (3, 2)),
    "prod": of(lambda m, x: m.prod(x, -1), (3, 3)),
    "max": of(lambda m, x: m.max(x, -1), (3, 4)),
    "softmax": of(lambda m, x: m.softmax(x), (3, 4)),
    "log_softmax": of(lambda m, x: m.log_softmax(x), (3, 4)),
    "matmul": of(lambda m, x, y: x @ y, (3, 4), (4, 2)),
    "matmul of stacks": of(lambda m, x, y: x @ y, (2, 3, 4), (2, 4, 2)),
    "transpose": of(lambda m, x: m.transpose(x, (1, 0)) * x, (3, 3)),
    "slice and concatenate": of(pairs, (4,)),
    "gather": of(lambda m, x: x[m.constant([2, 0, 2])] ** 2.0, (3, 2)),
    "where": of(lambda m, x, y: m.where(x > y, x * y, x), (5,), (5,)),
    "cumsum": of(lambda m, x: m.cumsum(x, 0) ** 2.0, (4,)),
    "sort": of(lambda m, x: m.sort(x) * m.constant([1.0, 2.0, 3.0]), (2, 3)),
    "layer_norm": of(lambda m, x, g, b: m.layer_norm(x, g, b),
                     (3, 4), (4,), (4,)),
    "attention": of(attention, (3, 4), (5, 4), (5, 2)),
    "a network": of(network, (2, 3), (3, 4), (4, 1)),
    "cholesky": of(lambda m, x: m.cholesky(positive(m, x)), (3, 3)),
    "eigenvalues": of(lambda m, x: m.eigenvalues(positive(m, x)), (3, 3)),
    "singular values": of(lambda m, x: m.singular_values(x), (3, 2)),
    "rematerialised": of(rematerialised, (2, 3), (3, 3)),
    "scan": of(recurrence, (2,), (2, 2), (3, 2)),
    "scan in reverse": of(backward_in_time, (2,), (3, 2)),
    "cond": of(branch, (3,), (3,)),
    "cond in scan": of(nested, (2,)),
    "while": of(growth, (3,), ways=FORWARD),
    "while over captures": of(polynomial, (2,), ways=FORWARD),
    "custom gradient": of(softplus, (3,), ways=REVERSE),
    "custom gradient of two": of(clipped, (3,), (3,), ways=REVERSE),
}
