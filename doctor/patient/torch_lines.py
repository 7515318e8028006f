"""Part of the agent torch_proof: its lines."""

from __future__ import annotations

import json
import os

from .torch_errors import text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

AGENT = "torch_proof"


class Lines:
    """Writes the lines."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor

    def emit(self, **line: Any) -> None:
        """Write one line at once."""
        data = (json.dumps(line, default=str) + "\n").encode("ascii", "replace")
        while data:
            data = data[os.write(self.descriptor, data) :]

    def fail(self, field: str, error: BaseException) -> None:
        """Write the line of a step that raised."""
        self.emit(field=field, error=type(error).__name__, text=text_of(error))

    def leave_out(self, step: str, device: str, detail: str, fault: str = "skipped") -> None:
        """Say what was left out or made smaller, and why."""
        self.emit(ended={"agent": AGENT, "step": step, "device": device, "fault": fault, "detail": detail})
