"""The user's own `kubectl` with its rights: its commands, and what it shows of nodes, pods and events."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from tempfile import TemporaryFile
from time import monotonic, sleep
from typing import NamedTuple

from ..guard import Refusal

LABEL = "gpudoctor/run"
"""The label of everything that a run creates; its value names the run."""
_COMMAND_S = 30.0
_STOP_S = 20.0
PER_S = 20
"""Objects that kubectl creates or deletes in a second, at least."""
_LONGEST = 300
DAEMONSETS, JOBS = "daemonsets.apps", "jobs.batch"
"""What runs the probes of a run, by the names that `kubectl` knows."""


_NAMESPACE = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")


class Output(NamedTuple):
    """What a kubectl printed. code: None if it was killed because it took too long."""

    code: int | None
    out: bytes
    err: str

    @property
    def last(self) -> str:
        """Its error in one line."""
        line = next((line.strip() for line in reversed(self.err.splitlines()) if line.strip()), "")
        return line.removeprefix("error: ")[:_LONGEST] or (
            "no answer in time" if self.code is None else "it printed no error"
        )


class Kubectl:
    """A kubectl that runs while others do. Its output goes to files without a name. Raises Refusal if there is none."""

    def __init__(self, namespace: str, words: Sequence[str], data: bytes = b"", limit_s: float = _COMMAND_S) -> None:
        self._out, self._err = TemporaryFile(), TemporaryFile()  # noqa: SIM115  # `done` closes them
        self._until = monotonic() + limit_s
        line = ["kubectl", *([f"--namespace={namespace}"] if namespace else []), *words]
        with TemporaryFile() as feed:
            feed.write(data)
            feed.seek(0)
            try:
                self._child = subprocess.Popen(
                    line, stdin=feed, stdout=self._out, stderr=self._err, start_new_session=True
                )
            except FileNotFoundError:
                raise Refusal("kubectl is not on PATH: run this where it is installed") from None
            except OSError as error:
                raise Refusal(f"cannot start kubectl: {error.strerror}") from None

    def done(self) -> Output | None:
        """What it printed, once it has ended."""
        if self._child.poll() is None and monotonic() < self._until:
            return None
        code = self._child.poll()
        self.kill()
        texts = []
        for file in (self._out, self._err):
            with file:
                file.seek(0)
                texts.append(file.read())
        return Output(code, texts[0], texts[1].decode("utf-8", "replace"))

    def wait(self) -> Output:
        """The same after its end; whatever interrupts it ends kubectl."""
        try:
            while (found := self.done()) is None:
                with suppress(subprocess.TimeoutExpired):
                    self._child.wait(max(0.0, self._until - monotonic()))
        except BaseException:
            self.kill()
            raise
        return found

    def kill(self) -> None:
        """End it, with what it started: a login may be a program of its own."""
        if self._child.poll() is None:
            with suppress(OSError):
                os.killpg(self._child.pid, signal.SIGKILL)
            self._child.wait()


def refuse_namespace(namespace: str) -> None:
    """Raises Refusal for what cannot be the name of a namespace."""
    if namespace and not _NAMESPACE.fullmatch(namespace):
        raise Refusal(f"--namespace {namespace[:80]!r} is not a valid name")


def refuse_without_rights(namespace: str, kind: str) -> None:
    """Raises Refusal if this user may not do what a run with this kind of objects needs in its namespace. That nodes
    may be listed shows by itself."""
    rights = [(verb, resource) for resource in (kind, "configmaps") for verb in ("create", "list", "delete")]
    rights += [("list", "pods"), ("get", "pods/log")]
    for (verb, resource), child in [(right, _review(namespace, *right)) for right in rights]:
        found = child.wait()
        if found.out.strip() != b"yes":
            where = f"namespace {namespace}" if namespace else "kubectl's current namespace"
            why = "" if found.out.startswith(b"no") else f" ({found.last})"
            raise Refusal(f"Kubernetes does not allow you to {verb} {resource} in {where}{why}")


def may(namespace: str, verb: str, resource: str) -> bool:
    """Whether Kubernetes allows this user to do that. Raises Refusal if there is no kubectl."""
    return _review(namespace, verb, resource).wait().out.strip() == b"yes"


def _review(namespace: str, verb: str, resource: str) -> Kubectl:
    plain, _, sub = resource.partition("/")
    return Kubectl(namespace, ["auth", "can-i", verb, plain, *([f"--subresource={sub}"] if sub else [])])


def delete(namespace: str, selector: str, kinds: Sequence[str], count: int = 1) -> str:
    """Delete all objects of these kinds and all ConfigMaps with this label, and wait for their pods to end. `count`:
    how many there are, about. Returns what may be left, in one line."""
    limit_s = _STOP_S + count / PER_S
    until = monotonic() + limit_s
    words = ["delete", ",".join((*kinds, "configmaps")), f"--selector={selector}", "--ignore-not-found", "--wait=false"]
    while True:
        found = Kubectl(namespace, words, limit_s=limit_s).wait()
        if found.code == 0:
            left_s = max(1.0, until - monotonic())
            listed = ["get", "pods", f"--selector={selector}", "--output=name"]
            found = Kubectl(namespace, listed, limit_s=left_s).wait()
        pods = found.out.split()
        if found.code == 0 and not pods:
            return ""
        if monotonic() > until:
            break
        sleep(0.5)
    if found.code == 0:
        return f"Kubernetes is still deleting {len(pods):,} of this run's pods"
    again = f"gpudoctor fleet clean --on kubernetes{f' --namespace {namespace}' if namespace else ''}"
    return f"objects of this run may be left in Kubernetes: {found.last} (to delete them later: {again})"
