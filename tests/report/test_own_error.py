"""The error that the user has seen is shown once, without the lines that torch adds to every one."""

from __future__ import annotations

from doctor.report.own_error import own_error

from ..healthy import healthy
from ..rows import for_each
from .samples import finding

SAID = "RuntimeError: CUDA error: no kernel image is available for execution on the device"
ADDED = "CUDA kernel errors might be asynchronously reported\nFor debugging consider passing CUDA_LAUNCH_BLOCKING=1"


@for_each(
    ("facts", "title", "under", "line"),
    [
        ({"torch_run.kernel_error": SAID}, "other words", "gpu-path-not-available", SAID),
        ({"torch_run.kernel_error": f"device 1: {SAID}"}, "other words", "gpu-path-not-available", SAID),
        ({"torch_run.kernel_error": f"{ADDED}\n\n  {SAID}\n"}, "other words", "gpu-path-not-available", SAID),
        ({"torch_run.kernel_error": ADDED}, "other words", "gpu-path-not-available", ""),
        ({"torch_run.kernel_error": SAID}, f"It says: {SAID}", "gpu-path-not-available", ""),
        ({"torch_run.kernel_error": SAID}, "other words", "gpu-too-hot", ""),
        ({}, "other words", "gpu-path-not-available", ""),
        ({"torch_run.kernel_error": SAID, "torch_run.first_call_error": "first"}, "x", "cuda-init-failed", "first"),
        (
            {"torch_run.first_call_error": "first", "torch_run.import_error": "import"},
            "x",
            "torch-import-broken",
            "import",
        ),
    ],
)
def test_one_line_of_what_torch_said(facts: dict[str, str], title: str, under: str, line: str) -> None:
    s = healthy().replace(facts)
    root = finding("torch-lacks-new-gpu-sm", title=title)
    assert own_error(root, [finding(under)], s) == line
    assert own_error(finding(under, title=title), [], s) == line
