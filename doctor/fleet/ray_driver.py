"""The driver of `fleet run --on ray`: it connects to the cluster, starts a task on each node, and says what comes back.

It is started as a script, in a process of its own. `examine` then belongs to `__main__`, so Ray sends its code to the
nodes, which need no gpudoctor; and neither what Ray prints nor how long it waits for a cluster reaches the report.

Its stdin has a JSON object per line: {"address": "auto"}; then any number of {"start": [NODE_ID], "command": TEXT,
"script": TEXT, "limit_s": SECONDS} and {"cancel": [NODE_ID]}. Its stdout answers in the same form: {"nodes": [...]} or
{"refused": CLASS, "text": TEXT}; {"began": NODE_ID}; {"ended": NODE_ID, "code": N, "out": TEXT, "err": TEXT}, or with
"error": CLASS and "text" where Ray ended the task. When its stdin ends it cancels all tasks, says {"left": [NODE_ID]}
of those that did not end, and leaves the cluster. Standard library and ray, Python 3.8.
"""

from __future__ import annotations

import json
import os
import queue
import selectors
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator
    from typing import Any

_LOOK_S = 0.05
_STEP_S = 0.2
"""Ray interrupts a task only between two steps of Python."""
_MOMENT_S = 0.005
_CANCEL_S = 4.0
"""For tasks to end by themselves, and again for those whose worker Ray then kills."""
_GRACE_S = 2.0
"""For the agent to end its children once its answer is no longer read; then it is killed."""
_MOST_BYTES = 32 << 20
_MOST_TEXT = 4000
_FIELDS = (
    "NodeID", "Alive", "NodeName", "NodeManagerHostname", "NodeManagerAddress", "DeathReason", "DeathReasonMessage"
)  # fmt: skip
TIED = """import os, sys
try:
    import ctypes
    ctypes.CDLL(None).prctl(1, 14)
except Exception:
    pass
if os.getppid() == int(sys.argv[1]):
    os.execv("/bin/sh", ["/bin/sh", "-c", sys.argv[2]])
"""
"""For `python -c`: a worker's pid and a command for a shell, which gets SIGALRM when that worker dies (Linux): the
agent then ends its children and itself, another program just ends. Source: prctl(2), PR_SET_PDEATHSIG."""
RAYS_OWN = ("CUDA_VISIBLE_DEVICES", "OMP_NUM_THREADS", "PYTHONBREAKPOINT")
"""What a worker sets for a task. For one without GPUs, older versions of Ray (and newer ones with
RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO=1) set the first to an empty text, which says nothing about the node."""


def environment() -> dict[str, str]:
    """A worker's, without what it set for its task: those variables are as the node's raylet has them."""
    try:
        with open(f"/proc/{os.getppid()}/environ", "rb") as file:
            pairs = [one.partition("=") for one in os.fsdecode(file.read()).split("\0")]
    except OSError:
        pairs = []
    before = {name: value for name, _, value in pairs}
    env = {name: value for name, value in os.environ.items() if name not in RAYS_OWN}
    env.update({name: before[name] for name in RAYS_OWN if name in before})
    return env


def talk(child: subprocess.Popen[bytes], script: bytes, until: float) -> tuple[bytes, bytes]:
    """Feed a child its script, until its end or the deadline; returns its stdout and the end of its stderr."""
    rest, out, err, silent = memoryview(script), bytearray(), bytearray(), 0
    with selectors.DefaultSelector() as selector:
        for stream, event in ((child.stdin, selectors.EVENT_WRITE), (child.stdout, 1), (child.stderr, 1)):
            os.set_blocking(stream.fileno(), False)  # type: ignore[union-attr]
            selector.register(stream, event)  # type: ignore[arg-type]
        while time.monotonic() < until and len(out) <= _MOST_BYTES and silent < 2:
            ended, read = child.poll() is not None, False  # asked first: what it wrote before its end is then there
            for key, _ in selector.select(0 if ended else _STEP_S):
                if key.fileobj is child.stdin:
                    try:
                        rest = rest[os.write(key.fd, rest[:65536]) :]
                    except BrokenPipeError:
                        rest = rest[:0]
                    data = bytes(rest[:1])
                else:
                    data = os.read(key.fd, 65536)
                    read = True
                    (out if key.fileobj is child.stdout else err).extend(data)
                if not data:
                    selector.unregister(key.fileobj)
                    key.fileobj.close()  # type: ignore[union-attr]
                    silent += key.fileobj is not child.stdin
            if ended and not read:
                break
    while child.poll() is None and time.monotonic() < until and silent == 2:
        time.sleep(_MOMENT_S)
    return bytes(out), bytes(err[-_MOST_TEXT:])


