"""What goes first, on simulated networks: P3 on the paper's three networks, and
TicTac's orders for inference and training. A step of each model is measured once
on this machine; its times are played on virtual networks."""

from functools import cache, partial

from lib.bench import Bar, Bench, Setting
from lib.picture import chart
from lib.suite import answer, draw, marked

# Models with a batch and the side of an image, or the words of a sentence: the
# network is slowed down with the computing, so that small ones say as much.
P3 = {"resnet50": (2, 128, 1.2), "gnmt": (4, 16, 1.3), "vgg19": (1, 128, 1.5)}
TICTAC = {"resnet50": (2, 128), "vgg16": (1, 128), "inception-v3": (2, 139)}
HOSTS = 4
# Where parameters take as long to come as computing; in training gradients go
# the other way, and both together take as long.
SHARES = {"inference": 1.0, "training": 0.5}
LEAST = {"inference": 1.25, "training": 1.15}
STEPS = 24


def benches(where: Setting) -> list[Bench]:
    return [*(p3_bench(where, model) for model in P3),
            *(tictac_bench(where, model, task)
              for model in TICTAC for task in SHARES)]


def p3_bench(where: Setting, model: str) -> Bench:
    batch, side, least = P3[model]
    start = f"P3, {model}, {HOSTS} simulated hosts: steps/s over no order"
    best = Bar(f"{start}, best bandwidth", "1/s", least)
    worst = Bar(f"{start}, worst bandwidth", "1/s", 0.99)

    def measure() -> dict:
        found = answer([where.worker, "priorities", model,
                        "--threads", where.threads, "--batch", batch,
                        "--side", side, "--hosts", HOSTS,
                        "--steps", 3 if where.quick else 6])
        draw(where, f"p3-{model}", chart(
            f"{model} on {HOSTS} simulated hosts",
            "seconds that its parameters travel, over those of computing",
            "steps/s",
            {name: sorted((rate["share"], 1 / rate[field])
                          for rate in found["rates"])
             for name, field in (("no order could have more", "least"),
                                 ("no order", "plain"), ("p3", "p3"))},
            log_x=True))
        rates = sorted(found["rates"], key=lambda rate: rate["plain"] / rate["p3"])
        most = max(rate["plain"] / rate["least"] for rate in rates)
        rows = {}
        for bar, rate in ((best, rates[-1]), (worst, rates[0])):
            rows[bar.name] = {
                "ours": 1 / rate["p3"], "peer": 1 / rate["plain"],
                "peer_name": "large layers in parts, first come",
                "ratio": rate["plain"] / rate["p3"],
                "note": marked(where, f"{found['bytes'] / 1e6:.0f} MB take "
                               f"{rate['share']:.2f} times as long one way as "
                               f"{found['computing']:.2f} s of computing; no "
                               f"order could have more than "
                               f"{1 / rate['least']:.4g} steps/s, "
                               f"{rate['plain'] / rate['least']:.2f} times no "
                               f"order's, and {most:.2f} times at any "
                               "bandwidth")}
        return rows

    return Bench((best, worst), measure)


@cache
def orders(where: Setting, model: str) -> list[dict]:
    batch, side = TICTAC[model]
    return answer([where.worker, "transfer-orders", model,
                   "--threads", where.threads, "--batch", batch, "--side", side,
                   "--workers", 2, "--servers", 2,
                   "--steps", 6 if where.quick else STEPS])


def tictac_bench(where: Setting, model: str, task: str) -> Bench:
    start = f"TAC, {model}, simulated {task}"
    gain = Bar(f"{start}: steps/s over no order", "1/s", LEAST[task])
    bars = [gain, Bar(f"{start}: efficiency E", "share",
                      0.95 if task == "inference" else None)]
    if task == "training":
        bars += [Bar(f"{start}: deviation of a step over no order's", "s", 0.5,
                     at_most=True),
                 Bar(f"{start}: straggling over no order's", "share", 0.5,
                     at_most=True)]
    return Bench(tuple(bars), partial(compare, where, model, task, bars))


def compare(where: Setting, model: str, task: str, bars: list[Bar]) -> dict:
    row = {found["order"]: found for found in orders(where, model)
           if found["task"] == task and found["share"] == SHARES[task]}
    tac, none = row["tac"], row["none"]
    others = ", ".join(f"{name} {1 / found['seconds']:.2f}/s, "
                       f"E {found['efficiency']:.2f}"
                       for name, found in row.items())
    note = marked(where, f"2 workers, 2 servers; {others}; no order could have "
                  f"more than E {tac['best_efficiency']:.2f}, with workers in "
                  f"step {tac['best_in_step']:.2f}")
    fields = ("deviation", "straggling")
    rows = {bars[0].name: {"ours": 1 / tac["seconds"],
                           "peer": 1 / none["seconds"],
                           "peer_name": "another order each time",
                           "ratio": none["seconds"] / tac["seconds"],
                           "note": note},
            bars[1].name: {"ours": tac["efficiency"],
                           "ratio": tac["efficiency"], "note": note}}
    for bar, field in zip(bars[2:], fields):
        rows[bar.name] = {"ours": tac[field], "peer": none[field],
                          "peer_name": "another order each time",
                          "ratio": tac[field] / none[field], "note": note}
    return rows
