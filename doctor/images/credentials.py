"""Credentials for a registry, from where docker and podman store them. They are never printed.

Sources: docker/cli cli/config (auths, credsStore, credHelpers); docker/docker-credential-helpers (a helper reads the
server from stdin and answers JSON); containers-auth.json(5) of podman and skopeo.
"""

from __future__ import annotations

import base64
import binascii
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from ..formats.given import Unopened, read_given
from ..targets.fed import run_fed
from .reference import HUB

_HUB_KEY = "https://index.docker.io/v1/"
_MAX_FILE = 1 << 20
_HELPER_SECONDS = 20
_TOKEN_USER = "<token>"


@dataclass(frozen=True)
class Credentials:
    """User and password, or an identity token that is exchanged for a bearer token."""

    user: str = ""
    password: str = field(default="", repr=False)
    identity_token: str = field(default="", repr=False)


def credentials_for(registry: str, path: str, timeout_s: float = _HELPER_SECONDS) -> Credentials | None:
    """What is stored for the registry (podman: or for a part of it); None if nothing is, or if it cannot be read."""
    for file in _files():
        stored = _read(file)
        helpers = stored.get("credHelpers")
        keys = _keys(registry, path)
        for key in keys:
            if isinstance(helpers, dict) and isinstance(helpers.get(key), str):
                return _helped(helpers[key], key, timeout_s)
        auths = stored.get("auths")
        for key in keys:
            entry = auths.get(key) if isinstance(auths, dict) else None
            if isinstance(entry, dict) and (found := _entry(entry)):
                return found
        if isinstance(store := stored.get("credsStore"), str):
            found = _helped(store, _HUB_KEY if registry == HUB else registry, timeout_s)
            if found:
                return found
    return None


def _files() -> Iterator[Path]:
    home = Path("~").expanduser()
    if named := os.environ.get("REGISTRY_AUTH_FILE"):
        yield Path(named)
    yield Path(os.environ.get("DOCKER_CONFIG") or home / ".docker") / "config.json"
    if runtime := os.environ.get("XDG_RUNTIME_DIR"):
        yield Path(runtime) / "containers" / "auth.json"
    yield Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config") / "containers" / "auth.json"


def _read(file: Path) -> dict[str, Any]:
    try:
        found = msgspec.json.decode(read_given(str(file), _MAX_FILE, "is too large"))
    except (Unopened, msgspec.DecodeError, UnicodeError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _keys(registry: str, path: str) -> list[str]:
    """The keys that an entry may have, the most specific first."""
    parts = path.split("/")
    names = [f"{registry}/{'/'.join(parts[:n])}" for n in range(len(parts), 0, -1)]
    hub = [_HUB_KEY, f"index.{HUB}", f"https://index.{HUB}"] if registry == HUB else []
    return [*names, registry, *hub, f"https://{registry}", f"https://{registry}/v1/", f"http://{registry}"]


def _entry(entry: dict[str, Any]) -> Credentials | None:
    token = entry.get("identitytoken")
    if isinstance(token, str) and token:
        return Credentials(identity_token=token)
    if isinstance(auth := entry.get("auth"), str) and auth:
        try:
            user, colon, password = base64.b64decode(auth, validate=True).decode().partition(":")
        except (binascii.Error, UnicodeDecodeError, ValueError):
            return None
        return Credentials(user, password.rstrip("\0")) if colon else None
    name, secret = entry.get("username"), entry.get("password")
    return Credentials(name, secret) if isinstance(name, str) and name and isinstance(secret, str) else None


def _helped(name: str, server: str, timeout_s: float) -> Credentials | None:
    """What docker-credential-NAME returns; a helper that fails or hangs returns nothing."""
    if not re.fullmatch(r"[\w.-]{1,64}", name):
        return None
    try:
        answer = run_fed(
            [f"docker-credential-{name}", "get"], server.encode(), min(timeout_s, _HELPER_SECONDS), _MAX_FILE
        )
        found = msgspec.json.decode(bytes(answer.out)) if answer.code == 0 else None
    except (OSError, msgspec.DecodeError, UnicodeError, RecursionError):
        return None
    if not isinstance(found, dict):
        return None
    user, secret = found.get("Username"), found.get("Secret")
    if not isinstance(user, str) or not isinstance(secret, str) or not secret:
        return None
    return Credentials(identity_token=secret) if user == _TOKEN_USER else Credentials(user, secret)
