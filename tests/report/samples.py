"""Reports that show everything a renderer can be asked to show."""

from __future__ import annotations

from msgspec.structs import replace

from doctor.findings import Finding, Fix, Layer, Step
from doctor.judge import check_ids, load_all
from doctor.judge.report import CheckResult, Report
from doctor.snapshot import Missing

from ..healthy import healthy
from ..judging import report

LAYERS: dict[str, Layer] = {check.id: check.about.layer for check in load_all()}
COMMAND = (
    "/opt/venv/bin/python -m pip install --force-reinstall --index-url https://download.pytorch.org/whl/cu128 "
    '"torch==2.8.0" "torchvision==0.23.0" "torchaudio==2.8.0" --no-cache-dir --only-binary=:all:'
)
HOSTILE = "a|b `c` <script>alert(1)</script> \x1b[31mred\x07 @everyone [x](http://y) #1 \u202e *b* _u_ ``` \n# h"


def finding(name: str, status: str = "fail", **more: object) -> Finding:
    """A finding of this id."""
    values = {"severity": "error", "title": f"title of {name}", "layer": LAYERS.get(name, "python"), **more}
    return Finding(id=name, status=status, **values)  # type: ignore[arg-type]


def steps() -> tuple[Step, ...]:
    """One step for each place, with every mark."""
    return (
        Step(text="Install the right build.", command=COMMAND, where="environment"),
        Step(text="Put this in.", command="FROM x\nRUN  y   z\n\tTAB", where="dockerfile"),
        Step(text="Start it so.", command="docker run --gpus all image", where="container-start", possible_here=False),
        Step(text="Load the module.", command="modprobe nvidia", where="host", needs_root=True, destructive=True),
        Step(text="Ask for another machine.", where="provider", possible_here=False),
        Step(text="Set it.", command="unset CUDA_VISIBLE_DEVICES", where="shell"),
        Step(text="Change it.", where="code"),
        Step(text="Update the driver.", where="windows"),
    )


def sick(**changes: object) -> Report:
    """Three causes, one with consequences, on a machine of which not everything could be read."""
    ids = check_ids()
    fix = Fix(id="reinstall", title="Install a build that fits", steps=steps(), note="Takes minutes.")
    other = Fix(id="other", title="Use another card", steps=(Step(text="Do it.", command="second-way", where="host"),))
    findings = (
        finding("driver-not-loaded", detail="No module. " * 12, facts={"modules": [], "x": None}, fixes=(fix, other)),
        finding(
            "torch-not-installed", "warn", subject="torch", direct=False, facts={"build": Missing("denied", "why")}
        ),
        finding("no-nvidia-gpu", "unknown", subject="GPU-1"),
        finding("no-nvidia-gpu", "unknown", subject="GPU-2"),
        finding("cpu-only-torch", downstream_of=("driver-not-loaded",), cause="driver-not-loaded"),
        finding("driver-too-old-for-gpu", downstream_of=("cpu-only-torch",), cause="driver-not-loaded"),
    )
    base = report(healthy())
    status = {"driver-not-loaded": "fail", "torch-not-installed": "warn", "no-nvidia-gpu": "unknown"}
    checks = tuple(
        CheckResult(
            id=name,
            status=status.get(name, "skipped" if i % 5 == 0 else "pass"),  # type: ignore[arg-type]
            reason="driver.cu_init: timeout" if name == "no-nvidia-gpu" else "does not apply" if i % 5 == 0 else "",
        )
        for i, name in enumerate(ids)
    )
    remark = finding("driver-dropped-gpu", "pass", severity="info", title="A remark", detail="Said in passing")
    values = {
        "findings": findings,
        "remarks": (remark,),
        "checks": checks,
        "verdict": "fail",
        "exit_code": 1,
        **changes,
    }
    return replace(base, **values)


def hostile() -> Report:
    """Facts and words by an enemy of terminals and tickets."""
    bad = finding(
        "cpu-only-torch",
        title=HOSTILE,
        detail=HOSTILE,
        subject=HOSTILE,
        facts={"f": [HOSTILE], "g": {"k": HOSTILE}},
        fixes=(Fix(id="x", title=HOSTILE, note=HOSTILE, steps=(Step(text=HOSTILE, command=HOSTILE, where="shell"),)),),
    )
    snapshot = healthy().replace({"host.os_name": HOSTILE, "torch.version": HOSTILE, "driver.libcuda_path": HOSTILE})
    return sick(findings=(bad,), snapshot=snapshot, remarks=(bad,))
