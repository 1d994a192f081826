"""Tensors: operators, functions and methods under NumPy's names, indexing."""

import operator
import os
import subprocess
import sys
import threading
import unittest

import numpy as np

import weft


class Operators(unittest.TestCase):
    def test_as_numpy(self):
        a = np.array([[1.5, -2.0], [3.0, 4.0]], np.float32)
        b = np.array([2.0, 0.5], np.float32)
        names = "add sub mul truediv pow lt le gt ge eq ne".split()
        for name in names:
            compute = getattr(operator, name)
            for x, y in ((np.abs(a), b), (np.abs(a), 2.0), (2, b)):
                wanted = compute(x, y)
                mine = compute(
                    weft.tensor(x) if isinstance(x, np.ndarray) else x,
                    weft.tensor(y) if isinstance(y, np.ndarray) else y,
                )
                np.testing.assert_allclose(np.asarray(mine), wanted, rtol=1e-6)
        np.testing.assert_allclose(weft.tensor(a) @ weft.tensor(a), a @ a)
        np.testing.assert_allclose(-weft.tensor(a), -a)

    def test_products_of_vectors_as_numpy(self):
        shapes = ((3,), (3, 3), (2, 3, 3), (0,), (0, 3), (3, 0), (1,))
        arrays = [
            np.arange(1.0, 1 + np.prod(shape)).reshape(shape)
            for shape in shapes
        ]
        for a in arrays:
            for b in arrays:
                try:
                    expected = a @ b
                except ValueError:
                    with self.assertRaises(weft.InvalidArgument):
                        weft.tensor(a) @ weft.tensor(b)
                    continue
                for got in (
                    weft.tensor(a) @ b,
                    a @ weft.tensor(b),
                    weft.matmul(a, b),
                    weft.jit(lambda a, b: a @ b)(a, b),
                ):
                    np.testing.assert_array_equal(got.numpy(), expected)

    def test_arrays_on_the_left(self):
        result = np.ones(2, np.float32) + weft.tensor([1.0, 2.0])
        self.assertIsInstance(result, weft.Tensor)
        self.assertEqual(result.tolist(), [2, 3])

    def test_numbers_take_the_dtype(self):
        self.assertEqual((weft.tensor([1, 2]) * 3).dtype, "i64")
        self.assertEqual((weft.tensor([1.0], "f64") * 0.1).item(), 0.1)
        self.assertEqual((np.sqrt(4.0) * weft.tensor([1.0])).dtype, "f32")
        self.assertEqual((weft.tensor([1, 2]) * 0.5).tolist(), [0.5, 1])

    def test_quotients_of_integers(self):
        self.assertEqual((weft.tensor([1, -3]) / 2).tolist(), [0.5, -1.5])

    def test_bits_and_whole_quotients(self):
        names = "and_ or_ xor lshift rshift floordiv mod".split()
        a = np.array([[5, -7], [12, 100]], np.int32)
        b = np.array([3, 2], np.int32)
        held = weft.Variable(a)
        for name in names:
            compute = getattr(operator, name)
            for x, y in ((a, b), (a, 3), (20, b)):
                wanted = compute(x, y)
                mine = compute(
                    weft.tensor(x) if isinstance(x, np.ndarray) else x,
                    weft.tensor(y) if isinstance(y, np.ndarray) else y,
                )
                self.assertEqual(mine.dtype, "i32", name)
                self.assertEqual(mine.tolist(), wanted.tolist(), name)
            self.assertEqual(
                compute(held, weft.tensor(b)).tolist(), compute(a, b).tolist()
            )
        self.assertEqual((~weft.tensor(a)).tolist(), (~a).tolist())
        x = np.array([7.5, -7.5, 1.0], np.float32)
        self.assertEqual((weft.tensor(x) // 2).tolist(), (x // 2).tolist())
        self.assertEqual((weft.tensor(x) % -2).tolist(), (x % -2).tolist())
        self.assertEqual((10 % weft.tensor(x)).tolist(), (10 % x).tolist())

    def test_logic_of_bools(self):
        a, b = np.array([[True], [False]]), np.array([True, False])
        x, y = weft.tensor(a), weft.tensor(b)
        self.assertEqual((x & y).tolist(), (a & b).tolist())
        self.assertEqual((x | y).tolist(), (a | b).tolist())
        self.assertEqual((x ^ True).tolist(), (a ^ True).tolist())
        self.assertEqual((~x).tolist(), (~a).tolist())
        with self.assertRaisesRegex(weft.Error, "integers or bool, got f32"):
            weft.tensor([1.0]) & weft.tensor([2.0])

    def test_foreign_operand(self):
        with self.assertRaises(TypeError):
            weft.tensor([1.0]) + object()
        self.assertFalse(weft.tensor([1.0]) == "text")

    def test_reductions_as_numpy(self):
        x = np.arange(24, dtype=np.float32).reshape(2, 3, 4) / 7
        for name in "sum mean max min std var".split():
            for axis in (None, 0, -1, (0, 2)):
                for keepdims in (False, True):
                    mine = getattr(weft, name)(x, axis=axis, keepdims=keepdims)
                    wanted = getattr(np, name)(x, axis=axis, keepdims=keepdims)
                    np.testing.assert_allclose(mine, wanted, rtol=1e-5)

    def test_methods(self):
        x = weft.tensor([1.0, 4.0])
        self.assertEqual(x.sqrt().tolist(), [1, 2])
        self.assertEqual(x.sum(axis=0, keepdims=True).tolist(), [5])
        self.assertEqual(x.max().item(), 4)
        self.assertEqual(x.astype("i64").dtype, "i64")
        self.assertEqual(x.reshape(2, 1).transpose().shape, (1, 2))

    def test_shapes_as_numpy(self):
        x = np.arange(6, dtype=np.float32).reshape(2, 3)
        y = weft.tensor(x)
        self.assertEqual(weft.reshape(y, (3, -1)).shape, (3, 2))
        self.assertEqual(y.reshape(-1).tolist(), x.reshape(-1).tolist())
        self.assertEqual(y.reshape(np.int64(-1), np.int32(2)).shape, (3, 2))
        with self.assertRaises(OverflowError):
            y.reshape(10**30)
        self.assertEqual(y.T.tolist(), x.T.tolist())
        self.assertEqual(
            weft.concatenate([y, y], 1).tolist(),
            np.concatenate([x, x], 1).tolist(),
        )
        self.assertEqual(
            weft.stack([y, y], 1).tolist(), np.stack([x, x], 1).tolist()
        )
        self.assertEqual(weft.expand_dims(y, -1).shape, (2, 3, 1))
        self.assertEqual(
            weft.squeeze(weft.expand_dims(y, 1), 1).tolist(), x.tolist()
        )
        self.assertEqual(
            weft.pad(y, [(1, 0), (0, 2)]).tolist(),
            np.pad(x, [(1, 0), (0, 2)]).tolist(),
        )
        self.assertEqual(weft.pad(y, np.int64(1)).shape, (4, 5))
        self.assertEqual(
            [part.shape for part in weft.split(y[:0], 3)], [(0, 3)] * 3
        )
        self.assertEqual(
            weft.where(y > 2, y, 0).tolist(), np.where(x > 2, x, 0).tolist()
        )
        self.assertEqual(weft.where(y > 2, 1.0, 0).dtype, "f32")

    def same(self, name, *arguments, **keywords):
        # What NumPy makes of arrays, Weft makes of tensors: dtype and all.
        def as_tensors(tree):
            if isinstance(tree, np.ndarray):
                return weft.tensor(tree)
            return [as_tensors(x) for x in tree] if type(tree) is list else tree

        wanted = getattr(np, name)(*arguments, **keywords)
        found = getattr(weft, name)(*map(as_tensors, arguments), **keywords)
        if not isinstance(wanted, list):
            wanted, found = [wanted], [found]
        self.assertEqual(len(found), len(wanted))
        for ours, theirs in zip(found, wanted):
            said = f"{name}{arguments[1:]}{keywords}"
            ours = np.asarray(ours)
            self.assertEqual(ours.shape, theirs.shape, said)
            self.assertEqual(ours.dtype, theirs.dtype, said)
            np.testing.assert_array_equal(ours, theirs, said)

    def test_functions_mean_what_numpys_do(self):
        rng = np.random.default_rng(3)
        x = rng.permutation(24).reshape(2, 3, 4).astype(np.float32)
        whole = rng.integers(0, 4, (4, 6))
        for axis in (0, 1, -1, None):
            for name in ("sort", "argmax", "argmin", "cumsum", "any", "all"):
                self.same(name, x, axis=axis)
            self.same("sort", whole, axis=axis)
            self.same("cumprod", whole, axis=axis)
            self.same("take", x, np.array([1, 0]), axis=axis)
            self.same("concatenate", [x, x], axis=axis)
            self.same("argmax", x, axis=axis, keepdims=True)
            self.same("argsort", x, axis=axis)
            np.testing.assert_array_equal(  # equal ones keep their order
                weft.argsort(whole, axis=axis),
                np.argsort(whole, axis=axis, kind="stable"),
            )
        self.same("sort", x)
        self.same("argsort", x)
        for cuts in (2, 1, [1, 3], [2], [], [3, 1], [-1], [5, 9]):
            self.same("split", x, cuts, axis=2)
        self.same("split", whole, 2)
        self.same("split", whole, [1, 2])
        for axis in (None, 0, -1, (0, 2)):
            self.same("squeeze", x.reshape(1, 24, 1), axis=axis)
        self.same("squeeze", x)
        for bounds in ((2, 9), (None, 5.5), (5, None)):
            self.same("clip", x, *bounds)
        self.same("clip", x, x[0], 20)
        self.same("clip", whole, 1, 2)
        for shape in (2, (2,), (2, 1), (2, 1, 2, 1)):
            self.same("tile", whole, shape)
        self.same("full", (2, 3), 7)
        self.same("full", 2, True)
        self.same("pad", x, 1)
        self.same("pad", x, (1, 2))
        self.same("pad", x, ((1, 2),))
        self.same("pad", whole, ((1, 0), (0, 2)))

    def test_rounding_and_truth_as_numpy(self):
        x = np.array([-2.5, -0.125, 0.5, 1.25, 1.5, np.inf, np.nan], "f4")
        for decimals in (0, 1, 2, -1):
            self.same("round", x, decimals)
        self.same("round", np.array([1, -2]))
        for name in "rint ceil isfinite isinf isnan any all".split():
            self.same(name, x)
        self.same("any", np.zeros((2, 0)), axis=1)
        self.same("all", np.zeros((2, 0)), axis=1, keepdims=True)
        self.same("invert", np.array([True, False]))
        self.same("bitwise_not", np.array([3, -1], np.int8))
        self.assertEqual(weft.tensor([1.5]).round().tolist(), [2])
        self.assertTrue((weft.tensor([1, 2]) > 0).all())
        self.assertFalse(weft.tensor([0, 0]).any())

    def test_whole_numbers_are_rounded_by_integers(self):
        x = np.array([123456789, -123456784, 25, 35, -25, 4, 0, 2**60 + 5])
        for decimals in (-1, -2, -8, -30):
            expected = [int(round(int(n), decimals)) for n in x]
            found = weft.round(weft.tensor(x), decimals)
            self.assertEqual((found.dtype, found.tolist()), ("i64", expected))
        self.assertEqual(
            weft.round(weft.tensor([14, 15, 25], "u8"), -1).tolist(),
            [10, 20, 20],
        )

    def test_sums_of_small_integers_do_not_overflow(self):
        rng = np.random.default_rng(4)
        for dtype in "bool int8 int16 int32 int64".split():
            x = rng.integers(0, 2 if dtype == "bool" else 127, (40, 3))
            x = x.astype(dtype)
            for axis in (None, 0, (0, 1), ()):
                self.same("sum", x, axis=axis)
            self.same("prod", x[:4], axis=0)
            self.same("cumsum", x, axis=0)
            self.same("cumprod", x[:4], axis=0)
            self.same("prod", x[:4], axis=())
        x = np.full(1000, 200, np.uint8)
        self.assertEqual(weft.sum(x).item(), 200_000)
        self.assertEqual((weft.tensor([1, 2, 3]) > 1).sum().item(), 2)

    def test_arange_as_numpy(self):
        for arguments in (
            (5,),
            (0,),
            (-3,),
            (2, 7),
            (7, 2),
            (2, 12, 3),
            (12, 2, -3),
            (2, 3, 5),
        ):
            self.same("arange", *arguments)
            self.same("arange", *arguments, dtype=np.float32)
        for arguments in ((2.5,), (0, 1, 0.1), (1, -1, -0.25), (0.5, 4)):
            self.same("arange", *arguments, dtype=np.float64)
            np.testing.assert_allclose(
                weft.arange(*arguments),
                np.arange(*arguments, dtype=np.float32),
                rtol=1e-6,
                atol=1e-7,
            )
        rows = weft.jit(
            lambda x: weft.arange(x.shape[0]) + weft.arange(1, x.shape[0] + 1),
            input_signature=[weft.TensorType("f32", ("N",))],
        )
        self.assertEqual(rows(weft.ones(3)).tolist(), [1, 3, 5])

    def test_numpys_functions_refuse_what_numpy_does(self):
        x = weft.ones((2, 3))
        for refused in (
            lambda: weft.split(x, 2, axis=1),
            lambda: weft.split(x, 0),
            lambda: weft.squeeze(x, 0),
            lambda: weft.squeeze(x, 5),
            lambda: weft.sort(x, axis=2),
            lambda: weft.clip(x, None, None),
            lambda: weft.arange(1, 5, 0),
        ):
            with self.assertRaises(weft.InvalidArgument) as caught:
                refused()
            self.assertEqual(caught.exception.code, "invalid argument")

    def test_gradients_pass_them(self):
        x = np.array([[3.0, 1.0, 2.0], [6.0, 5.0, 4.0]])
        weights = np.arange(6.0).reshape(2, 3)
        found = weft.grad(lambda t: (weft.sort(t, axis=0) * weights).sum())(x)
        self.assertEqual(found.tolist(), weights.tolist())
        found = weft.grad(
            lambda t: weft.split(t, [1], axis=1)[1].sum()
            + weft.clip(t, 2, weft.tensor(np.full(3, 4.5))).sum()
        )(x)
        self.assertEqual(found[0].tolist()[0], 1)
        self.assertEqual(found[1].tolist(), [0, 1, 2])

    def test_repr(self):
        self.assertEqual(
            repr(weft.tensor([1.0, 2.0])), "Tensor([1., 2.], f32[2])"
        )
        self.assertEqual(
            repr(weft.tensor([1.0]).cast("bf16")), "Tensor([1.], bf16[1])"
        )

    def test_truth(self):
        self.assertTrue(weft.tensor(1.0) > 0)
        with self.assertRaisesRegex(weft.Error, "neither true nor false"):
            bool(weft.tensor([1.0, 2.0]))


class Indexing(unittest.TestCase):
    def test_as_numpy(self):
        x = np.arange(24).reshape(2, 3, 4)
        y = weft.tensor(x)
        keys = [
            1,
            -1,
            (0, 2),
            (0, 2, -1),
            slice(None),
            slice(1, None),
            (slice(None), slice(0, 100, 2)),
            (Ellipsis, 1),
            (1, Ellipsis),
            (None, 0),
            (Ellipsis, None),
            (slice(None), None, -1),
            (slice(-1, None), slice(0, -1)),
            (slice(2, 1),),
            (),
        ]
        for key in keys:
            wanted = x[key]
            self.assertEqual(y[key].shape, wanted.shape, key)
            self.assertEqual(y[key].tolist(), wanted.tolist(), key)

    def test_by_a_tensor(self):
        x = np.arange(12).reshape(3, 4)
        rows = np.array([2, 0])
        y = weft.tensor(x)
        self.assertEqual(y[weft.tensor(rows)].tolist(), x[rows].tolist())
        self.assertEqual(y[:, rows].tolist(), x[:, rows].tolist())
        self.assertEqual(y[weft.tensor(1)].tolist(), x[1].tolist())

    def test_refusals(self):
        y = weft.zeros((2, 3))
        with self.assertRaisesRegex(weft.Error, "too many indices"):
            y[0, 0, 0]
        with self.assertRaisesRegex(weft.InvalidArgument, "integers or bools"):
            y[weft.tensor([0.5])]
        with self.assertRaisesRegex(weft.Unsupported, "True and False"):
            y[True]
        with self.assertRaises(weft.Error):
            y[2]

    def test_iteration(self):
        self.assertEqual(
            [row.tolist() for row in weft.tensor([[1, 2], [3, 4]])],
            [[1, 2], [3, 4]],
        )
        self.assertEqual(len(weft.zeros((5, 2))), 5)
        with self.assertRaises(TypeError):
            len(weft.tensor(1.0))


class Memory(unittest.TestCase):
    def test_it_is_held_and_kept(self):
        before = weft.memory()["held"]
        large = weft.zeros((1 << 22,))
        self.assertGreaterEqual(weft.memory()["held"] - before, 1 << 24)
        del large
        self.assertLess(weft.memory()["held"] - before, 1 << 24)
        self.assertGreaterEqual(weft.memory()["kept"], 1 << 24)


class Threads(unittest.TestCase):
    def test_ops_and_arrays_on_many_threads(self):
        wrong = []

        def work(number):
            for i in range(200):
                array = np.full(50, float(number), np.float32)
                if (weft.tensor(array) * 2).sum().item() != 100 * number:
                    wrong.append(i)

        threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])


    def test_their_number_can_be_set(self):
        before = weft.threads()
        try:
            weft.set_threads(3)
            self.assertEqual(weft.threads(), 3)
            self.assertEqual(weft.ones((64, 64)).sum().item(), 64 * 64)
        finally:
            weft.set_threads(before)
        for count in (0, -1):
            with self.assertRaisesRegex(weft.Error, "compute nothing"):
                weft.set_threads(count)

    def test_they_do_not_spin_long_unless_told_to(self):
        def spins(**environment):
            clean = {
                name: value
                for name, value in os.environ.items()
                if name not in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")
            }
            return subprocess.run(
                [
                    sys.executable,
                    "-c",
                    "import weft, os; print(os.environ.get('GOMP_SPINCOUNT'))",
                ],
                env={**clean, **environment},
                capture_output=True,
                text=True,
                check=True,
            ).stdout.strip()

        self.assertEqual(spins(), "10000")
        self.assertEqual(spins(GOMP_SPINCOUNT="7"), "7")
        self.assertEqual(spins(OMP_WAIT_POLICY="passive"), "None")


