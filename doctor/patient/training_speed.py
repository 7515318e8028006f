"""Agent: what a training is made of, in time; JSON lines on stdout. Standard library and torch (1.13 on), no numpy.

Run under the patient's Python:
`python training_speed.py --device cuda:N|cpu [--level standard|full] [--seconds S]`. Judges nothing.
Lines: {"begin": STEP} before each step that can hang; {"cpu": {...}} before torch is imported and again, with torch's
threads, after; {"field": "import_seconds", "value": V}; {"field": "pids", "value": [ours]}; {"batch": {...}} once a
batch size; {"rate": {...}} of kinds `loader` and `copies`; {"phase": "sweep"|"training", "device": D, "key": K,
"start": T, "end": T} (seconds of the monotonic clock; one for each batch of the sweep, which it names as "batch_size");
{"ended": {...}} for what failed or was left out. S counts without the import.

This process never uses CUDA: each measurement is a fork of it with an end of its own, so that a crash or a hang costs
that measurement alone, torch is imported once, and several trainings can use the device. All of them die with it.

The training: two towers of small MLPs, 256 and 128 features to an embedding of 128, and the symmetric cross-entropy of
the batch's similarity matrix (contrastive loss, as SimCLR's and CLIP's), float32, AdamW, 32768 samples in memory. A
turn of the loop draws a batch by index into pinned memory, copies it to the device and makes a step. By batch size:
step_ms and graph_ms are whole turns, issue_ms the step's launches alone, load_ms the drawing, copy_ms the copy.
device_ms and launches are the profiler's (kernels and memsets of a step), but device_ms is never more than the time
between two events around a step that was queued behind a sleeping kernel, which is all there is without the profiler.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import json
import os
import re
import select
import signal
import sys
import time
import warnings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Set, Tuple

    Profiled = List[Tuple[int, float, int]]

AGENT = "training_speed"
TEXT_LIMIT = 500
BUDGET_S = {("cuda", "standard"): 25.0, ("cuda", "full"): 90.0, ("cpu", "standard"): 15.0, ("cpu", "full"): 60.0}
PARTS = {
    "cuda": (("profile", 0.16), ("sweep", 0.56), ("loader", 0.76), ("copies", 1.0)),
    "cpu": (("sweep", 0.5), ("loader", 0.75), ("copies", 1.0)),
}
"""Until which share of the budget each measurement may go on; what one leaves over is the next one's."""
BATCHES = {"cuda": (64, 256, 1024, 4096, 16384, 128, 512, 2048, 8192), "cpu": (64, 256, 1024, 128, 512)}
"""The coarse series first; the standard level has no other."""
COARSE = {"cuda": 5, "cpu": 3}
POINT_S = {"standard": 1.8, "full": 5.0}
WARM_S = 0.2
GRAPH_S = 0.15
"""Of a point's time; the graph takes as much beyond it where nothing is left."""
COPIES = {"cuda": (4, 1024), "cpu": (2, 256)}
"""Most copies, and their batch."""
INTERVAL_S = {"standard": 0.4, "full": 1.0}
INTERVALS = 3
MOST_WORKERS = {"standard": 8, "full": 16}
WORKERS_S = {"standard": 1.0, "full": 2.5}
LEAST_S = 0.3
"""With less time than this nothing is begun."""
GRACE_S = 1.0
HANG_S = 5.0

OPERATIONS = 4
TURNS = 50000
SINGLE_RUNS = 40
"""Short ones: one of them will have had the core to itself."""
LOAD_S = 0.4
MOST_CORES = 256

SAMPLES = 32768
TOWERS = ((256, 512, 512, 128), (128, 512, 512, 128))
TEMPERATURE = 0.07
SLOTS = 3
IMAGE = 256
CROP = 224
LOADER_BATCH = 32

running: List[Child] = []  # for the signal handler
samples: List[Any] = []  # the training's, one tensor, made once a process


# The processes


class Child:
    """A fork that runs `work(say, orders, *arguments)`; `say(**line)` writes into a pipe, `orders` reads from one.

    `fresh`: in a new Python, for work whose first argument is torch: CUDA does not work in a fork of a process that has
    initialised it, as some package may have done at torch's import.
    """

    def __init__(self, work: Callable[..., None], *arguments: Any, fresh: bool = False) -> None:
        self.pipe, out = os.pipe()
        orders, self.orders = os.pipe()
        parent = os.getpid()
        self.status: Optional[int] = None
        self.data = b""
        self.pid = os.fork()
        if self.pid == 0:
            try:
                for number in (signal.SIGTERM, signal.SIGINT):
                    signal.signal(number, signal.SIG_DFL)
                die_with(parent)
                for other in running:
                    os.close(other.pipe)
                    os.close(other.orders)
                running.clear()
                if fresh:
                    os.set_inheritable(out, True)
                    os.set_inheritable(orders, True)
                    words_of = [work.__name__, json.dumps(arguments[1:]), str(out), str(orders)]
                    os.execv(sys.executable, [sys.executable, os.path.abspath(__file__), "--child", *words_of])
                serve(work, out, orders, arguments)
            finally:
                os._exit(1)
        os.close(out)
        os.close(orders)
        running.append(self)

    def order(self, line: str) -> None:
        """Send a line; a child that is gone is found out when it is read."""
        try:
            os.write(self.orders, line.encode("ascii") + b"\n")
        except OSError:
            pass

    def ended(self) -> bool:
        """Whether the process is over; its exit status is `status`."""
        if self.status is None:
            try:
                pid, status = os.waitpid(self.pid, os.WNOHANG)
                self.status = status if pid else None
            except OSError:
                self.status = 0
        return self.status is not None

    def kill(self) -> None:
        if self.status is None:
            try:
                os.kill(self.pid, signal.SIGKILL)
            except OSError:
                pass

    def reap(self) -> None:
        """Wait for its end; one that hangs in the driver is left behind."""
        until = time.monotonic() + GRACE_S
        while not self.ended() and time.monotonic() < until:
            time.sleep(0.005)

    def close(self) -> None:
        """End it."""
        self.kill()
        self.reap()
        for pipe in (self.pipe, self.orders):
            os.close(pipe)
        running.remove(self)


