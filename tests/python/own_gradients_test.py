"""Gradients of one's own, and functions that are computed again for theirs."""

import functools
import unittest

import numpy as np

import weft


class OwnGradients(unittest.TestCase):
    def test_a_custom_gradient_replaces_the_rules(self):
        # Twice the true gradient, so that it is told from it.
        def forward(x, y):
            return x * weft.sin(y), (x, y)

        def backward(saved, dy):
            x, y = saved
            return 2.0 * dy * weft.sin(y), 2.0 * dy * x * weft.cos(y)

        f = weft.custom_gradient(forward, backward)
        x, y = weft.tensor(np.array([1.0, 2.0])), weft.tensor(np.array([0.5, 1.5]))
        sin, cos = np.sin(y.numpy()), np.cos(y.numpy())

        def loss(x, y):
            return (f(x, y) ** 2.0).sum()

        def looped(x, y):
            return weft.scan(
                lambda total, row: (total + (f(*row) ** 2.0), total),
                weft.tensor(0.0, "f64"),
                (x, y),
            )[0]

        expected = (
            4 * x.numpy() * sin * sin, 4 * x.numpy() ** 2 * sin * cos,
        )
        for way in (loss, looped):
            gradient = weft.grad(way, (0, 1))
            for run in (
                gradient,
                weft.jit(gradient),
                weft.grad(weft.jit(way), (0, 1)),
                weft.jit(weft.grad(weft.jit(way), (0, 1))),
            ):
                got = run(x, y)
                np.testing.assert_allclose(got[0].numpy(), expected[0], 1e-12)
                np.testing.assert_allclose(got[1].numpy(), expected[1], 1e-12)
        np.testing.assert_allclose(f(x, y).numpy(), x.numpy() * sin)
        # One gradient for each instance, also of what they share.
        per_instance = weft.vmap(weft.grad(loss, (0, 1)))
        got = per_instance(x, y)
        np.testing.assert_allclose(got[0].numpy(), expected[0], 1e-12)
        shared = weft.grad(
            lambda y: (weft.vmap(f, (0, None))(x, y) ** 2.0).sum()
        )(y[0])
        along = 4 * (x.numpy() ** 2).sum() * sin[0] * cos[0]
        np.testing.assert_allclose(shared.numpy(), along, 1e-12)

    def test_custom_gradients_have_gradients(self):
        # x^3 with a gradient that computes 3 x^2 from what was saved, x^2.
        cube = weft.custom_gradient(
            lambda x: (x * x * x, x * x), lambda square, dy: 3.0 * square * dy
        )

        def second(x):
            return weft.grad(lambda x: weft.grad(cube)(x) * 1.0)(x)

        x = weft.tensor(2.0, "f64")
        self.assertAlmostEqual(float(weft.grad(cube)(x)), 12, 12)
        self.assertAlmostEqual(float(second(x)), 12, 12)
        self.assertAlmostEqual(float(weft.jit(second)(x)), 12, 12)
        self.assertAlmostEqual(float(weft.grad(weft.jit(weft.grad(cube)))(x)), 12, 12)
        self.assertAlmostEqual(
            float(weft.grad(weft.grad(weft.jit(cube)))(x)), 12, 12
        )

    def test_mistakes_of_custom_gradients_are_named(self):
        x = weft.tensor(np.ones(2))
        for pattern, f in (
            (
                r"\(result, saved\)",
                weft.custom_gradient(lambda x: x, lambda s, dy: dy),
            ),
            (
                r"gradient of argument 0 is f64\[\], and the argument f64\[2\]",
                weft.custom_gradient(
                    lambda x: (x, ()), lambda s, dy: dy.sum()
                ),
            ),
        ):
            for run in (lambda x: f(x).sum(), weft.jit(lambda x: f(x).sum())):
                with self.assertRaisesRegex(weft.Error, pattern):
                    weft.grad(run)(x)

    def test_remat_computes_again_and_keeps_less(self):
        random = np.random.default_rng(3)
        x = weft.tensor(random.normal(size=(64, 64)))
        layers = [
            weft.Variable(random.normal(size=(64, 64)) / 8) for _ in range(12)
        ]

        def network(wrap):
            def block(x, first):
                for w in layers[first : first + 4]:
                    x = weft.tanh(x @ w.read())
                return x

            def loss(x):
                for first in (0, 4, 8):
                    x = wrap(functools.partial(block, first=first))(x)
                return (x * x).mean()

            return loss

        plain, less = network(lambda f: f), network(weft.remat)
        expected = weft.value_and_grad(plain, wrt=layers)(x)
        for run in (
            weft.value_and_grad(less, wrt=layers),
            weft.jit(weft.value_and_grad(less, wrt=layers)),
            weft.value_and_grad(weft.jit(less), wrt=layers),
        ):
            value, gradients = run(x)
            np.testing.assert_allclose(float(value), float(expected[0]), 1e-12)
            for got, wanted in zip(gradients, expected[1]):
                np.testing.assert_allclose(
                    got.numpy(), wanted.numpy(), 1e-9, 1e-12
                )

    def test_remat_lowers_what_has_no_gradient_rule(self):
        x = weft.tensor(np.random.default_rng(0).normal(size=(3, 4)))
        losses = {
            "einsum": lambda x: weft.sum(weft.einsum("ij,kj->ik", x, x)),
            "mean_squared_error": lambda x: weft.mean_squared_error(x, x * x),
            "cross_entropy_dense": lambda x: weft.sum(
                weft.cross_entropy_dense(x, x)
            ),
        }
        for name, loss in losses.items():
            expected = weft.grad(loss)(x)
            again = weft.remat(loss)
            for run in (
                weft.grad(again),
                weft.grad(weft.jit(again)),
                weft.jit(weft.grad(again)),
            ):
                self.assertTrue(
                    np.allclose(run(x), expected, rtol=1e-12), name
                )

    def test_remat_passes_on_the_gradient_of_what_it_returns_as_it_is(self):
        x = weft.tensor(np.array([0.5, 1.0, 2.0]))
        y = weft.tensor(np.array([3.0, -1.0, 4.0]))

        def gradients(wrap):
            def loss(x, y):
                # The second result is an argument, the third from around.
                both = wrap(lambda a, b: (weft.sin(a), b, y))(x, x * y)
                return (both[0] + both[1] * both[2]).sum()

            return weft.grad(loss, (0, 1))

        expected = gradients(lambda f: f)(x, y)
        for run in (gradients(weft.remat), weft.jit(gradients(weft.remat))):
            for got, wanted in zip(run(x, y), expected):
                np.testing.assert_allclose(got, wanted, 1e-12)

    def test_custom_gradients_may_loop_and_call(self):
        x = weft.tensor(np.array([0.3, 0.5, 0.7]))
        w = weft.tensor(np.arange(9.0).reshape(3, 3) * 0.1)

        def loop(x, w):
            return weft.while_loop(
                lambda c: c[1] < 2,
                lambda c: (weft.sin(c[0]) @ w, c[1] + 1),
                (x, weft.tensor(0)),
            )[0]

        def scan(x, w):
            return weft.scan(lambda c, row: (weft.sin(c * row), c), x, w)[0]

        def call(x, w):
            return weft.jit(lambda x, w: weft.sin(x @ w))(x, w)

        for f in (loop, scan, call):

            def forward(*arguments, f=f):
                return f(*arguments), arguments

            def backward(saved, dy, f=f):
                return weft.vjp(f, *saved)[1](dy)

            own = weft.custom_gradient(forward, backward)
            expected = weft.grad(lambda x, w: f(x, w).sum(), (0, 1))(x, w)
            loss = lambda x, w: own(x, w).sum()
            for run in (
                weft.grad(loss, (0, 1)),
                weft.jit(weft.grad(loss, (0, 1))),
                weft.grad(weft.jit(loss), (0, 1)),
            ):
                for got, wanted in zip(run(x, w), expected):
                    np.testing.assert_allclose(got, wanted, 1e-9, 1e-12)

    def test_shared_results_have_gradients_from_all_instances(self):
        rows = weft.tensor(np.array([[0.5, 1.0], [2.0, -1.0], [0.25, 4.0]]))
        w = weft.tensor(np.array([3.0, -2.0]))

        # The instances share the second result.
        def body(row, w):
            return weft.sin(row) * w, w * w

        def forward(*arguments):
            return body(*arguments), arguments

        def backward(saved, seeds):
            return weft.vjp(body, *saved)[1](seeds)

        def gradients(f):
            def loss(rows, w):
                def one(row):
                    a, b = f(row, w)
                    return (a + b * row).sum()

                return weft.vmap(one)(rows).sum()

            return weft.grad(loss, (0, 1))(rows, w)

        expected = gradients(body)
        for f in (weft.remat(body), weft.custom_gradient(forward, backward)):
            for got, wanted in zip(gradients(f), expected):
                np.testing.assert_allclose(got, wanted, 1e-12)

    def test_a_custom_gradient_may_read_what_its_function_does_not(self):
        rows = weft.tensor(np.array([[0.5, 1.0], [2.0, -1.0], [0.25, 4.0]]))
        w = weft.tensor(np.array([3.0, -2.0]))

        def loss(w):
            def one(row):
                own = weft.custom_gradient(
                    lambda w: (w * w, w), lambda w, dy: dy * w * row
                )
                return own(w).sum()

            return weft.vmap(one)(rows).sum()

        for run in (weft.grad(loss), weft.jit(weft.grad(loss))):
            np.testing.assert_allclose(
                run(w), w.numpy() * rows.numpy().sum(axis=0), 1e-12
            )

    def test_the_program_is_called_by_gradients_that_are_asked_for(self):
        x = weft.tensor(np.array([0.1, 0.2]))
        vector = weft.TensorType("f64", [2])
        told = []

        def tell(dy):
            told.append(np.array(dy).tolist())
            return np.array(dy)

        own = weft.custom_gradient(
            lambda x: (x * 3.0, x),
            lambda x, dy: weft.host_func(tell, dy * 3.0, results=vector),
        )

        def around(x):
            return weft.fori_loop(0, 1, lambda i, c: c * own(x), x).sum()

        weft.jit(own)(x)
        self.assertEqual(told, [])

        @weft.jit
        def shown(x):
            y = own(x)
            weft.host_func(tell, y, results=vector)
            return y

        shown(x)
        self.assertEqual(told, [(x * 3.0).tolist()])
        for loss, factors in ((lambda x: own(x).sum(), 1.0), (around, x)):
            for run in (weft.jit(weft.grad(loss)), weft.grad(weft.jit(loss))):
                told.clear()
                run(x)
                self.assertEqual(told, [(x * 0.0 + factors * 3.0).tolist()])

    def test_remat_draws_alike(self):
        layer = weft.nn.Dropout(0.5)
        x = weft.tensor(np.ones(64, np.float32))

        def loss(x):
            return (weft.remat(layer)(x) * x).sum()

        with weft.nn.random_key(weft.tensor([7, 0])):
            value, gradient = weft.jit(weft.value_and_grad(loss))(x)
        # Each element that is kept counts twice, by 2.
        self.assertEqual(set(gradient.numpy().tolist()), {0.0, 4.0})
        self.assertEqual(float(value), gradient.numpy().sum() / 2)


if __name__ == "__main__":
    unittest.main()
