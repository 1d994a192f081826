"""Data validation: faults that are found and false alarms, planted mistakes of
training programs, what statistics cost beside others, distances without a change."""

import json
import os
import random
import subprocess
import tempfile
import time
from functools import partial
from pathlib import Path
from statistics import median

from lib import validation_faults as faults
from lib.bench import Bar, Bench, Setting
from lib.suite import answer, marked

RECALL = Bar("validation: faults found, every rule-based class at 0.1, 1 and "
             "10 % of rows", "%", 100)
ALARMS = Bar("validation: anomalies in clean batches after one review", "",
             0, at_most=True)
PLANTED = Bar("validation: planted training mistakes found within 100 "
              "examples", "of 13", 12)
SPEED = Bar("validation: statistics of CSV, one core", "MB/s", 200)
PEERS = {"tfdv": Bar("validation: statistics of CSV, over TFDV", "rows/s", 10),
         "pandas": Bar("validation: statistics of CSV, over pandas describe",
                       "rows/s", 5),
         "duckdb": Bar("validation: statistics of CSV, over DuckDB SUMMARIZE",
                       "rows/s", 2)}
MEMORY = Bar("validation: memory for ten times the rows", "times", 1.1,
             at_most=True)
PARQUET = Bar("validation: statistics of Parquet, over those of CSV", "rows/s",
              1)
RANKS = Bar("validation: statistics of 4 ranks that equal those of one", "%",
            100)
# Alerts without a change are shown: what a test finds at a size says nothing of
# whether it matters.
STUDY_SIZES = (100, 10_000, 1_000_000)
STUDY = {size: Bar(f"validation: alerts of l_infinity > 0.03, {size:,} rows, no "
                   "change", "%", None) for size in STUDY_SIZES}
STUDY_LAW = (0.4, 0.3, 0.15, 0.1, 0.05)
STUDY_SHIFTS = (0.0, 0.01, 0.02, 0.05)
STUDY_THRESHOLDS = {"l_infinity": 0.03, "jensen_shannon": 0.002,
                    "chi_square": 0.95, "kullback_leibler": 0.01}
BATCH_SHARE = 5  # a fifth of the table is a day
COPIES = 50


def benches(where: Setting) -> list[Bench]:
    return [Bench((RECALL, ALARMS), partial(measure_faults, where)),
            Bench((PLANTED,), partial(measure_planted, where)),
            Bench((SPEED, MEMORY), partial(measure_speed, where)),
            *(Bench((bar,), partial(race_peer, where, peer, bar))
              for peer, bar in PEERS.items()),
            Bench((PARQUET,), partial(measure_parquet, where)),
            Bench((RANKS,), partial(measure_ranks, where)),
            *(Bench((bar,), partial(study, where, size, bar))
              for size, bar in STUDY.items())]


def weft(where: Setting) -> Path:
    return where.build / "bin" / "weft"


# --- Faults ---

def kinds_found(where: Setting, data: Path, schema: Path) -> list[str]:
    done = subprocess.run([weft(where), "validate", "check", data, "--schema",
                           schema, "--json"], capture_output=True, text=True)
    if done.returncode not in (0, 1):
        raise RuntimeError(done.stderr)
    return [each["kind"] for each in json.loads(done.stdout)["anomalies"]]


def measure_faults(where: Setting) -> dict:
    missed, alarms, tried = [], [], 0
    with tempfile.TemporaryDirectory() as folder:
        for table in (faults.ADULT, faults.TAXI):
            rows = faults.read_rows(table, where.data_folder(table.name))
            for ending in ("jsonl", "csv"):
                found = check_table(where, table, rows, Path(folder), ending)
                missed += found[0]
                alarms += found[1]
                tried += found[2]
    note = f"{tried - len(missed)} of {tried}; Adult and Chicago taxi"
    if missed:
        note += "; missed: " + ", ".join(missed)
    clean = "three days of each table, as JSON lines and as CSV"
    return {RECALL.name: {"ours": 100 * (1 - len(missed) / tried),
                          "ratio": 100 * (1 - len(missed) / tried),
                          "note": note},
            ALARMS.name: {"ours": len(alarms), "ratio": len(alarms),
                          "note": "; ".join([clean, *alarms])}}


