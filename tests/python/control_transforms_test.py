"""jvp, vjp and both of both through loops, branches and recursion."""

import unittest

import numpy as np

import weft


def looped(x):
    return weft.while_loop(
        lambda s: s[1] < 3,
        lambda s: (weft.sin(s[0]) * s[0], s[1] + 1),
        (x, weft.tensor(0)),
    )[0]


def until(x):
    """How often it runs depends on what it computes."""
    return weft.while_loop(
        lambda s: (s * s).sum() < 30.0, lambda s: s * s + s, x
    )


def scanned(x):
    """Carries, rows that go in, and rows that come out all depend on x."""
    rows = weft.stack([x, x * x, weft.exp(x)])
    carry, ys = weft.scan(lambda c, row: (c * weft.sin(row), c * c), x, rows)
    return carry + (ys * ys).sum(0)


def branched(x):
    return weft.cond(
        x.sum() > 1.5, lambda: weft.exp(x) * x, lambda: weft.sin(x)
    )


def nested(x):
    def body(s):
        y, i = s
        z, _ = weft.scan(
            lambda c, r: (c * weft.cos(r * y), r),
            y,
            weft.tensor([0.5, 0.7], "f64"),
        )
        return (
            weft.cond(i % 2 == 0, lambda: z * y, lambda: weft.tanh(z) + y),
            i + 1,
        )

    return weft.while_loop(lambda s: s[1] < 4, body, (x, weft.tensor(0)))[0]


VECTOR = weft.TensorType("f64", (2,))


@weft.jit(results=[VECTOR])
def tree(x, depth):
    """Two calls of itself; all of them read x."""
    return weft.cond(
        depth == 0,
        lambda: x,
        lambda: weft.sin(tree(x, depth - 1)) * tree(x * 0.5, depth - 1) + x,
    )


@weft.jit(results=[VECTOR])
def even(x, n):
    return weft.cond(n == 0, lambda: x, lambda: odd(weft.sin(x) * x, n - 1))


@weft.jit(results=[VECTOR])
def odd(x, n):
    return weft.cond(n == 0, lambda: x * x, lambda: even(weft.exp(-x), n - 1))


FUNCTIONS = {
    "while": looped,
    "while, by value": until,
    "scan": scanned,
    "cond": branched,
    "nested": nested,
    "recursion": lambda x: tree(x, weft.tensor(3)),
    "mutual recursion": lambda x: even(x, weft.tensor(3)),
}


def forward_over_reverse(f, x, v):
    return weft.jvp(weft.grad(f), (x,), (v,))[1]


def reverse_over_forward(f, x, v):
    return weft.grad(lambda x: weft.jvp(f, (x,), (v,))[1])(x)


def reverse_over_reverse(f, x, v):
    return weft.grad(lambda x: (weft.grad(f)(x) * v).sum())(x)


