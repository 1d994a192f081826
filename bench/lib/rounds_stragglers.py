"""What it gains not to wait for stragglers, on a simulated cluster."""

from lib.bench import Bar, Bench, Setting
from lib.suite import answer

CLUSTER = "8@50us,1Gbit/s"
LAW = "stragglers(10%, 10, of=normal(20ms, 5%))"
POLICIES = ("local_sgd(8)", "stale_server(3)", "async_server")


def benches(where: Setting) -> list[Bench]:
    bars = [Bar(f"digits, 8 workers, stragglers: {policy} over server", "share",
                None) for policy in POLICIES]

    def train(policy: str) -> dict:
        return answer([
            where.root / "bin/weft", "train",
            where.root / "recipes/digits.toml", "--json", "--out",
            where.build / "bench/rounds-stragglers", "--simulate", CLUSTER,
            "--set", f"simulate.compute={LAW}", "--set",
            f"sync.policy={policy}", "--set", "train.batch=128"])

    def measure() -> dict:
        server = train("server")
        found = {}
        for bar, policy in zip(bars, POLICIES):
            ours = train(policy)
            found[bar.name] = {
                "ours": ours["seconds"], "peer": server["seconds"],
                "peer_name": "server",
                "ratio": ours["seconds"] / server["seconds"],
                "note": f"accuracy {ours['test_accuracy']:.3f}, of the server "
                        f"{server['test_accuracy']:.3f}; seconds of the "
                        f"virtual clock of {CLUSTER}, {LAW}"}
        return found

    return [Bench(tuple(bars), measure)]
