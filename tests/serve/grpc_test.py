#!/usr/bin/env python3
"""weft serve over gRPC, with a client that was not written here. Its messages
are made from the very file that the server's are made from."""

import json
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import grpc  # noqa: E402
from running import (  # noqa: E402
    INFER, ServeTest, eventually, rows, scale_bytes)
from weft import ROOT  # noqa: E402

MESSAGES = tempfile.TemporaryDirectory(prefix="weft-proto-")
subprocess.run(["protoc", f"--python_out={MESSAGES.name}",
                f"--proto_path={ROOT / 'weft/serve/grpc'}",
                "open_inference.proto"], check=True)
sys.path.insert(0, MESSAGES.name)
import open_inference_pb2 as pb  # noqa: E402


class Client:
    def __init__(self, server, **credentials) -> None:
        address = ":".join(map(str, server.grpc))
        self.channel = (grpc.secure_channel(address, **credentials)
                        if credentials else grpc.insecure_channel(address))

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.channel.close()

    def method(self, name: str):
        return self.channel.unary_unary(
            f"/inference.GRPCInferenceService/{name}",
            request_serializer=lambda message: message.SerializeToString(),
            response_deserializer=getattr(pb, name + "Response").FromString)

    def call(self, name: str, /, timeout: float = 60, metadata=(),
             **fields):
        return self.method(name)(getattr(pb, name + "Request")(**fields),
                                 timeout=timeout, metadata=metadata)


