"""The driver's end of a worker process; the protocol is in bench/README.md."""

import json
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Sequence


class WorkerError(RuntimeError):
    """A worker that did not start, died, hung, or answered nonsense."""


class Worker:
    """A long-lived process that answers one JSON line per request line."""

    def __init__(self, command: Sequence[str], threads: int,
                 timeout_s: float = 120, rests: bool = False):
        """One that `rests` is stopped while nobody asks it: threads that spin for
        work would take the cores of the side whose turn it is."""
        self._command, self._timeout_s = list(map(str, command)), timeout_s
        self._rests = rests
        # Binary and unbuffered, so that select never misses what a buffer
        # already holds.
        environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}
        try:
            self._process = subprocess.Popen(
                self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                env=environment, bufsize=0)
        except OSError as error:
            raise WorkerError(f"cannot start {self._command[0]}: {error}")

    def ask(self, request: str) -> dict:
        """Sends one request and waits for its answer."""
        self._signal(signal.SIGCONT)
        try:
            self._process.stdin.write(request.encode() + b"\n")
        except BrokenPipeError:
            raise self._failed(request, "it has ended")
        line = self._read_line(request)
        self._signal(signal.SIGSTOP)
        try:
            answer = json.loads(line)
        except ValueError:
            raise self._failed(request, f"it said {line[:200]!r}")
        if "error" in answer:
            raise self._failed(request, answer["error"])
        return answer

    def _signal(self, which: signal.Signals) -> None:
        if self._rests and self._process.poll() is None:
            self._process.send_signal(which)

    def _read_line(self, request: str) -> bytes:
        end, line = time.monotonic() + self._timeout_s, b""
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            while not line.endswith(b"\n"):
                if not selector.select(max(0.0, end - time.monotonic())):
                    raise self._failed(
                        request, f"no answer in {self._timeout_s:.0f} s")
                part = self._process.stdout.read(65536)
                if not part:
                    raise self._failed(
                        request,
                        f"it ended with code {self._process.wait()}")
                line += part
        return line

    def _failed(self, request: str, why: str) -> WorkerError:
        return WorkerError(f"{' '.join(self._command)}: {request}: {why}")

    def close(self) -> None:
        """Asks the process to quit; kills it when it does not."""
        self._signal(signal.SIGCONT)
        try:
            self._process.stdin.write(b"quit\n")
            self._process.stdin.close()
            self._process.wait(timeout=10)
        except (OSError, subprocess.TimeoutExpired):
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()

    def __enter__(self) -> "Worker":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class OneShot:
    """A program that does one block per start and prints its JSON line."""

    def __init__(self, command: Sequence[str]):
        self._command = list(map(str, command))

    def ask(self, request: str) -> dict:
        done = subprocess.run(self._command, capture_output=True, text=True)
        if done.returncode:
            raise WorkerError(f"{' '.join(self._command)}: {request}: ended "
                              f"with code {done.returncode}: {done.stderr}")
        return json.loads(done.stdout)
