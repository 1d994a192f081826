"""A running weft-serve, with models that are written here by hand from their
format, and clients of it that use the standard library alone."""

import contextlib
import http.client
import json
import os
import re
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cli"))

from weft import BIN, ROOT  # noqa: E402

GRAPH = """
func @scale(%0 "x": f32[N, 2], %1 "factor": f32[2]) -> (f32[N, 2]) {
  %2 = multiply(%0, %1) : f32[N, 2]
  return %2
}
"""
INFO = {"format": 1, "entry": "scale",
        "hidden": [{"tensor": "0.factor", "kind": "constant"}]}
INFER = "/v2/models/scale/infer"
PATIENCE_S = 60


def scale_bytes(first: float) -> bytes:
    """A model that multiplies rows of two by (first, 100)."""
    header = json.dumps({
        "__metadata__": {"weft.graph": GRAPH,
                         "weft.function": json.dumps(INFO)},
        "0.factor": {"dtype": "F32", "shape": [2],
                     "data_offsets": [0, 8]}}).encode()
    header += b" " * (-len(header) % 8)
    return (struct.pack("<Q", len(header)) + header +
            struct.pack("<2f", first, 100))


def rows(*values: list[float]) -> dict:
    return {"inputs": [{"name": "x", "datatype": "FP32",
                        "shape": [len(values), 2], "data": list(values)}]}


def eventually(holds: Callable[[], bool]) -> None:
    """Asks until it is so: the other process takes its time."""
    end = time.monotonic() + PATIENCE_S
    while not holds():
        if time.monotonic() > end:
            raise AssertionError("it did not come about")
        os.sched_yield()


class Running:
    """One server. `http` and `grpc` are (host, port)."""

    def __init__(self, *arguments: object, **environment: str) -> None:
        # Through the command line, which executes the server in its place.
        self.process = subprocess.Popen(
            [str(BIN), "serve", *map(str, arguments), "--port", "0"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            cwd=ROOT, env={**os.environ, **environment})
        self.http = self._address("http")
        self.grpc = (None if "--no-grpc" in arguments
                     else self._address("grpc"))

    def _address(self, scheme: str) -> tuple[str, int]:
        line = self.process.stdout.readline()
        match = re.fullmatch(rf"{scheme}s?://(.+):(\d+)\n", line)
        if not match:
            raise AssertionError(line + self.process.communicate()[1])
        return match[1], int(match[2])

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(*self.http, timeout=PATIENCE_S)

    def ask(self, method: str, path: str, body: object = None,
            **headers: str) -> tuple[int, object]:
        connection = self.connect()
        with contextlib.closing(connection):
            text = (body if isinstance(body, (bytes, type(None)))
                    else json.dumps(body))
            connection.request(method, path, text, headers)
            answer = connection.getresponse()
            read = answer.read()
            try:
                return answer.status, json.loads(read)
            except ValueError:
                return answer.status, read.decode()

    def infer(self, *values: list[float]) -> object:
        return self.ask("POST", INFER, rows(*values))[1]

    def metric(self, name: str) -> float:
        text = self.ask("GET", "/metrics")[1]
        return float(re.search(rf"^{re.escape(name)} (\S+)$", text, re.M)[1])

    def terminate(self) -> tuple[int, str]:
        """SIGTERM; the exit code, and what was logged."""
        self.process.send_signal(signal.SIGTERM)
        errors = self.process.communicate(timeout=PATIENCE_S)[1]
        return self.process.returncode, errors


class ServeTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="weft-serve-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.model = self.folder / "scale.weft"
        self.model.write_bytes(scale_bytes(10))

    @contextlib.contextmanager
    def serving(self, *arguments: object,
                **environment: str) -> Iterator[Running]:
        running = Running(self.model, *arguments, **environment)
        try:
            yield running
        finally:
            if running.process.poll() is None:
                running.process.kill()
            running.process.communicate()
