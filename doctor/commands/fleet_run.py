"""What `fleet run` does once its flags are known."""

from __future__ import annotations

import secrets
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

from ..fleet.gather import CHUNK, Limits, Probe, Roster, Wish, probe_for
from ..fleet.installed import command_words, probe_of_command, refuse_unsafe
from ..guard import Refusal
from ..report.progress import Progress
from ..targets.interrupts import forget
from .ended import Ended, ending_children
from .fleet_take import Take
from .write import echo

if TYPE_CHECKING:
    from ..findings import Policy
    from ..fleet.gather import Engine

AGENT_S = 20.0
"""How long the agent waits for each driver library; it waits no longer than the node's own time lasts."""
_INTERRUPTED = 130
OF_ENGINE = {
    "hostfile": "ssh", "partition": "slurm", "wait": "slurm", "drain": "slurm",
    **dict.fromkeys(("selector", "namespace", "image", "runtime_class", "print"), "kubernetes"), "address": "ray",
}  # fmt: skip
"""Flags of one engine alone."""


def run_fleet(flags: dict[str, Any]) -> int:
    """Gather, store, print the report; returns the exit code."""
    from .config import with_spec
    from .options import make_policy

    if flags["output"] in (None, "", "-") and not flags["print"]:
        raise Refusal("fleet run needs -o FILE, the database to write")
    engine = cast("Engine", import_module(f"..fleet.engines.{flags['on']}", __package__))
    _only_where_it_counts(flags)
    if flags["command"] is not None:
        command_words(flags["command"])
        refuse_unsafe("--python", flags["python_"] or "")
        if flags["on"] == "kubernetes" and not flags["image"]:
            raise Refusal("--command with --on kubernetes needs --image: an image in which gpudoctor is installed")
    python = flags["python_"]
    if python and not python.startswith("/"):
        raise Refusal(f"--python {python!r}: must be an absolute path on the nodes")
    policy = make_policy(expect=flags["expect"])
    with_spec(policy, flags["spec"])  # a spec that cannot be read is refused before any node is examined
    names = ("nodes", "hostfile", "partition", "selector", "namespace", "image", "runtime_class", "address")
    wish = Wish(**{name: flags[name] or "" for name in names}, wait_s=flags["wait"] or 0.0, print_only=flags["print"])
    roster = engine.nodes(wish)
    if flags["print"]:
        return _print(flags, roster)
    limits = Limits(flags["timeout"], flags["deadline"], flags["retry"])
    left: list[str] = []
    with ending_children():
        try:
            interrupted = _gather(flags, policy, engine, roster, limits, left)
        finally:
            for words in left:
                echo(f"gpudoctor: {words}", err=True)
    code = _report(flags)
    if flags["drain"] and not interrupted:
        _drain(flags["output"], roster)
    return _INTERRUPTED if interrupted else code


def _only_where_it_counts(flags: dict[str, Any]) -> None:
    """Raises Refusal for a flag that the engine does not know."""
    for name, engine in OF_ENGINE.items():
        if flags[name] and flags["on"] != engine:
            raise Refusal(f"--{name.replace('_', '-')} needs --on {engine}")


def _gather(
    flags: dict[str, Any], policy: Policy, engine: Engine, roster: Roster, limits: Limits, left: list[str]
) -> bool:
    """Fill the database; returns whether Ctrl-C ended it. `left` gets what the engine could not end."""
    from ..fleet.collect import collect
    from ..fleet.store.draft import Draft
    from ..fleet.store.growing import Growing

    asking = probe_of(flags, limits.node_s)
    with Draft(flags["output"]) as draft, Progress() as progress:
        growing = Growing(draft, [*roster.names, *roster.left_out], roster.source)
        take = Take(growing, roster, asking, policy, flags, progress, left)
        try:
            collect(engine, roster, asking, limits, take)
        except KeyboardInterrupt:
            forget()
            growing.end()
            return True
        except Ended:
            growing.end()
            raise
        growing.end()
    return False


def _print(flags: dict[str, Any], roster: Roster) -> int:
    """Print what a run would create."""
    from ..fleet.engines.kubernetes import manifest_of

    asking = probe_of(flags, flags["timeout"])
    echo(manifest_of(roster, roster.names, asking, asking.run), nl=False)
    return 0


def probe_of(flags: dict[str, Any], node_s: float) -> Probe:
    """What runs on each node: the agent, or the gpudoctor that is installed there. Raises Refusal."""
    if flags["command"] is None:
        return probe(node_s, flags["python_"])
    arguments = [f"--timeout={node_s:g}", *([f"--python={flags['python_']}"] if flags["python_"] else [])]
    return probe_of_command(secrets.token_hex(6), flags["command"], arguments, node_s)


def probe(node_s: float, python: str | None = None) -> Probe:
    """The agent, as one text that is a tenth of its size. python: the environment to examine there."""
    import base64
    import zlib

    from ..targets.far import check_version, sent

    run = secrets.token_hex(6)
    limit_s = min(AGENT_S, max(1.0, node_s / 5))
    text = sent({"limit_s": limit_s, "torch": True, "run": run, "chunk": CHUNK, "python": python}, "far_answer")
    packed = base64.b64encode(zlib.compress(text.encode(), 9)).decode("ascii")
    script = f"{check_version(run)}import base64, zlib\nexec(zlib.decompress(base64.b64decode('{packed}')))\n"
    return probe_for(run, script.encode(), node_s)


def _report(flags: dict[str, Any]) -> int:
    """Print what `fleet report` prints; returns its exit code."""
    from .fleet_report import run_report

    shown = {name: flags[name] for name in ("quiet", "no_color", "ascii_", "verbose", "spec")}
    return run_report({
        **shown, "database": flags["output"], "output": None, "format_": "text", "node": None, "query": None,
        "since": None, "fail_on": None, "mask_nodes": False,
    })  # fmt: skip


def _drain(database: str, roster: Roster) -> None:
    """Drain the nodes that failed, and only those on which the scheduler counts GPUs. Each is listed before."""
    from ..fleet.drain import drain, failed_nodes

    for nodeset, reason in failed_nodes(database, roster.gpus):
        echo(f"Draining {nodeset} in Slurm: {reason}")
        if error := drain(nodeset, reason):
            echo(f"gpudoctor: {nodeset} was not drained: {error}", err=True)
