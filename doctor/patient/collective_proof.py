"""Agent: proof that data gets from device to device; JSON lines on stdout. Standard library and torch (1.13 on).

Run under the patient's Python: `python collective_proof.py [--devices 0,1] [--seconds S]`, or with
`--device cpu --ranks N` for an all-reduce between processes on the CPU. It starts torch in children of its own, so a
copy that never ends costs one child: first the pairs (each ordered pair of up to eight devices, neighbours in the ring
above), then one all-reduce with a rank a device: NCCL, else gloo. Each of the two may take S seconds. Lines: {"begin":
STEP, "device": D}, again and again while a child is waited for; {"field": "pids", "value": [...]} for the children's
numbers; {"field": "import", "error": TYPE, "text": T}; {"pair": {...}}, {"collective": {...}}, {"ended": {...}}.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Optional, Sequence, Tuple

    Line = Dict[str, Any]

AGENT = "collective_proof"
SECONDS = 45.0
TEXT_LIMIT = 2000
MAX_RANKS = 64
ALL_PAIRS = 8
"""Up to so many devices every pair is tried: the GPUs of one host."""
COPY_BYTES = (64 << 20, 4 << 20)
"""Bytes that pass between two devices; fewer where memory is out."""
COPIES = 5
REDUCED = 1 << 18
"""Elements of the all-reduce: 1 MiB of float32 holding whole numbers, so that the sum is exact in any order."""
LARGEST = 10000
TICK_S = 0.02
HEARTBEAT_S = 5.0
GRACE_S = 0.5


class Out:
    """JSON lines to a descriptor."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor

    def emit(self, **line: Any) -> None:
        data = (json.dumps(line, default=str) + "\n").encode("ascii", "replace")
        while data:
            data = data[os.write(self.descriptor, data) :]

    def leave_out(self, step: str, detail: str, fault: str = "skipped", device: str = "") -> None:
        self.emit(ended={"agent": AGENT, "step": step, "device": device, "fault": fault, "detail": detail})


class Child:
    """This file again in a process of its own; its lines come through a file, so nobody waits for a pipe."""

    def __init__(self, folder: str, name: str, flags: Any, *arguments: str) -> None:
        self.path = os.path.join(folder, name)
        self.offset = 0
        self.lines: List[Line] = []
        with open(self.path, "wb") as output:
            self.process = subprocess.Popen(
                [sys.executable, os.path.abspath(__file__), "--device", flags.device, *arguments],
                stdin=subprocess.PIPE,  # its end tells the child that nobody waits for it any more
                stdout=output,
            )

    def read(self) -> List[Line]:
        """Whole lines that came since the last look."""
        with open(self.path, "rb") as file:
            file.seek(self.offset)
            data = file.read()
        whole = data[: data.rfind(b"\n") + 1]
        self.offset += len(whole)
        fresh = [json.loads(line) for line in whole.splitlines()]
        self.lines += fresh
        return fresh

    @property
    def step(self) -> str:
        """What it began last."""
        return next((line["begin"] for line in reversed(self.lines) if "begin" in line), "start")

    def ended(self) -> bool:
        return self.process.poll() is not None

    def how(self) -> str:
        """How it ended, in words."""
        code = self.process.returncode
        words = "signal %d" % -code if code is not None and code < 0 else "exit code %s" % code
        return "ended with %s in %s" % (words, self.step)

    def kill(self) -> None:
        self.process.kill()
        try:
            self.process.wait(GRACE_S)
        except subprocess.TimeoutExpired:
            pass  # inside the driver: nothing ends it


