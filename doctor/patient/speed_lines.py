"""Part of the agent torch_speed: its lines, and what an exception tells."""

from __future__ import annotations

import math
import re
import time

from .json_lines import Lines as JsonLines

TEXT_LIMIT = 500
LACKS = re.compile(r"module 'torch(\.[\w.]+)?' has no attribute '")
"""A dtype or a function that came with a later torch."""


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an exception of torch (1.13 to today) says that memory ran out, on the GPU or on the CPU."""
    text = str(error)
    return (
        isinstance(error, MemoryError)
        or type(error).__name__ == "OutOfMemoryError"
        or "out of memory" in text
        or "can't allocate memory" in text
        or "STATUS_ALLOC_FAILED" in text
    )


def is_refusal(error: BaseException) -> bool:
    """Whether it says that this torch or this GPU has no such operation, rather than that one went wrong.

    An attribute that is absent counts in torch's own modules alone: of anything else it is a fault of ours."""
    if isinstance(error, AttributeError):
        return LACKS.match(str(error)) is not None
    words = ("not supported", "NOT_SUPPORTED", "only supported", "not implemented", "not compiled")
    return isinstance(error, NotImplementedError) or any(word in str(error) for word in words)


def text_of(error: BaseException) -> str:
    """First paragraph of an exception, with its type."""
    try:
        words = str(error).strip().split("\n\n")[0].replace("\n", " ")
    except Exception:
        words = ""
    return ("%s: %s" % (type(error).__name__, words) if words else type(error).__name__)[:TEXT_LIMIT]


class NoRoom(Exception):
    """Too little free memory, or too slow a CPU, for a size that means anything."""


class Lines(JsonLines):
    """Writes lines, and keeps the budget."""

    def __init__(self, descriptor: int, device: str) -> None:
        super().__init__(descriptor)
        self.device = device
        self.name = "torch_speed"
        self.root = "/"
        """The folder that holds sys: which node a GPU is on."""
        self.deadline = math.inf
        self.at_once = 0
        """How many GPUs do the same at the same time; 0 where there is no order."""
        self.brief = 1.0
        """Share of the plan's time for which each step is measured."""

    def ended(self, step: str, fault: str, detail: str) -> None:
        """Say that a step failed, was left out, or was made smaller."""
        about = {"agent": self.name, "step": step, "device": self.device, "fault": fault, "detail": detail}
        self.emit(ended=about)

    def left(self) -> float:
        """Seconds of the budget."""
        return self.deadline - time.monotonic()
