"""Fixes for a text that shows that the loader does not find the driver's libraries."""

from __future__ import annotations

import re
from collections.abc import Iterable

from msgspec.structs import replace

from ...findings import Fix
from ...findings.patterns import lazy
from ...fixes.container import variable_line
from ...fixes.distribution import RPM
from ...fixes.where import container_kind
from ...snapshot import Snapshot, known
from .parts import Evidence
from .written import written

_APPTAINER = "/.singularity.d/libs"
_NIXOS = "/run/opengl-driver/lib"
_FOLDER = lazy(r"driver[ _]lib\w{0,10}[ _](?:dir|folder|path)\b[^/\n]{0,12}(/[\w./+-]{3,120})", re.I)
_FILE = lazy(r"(/[\w./+-]{3,120})/libcuda\.so")


def libcuda_folder(s: Snapshot) -> str:
    """Where the driver's library is: Apptainer's folder, WSL's, or the distribution's."""
    if container_kind(s) == "apptainer":
        return _APPTAINER
    if known(s.host.wsl) == 2:
        return "/usr/lib/wsl/lib"
    if known(s.host.os_id) in RPM:
        return "/usr/lib64"
    return "/usr/lib/aarch64-linux-gnu" if known(s.host.architecture) == "aarch64" else "/usr/lib/x86_64-linux-gnu"


def on_path_of_wheel(t: Evidence, module: str) -> str:
    """The line that puts the libraries of an nvidia wheel on the loader's path (`module`: cudnn, cuda_runtime ...)."""
    find = f"import nvidia.{module} as c; print(list(c.__path__)[0])"
    if known(t.s.host.system) == "windows":
        return f"$env:PATH = \"$(python -c '{find}')\\bin;$env:PATH\""
    return f"export LD_LIBRARY_PATH=$(python3 -c '{find}')/lib${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}"


def _named_folder(t: Evidence) -> str:
    """The folder that the text names; empty where it names none."""
    rows = {symptom.id: symptom.text for symptom in t.s.symptoms}
    nix = rows.get("libcuda-file-told", "") if "nix-loader" in rows else ""
    found = _FOLDER.search(t.text) or _FILE.search(rows.get("libcuda-elsewhere", "") or nix)
    return found[1].rstrip("/") if found else ""


def _loader_path(t: Evidence) -> Iterable[Fix]:
    """The folder that the text names, first on the loader's path; else the one of the place."""
    named = _named_folder(t)
    nix = next((symptom.text for symptom in t.s.symptoms if symptom.id == "nix-loader"), "")
    if "nixos" in nix.lower() and not named:
        named = _NIXOS
    if nix and not named.startswith(_NIXOS):  # the host's whole folder would bring its C library too
        return (written(t.s, "links-for-nix", folder=named or libcuda_folder(t.s)),)
    without_version = t.symptom.id in ("cudnn-wants-libcuda", "unversioned-libcuda")
    usual = libcuda_folder(t.s)
    if without_version and not named and usual.startswith("/usr/lib") and "wsl" not in usual:
        return _links(t, usual)
    folder = named or (usual if usual.startswith(("/.", "/usr/lib/wsl")) else "/usr/local/nvidia/lib64")
    if container_kind(t.s) and not folder.startswith("/."):
        return (written(t.s, "prefer-driver-folder-at-start", line=variable_line(t.s, "LD_LIBRARY_PATH", folder)),)
    return (written(t.s, "prefer-driver-folder", folder=folder),)


def _links(t: Evidence, folder: str) -> tuple[Fix, ...]:
    """The name without a version, in a folder of the user's own, or beside the driver's library."""
    beside = written(t.s, "link-libcuda", folder=folder)
    steps = tuple(replace(step, possible_here=known(t.s.host.user_is_root) is not False) for step in beside.steps)
    return (written(t.s, "link-libcuda-for-user", folder=folder), replace(beside, steps=steps))


def _user_site(t: Evidence) -> Iterable[Fix]:
    """The variable, as it is given where the text comes from; it changes no file."""
    if (kind := container_kind(t.s)) and kind != "apptainer":
        return (written(t.s, "no-user-site-at-start", line=variable_line(t.s, "PYTHONNOUSERSITE", "1")),)
    return (written(t.s, "no-user-site-apptainer" if kind else "no-user-site"),)


FIXES = {"driver-libs-not-on-loader-path": _loader_path, "user-site-shadows-packages": _user_site}
