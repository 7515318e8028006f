"""Whatever is put in, something is read or nothing is, and never an exception."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.snapshot import Cap, Missing
from doctor.text import judgeable, read
from doctor.text.messages import catalogue
from tests.text.test_readers import BANNER, COLLECT_ENV, CSV, QUERY

from ..drawn import drawn
from ..rows import for_each

WORDS = ["driver", "torch", "2.5.1+cu121", "==", ":", "GPU 0", "NVIDIA", "RTX 5090", "570.86.10", "\n", "CUDA", "N/A", "|", "(", "[pip3]",
         "is unset", "=", ",", "sm_120", "None", "True", "\x00", "\x1b[31m", "٣", "９９９", "> ", "x 4294967296", "cuda_error_unknown"]  # fmt: skip


@for_each(
    "data",
    [
        b"",
        b"\x00" * 5000,
        bytes(range(256)) * 40,
        b"\xff\xfe\x00",
        b"\x7fELF" + b"\x00\x01" * 4000,
        b"\n" * 100_000,
        b"\xf0\x9f" * 999,
    ],
)
def test_what_is_no_text(data: bytes) -> None:
    assert not judgeable(read(data))


def test_utf_16_of_powershell() -> None:
    for data in (COLLECT_ENV.encode("utf-16"), COLLECT_ENV.encode("utf-16-le")):
        assert read(data).torch.version == "2.6.0+cu124"


def test_a_line_of_megabytes() -> None:
    s = read("Nvidia driver version: 570.86.10\n" + "driver 1 " * 500_000 + "\nPyTorch version: 2.6.0\n")
    assert (s.driver.version, s.torch.version) == ("570.86.10", "2.6.0")


def test_more_lines_than_a_log_has() -> None:
    s = read("driver: 570.86.10\n" + "\n" * 2_000_000 + "PyTorch version: 2.6.0\n")
    assert (s.driver.version, s.torch.version) == ("570.86.10", "2.6.0")
    assert s.witnesses["torch.version"] == ("line 2000002: PyTorch version: 2.6.0",)


@pytest.mark.slow
def test_thousands_of_gpus() -> None:
    s = read("\n".join(f"GPU {i}: NVIDIA H100 80GB HBM3" for i in range(7_000)))
    assert not isinstance(s.gpus, Missing) and len(s.gpus) == 4096  # a text that is read whole
    assert s.cap("text-gpus") == Cap(what="text-gpus", looked=4096)
    assert read("\n".join(f"GPU {i}: NVIDIA H100 80GB HBM3" for i in range(4096))).caps == ()


def test_more_gpus_than_are_read() -> None:
    s = read("\n".join(f"GPU {i}: NVIDIA H100 80GB HBM3" for i in range(20_000)))
    assert not isinstance(s.gpus, Missing) and 1000 < len(s.gpus) <= 4096
    assert s.cap("text-gpus") == Cap(what="text-gpus", looked=len(s.gpus))


def test_a_banner_that_lies_is_a_conflict() -> None:
    s = read(BANNER + BANNER.replace("550.127.05", "999.99.99"))
    assert isinstance(s.driver.version, Missing)
    assert isinstance(s.driver.nvml_driver_version, Missing) and s.driver.nvml_driver_version.reason == "conflict"


@drawn(150)
@given(st.lists(st.sampled_from(WORDS), max_size=60))
def test_words_in_any_order(words: list[str]) -> None:
    read("".join(words))
    read(" ".join(words))


@drawn(150)
@given(st.binary(max_size=400))
def test_any_bytes(data: bytes) -> None:
    read(data)


@pytest.mark.slow
def test_cut_and_damaged_texts() -> None:
    chance = random.Random(5)
    whole = (COLLECT_ENV + BANNER + QUERY + CSV).encode()
    extra = [m.find[0].encode() for m in catalogue()]
    for _ in range(200):
        data = bytearray(whole)
        for _ in range(chance.randrange(1, 30)):
            at = chance.randrange(len(data))
            data[at : at + chance.randrange(4)] = chance.choice([b"", b"\xff", b"\n", b"9" * 400, chance.choice(extra)])
        read(bytes(data[: chance.randrange(len(data))]))
