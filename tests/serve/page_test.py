#!/usr/bin/env python3
"""The page of weft serve in a browser: it shows the model, its load, and what
it makes of a picture."""

import json
import os
import subprocess
import sys
import unittest
import urllib.request
from base64 import b64decode
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from running import ServeTest, eventually, scale_bytes  # noqa: E402
from weft import DIGITS, SAMPLE, free_port, run  # noqa: E402

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # W3C's name of a reference


class Browser:
    """Chromium without a window, by the WebDriver protocol."""

    def __init__(self) -> None:
        self.port = free_port()
        self.driver = subprocess.Popen(
            ["chromedriver", f"--port={self.port}"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.session = ""
        eventually(lambda: self.is_up())
        options = {"args": ["--headless=new", "--no-sandbox", "--disable-gpu",
                            "--disable-dev-shm-usage",
                            "--window-size=1100,800"]}
        answer = self.ask("POST", "/session", {"capabilities": {
            "alwaysMatch": {"goog:chromeOptions": options,
                            "goog:loggingPrefs": {"browser": "ALL"}}}})
        self.session = f"/session/{answer['sessionId']}"

    def is_up(self) -> bool:
        try:
            return self.ask("GET", "/status")["ready"]
        except OSError:
            return False

    def ask(self, method: str, path: str, body: dict | None = None):
        data = None if method == "GET" else json.dumps(body or {}).encode()
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}{self.session}{path}", data,
            {"Content-Type": "application/json"}, method=method)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)["value"]

    def find(self, selector: str) -> str:
        return self.ask("POST", "/element", {
            "using": "css selector", "value": selector})[ELEMENT]

    def type(self, selector: str, text: str) -> None:
        self.ask("POST", f"/element/{self.find(selector)}/value",
                 {"text": text})

    def click(self, selector: str) -> None:
        self.ask("POST", f"/element/{self.find(selector)}/click")

    def text(self) -> str:
        return self.ask("POST", "/execute/sync", {
            "script": "return document.body.innerText", "args": []})

    def complaints(self) -> list[str]:
        return [entry["message"] for entry in self.ask(
            "POST", "/se/log", {"type": "browser"})
            if entry["level"] == "SEVERE"]

    def close(self) -> None:
        self.ask("DELETE", "")
        self.driver.terminate()
        self.driver.wait()


class PageTest(ServeTest):
    def setUp(self) -> None:
        super().setUp()
        done = run("train", DIGITS, "--out", self.folder / "run", "--set",
                   "train.epochs=4")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.model.unlink()
        done = run("export", self.folder / "run", "-o",
                   self.folder / "digits.weft")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.plain = self.folder / "scale.weft"
        self.plain.write_bytes(scale_bytes(10))
        self.model = self.folder
        self.browser = Browser()
        self.addCleanup(self.browser.close)

    def test_shows_models_and_tries_them(self) -> None:
        browser = self.browser
        with self.serving("--no-grpc", WEFT_SERVE_TOKEN="secret") as server:
            browser.ask("POST", "/url", {"url": "http://%s:%d/" % server.http})
            eventually(lambda: "The token of this server" in browser.text())
            self.assertNotIn("digits", browser.text())
            browser.type("#token", "secret")
            browser.click("#login button")
            eventually(lambda: "digits" in browser.text() and
                       "image: FP32 [-1, 8, 8, 1]" in browser.text())
            browser.type("input[type=file]", str(SAMPLE))
            eventually(lambda: " %" in browser.text())
            # The other model takes numbers, of which a request is laid out.
            eventually(lambda: "x: FP32 [-1, 2]" in browser.text())
            browser.click("article:last-child form.trial button")
            eventually(lambda: '"result0"' in browser.text())
            self.assertIn("requests/s", browser.text())
            folder = os.environ.get("WEFT_PICTURES")
            if folder:
                picture = browser.ask("GET", "/screenshot")
                Path(folder, "serve-page.png").write_bytes(b64decode(picture))
            # What the browser refuses for want of the token is no mistake.
            self.assertEqual([each for each in browser.complaints()
                              if "401" not in each], [])


if __name__ == "__main__":
    unittest.main()
