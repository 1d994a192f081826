#!/usr/bin/env python3
"""tools/bootstrap.sh installs exactly what is missing, on a machine as on a
fresh one: apt and dpkg are doubles that answer as the real ones do."""

import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = "known  # a comment\nremoved\nnever-seen\n[test]\nfor-tests\n"
# It is run as build.sh runs it. The real one fails where a name is unknown to
# dpkg.
SCRIPT = """set -euo pipefail
root="$1" PATH="$1/bin:$PATH"
source "$2/tools/bootstrap.sh"
install_packages ""
echo went on
"""


class BootstrapTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        (self.root / "bin").mkdir()
        (self.root / "tools").mkdir()
        (self.root / "tools/packages.txt").write_text(PACKAGES)
        self.double("sudo", '[ "$1" != -n ] || shift; exec "$@"')
        self.double("apt-get", f'echo "$@" >> {self.root}/apt.log')

    def double(self, name: str, script: str) -> None:
        path = self.root / "bin" / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    def install(self) -> subprocess.CompletedProcess:
        return subprocess.run(
            ["bash", "-c", SCRIPT, "bash", self.root, ROOT],
            stdin=subprocess.DEVNULL, capture_output=True, text=True)

    def asked_of_apt(self) -> list[str]:
        log = self.root / "apt.log"
        return log.read_text().splitlines() if log.exists() else []

    def test_installs_what_is_missing(self) -> None:
        self.double("dpkg-query",
                    'printf "known installed\\nremoved config-files\\n"; exit 1')
        done = self.install()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout, "went on\n")
        self.assertEqual(self.asked_of_apt(), [
            "install -y --no-install-recommends removed never-seen"])

    def test_asks_for_nothing_where_all_is_there(self) -> None:
        self.double("dpkg-query", 'for p in known removed never-seen; do '
                    'echo "$p installed"; done')
        self.assertEqual(self.install().stdout, "went on\n")
        self.assertEqual(self.asked_of_apt(), [])

    def test_reads_the_list_anew_where_apt_does_not_know_a_package(self) -> None:
        self.double("dpkg-query", "exit 1")
        self.double("apt-get", f'echo "$1" >> {self.root}/apt.log; '
                    f'grep -q update {self.root}/apt.log')
        self.assertEqual(self.install().stdout, "went on\n")
        self.assertEqual(self.asked_of_apt(), ["install", "update", "install"])

    def test_says_what_to_do_where_apt_fails(self) -> None:
        self.double("dpkg-query", "exit 1")
        self.double("apt-get", "exit 100")
        done = self.install()
        self.assertEqual(done.returncode, 2)
        self.assertEqual(done.stdout, "")
        self.assertIn("apt-get install known removed never-seen", done.stderr)


if __name__ == "__main__":
    unittest.main()
