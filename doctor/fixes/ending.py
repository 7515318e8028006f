"""Steps that stop other people's work: which they are, what precedes them, and when they are not offered.

The judge passes every finding through `safely`, so that no builder of fixes can leave it out.
"""

from __future__ import annotations

import re
from typing import get_args

from msgspec.structs import replace

from ..findings import Ends, Finding, Fix, Step
from ..findings.patterns import lazy
from ..snapshot import Snapshot, known
from .machine import is_hidden
from .tried import is_tried
from .where import host_sudo

HOST: Ends = "all jobs on this host"
GPU: Ends = "all programs on this GPU"
GPUS: Ends = "all programs on the GPUs of this host"
CONTAINERS: Ends = "all containers on this host"
WSL: Ends = "everything that runs in WSL"
PROCESS: Ends = "this process"
SESSION: Ends = "everything in this session"
CONTAINER: Ends = "everything in this container"
POD: Ends = "everything in this pod or instance"
MACHINE: Ends = "everything in that virtual machine"

_RULES: tuple[tuple[re.Pattern[str], Ends], ...] = (
    (lazy(r"wsl(?:\.exe)? (?:--shutdown|--terminate|--set-version|-t)\b"), WSL),
    (lazy(r"\b(?:pct|lxc|incus) (?:reboot|restart|shutdown|stop)\b"), CONTAINER),
    (lazy(r"\bvirsh (?:reboot|reset|shutdown|destroy)\b|\bqm (?:reboot|reset|shutdown|stop)\b"), MACHINE),
    (
        lazy(
            r"(?<![-\w])(?:reboot|shutdown|poweroff|halt|kexec)(?![-\w])|Restart-Computer|Stop-Computer|\bipmitool\b|"
            r"\bsystemctl (?:isolate|rescue|emergency|soft-reboot|suspend|hibernate)\b|\binit [016]\b"
        ),
        HOST,
    ),
    (
        lazy(
            r"\bsystemctl (?:--user )?(?:restart|stop) (?:docker|podman)\b|\bservice docker (?:restart|stop)\b|"
            r"\bsnap remove docker\b"
        ),
        CONTAINERS,
    ),
    # Without -i it resets every GPU; a stopped fabric manager aborts the programs of all GPUs of its switches.
    (lazy(r"nvidia-smi(?= )(?:(?! -i |[&;|]).)*(?:--gpu-reset|(?<= )-r\b)(?!.* -i )"), GPUS),
    (
        lazy(
            r"\b(?:rmmod|modprobe (?:-\w*r\w*|--remove))\b|"
            r"\bsystemctl (?:restart|stop) nvidia-(?:fabricmanager|imex)\b"
        ),
        GPUS,
    ),
    (lazy(r"nvidia-smi\b[^&;|\n]*(?:--gpu-reset|(?<= )-r\b|(?<= )-mig [01]\b|--multi-instance-gpu)"), GPU),
    (lazy(r"(?<![-\w])(?:kill|pkill|killall|fuser -\w*k\w*)(?![-\w])|\bStop-Process\b|\btaskkill\b"), PROCESS),
)
"""A command, and whose work it stops; the first match counts, so the widest come first."""

_BY_WORDS: tuple[tuple[re.Pattern[str], Ends], ...] = (
    (lazy(r"\bshut down (?:the|that) virtual machine\b", re.I), MACHINE),
    (
        lazy(
            r"\bstop this (?:pod|instance)\b(?!.{0,40}\(virtual)|\bdelete the pod\b|"
            r"\bstart (?:this|the) (?:pod|instance)\b[\w ,]{0,40}\b(?:again|with a GPU type)\b",
            re.I,
        ),
        POD,
    ),
    (lazy(r"\bdisconnect and delete runtime\b|\bstop the session\b|\b(?:take|start) a new session\b", re.I), SESSION),
    (
        lazy(
            r"\b(?:recreate|restart|stop and start) (?:the|this) container\b|a running (?:one|container) cannot\b|"
            r"\bstart (?:the|this) (?:shell or )?container again\b|only a new (?:one|container) gets\b",
            re.I,
        ),
        CONTAINER,
    ),
)
"""What a step says it does, usually because there is no command, and whose work that stops."""