class ControlTransforms(unittest.TestCase):
    def of_each(self, check):
        for name, function in FUNCTIONS.items():
            for values in ([0.3, 0.8], [1.3, 0.9]):
                with self.subTest(name, x=values):
                    check(
                        function,
                        weft.tensor(values, "f64"),
                        weft.tensor([0.7, -0.4], "f64"),
                    )

    def test_jvp_is_the_derivative(self):
        def check(f, x, v):
            step = 1e-6
            high, low = f(x + v * step).numpy(), f(x - v * step).numpy()
            expected = (high - low) / (2 * step)
            push = lambda f: lambda x, v: weft.jvp(f, (x,), (v,))
            for way in (
                push(f),
                push(weft.jit(f)),
                weft.jit(push(f)),
                weft.jit(push(weft.jit(f))),
            ):
                value, moved = way(x, v)
                np.testing.assert_allclose(
                    value.numpy(), f(x).numpy(), 1e-13
                )
                np.testing.assert_allclose(moved.numpy(), expected, 1e-7, 1e-8)

        self.of_each(check)

    def test_vjp_is_its_transpose(self):
        def check(f, x, v):
            seed = weft.tensor([0.6, 1.1], "f64")
            for way in (f, weft.jit(f)):
                _, pull = weft.vjp(way, x)
                moved = weft.jvp(way, (x,), (v,))[1]
                self.assertAlmostEqual(
                    float((pull(seed)[0] * v).sum()),
                    float((moved * seed).sum()),
                    10,
                )

        self.of_each(check)

    def test_hessian(self):
        def check(f, x, v):
            loss = lambda x: (f(x) * weft.tensor([1.0, 0.5], "f64")).sum()
            step = 1e-5
            slope = weft.grad(loss)
            high, low = slope(x + v * step), slope(x - v * step)
            expected = (high.numpy() - low.numpy()) / (2 * step)
            for product in (
                forward_over_reverse,
                reverse_over_forward,
                reverse_over_reverse,
            ):
                whole = weft.jit(lambda x, v: product(loss, x, v))
                for got in (
                    product(loss, x, v),
                    product(weft.jit(loss), x, v),
                    whole(x, v),
                ):
                    with self.subTest(product.__name__):
                        np.testing.assert_allclose(
                            got.numpy(), expected, 1e-6, 1e-7
                        )

        self.of_each(check)

    def test_third_derivatives(self):
        def along(f):
            return lambda x: weft.jvp(f, (x,), (weft.ones_like(x),))[1]

        for f in (looped, scanned):
            x = weft.tensor([0.3, 0.8], "f64")
            second = along(along(f))
            step = 1e-5
            expected = (
                second(x + step).numpy() - second(x - step).numpy()
            ) / (2 * step)
            got = weft.jit(along(second))(x)
            np.testing.assert_allclose(got.numpy(), expected, 1e-6)

    def test_vmap_is_a_loop(self):
        xs = np.array([[0.3, 0.8], [1.3, 0.9], [0.2, 0.1]])
        seed = weft.tensor([1.0, 0.5], "f64")
        for name, f in FUNCTIONS.items():
            loss = lambda x: (f(x) * seed).sum()  # noqa: B023, E731
            slope = weft.grad(loss)
            along = lambda x: weft.jvp(f, (x,), (seed,))[1]  # noqa: B023, E731
            for way in (f, slope, along):
                expected = [way(weft.tensor(x)).numpy() for x in xs]
                for mapped in (
                    weft.vmap(way),
                    weft.jit(weft.vmap(way)),
                    weft.vmap(weft.jit(way)),
                ):
                    with self.subTest(name):
                        got = mapped(weft.tensor(xs)).numpy()
                        np.testing.assert_allclose(got, expected, 1e-12)
            # And the gradient of what was mapped.
            total = weft.grad(lambda xs: (weft.vmap(f)(xs) * seed).sum())  # noqa: B023
            expected = [slope(weft.tensor(x)).numpy() for x in xs]
            for way in (total, weft.jit(total)):
                with self.subTest(name):
                    got = way(weft.tensor(xs)).numpy()
                    np.testing.assert_allclose(got, expected, 1e-12)

    def test_vmap_of_second_derivatives_of_a_loop_with_captures(self):
        random = np.random.default_rng(5)
        rows = weft.tensor(random.uniform(-1, 1, (3, 2)))
        factors = weft.tensor(random.uniform(-1, 1, (3, 2)))

        def loop(x, y):
            return weft.while_loop(
                lambda c: c[1] < 2,
                lambda c: (weft.sin(c[0]) * y, c[1] + 1),
                (x, weft.tensor(0)),
            )[0]

        def slope(x, y):
            return weft.grad(lambda x: weft.sin(loop(x, y)).sum())(x)

        second = weft.grad(lambda x, y: slope(x, y).sum(), (0, 1))
        for got, *wanted in zip(
            weft.vmap(second)(rows, factors),
            *(second(rows[i], factors[i]) for i in range(3)),
        ):
            np.testing.assert_allclose(got, np.stack(wanted), 1e-9, 1e-12)

    def test_instances_go_to_depths_of_their_own(self):
        number, whole = weft.TensorType("f64"), weft.TensorType("i64")

        @weft.jit(input_signature=[number, whole], results=[number])
        def power(x, n):
            # For an instance that has ended, n - 1 would go down for ever.
            return weft.cond(
                n == 0, lambda: weft.ones_like(x), lambda: x * power(x, n - 1)
            )

        @weft.jit(input_signature=[whole], results=[whole])
        def fib(n):
            return weft.cond(n < 2, lambda: n, lambda: fib(n - 1) + fib(n - 2))

        x = weft.tensor([2.0, 3.0, 5.0, 7.0], "f64")
        n = weft.tensor([0, 3, 1, 6])
        np.testing.assert_array_equal(
            weft.vmap(power)(x, n).numpy(), [1, 27, 5, 7**6]
        )
        slope = weft.vmap(weft.grad(power))
        np.testing.assert_allclose(
            slope(x, n).numpy(), [0, 27, 1, 6 * 7**5], 1e-13
        )
        # One x, and many depths.
        np.testing.assert_array_equal(
            weft.vmap(power, (None, 0))(x[1], n).numpy(), [1, 27, 3, 729]
        )
        np.testing.assert_array_equal(
            weft.vmap(fib)(weft.tensor([0, 10, 3, 7])).numpy(), [0, 55, 2, 13]
        )
        # Instances of instances.
        table = weft.vmap(lambda x: weft.vmap(lambda n: power(x, n))(n))(x)
        np.testing.assert_array_equal(
            table.numpy(), x.numpy()[:, None] ** n.numpy()
        )

    def test_what_instances_share_is_computed_once(self):
        """A branch and a loop that no mapped value decides stay what they are."""
        w = weft.tensor(np.arange(6.0).reshape(2, 3))

        def f(x, w, n):
            y = weft.while_loop(lambda s: s[1] < n, lambda s: (s[0] * 2.0, s[1] + 1),
                                (w, weft.tensor(0)))[0]
            return weft.cond(n > 2, lambda: x @ y, lambda: x @ (y + 1.0))

        xs = weft.tensor(np.arange(8.0).reshape(4, 2))
        mapped = weft.jit(weft.vmap(f, (0, None, None)))
        for n in (1, 3):
            expected = xs.numpy() @ (w.numpy() * 2**n + (0 if n > 2 else 1))
            got = mapped(xs, w, weft.tensor(n))
            np.testing.assert_array_equal(got.numpy(), expected)
        text = str(mapped.graph(xs, w, weft.tensor(1)))
        self.assertIn("while(", text)
        self.assertIn("cond(", text)
        self.assertNotIn("any(", text)

    def test_a_gradient_that_nothing_reads_is_not_waited_for(self):
        def f(x):
            value, pull = weft.vjp(looped, x)
            pull(value)
            return value

        x = weft.tensor([0.3, 0.8], "f64")
        np.testing.assert_array_equal(
            weft.jit(f)(x).numpy(), looped(x).numpy()
        )


if __name__ == "__main__":
    unittest.main()
