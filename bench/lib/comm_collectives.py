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
CLUSTER = ("ring aware", "ring unaware", "halving far-first",
           "halving near-first", "leaders", "blueconnect 4,64", "pipelined")
MODEL_MS = {
    64_000: (2.56, 2.60, 0.13, 0.095, 0.71, 0.68, 0.68),
    1_000_000: (2.75, 3.35, 0.87, 0.32, 0.97, 0.90, 0.90),
    8_000_000: (4.14, 8.93, 6.39, 2.00, 2.95, 2.58, 2.58),
    100_000_000: (22.5, 82.2, 78.9, 24.1, 28.9, 24.6, 23.1),
    500_000_000: (102, 401, 394, 120, 142, 121, 106)}
LISTED = ("ring aware", "blueconnect 4,64", "blueconnect 4,8,8",
          "blueconnect 2,2,2,2,2,2,2,2")
RESNET50_BYTES = 102_000_000


def benches(where: Setting) -> list[Bench]:
    return [*(all_reduce_bench(where, ranks) for ranks in MPI_RANKS),
            cluster_bench(where), savings_bench(where), sparse_bench(where)]


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
    pairs = 3 if where.quick else where.pairs
    raced = answer(["mpirun", "--allow-run-as-root", "--oversubscribe", "-n",
                    ranks, where.build / "bin/weft-all-reduce", pairs,
                    MOST_BYTES])["sizes"]
    draw(where, f"all-reduce-{ranks}", chart(
        f"All-reduce on {ranks} processes of one machine", "bytes", "seconds",
        {"Weft": [(r["bytes"], median(r["ours"])) for r in raced],
         "MPI_Allreduce": [(r["bytes"], median(r["peer"])) for r in raced]},
        log_x=True, log_y=True))
    rows = {}
    for bar, size in zip(bars, raced):
        ratios = [b / a for a, b in zip(size["ours"], size["peer"])]
        rows[bar.name] = {
            "ours": 1e6 * median(size["ours"]),
            "peer": 1e6 * median(size["peer"]), "peer_name": "MPI_Allreduce",
            "ratio": median(ratios), "low": min(ratios), "high": max(ratios),
            "note": marked(where, size["algorithm"])}
    return rows


# --- BlueConnect, simulated -------------------------------------------------

@cache
def simulated_cluster(where: Setting, machines: int, size: int) -> dict:
    cells = answer([where.worker, "blueconnect", "--threads", 1, "--machines",
                    machines, "--bytes", size])["cells"]
    times = {cell["column"]: cell["seconds"] for cell in cells}
    blue = f"blueconnect 4,{machines}"
    times["pipelined"] = min(seconds for name, seconds in times.items()
                             if name.startswith(blue))
    times["chosen name"] = next(cell["algorithm"] for cell in cells
                                if cell["column"] == "chosen")
    return times


def cluster_bench(where: Setting) -> Bench:
    # Steps of a real schedule overlap, where the model adds them up: cells may
    # be faster than it.
    gaps = [Bar(f"BlueConnect, 256 ranks, {size:,} B: above the model",
                "relative", 0.05, at_most=True) for size in MODEL_MS]
    picks = [Bar(f"BlueConnect, 256 ranks, {size:,} B: chosen", "ms", 1.0)
             for size in MODEL_MS]
    return Bench((*gaps, *picks), partial(compare_cluster, where, gaps, picks))


def compare_cluster(where: Setting, gaps: list, picks: list) -> dict:
    rows = {}
    for size, gap, pick in zip(MODEL_MS, gaps, picks):
        times = simulated_cluster(where, 64, size)
        found = {name: 1e3 * times[name] / expected - 1
                 for name, expected in zip(CLUSTER, MODEL_MS[size])}
        worst = max(found, key=found.get)
        cells = ", ".join(
            f"{name} {1e3 * times[name]:.3g} ms ({found[name]:+.0%})"
            for name in CLUSTER)
        rows[gap.name] = {"ours": found[worst], "ratio": found[worst],
                          "note": f"highest for {worst}; {cells}"}
        best = min(LISTED, key=lambda name: times[name])
        rows[pick.name] = {
            "ours": 1e3 * times["chosen"], "peer": 1e3 * times[best],
            "peer_name": best, "ratio": times[best] / times["chosen"],
            "note": times["chosen name"]}
    draw(where, "blueconnect", chart(
        "All-reduce on 64 simulated machines of 4 ranks", "bytes", "seconds",
        {name: [(size, simulated_cluster(where, 64, size)[name])
                for size in MODEL_MS] for name in (*CLUSTER, "chosen")},
        log_x=True, log_y=True))
    return rows


def savings_bench(where: Setting) -> Bench:
    bars = (Bar("BlueConnect, 192 ranks, 102 MB: saved, unpipelined",
                "share", 0.65),
            Bar("BlueConnect, 192 ranks, 102 MB: saved, pipelined",
                "share", 0.74))
    return Bench(bars, partial(compare_savings, where, bars))


def compare_savings(where: Setting, bars: tuple) -> dict:
    times = simulated_cluster(where, 48, RESNET50_BYTES)
    rows = {}
    for bar, column in zip(bars, ("blueconnect 4,48", "pipelined")):
        saved = 1 - times[column] / times["ring unaware"]
        rows[bar.name] = {
            "ours": saved, "ratio": saved,
            "note": f"{1e3 * times['ring unaware']:.1f} ms in a ring that "
            f"knows no machines, {1e3 * times[column]:.1f} ms so"}
    return rows


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
