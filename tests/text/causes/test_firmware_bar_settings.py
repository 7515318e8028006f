"""firmware-bar-settings."""

from __future__ import annotations

from ...rows import for_each
from .texts import assert_not_told, commands, the_only_failure

ID = "firmware-bar-settings"


@for_each(
    ("text", "command"),
    [
        ("NVRM: This PCI I/O region assigned to your NVIDIA device is invalid:", "dmesg"),
        ("pci 0000:01:00.0: BAR 1: no space for [mem size 0x1000000000 64bit pref]", "dmesg"),
        ("virtualization: kvm\npci 0000:06:00.0: can't assign mem pref", "X-PciMmio64Mb"),
    ],
)
def test_words_that_decide(text: str, command: str) -> None:
    assert command in commands(the_only_failure(text, ID))


@for_each(
    "text",
    [
        "pci 0000:01:00.0: BAR 1: assigned [mem 0x6000000000-0x6fffffffff 64bit pref]",
        "BAR1 Memory Usage\n    Total : 65536 MiB",
    ],
)
def test_words_that_only_look_like_it(text: str) -> None:
    assert_not_told(text, ID)
