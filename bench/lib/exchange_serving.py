"""`weft serve` under load: what it can do beside other servers, how long its
tail is, and whether it keeps to its threads."""

import json
import re
import subprocess
import threading
import time
import urllib.request
from array import array
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cache, partial
from math import prod
from pathlib import Path
from random import Random
from statistics import median

from lib.bench import Bar, Bench, Setting
from lib.suite import answer, marked
from lib.worker import WorkerError

CONNECTIONS = 16
SHARE_OF_CAPACITY = 0.7
CLIENTS = 8
STARTS_WITHIN_S = 60
BETWEEN_TRIES_S = 0.1

# What answers beside us, and how many times its requests we must.
PEERS = {"onnxruntime, FastAPI": 1.5, "Triton": 1.0}
# Requests at even intervals, and those of many people who know nothing of each
# other.
LAWS = {"even": "at even intervals", "poisson": "by Poisson's law"}
TAILS = {(model, law): Bar(
    f"serving: {model}, p99 over p50 at 70 % of capacity{name}", "times", 1.5,
    at_most=True)
    for model in ("digits", "dense")
    for law, name in (("even", ""), ("poisson", ", Poisson's law"))}
THREADS = Bar("serving: threads that compute for 8 clients, over the budget",
              "times", 1, at_most=True)
# Eight square layers: what a run takes is reading their weights, for any few
# rows.
WIDTH, LAYERS = 1024, 8

def benches(where: Setting) -> list[Bench]:
    measured = Measurements(where)
    return [*(measured.race_bench(peer) for peer in PEERS),
            *(Bench((bar,), partial(measured.tail, model, law))
              for (model, law), bar in TAILS.items()),
            Bench((THREADS,), measured.threads)]


def request_of(model: str, body: bytes) -> bytes:
    """That to infer, as HTTP has it."""
    return (b"POST /v2/models/%s/infer HTTP/1.1\r\nHost: localhost\r\n"
            b"Content-Type: application/json\r\n"
            b"Content-Length: %d\r\n\r\n" % (model.encode(), len(body)) + body)


def has_ended(process: subprocess.Popen) -> bool:
    """Within a moment. That it listens, a server of others tells nobody."""
    try:
        process.wait(BETWEEN_TRIES_S)
    except subprocess.TimeoutExpired:
        return False
    return True


def write_function(path: Path, entry: str, graph: str,
                   constants: dict[str, tuple[list[int], bytes]]) -> None:
    """A file as export_function() writes it (weft/files/exported.h), of f32."""
    info = {"format": 1, "entry": entry, "hidden": [
        {"tensor": name, "kind": "constant"} for name in constants]}
    header: dict = {"__metadata__": {"weft.graph": graph,
                                     "weft.function": json.dumps(info)}}
    offset = 0
    for name, (shape, data) in constants.items():
        header[name] = {"dtype": "F32", "shape": shape,
                        "data_offsets": [offset, offset + len(data)]}
        offset += len(data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for _, data in constants.values():
            file.write(data)


class Server:
    """A process that answers at a port; its own, or a worker of it."""

    def __init__(self, process: subprocess.Popen, port: int):
        self.process, self.port = process, port

    def post(self, path: str, body: bytes) -> bytes:
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}{path}", body,
            {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=60) as read:
            return read.read()

    def get(self, path: str) -> str:
        with urllib.request.urlopen(
                f"http://127.0.0.1:{self.port}{path}", timeout=60) as read:
            return read.read().decode()

    def resident_bytes(self) -> float:
        return float(re.search(r"^process_resident_memory_bytes (\S+)$",
                               self.get("/metrics"), re.M)[1])


