"""Success is not a complaint, and a line that was cleared is no candidate."""

from __future__ import annotations

from doctor.snapshot import Ranked, Snapshot, Symptom, Target
from doctor.text import read
from doctor.text.success import reports_success

from ..judging import report
from ..rows import for_each

DONE = [
    "Enabled MIG Mode for GPU 00000000:3B:00.0\nAll done.",
    "Disabled MIG Mode for GPU 00000000:3B:00.0\nAll done.",
    "Set compute mode to EXCLUSIVE_PROCESS for GPU 00000000:3B:00.0.\nAll done.",
    "Compute mode is already set to EXCLUSIVE_PROCESS for GPU 00000000:3B:00.0.\nAll done.",
    "Successfully created GPU instance ID  9 on GPU  0 using profile MIG 3g.20gb (ID  9)",
    "Power limit for GPU 00000000:3B:00.0 was set to 250.00 W from 300.00 W.\nAll done.",
    "GPU 00000000:3B:00.0 was successfully reset.\nAll done.",
]


@for_each("text", DONE)
def test_a_tool_that_did_what_it_was_asked_accuses_nothing(text: str) -> None:
    found = report(read(text))
    assert not found.possible and not found.likely
    assert not [f.id for f in found.findings if f.id != "required-fact-missing"]


@for_each(
    "line",
    [
        "Unable to enable MIG Mode for GPU 00000000:3B:00.0: In use by another client",
        "Warning: MIG mode is in pending enable state for GPU 00000000:3B:00.0: In use by another client",
        "Enabled MIG Mode for GPU 00000000:3B:00.0, but it is pending until the GPU is reset",
        "The module was not successfully installed",
        "Failed to create GPU instances: Insufficient Resources",
    ],
)
def test_a_tool_that_did_not_is_a_complaint(line: str) -> None:
    assert not reports_success(line)


def test_what_was_done_counts_where_something_fails_afterwards() -> None:
    text = "Enabled MIG Mode for GPU 00000000:3B:00.0\nAll done.\nRuntimeError: No CUDA GPUs are available\n"
    assert any(x.suggests for x in read(text).symptoms)


@for_each("cause", ["cudnn-shadowed-or-mismatched", "uvm-device-missing", "framework-build-without-gpu"])
def test_a_line_that_is_known_to_be_harmless_is_no_candidate(cause: str) -> None:
    ranks = (Ranked(cause=cause, share=0.97, line=4, text="its words"), Ranked(cause="healthy", share=0.03))
    harmless = Symptom(id="harmless-x", line=4, text="its words", of_program=True, means="it", fix="No action needed.")
    blamed = Symptom(id="blamed", line=4, text="its words", suggests=(cause,))
    base = Snapshot(target=Target(kind="text", name="a"), ranked=ranks)
    assert report(base.replace({"symptoms": (blamed,)})).possible == (cause,)
    assert report(base.replace({"symptoms": (harmless,)})).possible == ()
    assert report(base.replace({"symptoms": (harmless, blamed)})).possible == (cause,), "another message blames it"