_RANK: tuple[Ends, ...] = get_args(Ends)
"""From no work to all work on the host."""
_OWN = ("", SESSION, CONTAINER, POD)
"""The broken session, container or pod has to be restarted anyway: the step says so, and the order of fixes stays."""
DRAINED = (GPU, GPUS, CONTAINERS, HOST)
"""Before a step that ends these, the node is drained."""

_DRAIN = {
    "slurm": 'scontrol update nodename="$(hostname -s)" state=drain reason="{why}"',
    "kubernetes": 'kubectl cordon "$(hostname)"',
    "pbs": 'pbsnodes -o -C "{why}" "$(hostname)"',
    "torque": 'pbsnodes -o -N "{why}" "$(hostname)"',
    "lsf": 'badmin hclose -C "{why}" "$(hostname)"',
    "sge": 'qmod -d "*@$(hostname)"',
    "uge": 'qmod -d "*@$(hostname)"',
    "htcondor": 'condor_drain "$(hostname)"',
}
_NAMES = {
    "slurm": "Slurm", "kubernetes": "Kubernetes", "pbs": "PBS", "torque": "Torque", "lsf": "LSF", "sge": "Grid Engine",
    "uge": "Grid Engine", "htcondor": "HTCondor",
}  # fmt: skip


_CONDITION = {
    GPU: "the programs on this GPU", GPUS: "the programs on the GPUs", CONTAINERS: "the containers on this host",
    WSL: "the programs in WSL", HOST: "the jobs on this host",
}  # fmt: skip


_HAS_CONDITION = lazy(r"no longer need|still need|any more|Save your work")


def with_condition(text: str, command: str) -> str:
    """The text of a step, with the condition that its command needs if the text has none."""
    return with_condition_for(text, ends_of(command))


def with_condition_for(text: str, ends: Ends) -> str:
    """The same, based on whose work the step stops: it may have no command."""
    what = _CONDITION.get(ends)
    if not what or not text or _HAS_CONDITION.search(text):
        return text
    name = text[1:2].isupper()  # NVIDIA, WSL: as it is written
    return f"Once {what} are no longer needed: {text if name else text[0].lower() + text[1:]}"


def ends_of(command: str) -> Ends:
    """Whose work these lines stop; '' if they stop none. Anything after a # is not run."""
    lines = [re.sub(r"(?:^|\s)#.*", "", line) for line in command.splitlines()]
    found = [_ends_of_line(part) for line in lines for part in re.split(r"&&|\|\||;", line)]
    return max(found, key=_RANK.index, default="")


def ends_by_words(text: str) -> Ends:
    """Whose work a step stops, judging by its text; '' if it stops none."""
    return next((ends for pattern, ends in _BY_WORDS if pattern.search(text)), "")


def _ends_of_line(line: str) -> Ends:
    return next((ends for pattern, ends in _RULES if pattern.search(line)), "")


_READ_ONLY = lazy(
    r"\s*(?:sudo )?(?:cat|ls|head|tail|less|grep|awk|echo|dmesg|journalctl|lspci|lsmod|lscpu|ps|free|df|stat|which|"
    r"uname|ldd|nvcc|modinfo|fuser -v|ausearch|nvidia-smi(?: -i \S+)?(?: -q.*| topo.*| -L| nvlink.*| mig -l.*)?$|"
    r"systemctl (?:status|is-active|show|cat|list)|kubectl (?:get|describe|logs|top)|docker (?:info|inspect|ps|logs)|"
    r"(?:\S*python\S* -m )?(?:uv )?pip (?:list|show|check|freeze)|gpudoctor (?:explain|list-checks|matrix))(?!\S)"
)


def is_read_only(command: str) -> bool:
    """Whether all of these lines read and none writes: what goes through `tee`, `xargs` or `>` does."""
    command = re.sub(r"'[^'\n]*'|\"[^\"\n]*\"", "''", command)  # a pattern's | is no pipe
    typed = [line for line in command.splitlines() if not line.lstrip().startswith("#")]
    lines = [part for line in typed for part in re.split(r"&&|\|\||;|\|", line) if part.strip()]
    if not lines or re.search(r"\btee\b|\bxargs\b|(?<![0-9&])>(?!&)", command):
        return False
    return all(_READ_ONLY.match(line) for line in lines)


