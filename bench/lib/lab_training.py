"""Training by several workers, ours and PyTorch's: in the network lab, or as
threads where only the curve matters.

Curves take minutes to hours each and depend on no network: they are kept
(curve_store.py), and trained where none is kept, or with --fresh-curves.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from statistics import median

from lib.bench import Setting
from lib.curve_store import (
    SOURCES, TORCH_SOURCES, Curve, CurveKey, CurveStore, Points, data_hash,
    hash_of, sources_hash)
from lib.netlab import Lab, Link
from lib.results import made_now
from lib.worker import WorkerError

HOSTS = 4
SETTLING_STEPS = 2  # not counted: buffers are made, connections grow
NOT_OF_A_CURVE = ("sync.timeout",)  # keys that move none

Settings = tuple[tuple[str, object], ...]  # keys of a recipe, their values


@dataclass(frozen=True)
class Job:
    """What is trained: a recipe, and what a row changes in it. `batch` is of
    all hosts together, the rate falls from `lr` to a hundredth."""
    recipe: str
    data: str
    batch: int
    lr: float
    warmup: int
    dtype: str
    settings: Settings = ()

    @property
    def lr_end(self) -> float:
        return self.lr / 100

    def keys(self, steps: int) -> dict[str, object]:
        # The text is a part of the key of kept curves.
        rate = (f'{{schedule="cosine", from={self.lr}, to={self.lr_end}, '
                f'warmup={self.warmup}}}')
        # Hosts that share two cores are silent for long.
        return {"train.batch": self.batch, "train.dtype": self.dtype,
                "sync.timeout": 1800, "train.drop_last": "true",
                "optimizer.lr": rate, "train.max_steps": steps,
                "train.epochs": 1000} | dict(self.settings)


# In bf16, as whoever has slow links and AMX or AVX-512 would: less computing
# leaves more of a step to the network. The rate is 3LC's authors' for a batch
# of 320, scaled to ours.
RESNET20 = Job("cifar10-resnet20", "cifar10", 128, 0.04, 20, "bf16")
# 3LC's authors train so: 25,600 steps, which are 164 epochs, of batches of 320
# of 50,000 images, at 0.1. Ours are 10,000 images: a fifth of the batch and of
# the rate keeps steps and epochs.
LONG_RESNET20 = replace(RESNET20, batch=64, lr=0.02,
                        settings=(("train.eval_every", 8),))
LONG_STEPS = 25_600
# 1,863,690 values, little computing: the network is what a step waits for.
MLP = Job("mnist", "mnist", 128, 0.05, 20, "f32",
          (("model.name", "mlp"), ("model.hidden", "[1024,1024]")))


@dataclass(frozen=True)
class Way:
    """How gradients travel."""
    name: str
    settings: Settings = ()


def topology(link: Link, hosts: int = HOSTS) -> str:
    """The lab's network as a recipe and the simulator write it."""
    return f"{hosts}@50us,{link.payload_bytes_per_s:.0f}B/s"


def way(name: str, momentum: float | None = None, **sync: object) -> Way:
    """`sync` are keys of [sync], `momentum` is the optimizer's."""
    settings = [(f"sync.{key}", value) for key, value in sync.items()]
    if momentum is not None:
        settings.append(("optimizer.momentum", momentum))
    return Way(name, tuple(settings))


def mean_curve(curves: list[Points]) -> Points:
    """The mean of curves that were measured at the same steps."""
    return [(points[0][0], sum(a for _, a in points) / len(points))
            for points in zip(*curves)]


def steps_to(accuracy: float, curve: Points) -> float:
    """Interpolated between measurements; an error if never reached."""
    before = (0, 0.1)  # guessing among ten classes
    for point in curve:
        if point[1] >= accuracy:
            share = (accuracy - before[1]) / (point[1] - before[1])
            return before[0] + share * (point[0] - before[0])
        before = point
    reached = max(a for _, a in curve)
    raise WorkerError(f"accuracy {reached:.3f} reached, not {accuracy}")


@dataclass(frozen=True)
class Run:
    step_seconds: list[float]
    curve: Points
    report: dict
    traffic: list[dict] = field(default_factory=list)  # of each of our steps

    @property
    def step_s(self) -> float:
        return median(self.step_seconds[SETTLING_STEPS:])

    @property
    def computing_s(self) -> float:
        """What a mean step of ours takes beside the network."""
        return self.report["step_seconds"] - (self.report["wire_seconds"]
                                              - self.report["hidden_seconds"])


