"""weft.onnx: functions written as models of ONNX and read again."""

import tempfile
import unittest
from pathlib import Path

import numpy as np
import weft


class Onnx(unittest.TestCase):
    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.path = Path(self._folder.name) / "model.onnx"

    def tearDown(self):
        self._folder.cleanup()

    def test_a_layer_there_and_back(self):
        net = weft.nn.Sequential(weft.nn.Linear(3, 4), weft.nn.Linear(4, 2))
        net.initialize(1)
        weft.onnx.save(net, self.path, weft.TensorType("f32", ["batch", 3]))
        model = weft.onnx.load(self.path)
        ((name, kind),) = model.arguments
        self.assertEqual(str(kind), "TensorType(f32[batch, 3])")
        for rows in (1, 5):
            x = np.arange(3 * rows, dtype="float32").reshape(rows, 3)
            np.testing.assert_allclose(model(x), net(x), rtol=1e-6)

    def test_control_flow_there_and_back(self):
        def halved(x):
            (x,) = weft.while_loop(lambda v: (v[0] > 1).any(),
                                   lambda v: (v[0] / 2,), (x,))
            return weft.cond(x.sum() > 1, lambda: x, lambda: -x)

        x = np.array([5, 0.25], "float32")
        weft.onnx.save(halved, self.path, x)
        np.testing.assert_array_equal(weft.onnx.load(self.path)(x), halved(x))

    def test_what_was_loaded_is_written_in_either_form(self):
        weft.onnx.save(lambda x: weft.tanh(x) * 2, self.path,
                       weft.TensorType("f32", ["n"]))
        model = weft.onnx.load(self.path)
        again = self.path.with_name("again.onnx")
        weft.onnx.save(model, again)
        own = self.path.with_suffix(".weft")
        model.save(str(own))
        x = np.array([0.5, -1], "float32")
        for read in (weft.onnx.load(again), weft.ExportedFunction(str(own))):
            np.testing.assert_array_equal(read(x), model(x))

    def test_shapes_and_fixed_inputs(self):
        weft.onnx.save(lambda x, y: x + y, self.path,
                       weft.TensorType("f32", ["n", "m"]),
                       weft.TensorType("f32", []))
        model = weft.onnx.load(self.path, shapes={"arg0": (2, "k")},
                               fixed={"arg1": np.float32(3)})
        ((name, kind),) = model.arguments
        self.assertEqual((name, str(kind)), ("arg0", "TensorType(f32[2, k])"))
        np.testing.assert_array_equal(model(np.ones((2, 1), "float32")),
                                      [[4], [4]])
        with self.assertRaisesRegex(weft.InvalidArgument, "no input 'x'"):
            weft.onnx.load(self.path, fixed={"x": 1})

    def test_refusals(self):
        with self.assertRaisesRegex(weft.Unsupported, "svd"):
            weft.onnx.save(lambda x: weft.ops.svd(x)[1], self.path,
                           weft.TensorType("f32", [3, 3]))
        self.assertFalse(self.path.exists())
        self.path.write_bytes(b"\x08\x09 no model")
        with self.assertRaisesRegex(weft.Error, "damaged ONNX model"):
            weft.onnx.load(self.path)


if __name__ == "__main__":
    unittest.main()
