"""What a part of a graph is sent first, in the network lab: a host computes with
weights that another one has and sends in each run."""

import subprocess
from statistics import median, stdev

from lib.adversity_orders import VGG_LIKE
from lib.bench import Bar, Bench, Setting
from lib.lab_training import topology
from lib.netlab import Lab, Link
from lib.suite import marked
from lib.worker import WorkerError

HOSTS = 2
MBIT = 200
BATCH = 512  # computing takes about as long as the weights do
WRITE = """import sys, numpy
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from lib import safetensors
image = numpy.random.default_rng(1).random((int(sys.argv[3]), 32, 32, 3))
safetensors.write(Path(sys.argv[2]), {"image": image.astype(numpy.float32)})
"""


def benches(where: Setting) -> list[Bench]:
    what = f"TAC, VGG-like, inference, {HOSTS} hosts, {MBIT} Mbit/s"
    gain = Bar(f"{what}: runs/s over random orders", "1/s", 1.1)
    spread = Bar(f"{what}: deviation of a run over random orders'", "s", None)

    def measure() -> dict:
        folder = exported(where)
        times = 6 if where.quick else 24
        tac = seconds(where, folder, "tac", times)
        none = seconds(where, folder, "none", times)
        random = seconds(where, folder, "random", times)
        note = marked(where, f"{BATCH} images a run; without an order "
                      f"{1 / median(none):.2f} runs/s")
        return {gain.name: {"ours": 1 / median(tac), "peer": 1 / median(random),
                            "peer_name": "another order in each run",
                            "ratio": median(random) / median(tac),
                            "note": note},
                spread.name: {"ours": stdev(tac), "peer": stdev(random),
                              "peer_name": "another order in each run",
                              "ratio": stdev(tac) / stdev(random),
                              "note": note}}

    return [Bench((gain, spread), measure)]


def exported(where: Setting):
    """A folder with the network and a batch for it. What weights are matters to
    nobody: a step is trained so that there are some."""
    folder = where.build / "bench" / "adversity-inference"
    folder.mkdir(parents=True, exist_ok=True)
    weft = where.build / "bin" / "weft"
    settings = VGG_LIKE.keys(1) | {"train.max_steps": 1}
    commands = [
        [weft, "train", where.root / "recipes" / f"{VGG_LIKE.recipe}.toml",
         "--data", where.data_folder(VGG_LIKE.data).parent,
         "--out", folder / "run",
         *(word for key, value in settings.items()
           for word in ("--set", f"{key}={value}"))],
        [weft, "export", folder / "run", "-o", folder / "vgg.weft"],
        [where.peers.python, "-c", WRITE, where.root / "bench",
         folder / "x.safetensors", BATCH]]
    for command in commands:
        done = subprocess.run(list(map(str, command)), capture_output=True,
                              text=True)
        if done.returncode:
            raise WorkerError(done.stderr.strip()[-500:])
    return folder


def seconds(where: Setting, folder, order: str, times: int) -> list[float]:
    """What each run took but the first two, which make plans and grow
    connections."""
    link = Link(MBIT * 10**6)
    command = [where.build / "bin" / "weft", "run", folder / "vgg.weft",
               "--inputs", folder / "x.safetensors",
               "--output", folder / "y.safetensors", "--place", "*=0",
               "--weights", 1, "--order", order, "--times", times + 2,
               "--topology", topology(link, HOSTS)]
    with Lab(HOSTS, link) as lab:
        processes = lab.start("tcp", command, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True)
        said = [process.communicate()[1] for process in processes]
    if any(process.returncode for process in processes):
        raise WorkerError(said[0].strip()[-500:])
    lines = [line for line in said[0].splitlines() if " ms; received" in line]
    return [float(line.split()[0]) / 1e3 for line in lines[2:]]
