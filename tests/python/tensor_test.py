"""Tensors: memory shared with NumPy and DLPack, operators, indexing."""

import gc
import operator
import threading
import unittest

import numpy as np

import weft


class Exchange(unittest.TestCase):
    def test_shares_memory_with_numpy_both_ways(self):
        array = np.arange(6, dtype=np.float32).reshape(2, 3)
        tensor = weft.tensor(array)
        back = np.asarray(tensor)
        self.assertTrue(np.shares_memory(array, back))
        array[0, 0] = 7
        self.assertEqual(tensor[0, 0].item(), 7)

    def test_arrays_of_tensors_are_read_only(self):
        array = np.asarray(weft.tensor([1.0, 2.0]))
        with self.assertRaises(ValueError):
            array[0] = 3

    def test_bytes_live_as_long_as_somebody_reads_them(self):
        array = weft.tensor(np.full(1000, 3.0)).numpy()
        tensor = weft.tensor(np.full(1000, 4.0))
        gc.collect()
        self.assertEqual(array.sum(), 3000)
        self.assertEqual(tensor.sum().item(), 4000)

    def test_every_dtype(self):
        for (
            name
        ) in (
            "float32 float64 float16 int8 uint8 int16 int32 int64 bool".split()
        ):
            array = np.array([[0, 1], [1, 0]]).astype(name)
            tensor = weft.tensor(array)
            self.assertEqual(np.asarray(tensor).dtype, array.dtype)
            self.assertTrue((np.asarray(tensor) == array).all())

    def test_unsupported_dtype(self):
        with self.assertRaisesRegex(weft.Unsupported, "complex128"):
            weft.tensor(np.zeros(2, complex))

    def test_what_is_not_dense_is_copied(self):
        array = np.arange(12.0).reshape(3, 4)
        for view in (array.T, array[:, ::2], array[::-1], array.astype(">f8")):
            self.assertTrue((np.asarray(weft.tensor(view)) == view).all())

    def test_scalars_and_empty(self):
        self.assertEqual(weft.tensor(np.float32(2)).shape, ())
        self.assertEqual(weft.tensor(np.zeros((0, 3))).shape, (0, 3))
        self.assertEqual(weft.tensor(5).dtype, "i64")
        self.assertEqual(weft.tensor(5, "f32").dtype, "f32")
        self.assertEqual(weft.tensor(2**60 + 1).item(), 2**60 + 1)

    def test_buffer_protocol(self):
        view = memoryview(weft.tensor([[1.0, 2.0]]))
        self.assertEqual(
            (view.format, view.shape, view.readonly), ("f", (1, 2), True)
        )

    def test_dlpack_with_numpy(self):
        tensor = weft.tensor([[1.0, 2.0], [3.0, 4.0]])
        self.assertEqual(tensor.__dlpack_device__(), (1, 0))
        array = np.from_dlpack(tensor)
        self.assertTrue(np.shares_memory(array, np.asarray(tensor)))
        own = np.arange(4, dtype=np.int32)
        taken = weft.from_dlpack(own)
        self.assertTrue(np.shares_memory(own, np.asarray(taken)))

    def test_dlpack_refuses_what_it_cannot_share(self):
        with self.assertRaisesRegex(weft.Unsupported, "row-major"):
            weft.from_dlpack(np.arange(6.0).reshape(2, 3).T)

    def test_an_unused_capsule_frees_its_tensor(self):
        weft.tensor([1.0]).__dlpack__()
        gc.collect()

    def test_bf16(self):
        tensor = weft.tensor([1.0, 2.5]).cast("bf16")
        self.assertEqual(tensor.tolist(), [1.0, 2.5])
        self.assertEqual(tensor.dtype, "bf16")

    def test_a_variable_never_writes_into_an_array(self):
        array = np.zeros(3, np.float32)
        variable = weft.Variable(array)

        @weft.jit
        def step():
            variable.assign_add(weft.ones(3))

        step()
        self.assertEqual(variable.tolist(), [1, 1, 1])
        self.assertEqual(array.tolist(), [0, 0, 0])


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

    def test_arrays_on_the_left(self):
        result = np.ones(2, np.float32) + weft.tensor([1.0, 2.0])
        self.assertIsInstance(result, weft.Tensor)
        self.assertEqual(result.tolist(), [2, 3])

    def test_numbers_take_the_dtype(self):
        self.assertEqual((weft.tensor([1, 2]) * 3).dtype, "i64")
        self.assertEqual((weft.tensor([1.0], "f64") * 0.1).item(), 0.1)
        self.assertEqual((np.sqrt(4.0) * weft.tensor([1.0])).dtype, "f32")
        with self.assertRaisesRegex(
            weft.Error, "0.5 cannot be computed with i64"
        ):
            weft.tensor([1, 2]) * 0.5

    def test_quotients_of_integers(self):
        self.assertEqual((weft.tensor([1, -3]) / 2).tolist(), [0.5, -1.5])

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
            [p.tolist() for p in weft.split(y, [1, 2], 1)],
            [p.tolist() for p in np.split(x, [1], 1)],
        )
        self.assertEqual(
            weft.pad(y, [(1, 0), (0, 2)]).tolist(),
            np.pad(x, [(1, 0), (0, 2)]).tolist(),
        )
        self.assertEqual(
            weft.where(y > 2, y, 0).tolist(), np.where(x > 2, x, 0).tolist()
        )
        self.assertEqual(weft.where(y > 2, 1.0, 0).dtype, "f32")

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
        with self.assertRaisesRegex(weft.Unsupported, "forward"):
            y[::-1]
        with self.assertRaisesRegex(weft.Unsupported, "mask"):
            y[y > 0]
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
