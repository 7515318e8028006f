"""Where gpudoctor's own imports may come from: its installation, not the examined environment."""

from __future__ import annotations

import os
import sys

NEEDED = (
    "click", "jinja2", "markdown_it", "markupsafe", "mdurl", "msgspec", "packaging", "pygments", "pynvml", "rich",
    "tomli",
)  # fmt: skip
"""Its requirements, and their requirements."""


def drop_outside() -> None:
    """Remove the current folder, the script's folder, PYTHONPATH and the user's site-packages from `sys.path`.

    The folder that gpudoctor is installed in stays (`pip install --user`, `--target`), and so does any other folder
    that is the only one with something it requires (an installation with one folder per package). The variables stay as
    they are: they are the patient's.
    """
    outside = _outside()
    kept = [entry for entry in sys.path if entry not in outside]
    dropped = [entry for entry in sys.path if entry in outside]
    if not dropped:
        return
    for name in NEEDED:
        if not any(_holds(entry, name) for entry in kept):
            kept += [entry for entry in dropped if _holds(entry, name)][:1]
    sys.path[:] = kept


def _outside() -> set[str]:
    home = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120 (pathlib is not worth its time)
    library = os.path.dirname(os.__file__)  # noqa: PTH120
    site = sys.modules.get("site")
    installed = set(site.getsitepackages()) if site else set()
    found = set()
    if not (sys.flags.isolated or getattr(sys.flags, "safe_path", False)):
        script = os.path.dirname(os.path.abspath(sys.argv[0]))  # noqa: PTH100, PTH120
        found |= {"", ".", _absolute(""), script, os.path.realpath(script)}
    if not sys.flags.ignore_environment:
        entries = os.environ.get("PYTHONPATH", "")
        for entry in entries.split(os.pathsep) if entries else ():
            found |= {entry, _absolute(entry)}
    user = getattr(site, "USER_SITE", None)
    if user in sys.path and user != home:
        at = sys.path.index(user)
        found |= {user, *_until(sys.path[at + 1 :], installed)}
    return found - installed - {home, library, f"{library}/lib-dynload"}


def _until(entries: list[str], ends: set[str]) -> list[str]:
    """The entries before the first of those: what the .pth files of the preceding folder have added."""
    return entries[: next((at for at, entry in enumerate(entries) if entry in ends), 0)]


def _absolute(entry: str) -> str:
    try:
        return os.path.abspath(entry)  # noqa: PTH100
    except OSError:  # the current folder was deleted
        return entry


def _holds(folder: str, name: str) -> bool:
    return os.path.isdir(f"{folder}/{name}") or os.path.isfile(f"{folder}/{name}.py")  # noqa: PTH112, PTH113
