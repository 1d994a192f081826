"""The bars of the collectives: on MPI, and on simulated machines."""

from functools import cache, partial
from statistics import median

from lib.bench import Bar, Bench, Setting
from lib.picture import chart
from lib.suite import answer, draw, marked

MPI_RANKS = (2, 3, 4)
MOST_BYTES = 66_000_000
NOT_SLOWER = 1 / 1.1

# Expected seconds x 1e3 by the alpha-beta model for 64 machines of 4 ranks:
# 35 GB/s and 5 us inside, 10 GB/s and 5 us for a card that 4 ranks share.
INSIDE, ACROSS = "@5us,35GB/s", "@5us,10GB/s"
CLUSTER = {"ring aware": "ring", "ring unaware": "ring",
           "halving far-first": "rabenseifner(order=far)",
           "halving near-first": "rabenseifner(order=near)",
           "leaders": "leaders(group=4)",
           "blueconnect 4,64": "blueconnect([4, 64])"}
MODEL_MS = {
    64_000: (2.56, 2.60, 0.13, 0.095, 0.71, 0.68, 0.68),
    1_000_000: (2.75, 3.35, 0.87, 0.32, 0.97, 0.90, 0.90),
    8_000_000: (4.14, 8.93, 6.39, 2.00, 2.95, 2.58, 2.58),
    100_000_000: (22.5, 82.2, 78.9, 24.1, 28.9, 24.6, 23.1),
    500_000_000: (102, 401, 394, 120, 142, 121, 106)}
LISTED = {"ring aware": "ring", "blueconnect 4,64": "blueconnect([4, 64])",
          "blueconnect 4,8,8": "blueconnect([4, 8, 8])",
          "blueconnect 2,2,2,2,2,2,2,2":
          "blueconnect([2, 2, 2, 2, 2, 2, 2, 2])"}
RESNET50_BYTES = 102_000_000

# Racks of 8 such machines, whose link to the others has a quarter of what their
# cards have together.
TIERED_RANKS = (8, 32, 128, 512, 1024)
TIERED_BYTES = (1_000_000, RESNET50_BYTES)
RACK_MACHINES, BETWEEN_RACKS = 8, "@10us,20GB/s"


def benches(where: Setting) -> list[Bench]:
    return [*(all_reduce_bench(where, ranks) for ranks in MPI_RANKS),
            *(sparse_mpi_bench(where, ranks) for ranks in MPI_RANKS),
            cluster_bench(where), savings_bench(where),
            *(tiers_bench(where, ranks) for ranks in TIERED_RANKS),
            sparse_bench(where)]


# --- On processes of this machine -------------------------------------------

def sizes(most: int) -> list[int]:
    found = [1000]
    while found[-1] * 4 <= most:
        found.append(found[-1] * 4)
    return found


def all_reduce_bench(where: Setting, ranks: int) -> Bench:
    bars = tuple(Bar(f"all-reduce mpi, {ranks} ranks, {size:,} B", "us",
                     NOT_SLOWER) for size in sizes(MOST_BYTES))
    return Bench(bars, partial(race_all_reduce, where, ranks, bars))


def race_all_reduce(where: Setting, ranks: int, bars: tuple) -> dict:
    raced = raced_by_mpi(where, ranks, "weft-all-reduce", MOST_BYTES)["sizes"]
    draw(where, f"all-reduce-{ranks}", chart(
        f"All-reduce on {ranks} processes of one machine", "bytes", "seconds",
        {"Weft": [(r["bytes"], median(r["ours"])) for r in raced],
         "MPI_Allreduce": [(r["bytes"], median(r["peer"])) for r in raced]},
        log_x=True, log_y=True))
    return {bar.name: versus_mpi(where, size)
            for bar, size in zip(bars, raced)}


def raced_by_mpi(where: Setting, ranks: int, program: str, size: int) -> dict:
    pairs = 3 if where.quick else where.pairs
    return answer(["mpirun", "--allow-run-as-root", "--oversubscribe", "-n",
                   ranks, where.build / "bin" / program, pairs, size])


def versus_mpi(where: Setting, raced: dict) -> dict:
    ratios = [b / a for a, b in zip(raced["ours"], raced["peer"])]
    return {"ours": 1e6 * median(raced["ours"]),
            "peer": 1e6 * median(raced["peer"]), "peer_name": "MPI_Allreduce",
            "ratio": median(ratios), "low": min(ratios), "high": max(ratios),
            "note": marked(where, raced["algorithm"])}


SPARSE_VALUES = 1 << 22
SPARSE_DENSITIES = (1e-4, 1e-3, 1e-2, 1e-1)  # bench/mpi/sparse_sum.cpp


