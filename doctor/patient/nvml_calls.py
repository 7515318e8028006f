"""Part of the agent nvml: calls of the binding, and the lines of their answers."""

from __future__ import annotations

import ctypes

from .library_agent import Lines
from .nvml_answers import plain
from .nvml_questions import FUNCTION_NOT_FOUND, OLDER

TYPE_CHECKING = False
if TYPE_CHECKING:  # the typing module is not worth its start-up time here
    from typing import Any

FAILED = object()


class Calls(Lines):
    """Asks NVML call by call."""

    def __init__(self, descriptor: int, nvml: Any) -> None:
        Lines.__init__(self, descriptor)
        self.nvml = nvml

    def call(self, field: str, name: str, *arguments: Any, **where: Any) -> Any:
        """Call the binding and write the answer; returns it, or FAILED where it is an error."""
        value = self.ask(field, name, *arguments, **where)
        if value is not FAILED:
            self.emit(field=field, value=value, **where)
        return value

    def ask(self, field: str, name: str, *arguments: Any, **where: Any) -> Any:
        """As `call`, but only an error is written."""
        self.emit(begin=name, **where)
        try:
            try:
                return plain(field, self.function(name)(*arguments))
            except self.nvml.NVMLError as error:
                older = OLDER.get(name)
                if error.value != FUNCTION_NOT_FOUND or older is None:
                    raise
                return plain(field, older(self.nvml, arguments))
        except Exception as error:
            self.refused(field, error, **where)
            return FAILED

    def refused(self, field: str, error: Exception, **where: Any) -> None:
        """Write the line of an answer that is an error: NVML's number, or -2 where it is not NVML's."""
        code, text = getattr(error, "value", None), str(error)[:500]
        if not isinstance(code, int):
            code, text = -2, type(error).__name__ + ": " + text
        self.emit(field=field, error=code, text=text, **where)

    def function(self, name: str) -> Any:
        """A call of the binding; one that is older than the call is as a driver that lacks it."""
        found = getattr(self.nvml, name, None)
        if found is None:
            raise self.nvml.NVMLError(FUNCTION_NOT_FOUND)
        return found

    def fill(self, name: str, handle: Any, answer: Any) -> Any:
        """Have NVML fill in a structure of ours: bindings before 13.580 lack some of them."""
        code = self.nvml._nvmlGetFunctionPointer(name)(handle, ctypes.byref(answer))
        if code:
            raise self.nvml.NVMLError(code)
        return answer
