"""The facts of another machine or container: `--target`."""

from __future__ import annotations

from collections.abc import Callable
from time import gmtime, strftime
from typing import Any

from msgspec import to_builtins

from .. import __version__
from ..guard import Refusal
from ..probes.collect import Options, Started, gather_all, snapshot_of
from ..snapshot import Snapshot
from ..targets.far import ask, container_root
from ..targets.far_target import FarTarget, Unreachable
from ..targets.recording import Recording


class NotThere(Refusal):
    """The target may exist but cannot be examined."""

    code = 3


def gather_far(flags: dict[str, Any], say: Callable[[str], None] | None = None) -> Snapshot:
    """The facts of the target. Raises Refusal, or NotThere, with one line."""
    return snapshot_of(far_recording(flags, say))


def far_recording(flags: dict[str, Any], say: Callable[[str], None] | None = None) -> Recording:
    """Examine the target with one script; a container on this host without Python is read through its root folder.

    A container on this host gets the host's facts along with its own.

    Raises Refusal, or NotThere, with one line.
    """
    try:
        target = FarTarget(flags["target"])
        if say is not None:
            say(str(target))
        files, answers = ask(target, flags["timeout"] or 20.0, not flags["no_import"])
    except Unreachable as error:
        root = container_root(target) if error.python else ""
        if not root:
            raise (NotThere if error.unknown else Refusal)(str(error)) from None
        options = Options(root=root, deadline_s=flags["timeout"] or 20.0)
        recording = gather_all(Started(options), say)
        recording.manifest.update(kind=target.kind, name=target.name)
        return _with_host(recording, root, flags, say)
    manifest = {
        "tool": __version__,
        "kind": target.kind,
        "name": target.name,
        "gathered_at": strftime("%Y-%m-%dT%H:%M:%SZ", gmtime()),
        "import_torch": not flags["no_import"],
    }
    return _with_host(Recording(files, answers, manifest), container_root(target), flags, say)


def _with_host(recording: Recording, root: str, flags: dict[str, Any], say: Callable[[str], None] | None) -> Recording:
    if root:
        from .beside import outside_of

        recording.manifest["outside"] = to_builtins(outside_of(root, flags["timeout"] or 20.0, say))
    return recording
