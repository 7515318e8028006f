"""The patient's Python, the other environments with torch, and the patient's distributions."""

from __future__ import annotations

import re
from typing import Any

from ..formats.lazy import lazy
from ..formats.metadata import dist_info_name, normalize, parse_direct_url, parse_installer, parse_metadata
from ..formats.proc import parse_pyvenv_cfg
from ..snapshot import ABSENT, NOT_ASKED, Distribution, Environment, Missing, Python
from .raw import Raw, string, strings

_STDLIB = lazy(r"python(3\.\d+)(t?)$")
_FULL = lazy(r"(3\.\d+\.\d+)(?:[^\d.]|$)")


def parse_python(raw: Raw) -> Python:
    """All of Python but `extensions`."""
    rows = raw.rows("python")
    row = next((r for r in rows if r.get("role") == "patient"), None)
    others = tuple(_environment(r) for r in rows if r.get("role") == "other")
    finished = bool(raw.rows("others"))
    if row is None or not isinstance(row.get("prefix"), str):
        requested = string(row.get("asked")) if row else ""
        words = f"no Python at {requested}" if requested else "no Python was found"
        gap = raw.unasked if row is None else Missing("absent", words)
        empty = Environment(prefix=gap, executable=gap, version=gap, torch_version=gap, site_packages=gap)
        return Python(
            patient=empty,
            chosen_because=gap,
            distributions=gap,
            extensions=gap,
            others=others if finished else raw.unasked,
        )
    return Python(
        patient=_environment(row),
        chosen_because=string(row.get("because")) or NOT_ASKED,
        others=others if finished else raw.unasked,
        distributions=_distributions(raw, strings(row.get("site_packages"))),
        uv=uv if isinstance(uv := row.get("uv"), bool) else NOT_ASKED,
        hidden_by=strings(row["hidden_by"]) if "hidden_by" in row else NOT_ASKED,
    )


def _environment(row: dict[str, Any]) -> Environment:
    prefix, cfg = string(row.get("prefix")), row.get("cfg")
    values = parse_pyvenv_cfg(cfg) if isinstance(cfg, str) else None
    stdlib = _STDLIB.search(string(row.get("stdlib")))
    implementation = (values or {}).get("implementation", "CPython").lower()
    torch = row.get("torch")
    version: str | Missing = ABSENT if torch is None else Missing("error", "torch/version.py could not be parsed")
    if isinstance(torch, str) and torch != "?":
        version = torch
    return Environment(
        prefix=prefix,
        executable=string(row.get("executable")) or ABSENT,
        version=_version(row, values, stdlib.group(1) if stdlib else None),
        implementation=implementation,
        kind=_kind(row, prefix, values),
        free_threaded=bool(stdlib.group(2)) if stdlib else Missing("absent", "no standard library folder"),
        site_packages=strings(row.get("site_packages")),
        torch_version=version,
        externally_managed=row.get("managed") is True,
        writable=row.get("writable") is True,
        headers=headers if isinstance(headers := row.get("headers"), bool) else NOT_ASKED,
        **_dead(row),
        ensurepip=ensurepip if isinstance(ensurepip := row.get("ensurepip"), bool) else NOT_ASKED,
    )


def _dead(row: dict[str, Any]) -> dict[str, Any]:
    """What is known of an interpreter that is gone; nothing if it is there, since only a start can tell."""
    dead = row.get("dead")
    if not isinstance(dead, dict):
        return {}
    path, target = string(dead.get("path")), string(dead.get("target"))
    words = f"{path} is a link to {target}, which does not exist" if target else f"{path} does not exist"
    return {"starts": False, "start_error": words, "start_fault": "gone", "link_target": target or ABSENT}


def _version(row: dict[str, Any], cfg: dict[str, str] | None, short: str | None) -> str | Missing:
    """`3.11.7` where a file or folder name tells it, else `3.11`."""
    lists = [
        (cfg or {}).get("version", ""),
        (cfg or {}).get("version_info", ""),
        string(row.get("conda_python")).removeprefix("python-"),
        *reversed(string(row.get("real_executable")).split("/")),
        *reversed(string(row.get("prefix")).split("/")),
    ]
    for text in lists:
        match = _FULL.search(text.removeprefix("cpython-"))
        if match and (short is None or match.group(1).startswith(short + ".")):
            return match.group(1)
    return short or Missing("absent", "no standard library folder shows the version")


def _kind(row: dict[str, Any], prefix: str, cfg: dict[str, str] | None) -> str:
    if cfg is not None:
        if "/pipx/" in prefix:
            return "pipx"
        return "uv" if "uv" in cfg else "venv"
    if row.get("conda") is True:
        return "conda"
    if "/.pyenv/" in prefix or "/pyenv/versions/" in prefix:
        return "pyenv"
    if "/uv/python/" in prefix:
        return "uv"
    return "system" if prefix in ("/usr", "/usr/local") else "other"


def _distributions(raw: Raw, folders: tuple[str, ...]) -> tuple[Distribution, ...] | Missing:
    found = []
    for folder in folders:
        names = raw.names(folder)
        for name in names if isinstance(names, tuple) else ():
            split = dist_info_name(name)
            if split:
                found.append(_distribution(raw, folder, name, *split))
    return tuple(found)


def _distribution(raw: Raw, folder: str, name: str, project: str, version: str | None) -> Distribution:
    base = f"{folder}/{name}"
    texts = [raw.text(path) for path in (f"{base}/METADATA", f"{base}/PKG-INFO", base)]
    text = next((t for t in texts if isinstance(t, str)), None)
    problem = ""
    if project.startswith("~"):
        problem = "left over from an interrupted pip run"
    if text is None:
        gap = next((t for t in texts if isinstance(t, Missing) and t.reason != "not-asked"), NOT_ASKED)
        if gap is not NOT_ASKED and not problem and gap.reason != "timeout":
            problem = f"metadata cannot be read ({gap.reason})"
        return Distribution(name=normalize(project), version=version or "", location=folder, problem=problem)
    metadata = parse_metadata(text)
    if not metadata.name or not metadata.version:
        problem = problem or "metadata has no name or no version"
    elif normalize(metadata.name) != normalize(project):
        problem = problem or f"metadata belongs to {metadata.name[:80]}"
    installer, url = raw.text(f"{base}/INSTALLER"), raw.text(f"{base}/direct_url.json")
    origin = parse_direct_url(url) if isinstance(url, str) else None
    return Distribution(
        name=normalize(project),
        wheel=_wheel(origin.url) if origin else "",
        version=version or metadata.version or "",
        location=folder,
        installer=(parse_installer(installer) or "") if isinstance(installer, str) else "",
        requires=metadata.requires_dist,
        requires_python=metadata.requires_python or ABSENT,
        editable=origin is not None and origin.editable,
        problem=problem,
    )


def _wheel(url: str) -> str:
    """The wheel's file name at the end of an address, '' where it names none; nothing else of the address is kept."""
    name = re.sub(r"%2[bB]", "+", url.partition("#")[0].partition("?")[0].rpartition("/")[2])
    return name if re.fullmatch(r"[A-Za-z0-9._+!-]{5,200}\.whl", name) else ""