def worst(fix: Fix) -> Ends:
    """The most that any step of a fix stops, apart from what is being repaired itself."""
    return max((step.ends for step in fix.steps if step.ends not in _OWN), key=_RANK.index, default="")


def safely(s: Snapshot, finding: Finding) -> Finding:
    """The finding with its steps marked and the node drained first; if this session is not affected, without steps
    that stop other people's work."""
    if not finding.fixes:
        return finding
    fixes = tuple(_marked(fix) for fix in finding.fixes)
    if not any(worst(fix) for fix in fixes):
        return replace(finding, fixes=fixes)
    if _is_not_of_this_session(s, finding.subject):
        return replace(finding, fixes=(leave_to_operator(finding.title, fixes),))
    return replace(finding, fixes=tuple(_drained(s, fix, finding.id) for fix in _mildest_first(s, fixes)))


def _mildest_first(s: Snapshot, fixes: tuple[Fix, ...]) -> tuple[Fix, ...]:
    """Sort those that can be carried out here by how much they stop, the tried ones last; the others keep their
    places."""
    found = [fix for fix in fixes if fix.possible_here]
    here = iter(sorted(found, key=lambda fix: (is_tried(fix, s), _RANK.index(worst(fix)))))
    return tuple(next(here) if fix.possible_here else fix for fix in fixes)


def _marked(fix: Fix) -> Fix:
    steps = tuple(_mark(step) for step in fix.steps)
    return fix if steps == fix.steps else replace(fix, steps=steps)


def _mark(step: Step) -> Step:
    ends = step.ends or ends_of(step.command) or ends_by_words(step.text)
    if ends:
        return replace(step, ends=ends, destructive=True)
    return replace(step, purpose="look") if is_read_only(step.command) else step


def _is_not_of_this_session(s: Snapshot, subject: str) -> bool:
    """Whether the finding is about a GPU that the driver lists and this session was not given."""
    return any(gpu.key == subject and is_hidden(s, gpu) for gpu in known(s.gpus) or ())


def leave_to_operator(what: str, fixes: tuple[Fix, ...] = ()) -> Fix:
    """For a session that is not affected: only tell the operator. `fixes`: what the operator can do."""
    changes = {path: value for fix in fixes[:1] for step in fix.steps for path, value in step.changes.items()}
    text = f"Nothing to do here. Tell the operator: {what.rstrip('.')}."
    step = Step(text=text, where="operator", changes=changes)
    return Fix(id="tell-operator", title="Nothing to do in this session", steps=(step,))


def scheduler_of(s: Snapshot) -> str:
    """slurm, kubernetes ...: what schedules work on this host; '' if unknown."""
    return known(s.host.cluster_node) or known(s.host.scheduler) or ""


def _drained(s: Snapshot, fix: Fix, why: str) -> Fix:
    """The fix, with the node drained before the first step that stops what runs there."""
    at = next((i for i, step in enumerate(fix.steps) if step.ends in DRAINED), None)
    scheduler = scheduler_of(s)
    if at is None or scheduler not in _DRAIN or any(step.text.startswith("Drain") for step in fix.steps):
        return fix
    root = host_sudo(s)
    rest = " (to move its pods as well, use kubectl drain, which evicts them)" if scheduler == "kubernetes" else ""
    first = fix.steps[at]
    drain = Step(
        text=f"Drain this node in {_NAMES[scheduler]} so that no new job starts on it, and wait until the running jobs "
        f"have finished{rest}.",
        command=("" if scheduler == "kubernetes" else root) + _DRAIN[scheduler].format(why=f"gpudoctor: {why}"),
        where="host",
        possible_here=first.possible_here,
        needs_root=scheduler != "kubernetes",
    )
    return replace(fix, steps=(*fix.steps[:at], drain, *fix.steps[at:]))