def sparse_mpi_bench(where: Setting, ranks: int) -> Bench:
    bars = tuple(Bar(f"sparse sum mpi, {ranks} ranks, {SPARSE_VALUES:,} "
                     f"values, density {density:g}", "us", NOT_SLOWER)
                 for density in SPARSE_DENSITIES)
    return Bench(bars, partial(race_sparse, where, ranks, bars))


def race_sparse(where: Setting, ranks: int, bars: tuple) -> dict:
    """Ours is chosen anew for each sum, what that asks of others included."""
    raced = raced_by_mpi(where, ranks, "weft-sparse-sum",
                         SPARSE_VALUES)["sums"]
    return {bar.name: versus_mpi(where, each)
            for bar, each in zip(bars, raced)}


# --- BlueConnect, simulated -------------------------------------------------

@cache
def simulated(where: Setting, topology: str, size: int, algorithm: str,
              order: str = "aware") -> dict:
    """The algorithm that ran, and its seconds."""
    return answer([where.worker, "simulated-all-reduce", "--threads", 1,
                   "--topology", topology, "--bytes", size, "--algorithm",
                   algorithm, "--order", order])


def two_tiers(machines: int, each: int = 4) -> str:
    return f"{each}{INSIDE} x {machines}{ACROSS}"


def unaware_s(where: Setting, topology: str, size: int) -> float:
    """What a ring takes that knows no machines."""
    return simulated(where, topology, size, "ring", "unaware")["seconds"]


def pipelined_s(where: Setting, topology: str, size: int,
                factors: str) -> float:
    """BlueConnect by the number of chunks that suits it."""
    return min(simulated(where, topology, size,
                         f"blueconnect([{factors}], chunks={chunks})")
               ["seconds"] for chunks in (1, 2, 4, 8, 16))


def cluster_times(where: Setting, size: int) -> dict:
    """Seconds of the model's columns."""
    network = two_tiers(64)
    times = {name: simulated(where, network, size, algorithm)["seconds"]
             for name, algorithm in CLUSTER.items()}
    return times | {"ring unaware": unaware_s(where, network, size),
                    "pipelined": pipelined_s(where, network, size, "4, 64")}


def cluster_bench(where: Setting) -> Bench:
    # Steps of a real schedule overlap, where the model adds them up: cells may
    # be faster than it.
    gaps = [Bar(f"BlueConnect, 256 ranks, {size:,} B: above the model",
                "relative", 0.05, at_most=True) for size in MODEL_MS]
    picks = [Bar(f"BlueConnect, 256 ranks, {size:,} B: chosen", "ms", 1.0)
             for size in MODEL_MS]
    return Bench((*gaps, *picks), partial(compare_cluster, where, gaps, picks))


def compare_cluster(where: Setting, gaps: list, picks: list) -> dict:
    rows, curves = {}, {}
    for size, gap, pick in zip(MODEL_MS, gaps, picks):
        times = cluster_times(where, size)
        found = {name: 1e3 * seconds / expected - 1 for (name, seconds),
                 expected in zip(times.items(), MODEL_MS[size])}
        worst = max(found, key=found.get)
        cells = ", ".join(f"{name} {1e3 * seconds:.3g} ms ({found[name]:+.0%})"
                          for name, seconds in times.items())
        rows[gap.name] = {"ours": found[worst], "ratio": found[worst],
                          "note": f"highest for {worst}; {cells}"}
        rows[pick.name] = chosen(where, two_tiers(64), size, LISTED)
        for name, seconds in times.items():
            curves.setdefault(name, []).append((size, seconds))
        curves.setdefault("chosen", []).append(
            (size, rows[pick.name]["ours"] / 1e3))
    draw(where, "blueconnect", chart(
        "All-reduce on 64 simulated machines of 4 ranks", "bytes", "seconds",
        curves, log_x=True, log_y=True))
    return rows


def chosen(where: Setting, network: str, size: int, listed: dict) -> dict:
    """What is chosen beside the best of those that are listed."""
    times = {name: simulated(where, network, size, algorithm)["seconds"]
             for name, algorithm in listed.items()}
    best = min(times, key=times.get)
    pick = simulated(where, network, size, "auto")
    others = ", ".join(f"{name} {1e3 * seconds:.3g} ms"
                       for name, seconds in times.items())
    return {"ours": 1e3 * pick["seconds"], "peer": 1e3 * times[best],
            "peer_name": best, "ratio": times[best] / pick["seconds"],
            "note": f"{pick['algorithm']}; {others}"}


