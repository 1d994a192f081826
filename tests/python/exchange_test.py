"""Tensors share memory with NumPy, the buffer protocol and DLPack."""

import ctypes
import gc
import unittest

import numpy as np

import weft


READ_ONLY, COPIED = 1, 2


class Offer:
    """Offers a capsule that was made before."""

    def __init__(self, capsule):
        self.capsule = capsule

    def __dlpack__(self):
        return self.capsule


def look_into(capsule):
    """The flags of a DLPack capsule, None if it has none, and its address."""
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype = ctypes.c_void_p
    pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    if '"dltensor_versioned"' in repr(capsule):
        # version, context, deleter, flags, then the tensor, data first
        words = (ctypes.c_uint64 * 5).from_address(
            pointer(capsule, b"dltensor_versioned")
        )
        assert words[0] & 0xFFFFFFFF == 1  # major
        return words[3], words[4]
    words = (ctypes.c_uint64 * 1).from_address(pointer(capsule, b"dltensor"))
    return None, words[0]


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
        self.assertEqual(array.tolist(), [[1, 2], [3, 4]])
        # NumPy asks for read-only memory since 2.1, and is given a copy before.
        if array.flags.writeable:
            array[0, 0] = 9
        self.assertEqual(tensor[0, 0].item(), 1)
        own = np.arange(4, dtype=np.int32)
        taken = weft.from_dlpack(own)
        self.assertTrue(np.shares_memory(own, np.asarray(taken)))

    def test_dlpack_never_gives_bytes_to_write_into(self):
        tensor = weft.tensor([1.0, 2.0])
        address = np.asarray(tensor).ctypes.data
        for keywords, flags, is_shared in (
            ({"max_version": (1, 0)}, READ_ONLY, True),
            ({"max_version": (1, 3), "copy": False}, READ_ONLY, True),
            ({"max_version": (1, 0), "copy": True}, COPIED, False),
            ({"max_version": (0, 8)}, None, False),
            ({"dl_device": (1, 0)}, None, False),
            ({"copy": True}, None, False),
            ({}, None, False),
        ):
            capsule = tensor.__dlpack__(**keywords)
            found, data = look_into(capsule)
            self.assertEqual(found, flags, keywords)
            self.assertEqual(data == address, is_shared, keywords)
            self.assertEqual(weft.from_dlpack(Offer(capsule)).tolist(), [1, 2])
        for keywords in (
            {"copy": False},
            {"copy": False, "max_version": (0, 8)},
            {"dl_device": (2, 0)},
            {"stream": 1},
        ):
            with self.assertRaises(BufferError):
                tensor.__dlpack__(**keywords)

    def test_dlpack_takes_both_kinds_of_capsules_once(self):
        tensor = weft.tensor([[1.0, 2.0]])
        for offer in (tensor, Offer(tensor.__dlpack__())):
            self.assertEqual(weft.from_dlpack(offer).tolist(), [[1, 2]])
        with self.assertRaisesRegex(weft.Error, "still unused"):
            weft.from_dlpack(offer)

    def test_numbers_of_numpy_keep_their_dtype(self):
        self.assertEqual(weft.tensor(np.float64(1.1)).dtype, "f64")
        self.assertEqual(weft.tensor(np.float64(1.1)).item(), 1.1)
        self.assertEqual(weft.tensor(np.float32(1.1)).dtype, "f32")
        self.assertEqual(weft.tensor(np.int32(3)).dtype, "i32")
        self.assertEqual(weft.Variable(np.float64(1.1)).dtype, "f64")
        self.assertEqual(weft.exp(np.float64(1.0)).dtype, "f64")
        self.assertEqual(weft.tensor(1.1).dtype, "f32")
        # Beside a tensor it is a number like others.
        self.assertEqual((weft.tensor([1.0]) * np.float64(2)).dtype, "f32")

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

    def test_nothing_in_other_strides(self):
        # Strides of NumPy are those of (3, 1).
        empty = np.zeros((3, 2), np.float32)[:, 1:1]
        self.assertEqual(weft.from_dlpack(empty).shape, (3, 0))

    def test_a_copy_may_be_written(self):
        x = weft.ones(2)
        array = x.__array__(copy=True)
        array[:] = 2
        self.assertEqual(x.tolist(), [1, 1])
        self.assertFalse(x.__array__().flags.writeable)


if __name__ == "__main__":
    unittest.main()
