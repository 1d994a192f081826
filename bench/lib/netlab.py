"""Hosts with slow links on one machine.

Each host is a network namespace. One more namespace holds a bridge, and a
veth pair leads from each host to it; `tbf` limits both ends of the pair, so a
link is limited in each direction on its own, like a full-duplex cable to a
switch. Nothing is added to the machine's own network.

    host0 [eth0] ---- [port0]  switch  [port1] ---- [eth0] host1
          tbf            tbf   (bridge)   tbf          tbf

Where links lose packets the switch is a program instead (bench/lab), which
limits the way to each host, and eth0 the other end of a TUN device of it.

The namespaces are named after the process that made them, so a lab left
behind by a process that was killed is known by its name and is removed by the
next one.
"""

import os
import re
import secrets
import shlex
import shutil
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

PREFIX = "weftlab"
SWITCH = "switch"
INTERFACE = "eth0"
NETWORK = "10.77.0"
FIRST_PORT = 29500  # of the plain launcher's meeting point
MOST_HOSTS = 64
TOOLS = ("ip", "tc", "nsenter", "unshare")
ENTER = Path(__file__).resolve().parents[1] / "netlab-enter"

# What a TCP stream carries in an Ethernet frame of full length (timestamps are
# on), and what tbf counts for that frame.
PAYLOAD_BYTES, FRAME_BYTES = 1448, 1514


class LabError(RuntimeError):
    """A lab that cannot be had; says what to do."""