class Parent:
    """Starts the children, waits, tells."""

    def __init__(self, out: Out, flags: Any, folder: str) -> None:
        self.out, self.flags, self.folder = out, flags, folder
        self.beat = 0.0
        self.asked: Line = {}

    def run(self) -> None:
        if self.flags.device == "cpu":
            names, backend = ["cpu"] * self.flags.ranks, "gloo"
        else:
            names, backend = self.pairs(), "nccl" if self.asked.get("nccl") else "gloo"
            if not self.asked:
                return
        if len(names) < 2:
            self.out.leave_out("collective", "fewer than two devices: nothing to pass between them")
        elif self.asked.get("distributed") is False:
            self.out.leave_out("collective", "this torch was built without torch.distributed")
        else:
            self.collective(names, backend)

    def waiting(self, step: str, device: str = "") -> None:
        """Say that a child is waited for, not too often, and sleep a little."""
        if time.monotonic() - self.beat > HEARTBEAT_S:
            self.begin(step, device)
        time.sleep(TICK_S)

    def begin(self, step: str, device: str = "") -> None:
        self.beat = time.monotonic()
        self.out.emit(begin=step, device=device)

    def pairs(self) -> List[str]:
        """Devices, after data went over each pair of them. Behind a pair that hangs a new child goes on."""
        first, until = 0, time.monotonic() + self.flags.seconds
        names: List[str] = []
        while True:
            arguments = ["--pairs-from", str(first), "--devices", self.flags.devices]
            child = Child(self.folder, "pairs-%d" % first, self.flags, *arguments)
            self.out.emit(field="pids", value=[child.process.pid])
            try:
                fault = self.watch_pairs(child, until)
            finally:
                child.kill()
            for line in child.lines:
                if "devices" in line:
                    self.asked, names = line, line["devices"]
            pairs = pairs_of(names)
            before = first
            first += sum("pair" in line for line in child.lines)
            if fault is not None and fault != "over":
                words = "no answer in %s" % child.step if fault == "hang" else child.how()
                if first >= len(pairs) or child.step != "pair":
                    self.out.leave_out(child.step, words, fault)
                    return names
                source, target = pairs[first]
                error = {"missing": "timeout" if fault == "hang" else "error", "detail": words}
                self.out.emit(pair={"source": source, "target": target, "right": error, "error": words, "fault": fault})
                first += 1
            if first < len(pairs) and time.monotonic() > until:
                self.out.leave_out("pairs", "%d pairs were left when the time was over" % (len(pairs) - first))
                return names
            if first >= len(pairs) or first == before:
                return names

    def watch_pairs(self, child: Child, until: float) -> Optional[str]:
        """Pass the child's lines on to its end; the fault where it has one, or `over` when the time is."""
        heard = time.monotonic()
        step, device = "import torch", ""
        self.begin(step)
        while True:
            over = child.ended()
            for line in child.read():
                heard = time.monotonic()
                step, device = line.get("begin", step), line.get("device", device)
                if "devices" not in line and "end" not in line:
                    self.out.emit(**line)
            if over:
                whole = child.lines and "end" in child.lines[-1]
                return None if whole else "crash" if (child.process.returncode or 0) < 0 else "failed"
            silence = self.flags.seconds / (1 if step == "import torch" else 3)
            now = time.monotonic()
            if now > heard + silence:
                return "hang"
            if now > until and step == "pair":
                return "over"
            self.waiting(step, device)

    def collective(self, names: Sequence[str], backend: str) -> None:
        """One all-reduce over all devices."""
        said: Line = {"backend": backend, "ranks": len(names)}
        self.begin("all-reduce")
        store, seed = os.path.join(self.folder, "store"), str(random.randrange(1 << 31))
        ranks: List[Child] = []
        try:
            for rank, name in enumerate(names):
                arguments = ["--rank", str(rank), "--ranks", str(len(names)), "--backend", backend, "--store", store]
                arguments += ["--devices", name[len("cuda:") :], "--seed", seed, "--seconds", str(self.flags.seconds)]
                ranks.append(Child(self.folder, "rank-%d" % rank, self.flags, *arguments))
            self.out.emit(field="pids", value=[child.process.pid for child in ranks])
            said.update(self.watch_ranks(ranks))
        finally:
            for child in ranks:
                child.kill()
        self.out.emit(collective=said)

    def watch_ranks(self, ranks: Sequence[Child]) -> Line:
        """Wait until every rank has its sum, one fails or the time is over."""
        until = time.monotonic() + self.flags.seconds
        while True:
            over = [child.ended() for child in ranks]
            for child in ranks:
                child.read()
            results = [next((line for line in child.lines if "seconds" in line), None) for child in ranks]
            if all(results):
                wrong = ["rank %d: %d elements" % (n, r["wrong"]) for n, r in enumerate(results) if r and r["wrong"]]
                said = {"right": not wrong, "seconds": max(r["seconds"] for r in results if r)}
                return dict(said, error="wrong sums: " + ", ".join(wrong)) if wrong else said
            failed = self.failed(ranks, over)
            if failed:
                return failed
            if time.monotonic() > until:
                silent = ["rank %d in %s" % (n, c.step) for n, c in enumerate(ranks) if not results[n]]
                words = "no answer in %.0f s: %s" % (self.flags.seconds, ", ".join(silent))
                return {"right": {"missing": "timeout", "detail": words}, "error": words[:TEXT_LIMIT], "fault": "hang"}
            self.waiting("all-reduce")

    def failed(self, ranks: Sequence[Child], over: Sequence[bool]) -> Optional[Line]:
        """What went wrong first: the others fail because of it."""
        fault, words, earliest = "failed", "", 0.0
        for rank, child in enumerate(ranks):
            error = next((line for line in child.lines if "error" in line), None)
            if error and (not words or error["at"] < earliest):
                earliest, words = error["at"], "rank %d in %s: %s" % (rank, error["in"], error["error"])
        for rank, child in enumerate(ranks):
            if over[rank] and not any("error" in line or "seconds" in line for line in child.lines):
                fault = "crash" if (child.process.returncode or 0) < 0 else "failed"
                words = "rank %d %s%s" % (rank, child.how(), "; " + words if words else "")
                break
        if not words:
            return None
        words = words[:TEXT_LIMIT]
        return {"right": {"missing": "error", "detail": words}, "error": words, "fault": fault}


