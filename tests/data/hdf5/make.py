#!/usr/bin/env python3
"""Writes the HDF5 files that stand beside it, and as CSV what one of them holds. They
are made once, by a program that is not ours: pip install h5py==3.16.0."""

import random
from pathlib import Path

import h5py
import numpy

HERE = Path(__file__).resolve().parent


def write_points() -> None:
    """Points of four numbers, and in which of three parts of space they lie."""
    chance = random.Random(1)
    rows = [[round(chance.uniform(-2, 2), 4) for _ in range(4)]
            for _ in range(150)]
    labels = [sum(value > 0 for value in row[:2]) for row in rows]
    lines = ["a,b,c,d,label"]
    lines += [",".join(map(str, [*row, label]))
              for row, label in zip(rows, labels)]
    (HERE / "points.csv").write_text("\n".join(lines) + "\n")
    with h5py.File(HERE / "points.h5", "w", libver="v110") as file:
        file.create_dataset("x", data=numpy.array(rows), chunks=(16, 3),
                            compression="gzip", fletcher32=True)
        file.create_dataset("label", data=numpy.array(labels, numpy.int64))


def write_types() -> None:
    with h5py.File(HERE / "types.h5", "w", libver="v110") as file:
        for name, kind in (("u8", numpy.uint8), ("i8", numpy.int8),
                           ("u16", numpy.uint16), ("i16", numpy.int16),
                           ("u32", numpy.uint32), ("i64", numpy.int64),
                           ("f16", numpy.float16), ("f32", numpy.float32),
                           ("f64", numpy.float64)):
            least, most = ((-2.5, 1.5) if kind(0.5) else
                           (numpy.iinfo(kind).min, numpy.iinfo(kind).max))
            file["numbers/" + name] = numpy.array([[least], [1], [most]], kind)
        file["u64"] = numpy.array([1, 2, 3], numpy.uint64)
        file["words"] = ["a", "b", "c"]
        file["scalar"] = 1.0
        file["label"] = numpy.array([0.5, 1.5, 2.5])


write_points()
write_types()
