"""Staged functions: traces, captures, variables, control flow, files."""

import functools
import gc
import json
import os
import subprocess
import tempfile
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

    def test_nested(self):
        inner = weft.jit(lambda a, b: a @ b)

        @weft.jit
        def outer(a, b):
            return inner(a, inner(b, b))

        diagonal = weft.tensor(np.diag([-1.0, 1.0, 2.0]))
        result = outer(weft.tensor(np.eye(3)), diagonal)
        self.assertEqual(np.diag(result).tolist(), [1, 1, 4])
        self.assertEqual((outer.trace_count, inner.trace_count), (1, 1))

    def test_recursion(self):
        number = weft.TensorType("f32")

        @weft.jit(input_signature=[number], results=[number])
        def fib(n):
            return weft.cond(n < 2, lambda: n, lambda: fib(n - 1) + fib(n - 2))

        self.assertEqual(fib(weft.tensor(10.0)).item(), 55)

    def test_recursion_over_integers(self):
        number = weft.TensorType("i64")

        @weft.jit(results=[number])
        def fib(n):
            return weft.cond(
                n <= 1, lambda: n, lambda: fib(n - 1) + fib(n - 2)
            )

        self.assertEqual(fib(weft.tensor(20)).item(), 6765)
        self.assertEqual(fib.trace_count, 1)

    def test_mutual_recursion(self):
        number = weft.TensorType("i64")

        @weft.jit(results=[number])
        def is_even(n):
            return weft.cond(n == 0, lambda: 1, lambda: is_odd(n - 1))

        @weft.jit(results=[number])
        def is_odd(n):
            return weft.cond(n == 0, lambda: 0, lambda: is_even(n - 1))

        for n in (0, 1, 2, 7, 10):
            self.assertEqual(is_even(weft.tensor(n)).item(), 1 - n % 2)
            self.assertEqual(is_odd(weft.tensor(n)).item(), n % 2)

    def test_recursion_without_types_says_how(self):
        @weft.jit
        def f(n):
            return weft.cond(n <= 0, lambda: n, lambda: f(n - 1))

        with self.assertRaisesRegex(weft.Error, r"jit\(f, results="):
            f(weft.tensor(3))

    def test_frames_are_limited(self):
        number = weft.TensorType("i64")

        def count(n):
            return weft.cond(n <= 0, lambda: 0, lambda: 1 + counted(n - 1))

        counted = weft.jit(count, results=[number], max_frames=50, workers=1)
        self.assertEqual(counted(weft.tensor(40)).item(), 40)
        with self.assertRaisesRegex(weft.Error, "max_frames: an option of jit"):
            counted(weft.tensor(60))
        counted = weft.jit(
            count, results=[number], max_frames=100, batching=False
        )
        self.assertEqual(counted(weft.tensor(60)).item(), 60)
        with self.assertRaisesRegex(weft.Error, "0 frames"):
            weft.jit(count, max_frames=0)

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


class State(unittest.TestCase):
    def test_variables_by_reference(self):
        v = weft.Variable(0.0)

        @weft.jit
        def mutate():
            v.assign_add(1)
            return v.read()

        self.assertEqual(mutate().item(), 1)
        v.assign_add(1)
        self.assertEqual([mutate().item(), mutate().item()], [3, 4])
        self.assertEqual(v.item(), 4)

    def test_creation_contract(self):
        made = []

        @weft.jit
        def first_call_only(x):
            if not made:
                made.append(weft.Variable(1.0))
            return x * made[0]

        self.assertEqual(first_call_only(weft.tensor(2.0)).item(), 2)
        self.assertEqual(first_call_only.trace_count, 2)

        @weft.jit
        def every_call(x):
            return weft.Variable(1.0).read() * x

        with self.assertRaises(weft.Error):
            every_call(weft.tensor(1.0))

    def test_init_scope(self):
        seen = []

        @weft.jit
        def f(x):
            with weft.init_scope():
                seen.append((weft.ones(2) + 1).tolist())
            return x

        f(weft.tensor(1.0))
        self.assertEqual(seen, [[2, 2]])

    def test_dead_variable(self):
        variables = [weft.Variable(1.0, name="gone")]
        f = weft.jit(lambda x: x * variables[0].read())
        self.assertEqual(f(weft.tensor(2.0)).item(), 2)
        variables.clear()
        with self.assertRaisesRegex(weft.Error, "'gone' that it uses"):
            f(weft.tensor(2.0))

    def test_devices(self):
        self.assertEqual(weft.devices()[0], "cpu:0")
        with weft.device("cpu:0"):
            self.assertEqual((weft.tensor(1.0) + 1).item(), 2)
        with self.assertRaisesRegex(weft.Error, "cpu:0"):
            with weft.device("gpu:7"):
                pass


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


