"""Staged functions and what they read and change: variables, devices."""

import unittest

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


if __name__ == "__main__":
    unittest.main()
