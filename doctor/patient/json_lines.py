"""Part of agents that have the json module: their lines."""

from __future__ import annotations

import json
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Mapping


def write_line(descriptor: int, line: Mapping[str, Any]) -> None:
    """One JSON object and the end of its line, at once."""
    data = (json.dumps(line, default=str) + "\n").encode("ascii", "replace")
    while data:
        data = data[os.write(descriptor, data) :]


class Lines:
    """Writes lines to a descriptor."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor

    def emit(self, **line: Any) -> None:
        """Write one line at once."""
        write_line(self.descriptor, line)