def check_table(where: Setting, table: faults.Table, rows: faults.Rows,
                folder: Path, ending: str) -> tuple[list, list, int]:
    """What was missed, and what was told of clean days. The schema is inferred
    from the first day, reviewed once, and allows what the second one has."""
    size = len(rows) // BATCH_SHARE
    days = [rows[i * size:(i + 1) * size] for i in range(BATCH_SHARE)]
    files = [faults.write(day, folder / f"{i}.{ending}")
             for i, day in enumerate(days)]
    schema = folder / "schema.toml"
    schema.unlink(missing_ok=True)
    subprocess.run([weft(where), "validate", "infer", files[0], "-o", schema],
                   check=True, stdout=subprocess.DEVNULL)
    schema.write_text(faults.reviewed(schema.read_text(), table, size,
                                      ending == "csv"))
    subprocess.run([weft(where), "validate", "accept", files[1], "--schema",
                    schema], check=True, stdout=subprocess.DEVNULL)
    alarms = [f"{table.name} {kind}" for file in files[2:]
              for kind in kinds_found(where, file, schema)]
    missed, tried = [], 0
    in_tables = ending == "csv"
    for kind in faults.FAULTS:
        if (kind in faults.IN_TABLES) != in_tables:
            continue
        for share in faults.SHARES:
            tried += 1
            data = faults.write(faults.struck(table, days[2], kind, share),
                                folder / f"fault.{ending}")
            if kind not in kinds_found(where, data, schema):
                missed.append(f"{table.name} {kind} at {share:.1%}")
    for kind, strike in faults.WHOLE_FAULTS.items():
        if in_tables:
            break
        tried += 1
        data = faults.write(strike(table, [dict(row) for row in days[2]]),
                            folder / f"fault.{ending}")
        if kind not in kinds_found(where, data, schema):
            missed.append(f"{table.name} {kind}")
    return missed, alarms, tried


def measure_planted(where: Setting) -> dict:
    program = where.root / "tests/validation/planted_bugs.py"
    names = [line.split("(")[0].removeprefix("def ")
             for line in program.read_text().splitlines()
             if line.startswith("def ")]
    found, rows = [], []
    for name in names:
        done = subprocess.run(
            [weft(where), "validate", "fuzz", "--json", "--findings", "1",
             "--examples", "100", "--schema", program.with_suffix(".toml"),
             "--", "python3", "-S", "-E", program, name],
            capture_output=True, text=True)
        report = json.loads(done.stdout)
        if name == "none":
            if report["findings"]:
                raise RuntimeError("a finding where nothing was planted")
        elif report["findings"]:
            found.append(name)
            rows.append(report["findings"][0]["rows"])
    return {PLANTED.name: {
        "ours": len(found), "ratio": len(found),
        "note": f"of {len(names) - 1} programs; shrunk to at most {max(rows)} "
        "rows; none where nothing is planted"}}


# --- Speed ---

def large_table(where: Setting, copies: int) -> Path:
    """Adult so many times over; made once."""
    path = where.build / "bench" / f"adult-{copies}.csv"
    if not path.exists():
        source = where.data_folder("adult") / "adult.data"
        header, *body = source.read_text().splitlines(keepends=True)
        path.parent.mkdir(parents=True, exist_ok=True)
        text = "".join(line for line in body if line.strip())
        with open(path, "w", encoding="utf-8") as out:
            out.write(header)
            for _ in range(copies):
                out.write(text)
    return path


