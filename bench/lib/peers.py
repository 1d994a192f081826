"""The peers' own virtual environment, and the peers that are compiled."""

import hashlib
import os
import shutil
import subprocess
import sys
from functools import cached_property
from pathlib import Path

BENCH = Path(__file__).resolve().parents[1]


class PeersError(RuntimeError):
    """A peer that cannot be had; says what to do."""


class Peers:
    """Made once under `folder` and kept until requirements.txt changes.

    WEFT_PEERS names an existing environment to use instead. Where the pinned
    wheel does not install, the system's own Python serves if it has PyTorch.
    """

    def __init__(self, folder: Path):
        self._folder = folder

    @cached_property
    def python(self) -> Path:
        if given := os.environ.get("WEFT_PEERS"):
            return self._checked(Path(given) / "bin" / "python", "WEFT_PEERS")
        requirements = BENCH / "requirements.txt"
        wanted = hashlib.sha256(requirements.read_bytes()).hexdigest()
        stamp = self._folder / "installed"
        python = self._folder / "venv" / "bin" / "python"
        if stamp.is_file() and stamp.read_text() == wanted:
            return python
        print("bench: installing the peers (some gigabytes, once)",
              file=sys.stderr)
        try:
            shutil.rmtree(self._folder / "venv", ignore_errors=True)
            subprocess.run([sys.executable, "-m", "venv",
                            self._folder / "venv"], check=True)
            subprocess.run([python, "-m", "pip", "install", "--quiet", "-r",
                            requirements], check=True)
        except subprocess.CalledProcessError:
            return self._checked(
                Path("/usr/bin/python3"),
                "requirements.txt did not install, and the system's python3")
        stamp.write_text(wanted)
        return python

    @cached_property
    def torch_name(self) -> str:
        version = self._ask_torch("torch.__version__").split("+")[0]
        return "PyTorch " + ".".join(version.split(".")[:2])

    def libtorch(self, source: str) -> Path:
        """Compiles a peer of bench/peers/ against the environment's LibTorch."""
        program = self._folder / Path(source).stem
        path = BENCH / "peers" / source
        stamp = program.with_suffix(".built")
        wanted = self.torch_name + hashlib.sha256(path.read_bytes()).hexdigest()
        if stamp.is_file() and stamp.read_text() == wanted and program.exists():
            return program
        root = Path(self._ask_torch("torch.__path__[0]"))
        abi = self._ask_torch("int(torch.compiled_with_cxx11_abi())")
        self._folder.mkdir(parents=True, exist_ok=True)
        done = subprocess.run(
            [os.environ.get("CXX", "c++"), "-std=c++20", "-O3", "-DNDEBUG",
             f"-D_GLIBCXX_USE_CXX11_ABI={abi}", path, "-o", program,
             "-isystem", root / "include", "-isystem",
             root / "include/torch/csrc/api/include", f"-L{root / 'lib'}",
             f"-Wl,-rpath,{root / 'lib'}", "-Wl,--no-as-needed",
             "-ltorch_cpu", "-lc10"], capture_output=True, text=True)
        if done.returncode:
            raise PeersError(f"{source} does not compile:\n{done.stderr}")
        stamp.write_text(wanted)
        return program

    def _ask_torch(self, expression: str) -> str:
        return subprocess.run(
            [self.python, "-c", f"import torch; print({expression})"],
            check=True, capture_output=True, text=True).stdout.strip()

    @staticmethod
    def _checked(python: Path, where: str) -> Path:
        found = python.is_file() and subprocess.run(
            [python, "-c", "import numpy, torch"],
            capture_output=True).returncode == 0
        if not found:
            raise PeersError(f"{where} has no PyTorch; install python3-torch, "
                             "or let WEFT_PEERS name an environment that has")
        return python