class Files(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def test_export(self):
        w = weft.Variable([[1.0], [2.0]])
        predict = weft.jit(lambda x: x @ w.read())
        path = self.path("model.weft")
        predict.export(path, weft.TensorType("f32", ("N", 2)))
        loaded = weft.ExportedFunction(path)
        self.assertEqual(loaded(weft.ones((3, 2))).tolist(), [[3]] * 3)
        shown = subprocess.run(
            [
                os.environ["WEFT_BIN"],
                "run",
                path,
                "--input",
                "arg0=[[1, 2], [3, 4]]",
            ],
            capture_output=True,
            text=True,
            check=True,
        )
        self.assertEqual(
            json.loads(shown.stdout)["results"][0]["value"], [[5], [11]]
        )

    def test_frames_of_an_exported_recursion(self):
        number = weft.TensorType("i64")

        @weft.jit(results=[number])
        def count(n):
            return weft.cond(n <= 0, lambda: 0, lambda: 1 + count(n - 1))

        path = self.path("count.weft")
        count.export(path, weft.TensorType("i64"))
        few = weft.ExportedFunction(path, max_frames=50)
        self.assertEqual(few(weft.tensor(40)).item(), 40)
        with self.assertRaisesRegex(weft.Error, "more than 50 activations"):
            few(weft.tensor(60))
        command = [os.environ["WEFT_BIN"], "run", path, "--input", "arg0=60"]
        run = functools.partial(subprocess.run, capture_output=True, text=True)
        shown = run([*command, "--max-frames", "50"])
        self.assertNotEqual(shown.returncode, 0)
        self.assertIn("--max-frames of weft run", shown.stderr)
        shown = run([*command, "--max-frames", "70"], check=True)
        self.assertEqual(json.loads(shown.stdout)["results"][0]["value"], 60)

    def test_export_refuses_host_code(self):
        f = weft.jit(
            lambda x: weft.host_func(
                lambda y: y, x, results=weft.TensorType("f32")
            )
        )
        with self.assertRaises(weft.Unsupported):
            f.export(self.path("host.weft"), weft.tensor(1.0))

    def test_checkpoint(self):
        def make():
            model = weft.nn.Sequential(
                weft.nn.Linear(2, 3), weft.relu, weft.nn.Linear(3, 1)
            )
            model.initialize(seed=1)
            optimizer = weft.optim.adam(model.parameters(trainable_only=True))
            return model, optimizer

        model, optimizer = make()
        gradients = {
            name: weft.ones(v.shape) for name, v in model.parameters().items()
        }
        optimizer.update(gradients)
        path = self.path("run.safetensors")
        weft.save(path, model=model, optimizer=optimizer)

        again, other = make()
        restored = weft.restore(path, model=again, optimizer=other)
        restored.require_complete()
        for name, variable in model.parameters().items():
            self.assertEqual(
                again.parameters()[name].tolist(), variable.tolist()
            )
        self.assertEqual(other.step.item(), 1)
        for name, slot in optimizer.slots().items():
            self.assertEqual(other.slots()[name].tolist(), slot.tolist())

    def test_checkpoint_of_plain_objects(self):
        class Program:
            def __init__(self, value):
                self.counts = [
                    weft.Variable(value),
                    {"b": weft.Variable(value + 1)},
                ]

        path = self.path("plain.safetensors")
        weft.save(path, program=Program(1.0))
        program = Program(0.0)
        program.extra = weft.Variable(9.0)
        restored = weft.restore(path, program=program)
        self.assertEqual(program.counts[1]["b"].item(), 2)
        self.assertEqual(restored.unexpected, ["program.extra"])
        self.assertEqual(restored.missing, [])


if __name__ == "__main__":
    unittest.main()
