"""weft.data: readers and arrays, in batches."""

import pathlib
import tempfile
import unittest

import numpy as np

import weft


class Data(unittest.TestCase):
    def test_errors_show_bytes_that_are_no_text(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "latin1.csv"
            path.write_bytes(b"a,b\n1,2\nx\xe9,5\n1,2\n")
            with self.assertRaisesRegex(weft.Error, r"x\\xe9"):
                weft.data.open("csv", str(path), label="b", numbers="a")

    def test_a_reader(self):
        parts = weft.data.open("digits")
        self.assertEqual(sorted(parts), ["test", "train"])
        train = parts["train"]
        self.assertEqual(len(train), 1437)
        self.assertEqual(train.classes, list("0123456789"))
        self.assertEqual([name for name, _ in train.features],
                         ["image", "label"])
        image, label = train[-1]
        self.assertEqual((image.shape, image.dtype), ((8, 8, 1), "u8"))
        self.assertEqual(label.shape, ())
        with self.assertRaises(IndexError):
            train[1437]
        batches = train.batches(100)
        self.assertEqual(len(batches), 15)
        seen = [images for images, _ in batches]
        self.assertEqual(sum(images.shape[0] for images in seen), 1437)
        # Pixels are numbers from 0 to 1, in the order of the data.
        self.assertEqual((seen[0].numpy()[0] * 255).round().tolist(),
                         train[0][0].numpy().astype(float).tolist())
        with self.assertRaisesRegex(weft.Error, "digit"):
            weft.data.open("digit")

    def test_epochs_differ_and_can_be_repeated(self):
        def labels(batches):
            return [label for _, some in batches for label in some.tolist()]

        numbers = np.arange(50, dtype=np.int32)
        made = weft.data.from_arrays(
            {"x": numbers.astype(np.float32).reshape(50, 1), "label": numbers})
        batches = made.batches(8, shuffle=True, seed=3)
        first, second = labels(batches), labels(batches)
        self.assertNotEqual(first, second)
        self.assertEqual(sorted(first), numbers.tolist())
        again = made.batches(8, shuffle=True, seed=3)
        for _ in again:  # an epoch that is left
            break
        self.assertEqual(labels(again), second)
        self.assertEqual(len(made.batches(8, drop_last=True)), 6)

    def test_an_epoch_goes_on_where_it_was(self):
        numbers = np.arange(10, dtype=np.int32)
        batches = weft.data.from_arrays(
            {"x": numbers.astype(np.float32).reshape(10, 1), "label": numbers}
        ).batches(2)
        epoch = iter(batches)
        seen = next(epoch)[1].tolist()
        # Another one between its batches changes neither.
        for _, some in epoch:
            self.assertEqual(len(list(batches)), 5)
            seen += some.tolist()
        self.assertEqual(seen, numbers.tolist())
        self.assertEqual(list(epoch), [])

    def test_rows_and_options(self):
        self.assertIn("csv", weft.data.readers())
        with self.assertRaisesRegex(weft.Error, "heigth"):
            weft.data.open("image_folder", ".", heigth=3)

    def test_wrong_arrays(self):
        with self.assertRaises(weft.Error):
            weft.data.from_arrays({"x": np.zeros((3, 1), np.float32),
                                   "label": np.zeros(4, np.int32)})


if __name__ == "__main__":
    unittest.main()
