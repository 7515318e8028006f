"""The patient's Python as it is typed in a command, and the tool that installs into it."""

from __future__ import annotations

from ..snapshot import Snapshot, known
from ..snapshot.typed import quoted


def executable(s: Snapshot) -> str:
    """The patient's interpreter as it is typed in a command; `python3` (Windows: `python`) where that is not known."""
    name = "python" if known(s.host.system) == "windows" else "python3"
    return quoted(known(s.python.patient.executable) or name)


def tool_of(s: Snapshot) -> str:
    """`pip` or `uv`: uv where it made the environment or installed most of it, and where there is no pip.

    Where there is no uv, pip, if it is there or the Python can install it.
    """
    found = known(s.python.distributions)
    made, uv = known(s.python.patient.kind) == "uv", known(s.python.uv)
    if without_pip(s):
        no_uv = uv is False or (uv is None and not made)
        return "pip" if no_uv and known(s.python.patient.ensurepip) is True else "uv"
    by = [d.installer for d in found or () if d.installer in ("pip", "uv")]
    return "uv" if uv is not False and (made or by.count("uv") > by.count("pip")) else "pip"


GET_UV = "curl -LsSf https://astral.sh/uv/install.sh | sh && export PATH=~/.local/bin:$PATH && "


def get_uv(s: Snapshot) -> str:
    """What brings uv where it is the only way and is known not to be there; '' elsewhere."""
    return GET_UV if s.python.uv is False and tool_of(s) == "uv" else ""


def without_pip(s: Snapshot) -> bool:
    """Whether it is known that the patient has no pip: an empty list is a known one (`uv venv` makes such)."""
    found = known(s.python.distributions)
    return found is not None and not s.python.distributions_partial and all(d.name != "pip" for d in found)
