"""The memory of `weft serve` is bounded, however many shapes come, and however
long."""

import json
import os
import threading
from pathlib import Path
from statistics import linear_regression

from lib.bench import Bar, Bench, Setting
from lib.exchange_serving import (SHARE_OF_CAPACITY, Measurements, request_of,
                                  write_function)
from lib.suite import marked

SHAPES = 1000
LOAD_S = float(os.environ.get("WEFT_SERVE_LOAD_S", 60))  # an hour: 3600

SHAPES_MEMORY = Bar("serving: memory after 1,000 shapes, over that after 100",
                    "times", 1.1, at_most=True)
LOAD_MEMORY = Bar("serving: memory after a load, over that after a tenth of it",
                  "times", 1.05, at_most=True)
SOAK = "serving: 1,000 shapes at 70 % of capacity"
SOAK_MEMORY = Bar(f"{SOAK}: growth of memory after a tenth of it", "%", 5,
                  at_most=True)
SOAK_FAILED = Bar(f"{SOAK}: requests that failed", "", 0, at_most=True)
SOAK_SAMPLES = 50  # of memory

# Rows of any length, of which each has plans of its own.
LENGTHS_GRAPH = """
func @softmax(%0 "x": f32[N, T]) -> (f32[N, T]) {
  %1 = softmax(%0) : f32[N, T]
  return %1
}
"""


def benches(where: Setting) -> list[Bench]:
    measured = Memory(where)
    return [Bench((SHAPES_MEMORY,), measured.shapes),
            Bench((LOAD_MEMORY,), measured.long_load),
            Bench((SOAK_MEMORY, SOAK_FAILED), measured.soak)]


def growth(samples: list[float]) -> float:
    """How much the straight line through samples that are taken evenly rises,
    in percent of where it begins."""
    line = linear_regression(range(len(samples)), samples)
    return 100 * line.slope * (len(samples) - 1) / line.intercept


class Memory(Measurements):
    def lengths_model(self) -> Path:
        path = self.folder / "lengths.weft"
        write_function(path, "softmax", LENGTHS_GRAPH, {})
        return path

    @staticmethod
    def row_of(length: int) -> bytes:
        return json.dumps({"inputs": [{"name": "x", "datatype": "FP32",
                                       "shape": [1, length],
                                       "data": [1] * length}]}).encode()

    def shapes(self) -> dict:
        self.folder.mkdir(parents=True, exist_ok=True)
        with self.ours(self.lengths_model()) as server:
            early = 0.0
            for length in range(1, SHAPES + 1):
                server.post("/v2/models/lengths/infer", self.row_of(length))
                if length == 100:
                    early = server.resident_bytes()
            late = server.resident_bytes()
        return {SHAPES_MEMORY.name: {
            "ours": late / early, "ratio": late / early,
            "note": f"{early / 1e6:.0f} to {late / 1e6:.0f} MB"}}

    @property
    def load_seconds(self) -> float:
        return 10 if self.where.quick else LOAD_S

    def soak(self) -> dict:
        """Rows of all lengths in turn, by Poisson's law, while somebody asks now
        and then how much memory there is."""
        requests = self.folder / "lengths"
        requests.mkdir(parents=True, exist_ok=True)
        for length in range(1, SHAPES + 1):
            (requests / f"{length:04}").write_bytes(
                request_of("lengths", self.row_of(length)))
        with self.ours(self.lengths_model()) as server:
            capacity = self.send(server, requests, self.seconds)["rate"]
            samples, over = [], threading.Event()

            def sample() -> None:
                while not over.wait(self.load_seconds / SOAK_SAMPLES):
                    samples.append(server.resident_bytes())
            sampler = threading.Thread(target=sample)
            sampler.start()
            try:
                found = self.send(server, requests, self.load_seconds,
                                  SHARE_OF_CAPACITY * capacity, "poisson")
            finally:
                over.set()
                sampler.join()
        settled = samples[len(samples) // 10:]
        more = growth(settled)
        note = (f"{self.load_seconds:g} s, {found['answered']:,} requests, "
                f"{found['rate']:,.0f} of {capacity:,.0f} a second; "
                f"{min(settled) / 1e6:.1f} to {max(settled) / 1e6:.1f} MB")
        return {SOAK_MEMORY.name: {"ours": more, "ratio": more,
                                   "note": marked(self.where, note)},
                SOAK_FAILED.name: {"ours": found["errors"],
                                   "ratio": found["errors"]}}

    def long_load(self) -> dict:
        seconds = self.load_seconds
        with self.ours(self.digits()) as server:
            self.load(server, seconds / 10)
            early = server.resident_bytes()
            self.load(server, seconds * 9 / 10)
            late = server.resident_bytes()
        return {LOAD_MEMORY.name: {
            "ours": late / early, "ratio": late / early,
            "note": marked(self.where, f"{seconds} s: {early / 1e6:.0f} to "
                           f"{late / 1e6:.0f} MB")}}
