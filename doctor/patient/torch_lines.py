"""Part of the agent torch_proof: its lines."""

from __future__ import annotations

from .json_lines import Lines as JsonLines
from .torch_errors import text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    pass

AGENT = "torch_proof"


class Lines(JsonLines):
    """Writes the lines."""

    def fail(self, field: str, error: BaseException) -> None:
        """Write the line of a step that raised."""
        self.emit(field=field, error=type(error).__name__, text=text_of(error))

    def leave_out(self, step: str, device: str, detail: str, fault: str = "skipped") -> None:
        """Say what was left out or made smaller, and why."""
        self.emit(ended={"agent": AGENT, "step": step, "device": device, "fault": fault, "detail": detail})