class Trainings:
    """Starts runs of `steps` steps of a job. One at a time."""

    def __init__(self, where: Setting, job: Job):
        self._where = where
        self._job = job
        self._folder = where.build / "bench" / "comm"
        self._store = CurveStore(self._folder / "curves")
        self._of_other_sources: set[str] = set()

    def ours(self, how: Way, steps: int, link: Link | None = None,
             hosts: int = HOSTS, launcher: str = "mpi",
             **recipe: object) -> Run:
        """In the lab, or by threads of one process without a `link`."""
        out = self._folder / "run"
        shutil.rmtree(out, ignore_errors=True)
        command = [*self._train, "--out", out]
        settings = self._job.keys(steps) | recipe | dict(how.settings)
        if link:
            # Quoted, as its comma would make a sweep.
            settings["sync.topology"] = f'"{topology(link, hosts)}"'
        for key, value in settings.items():
            command += ["--set", f"{key}={value}"]
        if link is None:
            answer = self._finish([self._start([*command, "--workers",
                                                hosts])])
        else:
            answer = self._in_lab(link, launcher, command, hosts)
        lines = [json.loads(line) for line in
                 (out / "traffic.jsonl").read_text().splitlines()]
        return Run([line["seconds"] for line in lines], _curve(out), answer,
                   lines)

    def simulated(self, how: Way, steps: int, link: Link,
                  seconds: float) -> Run:
        """Workers of a simulated cluster, who compute a step for so long."""
        network = topology(link)
        return self.ours(how, steps, **{
            "sync.topology": f'"{network}"',
            "simulate.network": f'"{network}"',
            "simulate.compute": f"constant({seconds:.6f})"})

    def curve(self, how: Way, steps: int, seed: int = 1) -> Points:
        settings = (self._job.keys(steps) | {"train.seed": seed}
                    | dict(how.settings))
        key = self._key("weft", steps, seed, settings, SOURCES)
        return self._kept(f"{how.name}, seed {seed}, {steps} steps", key,
                          lambda: self.ours(how, steps,
                                            **{"train.seed": seed}))

    def torch_curve(self, hook: str, steps: int, eval_every: int) -> Points:
        job = self._job
        settings = {"batch": job.batch, "dtype": job.dtype, "lr": job.lr,
                    "lr_end": job.lr_end, "warmup": job.warmup,
                    "eval_every": eval_every}
        key = self._key(f"PyTorch {hook}", steps, None, settings,
                        TORCH_SOURCES)
        return self._kept(f"PyTorch {hook}, {steps} steps", key, lambda:
                          self.torch(hook, steps, Link(10**9), eval_every))

    def remark(self) -> str:
        """What a row's note must say of the curves that were used."""
        if not self._of_other_sources:
            return ""
        return ("; curves trained by other sources than today's: "
                f"{len(self._of_other_sources)}")

    def _key(self, side: str, steps: int, seed: int | None,
             settings: dict[str, object], sources: tuple) -> CurveKey:
        job, root = self._job, self._where.root
        recipe = (root / "recipes" / f"{job.recipe}.toml").read_bytes()
        return CurveKey(
            side, job.recipe, hash_of([recipe]), job.data,
            data_hash(self._where.data_folder(job.data)), HOSTS, seed, steps,
            {key: str(value) for key, value in sorted(settings.items())
             if key not in NOT_OF_A_CURVE}, sources_hash(root, sources))

    def _kept(self, name: str, key: CurveKey,
              train: Callable[[], Run]) -> Points:
        found = self._store.find(key)
        if found and (found.key == key or not self._where.fresh_curves):
            if found.key != key:
                self._of_other_sources.add(name)
            return found.points
        print(f"bench: training {name}", file=sys.stderr)
        made = made_now(self._where.root)
        points = train().curve
        self._store.add(Curve(name, key, made, points))
        return points

    def torch(self, hook: str, steps: int, link: Link, eval_every: int = 0,
              bucket_mib: float | None = None) -> Run:
        command = [self._where.peers.python,
                   self._where.root / "bench/peers/torch_ddp.py",
                   "--hook", hook, "--data", self._data,
                   "--weights", self.initial_weights, "--dtype",
                   self._job.dtype, "--batch", self._job.batch,
                   "--steps", steps, "--lr", self._job.lr,
                   "--lr-end", self._job.lr_end,
                   "--warmup", self._job.warmup, "--eval-every", eval_every]
        if bucket_mib is not None:
            command += ["--bucket-mib", bucket_mib]
        answer = self._in_lab(link, "plain", command)
        return Run(answer["step_seconds"],
                   [(p["step"], p["accuracy"]) for p in answer["curve"]],
                   answer)

    @property
    def _data(self) -> Path:
        return self._where.data_folder(self._job.data).parent

    @property
    def _train(self) -> list:
        return [self._where.build / "bin/weft", "train",
                f"recipes/{self._job.recipe}.toml", "--json", "--data",
                self._data]

    @cached_property
    def initial_weights(self) -> Path:
        """Those that our trainer draws: a step at rate 0 leaves them."""
        out = self._folder / "initial"
        command = [*self._train, "--out", out, "--set", "optimizer.lr=1e-30",
                   "--set", "train.max_steps=1"]
        answer = self._finish([self._start(command)])
        return Path(self._where.root, answer["checkpoint"])

    def _in_lab(self, link: Link, launcher: str, command: list,
                hosts: int = HOSTS) -> dict:
        with Lab(hosts, link,
                 self._where.build / "bin/weft-lossy-switch") as lab:
            return self._finish(lab.start(
                launcher, command, cwd=self._where.root, text=True,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE))

    def _start(self, command: list) -> subprocess.Popen:
        return subprocess.Popen(
            list(map(str, command)), cwd=self._where.root, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=os.environ)

    @staticmethod
    def _finish(processes: list[subprocess.Popen]) -> dict:
        """What the first of them printed last."""
        printed = [process.communicate() for process in processes]
        for process, (_, said) in zip(processes, printed):
            if process.returncode:
                raise WorkerError(f"ended with code {process.returncode}: "
                                  f"{said.strip()[-800:]}")
        return json.loads(printed[0][0].strip().splitlines()[-1])


def _curve(out: Path) -> Points:
    lines = (out / "metrics.jsonl").read_text().splitlines()
    return [(line["step"], line["test_accuracy"])
            for line in map(json.loads, lines)
            if line.get("test_accuracy") is not None]
