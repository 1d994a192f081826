"""Reads and writes f32 safetensors files: an 8-byte length, JSON, the data."""

import json
from pathlib import Path

import numpy as np


def read(path: Path) -> dict[str, np.ndarray]:
    """Every tensor of the file, which must hold nothing but f32."""
    raw = path.read_bytes()
    start = 8 + int.from_bytes(raw[:8], "little")
    tensors = {}
    for name, entry in json.loads(raw[8:start]).items():
        if name == "__metadata__":
            continue
        if entry["dtype"] != "F32":
            raise ValueError(f"{path}: {name} is {entry['dtype']}, not F32")
        begin, end = entry["data_offsets"]
        flat = np.frombuffer(raw[start + begin:start + end], dtype="<f4")
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
