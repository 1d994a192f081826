"""Whether data are as they must be.

    schema = weft.validation.infer("monday.csv")
    report = weft.validation.check("tuesday.csv", schema)
    for anomaly in report.anomalies:
        print(anomaly["feature"], anomaly["detail"], anomaly["edit"])
    schema = report.accepted

Data are a file (.csv, .jsonl, .parquet, .stats), the name of a data set, or rows: dicts
from feature to value, list or None. A schema is its text, TOML that people edit;
docs/validation.md explains it.
"""

import json
import os
import select
import signal
import time
import traceback
from dataclasses import dataclass

from weft import _weft

__all__ = ["Finding", "Report", "check", "examples", "fuzz", "infer", "statistics"]


@dataclass(frozen=True)
class Report:
    """What a check has found. `accepted` is the text of a schema that allows the
    data, the given one with the edits of all anomalies in it."""

    has_errors: bool
    anomalies: list
    measurements: list
    accepted: str


@dataclass(frozen=True)
class Finding:
    """What a program cannot take: the last line that it said, the fewest and
    plainest examples, and the edit of the schema that excludes them."""

    message: str
    examples: list
    edit: str


def _given(data):
    if isinstance(data, (str, os.PathLike)):
        return _weft._GivenData(None, os.fspath(data))
    lines = "".join(json.dumps(dict(row)) + "\n" for row in data)
    return _weft._GivenData(lines, "")


def statistics(data, *, weight="", slices=(), label="", images=()):
    """What the data hold, as `weft validate stats --json` tells it; with `label`
    also what each feature says of that one, below the key "label"; the images of
    the features `images` are decoded, and measured below that key."""
    return json.loads(
        _weft.validation_statistics(
            _given(data), weight, list(slices), label, set(images)
        )
    )


def infer(data, *, ranges=False, environments=(), images=()):
    """The text of a first schema; with `ranges` those of numbers that were seen,
    and of the images of the features `images`."""
    return _weft.validation_infer(
        _given(data), ranges, list(environments), set(images)
    )


def check(data, schema, *, environment="", previous=None, serving=None):
    """Holds data against a schema, and against data of before (drift) and data
    that were served (skew)."""
    report, accepted = _weft.validation_check(
        schema,
        _given(data),
        None if previous is None else _given(previous),
        None if serving is None else _given(serving),
        environment,
    )
    return Report(**json.loads(report), accepted=accepted)


def examples(schema, count=100, *, seed=1, environment=""):
    """Rows that the schema allows, at its edges more often."""
    text = _weft.validation_examples(schema, count, seed, environment)
    return [json.loads(line) for line in text.splitlines()]


def fuzz(schema, step, *, count=100, seed=1, environment="", findings=20, seconds=30.0):
    """Calls `step(rows)` with examples that the schema allows, each time in a
    process of its own that is ended after `seconds`. What raises, dies or hangs is a
    finding; the schema is then tightened by its edit, and the search goes on."""
    said = json.loads(
        _weft.validation_fuzz(
            schema,
            count,
            seed,
            environment,
            findings,
            lambda lines: _run(
                step, [json.loads(line) for line in lines.splitlines()], seconds
            ),
        )
    )
    return [
        Finding(
            each["message"],
            [json.loads(line) for line in each["examples"].splitlines()],
            each["edit"],
        )
        for each in said["findings"]
    ]


def _run(step, rows, seconds):
    """What went wrong in a child of this process, or None."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        status = 1
        try:
            step(rows)
            status = 0
        except BaseException as error:
            said = "".join(traceback.format_exception_only(error)).strip()
            os.write(writer, said.splitlines()[-1].encode()[:1000])
        finally:
            # Nothing that the parent has registered may run twice.
            os._exit(status)
    os.close(writer)
    said = b""
    end = time.monotonic() + seconds
    is_late = False
    while True:
        ready, _, _ = select.select([reader], [], [], max(end - time.monotonic(), 0))
        if not ready:
            is_late = True
            os.kill(child, signal.SIGKILL)
            break
        part = os.read(reader, 4096)
        if not part:
            break
        said += part
    os.close(reader)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if is_late:
        return "out of time"
    if status == 0:
        return None
    return said.decode(errors="replace") or f"it ended with code {status}"
