#!/usr/bin/env python3
"""Who has only pip trains, measures, exports and serves a model of a table, and
counts one that is Parquet: wheel_works.py BIN, where pip has put the command.
tools/test_all.sh runs it."""

import json
import os
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path

WEFT = Path(sys.argv[1]).resolve() / "weft"
# Nothing of the repository or of the environment's other programs is found.
ALONE = {"PATH": f"{WEFT.parent}:/usr/bin:/bin", "HOME": os.environ["HOME"]}
ROWS = 300
PRICE_OF_ROOM = 50
CAKES = Path(__file__).resolve().parents[1] / "data/parquet/cakes.parquet"


def weft(*arguments: str) -> str:
    return subprocess.run([WEFT, *arguments], env=ALONE, check=True, text=True,
                          stdout=subprocess.PIPE).stdout


def write_flats() -> None:
    lines = ["rooms,quarter,price"]
    for i in range(ROWS):
        rooms, is_north = 1 + i % 4, i % 3 == 0
        price = PRICE_OF_ROOM * rooms + (20 if is_north else 0) + i % 7 / 10
        lines.append(f"{rooms},{'north' if is_north else 'south'},{price}")
    Path("flats.csv").write_text("\n".join(lines) + "\n")


def ask(address: str, row: str) -> float:
    request = urllib.request.Request(
        f"{address}/v2/models/flats/predict", row.encode(),
        {"Content-Type": "text/plain"})
    return json.load(urllib.request.urlopen(request))["prediction"]["price"]


def serve() -> list[float]:
    with subprocess.Popen([WEFT, "serve", "flats.weft", "--no-grpc", "--port",
                           "0"], env=ALONE, text=True,
                          stdout=subprocess.PIPE) as server:
        try:
            address = server.stdout.readline().split()[-1].rstrip("/")
            return [ask(address, f"rooms={rooms},quarter=south")
                    for rooms in (1, 4)]
        finally:
            server.terminate()


def count_cakes() -> int:
    return json.loads(weft("validate", "stats", str(CAKES), "--json"))["rows"]


def main() -> str | None:
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        write_flats()
        weft("new", "flats.csv")
        weft("eval", "runs/flats")
        weft("export", "runs/flats", "-o", "flats.weft")
        prices = serve()
    told = prices[1] - prices[0]
    if abs(told - 3 * PRICE_OF_ROOM) > PRICE_OF_ROOM / 2:
        return f"three more rooms cost {told}, and not {3 * PRICE_OF_ROOM}"
    if (cakes := count_cakes()) != 600:
        return f"there are {cakes} cakes, and not 600"
    return None


if __name__ == "__main__":
    sys.exit(main())