@dataclass(frozen=True)
class Link:
    """One host's link, in each direction."""
    bits_per_s: int
    delay_s: float = 0.0
    loss: float = 0.0  # chance that a packet is lost, for good

    @property
    def burst_bytes(self) -> int:
        """What may pass at once: a millisecond's worth, so that the rate is
        kept within a millisecond, but room for a few whole frames."""
        return max(4 * FRAME_BYTES, self.bits_per_s // 8000)

    @property
    def send_bytes(self) -> int:
        """What a host hands to its card at once. More than a burst would be cut
        into frames by the limiter, whose work takes cores from the hosts."""
        return min(2**16, self.burst_bytes // FRAME_BYTES * PAYLOAD_BYTES)

    @property
    def queue_bytes(self) -> int:
        """Room before frames are dropped, as a port of a switch has it."""
        return 2**20

    @property
    def payload_bytes_per_s(self) -> float:
        return self.bits_per_s / 8 * PAYLOAD_BYTES / FRAME_BYTES


@dataclass(frozen=True)
class Plan:
    """The commands that make a lab; nothing here runs them."""
    name: str
    hosts: int
    link: Link

    def host(self, number: int) -> str:
        return f"host{number}"

    def address(self, number: int) -> str:
        return f"{NETWORK}.{number + 1}"

    def namespace(self, host: str) -> str:
        return f"{self.name}-{host}"

    @property
    def namespaces(self) -> list[str]:
        hosts = [self.host(number) for number in range(self.hosts)]
        return [self.namespace(host) for host in [SWITCH, *hosts]]

    def setup(self) -> list[list[str]]:
        switch = self.namespace(SWITCH)
        commands = [_words(f"ip netns add {name}") for name in self.namespaces]
        if self.link.loss:
            return commands  # the rest is behind the switch that loses
        commands += [_words(f"ip -n {switch} link add bridge type bridge"),
                     _words(f"ip -n {switch} link set bridge up")]
        for number in range(self.hosts):
            commands += self._connect(number)
        return commands

    def lossy_switch(self, program: Path) -> list[str]:
        """The switch of links that lose packets, when setup() is done."""
        hosts = [self.namespace(self.host(i)) for i in range(self.hosts)]
        return [str(program), str(self.link.loss), str(self.link.bits_per_s),
                str(self.link.delay_s), str(self._in_flight()), *hosts]

    def _in_flight(self) -> int:
        """What may wait or be on its way to a host."""
        delayed = self.link.delay_s * self.link.bits_per_s / 8
        return self.link.queue_bytes + round(delayed)

    def behind_lossy_switch(self) -> list[list[str]]:
        """What is left to do when it has made its devices."""
        lines = []
        for number in range(self.hosts):
            host = self.namespace(self.host(number))
            lines += [f"ip -n {host} addr add {self.address(number)}/24 "
                      f"dev {INTERFACE}",
                      f"ip -n {host} link set {INTERFACE} up",
                      f"ip -n {host} link set lo up",
                      *self._shape(host, INTERFACE), self._run_reno(host)]
        return [_words(line) for line in lines]

    def _connect(self, number: int) -> list[list[str]]:
        switch, port = self.namespace(SWITCH), f"port{number}"
        host = self.namespace(self.host(number))
        lines = [
            f"ip -n {host} link add {INTERFACE} type veth "
            f"peer name {port} netns {switch}",
            f"ip -n {switch} link set {port} master bridge up",
            f"ip -n {host} addr add {self.address(number)}/24 "
            f"dev {INTERFACE}",
            f"ip -n {host} link set {INTERFACE} up",
            f"ip -n {host} link set lo up", self._run_reno(host)]
        lines += self._shape(host, INTERFACE) + self._shape(switch, port)
        return [_words(line) for line in lines]

    @staticmethod
    def _run_reno(host: str) -> str:
        """A loss is taken for congestion, as most hosts take it, and flows that
        meet share a link evenly, whatever this machine runs by default: BBR
        would hardly slow down, and shares unevenly. Namespaces have no choice
        of more than Reno on every machine."""
        return (f"ip netns exec {host} sysctl -q -w "
                "net.ipv4.tcp_congestion_control=reno")

    def _shape(self, namespace: str, device: str) -> list[str]:
        link = self.link
        lines = [f"ip -n {namespace} link set {device} gso_max_size "
                 f"{link.send_bytes}",
                 f"tc -n {namespace} qdisc add dev {device} root handle 1: "
                 f"tbf rate {link.bits_per_s}bit burst {link.burst_bytes} "
                 f"limit {link.queue_bytes}"]
        if link.delay_s > 0 and device == INTERFACE and not link.loss:  # once per direction
            lines.append(f"tc -n {namespace} qdisc add dev {device} parent "
                         f"1:1 netem delay {round(link.delay_s * 1e6)}us "
                         "limit 100000")
        return lines

    def enter(self, number: int, command: Sequence[object]) -> list[str]:
        """`command` on one host."""
        return [str(ENTER), self.name, self.host(number),
                shlex.join(map(str, command))]

    def mpirun(self, command: Sequence[object]) -> list[str]:
        """`command` under mpirun, which runs on the first host."""
        hosts = ",".join(f"{self.host(i)}:1" for i in range(self.hosts))
        settings = {
            "plm": "rsh", "plm_rsh_agent": f"{ENTER} {self.name}",
            "pml": "ob1", "btl": "tcp,self",
            "btl_tcp_if_include": INTERFACE, "oob_tcp_if_include": INTERFACE,
            "hwloc_base_binding_policy": "none",
            # Ranks share cores: one that waits must leave them to others.
            "mpi_yield_when_idle": "1"}
        options = [word for key, value in settings.items()
                   for word in ("--mca", key, value)]
        return self.enter(0, ["mpirun", "-n", self.hosts, "--host", hosts,
                              *options, *command])

    def tcp(self, number: int, command: Sequence[object],
            options: str = "") -> list[str]:
        """`command`, a `weft train` or `run`, as the rank of one host."""
        first = f"{self.address(0)}:{FIRST_PORT}"
        return self.enter(number, [
            *command, "--transport", f"tcp({first}, rank={number}, "
            f"ranks={self.hosts}{', ' if options else ''}{options})"])

    def plain(self, number: int) -> dict[str, str]:
        """What the plain launcher adds to the environment of one host."""
        return {"RANK": str(number), "WORLD_SIZE": str(self.hosts),
                "LOCAL_RANK": "0", "MASTER_ADDR": self.address(0),
                "MASTER_PORT": str(FIRST_PORT),
                "GLOO_SOCKET_IFNAME": INTERFACE}


class Lab:
    """The lab of this process, for as long as a `with` lasts."""

    def __init__(self, hosts: int, link: Link,
                 lossy_switch: Path | None = None):
        """`lossy_switch`: the program, which links that lose packets need."""
        self.plan = Plan(f"{PREFIX}-{os.getpid()}", hosts, link)
        self._program = lossy_switch
        self._switch: subprocess.Popen | None = None

    def __enter__(self) -> "Lab":
        require(TOOLS)
        remove(abandoned())
        remove(present(self.plan.name))
        try:
            for command in self.plan.setup():
                _checked(command)
            if self.plan.link.loss:
                self._start_switch()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _start_switch(self) -> None:
        if self._program is None:
            raise LabError("links that lose packets need weft-lossy-switch: "
                           "build with -DWEFT_BENCH=ON")
        self._switch = subprocess.Popen(
            self.plan.lossy_switch(self._program), text=True,
            stdout=subprocess.PIPE)
        if self._switch.stdout.readline().strip() != "ready":
            raise LabError("the switch that loses packets does not start")
        for command in self.plan.behind_lossy_switch():
            _checked(command)

    def __exit__(self, *_: object) -> None:
        with uninterrupted():
            if self._switch:
                stop([self._switch])
            remove(present(self.plan.name))

    def start(self, launcher: str, command: Sequence[object],
              **options) -> list[subprocess.Popen]:
        """`command` on all hosts: one process for mpirun, or one per host.
        "tcp(datagrams=true)" is our own transport with such options; `options`
        are those of Popen."""
        environment = lab_environment()
        if launcher.startswith("tcp"):
            environment["WEFT_KEY"] = secrets.token_hex(32)
            wanted = launcher.removeprefix("tcp").strip("()")
            return [subprocess.Popen(self.plan.tcp(number, command, wanted),
                                     env=environment, **options)
                    for number in range(self.plan.hosts)]
        if launcher == "mpi":
            require(("mpirun",))
            return [subprocess.Popen(self.plan.mpirun(command),
                                     env=environment, **options)]
        return [subprocess.Popen(self.plan.enter(number, command),
                                 env=environment | self.plan.plain(number),
                                 **options)
                for number in range(self.plan.hosts)]

    def run(self, launcher: str, command: Sequence[object]) -> int:
        """The first exit code that is not 0, or 0. When one host's process
        fails, the others are ended."""
        processes = self.start(launcher, command)
        waiting = list(processes)
        try:
            while waiting:
                done = _first_to_end(waiting)
                if done.returncode:
                    return done.returncode
                waiting.remove(done)
        finally:
            stop(processes)
        return 0


def lab_environment() -> dict[str, str]:
    """One thread per rank: the hosts share the machine's cores. Open MPI
    wants to be told twice that root may run it."""
    return {"OMP_NUM_THREADS": "1"} | os.environ | {
        "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def require(tools: Sequence[str]) -> None:
    if os.geteuid() != 0:
        raise LabError("making network namespaces needs root: try sudo")
    for tool in tools:
        if not shutil.which(tool):
            raise LabError(f"there is no program {tool!r}; install iproute2, "
                           "util-linux and openmpi-bin")


def present(name: str | None = None) -> list[str]:
    """The namespaces of the lab `name`, or of all labs."""
    folder = Path("/run/netns")
    found = sorted(path.name for path in folder.glob(f"{PREFIX}-*"))
    return [space for space in found
            if name is None or space.startswith(f"{name}-")]


def abandoned() -> list[str]:
    """The namespaces whose maker has ended."""
    return [space for space in present() if not _is_alive(maker(space))]


def maker(namespace: str) -> int | None:
    """The process that made it; none if that is not one of our names."""
    match = re.fullmatch(rf"{PREFIX}-(\d+)-(?:{SWITCH}|host\d+)", namespace)
    return int(match[1]) if match else None


def remove(namespaces: Sequence[str]) -> None:
    """Ends what runs in them and deletes them, with the links in them."""
    for namespace in namespaces:
        if maker(namespace) is None:
            continue
        inside = subprocess.run(["ip", "netns", "pids", namespace],
                                capture_output=True, text=True).stdout
        for process in map(int, inside.split()):
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        subprocess.run(["ip", "netns", "delete", namespace],
                       capture_output=True)


class uninterrupted:
    """Signals that would end this process wait until the block is over."""
    SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

    def __enter__(self) -> None:
        self._before = signal.pthread_sigmask(signal.SIG_BLOCK, self.SIGNALS)

    def __exit__(self, *_: object) -> None:
        signal.pthread_sigmask(signal.SIG_SETMASK, self._before)


def stop(processes: Sequence[subprocess.Popen], patience_s: float = 5) -> None:
    """Asks those that still run to end, then makes them."""
    for process in processes:
        process.terminate()
    for process in processes:
        try:
            process.wait(patience_s)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _first_to_end(processes: Sequence[subprocess.Popen]) -> subprocess.Popen:
    while True:
        for process in processes:
            with suppress(subprocess.TimeoutExpired):
                process.wait(0.1)
                return process


def _is_alive(process: int | None) -> bool:
    return process is None or Path(f"/proc/{process}").is_dir()


def _words(line: str) -> list[str]:
    return line.split()


def _checked(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode == 0:
        return
    said = done.stderr.strip()
    if "netem" in command and "qdisc kind is unknown" in said:
        raise LabError("this kernel has no netem (CONFIG_NET_SCH_NETEM): "
                       "leave --delay out")
    raise LabError(f"{shlex.join(command)}: {said}")
