"""vjp, jvp and vmap: against formulas, finite differences and plain loops."""

import collections
import functools
import sys
import unittest
from pathlib import Path

import numpy as np

import weft


REFERENCE = Path(__file__).resolve().parents[2] / "bench" / "reference"
sys.path.insert(0, str(REFERENCE))

from transformed import EVERY, FUNCTIONS, weft_names  # noqa: E402

NAMES = weft_names()


def draw(random, shapes):
    return [weft.tensor(random.uniform(0.2, 1.2, shape)) for shape in shapes]


def shifted(arguments, tangents, step):
    return [x + t * step for x, t in zip(arguments, tangents)]


class Transforms(unittest.TestCase):
    def of_each(self, check):
        for number, (name, case) in enumerate(FUNCTIONS.items()):
            # A gradient of one's own need not be the function's.
            if case.ways != EVERY:
                continue
            random = np.random.default_rng(number)
            function = functools.partial(case.function, NAMES)
            with self.subTest(name):
                x = draw(random, case.shapes)
                check(function, x, draw(random, case.shapes), random)

    def test_jvp_is_the_derivative_along_the_tangents(self):
        def check(function, x, tangents, _):
            step = 1e-6
            high = function(*shifted(x, tangents, step)).numpy()
            low = function(*shifted(x, tangents, -step)).numpy()
            for way in (function, weft.jit(function)):
                value, moved = weft.jvp(way, x, tangents)
                np.testing.assert_allclose(
                    value.numpy(), function(*x).numpy(), 1e-12
                )
                np.testing.assert_allclose(
                    moved.numpy(), (high - low) / (2 * step), 1e-6, 1e-8
                )

        self.of_each(check)

    def test_vjp_is_the_transpose_of_jvp(self):
        def check(function, x, tangents, random):
            value, pull_back = weft.vjp(function, *x)
            seed = weft.tensor(random.normal(size=value.shape))
            moved = weft.jvp(function, x, tangents)[1]
            gradients = pull_back(seed)
            self.assertEqual(len(gradients), len(x))
            along = sum(
                float((g * t).sum()) for g, t in zip(gradients, tangents)
            )
            self.assertAlmostEqual(along, float((moved * seed).sum()), 9)
            # Again, and linear.
            for first, second in zip(gradients, pull_back(seed * 2.0)):
                np.testing.assert_allclose(
                    2 * first.numpy(), second.numpy(), 1e-12
                )

        self.of_each(check)

    def test_jacobians_hold_every_derivative(self):
        def check(function, x, tangents, _):
            everything = tuple(range(len(x)))
            for way in (function, weft.jit(function)):
                rows = weft.jacobian(way, everything)(*x)
                value, moved = weft.jvp(way, x, tangents)
                products = [
                    np.tensordot(each.numpy(), t.numpy(), t.numpy().ndim)
                    for each, t in zip(rows, tangents)
                ]
                np.testing.assert_allclose(sum(products), moved.numpy(), 1e-9)
                for each, argument in zip(rows, x):
                    self.assertEqual(
                        each.shape, (*value.shape, *argument.shape)
                    )

        self.of_each(check)

    def test_jacobians_keep_structures(self):
        def function(parameters, y):
            return {"a": parameters["w"] @ y, "b": [y * 2.0, 7]}

        w, y = weft.ones((2, 3)), weft.tensor([1.0, 2.0, 3.0])
        rows = weft.jacobian(function, (0, 1))({"w": w, "n": 3}, y)
        self.assertEqual(rows["a"][0]["w"].shape, (2, 2, 3))
        self.assertIsNone(rows["a"][0]["n"])
        self.assertEqual(rows["a"][1].tolist(), w.tolist())
        self.assertEqual(rows["b"][0][0]["w"].tolist(), np.zeros((3, 2, 3)).tolist())
        self.assertEqual(rows["b"][0][1].tolist(), (2 * np.eye(3)).tolist())
        self.assertIsNone(rows["b"][1])
        self.assertEqual(weft.jacobian(lambda x: x * x)(3.0).item(), 6)

    def test_hessians(self):
        def cubes(x, y):
            return (x * x * x * y).sum()

        x, y = weft.tensor([1.0, 2.0]), weft.tensor([3.0, 5.0])
        both = weft.hessian(cubes, (0, 1))
        for way in (both, weft.jit(both)):
            (xx, xy), (yx, yy) = way(x, y)
            self.assertEqual(xx.tolist(), [[18, 0], [0, 60]])
            self.assertEqual(xy.tolist(), [[3, 0], [0, 12]])
            self.assertEqual(yx.tolist(), xy.tolist())
            self.assertEqual(yy.tolist(), [[0, 0], [0, 0]])

    def test_vmap_is_a_loop(self):
        def check(function, x, _, random):
            # The first argument differs, or all of them.
            for mapped in (1, len(x)):
                many = [
                    weft.tensor(random.uniform(0.2, 1.2, (5, *each.shape)))
                    for each in x[:mapped]
                ]
                axes = (0,) * mapped + (None,) * (len(x) - mapped)
                got = weft.vmap(function, axes)(*many, *x[mapped:])
                expected = [
                    function(*(each[i] for each in many), *x[mapped:]).numpy()
                    for i in range(5)
                ]
                np.testing.assert_allclose(got.numpy(), expected, 1e-12, 1e-12)

        self.of_each(check)

    def test_they_compose(self):
        def loss(w, x):
            return (weft.tanh(x[None, :] @ w) ** 2.0).sum()

        random = np.random.default_rng(1)
        w = weft.tensor(random.normal(size=(3, 2)))
        xs = weft.tensor(random.normal(size=(4, 3)))
        each = [weft.grad(loss)(w, xs[i]).numpy() for i in range(4)]
        per_example = weft.vmap(weft.grad(loss), (None, 0))
        np.testing.assert_allclose(per_example(w, xs).numpy(), each, 1e-12)
        np.testing.assert_allclose(
            weft.jit(per_example)(w, xs).numpy(), each, 1e-12
        )
        # A gradient through vmap.
        total = weft.grad(
            lambda w: weft.vmap(loss, (None, 0))(w, xs).sum()
        )(w)
        np.testing.assert_allclose(total.numpy(), sum(each), 1e-12)
        # A Hessian times a vector, forward over reverse, against differences.
        v = weft.tensor(random.normal(size=(3, 2)))
        gradient = weft.grad(lambda w: loss(w, xs))
        product = weft.jvp(gradient, (w,), (v,))[1].numpy()
        difference = (gradient(w + v * 1e-6) - gradient(w - v * 1e-6)) / 2e-6
        np.testing.assert_allclose(product, difference.numpy(), 1e-6, 1e-8)
        # A Jacobian, row by row.
        f = lambda x: weft.sin(x) * x.sum()  # noqa: E731
        x = weft.tensor(random.normal(size=4))
        pull_back = weft.vjp(f, x)[1]
        rows = np.stack(
            [pull_back(weft.tensor(row))[0].numpy() for row in np.eye(4)]
        )
        expected = np.diag(np.cos(x.numpy()) * x.numpy().sum()) + np.sin(
            x.numpy()
        )[:, None]
        np.testing.assert_allclose(rows, expected, 1e-12)
        # vmap of vmap.
        ys = weft.tensor(random.normal(size=(5, 3)))
        table = weft.vmap(
            lambda x: weft.vmap(lambda y: (x * y).sum())(ys)
        )(xs)
        np.testing.assert_allclose(
            table.numpy(), xs.numpy() @ ys.numpy().T, 1e-12
        )

    def test_an_argument_is_no_other_value(self):
        # Whatever else is the same tensor: another argument, or what the
        # function has by itself.
        def closed(x):
            return weft.grad(lambda a: a * x)(x)

        def twice(x):
            return weft.grad(lambda a, b: a * b * b, argnums=(0, 1))(x, x)

        def pulled(x):
            return weft.vjp(lambda a, b: a * b * b, x, x)[1](weft.tensor(1.0))

        def pushed(x):
            one, none = weft.tensor(1.0), weft.tensor(0.0)
            return weft.jvp(lambda a, b: a * b * b, (x, x), (one, none))[1]

        s = weft.tensor(3.0)
        for f, expected in (
            (closed, 3),
            (twice, (9, 18)),
            (pulled, (9, 18)),
            (pushed, 9),
        ):
            for run in (f, weft.jit(f)):
                np.testing.assert_array_equal(run(s), expected)
            mapped = weft.vmap(f)(weft.tensor([3.0, 3.0]))
            np.testing.assert_array_equal(
                np.asarray(mapped).T, [expected, expected]
            )
        # The inner gradient is x, whose own is one.
        self.assertEqual(weft.grad(closed)(s).item(), 1)
        self.assertEqual(weft.jit(weft.grad(closed))(s).item(), 1)

    def test_structures_go_in_and_come_out(self):
        Point = collections.namedtuple("Point", "x y")

        def f(point, scales, count):
            return {"b": point.x * scales[0], "a": (point.y + count, "text")}

        point = Point(weft.tensor([1.0, 2.0]), weft.tensor([3.0]))
        scales = [weft.tensor(2.0)]
        value, pull_back = weft.vjp(f, point, scales, 7)
        self.assertEqual(value["a"][1], "text")
        seeds = {"b": weft.tensor([1.0, 10.0]), "a": (None, "text")}
        moved, of_scales, of_count = pull_back(seeds)
        self.assertIsInstance(moved, Point)
        np.testing.assert_allclose(moved.x.numpy(), [2, 20])
        np.testing.assert_allclose(moved.y.numpy(), [0])
        np.testing.assert_allclose(of_scales[0].numpy(), 21)
        self.assertIsNone(of_count)
        mapped = weft.vmap(f, (Point(1, None), None, None), {"b": 1, "a": None})
        got = mapped(
            Point(weft.tensor([[1.0, 2.0, 3.0]]), weft.tensor([3.0])),
            scales,
            7,
        )
        self.assertEqual(got["b"].shape, (1, 3))
        np.testing.assert_allclose(got["b"].numpy(), [[2, 4, 6]])
        np.testing.assert_allclose(got["a"][0].numpy(), [10])

    def test_a_pull_back_works_in_what_is_staged(self):
        def function(x):
            return weft.sin(x) * x.sum()

        x, seed = weft.tensor([0.5, 1.0, 2.0]), weft.tensor([1.0, 3.0, 0.0])
        _, pull = weft.vjp(function, x)
        expected = pull(seed)[0].tolist()
        self.assertNotEqual(expected, [0, 0, 0])
        staged = weft.jit(lambda s: pull(s)[0])
        self.assertEqual(staged(seed).tolist(), expected)
        mapped = weft.vmap(lambda s: pull(s)[0])
        self.assertEqual(mapped(weft.stack([seed] * 2)).tolist(), [expected] * 2)

    def test_bodies_differentiate_numbers_that_they_capture(self):
        w, xs = weft.tensor(2.0), weft.tensor([1.0, 3.0])

        def slope(x):
            return weft.grad(lambda w: w * w * x)(w)

        scanned = weft.jit(
            lambda xs: weft.scan(lambda c, x: (c, slope(x)), xs[0], xs)[1]
        )
        self.assertEqual(scanned(xs).tolist(), [4, 12])
        chosen = weft.jit(
            lambda x: weft.cond(x > 0.0, lambda: slope(x), lambda: x)
        )
        self.assertEqual(chosen(xs[1]).item(), 12)

    def test_what_is_no_floating_tensor_has_no_derivative(self):
        def f(x, index):
            return x[index], index + 1

        x, index = weft.tensor([1.0, 2.0, 4.0]), weft.tensor([2, 0])
        (_, moved), pull_back = weft.vjp(f, x, index)
        np.testing.assert_array_equal(moved.numpy(), [3, 1])
        gradients = pull_back((weft.tensor([1.0, 10.0]), None))
        np.testing.assert_allclose(gradients[0].numpy(), [10, 0, 1])
        self.assertIsNone(gradients[1])
        _, tangents = weft.jvp(f, (x, index), (weft.tensor([1.0, 1, 2]), None))
        np.testing.assert_allclose(tangents[0].numpy(), [2, 1])
        self.assertIsNone(tangents[1])

    def test_results_that_all_instances_share_are_repeated(self):
        x = weft.tensor([[1.0, 2.0], [3.0, 4.0]])
        one = weft.tensor([5.0])
        got = weft.vmap(lambda x, y: (x.sum(), y * 2.0), (0, None))(x, one)
        self.assertEqual(got[1].shape, (2, 1))
        shared = weft.vmap(
            lambda x, y: (x.sum(), y * 2.0), (0, None), (0, None)
        )(x, one)
        self.assertEqual(shared[1].shape, (1,))

    def test_mistakes_are_named(self):
        x = weft.tensor(np.ones((3, 2)))
        for pattern, mistake in (
            ("no argument has an axis", lambda: weft.vmap(weft.exp, None)(x)),
            (
                "different numbers of instances: 3, 2",
                lambda: weft.vmap(weft.add)(x, x[:2]),
            ),
            ("no axis of instances", lambda: weft.vmap(weft.exp)(x[0, 0])),
            (
                "in_axes has 1 axes for 2",
                lambda: weft.vmap(weft.add, (0,))(x, x),
            ),
            (
                "out_axes is None for a result that differs",
                lambda: weft.vmap(weft.exp, 0, None)(x),
            ),
            (
                r"value 0 is f64\[3\], not f64\[3, 2\]",
                lambda: weft.vjp(weft.exp, x)[1](weft.tensor(np.ones(3))),
            ),
            (
                "another structure",
                lambda: weft.jvp(weft.add, (x, x), (x,)),
            ),
        ):
            with self.assertRaisesRegex(weft.Error, pattern):
                mistake()


if __name__ == "__main__":
    unittest.main()