def count_once(where: Setting, table: Path) -> tuple[float, int]:
    """Seconds of a core, the start of the process included, and the most memory
    in KiB."""
    child = subprocess.Popen(
        [weft(where), "validate", "stats", table, "--json"],
        stdout=subprocess.DEVNULL)
    status = Path(f"/proc/{child.pid}/status")
    peak = 0
    # What the system counts for a child has its parent's memory in it.
    while os.waitid(os.P_PID, child.pid,
                    os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM:"):
                peak = max(peak, int(line.split()[1]))
        time.sleep(0.002)
    _, code, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(code)
    if child.returncode:
        raise RuntimeError(f"weft validate stats ended with {child.returncode}")
    return usage.ru_utime + usage.ru_stime, peak


def measure_speed(where: Setting) -> dict:
    table = large_table(where, COPIES)
    small = large_table(where, COPIES // 10)
    runs = [count_once(where, table) for _ in range(where.pairs)]
    rates = sorted(table.stat().st_size / 1e6 / seconds for seconds, _ in runs)
    memory = max(kib for _, kib in runs) / count_once(where, small)[1]
    size = f"{table.stat().st_size / 1e6:.0f} MB of Adult"
    return {SPEED.name: {"ours": median(rates), "ratio": median(rates),
                         "low": rates[0], "high": rates[-1], "note": size},
            MEMORY.name: {"ours": memory, "ratio": memory,
                          "note": f"{size}; {runs[0][1] / 1024:.0f} MiB"}}


def as_parquet(where: Setting, table: Path) -> tuple[Path, int]:
    """The same rows, written by DuckDB, and how many they are."""
    path = table.with_suffix(".parquet")
    code = ("import duckdb, sys; table, out = sys.argv[1:]; "
            "duckdb.sql(f\"COPY (FROM read_csv('{table}')) TO '{out}' "
            "(FORMAT parquet)\"); "
            "rows = duckdb.sql(f\"SELECT count(*) FROM '{out}'\").fetchall(); "
            "print(rows[0][0])")
    return path, answer([where.peers.python, "-c", code, table, path])


def measure_parquet(where: Setting) -> dict:
    table = large_table(where, COPIES)
    columns, rows = as_parquet(where, table)
    pairs = [(count_once(where, columns)[0], count_once(where, table)[0])
             for _ in range(where.pairs)]
    ratios = sorted(text / typed for typed, text in pairs)
    return {PARQUET.name: {
        "ours": rows / median(typed for typed, _ in pairs),
        "peer": rows / median(text for _, text in pairs), "peer_name": "CSV",
        "ratio": median(ratios), "low": ratios[0], "high": ratios[-1],
        "note": f"{rows:,} rows of Adult, {columns.stat().st_size / 1e6:.0f} MB "
        f"as Parquet and {table.stat().st_size / 1e6:.0f} MB as CSV; seconds of "
        "a core"}}


def tfdv_python(where: Setting) -> Path:
    """WEFT_TFDV, or an environment of its own, made once."""
    if given := os.environ.get("WEFT_TFDV"):
        return Path(given) / "bin" / "python"
    folder = where.build / "peers-tfdv"
    python = folder / "bin" / "python"
    if not python.is_file():
        subprocess.run(["python3.11", "-m", "venv", folder], check=True)
        subprocess.run([python, "-m", "pip", "install", "-q", "--no-deps", "-r",
                        where.root / "bench/requirements-tfdv.txt"], check=True)
    return python


def race_peer(where: Setting, peer: str, bar: Bar) -> dict:
    """TFDV takes a smaller table, as minutes of it say no more."""
    table = large_table(where, 5 if peer == "tfdv" else COPIES)
    python = tfdv_python(where) if peer == "tfdv" else where.peers.python
    rounds = 1 if peer == "tfdv" else max(where.pairs // 3, 1)
    said = answer(["env", "OMP_NUM_THREADS=1", "TF_CPP_MIN_LOG_LEVEL=3", python,
                   where.root / "bench/peers/table_statistics.py", peer, table,
                   "--rounds", rounds, "--warm-up",
                   where.data_folder("adult") / "adult.data"])
    ours = said["rows"] / median(
        count_once(where, table)[0] for _ in range(rounds))
    ratios = sorted(ours / (said["rows"] / seconds)
                    for seconds in said["seconds"])
    return {bar.name: {
        "ours": ours, "peer": said["rows"] / median(said["seconds"]),
        "peer_name": peer, "ratio": median(ratios), "low": ratios[0],
        "high": ratios[-1],
        "note": f"{said['rows']:,} rows of Adult, reading included; seconds of "
        "a core"}}


def measure_ranks(where: Setting) -> dict:
    """Four ranks that have a part each, against one that has all parts."""
    rows = faults.read_rows(faults.ADULT, where.data_folder("adult"))
    with tempfile.TemporaryDirectory() as folder:
        parts = [faults.write(rows[i::4], Path(folder) / f"{i}.csv")
                 for i in range(4)]
        command = [weft(where), "validate", "stats", *parts, "--json"]
        alone = answer(command)["features"]
        together = answer([*command, "--workers", 4])["features"]
    # Those of features with more values than are counted, the sketches.
    exact = [(a, b) for a, b in zip(alone, together) if a["is_exact"]]
    same = sum(a == b for a, b in exact)
    for a, b in zip(alone, together):
        for key in ("present", "missing", "values"):
            if a[key] != b[key]:
                raise RuntimeError(f"{a['name']}: {key} differs")
    return {RANKS.name: {"ours": 100 * same / len(exact),
                         "ratio": 100 * same / len(exact),
                         "note": f"{len(exact)} of {len(alone)} features are "
                         "counted exactly; the others agree within the bounds "
                         "of their sketches"}}


# --- Distances ---

def study(where: Setting, size: int, bar: Bar) -> dict:
    """How often each distance passes its threshold between two samples."""
    repeats = 2 if where.quick else 40 if size <= 10_000 else 8
    chance = random.Random(size)
    alerts: dict[tuple[float, str], int] = {}
    with tempfile.TemporaryDirectory() as folder:
        for shift in STUDY_SHIFTS:
            for _ in range(repeats):
                said = answer([weft(where), "validate", "diff", "--json",
                               sample(Path(folder) / "a.csv", size, shift,
                                      chance),
                               sample(Path(folder) / "b.csv", size, 0, chance)])
                for name, most in STUDY_THRESHOLDS.items():
                    value = said["features"][0]["distances"][name]["value"]
                    key = (shift, name)
                    alerts[key] = alerts.get(key, 0) + (value > most)
    note = "; ".join(
        f"{name} > {most}: " + ", ".join(
            f"{100 * alerts[shift, name] / repeats:.0f} % at {shift:.0%}"
            for shift in STUDY_SHIFTS)
        for name, most in STUDY_THRESHOLDS.items())
    share = 100 * alerts[0.0, "l_infinity"] / repeats
    return {bar.name: {"ours": share, "ratio": share,
                       "note": marked(where, f"alerts by the share that moved, "
                                      f"{repeats} pairs of samples: {note}")}}


def sample(path: Path, size: int, shift: float, chance: random.Random) -> Path:
    """Values of the law, `shift` of them moved from the first to the second."""
    law = list(STUDY_LAW)
    law[0] -= shift
    law[1] += shift
    path.write_text("x\n" + "\n".join(
        chance.choices("abcde", weights=law, k=size)) + "\n")
    return path
