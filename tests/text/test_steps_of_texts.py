"""Steps that a text is answered with: what ends others' work has its condition, nothing opens more than needed."""

from __future__ import annotations

import pytest

from doctor.fixes.ending import HOST, ends_of, is_read_only, with_condition
from doctor.text.fixes.written import table
from doctor.text.messages import catalogue

from ..rows import Faults
from ..scenarios.steps import CONDITION, ENDS, OTHERS, TOO_WIDE

INSPECTED_FIRST = ("see-what-holds-clocks",)
"""Rows that are put before a step that changes something."""


def test_rows_that_end_work_say_when_and_none_is_read_only() -> None:
    with Faults() as found:
        for name, row in table().items():
            with found.of(name):
                command, text = row.get("command", ""), row.get("text", "")
                assert bool(ends_of(command)) or not ENDS.search(command.partition("#")[0])
                if (row.get("ends") or ends_of(command)) in OTHERS:
                    assert CONDITION.search(text)
                assert not TOO_WIDE.search(command)
                assert name in INSPECTED_FIRST or not is_read_only(command)


def test_commands_of_messages_get_their_condition() -> None:
    with Faults() as found:
        for message in catalogue():
            command = message.command if isinstance(message.command, str) else ""
            with found.of(message.id):
                assert bool(ends_of(command)) or not ENDS.search(command)
                assert not TOO_WIDE.search(command)
                if ends_of(command) in OTHERS and message.fix:
                    assert CONDITION.search(with_condition(message.fix, command))


@pytest.mark.parametrize(
    ("command", "ends"),
    [
        ("sudo nvidia-smi -i 0 --gpu-reset", "all programs on this GPU"),
        ("sudo nvidia-smi --gpu-reset", "all programs on the GPUs of this host"),
        ("sudo modprobe -r nvidia_uvm && sudo modprobe nvidia_uvm", "all programs on the GPUs of this host"),
        ("sudo systemctl restart nvidia-fabricmanager", "all programs on the GPUs of this host"),
        ("a && sudo systemctl restart docker", "all containers on this host"),
        ("sudo systemctl isolate multi-user.target", HOST),
        ("sync && sudo ipmitool chassis power cycle", HOST),
        ("sudo nvidia-smi -i 0 -e 1 && sudo reboot", HOST),
        ("wsl --update\nwsl --shutdown", "everything that runs in WSL"),
        ("pct set 101 --dev0 /dev/nvidiactl && pct reboot 101", "everything in this container"),
        ("sudo lxc restart web", "everything in this container"),
        ("qm reboot 100", "everything in that virtual machine"),
        ("pct reboot 101 && sudo reboot", HOST),
        ("kill 123", "this process"),
        ("memory=48GB\n# then: wsl --shutdown", ""),
        ("pip install -r requirements.txt", ""),
        ("nvidia-smi -q -d PERFORMANCE", ""),
        ("conda install kill-tool", ""),
        ("sudo systemctl enable --now nvidia-persistenced || sudo nvidia-smi -pm 1", ""),
        ("sudo nvidia-smi -i 0 -pm 1; sudo nvidia-smi -i 0 -r", "all programs on this GPU"),
        ("nvidia-smi --query-gpu=index --format=csv | while read -r gpu; do sudo nvidia-smi -i $gpu -pl 300; done", ""),
    ],
)
def test_whose_work_a_command_ends(command: str, ends: str) -> None:
    assert ends_of(command) == ends


def test_what_is_read_only() -> None:
    assert all(
        is_read_only(line) for line in ("cat /etc/nv_tegra_release", "sudo fuser -v /dev/nvidia*", "nvidia-smi -L")
    )
    assert not any(is_read_only(x) for x in ("", "echo 1 | sudo tee /f", "nvidia-smi -pm 1", "#SBATCH --gres=gpu:1"))
