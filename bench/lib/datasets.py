"""The first batches of CIFAR-10 and PTB, in Weft's order."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from lib.permutation import permutation

SHUFFLE_SEED, SHUFFLE_STREAM = 1, 1
CIFAR_MEAN = np.array([0.4914, 0.4822, 0.4465], dtype=np.float32)
CIFAR_STD = np.array([0.2470, 0.2435, 0.2616], dtype=np.float32)

Batches = Iterator[tuple[np.ndarray, np.ndarray]]


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def cifar10_files(data: Path) -> list[Path]:
    """The training files that are there, in the order of their names."""
    files = sorted((data / "cifar10").glob("data_batch_*.bin"))
    if not files:
        raise FileNotFoundError(f"no data_batch_*.bin in {data / 'cifar10'}")
    return files


def cifar10_batches(data: Path, size: int) -> Batches:
    """Endless batches, shuffled anew each epoch; a short last one is left out.

    Images f32[size, 32, 32, 3]: byte / 255, less the mean, over the deviation.
    """
    raw = np.concatenate([np.fromfile(file, dtype=np.uint8)
                          for file in cifar10_files(data)]).reshape(-1, 3073)
    labels = raw[:, 0].astype(np.int64)
    planes = raw[:, 1:].reshape(-1, 3, 32, 32)
    epoch = 0
    while True:
        order = permutation(len(raw), seed=SHUFFLE_SEED, stream=SHUFFLE_STREAM,
                            epoch=epoch)
        for start in range(0, len(raw) - size + 1, size):
            chosen = order[start:start + size]
            images = planes[chosen].transpose(0, 2, 3, 1).astype(np.float32)
            images = (images / np.float32(255) - CIFAR_MEAN) / CIFAR_STD
            yield images, labels[chosen]
        epoch += 1


def ptb_file(data: Path) -> Path:
    return data / "ptb" / "ptb.train.txt"


def ptb_batches(data: Path, size: int, steps: int) -> Batches:
    """Windows of `steps` rows over the text cut into `size` columns.

    Every line ends in <eos>; ids are given in order of first appearance.
    Inputs and labels are i64[steps, size], labels one word later.
    """
    text = ptb_file(data).read_text()
    ids: dict[str, int] = {}
    stream = [ids.setdefault(word, len(ids))
              for word in text.replace("\n", " <eos> ").split()]
    rows = len(stream) // size
    columns = np.array(stream[:rows * size], dtype=np.int64)
    columns = columns.reshape(size, rows).T
    for start in range(0, rows - steps, steps):
        window = columns[start:start + steps + 1]
        yield window[:-1], window[1:]
