"""The bars of the conflict policies: the expected cost of each delay, and what
delays are worth on a simulated machine whose transactions collide."""

from functools import partial

from lib.bench import Bar, Bench, Setting
from lib.picture import chart
from lib.suite import answer, draw, marked

DRAWS = 300_000
MACHINE_NS = 200_000

# Exact expected costs of one conflict of two, remaining times exponential with
# mean 500 (by integration): B = 2000, then B = 200.
EXPONENTIAL = {
    2000: {"OPT": 490.8, "DET-RW": 564.1, "DET-RA": 527.5, "RRW": 981.7,
           "RRW(mu)": 784.8, "RRA": 776.5, "RRA(mu)": 648.9,
           "NO_DELAY": 2000.0},
    200: {"OPT": 164.8, "DET-RW": 433.0, "DET-RA": 298.9, "RRW": 329.7,
          "RRA": 260.8, "NO_DELAY": 200.0},
}

FLAT = Bar("random delay, |cost / least cost / ratio - 1| over all D, k and "
           "protocols", "", 0.01, at_most=True)
SPIKE = Bar("deterministic delay, |worst cost / least cost / ratio - 1|", "",
            0.01, at_most=True)
TABLE = Bar("synthetic table, exponential: largest deviation from the exact "
            "costs", "", 0.01, at_most=True)
PAYS = Bar("simulated stack and queue, requestor wins, 8 to 64 cores: random "
           "delay / no delay, least", "x", 1.5)
ORACLE = Bar("simulated machine, all loads: random delay / oracle, least", "x",
             0.5)
CALM = Bar("simulated machine, 1 core and txapp on 2: random delay / no delay, "
           "least", "x", 0.9)
BIMODAL = Bar("simulated bimodal lengths, requestor wins, 8 to 64 cores: "
              "random delay / delay tuned on the stack, least", "x", 1.0)


def benches(where: Setting) -> list[Bench]:
    bars = (FLAT, SPIKE, TABLE, PAYS, ORACLE, CALM, BIMODAL)
    return [Bench(bars, partial(measure, where))]


def measure(where: Setting) -> dict:
    found = answer([where.concurrent_worker, "conflict",
                    "--draws", DRAWS // 10 if where.quick else DRAWS,
                    "--machine-ns", MACHINE_NS // 4 if where.quick
                    else MACHINE_NS])
    draw_curves(where, found["curves"])
    draw_machine(where, found["machine"]["rows"])
    rows = {**curve_rows(found["curves"]), **table_row(found["table"]),
            **machine_rows(found["machine"])}
    return {bar.name: {"ours": value, "ratio": value,
                       "note": marked(where, note)}
            for bar, (value, note) in rows.items()}


def curve_rows(curves: list[dict]) -> dict:
    flat = max((abs(point["random"] / curve["ratio"] - 1), curve["protocol"],
                curve["chain"], point["remaining"])
               for curve in curves for point in curve["points"])
    spike = max(abs(curve["deterministic_worst"] / curve["deterministic_ratio"]
                    - 1) for curve in curves)
    ratios = ", ".join(f"{curve['protocol']} k={curve['chain']} "
                       f"{curve['ratio']:.4f}" for curve in curves)
    return {FLAT: (flat[0], f"by stratified drawing; largest for {flat[1]}, k={flat[2]}, "
                            f"D = {flat[3]:.3g} B; ratios: {ratios}"),
            SPIKE: (spike, "just beyond B / (k - 1)")}


def table_row(table: list[dict]) -> dict:
    off = 0.0
    for row in table:
        if row["lengths"] == "exponential":
            exact = EXPONENTIAL[int(row["abort_cost"])]
            off = max(off, *(abs(row["costs"][name] / cost - 1)
                             for name, cost in exact.items()))
    lines = [f"B={row['abort_cost']:.0f} {row['lengths']}: " + " ".join(
        f"{name} {cost:.0f}" for name, cost in row["costs"].items())
        for row in table]
    return {TABLE: (off, "mean 500, k = 2; " + "; ".join(lines))}


def machine_rows(machine: dict) -> dict:
    def least(peer: str, keep) -> tuple[float, str]:
        ratio, row = min(((row["commits"]["random"] / row["commits"][peer], row)
                          for row in machine["rows"] if keep(row)),
                         key=lambda pair: pair[0])
        return ratio, (f"least for {row['workload']}, {row['protocol']}, "
                       f"{row['cores']} cores: {row['commits']['random']:.2f} "
                       f"against {row['commits'][peer]:.2f} commits/us")

    return {
        PAYS: least("no-delay", lambda row: row["cores"] >= 8
                    and row["protocol"] == "RW"
                    and row["workload"] in ("stack", "queue")),
        ORACLE: least("oracle", lambda row: True),
        CALM: least("no-delay", lambda row: row["cores"] == 1
                    or row["cores"] == 2 and row["workload"] == "txapp"),
        BIMODAL: least("tuned", lambda row: row["cores"] >= 8
                       and row["protocol"] == "RW"
                       and row["workload"] == "bimodal"),
    }


def draw_curves(where: Setting, curves: list[dict]) -> None:
    by_key = {(curve["protocol"], curve["chain"]): curve["points"]
              for curve in curves}
    lines = {f"random, {protocol}, k = {chain}":
             [(point["remaining"], point["random"])
              for point in by_key[protocol, chain]]
             for protocol, chain in (("RW", 2), ("RW", 3), ("RW", 10),
                                     ("RA", 2))}
    for name in ("deterministic", "no-delay"):
        # The curve of no delay has no bound; it is cut where others end.
        lines[f"{name}, RW, k = 2"] = [
            (point["remaining"], point[name]) for point in by_key["RW", 2]
            if point[name] <= 4]
    draw(where, "conflict-ratios", chart(
        "Expected cost over the least one", "remaining time / abort cost",
        "cost / least cost", lines, log_x=True))


def draw_machine(where: Setting, rows: list[dict]) -> None:
    policies = ("no-delay", "tuned", "deterministic", "random", "hybrid",
                "oracle")
    for workload in sorted({row["workload"] for row in rows}):
        for protocol in ("RW", "RA"):
            mine = [row for row in rows if row["workload"] == workload
                    and row["protocol"] == protocol]
            draw(where, f"conflict-{workload}-{protocol.lower()}", chart(
                f"Simulated transactions: {workload}, {protocol}", "cores",
                "commits per us",
                {policy: [(row["cores"], row["commits"][policy])
                          for row in mine] for policy in policies},
                log_x=True))
