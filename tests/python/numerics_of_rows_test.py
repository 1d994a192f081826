"""Ops of more than an element against NumPy, with NaN and infinities: sums,
products, softmax, pooling, recurrent layers."""

import itertools
import unittest

import numpy as np
from comparing import Same, specials

import weft


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def relu(x):
    return np.where(x < 0, 0, x)


def softmax(x):
    power = np.exp(x - x.max(-1, keepdims=True))
    return power / power.sum(-1, keepdims=True)


def log_softmax(x):
    top = x.max(-1, keepdims=True)
    return x - top - np.log(np.exp(x - top).sum(-1, keepdims=True))


def lstm(x, h, c, w_ih, w_hh, bias):
    ys = []
    for step in x:
        i, f, g, o = np.split(step @ w_ih + h @ w_hh + bias, 4, -1)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        ys.append(h)
    return np.stack(ys)


def gru(x, h, w_ih, w_hh, b_ih, b_hh):
    ys = []
    for step in x:
        xr, xz, xn = np.split(step @ w_ih + b_ih, 3, -1)
        hr, hz, hn = np.split(h @ w_hh + b_hh, 3, -1)
        z = sigmoid(xz + hz)
        n = np.tanh(xn + sigmoid(xr + hr) * hn)
        h = (1 - z) * n + z * h
        ys.append(h)
    return np.stack(ys)


