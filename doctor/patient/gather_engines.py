"""Part of the gatherer: container engines on the host, the NVIDIA Container Toolkit, CDI specifications.

Lines: engine {kind, socket, info: {...} | error, reason}; cdi {path, devices, versions}; package {name, version};
engines {hook, char_links} at the end.
"""

from __future__ import annotations

import os
import re
from typing import Any, Dict, List, Mapping, Tuple

from .files import Files
from .path_words import clean

HOOKS = (
    "/usr/bin/nvidia-container-runtime-hook", "/usr/bin/nvidia-container-runtime", "/usr/bin/nvidia-container-toolkit",
    "/usr/local/nvidia/toolkit/nvidia-container-runtime", "/usr/local/bin/nvidia-container-runtime-hook",
)  # fmt: skip
CONFIG = "/etc/nvidia-container-runtime/config.toml"
CHAR_LINK = "/dev/char/195:0"
CDI_FOLDERS = ("/etc/cdi", "/var/run/cdi")
_ANSWER_S = 1.5
_MOST = 4 << 20
_SPECS = 16
_TAKEN = ("ServerVersion", "DefaultRuntime", "CgroupDriver", "CgroupVersion", "SecurityOptions", "CDISpecDirs")
"""Of an engine's /info: it also holds names, proxies and registries, which are nobody's business here."""


def gather_engines(files: Files, env: Mapping[str, str], live: bool) -> None:
    """Where an NVIDIA driver is loaded: what could hand its GPUs to a container."""
    if not (files.kind("/proc/driver/nvidia/version") or files.kind("/dev/dxg")):
        return
    found = [path for path in HOOKS if files.exists(path)]
    files.text(CONFIG)
    linked = bool(files.exists(CHAR_LINK))
    for folder in CDI_FOLDERS:
        for name in (files.names(folder) or [])[:_SPECS]:
            if name.endswith((".yaml", ".yml", ".json")):
                _spec(files, folder + "/" + name)
    if found:
        _package(files)
    if live:
        for kind, path in sockets(env):
            line = ask(kind, path)
            if line is not None:
                files.emit(line)
    files.emit({"at": "engines", "hook": bool(found), "char_links": linked})


def sockets(env: Mapping[str, str]) -> "List[Tuple[str, str]]":
    """Where engines listen, each socket once."""
    own = env.get("XDG_RUNTIME_DIR") or ""
    named = env.get("DOCKER_HOST") or ""
    listening = [("docker", named[7:])] if named.startswith("unix://") else []
    listening += [("docker", "/var/run/docker.sock"), ("podman", "/run/podman/podman.sock")]
    if own.startswith("/"):
        listening += [("docker", own + "/docker.sock"), ("podman", own + "/podman/podman.sock")]
    seen: Dict[str, str] = {}
    for kind, path in listening:
        seen.setdefault(os.path.realpath(path), kind)
    return [(kind, path) for path, kind in seen.items()]


def ask(kind: str, path: str) -> "Dict[str, Any] | None":
    """The engine's own words on one socket; None where there is none. Never much longer than a second and a half."""
    line: Dict[str, Any] = {"at": "engine", "kind": kind, "socket": clean(path)}
    if not os.path.exists(path):
        return None
    import json  # most machines have no engine, and a check starts without both of them
    import socket

    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as door:
            door.settimeout(_ANSWER_S)
            door.connect(path)
            door.sendall(b"GET /info HTTP/1.0\r\nHost: localhost\r\n\r\n")
            answer = b""
            while len(answer) < _MOST:
                piece = door.recv(65536)
                if not piece:
                    break
                answer += piece
    except PermissionError:
        return {**line, "reason": "denied", "error": "no permission for its socket"}
    except socket.timeout:
        return {**line, "reason": "timeout", "error": "it did not answer"}
    except OSError as error:
        return {**line, "reason": "error", "error": error.strerror or str(error)}
    head, _, body = answer.partition(b"\r\n\r\n")
    try:
        if head.split(b" ", 2)[1] != b"200":
            raise ValueError
        info = json.loads(body)
        if not isinstance(info, dict):
            raise ValueError
        facts = {name: info[name] for name in _TAKEN if name in info}
    except (ValueError, IndexError, TypeError, RecursionError):
        return {**line, "reason": "error", "error": "its answer is not that of an engine"}
    runtimes = info.get("Runtimes")
    facts["Runtimes"] = sorted(runtimes) if isinstance(runtimes, dict) else []
    devices = info.get("DiscoveredDevices")
    if isinstance(devices, list):
        facts["Devices"] = [str(one.get("ID", ""))[:100] for one in devices[:256] if isinstance(one, dict)]
    return {**line, "info": facts}


def _spec(files: Files, path: str) -> None:
    text = files.peek(path, 1 << 20)
    if text is None or not re.search(r"\"?kind\"?\s*:\s*\"?nvidia\.com/gpu\b", text):
        return
    names = re.findall(r"^\s*-?\s*\"?name\"?\s*:\s*\"?([\w:.-]{1,64})\"?\s*,?\s*$", text, re.M)
    versions = re.findall(r"lib(?:cuda|nvidia-ml)\.so\.(\d{3}\.[\d.]*\d)", text)
    files.emit(
        {"at": "cdi", "path": clean(path), "devices": sorted(set(names))[:256], "versions": sorted(set(versions))}
    )


def _package(files: Files) -> None:
    """Debian's own word on the toolkit's version."""
    listed = files.peek("/var/lib/dpkg/status", 32 << 20) or ""
    at = listed.find("\nPackage: nvidia-container-toolkit\n")
    if at >= 0:
        version = re.search(r"\nVersion: (\S{1,64})", listed[at : at + 4000])
        if version:
            files.emit({"at": "package", "name": "nvidia-container-toolkit", "version": version[1]})
