"""Books that several processes keep, in a file or on a PostgreSQL server.

    for record in weft.ledger.records("books.db", book="budget"):
        print(record["time"], record["kind"], record["body"])
    assert weft.ledger.verify("books.db")["holds"]

docs/books.md says what a ledger promises.
"""

import json
import os

from weft import _weft

__all__ = ["records", "verify"]


def records(ledger, *, book="", kind="", after=0):
    """The records of a book and kind, or all, behind the one of that number; each is
    held to the chain. `body` is a text, as whoever keeps the book has written it."""
    lines = _weft.ledger_records(os.fspath(ledger), book, kind, after)
    return [json.loads(line) for line in lines]


def verify(ledger, heads=()):
    """Whether every record is what was written: "holds", the "head" of the part that
    does, records of each of its "books", what is "broken" and the "damage" of the
    database. `heads` were noted earlier, and must be in the chain."""
    return json.loads(_weft.ledger_verify(os.fspath(ledger), list(heads)))
