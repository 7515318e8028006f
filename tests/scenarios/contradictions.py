"""What one report must not say at once: pairs of sentences, and words against the facts that they tell of."""

from __future__ import annotations

import re
from collections.abc import Iterator

from compat_matrix.drivers import toolkit_of_driver
from doctor.judge import load_all
from doctor.judge.report import Report
from doctor.report import facts
from doctor.report.groups import groups
from doctor.report.terminal import Display, render_terminal
from doctor.snapshot import Missing, Snapshot, known

from ..judging import matrix

ABOUT = {check.id: check.about for check in load_all()}
LAYERS = {name: about.layer for name, about in ABOUT.items()}

PAIRS = (
    (r"^no (?:NVIDIA )?GPU|· no (?:NVIDIA )?GPU|no GPU visible", r"is on the PCI bus|GPU at 0000:|holds the GPU"),
    (r"no driver ·|no driver$", r"driver \d{3}\.\d+[^.]* (?:runs|is loaded|drives)"),
    (r"(?:^|· )no torch(?: ·|$)", r"(?:Py)?[Tt]orch \d+\.\d+\S* (?:is|does|was|sees)"),
    (r"is running at its power limit", r"held far below"),
    (r"cuInit ok", r"CUDA (?:does not|cannot) start|cuInit returns [1-9]|[Ww]hether CUDA starts"),
    (r"no container", r"[Tt]his container (?!engine)|in this container"),
    (r"No problems found|No check failed", r"FAIL  "),
    (r"^PASS  ", r"✗ |▲ "),
    (r"1x unresponsive GPU", r"all GPUs answer"),
    (r"has no NVIDIA GPU", r"\dx NVIDIA|not given the GPU|(?<!no )NVIDIA GPU on the PCI bus"),
    (r"but no NVIDIA driver", r"· driver \d{3}"),
    (r"torch is not installed", r"· torch \d"),
    (r"can use the GPU|torch computes", r"finds no usable GPU|small kernel on it fails"),
)
"""Two patterns that do not stand in one report (a match of the first, and of the second in another place)."""


def _works(s: Snapshot) -> bool:
    return s.driver.cu_init == 0


SOUND = {
    "no-nvidia-gpu": lambda s: bool(
        known(s.gpus)
        or known(s.driver.cuda_devices)
        or any(d.vendor == "10de" for d in known(s.driver.pci_devices) or ())
    ),
    "driver-not-installed": lambda s: bool(
        known(s.driver.version)
        or known(s.driver.libcuda_path)
        or known(s.driver.nvml_library_path)
        or known(s.driver.modules)
    ),
    "driver-not-loaded": lambda s: bool(
        known(s.driver.version) or _works(s) or "nvidia" in (known(s.driver.modules) or ())
    ),
    "cuda-init-failed": _works,
    "torch-not-installed": lambda s: not isinstance(s.torch.version, Missing),
    "torch-import-broken": lambda s: known(s.torch_run.imported) is not False,
    "gpu-path-not-available": lambda s: (
        known(s.torch_run.kernel_ran) is not False and known(s.torch_run.cuda_available) is not False
    ),
    "cpu-only-torch": lambda s: known(s.torch.build) != "cpu",
    "container-no-gpu-flag": lambda s: _works(s) or bool(known(s.driver.device_nodes)),
    "container-driver-capabilities-missing": lambda s: bool(known(s.driver.libcuda_path) or _works(s)),
    "persistence-mode-off": lambda s: all(known(g.persistence_mode) is not False for g in known(s.gpus) or ()),
    "ecc-disabled": lambda s: all(known(g.ecc_enabled) is not False for g in known(s.gpus) or ()),
    "driver-library-version-mismatch": lambda s: s.driver.nvml_init != 18,
    "libcuda-stub-loaded": lambda s: known(s.driver.libcuda_stub) is not True,
    "driver-libs-not-on-loader-path": lambda s: not isinstance(s.driver.libcuda_path, Missing) or _works(s),
    "device-nodes-missing": lambda s: bool(known(s.driver.device_nodes)) or _works(s),
    "triton-lacks-gpu-arch": lambda s: s.python.distribution("triton") is not None,
    "torch-companion-mismatch": lambda s: not isinstance(s.torch.version, Missing),
}
"""Where the positive words of a check stand, this is so."""


def contradictions(report: Report) -> list[str]:
    """Each contradiction of a live report, in words."""
    return [*_pairs(report), *_sound(report), *_structure(report), *_sentences(report)]


def _pairs(report: Report) -> Iterator[str]:
    for verbose in (0, 1):
        text = render_terminal(report, LAYERS, Display(verbose=verbose, width=110))
        flat = "\n".join(" ".join(row.split()) for row in text.splitlines())
        for one, other in PAIRS:
            first = re.search(one, flat, re.M)
            if first and (second := re.search(other, flat[: first.start()] + " " + flat[first.end() :], re.M)):
                yield f"{first[0]!r} and {second[0]!r}"


def _sound(report: Report) -> Iterator[str]:
    for check in report.checks:
        if check.status == "pass" and not check.remarked:
            if not check.words:
                yield f"{check.id} passed without words"
            if not SOUND.get(check.id, lambda s: True)(report.snapshot):
                yield f"{check.words!r} is not so"


def _structure(report: Report) -> Iterator[str]:
    status = {check.id: check for check in report.checks}
    marks = {group.layer: group.status for group in groups(report, LAYERS)}
    for finding in report.findings:
        if status[finding.id].status == "pass":
            yield f"{finding.id} passed and is a finding"
        if finding.status == "fail" and marks.get(LAYERS[finding.id]) != "fail":
            yield f"{finding.id} fails and its layer does not"
        if finding.fixes and not finding.fixes[0].possible_here and any(f.possible_here for f in finding.fixes):
            yield f"{finding.id}: the first fix is not possible here, another one is"
    for remark in report.remarks:
        if status[remark.id].status == "pass" and not status[remark.id].remarked:
            yield f"{remark.id} is remarked and has positive words"
    worst = {f.status for f in report.findings}
    if (report.verdict == "pass" and worst) or (report.verdict != "pass" and report.verdict not in worst):
        yield f"the verdict is {report.verdict}, the findings {worst}"


def _sentences(report: Report) -> Iterator[str]:
    """Titles and details against the header's facts."""
    s = report.snapshot
    version, highest = known(s.torch.version), facts.cuda(s)
    for f in (*report.findings, *report.remarks):
        said = f"{f.title}. {f.detail}"
        found = re.match(r"(?:Py)?[Tt]orch (\d+\.\d+\S*) (?:is|does|was|sees|supports)", f.title)
        if found and version and found[1] != version:
            yield f"{f.title!r} beside torch {version}"
        for cuda in re.findall(r"[Dd]river \S+ (?:reports|supports) CUDA (\d+\.\d+)", said):
            if highest and cuda not in (highest, toolkit_of_driver(matrix(), highest)):
                yield f"{said!r} beside CUDA up to {highest}"
        for step in (step for fix in f.fixes for step in fix.steps):
            if re.search(r"[Pp]ower (?:the machine )?(?:off|cycle)", step.text) and "reboot" in step.command:
                yield f"{step.text!r} beside {step.command!r}"
        clock = re.search(r"at its power limit.*?(\d+) MHz \(maximum: (\d+) MHz\)", said)
        if clock and int(clock[1]) < int(clock[2]) / 2:
            yield said
