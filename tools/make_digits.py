#!/usr/bin/env python3
"""Makes data/digits from the copy in Debian's package python3-sklearn.

    tools/make_digits.py [digits.csv.gz] [folder]

Writes the images and labels as gzipped IDX files without a time stamp, so
that a second run gives the same bytes, and one held-out image as a PNG to
try `weft predict` on.
"""

import gzip
import pathlib
import struct
import sys
import zlib

SOURCE = "/usr/lib/python3/dist-packages/sklearn/datasets/data/digits.csv.gz"
SIDE = 8
WHITE = 16
SAMPLE = 45  # index % 5 == 0: held out, never trained on


def read_rows(path):
    """(pixels, label) of each line: 64 counts of 0 … 16, then 0 … 9."""
    with gzip.open(path, "rt", encoding="ascii") as lines:
        for line in lines:
            numbers = [int(float(field)) for field in line.split(",")]
            pixels, label = bytes(numbers[:-1]), numbers[-1]
            assert len(pixels) == SIDE * SIDE and max(pixels) <= WHITE
            assert 0 <= label <= 9
            yield pixels, label


def write_idx(path, dims, data):
    header = struct.pack(">BBBB", 0, 0, 0x08, len(dims))
    header += b"".join(struct.pack(">I", dim) for dim in dims)
    path.write_bytes(gzip.compress(header + data, 9, mtime=0))


def write_png(path, pixels):
    """The image as the reader hands it out: 16 becomes 255."""
    def chunk(kind, body):
        return (struct.pack(">I", len(body)) + kind + body +
                struct.pack(">I", zlib.crc32(kind + body)))

    grey = bytes((p * 255 + WHITE // 2) // WHITE for p in pixels)
    rows = b"".join(b"\0" + grey[y * SIDE:(y + 1) * SIDE]
                    for y in range(SIDE))
    path.write_bytes(
        b"\x89PNG\r\n\x1a\n" +
        chunk(b"IHDR", struct.pack(">IIBBBBB", SIDE, SIDE, 8, 0, 0, 0, 0)) +
        chunk(b"IDAT", zlib.compress(rows, 9)) + chunk(b"IEND", b""))


def main():
    source = sys.argv[1] if len(sys.argv) > 1 else SOURCE
    root = pathlib.Path(__file__).resolve().parent.parent
    default = root / "data" / "digits"
    folder = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else default
    folder.mkdir(parents=True, exist_ok=True)

    rows = list(read_rows(source))
    images = b"".join(pixels for pixels, _ in rows)
    labels = bytes(label for _, label in rows)
    write_idx(folder / "digits-images-idx3-ubyte.gz",
              (len(rows), SIDE, SIDE), images)
    write_idx(folder / "digits-labels-idx1-ubyte.gz", (len(rows),), labels)
    write_png(folder / "sample.png", rows[SAMPLE][0])
    print(f"{len(rows)} digits in {folder}; sample.png is a "
          f"{rows[SAMPLE][1]}")


if __name__ == "__main__":
    main()
