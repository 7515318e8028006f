"""What `fleet run` does once its flags are known."""

from __future__ import annotations

import secrets
from importlib import import_module
from shutil import which
from time import monotonic
from typing import TYPE_CHECKING, Any, cast

from ..fleet.gather import CHUNK, Limits, Probe, Roster, Wish, probe_for
from ..fleet.installed import command_words, probe_of_command, refuse_unsafe
from ..guard import Refusal
from ..report.progress import Progress
from ..targets.interrupts import forget
from .ended import Ended, ending_children
from .fleet_links import links, refuse_links
from .fleet_take import Take
from .write import echo

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..findings import Policy
    from ..fleet.gather import Engine, PairEngine

AGENT_S = 20.0
"""How long the agent waits for each driver library; it waits no longer than the node's own time lasts."""
NODE_S = 120.0
PROOF_S = {"quick": 300.0, "standard": 300.0, "full": 720.0}
"""Time for one node with a proof of this level."""
_INTERRUPTED = 130
OF_ENGINE = {
    "hostfile": "ssh", "partition": "slurm", "drain": "slurm",
    **dict.fromkeys(("selector", "namespace", "image", "runtime_class", "print"), "kubernetes"), "address": "ray",
}  # fmt: skip
"""Flags of one engine alone."""
_TEXTS = (
    "nodes", "hostfile", "partition", "selector", "namespace", "image", "runtime_class", "address", "python_"
)  # fmt: skip
_NEWER = "for a newer GPU, update gpudoctor, or expect only a number of GPUs"


def run_fleet(flags: dict[str, Any]) -> int:
    """Gather, store, print the report; returns the exit code."""
    from ..fleet.store.judged import our_matrix
    from .config import with_spec
    from .expected import refuse_elsewhere
    from .options import make_policy

    if flags["output"] in (None, "", "-") and not flags["print"]:
        raise Refusal("fleet run needs -o FILE, the database to write")
    _refuse_empty(flags)
    engine = cast("Engine", import_module(f"..fleet.engines.{flags['on']}", __package__))
    _only_where_it_counts(flags)
    if flags["prove"] and flags["command"] is None:
        raise Refusal("--prove needs --command: measurements are taken by the gpudoctor installed on the nodes")
    if flags["command"] is not None:
        command_words(flags["command"])
        refuse_unsafe("--python", flags["python_"] or "")
        if flags["on"] == "kubernetes" and not flags["image"]:
            raise Refusal("--command with --on kubernetes needs --image: an image in which gpudoctor is installed")
    refuse_links(flags)
    python = flags["python_"]
    if python and not python.startswith("/"):
        raise Refusal(f"--python {python!r}: must be an absolute path on the nodes")
    policy = make_policy(expect=flags["expect"])
    refuse_elsewhere(with_spec(policy, flags["spec"]), our_matrix(), _NEWER)
    if flags["drain"] and which("scontrol") is None:
        raise Refusal("--drain needs Slurm's scontrol, which is not on PATH")
    wish = Wish(
        **{name: flags[name] or "" for name in _TEXTS if name != "python_"},
        wait_s=flags["wait"] or 0.0, prove=bool(flags["prove"]), print_only=flags["print"],
    )  # fmt: skip
    roster = engine.nodes(wish)
    if flags["print"]:
        return _print(flags, roster)
    limits = Limits(node_s(flags), flags["deadline"], flags["retry"])
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


def node_s(flags: dict[str, Any]) -> float:
    """Time for one node, in seconds."""
    limit: float | None = flags["timeout"]
    return limit or (PROOF_S[flags["prove"]] if flags["prove"] else NODE_S)


def _refuse_empty(flags: dict[str, Any]) -> None:
    """Raises Refusal for an empty text, such as `--nodes "$NODES"` without that variable: all nodes are not meant."""
    for name in _TEXTS:
        if flags[name] is not None and not flags[name].strip():
            raise Refusal(f"--{name.rstrip('_').replace('_', '-')} is empty: give it a value, or leave it out")


