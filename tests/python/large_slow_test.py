"""Tensors of more than 2^31 elements: whatever counts in 32 bits would write
elsewhere, or not at all. Takes some 9 GB."""

import unittest

import numpy as np

import weft

SIZE = 2**31 + 77  # no multiple of a vector, nor of a block
ENDS = {0: 3, 2**31 - 1: 5, 2**31: -7, SIZE - 1: 11}


def marked():
    x = np.zeros(SIZE, np.int8)
    for place, value in ENDS.items():
        x[place] = value
    return x


class Large(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.x = weft.tensor(marked())

    def expect(self, y, function=lambda value: value, offset=0):
        """What `function` makes of the marks, and of 0 elsewhere."""
        y = np.asarray(y)
        for place, value in ENDS.items():
            self.assertEqual(y[place - offset], function(value), place)
        for place in (1, 2**31 - 2, 2**31 + 1, SIZE - 2):
            self.assertEqual(y[place - offset], function(0), place)

    def test_elementwise(self):
        self.expect(weft.ops.negate(self.x), lambda value: -value)

    def test_comparison_with_a_number(self):
        self.expect(weft.ops.greater(self.x, np.int8(0)),
                    lambda value: value > 0)

    def test_concat_and_slice(self):
        y = weft.ops.concat(self.x, weft.tensor(np.int8([42])), axis=0)
        self.assertEqual(np.asarray(y[SIZE:])[0], 42)
        self.expect(y)

    def test_rows_by_index(self):
        rows = weft.ops.reshape(self.x[:2**31 + 64], shape=(2**25 + 1, 64))
        taken = weft.ops.gather(rows, np.int64([2**25, -1, 0]), axis=0)
        self.assertEqual(np.asarray(taken)[:, 0].tolist(), [-7, -7, 3])

    def test_transpose(self):
        y = weft.ops.transpose(
            weft.ops.reshape(self.x[:2**31 + 64], shape=(2**25 + 1, 64)))
        y = np.asarray(y)
        self.assertEqual((y[0, 0], y[0, -1], y[63, -2]), (3, -7, 5))

    def test_flip(self):
        y = np.asarray(weft.flip(self.x, 0))
        for place, value in ENDS.items():
            self.assertEqual(y[SIZE - 1 - place], value)

    def test_quantized_product_of_many_rows(self):
        rows = weft.ops.reshape(self.x[:2**31 + 64], shape=(2**25 + 1, 64))
        y = weft.ops.integer_matmul(rows, np.ones((64, 1), np.int8))
        y = np.asarray(y)
        self.assertEqual((y[0, 0], y[2**25 - 1, 0], y[2**25, 0]), (3, 5, -7))


if __name__ == "__main__":
    unittest.main()
