"""What the links of a lab really do: goodput and round trips."""

import ctypes
import os
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from lib.netlab import Lab, LabError

ROUND_TRIPS = 101
TRANSFER_S = 0.5  # at the configured rate
LEAST_TRANSFER_BYTES = 4_000_000
TOLERANCE = 0.05  # of the goodput
_CLONE_NEWNET = 0x40000000


@dataclass(frozen=True)
class Measured:
    """One direction between two hosts, with nothing else under way."""
    source: str
    target: str
    bytes_per_s: float  # of payload
    round_trip_s: float  # of one byte, median

    def holds(self, lab: Lab) -> bool:
        wanted = lab.plan.link.payload_bytes_per_s
        return abs(self.bytes_per_s / wanted - 1) <= TOLERANCE


def check(lab: Lab) -> Iterator[Measured]:
    """Each host to the next one: every link once in each direction."""
    hosts = lab.plan.hosts
    size = max(LEAST_TRANSFER_BYTES,
               int(TRANSFER_S * lab.plan.link.payload_bytes_per_s))
    for source in range(hosts):
        target = (source + 1) % hosts
        with _connection(lab, source, target) as (near, far):
            trip = median(_round_trip(near, far) for _ in range(ROUND_TRIPS))
            rate = size / _transfer(near, far, size)
        yield Measured(lab.plan.host(source), lab.plan.host(target), rate,
                       trip)


@contextmanager
def _connection(lab: Lab, source: int, target: int
                ) -> Iterator[tuple[socket.socket, socket.socket]]:
    """The two ends of a TCP connection. A socket stays in the namespace in
    which it was made, whoever uses it."""
    plan = lab.plan
    with (_socket(plan.namespace(plan.host(target))) as listener,
          _socket(plan.namespace(plan.host(source))) as near):
        listener.bind((plan.address(target), 0))
        listener.listen()
        near.connect(listener.getsockname())
        far, _ = listener.accept()
        with far:
            for end in (near, far):
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            yield near, far


def _socket(namespace: str) -> socket.socket:
    def make() -> socket.socket:
        libc = ctypes.CDLL(None, use_errno=True)
        with Path("/run/netns", namespace).open() as file:
            if libc.setns(file.fileno(), _CLONE_NEWNET):
                reason = os.strerror(ctypes.get_errno())
                raise LabError(f"cannot enter {namespace}: {reason}")
        return socket.socket()

    # A namespace belongs to a thread: this one enters it and ends.
    with ThreadPoolExecutor(max_workers=1) as thread:
        return thread.submit(make).result()


def _round_trip(near: socket.socket, far: socket.socket) -> float:
    start = time.perf_counter()
    near.sendall(b"x")
    far.sendall(far.recv(1))
    near.recv(1)
    return time.perf_counter() - start


def _transfer(near: socket.socket, far: socket.socket, size: int) -> float:
    """Seconds from the first byte sent to the last one received."""
    sender = threading.Thread(target=near.sendall, args=(bytes(size),))
    start = time.perf_counter()
    sender.start()
    received = 0
    while received < size:
        part = len(far.recv(1 << 20))
        if part == 0:
            raise LabError("the connection ended early")
        received += part
    seconds = time.perf_counter() - start
    sender.join()
    return seconds
