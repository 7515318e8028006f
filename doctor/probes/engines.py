"""Container engines on the host, from the gatherer's lines."""

from __future__ import annotations

import re
from typing import Any, cast

from ..snapshot import NOT_ASKED, CdiSpec, Engine, Engines, Missing, Reason
from .raw import Raw, string, strings


def parse_engines(raw: Raw) -> Engines:
    """All of Engines; not asked where the gatherer did not come to it."""
    end = next(iter(raw.rows("engines")), None)
    if end is None:
        return Engines()
    package = next((row for row in raw.rows("package") if row.get("name") == "nvidia-container-toolkit"), None)
    return Engines(
        engines=tuple(_engine(row) for row in raw.rows("engine")),
        hook=end.get("hook") is True,
        toolkit_version=string(package.get("version")) if package else Missing("absent"),
        no_cgroups=_no_cgroups(raw.text("/etc/nvidia-container-runtime/config.toml")),
        cdi=tuple(_spec(row) for row in raw.rows("cdi")),
        char_links=end.get("char_links") is True,
    )


def _spec(row: dict[str, Any]) -> CdiSpec:
    devices, versions = strings(row.get("devices")), strings(row.get("versions"))
    return CdiSpec(path=string(row.get("path")), devices=devices, versions=versions)


def _engine(row: dict[str, Any]) -> Engine:
    kind, socket = string(row.get("kind")), string(row.get("socket"))
    info = row.get("info")
    if not isinstance(info, dict):
        reason = row.get("reason")
        why = Missing(cast(Reason, reason if reason in ("denied", "timeout") else "error"), string(row.get("error")))
        return Engine(kind=kind, socket=socket, version=why)
    options = strings(info.get("SecurityOptions"))
    return Engine(
        kind=kind,
        socket=socket,
        version=_text(info, "ServerVersion"),
        runtimes=strings(info.get("Runtimes")),
        default_runtime=_text(info, "DefaultRuntime"),
        cgroup_driver=_text(info, "CgroupDriver"),
        rootless=any("rootless" in option for option in options),
        userns=any("userns" in option for option in options),
        cdi_devices=strings(info["Devices"]) if "Devices" in info else NOT_ASKED,
    )


def _text(info: dict[str, Any], name: str) -> str | Missing:
    return string(info.get(name)) or NOT_ASKED


def _no_cgroups(text: str | Missing) -> bool | Missing:
    """The toolkit's default is false; a commented line says nothing."""
    if isinstance(text, Missing):
        return text
    found = re.search(r"^\s*no-cgroups\s*=\s*(true|false)\b", text, re.M)
    return found is not None and found[1] == "true"