class Ops(unittest.TestCase):
    def test_every_entry_has_a_function(self):
        import inspect

        self.assertIn("conv2d", weft.ops.__all__)
        for name in weft.ops.__all__:
            function = getattr(weft.ops, name)
            inspect.signature(function)
            self.assertTrue(function.__doc__)

    def test_attributes_by_keyword(self):
        x = weft.tensor([[1.0, 2.0]])
        self.assertEqual(
            weft.ops.sum(x, axes=[1], keep_dims=True).tolist(), [[3]]
        )
        with self.assertRaisesRegex(weft.Error, "keep_dims"):
            weft.ops.sum(x, keep_dim=True)

    def test_several_results(self):
        values, positions = weft.ops.top_k(weft.tensor([1.0, 3.0, 2.0]), k=2)
        self.assertEqual(
            (values.tolist(), positions.tolist()), ([3, 2], [1, 2])
        )


class Errors(unittest.TestCase):
    def test_text_and_types(self):
        with self.assertRaises(weft.InvalidArgument) as caught:
            weft.zeros((2, 3)) @ weft.zeros((2, 3))
        self.assertIsInstance(caught.exception, ValueError)
        self.assertIsInstance(caught.exception, weft.Error)
        self.assertIsInstance(caught.exception, RuntimeError)
        self.assertIn("matmul", str(caught.exception))
        self.assertIn("f32[2, 3]", str(caught.exception))

    def test_no_tensor(self):
        with self.assertRaisesRegex(weft.Error, "dict is no tensor"):
            weft.exp({})
        with self.assertRaises(weft.Error):
            weft.tensor([[1.0], [2.0, 3.0]])

    def test_unknown_dtype(self):
        with self.assertRaisesRegex(weft.Error, "no dtype 'float31'"):
            weft.zeros(3, "float31")


if __name__ == "__main__":
    unittest.main()
