#!/usr/bin/env python3
"""weft serve over HTTP, as processes meet it: slow and dying clients, limits,
TLS, tokens, reloads, and the end."""

import contextlib
import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import threading
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from running import (  # noqa: E402
    INFER, PATIENCE_S, ServeTest, eventually, rows, scale_bytes)
from weft import BIN, run  # noqa: E402

HEAD = f"POST {INFER} HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n"


def read_all(client: socket.socket) -> bytes:
    client.settimeout(PATIENCE_S)
    text = b""
    while piece := client.recv(1 << 16):
        text += piece
    return text


def threads_called(process: subprocess.Popen, name: str) -> int:
    tasks = Path(f"/proc/{process.pid}/task").glob("*/comm")
    return sum(task.read_text().strip() == name for task in tasks)


class HttpTest(ServeTest):
    def test_answers_on_one_connection(self) -> None:
        with self.serving("--no-grpc") as server:
            connection = server.connect()
            with contextlib.closing(connection):
                for value in range(3):
                    connection.request("POST", INFER,
                                       json.dumps(rows([value, 1])))
                    answer = json.load(connection.getresponse())
                    self.assertEqual(answer["outputs"][0]["data"],
                                     [10 * value, 100])

    def test_clients_share_runs_and_keep_to_the_budget(self) -> None:
        with self.serving("--no-grpc", "--threads", 2, "--executors", 2,
                          "--delay", "1ms") as server:
            def work(first: int) -> None:
                for i in range(first, first + 40):
                    answer = server.infer([i, 1], [i, 2])
                    if answer["outputs"][0]["data"] != [10 * i, 100,
                                                        10 * i, 200]:
                        wrong.append(answer)
            wrong: list = []
            clients = [threading.Thread(target=work, args=(100 * i,))
                       for i in range(8)]
            for client in clients:
                client.start()
            seen = 0
            while any(client.is_alive() for client in clients):
                seen = max(seen, threads_called(server.process,
                                                "weft-compute"))
            self.assertEqual(wrong, [])
            self.assertLessEqual(seen, 2)
            self.assertGreater(seen, 0)
            count = server.metric(
                'weft_requests_total{model="scale",status="ok"}')
            self.assertEqual(count, 320)

    def test_slow_and_dying_clients_cost_no_thread(self) -> None:
        with self.serving("--no-grpc", "--http-threads", 1) as server, \
                contextlib.ExitStack() as stack:
            halves = (b"", b"GET", b"POST /v2", HEAD.encode() % 100,
                      HEAD.encode() % 100 + b"{")
            for half in halves * 20:
                client = stack.enter_context(
                    socket.create_connection(server.http))
                client.sendall(half)
            self.assertEqual(server.infer([1, 1])["outputs"][0]["data"],
                             [10, 100])
            # Answers that nobody reads.
            for _ in range(20):
                client = stack.enter_context(
                    socket.create_connection(server.http))
                client.sendall(200 * b"GET /metrics HTTP/1.1\r\n"
                               b"Host: a\r\n\r\n")
            self.assertEqual(server.infer([1, 1])["outputs"][0]["data"],
                             [10, 100])
            self.assertGreaterEqual(server.metric("weft_http_connections"),
                                    len(halves) * 20)

    def test_a_client_that_closes_leaves_the_queue(self) -> None:
        with self.serving("--no-grpc", "--delay", "1000s", "--deadline",
                          "4000s") as server:
            body = json.dumps(rows([1, 1])).encode()
            client = socket.create_connection(server.http)
            client.sendall(HEAD.encode() % len(body) + body)
            eventually(lambda: server.metric(
                'weft_waiting_requests{model="scale"}') == 1)
            client.close()
            eventually(lambda: server.metric(
                'weft_waiting_requests{model="scale"}') == 0)
            self.assertEqual(server.metric(
                'weft_requests_total{model="scale",status="cancelled"}'), 1)

    def test_more_than_is_allowed_is_refused(self) -> None:
        with self.serving("--no-grpc", "--body", 1000) as server:
            self.assertEqual(
                server.ask("POST", INFER, b"x" * 1001),
                (413, {"error": "a body has at most 1000 bytes"}))
            chunked = (b"POST " + INFER.encode() + b" HTTP/1.1\r\nHost: a\r\n"
                       b"Transfer-Encoding: chunked\r\n\r\n" +
                       b"1f4\r\n" + b"x" * 500 + b"\r\n" +
                       b"1f5\r\n" + b"x" * 501 + b"\r\n0\r\n\r\n")
            for sent, code in ((chunked, b"413"), (b"nonsense\r\n\r\n", b"400"),
                               (b"GET / HTTP/1.1\r\nA: " + b"x" * 20000,
                                b"413")):
                with socket.create_connection(server.http) as client:
                    client.sendall(sent)
                    client.shutdown(socket.SHUT_WR)
                    self.assertEqual(read_all(client).split(b" ")[1], code)

    def test_a_long_body_is_read_for_its_refusal(self) -> None:
        with self.serving("--no-grpc", "--body", "1MB") as server:
            self.assertEqual(server.ask("POST", INFER, b"x" * 5_000_000)[0],
                             413)

    def test_head_has_no_body(self) -> None:
        with self.serving("--no-grpc") as server, \
                socket.create_connection(server.http) as client:
            asked = "%s %s HTTP/1.1\r\nHost: a\r\n\r\n"
            client.sendall("".join((
                asked % ("HEAD", "/v2/health/live"), asked % ("HEAD", INFER),
                asked % ("GET", "/v2/health/live"))).encode())
            client.shutdown(socket.SHUT_WR)
            heads = read_all(client).split(b"\r\n\r\n")
            self.assertEqual([head[9:12] for head in heads[:3]],
                             [b"200", b"405", b"200"])
            self.assertIn(b"Content-Length: 13\r\n", heads[0] + b"\r\n")
            self.assertIn(b"Allow: POST\r\n", heads[1] + b"\r\n")
            self.assertEqual(heads[3], b'{"live":true}')

    def test_http_1_0_is_told_that_it_may_go_on(self) -> None:
        with self.serving("--no-grpc") as server, \
                socket.create_connection(server.http) as client:
            client.sendall(b"GET /v2 HTTP/1.0\r\nConnection: keep-alive\r\n"
                           b"\r\nGET /v2 HTTP/1.0\r\n\r\n")
            told = read_all(client)
            self.assertEqual(told.count(b"Connection: keep-alive\r\n"), 1)
            self.assertEqual(told.count(b"Connection: close\r\n"), 1)

    def test_a_log_that_cannot_be_written_stops_nobody(self) -> None:
        for errors in ("/dev/full", "closed"):
            with self.subTest(errors), contextlib.ExitStack() as stack:
                def prepare(errors: str = errors) -> None:
                    os.close(2)
                    if errors != "closed":
                        os.open(errors, os.O_WRONLY)
                process = stack.enter_context(subprocess.Popen(
                    [str(BIN), "serve", str(self.model), "--port", "0",
                     "--no-grpc"], stdout=subprocess.PIPE, text=True,
                    preexec_fn=prepare))
                stack.callback(process.kill)
                self.assertIn("http://", process.stdout.readline())
                process.send_signal(signal.SIGTERM)
                self.assertEqual(process.wait(PATIENCE_S), 0)

    def test_a_signal_ends_it_while_models_load(self) -> None:
        pipe = self.folder / "pipe.weft"
        os.mkfifo(pipe)
        process = subprocess.Popen(
            [str(BIN), "serve", str(pipe), "--port", "0", "--no-grpc"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        # Opens when the server does, which then waits for the first byte.
        with pipe.open("wb"):
            process.send_signal(signal.SIGTERM)
            self.assertEqual(process.wait(PATIENCE_S), -signal.SIGTERM)

    def test_a_connection_too_many_is_closed(self) -> None:
        with self.serving("--no-grpc", "--connections", 2) as server:
            with socket.create_connection(server.http), \
                    socket.create_connection(server.http), \
                    socket.create_connection(server.http) as third:
                self.assertEqual(read_all(third), b"")
            eventually(lambda: self.refused(server) >= 1)

    @staticmethod
    def refused(server) -> float:
        try:
            return server.metric("weft_refused_connections_total")
        except OSError:
            return 0  # those before it are not closed yet

    def test_a_new_file_is_served_without_a_gap(self) -> None:
        with self.serving("--no-grpc", "--watch", "50ms") as server:
            def ask_on() -> None:
                while not over.is_set():
                    status, answer = server.ask("POST", INFER, rows([1, 1]))
                    seen.append((status, answer["outputs"][0]["data"][0]
                                 if status == 200 else answer))
            over = threading.Event()
            seen: list = []
            client = threading.Thread(target=ask_on)
            client.start()
            for first in (20, 30, 40):
                beside = self.folder / "beside"
                beside.write_bytes(scale_bytes(first))
                beside.rename(self.model)
                eventually(lambda first=first: seen[-1:] == [(200, first)])
            # SIGHUP, and a file that is written over in its place.
            self.model.write_bytes(scale_bytes(50))
            server.process.send_signal(signal.SIGHUP)
            eventually(lambda: seen[-1] == (200, 50))
            self.model.write_bytes(b"broken")
            eventually(lambda: server.metric(
                'weft_model_failed_loads_total{model="scale"}') >= 1)
            index = server.ask("POST", "/v2/repository/index")[1]
            over.set()
            client.join()
            self.assertIn("goes on", index[0]["reason"])
            self.assertEqual({status for status, _ in seen}, {200})
            self.assertEqual(seen[-1][1], 50)
            values = [value for _, value in seen]
            self.assertEqual(values, sorted(values))

    def test_the_end_answers_what_came_in(self) -> None:
        with self.serving("--no-grpc", "--delay", "1000s", "--deadline",
                          "4000s") as server:
            answers: list = []
            clients = [threading.Thread(
                target=lambda: answers.append(server.infer([1, 1])))
                for _ in range(5)]
            for client in clients:
                client.start()
            eventually(lambda: server.metric(
                'weft_waiting_requests{model="scale"}') == 5)
            idle = socket.create_connection(server.http)
            code, errors = server.terminate()
            for client in clients:
                client.join()
            idle.close()
            self.assertEqual(code, 0, errors)
            self.assertIn("every request was answered", errors)
            self.assertEqual([a["outputs"][0]["data"] for a in answers],
                             [[10, 100]] * 5)

    def test_the_token_stands_before_everything(self) -> None:
        token = self.folder / "token"
        token.write_text("secret\n")
        with self.serving("--token-file", token, "--no-grpc") as server:
            self.assertEqual(server.ask("GET", "/v2")[0], 401)
            self.assertEqual(
                server.ask("GET", "/v2", Authorization="Bearer secret")[0], 200)
            # The body is not waited for.
            with socket.create_connection(server.http) as client:
                client.sendall(HEAD.encode() % 10**7)
                self.assertIn(b"401", read_all(client)[:20])
        with self.serving("--no-grpc", WEFT_SERVE_TOKEN="other") as server:
            self.assertEqual(
                server.ask("GET", "/v2", Authorization="Bearer secret")[0], 401)

    def tls_files(self) -> tuple[Path, Path]:
        """A certificate of this machine's, and its key."""
        key, certificate = self.folder / "key.pem", self.folder / "cert.pem"
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
             "ec_paramgen_curve:P-256", "-nodes", "-keyout", key, "-out",
             certificate, "-days", "2", "-subj", "/CN=localhost", "-addext",
             "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)
        return certificate, key

    def test_a_refusal_is_read_over_tls(self) -> None:
        certificate, key = self.tls_files()
        with self.serving("--no-grpc", "--body", "1MB", "--tls-certificate",
                          certificate, "--tls-key", key) as server:
            context = ssl.create_default_context(cafile=str(certificate))
            with socket.create_connection(server.http) as plain, \
                    context.wrap_socket(
                        plain, server_hostname="127.0.0.1") as client:
                # It is refused by its header, and sends its body all the same.
                client.sendall((HEAD % 30_000_000).encode())
                client.sendall(b"x" * 30_000_000)
                self.assertEqual(read_all(client).split(b" ")[1], b"413")

    def test_speaks_tls(self) -> None:
        certificate, key = self.tls_files()
        with self.serving("--no-grpc", "--tls-certificate", certificate,
                          "--tls-key", key) as server:
            context = ssl.create_default_context(cafile=str(certificate))
            with socket.create_connection(server.http) as plain, \
                    context.wrap_socket(
                        plain, server_hostname="127.0.0.1") as client:
                body = json.dumps(rows([2, 2])).encode()
                client.sendall(
                    (HEAD % len(body)).replace(
                        "Host", "Connection: close\r\nHost").encode() + body)
                self.assertIn(b"[20,200]", read_all(client))
            # Who does not speak it harms nobody.
            with socket.create_connection(server.http) as client:
                client.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
                self.assertNotIn(b"200 OK", read_all(client))

    def test_mistakes_end_the_start(self) -> None:
        def refuse(*arguments: object, part: str) -> None:
            done = run("serve", *arguments)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(part, done.stderr)
        refuse(part="MODEL is required")
        refuse(self.folder / "none.weft", part="none.weft")
        refuse(self.folder, "--delay", "2 bananas", "--port", 0,
               part="'2 bananas' is no time")
        refuse(self.model, "--executors", 4, "--threads", 2,
               part="need as many threads")
        refuse(self.model, "--drain", "1e300s", part="is no time")
        refuse(self.model, "--delay", "nans", part="is no time")
        refuse(self.model, "--body", "-1", part="-1 is no number of bytes")
        refuse(self.model, "--log-bytes", "-1MB", part="no number of bytes")
        refuse(self.model, "--body", "2147483648", part="--no-grpc")
        refuse("--warm-up", "N=3", self.model, "--warm-up", "scael:N=3",
               "--port", 0, "--no-grpc", part="scael")
        refuse(self.model, "--deadline", "0s", part="no request")
        refuse(self.model, "--watch", "0s", "--tls-key", "key.pem",
               part="--watch off")
        refuse(self.model, "--warm-up", "N", part="N=8,T=20")
        refuse(self.model, "--tls-key", "key.pem", part="given together")
        refuse(self.model, "--host", "nowhere", part="no address")
        with self.serving("--no-grpc") as server:
            refuse(self.model, "--no-grpc", "--port", server.http[1],
                   part="cannot listen here")
        help_text = run("serve", "--help")
        self.assertEqual(help_text.returncode, 0)
        self.assertIn("SIGHUP", help_text.stdout)
        self.assertIn("serve", subprocess.run(
            [BIN, "--help"], capture_output=True, text=True).stdout)


if __name__ == "__main__":
    unittest.main()
