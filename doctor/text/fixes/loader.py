"""What is offered where the text tells that the loader does not find the driver's libraries."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ...findings import Fix, Step
from ...findings.patterns import lazy
from ...fixes.container import start_with, variable_line
from ...fixes.driver import RPM
from ...fixes.where import container_kind, library_changes, recheck_run
from ...snapshot import Snapshot, known
from .parts import Told, one_step

_APPTAINER = "/.singularity.d/libs"
_NIXOS = "/run/opengl-driver/lib"
_FOLDER = lazy(r"driver[ _]lib\w{0,10}[ _](?:dir|folder|path)\b[^/\n]{0,12}(/[\w./+-]{3,120})", re.I)
_FILE = lazy(r"(/[\w./+-]{3,120})/libcuda\.so")
_TITLE = "Let the loader search the folder of the driver's libraries"
_ID = "prefer-driver-folder"


def libcuda_folder(s: Snapshot) -> str:
    """Where the driver's library lies: Apptainer's folder, WSL's, the distribution's."""
    if container_kind(s) == "apptainer":
        return _APPTAINER
    if known(s.host.wsl) == 2:
        return "/usr/lib/wsl/lib"
    if known(s.host.os_id) in RPM:
        return "/usr/lib64"
    return "/usr/lib/aarch64-linux-gnu" if known(s.host.architecture) == "aarch64" else "/usr/lib/x86_64-linux-gnu"


def _told_folder(t: Told) -> str:
    """The folder that the text names; empty where it names none."""
    rows = {symptom.id: symptom.text for symptom in t.s.symptoms}
    nix = rows.get("libcuda-file-told", "") if "nix-loader" in rows else ""
    found = _FOLDER.search(t.text) or _FILE.search(rows.get("libcuda-elsewhere", "") or nix)
    return found[1].rstrip("/") if found else ""


def _loader_path(t: Told) -> Iterable[Fix]:
    """The folder that the text names, first on the loader's path; else the one of the place."""
    told = _told_folder(t)
    nix = next((symptom.text for symptom in t.s.symptoms if symptom.id == "nix-loader"), "")
    if "nixos" in nix.lower() and not told:
        told = _NIXOS
    if nix and not told.startswith(_NIXOS):
        return (_for_nix(t, told or libcuda_folder(t.s)),)
    without_version = t.said.id in ("cudnn-wants-libcuda", "unversioned-libcuda")
    usual = libcuda_folder(t.s)
    if without_version and not told and usual.startswith("/usr/lib") and "wsl" not in usual:
        return _links(t, usual)
    folder = told or (usual if usual.startswith(("/.", "/usr/lib/wsl")) else "/usr/local/nvidia/lib64")
    if container_kind(t.s) and not folder.startswith("/."):
        line = variable_line(t.s, "LD_LIBRARY_PATH", folder)
        return (
            start_with(
                t.s,
                _ID,
                _TITLE,
                "Give the container this variable (what it held before goes behind it, after a colon).",
                line,
            ),
        )
    command = f"export LD_LIBRARY_PATH={folder}${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}"
    text = "Before the program starts; for good in ~/.bashrc or the job script."
    return (one_step(_ID, _TITLE, text, command, changes=library_changes()),)


def _links(t: Told, folder: str) -> tuple[Fix, ...]:
    """The name without a version, in a folder of the user's own, or beside the driver's library."""
    changes = library_changes()
    own = one_step(
        "link-libcuda-for-user",
        "Give the loader the name libcuda.so in a folder of your own",
        "No root is needed.",
        f"mkdir -p ~/lib && ln -sf {folder}/libcuda.so.1 ~/lib/libcuda.so\n"
        "export LD_LIBRARY_PATH=~/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}",
        changes=changes,
    )
    step = Step(
        text="For every user of this machine.",
        where="shell",
        needs_root=True,
        changes=changes,
        possible_here=known(t.s.host.user_is_root) is not False,
        command=f"sudo ln -s libcuda.so.1 {folder}/libcuda.so && sudo ldconfig",
    )
    return (own, Fix(id="link-libcuda", title="Make the name libcuda.so beside libcuda.so.1", steps=(step,)))


def _for_nix(t: Told, folder: str) -> Fix:
    """The host's whole folder would bring its C library too, which does not go with the one of Nix."""
    text = (
        "Only the driver's own libraries: the host's other ones do not go with the C library of Nix. nixGL "
        "(github.com/nix-community/nixGL) does the same."
    )
    command = (
        f"mkdir -p ~/driver-lib && ln -sf {folder}/libcuda.so* {folder}/libnvidia-*.so* ~/driver-lib/\n"
        "export LD_LIBRARY_PATH=~/driver-lib"
    )
    return one_step(
        "links-for-nix", "Give the programs of Nix the driver's libraries", text, command, changes=library_changes()
    )


def _user_site(t: Told) -> Iterable[Fix]:
    """The variable, as it is given where the text comes from; it changes no file."""
    title = "Switch the user's site folder off"
    note = "Or remove the copies there for good: uninstall them with pip, outside of the environment."
    if (kind := container_kind(t.s)) and kind != "apptainer":
        line = variable_line(t.s, "PYTHONNOUSERSITE", "1")
        return (start_with(t.s, "no-user-site", title, "Give the container this variable.", line),)
    text = "Before the program starts; in a job script or Dockerfile set it there."
    if kind == "apptainer":
        text = "On the host, before apptainer exec: the container gets the variable. Or start it with --no-home."
    return (one_step("no-user-site", title, text, "export PYTHONNOUSERSITE=1", changes=recheck_run(t.s), note=note),)


FIXES = {"driver-libs-not-on-loader-path": _loader_path, "user-site-shadows-packages": _user_site}