def examine(command: str, script: bytes, limit_s: float) -> Iterator[Any]:
    """The task on a node: yields None when it begins, then exit code, stdout and the end of stderr of the probe. The
    probe never outlives it; the code is None for one that was late."""
    yield None
    words = [sys.executable, "-I", "-S", "-c", TIED, str(os.getpid()), command]
    pipe = subprocess.PIPE
    env = environment()
    child = subprocess.Popen(words, stdin=pipe, stdout=pipe, stderr=pipe, cwd="/", env=env, start_new_session=True)
    try:
        out, err = talk(child, script, time.monotonic() + limit_s)
        code = child.poll()
    finally:
        if child.poll() is None:
            for stream in (child.stdin, child.stdout, child.stderr):
                with suppress(OSError):
                    stream.close()  # type: ignore[union-attr]
            with suppress(subprocess.TimeoutExpired):
                child.wait(_GRACE_S)
            if child.poll() is None:
                os.killpg(child.pid, signal.SIGKILL)
                with suppress(subprocess.TimeoutExpired):
                    child.wait(_GRACE_S)
    yield code, out, err


class Tasks:
    """The tasks that have not ended, by node. ray: the module."""

    def __init__(self, ray: Any, say: Callable[..., None]) -> None:
        self.ray, self.say = ray, say
        self.open: dict[str, Any] = {}

    def start(self, wanted: dict[str, Any]) -> None:
        """One on each of these nodes, and on no other node."""
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        task = self.ray.remote(examine)
        script = self.ray.put(wanted["script"].encode())
        for node in wanted["start"]:
            self.open[node] = task.options(
                name="gpudoctor",
                num_cpus=0,
                max_retries=0,
                num_returns="streaming",
                scheduling_strategy=NodeAffinitySchedulingStrategy(node, soft=False),
            ).remote(wanted["command"], script, wanted["limit_s"])

    def cancel(self, nodes: Collection[str], force: bool = False) -> None:
        """End them; `force`: with their workers."""
        for node in nodes:
            if node in self.open:
                self.ray.cancel(self.open[node], force=force)

    def look(self, wait_s: float) -> None:
        """Say what came of all of them, after waiting so long at most for more."""
        tasks = list(self.open.values())
        if not tasks:
            time.sleep(wait_s)
            return
        ready = set(map(id, self.ray.wait(tasks, num_returns=len(tasks), timeout=wait_s)[0]))
        for node in [node for node, task in self.open.items() if id(task) in ready]:
            try:
                value = self.ray.get(next(self.open[node]))
            except StopIteration:
                self._ended(node, code=None, out="", err="")
            except Exception as error:
                self._ended(node, error=type(error).__name__, text=str(error)[-_MOST_TEXT:])
            else:
                if value is None:
                    self.say(began=node)
                else:
                    self._ended(node, code=value[0], out=value[1].decode("latin-1"), err=value[2].decode("latin-1"))

    def end(self) -> list[str]:
        """Cancel all; returns the nodes whose tasks may still run."""
        for force in (False, True):
            self.cancel(list(self.open), force)
            until = time.monotonic() + _CANCEL_S
            while self.open and time.monotonic() < until:
                self.look(_LOOK_S)
        return list(self.open)

    def _ended(self, node: str, **found: Any) -> None:
        del self.open[node]
        self.say(ended=node, **found)


def listen(wanted: queue.SimpleQueue[Any], connected: threading.Event) -> None:
    """Take what is wanted; at the end of stdin, None."""
    for line in sys.stdin.buffer:
        wanted.put(json.loads(line))
    wanted.put(None)
    if not connected.is_set():  # Ray may look for its cluster for minutes
        os._exit(0)


def main() -> None:
    """Run until stdin ends."""
    here = str(Path(__file__).resolve().parent)
    sys.path[:] = [folder for folder in sys.path if folder not in ("", ".", here)]  # Ray would give it to the nodes
    out = os.fdopen(os.dup(1), "w", encoding="ascii")
    os.dup2(2, 1)  # what Ray prints is not an answer

    def say(**what: Any) -> None:
        out.write(json.dumps(what) + "\n")
        out.flush()

    wanted: queue.SimpleQueue[Any] = queue.SimpleQueue()
    connected = threading.Event()
    threading.Thread(target=listen, args=(wanted, connected), daemon=True).start()
    address = wanted.get()["address"]
    try:
        import ray

        ray.init(address=address, log_to_driver=False, configure_logging=False)
        nodes = ray.nodes()
    except Exception as error:
        say(refused=type(error).__name__, text=str(error)[:_MOST_TEXT])
        return
    connected.set()
    say(
        nodes=[{**{name: node.get(name) for name in _FIELDS}, "GPU": node["Resources"].get("GPU", 0)} for node in nodes]
    )
    tasks = Tasks(ray, say)
    try:
        while True:
            with suppress(queue.Empty):
                one = wanted.get_nowait()
                if one is None:
                    break
                if "start" in one:
                    tasks.start(one)
                else:
                    tasks.cancel(one["cancel"])
            tasks.look(_LOOK_S)
    finally:
        say(left=tasks.end())
        ray.shutdown()
        os._exit(0)  # nothing of this process is wanted any more


if __name__ == "__main__":
    main()
