"""The machine that a row was measured on, as its provenance names it."""

import os
import re
from pathlib import Path

# What Linux calls an instruction set, and what it is called here: the highest
# that a processor has, since each has the ones before it.
INSTRUCTIONS = (("avx2", "AVX2"), ("avx512vl", "AVX-512"),
                ("avx512_vnni", "AVX-512 with VNNI"),
                ("avx512_bf16", "AVX-512 with bf16"),
                ("avx512_fp16", "AVX-512 with fp16"),
                ("amx_bf16", "AVX-512 with AMX"))
# Names that virtual machines leave out of the model's, by vendor and family:
# the models from this one on, the highest that is not above the model.
GENERATIONS = {
    ("AuthenticAMD", 23): {0x00: "Zen", 0x30: "Zen 2"},
    ("AuthenticAMD", 25): {0x00: "Zen 3", 0x10: "Zen 4", 0x20: "Zen 3",
                           0x60: "Zen 4", 0xb0: ""},
    ("AuthenticAMD", 26): {0x00: "Zen 5"},
    ("GenuineIntel", 6): {
        0x3f: "Haswell", 0x40: "", 0x4f: "Broadwell", 0x50: "",
        0x55: "Skylake", 0x56: "", 0x6a: "Ice Lake", 0x6b: "",
        0x6c: "Ice Lake", 0x6d: "", 0x8f: "Sapphire Rapids", 0x90: "",
        0xad: "Granite Rapids", 0xaf: "", 0xcf: "Emerald Rapids", 0xd0: ""}}


def fields(cpuinfo: str) -> dict[str, str]:
    """Those of the first processor of /proc/cpuinfo."""
    lines = cpuinfo.split("\n\n")[0].splitlines()
    return {name.strip(): value.strip()
            for name, _, value in (line.partition(":") for line in lines)}


def processor(cpuinfo: str) -> str | None:
    """ "AMD EPYC (Zen 5)"; None where the system does not say."""
    found = fields(cpuinfo)
    if "model name" not in found:
        return None
    name = re.sub(r"\((R|TM)\)| CPU\b| Processor\b| @.*", "",
                  found["model name"])
    generation = _generation(found)
    return " ".join(name.split()) + (f" ({generation})" if generation else "")


def _generation(found: dict[str, str]) -> str:
    family = (found.get("vendor_id", ""), int(found.get("cpu family", 0)))
    model, stepping = (int(found.get(name, 0))
                       for name in ("model", "stepping"))
    starts = GENERATIONS.get(family, {})
    start = max((start for start in starts if start <= model), default=None)
    if starts.get(start) == "Skylake":  # three generations of one model number
        return ("Cooper Lake" if stepping >= 10 else
                "Cascade Lake" if stepping >= 5 else "Skylake")
    return starts.get(start, "")


def instructions(cpuinfo: str) -> str | None:
    flags = fields(cpuinfo).get("flags", "").split()
    names = [name for flag, name in INSTRUCTIONS if flag in flags]
    return names[-1] if names else None


def has(cap: str) -> bool:
    """Whether the machine has the instructions that WEFT_CPU calls so; Linux
    calls them the same."""
    path = Path("/proc/cpuinfo")
    cpuinfo = path.read_text() if path.is_file() else ""
    return cap in fields(cpuinfo).get("flags", "").split()


def machine() -> dict:
    """That part of a row's provenance that says where; `cap` is what WEFT_CPU
    leaves of the instructions."""
    path = Path("/proc/cpuinfo")
    cpuinfo = path.read_text() if path.is_file() else ""
    return {"processor": processor(cpuinfo), "cores": os.cpu_count(),
            "instructions": instructions(cpuinfo),
            "cap": os.environ.get("WEFT_CPU") or None}


def identity(provenance: dict) -> tuple:
    """This is what tells the machines of rows apart: a hypervisor or a cap that
    hides instructions makes another processor of one."""
    return tuple(provenance[each]
                 for each in ("processor", "instructions", "cap"))


def line_of(provenance: dict) -> str:
    """ "AMD EPYC (Zen 5), 2 cores, AVX-512 with bf16". """
    parts = [provenance["processor"] or "a processor that was not recorded"]
    if provenance["cores"]:
        parts.append(f"{provenance['cores']} cores")
    if provenance["instructions"]:
        parts.append(provenance["instructions"])
    if provenance["cap"]:
        parts.append(f"capped at {provenance['cap']}")
    return ", ".join(parts)
