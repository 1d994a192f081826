"""What the kernel says about this process's memory."""

from pathlib import Path


def _status_bytes(field: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) * 1024
    raise RuntimeError(f"/proc/self/status has no {field}")


def peak_rss_bytes() -> int:
    return _status_bytes("VmHWM")


def rss_bytes() -> int:
    return _status_bytes("VmRSS")
