"""Arrays of JAX and tensors as each other, by DLPack, with JAX installed."""

import unittest

import jax
import jax.numpy as jnp
import numpy as np

import weft


def address(array):
    return np.asarray(array).ctypes.data


class Exchange(unittest.TestCase):
    def test_an_array_of_jax_is_shared(self):
        for dtype in ("float32", "bfloat16", "int32", "bool"):
            array = jnp.arange(6).reshape(2, 3).astype(dtype)
            tensor = weft.from_dlpack(array)
            self.assertEqual(tensor.shape, (2, 3))
            self.assertEqual(tensor.tolist(), array.tolist())
            if dtype != "bfloat16":  # which NumPy has not
                self.assertEqual(address(tensor), array.unsafe_buffer_pointer())

    def test_a_tensor_becomes_an_array_of_jax(self):
        tensor = weft.tensor([[1.0, 2.0], [3.0, 4.0]])
        array = jnp.from_dlpack(tensor)
        self.assertEqual(array.dtype, jnp.float32)
        self.assertEqual(array.tolist(), tensor.tolist())
        # JAX may overwrite what is donated to it, so it must own that.
        changed = jax.jit(lambda x: x + 1, donate_argnums=0)(array)
        self.assertEqual(changed.tolist(), [[2, 3], [4, 5]])
        self.assertEqual(tensor.tolist(), [[1, 2], [3, 4]])


if __name__ == "__main__":
    unittest.main()
