"""Rules for the steps of a report that hold on every machine: what ends others' work, widens access, or only looks."""

from __future__ import annotations

import re
from typing import get_args

from doctor.findings import Ends, Finding, Fix, Step
from doctor.fixes.ending import CONTAINER, CONTAINERS, GPU, GPUS, HOST, MACHINE, POD, SESSION, WSL, scheduler_of, worst
from doctor.fixes.machine import is_hidden
from doctor.fixes.tried import is_tried
from doctor.fixes.where import batch_job
from doctor.judge.report import Report
from doctor.report.terminal import Display, render_terminal
from doctor.snapshot import Snapshot, known
from doctor.snapshot.masks import holds_mask
from doctor.snapshot.typed import named_python

from ..judging import matrix
from .contradictions import LAYERS

ENDS = re.compile(r"reboot|shutdown|poweroff|--gpu-reset|rmmod|modprobe -r|systemctl isolate|\bkill\b|ipmitool")
CONDITION = re.compile(
    r"no longer needed|still needed|any more|Save your work|Close what runs|^If it is yours|that are yours|not needed"
)
TOO_WIDE = re.compile(
    r"(?:chmod|chown|chgrp|setfacl)\b[^;&|]*/dev/nvidia\*|chmod (?:-R|a\+|0?777)|chown -R|--privileged|ipc=host|"
    r"seccomp[:=]unconfined|sudo pip|"
    r"--break-system-packages|\* (?:soft|hard) memlock|setfacl|chmod 0?666 /dev\b(?!/nvidia)"
)
READS = re.compile(
    r"^(?:sudo )?(?:cat|ls|echo|grep|dmesg|journalctl|lspci|ps|nvidia-smi|kubectl (?:get|describe|logs)|"
    r"systemctl status|gpudoctor explain)\b(?!.*(?:tee|xargs|>| -[a-z]+ \d| --gpu-reset| -pl| -pm| -mig| -rgc| -rmc| -c DEFAULT))"
)
EXAMINES = re.compile(r"\bgpudoctor (?:check|fix|prove|watch)\b")
ORDER = get_args(Ends)
OTHERS = (GPU, GPUS, CONTAINERS, MACHINE, WSL, HOST)
OWN = (SESSION, CONTAINER, POD)
"""What is repaired, started anew: it is told, without a condition."""


def broken_rules(report: Report, last_screen: bool = True) -> list[str]:
    """Each rule that a step of the report breaks, with the finding and the step. `last_screen`: what is shown there."""
    found = [
        f"{finding.id}: {fix.id}: {what}: {step.command or step.text}"
        for finding in (*report.findings, *report.remarks)
        for fix in finding.fixes
        for step in fix.steps
        for what in _of_step(report, step)
    ]
    for finding in (*report.findings, *report.remarks):
        found += [f"{finding.id}: {what}" for what in _of_finding(report, finding)]
    return found + (_of_last_screen(report) if last_screen else [])


def _of_step(report: Report, step: Step) -> list[str]:
    s, command = report.snapshot, step.command
    typed = "\n".join(line.partition(" #")[0] for line in command.splitlines() if not line.startswith("#"))
    cut = any(known(gpu.mig_enabled) for gpu in known(s.gpus) or ())
    own = known(s.host.chassis) in ("desktop", "laptop")
    rules = (
        ("ends work and does not say so", bool(ENDS.search(typed)) and not (step.destructive and step.ends)),
        ("says whose work it ends, and not that it is destructive", bool(step.ends) and not step.destructive),
        ("ends others' work without a condition", step.ends in OTHERS and not CONDITION.search(step.text)),
        ("leaves a remote host off", bool(re.search(r"shutdown -h|poweroff", typed)) and not own),
        ("opens more than needed", bool(TOO_WIDE.search(typed))),
        ("takes an instance that may be somebody else's", cut and "unset CUDA_VISIBLE_DEVICES" in typed),
        ("takes GPUs that the batch system did not give", batch_job(s) and "unset CUDA_VISIBLE_DEVICES" in typed),
        ("holds a mask", report.redacted and holds_mask(command)),
        ("examines another environment than this run", named_python(s) not in typed and bool(EXAMINES.search(typed))),
        ("looks only, and is declared as a change", step.purpose == "change" and _reads(typed)),
    )
    exact = re.search(r"exactly version (\d[\d.]+\d)", step.text)
    pinned = exact is None or not command or exact[1] in command
    return [what for what, broken in rules if broken] + ([] if pinned else ["names no exact version"])


