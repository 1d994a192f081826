"""Privacy: what accountants say beside dp-accounting, and how many tasks
schedulers of budgets grant."""

from functools import cache, partial

from lib.bench import Bar, Bench, Setting
from lib.suite import answer, marked

DELTA = 1e-5
# The solver has so long to bound what a scheduler could grant of one seed.
BOUND_SECONDS = 30
PEER = "dp-accounting"

# On the same grid and orders; no epsilon may be below theirs, which is an upper
# bound of the truth too.
GAPS = {kind: (Bar(f"privacy: {kind}, epsilon above {PEER}, at least", "%", 0),
               Bar(f"privacy: {kind}, epsilon above {PEER}, at most", "%", 1,
                   at_most=True))
        for kind in ("rdp", "pld")}

# The deviation of the number of blocks that a task asks of, and what it must
# grant in terms of dpf.
BLOCK_STUDIES = {0: None, 2: None, 4: 1.7, 6: 1.7, 8: 1.7, 10: 1.7}
ORDER_STUDIES = (0, 0.5, 1, 2, 4)
SEEDS, MANY_SEEDS = 20, 1000
# The solver is sure of these within seconds.
SURE = (*(f"block_study(std={std})" for std in BLOCK_STUDIES),
        "block_study(std=0, tasks=80, blocks=7, mean=3)",
        "block_study(std=1, tasks=80, blocks=7, mean=3)",
        "block_study(std=2, tasks=80, blocks=7, mean=3)",
        "block_study(std=2, tasks=80, blocks=5, mean=3, range_std=0.03)",
        "order_study(std=0.5, tasks=200, least=0.01)",
        "order_study(std=2, tasks=200, least=0.01)",
        "order_study(std=4, tasks=200, least=0.01)")
OF_OPTIMAL = Bar("privacy: dpk of the optimum, the least", "share", 0.77)
# A block a day for the month of the trace, and more jobs or days beside it.
TRACES = {"30 days": ("more_blocks=30", 1.3),
          "30 days, twice the jobs": ("more_blocks=30, clusters=2", None),
          "30 days, four times the jobs": ("more_blocks=30, clusters=4", None),
          "60 days": ("more_blocks=60", None)}
LARGE = Bar("privacy: dpk, 10,000 tasks on 1,000 blocks", "s", 1, at_most=True)


def benches(where: Setting) -> list[Bench]:
    privacy = Privacy(where)
    return [*(Bench(bars, partial(privacy.gaps, kind, bars))
              for kind, bars in GAPS.items()),
            *(privacy.study(f"block study, deviation {std}",
                            f"block_study(std={std})", bar)
              for std, bar in BLOCK_STUDIES.items()),
            # Where 20 seeds are too few to tell dpk from the bar.
            privacy.study(f"block study, deviation 4, {MANY_SEEDS:,} seeds",
                          "block_study(std=4)", None, MANY_SEEDS),
            *(privacy.study(f"order study, deviation {std}",
                            f"order_study(std={std})", None)
              for std in ORDER_STUDIES),
            Bench((OF_OPTIMAL,), privacy.of_optimal),
            *(privacy.trace(name, options, bar)
              for name, (options, bar) in TRACES.items()),
            privacy.reviews(),
            Bench((LARGE,), privacy.large)]