class Measurements:
    def __init__(self, where: Setting):
        self.where = where
        self.folder = where.build / "bench" / "serving"
        self.digits = cache(self._digits)

    def _digits(self) -> Path:
        """The digits recipe's model, trained and exported."""
        weft, out = self.where.build / "bin/weft", self.folder / "digits.weft"
        for command in (["train", self.where.root / "recipes/digits.toml",
                         "--out", self.folder / "run"],
                        ["export", self.folder / "run", "-o", out]):
            subprocess.run([weft, *command], check=True, capture_output=True)
        return out

    def ours(self, model: Path,
             threads: int = 0) -> AbstractContextManager[Server]:
        return self.listening([self.where.build / "bin/weft", "serve", model,
                               "--port", 0, "--no-grpc", "--threads",
                               threads or self.where.threads])

    @contextmanager
    def listening(self, command: list) -> Iterator[Server]:
        """That of a program whose first line ends with its port."""
        process = subprocess.Popen(
            list(map(str, command)), stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True)
        try:
            line = process.stdout.readline()
            if not line:
                raise WorkerError(f"{command[0]} did not start")
            yield Server(process, int(line.rsplit(":", 1)[1]))
        finally:
            process.terminate()
            process.wait()

    @contextmanager
    def peer(self, name: str, model: Path) -> Iterator[Server]:
        peers = self.where.root / "bench/peers"
        port = 18000 + Random().randrange(2000)
        onnx = self.folder / "digits.onnx"
        subprocess.run([self.where.peers.python, peers / "digits_onnx.py",
                        model, onnx], check=True)
        command = ([self.triton_python(), peers / "triton_server.py", onnx,
                    "--threads", self.where.threads] if name == "Triton" else
                   [self.where.peers.python, peers / "onnx_server.py", onnx,
                    "--workers", self.where.threads])
        process = subprocess.Popen(
            list(map(str, [*command, "--port", port])),
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        server = Server(process, port)
        try:
            end = time.monotonic() + STARTS_WITHIN_S
            while not self._is_up(server):
                if has_ended(process) or time.monotonic() > end:
                    raise WorkerError("the peer's server did not start")
            yield server
        finally:
            process.terminate()
            process.wait()

    def triton_python(self) -> Path:
        """That of an environment of its own, made once."""
        folder = self.where.build / "peers-triton"
        python = folder / "bin" / "python"
        if not python.is_file():
            subprocess.run(["/usr/bin/python3", "-m", "venv", folder],
                           check=True)
            subprocess.run([python, "-m", "pip", "install", "-q", "-r",
                            self.where.root / "bench/requirements-triton.txt"],
                           check=True)
        return python

    @staticmethod
    def _is_up(server: Server) -> bool:
        try:
            server.get("/v2/models/digits/ready")
            return True
        except OSError:
            return False

    def dense(self) -> Path:
        """Layers of relu(x w), as their text and weights."""
        self.folder.mkdir(parents=True, exist_ok=True)
        names = [f"w{i}" for i in range(LAYERS)]
        parameters = [f'%{i + 1} "{name}": f32[{WIDTH}, {WIDTH}]'
                      for i, name in enumerate(names)]
        body, last = [], 0
        for layer in range(LAYERS):
            at = LAYERS + 1 + 2 * layer
            body += [f"%{at} = matmul(%{last}, %{layer + 1}) : f32[N, {WIDTH}]",
                     f"%{at + 1} = relu(%{at}) : f32[N, {WIDTH}]"]
            last = at + 1
        graph = (f'func @dense(%0 "x": f32[N, {WIDTH}], '
                 f'{", ".join(parameters)}) -> (f32[N, {WIDTH}]) {{\n' +
                 "\n".join(body) + f"\nreturn %{last}\n}}\n")
        # All layers have the same weights, each in memory of its own.
        random, bound = Random(1), (6 / WIDTH)**0.5
        layer = array("f", (random.uniform(-bound, bound)
                            for _ in range(WIDTH**2))).tobytes()
        path = self.folder / "dense.weft"
        write_function(path, "dense", graph,
                       {name: ([WIDTH, WIDTH], layer) for name in names})
        return path

    @staticmethod
    def body_of(model: str) -> bytes:
        name, shape = {"digits": ("image", [1, 8, 8, 1]),
                       "dense": ("x", [1, WIDTH])}[model]
        random = Random(1)
        data = [random.randrange(17) / 16 for _ in range(prod(shape))]
        return json.dumps({"inputs": [{"name": name, "datatype": "FP32",
                                       "shape": shape, "data": data}]}).encode()

    def load(self, server: Server, seconds: float, rate: float = 0,
             model: str = "digits", law: str = "even") -> dict:
        request = self.folder / f"{model}.request"
        request.write_bytes(request_of(model, self.body_of(model)))
        found = self.send(server, request, seconds, rate, law)
        if found["errors"]:
            raise WorkerError(f"{found['errors']} requests failed")
        return found

    def send(self, server: Server, requests: Path, seconds: float,
             rate: float = 0, law: str = "even") -> dict:
        return answer([self.where.build / "bin/weft-serve-load", "127.0.0.1",
                       server.port, requests, "--connections", CONNECTIONS,
                       "--seconds", seconds, "--rate", rate,
                       "--arrivals", law])

    @property
    def seconds(self) -> float:
        return 2 if self.where.quick else 5

    def race_bench(self, peer: str) -> Bench:
        throughput = Bar(f"serving: digits over {peer}", "req/s", PEERS[peer])
        same = Bar(f"serving: largest difference from {peer}", "difference",
                   1e-4, at_most=True)
        return Bench((throughput, same),
                     lambda: self.race(peer, throughput, same))

    def race(self, name: str, throughput: Bar, same: Bar) -> dict:
        """Both servers are up, and are loaded in turns."""
        model = self.digits()
        pairs = []
        with self.ours(model) as ours, self.peer(name, model) as peer:
            body = self.body_of("digits")
            outputs = [json.loads(server.post(
                "/v2/models/digits/infer", body))["outputs"][0]["data"]
                for server in (ours, peer)]
            for side in (ours, peer):
                self.load(side, 1)
            for _ in range(min(self.where.pairs, 5)):
                pairs.append((self.load(ours, self.seconds)["rate"],
                              self.load(peer, self.seconds)["rate"]))
        ratios = [a / b for a, b in pairs]
        apart = max(abs(a - b) for a, b in zip(*outputs))
        note = (f"{CONNECTIONS} connections, one image a request, as JSON; the "
                "load runs on the same cores")
        return {
            throughput.name: {
                "ours": median(a for a, _ in pairs),
                "peer": median(b for _, b in pairs), "peer_name": name,
                "ratio": median(ratios), "low": min(ratios),
                "high": max(ratios), "note": marked(self.where, note)},
            same.name: {"ours": apart, "ratio": apart}}

    def tail(self, model: str, law: str) -> dict:
        """One core is left to what reads and writes, here and in the load:
        where all compute, requests wait for their turn on a core. A bare server
        that takes as long is loaded in turns: its tail is the machine's."""
        file = self.digits() if model == "digits" else self.dense()
        computing = max(1, self.where.threads - 1)
        with self.ours(file, computing) as server:
            capacity = median(
                self.load(server, self.seconds, model=model)["rate"]
                for _ in range(3))
            rate = SHARE_OF_CAPACITY * capacity
            load = partial(self.load, seconds=self.seconds, rate=rate,
                           model=model, law=law)
            run_s = self.run_seconds(server, load)
            with self.bare(model, run_s, self.request_seconds(
                    model, run_s, capacity)) as bare:
                turns = [(load(server), load(bare)) for _ in range(5)]
        runs, bare_runs = zip(*turns)
        ratios, bare_ratios = ([run["p99"] / run["p50"] for run in each]
                               for each in (runs, bare_runs))
        p50, p99, bare_p50, bare_p99 = (
            f"{1e3 * median(run[share] for run in each):.2f} ms"
            for each in (runs, bare_runs) for share in ("p50", "p99"))
        return {TAILS[model, law].name: {
            "ours": median(ratios), "ratio": median(ratios),
            "low": min(ratios), "high": max(ratios),
            "note": marked(self.where, f"{computing} of {self.where.threads} "
                           f"threads compute; {rate:,.0f} of {capacity:,.0f} "
                           f"req/s, {LAWS[law]}: p50 {p50}, p99 {p99}; in turns "
                           f"a bare server of that capacity, whose runs take "
                           f"{1e3 * run_s:.2f} ms: {bare_p50}, {bare_p99}, "
                           f"{median(bare_ratios):.3g} "
                           f"({min(bare_ratios):.3g} – {max(bare_ratios):.3g})")}}

    @staticmethod
    def run_seconds(server: Server, load: Callable[[Server], dict]) -> float:
        """What a run takes under this load, by the server's own count."""
        def total(kind: str) -> float:
            return sum(map(float, re.findall(
                rf"^weft_compute_seconds_{kind}{{.*}} (\S+)$",
                server.get("/metrics"), re.M)))
        seconds, runs = total("sum"), total("count")
        load(server)
        return (total("sum") - seconds) / (total("count") - runs)

    def request_seconds(self, model: str, run_s: float,
                        capacity: float) -> float:
        """What each request has to take besides, for a bare server of this
        capacity."""
        with self.bare(model, run_s, 0) as bare:
            fastest = self.load(bare, self.seconds, model=model)["rate"]
        return max(0, 1 / capacity - 1 / fastest)

    def bare(self, model: str, run_s: float,
             request_s: float) -> AbstractContextManager[Server]:
        request = request_of(model, self.body_of(model))
        return self.listening([self.where.build / "bin/weft-serve-bare",
                               len(request), run_s, request_s])

    def threads(self) -> dict:
        """Teams are called as their executors; they are counted while they
        compute."""
        with self.ours(self.digits()) as server:
            body, over = self.body_of("digits"), threading.Event()

            def work() -> None:
                while not over.is_set():
                    server.post("/v2/models/digits/infer", body)
            clients = [threading.Thread(target=work) for _ in range(CLIENTS)]
            for client in clients:
                client.start()
            most, end = 0, time.monotonic() + self.seconds
            while time.monotonic() < end:
                names = [path.read_text().strip() for path in Path(
                    f"/proc/{server.process.pid}/task").glob("*/comm")]
                most = max(most, names.count("weft-compute"))
            over.set()
            for client in clients:
                client.join()
        return {THREADS.name: {"ours": most,
                               "ratio": most / self.where.threads}}
