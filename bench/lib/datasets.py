"""The batches of real data, in the order in which Weft's loader gives them."""

import gzip
import hashlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from lib.curves import Curve
from lib.models import Model
from lib.permutation import permutation

ORDER_SEED, ORDER_STREAM = 1, 0x6F726431  # as in weft/data/batch_maker.cpp
DIGITS = Path(__file__).resolve().parents[2] / "data" / "digits"
# The mean and deviation of the training pixels, per channel: weft/data/readers/cifar10.cpp.
CIFAR_MEAN = np.array([125.306918, 122.950394, 113.865383], dtype=np.float32)
CIFAR_STD = np.array([62.993219, 62.088708, 66.704900], dtype=np.float32)

Batches = Iterator[tuple[np.ndarray, np.ndarray]]


def batches(curve: Curve, model: Model, data: Path) -> Batches:
    """Images f32[size, H, W, C] with labels i64[size], without end; or tokens
    i64[steps, size] with the tokens that follow them."""
    if curve.data == "ptb":
        return _windows(_ptb_tokens(data), curve.batch, model.steps)
    examples = _digits() if curve.data == "digits" else cifar10(data)
    return _shuffled(*examples, curve.batch)


def files(curve: Curve, data: Path) -> list[Path]:
    """What the curve is made from."""
    if curve.data == "ptb":
        return [data / "ptb" / "ptb.train.txt"]
    if curve.data == "digits":
        return sorted(DIGITS.glob("*.gz"))
    found = sorted((data / "cifar10").glob("data_batch_*.bin"))
    if not found:
        raise FileNotFoundError(f"no data_batch_*.bin in {data / 'cifar10'}")
    return found


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _shuffled(images: np.ndarray, labels: np.ndarray, size: int) -> Batches:
    """A new order each epoch; a last batch that is not full is left out."""
    epoch = 0
    while True:
        order = permutation(len(images), seed=ORDER_SEED, stream=ORDER_STREAM,
                            epoch=epoch)
        for start in range(0, len(images) - size + 1, size):
            rows = order[start:start + size]
            yield images[rows], labels[rows]
        epoch += 1


def cifar10_test(data: Path) -> tuple[np.ndarray, np.ndarray]:
    return _cifar10_examples([data / "cifar10" / "test_batch.bin"])


def cifar10(data: Path) -> tuple[np.ndarray, np.ndarray]:
    return _cifar10_examples(files(Curve("", "", "cifar10", 0), data))


def _cifar10_examples(paths: list[Path]) -> tuple[np.ndarray, np.ndarray]:
    records = np.concatenate([np.fromfile(path, dtype=np.uint8)
                              for path in paths]).reshape(-1, 3073)
    planes = records[:, 1:].reshape(-1, 3, 32, 32)
    pixels = planes.transpose(0, 2, 3, 1).astype(np.float32)
    return (pixels - CIFAR_MEAN) / CIFAR_STD, records[:, 0].astype(np.int64)


def _digits() -> tuple[np.ndarray, np.ndarray]:
    """Every fifth example, from the first on, is held out."""
    def idx(name: str, header_bytes: int) -> np.ndarray:
        path = DIGITS / f"digits-{name}-ubyte.gz"
        raw = gzip.decompress(path.read_bytes())
        return np.frombuffer(raw, dtype=np.uint8, offset=header_bytes)

    images = idx("images-idx3", 16).reshape(-1, 8, 8, 1).astype(np.int64)
    labels = idx("labels-idx1", 8).astype(np.int64)
    kept = np.arange(len(images)) % 5 != 0
    bytes_ = (images * 255 + 8) // 16  # 0 … 16 stretched to 0 … 255
    scaled = bytes_.astype(np.float32) / np.float32(255)
    return scaled[kept], labels[kept]


def _ptb_tokens(data: Path) -> np.ndarray:
    """Every line ends in <eos>; the most frequent word is number 0, and words
    that are equally frequent stand in the order of their bytes."""
    text = (data / "ptb" / "ptb.train.txt").read_text()
    words = text.replace("\n", " <eos> ").split()
    counts = Counter(words)
    order = sorted(counts, key=lambda word: (-counts[word], word.encode()))
    numbers = {word: number for number, word in enumerate(order)}
    return np.array([numbers[word] for word in words], dtype=np.int64)


def _windows(tokens: np.ndarray, size: int, steps: int) -> Batches:
    """The text cut into `size` columns, `steps` rows at a time."""
    rows = len(tokens) // size
    columns = tokens[:rows * size].reshape(size, rows).T
    for start in range(0, rows - steps, steps):
        yield (columns[start:start + steps],
               columns[start + 1:start + steps + 1])