def request(*numbers: float, raw: bool = False) -> dict:
    tensor = pb.ModelInferRequest.InferInputTensor(
        name="x", datatype="FP32", shape=[len(numbers) // 2, 2])
    fields: dict = {"model_name": "scale", "id": "7", "inputs": [tensor]}
    if raw:
        fields["raw_input_contents"] = [struct.pack(f"<{len(numbers)}f",
                                                    *numbers)]
    else:
        tensor.contents.fp32_contents.extend(numbers)
    return fields


class GrpcTest(ServeTest):
    def expect(self, code: grpc.StatusCode, call, *parts: str) -> None:
        with self.assertRaises(grpc.RpcError) as caught:
            call()
        self.assertEqual(caught.exception.code(), code)
        for part in parts:
            self.assertIn(part, caught.exception.details())

    def test_answers_the_protocol(self) -> None:
        with self.serving("--grpc-port", 0) as server, Client(server) as client:
            self.assertTrue(client.call("ServerLive").live)
            self.assertTrue(client.call("ServerReady").ready)
            self.assertTrue(client.call("ModelReady", name="scale").ready)
            self.assertEqual(client.call("ServerMetadata").name, "weft")
            model = client.call("ModelMetadata", name="scale")
            self.assertEqual((model.inputs[0].name, model.inputs[0].datatype,
                              list(model.inputs[0].shape)),
                             ("x", "FP32", [-1, 2]))
            answer = client.call("ModelInfer", **request(1, 2, 3, 4))
            self.assertEqual(
                list(answer.outputs[0].contents.fp32_contents),
                [10, 200, 30, 400])
            self.assertEqual((answer.id, list(answer.outputs[0].shape)),
                             ("7", [2, 2]))
            answer = client.call("ModelInfer", **request(1, 2, raw=True))
            self.assertEqual(answer.raw_output_contents,
                             [struct.pack("<2f", 10, 200)])

    def test_refuses_by_status(self) -> None:
        code = grpc.StatusCode
        with self.serving("--grpc-port", 0) as server, Client(server) as client:
            self.expect(code.NOT_FOUND,
                        lambda: client.call("ModelReady", name="other"))
            self.expect(code.INVALID_ARGUMENT,
                        lambda: client.call("ModelInfer", **request(1)),
                        "inputs[0].contents.fp32_contents", "1 elements")
            odd = request(1, 2)
            odd["inputs"][0].datatype = "BYTES"
            self.expect(code.INVALID_ARGUMENT,
                        lambda: client.call("ModelInfer", **odd),
                        "inputs[0].datatype")

    def test_a_cancelled_call_leaves_the_queue(self) -> None:
        waiting = 'weft_waiting_requests{model="scale"}'
        with self.serving("--grpc-port", 0, "--delay", "1000s", "--deadline",
                          "4000s", "--queue", 1) as server, \
                Client(server) as client:
            infer = client.method("ModelInfer")
            first = infer.future(pb.ModelInferRequest(**request(1, 2)))
            eventually(lambda: server.metric(waiting) == 1)
            self.expect(grpc.StatusCode.RESOURCE_EXHAUSTED,
                        lambda: infer(pb.ModelInferRequest(**request(1, 2))),
                        "1 requests wait")
            first.cancel()
            eventually(lambda: server.metric(waiting) == 0)
            self.assertEqual(server.metric(
                'weft_requests_total{model="scale",status="cancelled"}'), 1)

    def test_the_repository(self) -> None:
        with self.serving("--grpc-port", 0) as server, Client(server) as client:
            self.model.write_bytes(scale_bytes(30))
            client.call("RepositoryModelLoad", model_name="scale")
            index = client.call("RepositoryIndex").models[0]
            self.assertEqual((index.name, index.version, index.state),
                             ("scale", "2", "READY"))
            self.model.write_bytes(b"broken")
            self.expect(grpc.StatusCode.UNAVAILABLE, lambda: client.call(
                "RepositoryModelLoad", model_name="scale"), "goes on")
            client.call("RepositoryModelUnload", model_name="scale")
            self.assertEqual(
                len(client.call("RepositoryIndex", ready=True).models), 0)
            self.expect(grpc.StatusCode.UNAVAILABLE, lambda: client.call(
                "ModelInfer", **request(1, 2)))

    def test_nobody_comes_in_without_the_token(self) -> None:
        with self.serving("--grpc-port", 0,
                          WEFT_SERVE_TOKEN="secret") as server, \
                Client(server) as client:
            denied = grpc.StatusCode.UNAUTHENTICATED
            for name, fields in (("ServerMetadata", {}),
                                 ("ModelMetadata", {"name": "scale"}),
                                 ("ModelReady", {"name": "scale"}),
                                 ("ModelInfer", request(1, 2)),
                                 ("RepositoryIndex", {}),
                                 ("RepositoryModelLoad",
                                  {"model_name": "scale"}),
                                 ("RepositoryModelUnload",
                                  {"model_name": "scale"})):
                self.expect(denied, lambda: client.call(name, **fields))
            self.assertTrue(client.call("ServerReady").ready)
            refused = server.ask("GET", "/metrics",
                                 Authorization="Bearer secret")[1]
            self.assertIn("\nweft_unauthorized_total 7\n", refused)
            token = (("authorization", "Bearer secret"),)
            answer = client.call("ModelInfer", metadata=token, **request(1, 2))
            self.assertEqual(list(answer.outputs[0].contents.fp32_contents),
                             [10, 200])

    def test_speaks_tls(self) -> None:
        key, certificate = self.folder / "key.pem", self.folder / "cert.pem"
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
             "ec_paramgen_curve:P-256", "-nodes", "-keyout", key, "-out",
             certificate, "-days", "2", "-subj", "/CN=localhost", "-addext",
             "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)
        with self.serving("--grpc-port", 0, "--tls-certificate", certificate,
                          "--tls-key", key) as server:
            trust = grpc.ssl_channel_credentials(certificate.read_bytes())
            with Client(server, credentials=trust) as client:
                self.assertTrue(client.call("ServerLive").live)

    def test_the_end_answers_what_came_in(self) -> None:
        with self.serving("--grpc-port", 0, "--delay", "1000s", "--deadline",
                          "4000s") as server, Client(server) as client:
            calls = [client.method("ModelInfer").future(
                pb.ModelInferRequest(**request(i, i))) for i in range(5)]
            eventually(lambda: server.metric(
                'weft_waiting_requests{model="scale"}') == 5)
            ended: list = []
            end = threading.Thread(
                target=lambda: ended.append(server.terminate()))
            end.start()
            for i, call in enumerate(calls):
                self.assertEqual(
                    list(call.result().outputs[0].contents.fp32_contents),
                    [10 * i, 100 * i])
            client.channel.close()
            end.join()
            self.assertEqual(ended[0][0], 0, ended)
            self.assertIn("every request was answered", ended[0][1])

    def test_the_end_refuses_calls_while_http_is_open(self) -> None:
        with self.serving("--grpc-port", 0) as server, \
                socket.create_connection(server.http) as http:
            body = json.dumps(rows([1, 1])).encode()
            http.sendall(f"POST {INFER} HTTP/1.1\r\nHost: a\r\n"
                         "Expect: 100-continue\r\n"
                         f"Content-Length: {len(body)}\r\n\r\n".encode())
            self.assertIn(b"100 Continue", http.recv(1000))
            server.process.send_signal(signal.SIGTERM)
            eventually(lambda: not self.is_live(server))
            # What had begun is answered.
            http.sendall(body)
            self.assertIn(b"[10,100]", http.recv(1000))
            self.assertEqual(server.process.wait(60), 0)

    def is_live(self, server) -> bool:
        with Client(server) as client:
            try:
                return client.call("ServerLive").live
            except grpc.RpcError:
                return False


if __name__ == "__main__":
    unittest.main()
