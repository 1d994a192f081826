"""Staged functions and what they read, change and keep: variables, devices,
graphs."""

import threading
import unittest

import numpy as np

import weft


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


class Operators(unittest.TestCase):
    def test_in_place(self):
        class Counted(weft.nn.Module):
            pass

        module = Counted()
        module.n = v = weft.Variable(1.0)
        module.n += 2.0
        module.n *= 3.0
        self.assertIs(module.n, v)
        self.assertEqual(v.item(), 9)
        self.assertEqual(list(module.state_dict()), ["n"])

    def test_equality_is_that_of_values(self):
        v = weft.Variable([0.0, 1.0])
        self.assertEqual((v == 0.0).tolist(), [True, False])
        self.assertEqual((v != 0.0).tolist(), [False, True])
        self.assertEqual({v: 1}[v], 1)


class Mapped(unittest.TestCase):
    def test_more_kinds_than_are_kept(self):
        scaled = weft.vmap(lambda c, r: r * c, in_axes=(None, 0))
        for c in (*range(70), 68, 0):
            self.assertEqual(scaled(c, weft.ones((3, 2)))[0, 0].item(), c)

    def test_a_failure_is_told_again(self):
        v = weft.Variable(weft.zeros(2))
        failing = weft.vmap(lambda x: v.assign(x))
        for _ in range(2):
            with self.assertRaisesRegex(weft.Error, "assigns variable"):
                failing(weft.ones((3, 2)))

    def test_threads(self):
        scaled = weft.vmap(lambda c, r: r * c, in_axes=(None, 0))
        wrong = []

        def work(first):
            for c in range(first, first + 70):
                try:
                    if scaled(c, weft.ones((3, 2)))[0, 0].item() != c:
                        wrong.append(c)
                except weft.Error as error:
                    wrong.append(error)

        threads = [threading.Thread(target=work, args=(i,)) for i in (0, 40)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_variables_and_numbers_of_numpy(self):
        v = weft.Variable([1.0, 2.0])
        add = weft.vmap(lambda a, b, c: a * b + c, in_axes=(0, None, 0))
        for b in (np.float64(3), 3.0):
            self.assertEqual(add(v, b, weft.ones(2)).tolist(), [4, 7])
        shared = weft.vmap(lambda a, b: a + b, in_axes=(None, 0))
        self.assertEqual(shared(v, weft.ones((1, 2))).tolist(), [[2, 3]])

    def test_an_axis_that_is_not_there(self):
        with self.assertRaisesRegex(weft.Error, "no axis 5"):
            weft.vmap(lambda x: x, in_axes=5)(weft.ones((2, 3)))
        with self.assertRaisesRegex(weft.Error, "no axis 5"):
            weft.vmap(lambda x: x, out_axes=5)(weft.ones((2, 3)))
        with self.assertRaisesRegex(weft.Error, "no axis 2"):
            weft.expand_dims(weft.ones(3), 2)


if __name__ == "__main__":
    unittest.main()
