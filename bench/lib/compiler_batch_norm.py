"""Batch norm restructured (Jung et al., MLSys 2019): training steps of a DenseNet
whose maps are larger than the caches, in the five forms of
`compiler.batch_norm`, and of one whose maps are not."""

from collections.abc import Sequence
from functools import partial
from statistics import median

from lib.bench import Bar, Bench, Setting
from lib.measure import race
from lib.suite import marked
from lib.worker import Worker

FORMS = ("none", "rcf", "mvf", "bnff", "icf", "auto")
MODEL, BATCH, SIDE = "densenet-bc", 64, 32
TURNS, STEPS = 7, 1
EPOCH = 60  # steps whose losses are compared
PEERS = {"PyTorch": [], "torch.compile": ["--compile"]}


def benches(where: Setting) -> list[Bench]:
    return [forms_bench(where), curves_bench(where), small_bench(where),
            *(peer_bench(where, peer) for peer in PEERS)]


def worker(where: Setting, form: str, batch: int, steps: int = STEPS,
           depth: int | None = 100, model: str = MODEL,
           more: Sequence[str] = ()) -> Worker:
    deep = [] if depth is None else ["--depth", depth]
    return Worker([where.worker, "batch-norm", model, "--form", form, "--batch",
                   batch, "--side", SIDE, *deep, "--steps", steps, "--threads",
                   where.threads, *more], where.threads, timeout_s=1800,
                  rests=True)


def in_turns(where: Setting, batch: int, forms: tuple) -> dict:
    """What each form answers: its seconds a step, its split and its facts."""
    workers = {form: worker(where, form, batch) for form in forms}
    try:
        seconds = {form: [] for form in forms}
        for each in workers.values():
            each.ask("run")  # plans
        for _ in range(3 if where.quick else TURNS):
            for form, each in workers.items():
                seconds[form].append(each.ask("run")["seconds"] / STEPS)
        return {form: {"seconds": seconds[form], **each.ask("facts"),
                       **{f"split_{key}": value for key, value
                          in each.ask("split").items()}}
                for form, each in workers.items()}
    finally:
        for each in workers.values():
            each.close()


def forms_bench(where: Setting) -> Bench:
    start = f"DenseNet-BC (k = 12, L = 100), batch {BATCH}"
    bars = (Bar(f"{start}: a step, batch norm restructured over apart",
                "times", 1.20),
            Bar(f"{start}: outside convolutions, the same", "times", 2.5),
            Bar(f"{start}: memory of a plan, the same", "times", 2.0),
            Bar(f"{start}: a step, restructured over fused loops", "times",
                None),
            Bar(f"{start}: bytes moved, restructured over apart", "times",
                None),
            Bar(f"{start}: a step, as is chosen over fused loops", "times",
                0.98))
    return Bench(bars, partial(measure_forms, where, bars))


def ratios(slow: list, fast: list) -> dict:
    """In turns, so that both of a pair met the same machine."""
    pairs = sorted(a / b for a, b in zip(slow, fast))
    return {"ours": median(pairs), "ratio": median(pairs), "low": pairs[0],
            "high": pairs[-1]}


def measure_forms(where: Setting, bars: tuple) -> dict:
    found = in_turns(where, BATCH, FORMS)
    best, apart, loops = (found[form] for form in ("icf", "none", "mvf"))
    # Chunks hold their convolutions: these are taken to last as long as they do
    # by themselves.
    convolutions = apart["split_convolutions"]
    outside = {form: [max(each - convolutions, 1e-9)
                      for each in found[form]["seconds"]] for form in FORMS}
    times = ", ".join(f"{form} {1e3 * median(found[form]['seconds']):.0f}"
                      for form in FORMS)
    moved = ", ".join(f"{form} {found[form]['bytes'] / 1e9:.1f}"
                      for form in FORMS)
    memory = ", ".join(f"{form} {found[form]['arena_bytes'] / 1e6:,.0f}"
                       for form in FORMS)
    less_memory = apart["arena_bytes"] / best["arena_bytes"]
    less_moved = apart["bytes"] / best["bytes"]
    return {
        bars[0].name: {**ratios(apart["seconds"], best["seconds"]),
                       "note": marked(where, f"ms: {times}")},
        bars[1].name: {**ratios(outside["none"], outside["icf"]),
                       "note": marked(where, "convolutions by themselves take "
                                      f"{1e3 * convolutions:.0f} ms")},
        bars[2].name: {"ours": less_memory, "ratio": less_memory,
                       "note": marked(where, f"MB: {memory}")},
        bars[3].name: {**ratios(loops["seconds"], best["seconds"]),
                       "note": marked(where, f"{best['chunked']} of "
                                      f"{best['steps']} steps in chunks")},
        bars[4].name: {"ours": less_moved, "ratio": less_moved,
                       "note": marked(where, f"GB, by the model: {moved}")},
        bars[5].name: ratios(loops["seconds"], found["auto"]["seconds"]),
    }


def curves_bench(where: Setting) -> Bench:
    bar = Bar(f"DenseNet-BC (k = 12, L = 40), {EPOCH} steps: largest difference "
              "of losses, restructured and not", "nats", 1e-3, at_most=True)
    return Bench((bar,), partial(measure_curves, where, bar))


def measure_curves(where: Setting, bar: Bar) -> dict:
    curves = []
    for form in ("icf", "mvf", "none"):
        with worker(where, form, BATCH, 6 if where.quick else EPOCH, 40) as each:
            curves.append(each.ask("losses")["losses"])
    ours, loops, apart = curves
    most = max(abs(a - b) for a, b in zip(ours, loops))
    rounding = max(abs(a - b) for a, b in zip(apart, loops))
    return {bar.name: {"ours": most, "ratio": most, "note": marked(
        where, f"from {ours[0]:.3f} to {ours[-1]:.3f}; two forms without "
        f"chunks differ by {rounding:.1e}")}}


def small_bench(where: Setting) -> Bench:
    bar = Bar("DenseNet-BC (k = 12, L = 100), batch 2, maps in the cache: a "
              "step, auto over fused loops", "times", 0.98)
    return Bench((bar,), partial(measure_small, where, bar))


def measure_small(where: Setting, bar: Bar) -> dict:
    found = in_turns(where, 2, ("mvf", "auto"))
    return {bar.name: {
        **ratios(found["mvf"]["seconds"], found["auto"]["seconds"]),
        "note": marked(where, f"{found['auto']['chunked']} steps in chunks")}}


def peer_bench(where: Setting, peer: str) -> Bench:
    bar = Bar(f"DenseNet-BC (k = 12, L = 100), batch {BATCH}: a step over "
              f"{peer}", "images/s", 1.25)
    return Bench((bar,), partial(measure_peer, where, peer, bar))


def measure_peer(where: Setting, peer: str, bar: Bar) -> dict:
    command = [where.peers.python,
               where.root / "bench/peers/torch_dense_step.py", "--depth", 100,
               "--batch", BATCH, "--side", SIDE, "--threads", where.threads,
               *PEERS[peer]]
    with worker(where, "auto", BATCH) as ours, \
            Worker(command, where.threads, timeout_s=1800,
                   rests=True) as theirs:
        result = race(ours, theirs, where.pairs)
        parameters = theirs.ask("facts")["parameters"]
    return {bar.name: {
        "ours": result.ours, "peer": result.peer, "peer_name": peer,
        "ratio": result.ratio, "low": result.low, "high": result.high,
        "note": f"{parameters:,} parameters"}}