def _reads(typed: str) -> bool:
    parts = [part.strip() for part in re.split(r"&&|\|\||;|\n", typed) if part.strip()]
    return bool(parts) and all(READS.match(part) for part in parts)


def _of_finding(report: Report, finding: Finding) -> list[str]:
    found, s = [], report.snapshot
    here = [fix for fix in finding.fixes if fix.possible_here and not is_tried(fix, s)]
    if here and any(ORDER.index(worst(fix)) < ORDER.index(worst(here[0])) for fix in here[1:]):
        found.append("a milder fix does not come first")
    found += [f"nothing of {fix.id} changes anything" for fix in finding.fixes if _only_looks(fix)]
    if any(_wrong_module(report, step.command) for fix in finding.fixes for step in fix.steps):
        found.append("installs a kernel module that does not drive a GPU here")
    if any(_others_driver(s, step.command) for fix in finding.fixes for step in fix.steps):
        found.append("installs a Linux driver where Windows or JetPack has one")
    hidden = any(gpu.key == finding.subject and is_hidden(s, gpu) for gpu in known(s.gpus) or ())
    if (hidden or "GPUs in this session are not affected" in finding.detail) and any(
        worst(fix) for fix in finding.fixes
    ):
        found.append("ends others' work, and this session is not affected")
    for fix in finding.fixes:
        first = next((i for i, step in enumerate(fix.steps) if step.ends in OTHERS and step.ends != WSL), None)
        if first is not None and scheduler_of(s) and not any("Drain" in step.text for step in fix.steps[:first]):
            found.append(f"{fix.id} does not drain the node first")
    return found


def _wrong_module(report: Report, command: str) -> bool:
    """Whether Ubuntu's package for a driver has the module that the matrix rules out for a GPU here. No module drives
    boards of which one needs the open and another the proprietary one."""
    package = re.search(r"\bapt-get install -y nvidia-driver-\d+(-open)?", command)
    found = {known(gpu.compute_capability) for gpu in known(report.snapshot.gpus) or ()}
    bus = known(report.snapshot.driver.pci_devices) or ()
    found |= {matrix().gpu(pci_device_id=one.device).capability for one in bus if one.vendor == "10de"}
    needs = {row.open_module for one in found if one and (row := matrix().compute_capability(one))}
    if package is None or {"required", "unsupported"} <= needs:
        return False
    return ("unsupported" if package[1] else "required") in needs


def _others_driver(s: Snapshot, command: str) -> bool:
    """Whether a driver for Linux is installed in WSL, or on a Jetson board, whose driver is part of JetPack."""
    tegra = any(node.kind == "tegra" for node in known(s.driver.device_nodes) or ())
    elsewhere = known(s.host.wsl) in (1, 2) or tegra or "tegra" in (known(s.host.kernel) or "")
    return (
        elsewhere
        and re.search(r"\binstall\b.*\b(nvidia-driver|nvidia-open|cuda-drivers|ubuntu-drivers)", command) is not None
    )


def _only_looks(fix: Fix) -> bool:
    return bool(fix.steps) and all(step.purpose == "look" for step in fix.steps)


def _of_last_screen(report: Report) -> list[str]:
    """The step that ends work stands there with whose work it is, and that of others with its condition."""
    first = next((f for f in report.findings if f.status == report.verdict), None)
    step = first.fixes[0].steps[0] if first and first.fixes else None
    if step is None or not step.ends:
        return []
    shown = render_terminal(report, LAYERS, Display(width=80))
    ending = " ".join(shown[shown.rindex("Do this first") :].split())
    told = step.ends in ending and (step.ends in OWN or CONDITION.search(ending) is not None)
    return [] if told else [f"{first.id if first else ''}: the last screen leaves its condition out"]