def serve(work: Callable[..., None], out: int, orders: int, arguments: Sequence[Any]) -> None:
    """Do a child's work, and end its process."""
    try:
        work(lambda **line: write(out, line), os.fdopen(orders), *arguments)
        write(out, {"done": True})
    except BaseException as error:
        write(out, {"raised": words(error)})
    os._exit(0)


def serve_fresh(name: str, arguments: str, out: str, orders: str) -> None:
    """The same in a new Python."""
    works = {work.__name__: work for work in (profile, sweep, loader, copy_of)}

    def work(say: Callable[..., None], lines: Any) -> None:
        import torch
        import torch.utils.data

        works[name](say, lines, torch, *json.loads(arguments))

    serve(work, int(out), int(orders), ())


def lines_of(children: Sequence[Child], until: float) -> Iterator[Tuple[Child, Dict[str, Any]]]:
    """Lines as they come, until every child has ended or said that it is done; {"hang": True} of those that had not."""
    left = list(children)
    while left:
        poller = select.poll()
        for child in left:
            poller.register(child.pipe, select.POLLIN)
        remaining = until - time.monotonic()
        if remaining <= 0:
            for child in left:
                yield child, {"hang": True}
            return
        ready = {number for number, _ in poller.poll(min(remaining, 0.25) * 1000 + 1)}
        for child in list(left):
            over = child.ended()
            data = os.read(child.pipe, 1 << 16) if child.pipe in ready else b""
            *whole, child.data = (child.data + data).split(b"\n")
            for text in whole:
                line = json.loads(text)
                if "done" in line or "raised" in line:
                    left.remove(child)
                yield child, line
            if child in left and not data and (over or child.pipe in ready):
                left.remove(child)
                child.reap()
                number = (child.status or 0) & 127
                yield child, {"crash": "signal %d" % number if number else "it ended the process"}


def die_with(parent: int) -> None:
    """Have the kernel end this process when its parent ends (PR_SET_PDEATHSIG; Linux)."""
    try:
        ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)
    except (AttributeError, OSError, TypeError):
        pass
    if os.getppid() != parent:
        os._exit(1)


def write(descriptor: int, line: Dict[str, Any]) -> None:
    """One line at once."""
    data = (json.dumps(line) + "\n").encode("ascii")
    while data:
        data = data[os.write(descriptor, data) :]


def words(error: BaseException) -> str:
    """Type and first line of an exception, with the last of one that comes with the traceback of another process."""
    text, _, more = str(error).strip().partition("\n")
    text = "%s %s" % (text, more.rpartition("\n")[2]) if "Traceback" in more else text
    return ("%s: %s" % (type(error).__name__, text) if text else type(error).__name__)[:TEXT_LIMIT]


def median(values: Sequence[float]) -> float:
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def spread_percent(values: Sequence[float]) -> float:
    """90th minus 10th percentile, in percent of the median."""
    ordered, last = sorted(values), len(values) - 1
    middle = median(values)
    return round((ordered[round(0.9 * last)] - ordered[round(0.1 * last)]) / middle * 100, 2) if middle > 0 else 0.0


# The CPU


def loop(turns: int) -> int:
    """The fixed work. A turn is four operations: the next number, a multiplication, an addition, a mask."""
    total = 0
    for number in range(turns):
        total = (total + number * 3) & 0xFFFF
    return total


def single_core() -> float:
    """Million operations a second, the best of several short runs."""
    best = float("inf")
    for _ in range(SINGLE_RUNS):
        started = time.perf_counter()
        loop(TURNS)
        best = min(best, time.perf_counter() - started)
    return OPERATIONS * TURNS / best / 1e6


def under_load(cores: int) -> Optional[float]:
    """The same on so many cores at once, for LOAD_S seconds of the clock: mean of a core. None where a fork failed."""
    began = time.monotonic() + 0.05 + 0.002 * cores
    children = []
    try:
        for _ in range(cores):
            children.append(Child(loop_until, began, began + LOAD_S))
        found = [line["rate"] for _, line in lines_of(children, began + LOAD_S + 2.0) if "rate" in line]
    except OSError:
        return None
    finally:
        for child in children:
            child.close()
    return sum(found) / len(found) if len(found) == cores else None


