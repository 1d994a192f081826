#!/usr/bin/env python3
"""What others take for the statistics of a table: pandas' describe, DuckDB's
SUMMARIZE, TFDV's generate_statistics_from_csv. Prints the seconds of a core
that each round takes, reading included, and the rows."""

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path


def pandas_describe(table: Path) -> int:
    import pandas
    frame = pandas.read_csv(table, skipinitialspace=True)
    frame.describe(include="all")
    return len(frame)


def duckdb_summarize(table: Path) -> int:
    import duckdb
    connection = duckdb.connect()
    connection.execute("SET threads TO 1")
    found = connection.execute(
        f"SUMMARIZE SELECT * FROM read_csv('{table}')").fetchall()
    return found[0][10]


def tfdv_statistics(table: Path) -> int:
    import tensorflow_data_validation as tfdv
    statistics = tfdv.generate_statistics_from_csv(str(table))
    return statistics.datasets[0].num_examples


PEERS: dict[str, Callable[[Path], int]] = {
    "pandas": pandas_describe, "duckdb": duckdb_summarize,
    "tfdv": tfdv_statistics}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("peer", choices=PEERS)
    parser.add_argument("table", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--warm-up", type=Path,
                        help="a small table that is read first")
    arguments = parser.parse_args()
    work = PEERS[arguments.peer]
    if arguments.warm_up:
        work(arguments.warm_up)
    seconds = []
    for _ in range(arguments.rounds):
        begin = time.process_time()
        rows = work(arguments.table)
        seconds.append(time.process_time() - begin)
    print(json.dumps({"seconds": seconds, "rows": rows}))


if __name__ == "__main__":
    main()
