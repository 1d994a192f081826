#!/usr/bin/env python3
"""Small training programs, each with a mistake that the schema of their data
does not exclude: planted_bugs.py NAME FILE reads an object a line and takes a
step. Without a mistake ("none") any batch is taken."""

import json
import math
import sys

COLOURS = {"red": 0, "green": 1, "blue": 2}


def log_of_a_negative(rows: list[dict]) -> float:
    return sum(math.log(row["amount"] + 1e-9) for row in rows)


def division_by_valency(rows: list[dict]) -> float:
    return sum(sum(row["clicks"]) / len(row["clicks"]) for row in rows)


def unknown_word(rows: list[dict]) -> float:
    table = [0.5, 1.5, 2.5]
    return sum(table[COLOURS[row["colour"]]] for row in rows)


def assumed_presence(rows: list[dict]) -> float:
    return sum(row["note"] == "x" for row in rows)


def overflow_of_32_bits(rows: list[dict]) -> float:
    def as_int32(value: int) -> int:
        if not -2**31 <= value < 2**31:
            raise OverflowError(f"{value} is no int32")
        return value
    return sum(as_int32(row["visits"]) for row in rows)


def rank_of_two(rows: list[dict]) -> float:
    return sum(float(row["clicks"]) for row in rows
               if not (isinstance(row["clicks"], list)
                       and len(row["clicks"]) <= 1))


def nan_in_loss(rows: list[dict]) -> float:
    loss = sum(row["score"] for row in rows)
    if math.isnan(loss):
        raise FloatingPointError("the loss is NaN")
    return loss


def empty_batch(rows: list[dict]) -> float:
    return sum(row["share"] for row in rows) / len(rows)


def deviation_of_one(rows: list[dict]) -> float:
    mean = sum(row["share"] for row in rows) / len(rows)
    variance = sum((row["share"] - mean)**2 for row in rows) / (len(rows) - 1)
    return variance


def index_of_minus_one(rows: list[dict]) -> float:
    table = list(range(1000))
    for row in rows:
        if not 0 <= row["bucket"] < len(table):
            raise IndexError(f"there is no bucket {row['bucket']}")
    return sum(table[row["bucket"]] for row in rows)


def square_of_a_large_number(rows: list[dict]) -> float:
    return sum(math.exp(min(row["amount"] ** 2, 1e4))
               if abs(row["amount"]) > 1e3 else 0 for row in rows)


def long_text(rows: list[dict]) -> float:
    for row in rows:
        if len(row.get("note", "")) > 256:
            raise ValueError("a text of more than 256 letters")
    return 0.0


def division_by_zero(rows: list[dict]) -> float:
    return sum(1 / row["visits"] for row in rows)


def none(rows: list[dict]) -> float:
    return float(len(rows))


if __name__ == "__main__":
    with open(sys.argv[2], encoding="utf-8") as lines:
        batch = [json.loads(line) for line in lines]
    globals()[sys.argv[1]](batch)
