#!/usr/bin/env python3
"""Writes the Parquet files that stand beside it, and as CSV what two of them hold.
They are made once, by a program that is not ours: pip install pyarrow==26.0.1."""

import datetime
import decimal
import random
from pathlib import Path

import numpy
import pyarrow
import pyarrow.parquet

HERE = Path(__file__).resolve().parent


def write_types() -> None:
    """A column of each type that a table can have, with a row that has none."""
    day = datetime.date(1970, 1, 11)
    moment = datetime.datetime(1970, 1, 1, 0, 0, 1)
    halves = pyarrow.array([numpy.float16(0.5), None, numpy.float16(-2)])
    columns = {
        "bool": pyarrow.array([True, None, False]),
        "int8": pyarrow.array([-128, None, 127], pyarrow.int8()),
        "int64": pyarrow.array([-2**63, None, 2**63 - 1]),
        "uint32": pyarrow.array([2**32 - 1, None, 0], pyarrow.uint32()),
        "uint64": pyarrow.array([2**64 - 1, None, 0], pyarrow.uint64()),
        "half": halves,
        "float": pyarrow.array([0.1, None, 1e-40], pyarrow.float32()),
        "double": pyarrow.array([0.1, None, float("nan")]),
        "text": pyarrow.array(['say "a, b"', None, ""]),
        "words": pyarrow.array(["x", None, "x"]).dictionary_encode(),
        "small_decimal": pyarrow.array(
            [decimal.Decimal("1.10"), None, decimal.Decimal("-0.01")],
            pyarrow.decimal128(6, 2)),
        "decimal": pyarrow.array(
            [decimal.Decimal("12345678901234567890.5"), None,
             decimal.Decimal("-0.1")], pyarrow.decimal128(38, 1)),
        "date": pyarrow.array([day, None, day]),
        "moment": pyarrow.array([moment, None, moment],
                                pyarrow.timestamp("ms")),
        "whole": pyarrow.array([1, 2, 3], pyarrow.int32()),
    }
    fields = [pyarrow.field(name, column.type, nullable=name != "whole")
              for name, column in columns.items()]
    pyarrow.parquet.write_table(
        pyarrow.table(list(columns.values()), schema=pyarrow.schema(fields)),
        HERE / "types.parquet", store_decimal_as_integer=False)
    pyarrow.parquet.write_table(
        pyarrow.table({"small": columns["small_decimal"], "old": columns["moment"],
                       "label": columns["whole"]}), HERE / "older.parquet",
        store_decimal_as_integer=True, use_deprecated_int96_timestamps=True)


def write_nested() -> None:
    pyarrow.parquet.write_table(
        pyarrow.table({"size": [1.5, 2.5], "tags": [["a"], ["b", "c"]],
                       "place": [{"x": 1}, {"x": 2}], "raw": [
                           b"0123456789abcdef"] * 2, "label": [0, 1]},
                      schema=pyarrow.schema(
                          [("size", pyarrow.float64()),
                           ("tags", pyarrow.list_(pyarrow.string())),
                           ("place", pyarrow.struct([("x", pyarrow.int64())])),
                           ("raw", pyarrow.binary(16)),
                           ("label", pyarrow.int64())])),
        HERE / "nested.parquet")


def write_pages() -> None:
    """Texts that stand in pages, each only as long as its page is read."""
    words = [f"word {i}" + "!" * (i % 7) for i in range(500)]
    pyarrow.parquet.write_table(
        pyarrow.table({"word": words, "two": [[a, a[::-1]] for a in words]}),
        HERE / "pages.parquet", use_dictionary=False, data_page_size=256,
        write_batch_size=16, compression="zstd")


def write_lists() -> None:
    """Lists of values, with rows that have none, and what is no list of values."""
    columns = {
        "words": (pyarrow.string(), [["a"], None, [], ["b", "", "c"]]),
        "sizes": (pyarrow.int32(), [[1, 2], [3], None, []]),
        "flags": (pyarrow.bool_(), [[], [True], [False, True], None])}
    schema = pyarrow.schema([(name, pyarrow.list_(kind))
                             for name, (kind, _) in columns.items()])
    many = {name: rows * 500 for name, (_, rows) in columns.items()}
    pyarrow.parquet.write_table(pyarrow.table(many, schema=schema),
                                HERE / "lists.parquet", row_group_size=700,
                                data_page_size=1024, compression="zstd")
    pyarrow.parquet.write_table(
        pyarrow.table({"holes": [[1, None]]}), HERE / "holes.parquet")
    pyarrow.parquet.write_table(
        pyarrow.table({"deep": [[[1], [2, 3]]]}), HERE / "deep.parquet")


def write_cakes() -> None:
    """Cakes cost 2 a kilogram, and twice that if of cream. Codes are texts, which look
    like numbers."""
    chance = random.Random(1)
    rows = []
    for _ in range(600):
        weight = round(chance.uniform(1, 9), 3)
        kind = chance.choice(["cream", "fruit", None])
        price = round(weight * (4 if kind == "cream" else 2), 2)
        rows.append({"kilograms": None if chance.random() < 0.05 else weight,
                     "kind": kind, "code": f"0{chance.randrange(5)}",
                     "layers": chance.randrange(1, 5),
                     "heavy": "yes" if weight > 5 else "no", "price": price})
    lines = [",".join(rows[0])]
    for row in rows:
        lines.append(",".join("" if value is None else str(value)
                              for value in row.values()))
    (HERE / "cakes.csv").write_text("\n".join(lines) + "\n")
    table = pyarrow.Table.from_pylist(rows)
    pyarrow.parquet.write_table(table, HERE / "cakes.parquet",
                                row_group_size=100, compression="zstd",
                                write_page_checksum=True)
    # The same in parts, as programs write them.
    (HERE / "parts").mkdir(exist_ok=True)
    for i, (begin, end) in enumerate(((0, 250), (250, 600))):
        pyarrow.parquet.write_table(table.slice(begin, end - begin),
                                    HERE / f"parts/part-{i}.parquet",
                                    row_group_size=128, compression="snappy")


write_types()
write_nested()
write_lists()
write_pages()
write_cakes()