class Privacy:
    def __init__(self, where: Setting):
        self.where = where
        self.epsilons = cache(self._epsilons)

    def weft(self, *arguments: object) -> dict:
        return answer([self.where.build / "bin/weft", "budget", *arguments,
                       "--json"])

    def _epsilons(self) -> list[tuple[dict, dict]]:
        """Ours and theirs."""
        quick = ["--quick"] if self.where.quick else []
        theirs = answer([self.where.peers.python, self.where.root /
                         "bench/peers/dp_accounting_epsilons.py", DELTA,
                         *quick])
        return [(self.weft("account", their["mechanisms"], "--delta", DELTA),
                 their) for their in theirs]

    def gaps(self, kind: str, bars: tuple[Bar, Bar]) -> dict[str, dict]:
        found = sorted((100 * (ours[kind]["epsilon"] / theirs[kind] - 1),
                        ours[kind]["epsilon"], theirs[kind],
                        theirs["mechanisms"])
                       for ours, theirs in self.epsilons())
        return {bar.name: {
            "ours": ours, "peer": peer, "peer_name": PEER, "ratio": gap,
            "low": found[0][0], "high": found[-1][0],
            "note": marked(self.where, f"{len(found)} settings; {mechanisms}")}
            for bar, (gap, ours, peer, mechanisms)
            in zip(bars, (found[0], found[-1]))}

    def simulated(self, workload: str, *schedulers: str, seeds: int,
                  bounded: bool = False) -> dict:
        """What each scheduler did, by its name; and, by seed, the most that
        any could do."""
        chosen = [word for name in schedulers
                  for word in ("--scheduler", name)]
        found = self.weft("simulate", workload, *chosen, "--seeds", seeds,
                          "--bound", BOUND_SECONDS if bounded else 0)
        study = found["workloads"][0]
        return {"most": study.get("most_weight"),
                **{run["scheduler"]: run for run in study["schedulers"]}}

    def over_dpf(self, workload: str, dpk: str, seeds: int,
                 note: str = "") -> dict:
        found = self.simulated(workload, dpk, "dpf", seeds=seeds, bounded=True)
        ours, peer = found[dpk], found["dpf"]
        ratios = [a["granted"] / b["granted"]
                  for a, b in zip(ours["seeds"], peer["seeds"])]

        def fair(run: dict) -> float:
            tasks = sum(seed["fair"] for seed in run["seeds"])
            granted = sum(seed["fair_granted"] for seed in run["seeds"])
            return 100 * granted / tasks if tasks else 100

        # All weights are 1, so that weights are numbers of tasks.
        most = sum(found["most"]) / seeds / peer["granted"]
        shares = (f"no scheduler exceeds {most:.4f} x; of those that "
                  f"ask for a 50th at most, {fair(ours):.0f} % "
                  f"are granted, {fair(peer):.0f} % by dpf")
        return {"ours": ours["granted"], "peer": peer["granted"],
                "peer_name": "dpf",
                "ratio": ours["granted"] / peer["granted"],
                "low": min(ratios), "high": max(ratios),
                "note": marked(self.where,
                               f"{note}{seeds} seeds; {shares}")}

    def study(self, name: str, workload: str, bar: float | None,
              seeds: int = SEEDS) -> Bench:
        row = Bar(f"privacy: {name}, dpk over dpf", "tasks", bar)
        return Bench((row,), lambda: {row.name: self.over_dpf(
            workload, "dpk", 3 if self.where.quick else seeds)})

    def trace(self, name: str, options: str, bar: float | None) -> Bench:
        row = Bar(f"privacy: trace of Alibaba, {name}, dpk over dpf", "tasks",
                  bar)

        def measure() -> dict:
            file = (self.where.data_folder("alibaba-gpu-v2023") /
                    "openb_pod_list_default.csv")
            workload = f'alibaba(file="{file}", tail=0.5, {options})'
            return {row.name: self.over_dpf(
                workload, "dpk", 1 if self.where.quick else 3)}
        return Bench((row,), measure)

    def reviews(self) -> Bench:
        row = Bar("privacy: pipelines of PrivateKube, dpk over dpf", "tasks",
                  None)

        def measure() -> dict:
            folder = self.where.data_folder("privatekube")
            return {row.name: self.over_dpf(
                f'privatekube(folder="{folder}", tasks=200)', "dpk",
                1 if self.where.quick else 3)}
        return Bench((row,), measure)

    def of_optimal(self) -> dict:
        shares = []
        for workload in SURE[:4] if self.where.quick else SURE:
            found = self.simulated(workload, "dpk", "optimal", seeds=3)
            shares += [(a["granted"] / b["granted"], a["granted"],
                        b["granted"], workload) for a, b in
                       zip(found["dpk"]["seeds"], found["optimal"]["seeds"])]
        share, ours, peer, workload = min(shares)
        return {OF_OPTIMAL.name: {
            "ours": ours, "peer": peer, "peer_name": "HiGHS", "ratio": share,
            "low": share, "high": max(shares)[0],
            "note": marked(self.where, f"{len(shares)} problems; {workload}")}}

    def large(self) -> dict:
        runs = [self.simulated("block_study(blocks=1000, tasks=10000)", "dpk",
                               seeds=1)["dpk"]["seeds"][0]
                for _ in range(1 if self.where.quick else 5)]
        seconds = sorted(run["seconds"] for run in runs)
        middle = seconds[len(seconds) // 2]
        return {LARGE.name: {
            "ours": middle, "ratio": middle, "low": seconds[0],
            "high": seconds[-1],
            "note": marked(self.where, f"{runs[0]['granted']} granted")}}
