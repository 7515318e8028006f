"""Agent: what NVML says, through nvidia-ml-py; one JSON line an answer on stdout.

Arguments: FOLDER_OF_PYNVML. Lines: {"begin": CALL} before each call, with "gpu": N for a
GPU's; then {"field": NAME, "value": V} or {"field": NAME, "error": NVML_CODE, "text": T} with the same "gpu"; {"cap":
WHAT, "looked": N, "listed": M} where only the first N of a list are asked (without M: nobody counted them). Error -1
is the loader's refusal, -2 an exception in the binding. What decides the diagnosis comes first, for all GPUs, then
details, then processes and pairs: a hang keeps what came before it. Bytes and milliwatts as NVML gives them; UUIDs and
serial numbers are not masked. Raw: judges nothing.

Counters of errors are read once, and where one is not zero, once more at the end and at least 100 ms later
(`nvlink_errors_again`, `pcie_replays_again`, `counters_ms`): a count alone does not say whether it climbs.
"""

from __future__ import annotations

import ctypes
import os
import sys

from .library_agent import Lines, mapped_path
from .noise import real_output

TYPE_CHECKING = False
if TYPE_CHECKING:  # the typing module is not worth its start-up time here
    from collections.abc import Sequence
    from typing import Any

LIBRARY = "libnvidia-ml.so.1"


class Library(Lines):
    """The library and its binding."""

    nvml: Any = None

    def load(self) -> bool:
        """Whether the library loads, asked before the slow import of the binding (on Windows that looks itself)."""
        if sys.platform == "win32":
            return True
        self.emit(begin="dlopen " + LIBRARY)
        try:
            library = ctypes.CDLL(LIBRARY)
        except OSError as error:
            self.emit(field="library", error=-1, text=str(error)[:500])
            return False
        self.emit(field="library", value=mapped_path(library, "nvmlInit_v2", "libnvidia-ml.so") or LIBRARY)
        return True

    def bind(self, folder: str) -> bool:
        """Import the binding from its folder."""
        self.emit(begin="import pynvml")
        lighten()
        sys.path.append(folder)
        try:
            import pynvml

            self.nvml = pynvml
        except Exception as error:
            self.emit(field="binding", error=-2, text=type(error).__name__ + ": " + str(error)[:500])
            return False
        self.emit(field="binding", value=str(getattr(pynvml, "__file__", "")))
        return True


def lighten() -> None:
    """Spare the binding two imports that take longer than itself, of which it uses next to nothing.

    Whatever else it wants of them is taken from the real modules.
    """
    module = type(sys)

    class Light(module):  # type: ignore[misc, valid-type]
        def __getattr__(self, name: str) -> Any:
            if name.startswith("__"):
                raise AttributeError(name)
            import importlib

            sys.modules.pop(self.__name__, None)
            return getattr(importlib.import_module(self.__name__), name)

    def find_library(name: str) -> Any:
        return util.__getattr__("find_library")(name)

    def capwords(text: str, sep: str | None = None) -> str:
        return (sep or " ").join([word.capitalize() for word in text.split(sep)])

    util, string = Light("ctypes.util"), Light("string")
    util.find_library, string.capwords = find_library, capwords
    for light in (util, string):
        sys.modules.setdefault(light.__name__, light)


def main(arguments: Sequence[str]) -> None:
    """Run as an agent; ends the process at once, so that no exit handler of the driver can hang or crash it."""
    library = Library(real_output())
    if library.load() and library.bind(arguments[0] if arguments else ""):
        from .nvml_agent import Agent  # where there is no NVML, its questions need not be read

        Agent(library.descriptor, library.nvml).run()
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