def pairs_of(names: Sequence[str]) -> List[Tuple[str, str]]:
    """Ordered pairs of up to eight devices; above, neighbours in the ring, both ways. Each device comes early: the ring
    first, then those further apart, so that little is left out where the time is over."""
    count = len(names)
    steps = range(1, count) if count <= ALL_PAIRS else (1, count - 1)
    return [(names[n], names[(n + step) % count]) for step in steps for n in range(count)]


def pairs_child(out: Out, flags: Any) -> None:
    """The devices, then a copy over each pair from `--pairs-from` on, as far as no error sticks to the process."""
    torch = load(out)
    if torch is None:
        return
    offered = int(torch.cuda.device_count()) if torch.cuda.is_available() else 0
    chosen = [int(word) for word in flags.devices.split(",") if word] or list(range(offered))
    names = ["cuda:%d" % index for index in chosen if index < offered][:MAX_RANKS]
    if len(names) < len(chosen):
        out.leave_out("devices", "torch offers %d CUDA devices, not all of %s" % (offered, flags.devices), "failed")
    there = bool(torch.distributed.is_available())
    out.emit(devices=names, distributed=there, nccl=there and bool(torch.distributed.is_nccl_available()))
    for source, target in pairs_of(names)[flags.pairs_from :]:
        said: Line = {"source": source, "target": target}
        out.emit(begin="pair", device="%s>%s" % (source, target))
        try:
            copy_pair(out, torch, source, target, said)
        except Exception as error:
            words = words_of(error)
            said.update(right={"missing": "error", "detail": words}, error=words, fault="failed")
        out.emit(pair=said)
        if "fault" in said and spoiled(torch, (source, target)):
            break


