"""Branches, loops and host callbacks, at once and staged."""

import itertools
import unittest

import numpy as np

import weft


class Control(unittest.TestCase):
    def both(self, f, *arguments):
        eager, staged = f(*arguments), weft.jit(f)(*arguments)
        np.testing.assert_allclose(np.asarray(eager), np.asarray(staged))
        return eager

    def test_cond(self):
        def f(x):
            return weft.cond(x > 0, lambda: x * 2, lambda: x - 1)

        self.assertEqual(self.both(f, weft.tensor(3.0)).item(), 6)
        self.assertEqual(self.both(f, weft.tensor(-3.0)).item(), -4)

    def test_switch(self):
        def f(i, x):
            return weft.switch(
                i, [lambda x: x, lambda x: x * 2, lambda x: -x], x
            )

        x = weft.tensor(3.0)
        for i, expected in enumerate((3, 6, -3)):
            self.assertEqual(self.both(f, weft.tensor(i), x).item(), expected)
        slope = weft.jit(weft.grad(f, 1))
        self.assertEqual(slope(weft.tensor(1), x).item(), 2)
        moved = weft.jit(lambda i, x, v: weft.jvp(lambda x: f(i, x), (x,), (v,))[1])
        self.assertEqual(moved(weft.tensor(2), x, x).item(), -3)
        many = weft.vmap(f, (0, None))(weft.tensor([2, 0, 1]), x)
        self.assertEqual(many.tolist(), [-3, 3, 6])
        for i in (-1, 3):
            with self.assertRaisesRegex(weft.Error, f"no branch {i} of 3"):
                f(weft.tensor(i), x)
        # What a function computes is clamped, as other indices are.
        self.assertEqual(weft.jit(f)(weft.tensor(7), x).item(), -3)
        with self.assertRaisesRegex(weft.Error, "which of one or more"):
            weft.switch(weft.tensor(0.5), [lambda: x])

    def test_cond_operands_and_structures(self):
        f = weft.jit(
            lambda x, y: weft.cond(
                x > y,
                lambda a, b: {"m": a, "n": 1.0},
                lambda a, b: {"m": b, "n": 2.0},
                x,
                y,
            )
        )
        result = f(weft.tensor(1.0), weft.tensor(5.0))
        self.assertEqual((result["m"].item(), result["n"].item()), (5, 2))
        bad = weft.jit(lambda x: weft.cond(x > 0, lambda: x, lambda: (x, x)))
        with self.assertRaisesRegex(weft.Error, "different structures"):
            bad(weft.tensor(1.0))

    def test_while_loop(self):
        def f(n):
            state = weft.while_loop(
                lambda s: s["i"] < n,
                lambda s: {
                    "i": s["i"] + 1,
                    "product": s["product"] * (s["i"] + 1),
                },
                {"i": weft.tensor(0.0), "product": 1.0},
            )
            return state["product"]

        self.assertEqual(self.both(f, weft.tensor(5.0)).item(), 120)

    def test_loops_keep_the_types_of_what_they_carry(self):
        def widened(x):
            return weft.while_loop(
                lambda s: s[1] < 2,
                lambda s: (s[0].astype("f64"), s[1] + 1),
                (x, weft.tensor(0)),
            )

        def grown(x):
            return weft.scan(
                lambda c, row: (weft.concatenate([c, c]), row), x, weft.ones(3)
            )

        for loop, reason in (
            (widened, r"f32\[2\], but becomes f64\[2\]"),
            (grown, r"f32\[2\], but becomes f32\[4\]"),
        ):
            for way in (loop, weft.jit(loop)):
                with self.assertRaisesRegex(weft.InvalidArgument, reason):
                    way(weft.ones(2))

    def test_fori_loop(self):
        def product(lower, upper, x):
            return weft.fori_loop(
                lower, upper, lambda i, c: (c[0] * x, c[1] + i), (x, 0)
            )

        x = weft.tensor(2.0)
        for way in (product, weft.jit(product)):
            power, total = way(2, weft.tensor(5), x)
            self.assertEqual((power.item(), total.item()), (16, 9))
            self.assertEqual(way(5, 2, x)[0].item(), 2)
            slope = weft.grad(lambda x: way(0, 3, x)[0])
            self.assertEqual(slope(x).item(), 32)

    def test_scan(self):
        def f(x):
            total, sums = weft.scan(
                lambda c, row: (c + row, c + row), weft.zeros(2), x
            )
            return weft.concatenate([sums, weft.expand_dims(total, 0)])

        x = np.arange(6, dtype=np.float32).reshape(3, 2)
        wanted = np.cumsum(x, 0)
        self.assertEqual(
            self.both(f, weft.tensor(x)).tolist(),
            [*wanted.tolist(), wanted[-1].tolist()],
        )

    def test_associative_scan_is_a_scan(self):
        # The lines a x + b, one after another, do not commute.
        def behind(first, second):
            return first[0] * second[0], second[0] * first[1] + second[1]

        random = np.random.default_rng(0)
        for size, reverse in itertools.product((0, 1, 2, 3, 4, 7, 16, 33), (0, 1)):
            a, b = random.uniform(-1, 1, (2, 3, size))

            def prefixes(a, b, reverse=reverse):
                return weft.associative_scan(behind, (a, b), 1, bool(reverse))

            wanted = [a.copy(), b.copy()]
            order = range(size)[::-1] if reverse else range(size)
            for last, n in zip(order, order[1:]):
                line = [x[:, last] for x in wanted]
                wanted[0][:, n] = line[0] * a[:, n]
                wanted[1][:, n] = a[:, n] * line[1] + b[:, n]
            found = self.both(prefixes, weft.tensor(a), weft.tensor(b))
            self.assertIsInstance(found, tuple)
            np.testing.assert_allclose(found, wanted, atol=1e-12)

    def test_associative_scan_has_the_derivative_of_a_scan(self):
        x = weft.tensor(np.random.default_rng(0).uniform(0.5, 1.5, 6))
        slopes = [
            weft.grad(lambda x, f=f: (f(x) * weft.arange(6).cast("f64")).sum())(x)
            for f in (
                lambda x: weft.associative_scan(weft.multiply, x),
                weft.cumprod,
            )
        ]
        np.testing.assert_allclose(*slopes, rtol=1e-12)
        together = weft.vmap(lambda x: weft.associative_scan(weft.maximum, x))
        rows = [[1, 3, 2], [5, 4, 6]]
        self.assertEqual(together(weft.tensor(rows)).tolist(), [[1, 3, 3], [5, 5, 6]])
        with self.assertRaisesRegex(weft.Error, r"axis differ: \[2, 3\]"):
            weft.associative_scan(lambda a, b: a, (weft.ones(2), weft.ones(3)))

    def test_scan_keeps_the_sign_of_zero(self):
        def negated(rows):
            return weft.scan(lambda c, row: (c, -row), weft.tensor(0.0), rows)[1]

        for run in (negated, weft.jit(negated)):
            rows = np.asarray(run(weft.zeros((3, 2))))
            self.assertTrue(np.signbit(rows).all())

    def test_scan_without_outputs(self):
        total, nothing = weft.scan(
            lambda c, row: (c + row, None), weft.tensor(0.0), weft.ones(4)
        )
        self.assertEqual((total.item(), nothing), (4, None))

    def test_host_func(self):
        calls = []

        def cube(x):
            calls.append(1)
            return x * x * x

        @weft.jit
        def f(x):
            return weft.host_func(cube, x, results=weft.TensorType("f32")) + 1

        self.assertEqual(
            [f(weft.tensor(2.0)).item() for _ in range(3)], [9, 9, 9]
        )
        self.assertEqual((len(calls), f.trace_count), (3, 1))
        self.assertEqual(weft.grad(f)(weft.tensor(2.0)).item(), 12)

    def test_host_func_for_its_effect(self):
        seen = []

        @weft.jit
        def f(x):
            weft.host_func(
                lambda y: (seen.append(y.item()), y)[1],
                x * 2,
                results=weft.TensorType("f32"),
            )
            return x + 1

        self.assertEqual([f(weft.tensor(v)).item() for v in (1.0, 2.0)], [2, 3])
        self.assertEqual(seen, [2, 4])

    def test_assigning_in_a_branch_says_how(self):
        v = weft.Variable(0.0, name="v")

        @weft.jit
        def f(x):
            def then():
                v.assign(x)
                return x

            return weft.cond(x > 0, then, lambda: x)

        with self.assertRaisesRegex(
            weft.Error, r"(?s)'v' is assigned in a branch.*assign it outside"
        ):
            f(weft.tensor(1.0))

    def test_gradients_of_control_flow(self):
        w = weft.Variable(3.0)

        def branch(x):
            return weft.cond(x > 0, lambda: x * x * w, lambda: -x * w)

        def loop(x):  # x w^4
            state = weft.while_loop(
                lambda s: s[0] < 4,
                lambda s: (s[0] + 1, s[1] * w.read()),
                (weft.tensor(0), x),
            )
            return state[1]

        def scanned(x):  # x (1 + w + w^2 + w^3)
            _, powers = weft.scan(
                lambda c, _: (c * w.read(), c), x, weft.zeros(4)
            )
            return powers.sum()

        number = weft.TensorType("f32")

        @weft.jit(results=[number])
        def power(x, n):  # x w^n
            return weft.cond(
                n <= 0, lambda: x, lambda: power(x, n - 1) * w.read()
            )

        def recursion(x):
            return power(x, weft.tensor(4))

        wanted = {  # by x at 2, by w; then by w and w
            branch: (12, 4, 0),
            loop: (81, 2 * 4 * 27, 2 * 12 * 9),
            scanned: (40, 2 * (1 + 6 + 27), 2 * (2 + 18)),
            recursion: (81, 2 * 4 * 27, 2 * 12 * 9),
        }
        for f, (by_x, by_w, by_w_w) in wanted.items():
            for wrap in (lambda f: f, weft.jit):
                name = f"{f.__name__}, {'staged' if wrap is weft.jit else 'eager'}"
                x = weft.tensor(2.0)
                found = wrap(lambda x: weft.grad(f)(x))(x)
                self.assertAlmostEqual(found.item(), by_x, 3, name)
                found = wrap(lambda x: weft.grad(f, wrt=w)(x))(x)
                self.assertAlmostEqual(found.item(), by_w, 3, name)
                # A tape outside of the staged function.
                found = weft.grad(wrap(f), wrt=w)(x)
                self.assertAlmostEqual(found.item(), by_w, 3, name)
                slope = weft.grad(wrap(f), wrt=w)
                found = weft.grad(lambda x: slope(x), wrt=w)(x)
                self.assertAlmostEqual(found.item(), by_w_w, 3, name)

    def test_host_func_errors(self):
        def fail(x):
            raise KeyError("host")

        f = weft.jit(
            lambda x: weft.host_func(fail, x, results=weft.TensorType("f32"))
        )
        with self.assertRaisesRegex(KeyError, "host"):
            f(weft.tensor(1.0))
        g = weft.jit(
            lambda x: weft.host_func(
                lambda y: [y, y], x, results=[weft.TensorType("f32")]
            )
        )
        with self.assertRaisesRegex(
            weft.Error, "something else than was declared"
        ):
            g(weft.tensor(1.0))


if __name__ == "__main__":
    unittest.main()