def loop_until(say: Callable[..., None], orders: Any, began: float, until: float) -> None:
    """A child: the loop between two moments of the monotonic clock."""
    time.sleep(max(0.0, began - time.monotonic()))
    started, turns = time.monotonic(), 0
    while time.monotonic() < until:
        loop(TURNS // 4)
        turns += TURNS // 4
    say(rate=OPERATIONS * turns / (time.monotonic() - started) / 1e6)


def read(path: str) -> str:
    """A small text file; empty where there is none."""
    try:
        with open(path, errors="replace") as file:
            return file.read(1 << 20)
    except OSError:
        return ""


def cgroup_folders(root: str = "/") -> List[str]:
    """Folders that may hold this process's CPU limit: v2, v1 and both side by side, and the groups above it."""
    top = os.path.join(root, "sys/fs/cgroup")
    found = [top, top + "/cpu", top + "/cpu,cpuacct", top + "/unified"]
    for line in read(os.path.join(root, "proc/self/cgroup")).splitlines()[:64]:
        names, _, path = line.partition(":")[2].partition(":")
        bases = [top, top + "/unified"] if not names else [top + "/" + names, top + "/cpu"]
        parts = [part for part in path.split("/") if part and part != ".."][:32]
        if not names or "cpu" in names.split(","):
            found += [
                base + "".join("/" + part for part in parts[: end + 1]) for base in bases for end in range(len(parts))
            ]
    return list(dict.fromkeys(found))


def quota_cores(root: str = "/") -> Optional[float]:
    """The smallest CPU quota of cgroup v1 or v2, in cores; None where there is none."""
    found = []
    for folder in cgroup_folders(root):
        pair = read(folder + "/cpu.max").split()
        if len(pair) != 2:
            pair = [read(folder + "/" + name).strip() for name in ("cpu.cfs_quota_us", "cpu.cfs_period_us")]
        if all(re.match(r"\d{1,15}$", word) for word in pair) and int(pair[1]) > 0 and int(pair[0]) > 0:
            found.append(int(pair[0]) / int(pair[1]))
    return min(found) if found else None


def periods(root: str = "/") -> Dict[str, Tuple[int, int]]:
    """Folder to (periods, throttled periods) by its cpu.stat."""
    found = {}
    for folder in cgroup_folders(root):
        stat = dict(re.findall(r"^(nr_periods|nr_throttled) (\d{1,18})$", read(folder + "/cpu.stat"), re.M))
        if len(stat) == 2:
            found[folder] = (int(stat["nr_periods"]), int(stat["nr_throttled"]))
    return found


def throttled_percent(before: Dict[str, Tuple[int, int]], after: Dict[str, Tuple[int, int]]) -> Optional[float]:
    """Share of the periods between two readings that were throttled, of the group that had it worst."""
    shares = [
        100.0 * (after[folder][1] - before[folder][1]) / (after[folder][0] - before[folder][0])
        for folder in before
        if folder in after and after[folder][0] > before[folder][0]
    ]
    return max(shares) if shares else None


def processor(root: str = "/") -> Dict[str, Any]:
    """Model, and MHz now (of the core that is fastest at this moment) and at most, as far as the kernel tells."""
    text = read(os.path.join(root, "proc/cpuinfo"))
    model = re.search(r"^(?:model name|Hardware|cpu model)\s*:\s*(.+)$", text, re.M)
    now = [float(number) for number in re.findall(r"^cpu MHz\s*:\s*(\d{1,6}(?:\.\d+)?)\s*$", text, re.M)]
    folder = os.path.join(root, "sys/devices/system/cpu/cpu0/cpufreq/")
    most, current = read(folder + "cpuinfo_max_freq").strip(), read(folder + "scaling_cur_freq").strip()
    if not now and current.isdecimal():
        now = [int(current) / 1000]
    found: Dict[str, Any] = {"model": model.group(1).strip()[:200]} if model else {}
    if now and max(now) > 0:
        found["mhz"] = round(max(now), 1)
    if most.isdecimal() and int(most) > 0:
        found["mhz_max"] = round(int(most) / 1000, 1)
    return found


def available_cores() -> float:
    """By affinity and quota."""
    affinity = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota = quota_cores()
    return float(affinity) if quota is None else min(float(affinity), quota)


def cpu_score(cores: float) -> Dict[str, Any]:
    """The fields of CpuScore but torch's."""
    before = periods()
    row: Dict[str, Any] = {"cores": round(cores, 2), "single_core": round(single_core(), 2)}
    row.update(processor())
    if os.cpu_count():
        row["cores_seen"] = os.cpu_count()
    loaded = under_load(min(MOST_CORES, max(1, -int(-cores // 1)))) if hasattr(os, "fork") else None
    if loaded is not None:
        row["under_load"] = round(loaded, 2)
    throttled = throttled_percent(before, periods())
    if throttled is not None:
        row["throttled_percent"] = round(throttled, 2)
    return row


# The training


def layers(dims: Sequence[int]) -> List[Tuple[int, int]]:
    """Width before and after each layer."""
    return [(dims[place], dims[place + 1]) for place in range(len(dims) - 1)]


def step_flops(batch: int) -> int:
    """Floating-point operations of the matrix products of a step (element-wise work left out).

    Each product comes once forward and twice backward (gradients of both factors); the gradient of the input is not
    needed. The similarity matrix: batch x batch x embedding.
    """
    products = 0
    for dims in TOWERS:
        products += sum((3 if index else 2) * a * b for index, (a, b) in enumerate(layers(dims)))
    return 2 * batch * products + 2 * 3 * batch * batch * TOWERS[0][-1]


def step_bytes(batch: int) -> int:
    """Least bytes that a step of such operations moves in device memory, 4 a number, each read and write counted once.

    Weights: read forward, read backward (not the first layer's), gradient written, AdamW as one
    operation: reads four, writes three.
    A hidden layer: product written; ReLU reads, writes; read by the next product and by its weights' gradient; gradient
    written; ReLU backward reads two, writes one; that read by weights' and bias's gradients and (not the first) by the
    input's. Input: read forward and for the weights' gradient. Embedding: product written, norm reads, division reads
    and writes, its product reads; backward the same again, and read by the gradients of weights, bias and input.
    Similarity: product written; log-softmax by rows reads, writes; by columns the same on a transposed copy (read,
    written); backward a gradient written, then read with the result, the other written, for both; sum reads two,
    writes one; read by both products backward.
    """
    numbers = 0
    for dims in TOWERS:
        weights = sum(a * b for a, b in layers(dims))
        biases = sum(dims[1:])
        numbers += (1 + 1 + 7) * (weights + biases) + weights - dims[0] * dims[1]
        numbers += batch * (2 * dims[0] + (5 + 1 + 3 + 3) * sum(dims[1:-1]) - dims[1] + (5 + 5 + 3) * dims[-1])
    return 4 * (numbers + (1 + 2 + 4 + 2 * 4 + 3 + 2) * batch * batch)


class Training:
    """Model, optimizer and data for one batch size on one device."""

    def __init__(self, torch: Any, device: str, batch: int, capturable: bool = False) -> None:
        self.torch, self.cuda, self.batch = torch, device != "cpu", batch
        torch.manual_seed(0)
        nn = torch.nn
        self.towers = []
        for dims in TOWERS:
            parts = [part for a, b in layers(dims) for part in (nn.Linear(a, b, device=device), nn.ReLU())]
            self.towers.append(nn.Sequential(*parts[:-1]))
        weights = [weight for tower in self.towers for weight in tower.parameters()]
        more = {"capturable": True} if capturable else {}
        self.optimizer = torch.optim.AdamW(weights, lr=1e-4, **more)
        self.labels = torch.arange(batch, device=device)
        width = TOWERS[0][0] + TOWERS[1][0]
        if not samples:
            samples.append(torch.rand(SAMPLES, width))
        self.slots = [torch.zeros(batch, width, pin_memory=self.cuda) for _ in range(SLOTS)]
        self.copied = [torch.cuda.Event() for _ in range(SLOTS)] if self.cuda else []
        self.x = torch.zeros(batch, width, device=device)
        self.turns = 0

    def load(self, slot: int = 0) -> None:
        """Draw a batch by index into pinned memory, once its last copy is over."""
        if self.cuda:
            self.copied[slot].synchronize()
        self.torch.index_select(samples[0], 0, self.torch.randint(SAMPLES, (self.batch,)), out=self.slots[slot])

    def copy(self, slot: int = 0) -> None:
        if self.cuda:
            self.x.copy_(self.slots[slot], non_blocking=True)
            self.copied[slot].record()
        else:
            self.x = self.slots[slot]

    def step(self) -> None:
        """Forward, backward, optimizer."""
        F, middle = self.torch.nn.functional, TOWERS[0][0]
        self.optimizer.zero_grad(set_to_none=True)
        one = F.normalize(self.towers[0](self.x[:, :middle])) * (1 / TEMPERATURE)
        two = F.normalize(self.towers[1](self.x[:, middle:]))
        similarity = one @ two.t()
        loss = F.cross_entropy(similarity, self.labels) + F.cross_entropy(similarity.t(), self.labels)
        (loss * 0.5).backward()
        self.optimizer.step()

    def turn(self, step: Optional[Callable[[], None]] = None) -> None:
        """One turn of the loop; `step` in the place of the eager one."""
        slot = self.turns % SLOTS
        self.turns += 1
        self.load(slot)
        self.copy(slot)
        (step or self.step)()

    def wait(self) -> None:
        if self.cuda:
            self.torch.cuda.synchronize()

    def capture(self) -> Callable[[], None]:
        """The step as a CUDA graph; its replay."""
        cuda = self.torch.cuda
        stream = cuda.Stream()
        stream.wait_stream(cuda.current_stream())
        with cuda.stream(stream):
            for _ in range(3):
                self.step()
        cuda.current_stream().wait_stream(stream)
        self.optimizer.zero_grad(set_to_none=True)
        graph = cuda.CUDAGraph()
        with cuda.graph(graph):
            self.step()
        return graph.replay  # type: ignore[no-any-return]


def open_device(torch: Any, device: str) -> str:
    """Make the device current, and its key: "GPU-" and the UUID; empty for the CPU and where nobody tells it."""
    if device == "cpu":
        return ""
    torch.cuda.init()
    torch.cuda.set_device(device)
    torch.zeros(1, device=device)
    torch.cuda.synchronize()
    index = torch.cuda.current_device()
    try:
        library = ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
        handle, uuid = ctypes.c_int(), (ctypes.c_ubyte * 16)()
        code = library.cuDeviceGet(ctypes.byref(handle), index) or library.cuDeviceGetUuid(ctypes.byref(uuid), handle)
        if code == 0:
            digits = bytes(uuid).hex()
            return "GPU-" + "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
    except (OSError, AttributeError):
        pass
    text = str(getattr(torch.cuda.get_device_properties(index), "uuid", "") or "")
    return text if not text or text.startswith(("GPU-", "MIG-")) else "GPU-" + text


def cuda_touched(descriptors: str = "/proc/self/fd") -> bool:
    """Whether this process has initialised CUDA: the driver's nodes are open then."""
    try:
        names = os.listdir(descriptors)
    except OSError:
        return False
    for name in names:
        try:
            if re.match(r"/dev/(nvidia(ctl|\d+|-uvm)|dxg)", os.readlink(os.path.join(descriptors, name))):
                return True
        except OSError:
            pass
    return False


def out_of_memory(error: BaseException) -> bool:
    return isinstance(error, MemoryError) or "out of memory" in str(error) or "can't allocate memory" in str(error)


# Measurements: each runs in a child, `end` is a time of the monotonic clock


def profile(say: Callable[..., None], orders: Any, torch: Any, device: str, batches: Sequence[int], end: float) -> None:
    """Sum of kernels and their number, by the profiler, for each batch size: {"profiled": [batch, ms, launches]}."""
    from torch.profiler import ProfilerActivity
    from torch.profiler import profile as traced

    steps = 3
    open_device(torch, device)
    for batch in sorted(batches):
        if time.monotonic() > end:
            return
        say(begin="profile %d" % batch)
        try:
            training = Training(torch, device, batch)
            warm_up(training, WARM_S)
            with traced(activities=[ProfilerActivity.CUDA]) as trace:
                for _ in range(steps):
                    training.step()
                training.wait()
        except RuntimeError as error:
            if out_of_memory(error):
                return  # the sweep will say so
            raise
        kernels = [
            event.time_range.elapsed_us()
            for event in trace.events()
            if str(event.device_type).endswith("CUDA")
            and not getattr(event, "is_user_annotation", False)
            and not re.match(r"Memcpy (HtoD|DtoH)|Optimizer\.|ProfilerStep", event.name)
        ]
        if kernels:
            say(profiled=[batch, sum(kernels) / steps / 1000, round(len(kernels) / steps)])
        del training, trace


class Sweep:
    """Training steps by batch size."""

    def __init__(self, say: Callable[..., None], torch: Any, device: str, profiled: Profiled) -> None:
        self.say, self.torch, self.device = say, torch, device
        self.profiled = {batch: (kernels_ms, launches) for batch, kernels_ms, launches in profiled}
        self.key, self.end = "", 0.0
        self.no_graph: Optional[Dict[str, str]] = None

    def run(self, batches: Sequence[int], seconds: float, end: float) -> None:
        """All of them, each its part of the time until `end` and no more than `seconds`."""
        self.end = end
        self.say(begin="device")
        self.key = open_device(self.torch, self.device)
        measured: Dict[int, float] = {}
        most = None
        for place, batch in enumerate(batches):
            left = end - time.monotonic()
            part = min(seconds, left / (len(batches) - place))
            below = [size for size in measured if size < batch]
            guess = measured[max(below)] * batch / max(below) if below else 0.0
            if most is not None and batch >= most:
                continue
            if part < LEAST_S / 2 or left < 4 * guess:
                self.leave_out(batch, "its time was over")
                continue
            self.say(begin="sweep %d" % batch)
            try:
                measured[batch] = self.point(batch, time.monotonic() + part)
            except (RuntimeError, MemoryError) as error:
                if not out_of_memory(error):
                    raise
                most = batch
                self.leave_out(batch, "out of memory: the sweep has no larger batch. " + words(error))
            gc.collect()
            if self.device != "cpu":
                self.torch.cuda.empty_cache()

    def leave_out(self, batch: int, detail: str) -> None:
        self.say(ended={"step": "sweep %d" % batch, "fault": "skipped", "detail": detail[:TEXT_LIMIT]})

    def point(self, batch: int, end: float) -> float:
        """One batch size; seconds of a turn. The line is "pending" until the graph, which may crash, is over."""
        row = self.eager(batch, end)
        gc.collect()
        if self.device != "cpu":
            self.say(pending=row)
            row["graph_ms"] = self.graph_ms(batch, end, float(row["step_ms"]) / 1000)
        self.say(batch=row)
        return float(row["step_ms"]) / 1000

    def eager(self, batch: int, end: float) -> Dict[str, Any]:
        """All but the graph."""
        training = Training(self.torch, self.device, batch)
        warm_up(training)
        began = time.monotonic()
        found = timed(training, training.turn, began + (end - began) * (0.62 if training.cuda else 0.9))
        self.say(phase="sweep", device=self.device, key=self.key, batch_size=batch, start=began, end=time.monotonic())
        row: Dict[str, Any] = {
            "device": self.device, "batch": batch, "step_ms": median(found), "spread_percent": spread_percent(found),
            "load_ms": median(repeated(lambda: clocked(training.load), end)),
            "flops": step_flops(batch), "bytes": step_bytes(batch),
        }  # fmt: skip
        if training.cuda:
            row.update(self.on_device(training, end))
        return row

    def on_device(self, training: Training, end: float) -> Dict[str, Any]:
        """What only a GPU has."""

        def issue() -> float:
            training.wait()
            return clocked(training.step)

        issue_ms = median(repeated(issue, end))
        row: Dict[str, Any] = {"issue_ms": issue_ms, "copy_ms": queued_ms(training, training.copy, 0.2, end)}
        queued = row["device_ms"] = queued_ms(training, training.step, issue_ms, end)
        if training.batch in self.profiled:
            kernels_ms, row["launches"] = self.profiled[training.batch]
            row["device_ms"] = min(kernels_ms, queued) if isinstance(queued, float) else kernels_ms
        else:
            row["launches"] = {"missing": "error", "detail": "the profiler saw no kernels"}
        return row

    def graph_ms(self, batch: int, end: float, step_s: float) -> Any:
        """A turn with the step as a CUDA graph; Missing where that does not work."""
        if self.no_graph:
            return self.no_graph
        if time.monotonic() + 10 * step_s > self.end:
            return {"missing": "timeout", "detail": "its time was over"}
        self.say(begin="sweep %d graph" % batch)
        try:
            training = Training(self.torch, self.device, batch, capturable=True)
            replay = training.capture()
            for _ in range(2):
                training.turn(replay)
            training.wait()
            return median(timed(training, lambda: training.turn(replay), max(end, time.monotonic() + GRAPH_S)))
        except Exception as error:
            missing = {"missing": "error", "detail": words(error)}
            if not out_of_memory(error):
                self.no_graph = missing
            return missing


def sweep(
    say: Callable[..., None],
    orders: Any,
    torch: Any,
    device: str,
    batches: Sequence[int],
    seconds: float,
    end: float,
    profiled: Profiled,
) -> None:
    """A child: the batch sweep."""
    Sweep(say, torch, device, profiled).run(batches, seconds, end)


def warm_up(training: Training, seconds: float = 0.0) -> None:
    """Three turns at least: libraries load their kernels, and an idle GPU takes a while to raise its clocks."""
    until, turns = time.monotonic() + seconds, 0
    while turns < 3 or time.monotonic() < until:
        training.turn()
        training.wait()
        turns += 1


def clocked(work: Callable[[], None]) -> float:
    """Milliseconds by the clock."""
    started = time.perf_counter()
    work()
    return (time.perf_counter() - started) * 1000


def timed(training: Training, turn: Callable[[], None], until: float) -> List[float]:
    """Milliseconds a turn, of runs of about 20 ms (64 turns at most), each waited for at its end."""
    found: List[float] = []
    turns = 1
    while not found or time.monotonic() < until:
        started = time.perf_counter()
        for _ in range(turns):
            turn()
        training.wait()
        each = (time.perf_counter() - started) / turns
        found.append(each * 1000)
        if len(found) == 1 and turns == 1 and each < 0.01:
            turns = max(2, min(64, int(0.02 / each)))
            found.clear()
    return found


def repeated(measure: Callable[[], float], until: float) -> List[float]:
    """Ten times; fewer where the time is over, and twice at least."""
    found: List[float] = []
    while len(found) < 2 or (len(found) < 10 and time.monotonic() < until):
        found.append(measure())
    return found


def queued_ms(training: Training, work: Callable[[], None], issue_ms: float, until: float) -> Any:
    """The device's own time for some work: queued behind a kernel that sleeps for longer than the queueing takes."""
    cuda = training.torch.cuda
    if not hasattr(cuda, "_sleep"):
        return {"missing": "absent", "detail": "this torch has no sleeping kernel"}
    first, last = cuda.Event(enable_timing=True), cuda.Event(enable_timing=True)

    def measure() -> float:
        cuda.synchronize()
        cuda._sleep(int(min(50.0, issue_ms + 0.1) * 3e6))  # clock cycles: enough up to 3 GHz
        first.record()
        work()
        last.record()
        cuda.synchronize()
        return float(first.elapsed_time(last))

    return median(repeated(measure, until))


class Images:
    """About a millisecond a sample: a packed picture to unpack, a record to read, a crop, a flip, floats."""

    def __init__(self, torch: Any) -> None:
        import random
        import zlib

        self.torch, self.unpack = torch, zlib.decompress
        size = 3 * IMAGE * IMAGE
        noise = random.Random(0).getrandbits(8 * size).to_bytes(size, "little")
        self.packed = zlib.compress(bytes(value & 63 for value in noise), 1)  # a quarter less, by Huffman codes alone
        self.record = json.dumps([{"label": place, "box": [place] * 4, "name": "x" * 9} for place in range(20)])

    def __len__(self) -> int:
        return 1 << 20

    def __getitem__(self, index: int) -> Tuple[Any, int]:
        image = self.torch.frombuffer(bytearray(self.unpack(self.packed)), dtype=self.torch.uint8)
        top, left = index % (IMAGE - CROP), index * 7 % (IMAGE - CROP)
        image = image.view(3, IMAGE, IMAGE)[:, top : top + CROP, left : left + CROP]
        label = sum(entry["label"] + sum(entry["box"]) for entry in json.loads(self.record))
        return (image.flip(2) if index % 2 else image).float().div_(255).sub_(0.45).div_(0.22), label


def worker_counts(cores: float, most: int) -> List[int]:
    """0, 1, 2, 4 ... up to the whole cores available, and those themselves."""
    top = min(most, max(1, int(cores)))
    return sorted({0, 1, top, *(1 << power for power in range(10) if 1 << power <= top)})


def loader(
    say: Callable[..., None], orders: Any, torch: Any, device: str, counts: Sequence[int], seconds: float, end: float
) -> None:
    """Samples a second out of a DataLoader by its number of workers, with nothing behind it."""
    pinned = device != "cpu" and torch.cuda.is_available()
    if pinned:
        torch.cuda.set_device(device)  # pinning makes a context on the current one
    images = Images(torch)
    for place, workers in enumerate(counts):
        part = min(seconds, (end - time.monotonic()) / (len(counts) - place))
        step = "loader %d" % workers
        if part < LEAST_S:
            say(ended={"step": step, "fault": "skipped", "detail": "its time was over"})
            continue
        say(begin=step)
        try:
            rounds = batches_of(torch, images, workers, pinned, time.monotonic() + part)
        except Exception:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # torch's handler raises where a worker is killed
            kill_workers()
            raise
        of_round = LOADER_BATCH * max(1, workers)
        row = {"kind": "loader", "device": device, "what": str(workers), "unit": "samples/s", "runs": len(rounds),
               "value": of_round * len(rounds) / sum(rounds), "spread_percent": spread_percent(rounds),
               "detail": {"batch": LOADER_BATCH, "pinned": int(pinned)}}  # fmt: skip
        say(rate=row)


def batches_of(torch: Any, images: Images, workers: int, pinned: bool, until: float) -> List[float]:
    """Seconds of each round: one batch of every worker. What the workers had made ahead is not counted."""
    patience = max(2.0, until - time.monotonic())
    parent = os.getpid()
    more = {"multiprocessing_context": "fork", "timeout": patience, "worker_init_fn": lambda _: die_with(parent)}
    rows = iter(
        torch.utils.data.DataLoader(
            images, batch_size=LOADER_BATCH, num_workers=workers, pin_memory=pinned, **(more if workers else {})
        )
    )
    for _ in range(max(1, 2 * workers)):
        next(rows)
    found: List[float] = []
    while len(found) < 2 or time.monotonic() < until:
        started = time.monotonic()
        for _ in range(max(1, workers)):
            next(rows)
        found.append(time.monotonic() - started)
    del rows
    kill_workers()
    return found


def kill_workers() -> None:
    import multiprocessing

    for worker in multiprocessing.active_children():
        worker.kill()


def copy_of(say: Callable[..., None], orders: Any, torch: Any, device: str, batch: int, threads: int) -> None:
    """A child: one copy of the training. It works from one moment to another, as ordered line by line."""
    if threads:
        torch.set_num_threads(threads)
    key = open_device(torch, device)
    training = Training(torch, device, batch)
    warm_up(training)
    say(ready=key)
    for line in orders:
        began, until, threads = json.loads(line)
        if threads:
            torch.set_num_threads(threads)
        time.sleep(max(0.0, began - time.monotonic()))
        started, turns = time.monotonic(), 0
        while time.monotonic() < until:
            for _ in range(4 if training.cuda else 1):
                training.turn()
                turns += 1
            training.wait()
        say(turns=turns, seconds=time.monotonic() - started)


# The agent


class Agent:
    """Plans the measurements within the budget, starts them, passes on what they say."""

    def __init__(self, descriptor: int, device: str, level: str, seconds: Optional[float]) -> None:
        self.descriptor, self.device, self.level = descriptor, device, level
        self.kind = "cpu" if device == "cpu" else "cuda"
        self.seconds = BUDGET_S[self.kind, level] if seconds is None else seconds
        self.torch: Any = None
        self.fresh = False
        self.began = self.end = 0.0
        self.last = ""
        self.measured: Set[int] = set()
        """Batches with a result."""
        self.told: Set[str] = set()
        """Steps without one, and why was said."""

    def emit(self, **line: Any) -> None:
        if "batch" in line:
            self.measured.add(line["batch"]["batch"])
        write(self.descriptor, rounded(line))

    def ended(self, step: str, fault: str, detail: str) -> None:
        self.told.add(step)
        self.emit(ended={"agent": AGENT, "step": step, "device": self.device, "fault": fault, "detail": detail})

    def run(self) -> None:
        """All measurements."""
        started = time.monotonic()
        self.emit(begin="cpu")
        cores = available_cores()
        score = cpu_score(cores)
        self.emit(cpu=score)
        spent = time.monotonic() - started
        if not self.load():
            return
        self.began = time.monotonic() - spent
        self.end = self.began + self.seconds
        score["torch_threads"] = int(self.torch.get_num_threads())
        self.emit(cpu=score)
        if not hasattr(os, "fork"):
            self.ended("sweep", "skipped", "needs fork, which this system has not")
            return
        batches = BATCHES[self.kind] if self.level == "full" else BATCHES[self.kind][: COARSE[self.kind]]
        profiled: Profiled = []
        works = True
        for part, share in PARTS[self.kind]:
            until = min(self.end, self.began + self.seconds * share)
            try:
                if until - time.monotonic() < LEAST_S:
                    self.ended(part, "skipped", "no time was left of %g s" % self.seconds)
                elif part == "profile":
                    self.supervise(part, until, profiled, profile, self.torch, self.device, batches, until)
                elif part == "sweep":
                    works = self.sweep(batches, until, profiled)
                elif part == "loader":
                    self.loaders(worker_counts(cores, MOST_WORKERS[self.level]), until)
                elif not works:
                    self.ended(part, "skipped", "no batch of the training worked")
                else:
                    self.copies(cores, until)
            except OSError as error:  # no more processes, or no more memory for one
                self.ended(part, "failed", words(error))

    def load(self) -> bool:
        """Import torch; False where that raises."""
        started = time.monotonic()
        self.emit(begin="import torch")
        error: Optional[BaseException] = None
        try:
            import torch
            import torch.utils.data

            self.torch = torch
            torch.get_num_threads()
        except KeyboardInterrupt:
            raise
        except BaseException as raised:  # SystemExit too: some packages end the process in their import
            error = raised
        self.emit(field="import_seconds", value=time.monotonic() - started)
        if error is not None:
            self.ended("import torch", "failed", words(error))
            return False
        self.emit(begin="import torch.optim")
        try:
            torch.optim.AdamW([torch.zeros(1)])  # imports another second of torch: here once, not in each child
        except Exception:
            pass  # the training will say so
        self.fresh = self.kind == "cuda" and cuda_touched()
        return True

    def supervise(self, part: str, until: float, profiled: Profiled, work: Callable[..., None], *arguments: Any) -> str:
        """Run a measurement in a child and pass on its lines; its fault, empty where it came to its end."""
        child = Child(work, *arguments, fresh=self.fresh)
        self.emit(field="pids", value=[child.pid])
        step, pending, fault, heard = part, None, "", time.monotonic()
        known = False  # the step has its result, or why it has none was said
        try:
            for _, line in lines_of([child], until + min(GRACE_S, 0.1 * self.seconds)):
                silent, heard = time.monotonic() - heard, time.monotonic()
                if "begin" in line:
                    step, known = line["begin"], False
                if "profiled" in line:
                    profiled.append(line["profiled"])
                elif "pending" in line:
                    pending = line["pending"]
                    step = "sweep %d graph" % pending["batch"]
                elif "ended" in line:
                    self.ended(line["ended"]["step"], line["ended"]["fault"], line["ended"]["detail"])
                    known = known or line["ended"]["step"] == step
                elif any(word in line for word in ("hang", "crash", "raised")):
                    fault = self.missed(step, line, silent, known)
                elif "done" not in line:
                    pending = None if "batch" in line else pending
                    known = known or "batch" in line or "rate" in line
                    self.emit(**line)
        finally:
            child.close()
        if pending:
            self.emit(batch=dict(pending, graph_ms={"missing": "error", "detail": "the CUDA graph did not end"}))
        self.last = step
        return fault

    def missed(self, step: str, line: Dict[str, Any], silent: float, known: bool = False) -> str:
        """Say how a child ended that did not come to its end; a busy machine may be slow, long silence is a hang.

        A step whose result is known is not cut off: what came after it was.
        """
        if "raised" in line:
            fault, detail = "failed", line["raised"]
        elif "crash" in line:
            fault, detail = "crash", line["crash"]
        elif silent < HANG_S:
            fault, detail = "skipped", "cut off: its time was over"
        else:
            fault, detail = "hang", "no answer for %.0f s" % silent
        if fault != "skipped" or not known:
            self.ended(step, fault, detail)
        return fault

    def sweep(self, batches: Sequence[int], until: float, profiled: Profiled) -> bool:
        """The batch sweep; whether the training works on this device as far as one can tell."""
        arguments = (self.torch, self.device, batches, POINT_S[self.level], until, profiled)
        fault = self.supervise("sweep", until, [], sweep, *arguments)
        for batch in batches if fault == "skipped" or (fault and self.last.startswith("sweep ")) else ():
            if batch not in self.measured and "sweep %d" % batch not in self.told:
                self.ended("sweep %d" % batch, "skipped", "the sweep ended before it")
        return fault in ("", "skipped") or bool(self.measured)

    def loaders(self, counts: List[int], until: float) -> None:
        """The loader, in a new process for the counts that are left where one of them failed."""
        seconds = WORKERS_S[self.level]
        while counts and until - time.monotonic() > LEAST_S:
            fault = self.supervise("loader", until, [], loader, self.torch, self.device, counts, seconds, until)
            if not fault or not self.last.startswith("loader "):
                return
            counts = [count for count in counts if count > int(self.last.partition(" ")[2])]
        for count in counts:
            self.ended("loader %d" % count, "skipped", "its time was over")

    def copies(self, cores: float, until: float) -> None:
        """Samples a second of several copies at once, of all together."""
        most, batch = COPIES[self.kind]
        share = 0
        if self.kind == "cpu":
            most = max(1, min(most, int(cores)))
            share = max(1, min(int(cores), self.torch.get_num_threads()))
        self.emit(begin="copies")
        children: List[Child] = []
        ready: List[Child] = []
        key = ""
        started = time.monotonic()
        try:
            for _ in range(most):
                children.append(Child(copy_of, self.torch, self.device, batch, share, fresh=self.fresh))
            self.emit(field="pids", value=[child.pid for child in children])
            gone: Dict[int, Dict[str, Any]] = {}
            for child, line in lines_of(children, started + 0.7 * (until - started)):
                if "ready" in line:
                    key = line["ready"]
                    ready.append(child)
                elif child not in ready:
                    gone[child.pid] = line
                if len(ready) + len(gone) == most:
                    break
            began = time.monotonic()
            for place, line in enumerate(gone.values()):
                self.missed("copies %d" % (len(ready) + 1 + place), line, began - started)
            interval = min(INTERVAL_S[self.level], (until - began) / (INTERVALS * max(1, len(ready))) - 0.04)
            for count in range(1, len(ready) + 1):
                if interval < 0.05 or until - time.monotonic() < interval:
                    self.ended("copies %d" % count, "skipped", "its time was over")
                elif not self.at_once(ready[:count], batch, interval, share, until):
                    for more in range(count + 1, len(ready) + 1):
                        self.ended("copies %d" % more, "skipped", "one of fewer copies did not answer")
                    break
            if ready:
                self.emit(phase="training", device=self.device, key=key, start=began, end=time.monotonic())
        finally:
            for child in children:
                child.kill()
            for child in children:
                child.close()

    def at_once(self, children: List[Child], batch: int, interval: float, share: int, until: float) -> bool:
        """Some copies for a few intervals; False where one did not answer."""
        count = len(children)
        self.emit(begin="copies %d" % count)
        found: List[float] = []
        turns = 0
        while len(found) < INTERVALS and (not found or time.monotonic() + interval < until):
            began = time.monotonic() + 0.02
            for child in children:
                child.order(json.dumps([began, began + interval, max(1, share // count) if share else 0]))
            total = 0.0
            for child in children:
                for _, line in lines_of([child], until + GRACE_S):
                    if "turns" not in line:
                        self.missed("copies %d" % count, line, time.monotonic() - began)
                        return False
                    total += batch * line["turns"] / line["seconds"]
                    turns += line["turns"]
                    break
            found.append(total)
        row = {"kind": "copies", "device": self.device, "what": str(count), "unit": "samples/s", "runs": len(found),
               "value": median(found), "spread_percent": spread_percent(found),
               "detail": {"batch": batch, "seconds": interval, "turns": turns}}  # fmt: skip
        self.emit(rate=row)
        return True


def rounded(value: Any) -> Any:
    """Figures with six digits; times of the clock keep theirs."""
    if isinstance(value, float):
        return float("%.6g" % value) if value < 1e4 else round(value, 3)
    if isinstance(value, dict):
        return {key: item if key in ("start", "end") else rounded(item) for key, item in value.items()}
    return value


def stop(number: int, frame: Any) -> None:
    """SIGTERM, SIGINT: nothing is left running."""
    for child in running:
        child.kill()
    os._exit(128 + number)


def main(arguments: Sequence[str]) -> None:
    """Run as an agent; ends the process at once, so that no exit handler can hang or crash it."""
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [path for path in sys.path if os.path.abspath(path) != here]
    warnings.simplefilter("ignore")
    if arguments and arguments[0] == "--child":  # this program starts itself so; its stdout is not the real one
        serve_fresh(*arguments[1:5])
    parser = argparse.ArgumentParser(prog=AGENT, description="What a training here is made of, in time.")
    parser.add_argument("--device", required=True, help="cuda:N or cpu")
    parser.add_argument("--level", choices=("standard", "full"), default="standard")
    parser.add_argument("--seconds", type=float, help="all of it, without the import of torch")
    flags = parser.parse_args(arguments)
    if not re.match(r"(cuda(:\d{1,3})?|cpu)$", flags.device):
        parser.error("--device takes cuda:N or cpu")
    if flags.seconds is not None and not 0 < flags.seconds < 1e6:
        parser.error("--seconds takes a positive number")
    descriptor = os.dup(1)
    os.dup2(2, 1)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    Agent(descriptor, "cuda:0" if flags.device == "cuda" else flags.device, flags.level, flags.seconds).run()
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
