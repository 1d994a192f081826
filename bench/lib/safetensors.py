"""Reads safetensors files, and writes f32 ones: an 8-byte length, JSON, the
data."""

import json
from pathlib import Path

import numpy as np

DTYPES = {"F32": "<f4", "I32": "<i4", "I64": "<i8"}


def read(path: Path) -> dict[str, np.ndarray]:
    """Every tensor of the file, of these dtypes."""
    raw = path.read_bytes()
    start = 8 + int.from_bytes(raw[:8], "little")
    tensors = {}
    for name, entry in json.loads(raw[8:start]).items():
        if name == "__metadata__":
            continue
        if entry["dtype"] not in DTYPES:
            raise ValueError(f"{path}: {name} is {entry['dtype']}, not one of "
                             f"{', '.join(DTYPES)}")
        begin, end = entry["data_offsets"]
        flat = np.frombuffer(raw[start + begin:start + end],
                             dtype=DTYPES[entry["dtype"]])
        tensors[name] = flat.reshape(entry["shape"])
    return tensors


def write(path: Path, tensors: dict[str, np.ndarray]) -> None:
    """Writes the tensors one behind the other, in the order given."""
    header, offset = {}, 0
    for name, tensor in tensors.items():
        size = 4 * tensor.size
        header[name] = {"dtype": "F32", "shape": list(tensor.shape),
                        "data_offsets": [offset, offset + size]}
        offset += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)  # the data starts on eight bytes
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for tensor in tensors.values():
            file.write(tensor.astype("<f4").tobytes())
