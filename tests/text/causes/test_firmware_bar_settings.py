"""firmware-bar-settings."""

from __future__ import annotations

from ...rows import for_each
from .texts import assert_not_told, commands, the_only_failure

ID = "firmware-bar-settings"


@for_each(
    "text",
    [
        "NVRM: This PCI I/O region assigned to your NVIDIA device is invalid:",
        "pci 0000:01:00.0: BAR 1: no space for [mem size 0x1000000000 64bit pref]",
    ],
)
def test_words_that_decide(text: str) -> None:
    """The switch stands in the firmware's setup: nothing is typed, and the restart waits for others' jobs."""
    (step,) = the_only_failure(text, ID).fixes[0].steps
    assert "Above 4G decoding" in step.text and not step.command
    assert step.ends == "all jobs on this host" and "Once the jobs on this host are no longer needed" in step.text


def test_of_a_virtual_machine_the_window_is_widened() -> None:
    found = the_only_failure("virtualization: kvm\npci 0000:06:00.0: can't assign mem pref", ID)
    assert "X-PciMmio64Mb" in commands(found)


@for_each(
    "text",
    [
        "pci 0000:01:00.0: BAR 1: assigned [mem 0x6000000000-0x6fffffffff 64bit pref]",
        "BAR1 Memory Usage\n    Total : 65536 MiB",
    ],
)
def test_words_that_only_look_like_it(text: str) -> None:
    assert_not_told(text, ID)
