"""One fault has one id: what `check` finds on a machine is what `explain` finds in its messages."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.cases import load_cases
from doctor.commands.assess import known_ids
from doctor.commands.pages import page
from doctor.findings.renamed import RENAMED
from doctor.text import read
from doctor.text.messages import catalogue

from ..judging import report
from ..rows import for_each


def proven(text: str) -> list[str]:
    return [f.id for f in report(read(text)).findings if f.status == "fail"]


@for_each(
    "place", ["", "$ podman run --gpus all x\n", "$ podman run --device nvidia.com/gpu=all x\n", "OS: Fedora 41\n"]
)
@for_each(
    "line",
    [
        "Error: crun: cannot stat /usr/lib64/libnvidia-egl-wayland.so.1.1.13: No such file or directory",
        'error mounting "/usr/lib/libEGL_nvidia.so.535.54.03" to rootfs at "/usr/lib": no such file or directory',
        "Error: crun: error stat'ing file `/usr/lib64/libcuda.so.570.86.10`: No such file or directory: OCI runtime",
        'Error: setting up CDI devices: failed to stat CDI host device "/dev/dri/renderD129": no such file or directory',
    ],
)
def test_a_specification_of_another_driver_is_generated_again(place: str, line: str) -> None:
    found = next(f for f in report(read(place + line)).findings if f.status == "fail")
    assert found.id == "cdi-spec-outdated"
    commands = [step.command for fix in found.fixes for step in fix.steps]
    assert "nvidia-ctk cdi generate" in commands[0] and not any("install" in command for command in commands)


@for_each(
    ("line", "id"),
    [
        ('could not select device driver "" with capabilities: [[gpu]].', "engine-lacks-gpu-support"),
        ("Error response from daemon: unknown or invalid runtime name: nvidia.", "engine-lacks-gpu-support"),
        ("bpf_prog_query(BPF_CGROUP_DEVICE) failed: operation not permitted", "rootless-engine-needs-no-cgroups"),
        ("Verification error @ element 1: val = 0.000000, ref = 4.000000", "acs-redirects-peer-traffic"),
        ("NCCL WARN Bootstrap : no socket interface found", "ranks-meet-on-wrong-interface"),
    ],
)
def test_a_message_has_the_id_of_the_check(line: str, id: str) -> None:
    assert proven(line) == [id]


@for_each(("former", "id"), [*RENAMED.items()])
def test_a_former_id_is_accepted_and_nowhere_given(former: str, id: str) -> None:
    assert page(former) == page(id) == page(former.replace("-", "_").upper()) and id in known_ids()
    assert former not in known_ids()
    for message in catalogue():
        assert former not in (*message.suggests, *(check for check, _ in message.decides)), message.id


def test_a_former_id_labels_a_case(tmp_path: Path) -> None:
    row = '{"id": "a-1", "root_cause": {"slug": "nccl-wrong-interface"}, "also": ["input-pipeline-bottleneck"]}\n'
    (tmp_path / "a.jsonl").write_text(row, "utf-8")
    [case] = load_cases(tmp_path / "a.jsonl")
    assert case["root_cause"]["slug"] == "ranks-meet-on-wrong-interface" and case["also"] == ["dataloader-bound"]


@pytest.mark.parametrize("field", ["title", "sound"])
def test_no_two_faults_have_the_same_words(field: str) -> None:
    """Two ids for one fault were titled alike: `The GPU waits for data`, `The GPU is waiting for data`."""
    from doctor.judge import load_all
    from doctor.text.cause_pages import load_causes

    told: dict[str, str] = {}
    for one in (*load_all(), *load_causes()):
        words = getattr(one.about, field).lower().replace("is waiting", "waits")
        assert told.setdefault(words, one.about.id) == one.about.id, words
