"""Part of the agent collective_proof: its lines, and torch for them."""

from __future__ import annotations

from .json_lines import Lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

AGENT = "collective_proof"
TEXT_LIMIT = 2000


class Out(Lines):
    """JSON lines to a descriptor."""

    def leave_out(self, step: str, detail: str, fault: str = "skipped", device: str = "") -> None:
        self.emit(ended={"agent": AGENT, "step": step, "device": device, "fault": fault, "detail": detail})


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
