"""Which found configuration files the user trusts, by path and content, as direnv does."""

from __future__ import annotations

import hashlib
import os

from ..guard import Refusal
from .read import read_bounded

_MAX_BYTES = 1 << 20


def store() -> str:
    """The file that stores them: `SHA-256  PATH`, one per line."""
    home = os.environ.get("XDG_STATE_HOME") or os.path.join(os.environ.get("HOME") or "/", ".local", "state")  # noqa: PTH118
    return os.path.join(home, "gpudoctor", "trusted")  # noqa: PTH118


def trusted() -> dict[str, str]:
    """Path to the SHA-256 of the trusted content; empty if nothing is trusted, or if the file itself cannot be."""
    from .config_files import only_ours

    path = store()
    if not os.path.isfile(path) or not only_ours(path):  # noqa: PTH113
        return {}
    try:
        lines = read_bounded(path, _MAX_BYTES, "is over 1 MiB").decode("utf-8", "surrogateescape").splitlines()
    except Refusal:
        return {}
    return {name: digest for digest, _, name in (line.partition("  ") for line in lines) if name}


def is_trusted(path: str, data: bytes) -> bool:
    """Whether this file was trusted with exactly this content."""
    return trusted().get(os.path.realpath(path)) == hashlib.sha256(data).hexdigest()


def trust(path: str, data: bytes) -> None:
    """Remember the file with this content. Raises Refusal with one line."""
    _write({**trusted(), os.path.realpath(path): hashlib.sha256(data).hexdigest()})


def forget(path: str) -> bool:
    """Whether it was trusted until now. Raises Refusal with one line."""
    known = trusted()
    was = known.pop(os.path.realpath(path), None) is not None
    if was:
        _write(known)
    return was


def _write(known: dict[str, str]) -> None:
    path = store()
    temporary = f"{path}.{os.getpid()}"
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)  # noqa: PTH103, PTH120
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(descriptor, "w", encoding="utf-8", errors="surrogateescape") as stream:
            stream.writelines(f"{digest}  {name}\n" for name, digest in sorted(known.items()))
        os.replace(temporary, path)  # noqa: PTH105
    except OSError as error:
        raise Refusal(f"cannot write {path}: {error.strerror}") from None