def _only_where_it_counts(flags: dict[str, Any]) -> None:
    """Raises Refusal for a flag that the engine does not know."""
    for name, engine in OF_ENGINE.items():
        if flags[name] and flags["on"] != engine:
            raise Refusal(f"--{name.replace('_', '-')} needs --on {engine}")
    if flags["wait"] and not (flags["on"] == "slurm" or (flags["on"] == "kubernetes" and flags["prove"])):
        raise Refusal("--wait needs --on slurm, or --on kubernetes with --prove")


def _gather(
    flags: dict[str, Any], policy: Policy, engine: Engine, roster: Roster, limits: Limits, left: list[str]
) -> bool:
    """Fill the database; returns whether Ctrl-C ended it. `left` gets what the engine could not end."""
    from ..fleet.collect import collect
    from ..fleet.store.draft import Draft
    from ..fleet.store.growing import Growing

    asking, began = probe_of(flags, limits.node_s), monotonic()
    with Draft(flags["output"]) as draft, Progress() as progress:
        growing = Growing(draft, [*roster.names, *roster.left_out], roster.source)

        def ask(probe: Probe, repeat: int = 1, only: list[str] | None = None) -> None:
            left_s = limits.run_s and limits.run_s - (monotonic() - began)
            if left_s is not None and left_s <= 0:
                raise Refusal("the deadline of the run came first")
            take = Take(growing, roster, probe, policy, flags, progress, left, repeat)
            collect(engine, roster, probe, limits._replace(run_s=left_s), take, only)

        try:
            ask(asking)
            if flags["prove"]:
                growing.commit()
                _again(flags, ask, limits, left)
            if flags["links"]:
                until = None if limits.run_s is None else began + limits.run_s
                left += links(flags, cast("PairEngine", engine), roster, growing, progress, until)
        except KeyboardInterrupt:
            forget()
            growing.end()
            return True
        except Ended:
            growing.end()
            raise
        growing.end()
    return False


def _again(
    flags: dict[str, Any], ask: Callable[[Probe, int, list[str]], None], limits: Limits, left: list[str]
) -> None:
    """Measure the nodes that look slow twice more, and no others."""
    from ..fleet.again import REPEATS, looking_slow
    from ..fleet.nodesets import folded

    names = looking_slow(flags["output"])
    for repeat in REPEATS if names else ():
        try:
            ask(probe_of(flags, limits.node_s), repeat, names)
        except Refusal as error:
            were = "was" if len(names) == 1 else "were"
            left.append(f"{folded(names)} {were} not measured again ({repeat} of {REPEATS[-1]}): {error}")
            return


def _print(flags: dict[str, Any], roster: Roster) -> int:
    """Print what a run would create."""
    from ..fleet.engines.kubernetes import manifest_of

    asking = probe_of(flags, node_s(flags))
    text = manifest_of(roster, roster.names, asking, asking.run)
    for node, reason in roster.left_out.items():
        echo(f"gpudoctor: {node} is not in it: {reason}", err=True)
    echo(text, nl=False)
    return 0


def probe_of(flags: dict[str, Any], limit_s: float) -> Probe:
    """What runs on each node: the agent, or the gpudoctor that is installed there. Raises Refusal."""
    if flags["command"] is None:
        return probe(limit_s, flags["python_"])
    arguments = [f"--timeout={limit_s:g}", *([f"--python={flags['python_']}"] if flags["python_"] else [])]
    arguments += [f"--prove={flags['prove']}"] if flags["prove"] else []
    return probe_of_command(secrets.token_hex(6), flags["command"], arguments, limit_s)


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
    """Drain the nodes with a fault of their own, and only those on which the scheduler counts GPUs. Each is listed
    before."""
    from ..fleet.drain import drain, failed_nodes

    for nodeset, reason in failed_nodes(database, roster.gpus):
        if not reason:
            echo(f"Not drained: {nodeset} (no failure there is a proven fault of the node itself)")
            continue
        echo(f"Draining {nodeset} in Slurm: {reason}")
        if error := drain(nodeset, reason):
            echo(f"gpudoctor: {nodeset} was not drained: {error}", err=True)
