"""Where the answers of `fleet run` go: each is parsed, judged and stored."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NamedTuple

from ..guard import Refusal
from ..report.progress import Progress
from ..snapshot import Missing, Snapshot
from .ended import held

if TYPE_CHECKING:
    from ..findings import Policy
    from ..fleet.gather import Probe, Roster
    from ..fleet.store.growing import Growing


def got_no_gpu(s: Snapshot) -> bool:
    """Whether the probe was given no GPU: none is there, or access is denied. A driver that fails is another matter."""
    if isinstance(s.gpus, Missing):
        return s.gpus.reason in ("absent", "denied", "not-asked")
    return not s.gpus


def no_gpu_words(count: int, hint: str = "") -> str:
    """Why such a node was not examined. hint: what may help besides."""
    several = "1 GPU" if count == 1 else f"{count} GPUs"
    return (
        f"the probe got no GPU, but the scheduler counts {several} there ({hint}examine the node itself with --on ssh)"
    )


class _Read(NamedTuple):
    """What an answer says."""

    snapshot: Snapshot
    made: str
    """When, by the node's clock (ISO 8601, UTC)."""
    redacted: bool = False
    tool: Any = None


class Take:
    """The collector's `Take`."""

    def __init__(
        self,
        growing: Growing,
        roster: Roster,
        probe: Probe,
        policy: Policy,
        flags: dict[str, Any],
        progress: Progress,
        left: list[str],
        repeat: int = 1,
    ) -> None:
        """repeat: which measurement of these nodes it is; from the second on, they have answered before."""
        self._growing, self._gpus, self._policy, self._flags = growing, roster.gpus, policy, flags
        self._read = _of_installed if probe.installed else _of_agent
        self.say, self.left, self._repeat = progress, left.append, repeat

    def answer(self, node: str, data: bytes, received: float) -> str:
        """Store an answer as a report without a verdict; returns why these bytes are none, or show nothing."""
        import msgspec

        from ..judge.report import REPORT_SCHEMA_VERSION
        from .sources import refuse_missing_python

        try:
            found = self._read(node, data, received, self._flags["on"])
            refuse_missing_python(self._flags["python_"], found.snapshot)
        except Refusal as error:
            return str(error)
        if self._gpus.get(node) and got_no_gpu(found.snapshot):
            hint = self._flags["on"] == "kubernetes" and not self._flags["runtime_class"]
            return no_gpu_words(self._gpus[node], "try --runtime-class nvidia, or " if hint else "")
        tool = {"tool": found.tool} if found.tool is not None else {}
        report = msgspec.json.encode({
            "schema_version": REPORT_SCHEMA_VERSION, **tool, "generated_at": found.made,
            "target": found.snapshot.target, "policy": self._policy, "redacted": found.redacted,
            "snapshot": found.snapshot,
        })  # fmt: skip
        with held():
            self._growing.answered(node, received, report, self._repeat)
        return ""

    def failed(self, node: str, reason: str) -> None:
        """Store why there is no answer; of a repeat it is only said: the first measurement stays."""
        if self._repeat > 1:
            self.left(f"{node} was not measured again ({self._repeat} of 3): {reason}")
            return
        with held():
            self._growing.not_examined(node, time.time(), reason)

    def store(self) -> None:
        """Keep what came."""
        with held():
            self._growing.commit()


def _of_agent(node: str, data: bytes, received: float, engine: str) -> _Read:
    """The agent's lines. Raises Refusal with the reason if these are none."""
    from ..probes.collect import snapshot_of
    from ..targets.far import read_answer
    from ..targets.far_target import Unreachable
    from ..targets.recording import Recording

    try:
        found = read_answer(node, data)
    except Unreachable as error:
        raise Refusal(str(error).removeprefix(f"{node}: ")) from None
    made = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(found.clock or received))
    manifest = {"kind": engine, "name": node, "gathered_at": made, "import_torch": True}
    return _Read(snapshot_of(Recording(found.files, found.agents, manifest)), made)


def _of_installed(node: str, data: bytes, received: float, engine: str) -> _Read:
    """The report of the gpudoctor that is installed there. Raises Refusal with the reason if this is none."""
    import msgspec

    from ..fleet.installed import refuse_newer
    from ..judge.saved import READING, unreadable
    from .fleet_answer import Examined

    refuse_newer(data)
    try:
        found = msgspec.json.decode(data, type=Examined)
    except READING as error:
        raise unreadable("its answer", error) from None
    target = msgspec.structs.replace(found.target, kind=engine, name=node)
    snapshot = msgspec.structs.replace(found.snapshot, target=target)
    return _Read(snapshot, found.generated_at[:40], found.redacted, found.tool)
