"""Drivers and torch packages that hang, crash, flood, forge or are no libraries at all."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from functools import partial
from random import Random

from doctor.probes.start import PATIENCE
from tests.proof.proving import environment

from .engine import Attack
from .ground import Ground

_NVML = (
    "nvmlInit", "nvmlSystemGetDriverVersion", "nvmlSystemGetCudaDriverVersion", "nvmlDeviceGetCount",
    "nvmlDeviceGetHandleByIndex", "nvmlDeviceGetUUID", "nvmlDeviceGetName", "nvmlDeviceGetPciInfo",
    "nvmlDeviceGetMemoryInfo", "nvmlDeviceGetEccMode", "nvmlDeviceGetPowerUsage", "nvmlDeviceGetNvLinkState",
    "nvmlDeviceGetComputeRunningProcesses", "nvmlDeviceGetP2PStatus", "nvmlDeviceGetPcieReplayCounter",
)  # fmt: skip
_CUDA = ("cuInit", "cuDriverGetVersion", "cuDeviceGetCount", "cuDeviceGet", "cuDeviceGetName", "cuDeviceGetUuid",
         "cuDeviceGetAttribute", "cuDeviceTotalMem")  # fmt: skip
_HOWS = ("hang", "crash", "abort", "exit", "999")
_TIMEOUT_S = 2
_SONAMES = ("libcuda.so.1", "libnvidia-ml.so.1")
_LIBRARIES = {
    "hangs when loaded": "for (;;) pause();",
    "crashes when loaded": "*(volatile int *)0 = 1;",
    "ends the process when loaded": "_exit(0);",
    "floods stdout when loaded": "for (;;) write(1, line, sizeof line - 1);",
    "floods stderr when loaded": "for (;;) write(2, line, sizeof line - 1);",
    "forges answers when loaded": "for (int i = 0; i < 99; i++) write(1, forged, sizeof forged - 1);",
    "closes all descriptors when loaded": "for (int i = 0; i < 64; i++) close(i);",
    "leaves a child when loaded": "if (!fork()) for (;;) pause();",
    "ignores signals when loaded": "for (int i = 1; i < 64; i++) signal(i, SIG_IGN); for (;;) pause();",
    "blocks signals when loaded": "sigset_t s; sigfillset(&s); sigprocmask(SIG_SETMASK, &s, 0); for (;;) pause();",
    "spins when loaded": "for (;;) ;",
    "takes memory when loaded": "for (int i = 0; i < 64; i++) malloc(1 << 20);",
    "does nothing": "",
}
_SOURCE = """
#include <signal.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>
static const char line[] = "a line of noise\\n", forged[] = "{\\"field\\": \\"count\\", \\"value\\": 1000000}\\n";
__attribute__((constructor)) static void loaded(void) { (void)line; (void)forged; BODY }
"""
_TORCHES = {
    "hangs": "import time\ntime.sleep(600)",
    "spins": "while True: pass",
    "crashes": "import ctypes\nctypes.string_at(0)",
    "ends the process": "import os\nos._exit(0)",
    "raises SystemExit": "raise SystemExit(0)",
    "raises an error with odd words": "raise ImportError('\\x1b[31m\\u202e$(touch $TRAP)' * 100)",
    "raises an error that cannot be printed": "class E(Exception):\n  def __str__(s): raise E\nraise E",
    "recurses": "def f(): f()\nf()",
    "floods stdout": "import os\nwhile True: os.write(1, b'x' * 65536)",
    "writes a line without end": "import os\nfor _ in range(999): os.write(2, b'x' * 65536)",
    "forges answers": 'import os\n[os.write(n, b\'{"field": "cuda", "value": 1}\\n\') for n in range(1, 9)]',
    "leaves a child": "import os, time\nif not os.fork(): time.sleep(600)",
    "ignores signals": "import signal, time\n[signal.signal(n, signal.SIG_IGN) for n in (1, 2, 15)]\ntime.sleep(600)",
    "closes descriptors": "import os\nos.closerange(0, 64)",
    "is no torch": "cuda = None",
    "answers anything": (
        "import sys\nclass T:\n  def __getattr__(s, n): return s\n"
        "  __call__ = __getitem__ = lambda s, *a, **k: s\nsys.modules[__name__] = T()"
    ),
    "counts 10**9 devices": (
        "class cuda:\n  is_available = staticmethod(lambda: True)\n  device_count = staticmethod(lambda: 10**9)\n"
        "  init = synchronize = staticmethod(lambda: None)\nclass version: cuda = '12.8'\n__version__ = '2.8.0'"
    ),
    "takes memory": "x = [bytes(1 << 20) for _ in range(256)]",
    "kills its parent's group": "import os, signal\nos.killpg(0, signal.SIGTERM)",
}


def attacks(ground: Ground) -> list[Attack]:
    """Each call of NVML and libcuda in each way, libraries that are odd in themselves, and torch likewise."""
    if ground.fakes is None:
        return []
    found = []
    for at, (call, how) in enumerate((call, how) for call in (*_NVML, *_CUDA) for how in _HOWS):
        found.append(_attack(f"{call}: {how}", ground, partial(_machine, ground, {f"fail.{call}": how}), at))
    for at, (name, body) in enumerate(_LIBRARIES.items()):
        for soname in _SONAMES:
            found.append(_attack(f"{soname} {name}", ground, partial(_compiled, soname, body), at))
    for at, (name, data) in enumerate(_garbage(ground)):
        for soname in _SONAMES:
            found.append(_attack(f"{soname} is {name}", ground, partial(_given, soname, data), at))
    for at, (name, source) in enumerate(_TORCHES.items()):
        for number in (at, at + 1):
            found.append(_attack(f"torch {name}", ground, partial(_torch, ground, source), number))
    return found


def _machine(ground: Ground, driver: dict[str, str], attack: Attack) -> None:
    attack.env = ground.machine(attack.folder.parent, "healthy-h100", driver)


def _compiled(soname: str, body: str, attack: Attack) -> None:
    command = ["gcc", "-shared", "-fPIC", "-w", "-x", "c", "-", "-o", str(attack.folder / soname)]
    subprocess.run(command, input=_SOURCE.replace("BODY", body).encode(), check=True)
    attack.env = {"LD_LIBRARY_PATH": str(attack.folder)}


def _given(soname: str, data: bytes | None, attack: Attack) -> None:
    if data is None:
        os.mkfifo(attack.folder / soname)
    else:
        (attack.folder / soname).write_bytes(data)
    attack.env = {"LD_LIBRARY_PATH": str(attack.folder)}


def _torch(ground: Ground, source: str, attack: Attack) -> None:
    prefix = environment(attack.folder.parent, source + "\n")
    attack.words[-1] = str(prefix)
    _machine(ground, {}, attack)


def _attack(name: str, ground: Ground, setup: Callable[[Attack], object], turn: int) -> Attack:
    chosen = (["check", "--format", "json"], ["healthcheck"], ["check"], ["record", "out"])[turn % 4]
    words = [*chosen, "--timeout", str(_TIMEOUT_S), "--python", str(ground.bare)]
    codes = frozenset({0, 1}) if chosen[0] == "healthcheck" else frozenset({0, 1, 3})
    deadline = 3 * _TIMEOUT_S * PATIENCE + 10  # of an import that still computes; the rest is for a busy machine
    report = chosen[0] == "check"
    return Attack(f"{chosen[0]}: {name}", words, setup, codes=codes, report=report, deadline_s=deadline)


def _garbage(ground: Ground) -> list[tuple[str, bytes | None]]:
    assert ground.fakes
    whole = (ground.fakes / "libcuda.so").read_bytes()
    found: list[tuple[str, bytes | None]] = [
        (f"cut at {at}", whole[:at]) for at in (0, 4, 16, 64, 120, 1000, len(whole) // 2, len(whole) - 8)
    ]
    draw = ground.random("libraries")
    found += [(f"damaged ({number})", _damaged(whole, draw)) for number in range(6)]
    return [*found, ("text", b"hello\n"), ("a 32-bit library", whole[:4] + b"\x01" + whole[5:]), ("a FIFO", None)]


def _damaged(data: bytes, draw: Random) -> bytes:
    spoiled = bytearray(data)
    for _ in range(8):
        spoiled[draw.randrange(min(len(spoiled), 4096))] = draw.randrange(256)
    return bytes(spoiled)
