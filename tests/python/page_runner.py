"""Runs the blocks of a page in the order in which a reader types them: all in
one folder, Python in one process, commands in one shell."""

import contextlib
import io
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

from page_blocks import Block

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "bench"))

from lib.main import main as measure  # noqa: E402

BIN = Path(os.environ.get("WEFT_BIN", ROOT / "build/bin/weft")).resolve()
# What a part of a recipe is tried in.
RECIPE = {
    "model": 'name = "digits-cnn"\n',
    "data": 'name = "digits"\n',
    "optimizer": 'name = "adam"\nlr = 0.003\n',
    "train": "epochs = 1\n",
}
HEADER = re.compile(r"^\[+(\w+)", re.MULTILINE)
NUMBER = re.compile(r"\d[\d,.]*(e[+-]?\d+)?")
# Signs that are spread over lines and columns otherwise on another machine.
SPREAD = re.compile(r"[\s█]+")


class Failed(Exception):
    """A block does not do what the page says."""


class Shell:
    """Bash in a folder. A command that fails ends it."""

    SECONDS = 60  # that a block may take

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.said = folder / ".said"
        environment = os.environ | {
            "PATH": f"{BIN.parent}:{os.environ['PATH']}",
            "OMPI_ALLOW_RUN_AS_ROOT": "1",  # in containers
            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "OMPI_MCA_rmaps_base_oversubscribe": "1"}
        self.process = subprocess.Popen(
            ["bash", "-e", "-o", "pipefail"], cwd=folder, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, start_new_session=True,
            env=environment)

    def run(self, commands: str, must_fail: bool = False) -> str:
        """What `commands` print, on both streams."""
        script = self.folder / ".typed"
        script.write_text(commands)
        assert self.process.stdin and self.process.stdout
        source = f"source '{script}' > '{self.said}' 2>&1 < /dev/null"
        if must_fail:
            source = f"if ( {source} ); then exit; fi"
        try:
            self.process.stdin.write(f"{source}\necho done\n")
            self.process.stdin.flush()
            # What never ends is killed, and has failed.
            limit = threading.Timer(self.SECONDS, self.kill)
            limit.start()
            done = self.process.stdout.readline()
            limit.cancel()
        except BrokenPipeError:
            done = ""
        said = self.said.read_text(errors="replace")
        if not done:
            what = "succeeded" if must_fail else "failed"
            raise Failed(f"{commands}{what}:\n{said}")
        return said

    def kill(self) -> None:
        # Servers that the page started go on in the background.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)

    def close(self) -> None:
        self.kill()
        self.process.communicate()


class Reader:
    """Types what a page shows, in `folder`, which is to be the current one."""

    def __init__(self, page: str, folder: Path) -> None:
        self.page = page
        self.folder = folder
        self.names: dict = {}
        (folder / "build").mkdir()
        for part in ("recipes", "data", "examples"):  # copies, to write to
            shutil.copytree(ROOT / part, folder / part)
        for part in ("bin", "build/bin"):
            os.symlink(BIN.parent, folder / part)
        (folder / "RECIPE").write_text(recipe_with(""))
        self.shell = Shell(folder)

    def run(self, block: Block) -> None:
        if "file" in block.notes:
            (self.folder / block.notes["file"]).write_text(block.text)
            return
        getattr(self, f"run_{block.kind}")(block)

    def run_text(self, block: Block) -> None:
        pass  # it is looked at

    def run_python(self, block: Block) -> None:
        # Lines are those of the page, where a traceback points into it.
        code = "\n" * block.line + block.text
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(code, self.page, "exec"), self.names)

    def run_sh(self, block: Block) -> None:
        measured = [line for line in block.text.splitlines()
                    if "bench/run " in line]
        if not measured:
            self.shell.run(block.text)
        for line in measured:
            list_rows(line)

    def run_console(self, block: Block) -> None:
        for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
            command, _, shown = part.partition("\n")
            said = self.shell.run(command + "\n", shown.startswith("weft: "))
            compare(command, shown, said)

    def run_toml(self, block: Block) -> None:
        recipe = self.folder / "page.toml"
        recipe.write_text(recipe_with(block.text))
        workers = ""
        if "[sync]" in block.text:
            workers = f" --workers {workers_of(block.text)}"
        self.shell.run(f"weft train {recipe} --dry-run{workers}\n")

    def close(self) -> None:
        self.shell.close()


def workers_of(part: str) -> int:
    """Those of the network that it names, or as many as Multi-Krum takes against
    four that lie: a dry run refuses what a run would refuse."""
    named = re.search(r'topology = "(\d+)@', part)
    return int(named[1]) if named else 11


def recipe_with(part: str) -> str:
    """A whole recipe, of which a page shows `part`."""
    shown = set(HEADER.findall(part))
    return "".join(f"[{name}]\n{keys}" for name, keys in RECIPE.items()
                   if name not in shown) + part


def list_rows(command: str) -> None:
    """Whether the rows are there that `command` measures, for minutes."""
    words = shlex.split(command, comments=True)
    words = words[words.index("bench/run") + 1:]
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        try:
            code = measure([*words, "--list"])
        except SystemExit as ended:
            code = ended.code
    if code or not said.getvalue().strip():
        raise Failed(f"{command}\nmeasures nothing:\n{said.getvalue()}")


def compare(command: str, shown: str, said: str) -> None:
    """Each line that is shown is among those that were said, in their order. A
    number stands for any, and … for whatever it leaves out."""
    lines = iter([plain(line) for line in said.splitlines()])
    for line in shown.splitlines():
        if not line.strip("… "):
            continue
        pattern = re.escape(plain(line)).replace("…", ".*")
        if not any(re.fullmatch(pattern, candidate) for candidate in lines):
            raise Failed(f"{command}\ndoes not say\n{line}\nbut\n{said}")


def plain(line: str) -> str:
    return SPREAD.sub(" ", NUMBER.sub("0", line)).strip()


