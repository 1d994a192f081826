"""Everything at once: local steps, a robust rule, a codec, an order and an
optimizer that nobody tuned, beside the same training without any of them."""

from lib.bench import Bar, Bench, Setting
from lib.suite import answer, marked

CLUSTER = "19@50us,100Mbit/s"
EPOCHS = 100
ALL = {"sync.policy": "adacomm(tau0=8, interval=30it)",
       "sync.rule": "multi_krum(4)", "sync.codec": "value:qsgd(7)",
       "sync.order": "first_use",
       # Copies whose mean multi_krum takes: 19 - 4 - 2.
       "optimizer.mean_of": 13}


def benches(where: Setting) -> list[Bench]:
    bar = Bar("digits, 19 workers, everything together: accuracy less than "
              "plain", "points", 1, at_most=True)

    def train(keys: dict[str, object]) -> dict:
        settings = {"optimizer.name": "yellowfin", "optimizer.lr": 1,
                    "train.batch": 304, "train.epochs": EPOCHS // 5
                    if where.quick else EPOCHS,
                    "simulate.compute": "normal(20ms, 10%)"} | keys
        command = [where.root / "bin/weft", "train",
                   where.root / "recipes/digits.toml", "--json", "--out",
                   where.build / "bench/adversity-together", "--simulate",
                   CLUSTER]
        for key, value in settings.items():
            command += ["--set", f'{key}="{value}"' if "(" in str(value)
                        else f"{key}={value}"]
        return answer(command)

    def measure() -> dict:
        together, plain = train(ALL), train({})
        accuracies = [100 * run["test_accuracy"] for run in (together, plain)]
        return {bar.name: {
            "ours": accuracies[0], "peer": accuracies[1],
            "peer_name": "all-reduce of f32",
            "ratio": accuracies[1] - accuracies[0], "note": marked(
                where, ", ".join(map(str, ALL.values())) + "; both by YellowFin; "
                f"{together['seconds']:.0f} s of the virtual clock of {CLUSTER}, "
                f"{plain['seconds']:.0f} without")}}

    return [Bench((bar,), measure)]