def savings_bench(where: Setting) -> Bench:
    bars = (Bar("BlueConnect, 192 ranks, 102 MB: saved, unpipelined",
                "share", 0.65),
            Bar("BlueConnect, 192 ranks, 102 MB: saved, pipelined",
                "share", 0.74),
            Bar("BlueConnect, 192 ranks, 8 a machine, 102 MB: saved, "
                "pipelined", "share", 0.87))
    return Bench(bars, partial(compare_savings, where, bars))


def compare_savings(where: Setting, bars: tuple) -> dict:
    """The paper's 87 % are more than four ranks at a card can save; eight
    can."""
    size, four, eight = RESNET50_BYTES, two_tiers(48), two_tiers(24, each=8)
    plain = simulated(where, four, size, "blueconnect([4, 48])")["seconds"]
    found = ((four, plain),
             (four, pipelined_s(where, four, size, "4, 48")),
             (eight, pipelined_s(where, eight, size, "8, 24")))
    rows = {}
    for bar, (network, seconds) in zip(bars, found):
        unaware = unaware_s(where, network, size)
        saved = 1 - seconds / unaware
        rows[bar.name] = {
            "ours": saved, "ratio": saved,
            "note": f"{1e3 * unaware:.1f} ms in a ring that knows no "
            f"machines, {1e3 * seconds:.1f} ms so"}
    return rows


def tiers_bench(where: Setting, ranks: int) -> Bench:
    bars = tuple(Bar(f"BlueConnect, racks, {ranks} ranks, {size:,} B: chosen",
                     "ms", 1.0) for size in TIERED_BYTES)
    return Bench(bars, partial(compare_tiers, where, ranks, bars))


def compare_tiers(where: Setting, ranks: int, bars: tuple) -> dict:
    machines = ranks // 4
    sizes = [4, min(machines, RACK_MACHINES)]
    network = two_tiers(sizes[1])
    if machines > RACK_MACHINES:
        sizes.append(machines // RACK_MACHINES)
        network += f" x {sizes[-1]}{BETWEEN_RACKS}"
    factors = ", ".join(map(str, sizes))
    listed = {"ring": "ring", "halving far-first": "rabenseifner(order=far)",
              "halving near-first": "rabenseifner(order=near)",
              "leaders": "leaders(group=4)",
              f"blueconnect {factors}": f"blueconnect([{factors}])"}
    return {bar.name: chosen(where, network, size, listed)
            for bar, size in zip(bars, TIERED_BYTES)}


# --- Sparse sums, simulated -------------------------------------------------

def sparse_bench(where: Setting) -> Bench:
    bars = (Bar("SparCML: pick over the best column", "ratio", 1.1,
                at_most=True),
            Bar("SparCML: over dense at density <= 1e-3", "ratio", 10),
            Bar("SparCML: over dense anywhere", "ratio", 0.95))
    return Bench(bars, partial(compare_sparse, where, bars))


def compare_sparse(where: Setting, bars: tuple) -> dict:
    cells = []
    for ranks in (8,) if where.quick else (8, 32, 128):
        cells += answer([where.worker, "sparse-table", "--threads", 1,
                         "--ranks", ranks])["rows"]
    picks = [(cell[key], cell) for cell in cells
             for key in ("pick", "exact_pick")]
    few = [(pick, cell) for pick, cell in picks if cell["density"] <= 1e-3]
    worst = (max(picks, key=lambda each: each[0]["over_best"]),
             max(few, key=lambda each: each[0]["over_dense"]),
             max(picks, key=lambda each: each[0]["over_dense"]))
    figures = (worst[0][0]["over_best"], 1 / worst[1][0]["over_dense"],
               1 / worst[2][0]["over_dense"])
    draw_sparse(where, cells)
    return {bar.name: {"ours": figure, "ratio": figure, "note": marked(
                where, f"the worst of {len(cells)} cases: {pick['name']}, "
                f"{cell['ranks']} ranks, density {cell['density']:g}, "
                f"{cell['support']}, {cell['network']}")}
            for bar, figure, (pick, cell) in zip(bars, figures, worst)}


def draw_sparse(where: Setting, cells: list) -> None:
    curves = {}
    for cell in cells:
        name = f"{cell['ranks']} ranks, {cell['support']}"
        if cell["network"].startswith("10 GB/s"):
            curves.setdefault(name, []).append(
                (cell["density"], 1 / cell["exact_pick"]["over_dense"]))
    draw(where, "sparse", chart(
        "Sparse sums of 16 M values at 10 GB/s", "density",
        "times as fast as the dense all-reduce", curves,
        log_x=True, log_y=True))
