"""The rows that are kept in docs/results/SUITE.json, each with its provenance:

{"rows": [{"suite": …, "name": …, …, "provenance": {"commit": …, …}}, …]}

One file holds rows of several processors. What is measured anew replaces the
row of the same suite, name and machine (machine.identity); the others stay as
they are.
"""

import json
import subprocess
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from lib.bench import Setting
from lib.machine import identity, machine
from lib.row import Row

# `origin` is empty where a program wrote the row. Else it says what is known
# of it, and fields that are not known are null.
PROVENANCE = ("commit", "dirty", "date", "processor", "cores", "instructions",
              "cap", "threads", "pairs", "quick", "command", "origin")
DEFAULT_THREADS, DEFAULT_PAIRS = 2, 9


def made_now(root: Path) -> dict:
    """Says of which commit a row is, of when and of which machine."""
    commit, dirty = _commit(root)
    return {"commit": commit, "dirty": dirty,
            "date": _date(), **machine()}


def provenance_from_now(where: Setting) -> Callable[[Row], dict]:
    """What a reader needs to repeat a row. The commit is that of now, where a
    run begins: what is committed meanwhile was not built."""
    common = {**made_now(where.root), "threads": where.threads,
              "pairs": where.pairs, "quick": where.quick}
    return lambda row: {**common, "date": _date(),
                        "command": command(row, where, common["cap"]),
                        "origin": ""}


def _date() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def _commit(root: Path) -> tuple[str | None, bool | None]:
    """The commit, and whether the tree differs from it. Results do not count:
    measuring writes them."""
    def git(*words: str) -> subprocess.CompletedProcess:
        return subprocess.run(["git", "-C", root, *words],
                              capture_output=True, text=True)
    head = git("rev-parse", "HEAD")
    if head.returncode:  # an archive, not a clone
        return None, None
    changes = git("status", "--porcelain", "--", ".", ":!docs/results",
                  ":!README.md")
    return head.stdout.strip(), bool(changes.stdout.strip())


def command(row: Row, where: Setting, cap: str | None) -> str:
    words = [f"WEFT_CPU={cap}"] if cap else []
    words += ["bench/run", row.suite, "--only", f'"{row.name}"']
    if where.threads != DEFAULT_THREADS:
        words += ["--threads", str(where.threads)]
    if where.pairs != DEFAULT_PAIRS:
        words += ["--pairs", str(where.pairs)]
    return " ".join(words + ["--quick"] * where.quick)


def load(path: Path) -> list[dict]:
    if not path.exists():
        return []
    return json.loads(path.read_text())["rows"]


def save(path: Path, rows: list[dict]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"rows": rows}, indent=1) + "\n")


def key(row: dict) -> tuple:
    return row["suite"], row["name"], identity(row["provenance"])


def merge(kept: Iterable[dict], measured: Iterable[dict],
          listed: dict[str, set[str]],
          say: Callable[[str], None]) -> list[dict]:
    """`kept` with what was `measured` in its place, also in that of a row whose
    processor or instructions were not recorded. An error is no measurement and replaces none.
    Rows of a suite in `listed` that it does not list any more are dropped."""
    rows: dict[tuple, dict] = {}
    for row in kept:
        if row["name"] in listed.get(row["suite"], {row["name"]}):
            rows[key(row)] = row
        else:
            say(f"{row['name']}: dropped, the suite has no such row any more")
    for row in measured:
        if not row["error"]:
            processor, _, cap = identity(row["provenance"])
            for vague in ((None, None, None), (processor, None, cap)):
                if vague != identity(row["provenance"]):
                    rows.pop((row["suite"], row["name"], vague), None)
        before = rows.get(key(row))
        if row["error"] and before and not before["error"]:
            say(f"{row['name']}: not measured, the earlier row is kept")
        else:
            rows[key(row)] = row
    return list(rows.values())