def copy_pair(out: Out, torch: Any, source: str, target: str, said: Line) -> None:
    """Random numbers from device to device, read back and compared; GB/s by events on the source."""
    ends = [int(name[len("cuda:") :]) for name in (source, target)]
    said["peer_access"] = bool(torch.cuda.can_device_access_peer(*ends))
    for size in COPY_BYTES:
        try:
            sent = torch.randint(-(1 << 31), (1 << 31) - 1, (size // 4,), dtype=torch.int32)
            there, here = sent.to(source), torch.zeros(size // 4, dtype=torch.int32, device=target)
            torch.cuda.synchronize(ends[1])
            times = []
            with torch.cuda.device(ends[0]):
                for _ in range(COPIES):
                    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
                    start.record()
                    here.copy_(there, non_blocking=True)
                    end.record()
                    end.synchronize()
                    times.append(float(start.elapsed_time(end)))
            wrong = int((here.cpu() != sent).sum())
        except RuntimeError as error:
            if size == COPY_BYTES[-1] or "out of memory" not in str(error):
                raise
            detail = "out of memory with %d MiB: made smaller" % (size >> 20)
            out.leave_out("pair", detail, device="%s>%s" % (source, target))
            continue
        said["right"] = not wrong
        if wrong:
            said["error"] = "%d of %d numbers came wrong" % (wrong, size // 4)
        median = sorted(times)[COPIES // 2]
        if median > 0:
            said["gb_s"] = round(size / median / 1e6, 3)
        return


def spoiled(torch: Any, names: Sequence[str]) -> bool:
    """Whether an error sticks to a device's context, so that every further call fails."""
    try:
        for name in names:
            torch.cuda.synchronize(int(name[len("cuda:") :]))
    except Exception:
        return True
    return False


def rank_child(out: Out, flags: Any) -> None:
    """One rank: its line has `seconds` and `wrong` (elements of the sum), or `error`."""
    step = "import torch"
    out.emit(begin=step)
    try:
        import torch
        from torch import distributed

        device = "cpu" if flags.device == "cpu" else "cuda:" + flags.devices
        if device != "cpu":
            torch.cuda.set_device(int(flags.devices))
        step = "init_process_group"
        out.emit(begin=step)
        started = time.monotonic()
        distributed.init_process_group(
            flags.backend,
            init_method="file:///" + flags.store.lstrip("/"),
            rank=flags.rank,
            world_size=flags.ranks,
            timeout=datetime.timedelta(seconds=flags.seconds),
        )
        step = "all_reduce"
        out.emit(begin=step)
        parts = [numbers(torch, flags.seed + rank) for rank in range(flags.ranks)]
        total, mine = sum(parts), parts[flags.rank].clone().to(device)
        distributed.all_reduce(mine)
        if device != "cpu":
            torch.cuda.synchronize()
        wrong = int((mine.cpu() != total).sum())
        out.emit(seconds=round(time.monotonic() - started, 3), wrong=wrong)
    except BaseException as error:
        out.emit(**{"error": words_of(error), "at": time.monotonic(), "in": step})


def numbers(torch: Any, seed: int) -> Any:
    """What one rank adds: whole numbers as float32, the same in every process that knows the seed."""
    return torch.randint(LARGEST, (REDUCED,), generator=torch.Generator().manual_seed(seed)).float()


def load(out: Out) -> Any:
    """torch, or None with a line that says why."""
    out.emit(begin="import torch")
    try:
        import torch
        import torch.distributed
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        out.emit(field="import", error=type(error).__name__, text=str(error)[:TEXT_LIMIT])
        return None
    return torch


def words_of(error: BaseException) -> str:
    try:
        return ("%s: %s" % (type(error).__name__, error))[:TEXT_LIMIT]
    except Exception:
        return type(error).__name__


def leave_with_parent() -> None:
    """End with the process that started this one, whatever the main thread waits for."""

    def wait() -> None:
        os.read(0, 1)
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


def flags_of(arguments: Sequence[str]) -> Any:
    parser = argparse.ArgumentParser(prog=AGENT, description="Proof that data gets from device to device.")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--devices", default="", help="numbers of CUDA devices, 0,1,2; without it every one")
    parser.add_argument("--ranks", type=int, default=2, help="with --device cpu: how many processes")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="limit of the pairs, and of the all-reduce")
    for name, kind in (("--pairs-from", int), ("--rank", int), ("--seed", int), ("--backend", str), ("--store", str)):
        parser.add_argument(name, type=kind, help=argparse.SUPPRESS)
    flags = parser.parse_args(arguments)
    if not 0 < flags.seconds < 86400 or not 0 < flags.ranks <= MAX_RANKS:
        parser.error("--seconds takes a number above 0, --ranks 1 to %d" % MAX_RANKS)
    if not all(word.isdecimal() for word in flags.devices.split(",") if flags.devices):
        parser.error("--devices takes numbers: 0,1,2")
    return flags


def main(arguments: Sequence[str]) -> None:
    """Run as an agent, or as one of its children; ends at once, so that no exit handler can hang or crash it."""
    flags = flags_of(arguments)
    out = Out(os.dup(1))
    os.dup2(2, 1)
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [path for path in sys.path if os.path.abspath(path) != here]
    warnings.simplefilter("ignore")
    if flags.pairs_from is not None:
        leave_with_parent()
        try:
            pairs_child(out, flags)
        except Exception as error:  # a package named torch that is no torch
            out.emit(field="torch", error=type(error).__name__, text=str(error)[:TEXT_LIMIT])
        out.emit(end=True)
    elif flags.rank is not None:
        leave_with_parent()
        rank_child(out, flags)
        threading.Event().wait()  # the others may still read from this rank: its parent ends it
    else:
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
        folder = tempfile.mkdtemp(prefix="gpudoctor-")
        try:
            Parent(out, flags, folder).run()
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
