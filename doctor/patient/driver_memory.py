"""Part of the agent driver_proof: device memory in use, by NVML in a process of its own."""

from __future__ import annotations

import ctypes
import os
import select
import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

NVML = "libnvidia-ml.so.1"
PATIENCE_S = 2.0
"""How long NVML may take for an answer that is only wanted beside the proof."""


class Memory:
    """Device memory in use, by NVML, asked in a child: NVML may hang or crash, and the proof of libcuda goes on.

    `why`: the last question that had no answer, as a missing fact.
    """

    def __init__(self, *close: int) -> None:
        self.pid, self.why = 0, {"missing": "absent", "detail": "NVML is not asked on this system"}
        if not hasattr(os, "fork"):
            return
        requests, self.ask = os.pipe()
        self.answer, answered = os.pipe()
        parent = os.getpid()
        try:
            self.pid = os.fork()
        except OSError as error:  # a limit on processes
            self.fail("error", str(error))
            return
        if not self.pid:
            try:
                for descriptor in (*close, self.ask, self.answer):
                    os.close(descriptor)
                _answer_memory(requests, answered, parent)
            finally:
                os._exit(0)
        os.close(requests)
        os.close(answered)

    def used(self, uuid: str) -> list[int] | None:
        """[bytes in use, bytes in all, compute processes] of a device."""
        if not self.pid:
            return None
        reply = b""
        try:
            os.write(self.ask, uuid.encode() + b"\n")
            if not select.select([self.answer], [], [], PATIENCE_S)[0]:
                self.fail("timeout", "NVML did not answer")
                return None
            reply = os.read(self.answer, 4096)
        except OSError:
            pass
        if not reply:
            self.fail("error", "NVML ended its process")
            return None
        if reply.startswith(b"no "):
            self.why = {"missing": "absent", "detail": reply[3:].decode("utf-8", "replace").strip()}
            return None
        return [int(word) for word in reply.split()]

    def fail(self, reason: str, detail: str) -> None:
        """NVML is not asked again."""
        self.why = {"missing": reason, "detail": detail}
        self.end()

    def end(self) -> None:
        """End the child."""
        try:
            if self.pid:
                os.kill(self.pid, signal.SIGKILL)
        except OSError:  # it is gone, and nobody kept its number
            pass
        self.pid = 0


def _answer_memory(requests: int, answered: int, parent: int) -> None:
    """The child: a UUID a line in; `used total processes` or `no WHY` out, until the parent is gone."""
    try:
        ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)  # PR_SET_PDEATHSIG: not even a hang here outlives the agent
    except (OSError, AttributeError):
        pass
    if os.getppid() != parent:
        return
    os.dup2(os.open(os.devnull, os.O_RDWR), 1)
    os.dup2(1, 2)
    why = lib = None
    try:
        lib = ctypes.CDLL(NVML)
        code = lib.nvmlInit_v2()
        why = "nvmlInit_v2: {}".format(code) if code else None
    except (OSError, AttributeError) as error:
        why = str(error)
    for line in os.fdopen(requests, "rb", 0):
        reply = "no " + why if why else _memory(lib, line.strip())
        os.write(answered, reply.replace("\n", " ")[:1000].encode("utf-8", "replace") + b"\n")


def _memory(lib: Any, uuid: bytes) -> str:
    handle, count = ctypes.c_void_p(), ctypes.c_uint(0)
    memory = (ctypes.c_ulonglong * 3)()  # total, free, used
    for name, arguments, fine in (
        ("nvmlDeviceGetHandleByUUID", (uuid, ctypes.byref(handle)), (0,)),
        ("nvmlDeviceGetMemoryInfo", (handle, memory), (0,)),
        ("nvmlDeviceGetComputeRunningProcesses_v2", (handle, ctypes.byref(count), None), (0, 7)),  # 7: there are some
    ):
        function = getattr(lib, name, None)
        code = function(*arguments) if function is not None else "no such call"
        if code not in fine:
            return "no {}: {}".format(name, code)
    return "{} {} {}".format(memory[2], memory[0], count.value)
