"""Staged functions: what is traced, and when; captures and lifetimes."""

import collections
import enum
import gc
import threading
import unittest
import warnings
from typing import NamedTuple

import numpy as np

import weft


class Point(NamedTuple):
    x: weft.Tensor
    y: weft.Tensor


class Tracing(unittest.TestCase):
    def test_one_trace_per_kind(self):
        @weft.jit
        def double(x, factor=2):
            return x * factor

        for _ in range(100):
            self.assertEqual(double(weft.tensor([1.0, 2.0])).tolist(), [2, 4])
        self.assertEqual(double.trace_count, 1)
        double(weft.tensor([1.0, 2.0], "f64"))
        self.assertEqual(double.trace_count, 2)
        double(weft.tensor([1.0, 2.0]), 3)
        self.assertEqual(double.trace_count, 3)
        double(weft.tensor([1.0, 2.0]), factor=3)
        self.assertEqual(double.trace_count, 4)
        double(np.array([1.0, 2.0], np.float32))
        self.assertEqual(double.trace_count, 4)

    def test_numbers_are_values_and_tensors_are_not(self):
        @weft.jit(relax_dims=False)
        def f(x, n):
            return x * n

        x = weft.tensor([1.0])
        for n in (1, 2, 3):
            f(x, n)
        self.assertEqual(f.trace_count, 3)
        for n in (1.0, 2.0, 3.0):
            self.assertEqual(f(x, weft.tensor(n)).item(), n)
        self.assertEqual(f.trace_count, 4)
        # 1 and 1.0 are different arguments.
        f(x, 1.0)
        self.assertEqual(f.trace_count, 5)

    def test_what_is_no_function_yet_cannot_be_called(self):
        bare = type(weft.jit(abs))
        with self.assertRaisesRegex(TypeError, "not called"):
            bare.__new__(bare)(1)

    def test_keywords_in_any_order(self):
        @weft.jit
        def f(*, a, b):
            return a - b

        one, two = weft.tensor(1.0), weft.tensor(2.0)
        self.assertEqual(f(a=one, b=two).item(), -1)
        self.assertEqual(f(b=two, a=one).item(), -1)
        self.assertEqual(f.trace_count, 1)

    def test_containers(self):
        @weft.jit
        def f(tree, flag):
            point, pair = tree["point"], tree["pair"]
            return {"sum": point.x + point.y, "rest": [pair[0], flag, None]}

        tree = {
            "point": Point(weft.tensor(1.0), weft.tensor(2.0)),
            "pair": (weft.tensor(3.0), "text"),
        }
        for _ in range(2):
            result = f(tree, True)
            self.assertEqual(result["sum"].item(), 3)
            self.assertEqual(result["rest"][0].item(), 3)
            self.assertEqual(result["rest"][1:], [True, None])
        self.assertEqual(f.trace_count, 1)
        f(dict(tree, pair=[weft.tensor(3.0), "text"]), True)
        self.assertEqual(f.trace_count, 2)

    def test_named_tuples_return_as_such(self):
        flip = weft.jit(lambda p: Point(p.y, p.x))
        flipped = flip(Point(weft.tensor(1.0), weft.tensor(2.0)))
        self.assertIsInstance(flipped, Point)
        self.assertEqual(flipped.x.item(), 2)

    def test_objects_by_identity(self):
        class Config:
            scale = 2

        @weft.jit
        def f(x, config):
            return x * config.scale

        x = weft.tensor([1.0])
        config = Config()
        f(x, config)
        f(x, config)
        self.assertEqual(f.trace_count, 1)
        for _ in range(3):  # also where one is made at the address of another
            f(x, Config())
        self.assertEqual(f.trace_count, 4)

    def test_methods(self):
        class Model:
            def __init__(self, scale):
                self.scale = scale

            @weft.jit
            def __call__(self, x):
                return x * self.scale

        two, three = Model(2), Model(3)
        x = weft.tensor(1.0)
        self.assertEqual((two(x).item(), three(x).item()), (2, 3))
        self.assertEqual(two(x).item(), 2)
        self.assertEqual(Model.__call__.trace_count, 2)

    def test_an_argument_that_cannot_be_told_apart(self):
        f = weft.jit(lambda x: 1)
        with self.assertRaisesRegex(
            weft.Error, "complex cannot be an argument"
        ):
            f(1j)

    def test_signature(self):
        @weft.jit(input_signature=[weft.TensorType("f32", (None, 4))])
        def f(x):
            return x.sum(axis=0)

        for rows in (1, 2, 3):
            self.assertEqual(f(weft.ones((rows, 4))).tolist(), [rows] * 4)
        self.assertEqual(f.trace_count, 1)
        with self.assertRaisesRegex(weft.Error, "argument 0 does not fit"):
            f(weft.ones((2, 5)))

    def test_dims_that_change_become_symbols(self):
        @weft.jit
        def f(x):
            n = x.shape[0]
            return weft.reshape(x, (n * 2,)), x.mean()

        for rows in range(1, 20):
            y, mean = f(weft.ones((rows, 2)))
            self.assertEqual((y.shape, mean.item()), ((2 * rows,), 1))
        self.assertLessEqual(f.trace_count, 4)

    def test_slices_end_where_any_size_does(self):
        cuts = [slice(4), slice(5, None), slice(-2, None), slice(1, -1)]

        def parts(x):
            return [x[cut] * 1.0 for cut in cuts]

        staged = weft.jit(parts)
        around = weft.jit(lambda x: staged(x), relax_dims=False)
        for run in (staged, around):
            for rows in (9, 8, 7, 3, 0, 1, 12):
                x = weft.arange(rows, dtype="f32")
                for got, wanted in zip(run(x), parts(x)):
                    np.testing.assert_array_equal(got, wanted)

    def test_sizes_that_python_needs_stay_known(self):
        @weft.jit(warn_after=100)
        def f(x):
            return weft.stack([x[i] * i for i in range(x.shape[0])]).sum()

        for rows in range(1, 6):
            self.assertEqual(f(weft.ones(rows)).item(), sum(range(rows)))

    def test_retrace_warning_says_what_differed(self):
        @weft.jit
        def f(x, n):
            return x * n

        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for n in range(9):
                f(weft.tensor(1.0), n)
        self.assertEqual(len(caught), 1)
        self.assertIn("argument 1 was the number 6", str(caught[0].message))

    def test_host_randomness_is_frozen(self):
        @weft.jit
        def noisy(x):
            return x + float(np.random.rand())

        x = weft.tensor(0.0)
        self.assertEqual(noisy(x).item(), noisy(x).item())

    def test_random_ops_follow_their_key(self):
        noisy = weft.jit(lambda x, key: x + weft.normal(key, (4,)))
        x = weft.zeros(4)
        first, again, other = (
            noisy(x, weft.tensor([1, step])).tolist() for step in (0, 0, 1)
        )
        self.assertEqual(first, again)
        self.assertNotEqual(first, other)
        self.assertEqual(noisy.trace_count, 1)

    def test_a_flag_makes_two_graphs(self):
        @weft.jit
        def lossy_matmul(w, x, training=True):
            y = w @ x
            return y * 0.5 if training else y

        w = x = weft.ones((2, 2))
        self.assertEqual(lossy_matmul(w, x)[0, 0].item(), 1)
        self.assertEqual(lossy_matmul(w, x, training=False)[0, 0].item(), 2)
        lossy_matmul(w, x)
        self.assertEqual(lossy_matmul.graph_count, 2)

    def test_without_fusion_the_bits_are_those_of_eager(self):
        def f(x):
            return weft.tanh(weft.exp(x) * x - x / 3.0).sum(axis=1)

        x = np.random.default_rng(1).normal(size=(8, 40)).astype(np.float32)
        found = weft.jit(f, fuse=False)(x)
        self.assertEqual(found.tolist(), f(weft.tensor(x)).tolist())

    def test_less_memory_gives_the_same_bits(self):
        def loss(w, x):
            for _ in range(6):
                x = weft.tanh(x @ w)
            return (x * x).mean()

        rng = np.random.default_rng(1)
        w = rng.normal(size=(32, 32)).astype(np.float32)
        x = rng.normal(size=(256, 32)).astype(np.float32)
        slope = weft.grad(loss)
        expected = weft.jit(slope)(w, x).tolist()
        for memory in ("220KB", 220_000):
            found = weft.jit(slope, memory=memory)(w, x)
            self.assertEqual(found.tolist(), expected)
        with self.assertRaisesRegex(Exception, "the least that was reached"):
            weft.jit(slope, memory="4KB")(w, x)
        with self.assertRaisesRegex(ValueError, "memory is no 'much'"):
            weft.jit(slope, memory="much")

    def test_graphs_have_a_text(self):
        f = weft.jit(lambda x: weft.relu(x) + 1)
        text = repr(f.graph(weft.ones(3)))
        self.assertIn("relu", text)
        self.assertIn("f32[3]", text)

    def test_captured_tensors(self):
        w = weft.tensor([1.0, 2.0])
        f = weft.jit(lambda x: (x * w).sum())
        self.assertEqual(f(weft.ones(2)).item(), 3)
        with weft.Tape() as tape:
            tape.watch(w)
            y = f(weft.ones(2))
        self.assertEqual(tape.gradient(y, w).tolist(), [1, 1])

    def test_python_errors_come_out_as_they_are(self):
        class Odd(Exception):
            pass

        @weft.jit
        def f(x):
            raise Odd("here")

        with self.assertRaisesRegex(Odd, "here"):
            f(weft.tensor(1.0))

    def test_mistakes_inside_name_the_line(self):
        @weft.jit
        def f(x):
            return x @ x

        with self.assertRaisesRegex(weft.Error, r"jit_test.py:\d+, in f"):
            f(weft.ones((2, 3)))

    def test_staged_values_have_no_truth_and_no_numbers(self):
        @weft.jit
        def truth(x):
            return x if x.sum() > 0 else -x

        with self.assertRaisesRegex(weft.Error, "jit_test.py"):
            truth(weft.ones(2))
        with self.assertRaisesRegex(weft.Error, "no numbers until"):
            weft.jit(lambda x: np.asarray(x))(weft.ones(2))

    def test_symbols_do_not_outlive_their_trace(self):
        kept = []
        weft.jit(lambda x: kept.append(x + 1))(weft.ones(2))
        with self.assertRaisesRegex(weft.Error, "after the f"):
            kept[0] + 1
        self.assertIn("Tensor(of @", repr(kept[0]))

    def test_dropped_functions_free_their_graphs(self):
        import weakref

        class Witness:
            pass

        witnesses = []
        for _ in range(50):
            witness = Witness()
            witnesses.append(weakref.ref(witness))
            f = weft.jit(lambda x, held=witness: x + 1)
            f(weft.tensor(1.0))
            del f, witness
        gc.collect()
        self.assertEqual([w() for w in witnesses if w() is not None], [])

    def test_a_function_that_refers_to_itself_is_collected(self):
        import weakref

        def make():
            def f(x):
                return g.trace_count * x

            g = weft.jit(f)
            g(weft.tensor(1.0))
            return weakref.ref(f)

        reference = make()
        gc.collect()
        self.assertIsNone(reference())

    def test_threads(self):
        @weft.jit
        def f(x, n):
            return (x * n).sum()

        wrong = []

        def work(offset):
            for i in range(200):
                n = (i + offset) % 5
                if f(weft.ones(3), n).item() != 3 * n:
                    wrong.append(n)

        threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])
        self.assertEqual(f.trace_count, 5)


class Mode(str, enum.Enum):
    SUM = "sum"


class KindsOfArguments(unittest.TestCase):
    def test_subclasses_of_numbers_and_texts(self):
        product = weft.jit(lambda x, c: x * c)
        x = weft.tensor([1, 2])
        self.assertEqual(product(x, 1.5).dtype, "f32")
        self.assertEqual(product(x, np.float64(1.5)).dtype, "f64")
        mode = weft.jit(lambda x, mode: x.sum() if mode is Mode.SUM else x)
        self.assertEqual(mode(x, "sum").shape, (2,))
        self.assertEqual(mode(x, Mode.SUM).shape, ())
        digits = weft.jit(lambda x, n: x + len(n) if type(n) is str else x)
        self.assertEqual(digits(x, 10**30).tolist(), [1, 2])
        self.assertEqual(digits(x, str(10**30)).tolist(), [32, 33])

    def test_other_containers_of_tensors(self):
        total = weft.jit(lambda items: items)
        for items in (collections.OrderedDict(a=weft.ones(2)),
                      weft.nn.ModuleList([weft.ones(2)])):
            with self.assertRaisesRegex(weft.Error, "of tensors"):
                total(items)


if __name__ == "__main__":
    unittest.main()
