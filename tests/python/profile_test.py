"""weft.profile: what a block runs, as a table, numbers and a trace."""

import json
import os
import subprocess
import tempfile
import unittest

import weft


class Profile(unittest.TestCase):
    def test_a_block(self):
        x = weft.ones((64, 64))
        step = weft.jit(lambda x: weft.tanh(x @ x) + 1)
        step(x)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "trace.json")
            with weft.profile(path) as profile:
                for _ in range(3):
                    step(x)
                x @ x
            kernels = [each for each in profile.totals
                       if each["category"] == "kernel"]
            products = [each for each in kernels if each["name"] == "matmul"]
            self.assertEqual(sum(each["calls"] for each in products), 4)
            self.assertEqual(sum(each["flops"] for each in products),
                             4 * 2 * 64**3)
            self.assertGreater(profile.seconds, 0)
            self.assertIn("matmul", repr(profile))
            self.assertIn("GF/s", repr(profile))
            with open(path) as file:
                names = [event["name"] for event in json.load(file)]
            self.assertEqual(names.count("matmul"), 4)
            told = json.loads(subprocess.run(
                [os.environ["WEFT_BIN"], "profile", path, "--json"],
                capture_output=True, text=True, check=True).stdout)
            self.assertEqual(
                {(each["name"], each["calls"]) for each in told["spans"]},
                {(each["name"], each["calls"]) for each in kernels})

    def test_what_was_batched(self):
        w = weft.ones((4, 4)) * 0.1

        @weft.jit(results=[weft.TensorType("f32", (1, 4))])
        def tree(x, n):
            return weft.cond(
                n <= 0,
                lambda: weft.tanh(x @ w),
                lambda: weft.tanh((tree(x, n - 1) + tree(-x, n - 1)) @ w),
            )

        x = weft.ones((1, 4))
        with weft.profile() as profile:
            tree(x, weft.tensor(5))
        batches = [each for each in profile.totals
                   if each["category"] == "batch"]
        # All of the 32 leaves are one product, and then a level at a time.
        sizes = [int(each["name"].split(" × ")[1]) for each in batches]
        self.assertEqual(max(sizes), 32)
        self.assertIn("batch ", repr(profile))

    def test_one_at_a_time(self):
        with weft.profile():
            with self.assertRaisesRegex(weft.Error, "another one"):
                with weft.profile():
                    pass
        with weft.profile() as profile:
            pass
        self.assertEqual(profile.totals, [])


if __name__ == "__main__":
    unittest.main()
