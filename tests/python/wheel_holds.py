#!/usr/bin/env python3
"""What a wheel that brings its libraries along holds, and how much of it:
wheel_holds.py WHEEL. tools/test_all.sh runs it."""

import re
import sys
import zipfile
from email.parser import Parser

# Unpacked. Of it oneDNN has 40 (docs/embedding.md).
MOST_MB = 86
PROGRAMS = ("weft", "weft-books", "weft-serve")
# Each is there once: what brings a second Weft is found here.
ONCE = (r"libdnnl", r"libweft\b", r"_weft\.", r"libweft_arrow\.so$")
# What is called of LAPACK is in libweft; the others are loaded when they are first
# needed.
NEVER = (r"libopenblas", r"liblapack", r"libblas", r"libpq", r"libarrow", r"libhdf5")


# Nothing else comes with it: no second OpenMP, and no library of a vendor.
DEPENDS = ["numpy"]


def depends(wheel: zipfile.ZipFile) -> list[str]:
    """The names of the packages that pip installs with it."""
    [metadata] = [name for name in wheel.namelist()
                  if name.endswith(".dist-info/METADATA")]
    parsed = Parser().parsestr(wheel.read(metadata).decode())
    return [re.match(r"[\w.-]+", required)[0]
            for required in parsed.get_all("Requires-Dist", [])]


def main() -> str | None:
    with zipfile.ZipFile(sys.argv[1]) as wheel:
        entries = wheel.infolist()
        if depends(wheel) != DEPENDS:
            return f"it depends on {depends(wheel)}, and not on {DEPENDS}"
    names = [entry.filename for entry in entries]

    def among(pattern: str) -> list[str]:
        return [name for name in names if re.search(pattern, name)]

    for program in PROGRAMS:
        if not among(rf"(^|/){program}$"):
            return f"{program} is missing"
    for pattern in ONCE:
        if len(among(pattern)) != 1:
            return f"{pattern} is there as {among(pattern)}, and not once"
    for pattern in NEVER:
        if among(pattern):
            return f"{among(pattern)} should not be there"
    unpacked = sum(entry.file_size for entry in entries) / 1e6
    print(f"{unpacked:.0f} MB unpacked")
    if unpacked > MOST_MB:
        return f"{unpacked:.0f} MB unpacked are more than {MOST_MB}"
    return None


if __name__ == "__main__":
    sys.exit(main())