def windows(x):
    n, rows, columns, channels = x.shape
    tiles = x.reshape(n, rows // 2, 2, columns // 2, 2, channels)
    return tiles.transpose(0, 1, 3, 2, 4, 5).reshape(
        n, rows // 2, columns // 2, 4, channels
    )


class Rows(Same):
    """Ops of more than an element."""

    def both(self, name, function, expected, operands, near=2e-6, **options):
        with np.errstate(all="ignore"):
            wanted = expected(
                *[
                    (
                        np.asarray(x, np.float64)
                        if np.asarray(x).dtype.kind == "f"
                        else x
                    )
                    for x in operands
                ]
            )
        for way, run in (("eager", function), ("staged", weft.jit(function))):
            self.assertSame(
                run(*map(weft.tensor, operands)),
                wanted,
                f"{name} {way}",
                near=near,
                slack=near,
                zeros=False,
                **options,
            )

    def test_reductions(self):
        for seed, shape in itertools.product(range(6), [(5, 7), (3, 600)]):
            x = specials(shape, seed)
            for axis in (0, 1, None):
                for name in "sum mean max min prod".split():
                    if name == "prod" and x.size > 100:
                        continue  # of so many numbers, parts become 0
                    self.both(
                        f"{name} {seed} {axis}",
                        lambda t: getattr(weft, name)(t, axis),
                        lambda t: getattr(np, name)(t, axis),
                        [x],
                        near=1e-4,
                    )
            for axis in (0, 1):
                for name in ("argmax", "argmin", "any", "all"):
                    self.both(
                        f"{name} {seed}",
                        lambda t: getattr(weft, name)(t, axis),
                        lambda t: getattr(np, name)(t, axis),
                        [x],
                    )
                self.both(
                    f"cumsum {seed}",
                    lambda t: weft.cumsum(t, axis),
                    lambda t: np.cumsum(t, axis),
                    [x],
                    near=1e-5,
                )
            self.both(f"sort {seed}", weft.sort, np.sort, [x])
            top = lambda t: weft.ops.top_k(t, k=4)[0]
            self.both(
                f"top_k {seed}", top, lambda t: np.sort(t)[:, ::-1][:, :4], [x]
            )

    def test_staged_means_of_f64_have_its_precision(self):
        x = np.random.default_rng(1).normal(size=(3, 7))
        for axis in (0, 1, None):
            mean = weft.jit(lambda t: weft.mean(t * t, axis))(weft.tensor(x))
            np.testing.assert_allclose(mean, (x * x).mean(axis), 1e-14)

    def test_places_are_those_of_the_first_nan(self):
        for dtype in ("f32", "f64", "bf16", "f16"):
            for row in ([np.nan, 1, 2], [1, np.nan, 2, np.nan], [-np.inf] * 3):
                for array in (np.array([row]), np.array([row]).T.copy()):
                    axis = int(array.shape[0] == 1)
                    for name in ("argmax", "argmin"):
                        actual = getattr(weft, name)(
                            weft.tensor(array).cast(dtype), axis
                        )
                        expected = getattr(np, name)(array, axis)
                        self.assertEqual(
                            actual.tolist(), expected.tolist(), f"{name} {dtype}"
                        )

    def test_softmax_and_cross_entropy(self):
        for seed in range(8):
            x = specials((4, 9), seed, seed)
            labels = np.array([0, 8, 3, 5])
            self.both(f"softmax {seed}", weft.softmax, softmax, [x])
            self.both(f"log_softmax {seed}", weft.log_softmax, log_softmax, [x])
            self.both(
                f"cross_entropy {seed}",
                weft.cross_entropy,
                lambda t, l: -log_softmax(t)[np.arange(4), l],
                [x, labels],
            )

    def test_a_nan_logit_spoils_its_row(self):
        x = np.array([[np.nan, 1, 2], [0, 1, 2]], np.float32)
        for dtype in ("f32", "bf16", "f64", "f16"):
            t = weft.tensor(x).cast(dtype)
            for op in (weft.softmax, weft.log_softmax):
                bad = np.isnan(op(t).cast("f32").numpy())
                self.assertEqual(bad.all(1).tolist(), [True, False], dtype)
            loss = weft.cross_entropy(t, weft.tensor([2, 2])).cast("f32")
            self.assertEqual(np.isnan(loss.numpy()).tolist(), [True, False])

    def test_products_and_their_epilogues(self):
        for seed in range(6):
            a, b = specials((6, 5), seed), specials((5, 8), seed + 50, 1)
            bias = specials((8,), seed + 90, 1)
            self.both("matmul", weft.matmul, np.matmul, [a, b], near=1e-5)
            self.both(
                "matmul, bias, relu",
                lambda x, w, v: weft.relu(x @ w + v),
                lambda x, w, v: relu(x @ w + v),
                [a, b, bias],
                near=1e-5,
            )
            image = specials((2, 4, 4, 3), seed, 2)
            kernel = (
                np.random.default_rng(seed)
                .normal(size=(1, 1, 3, 16))
                .astype(np.float32)
            )
            wide = specials((16,), seed, 1)
            self.both(
                "conv2d, bias, relu",
                lambda x, w, v: weft.relu(weft.ops.conv2d(x, w) + v),
                lambda x, w, v: relu(x @ w[0, 0] + v),
                [image, kernel, wide],
                near=1e-5,
            )

    def test_pooling(self):
        for seed in range(6):
            x = specials((2, 4, 6, 5), seed, 6)
            window = dict(window=[2, 2], strides=[2, 2])
            self.both(
                "max_pool",
                lambda t: weft.ops.max_pool(t, **window)[0],
                lambda t: windows(t).max(3),
                [x],
            )
            self.both(
                "avg_pool",
                lambda t: weft.ops.avg_pool(t, **window),
                lambda t: windows(t).mean(3),
                [x],
            )

    def test_moments_and_norms(self):
        for seed in range(6):
            x = specials((12, 5), seed, 1)
            for i, name in enumerate(("mean", "var")):
                self.both(
                    f"moments {seed}",
                    lambda t: weft.ops.moments(t)[i],
                    lambda t: getattr(t, name)(0),
                    [x],
                    near=1e-5,
                )

    def test_recurrent_layers(self):
        for seed in range(4):
            random = np.random.default_rng(seed)
            draw = lambda *shape: random.normal(size=shape).astype(np.float32)
            x = specials((3, 2, 4), seed, 1)
            h, c = specials((2, 5), seed, 1), draw(2, 5)
            self.both(
                "lstm",
                lambda *t: weft.ops.lstm(*t)[0],
                lstm,
                [x, h, c, draw(4, 20), draw(5, 20), draw(20)],
                near=1e-5,
            )
            self.both(
                "gru",
                lambda *t: weft.ops.gru(*t)[0],
                gru,
                [x, h, draw(4, 15), draw(5, 15), draw(15), draw(15)],
                near=1e-5,
            )


if __name__ == "__main__":
    unittest.main()
