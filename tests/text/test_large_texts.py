"""Texts at the limits: what is read of them, what the report says of the rest, and that no kind of text is fatal."""

from __future__ import annotations

import json
import sys
from importlib import import_module
from pathlib import Path
from random import Random

import pytest

from doctor.text import excerpt, read

from ..cli.command import gpudoctor

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

SOUND = """\
PyTorch version: 2.6.0+cu124
Is debug build: False
CUDA used to build PyTorch: 12.4
Is CUDA available: True
Python version: 3.11.9
GPU models and configuration: GPU 0: NVIDIA A100-SXM4-80GB
Nvidia driver version: 570.86.10
"""
SICK = (
    "RuntimeError: The NVIDIA driver on your system is too old (found version 11040). Please update your GPU driver.\n"
)
WORST = ("random bytes", "random printable lines", "base64 by lines", "JSON on one line", "rows of all kinds", "KEY=VALUE",
         "users and hosts", "URLs", "half text, half bytes", "@", "a@ by lines", "line ends")  # fmt: skip


def steps(count: int) -> str:
    return "".join(f"step {n} loss {n / 7:.3f} tokens/s {n % 977}\n" for n in range(count))


def odd_lines(count: int) -> str:
    draw = Random(5)
    return "".join(
        f"error in {draw.getrandbits(64):x} of {chr(97 + n % 26) * 9}\n".replace("0", "g") for n in range(count)
    )


def judged(path: Path, text: str) -> tuple[int, dict[str, object]]:
    path.write_text(text)
    done = gpudoctor("explain", str(path), "--format", "json")
    assert not done.stderr, done.stderr
    return done.returncode, json.loads(done.stdout)


@pytest.mark.slow
def test_no_kind_of_text_is_fatal(tmp_path: Path) -> None:
    made = import_module("text_kinds").made
    bad = []
    for kind in WORST:
        path = tmp_path / "text"
        path.write_bytes(made(kind, 7, 900_000))
        done = gpudoctor("explain", str(path))
        if done.returncode not in (1, 3) or done.stderr or not done.stdout.strip():
            bad.append((kind, done.returncode, done.stderr[-300:]))
    assert not bad


@pytest.mark.slow
def test_bytes_that_are_no_text_are_called_so() -> None:
    for data in (
        Random(1).randbytes(100_000),
        b"\x7fELF\2\1\1" + bytes(5000),
    ):
        done = gpudoctor("explain", "-", data=data)
        assert done.returncode == 3 and not done.stderr
        assert done.stdout.decode() == (
            "This is not text but binary data. Provide an error, a log or a command's output: gpudoctor explain FILE\n"
        )
        report = json.loads(gpudoctor("explain", "-", "--format", "json", data=data).stdout)
        assert report["exit_code"] == 3 and not report["possible"] and not report["snapshot"].get("symptoms")


def test_a_damaged_gzip_file_is_called_so() -> None:
    done = gpudoctor("explain", "-", data=b"\x1f\x8b\x08" + Random(2).randbytes(3000))
    assert (done.returncode, done.stdout, done.stderr) == (2, b"", b"gpudoctor: - is a damaged gzip file\n")


def test_texts_in_other_encodings_are_texts() -> None:
    for data in (SOUND.encode("utf-16"), SOUND.encode("utf-16-le"), SOUND.encode() + "Grüße, привет\n".encode("koi8-r", "ignore"),
                 ("\x1b[31m" + SOUND + "\x1b[0m\x08\x0c").encode(), bytes(70_000) + SOUND.encode()):  # fmt: skip
        assert read(data).torch.version == "2.6.0+cu124", data[:40]


@pytest.mark.slow
def test_one_line_that_matters_is_found_among_a_hundred_thousand(tmp_path: Path) -> None:
    for before in (30_000, 50_000, 99_000):
        code, report = judged(tmp_path / "log", SOUND + steps(before) + SICK + steps(100_000 - before))
        first = report["findings"][0]  # type: ignore[index]
        assert code == 1 and first["id"] == "driver-too-old-for-cuda-build", first
        assert f"line {before + 8}: " in json.dumps(report) or f"Line {before + 8}: " in json.dumps(report)


@pytest.mark.slow
def test_repetitions_that_are_not_read_are_told_and_change_nothing(tmp_path: Path) -> None:
    code, report = judged(tmp_path / "log", SOUND + steps(100_000))
    words = json.dumps(report["remarks"])
    assert code == 3 and "No environment problem" in gpudoctor("explain", str(tmp_path / "log")).stdout.decode()
    assert " of its 100,008 lines were read: " in words and "differ only in numbers from a line that was read" in words


@pytest.mark.slow
def test_what_could_matter_and_was_not_read_is_never_sound(tmp_path: Path) -> None:
    code, report = judged(tmp_path / "log", SOUND + odd_lines(60_000))
    assert code == 3 and report["verdict"] == "unknown"
    told = next(f for f in report["findings"] if f["title"] == "Not all of this text was read")  # type: ignore[attr-defined]
    assert (
        "to read them all (" in told["detail"]
        and " not read, lines " in told["detail"]
        and told["facts"]["not_read"] > 30_000
    )
    shown = gpudoctor("explain", str(tmp_path / "log")).stdout.decode()
    assert "Not all of this text was read" in shown and "No environment problem" not in shown
    (tmp_path / "saved").write_text(json.dumps(report))
    again = gpudoctor("check", "--from", str(tmp_path / "saved"))
    assert again.returncode == 3 and b"Not all of this text was read" in again.stdout, "a saved report knows it too"


@pytest.mark.slow
def test_gpus_of_a_text_that_is_read_in_part_are_not_counted(tmp_path: Path) -> None:
    rows = "".join(
        f"GPU {n}: NVIDIA H100 80GB HBM3 (UUID: GPU-{n:08x}-5d2a-4f7e-9b1c-0a1b2c3d4e5f)\n" for n in range(20_000)
    )
    code, report = judged(tmp_path / "log", rows)
    count = len(report["snapshot"]["gpus"])  # type: ignore[index]
    assert code == 3 and 1000 < count < 5000
    assert report["snapshot"]["caps"] == [{"what": "text-gpus", "looked": count}]  # type: ignore[index]
    said = f"at least {count}x NVIDIA H100 80GB HBM3"
    assert said in gpudoctor("explain", str(tmp_path / "log")).stdout.decode().splitlines()
    assert f"| GPUs | {said} |" in gpudoctor("explain", str(tmp_path / "log"), "--format", "markdown").stdout.decode()
    expected = gpudoctor("explain", str(tmp_path / "log"), "--expect", "8xH100").stdout.decode()
    assert "Unknown whether this machine has 8xH100" in expected


@pytest.mark.slow
def test_a_long_log_of_a_machine_whose_gpus_are_all_named_is_counted(tmp_path: Path) -> None:
    eight = SOUND + "".join(f"GPU {n}: NVIDIA A100-SXM4-80GB\n" for n in range(1, 8))
    for text, words in (
        (eight + steps(100_000), "8x NVIDIA A100"),
        (steps(9000) + "".join(f"GPU {n % 900}: NVIDIA A100-SXM4-80GB\n" for n in range(9000)), "at least "),
    ):
        (tmp_path / "log").write_text(text)
        shown = gpudoctor("explain", str(tmp_path / "log")).stdout.decode()
        assert any(line.startswith(words) for line in shown.splitlines()[:4]), shown


def test_every_new_xid_is_read() -> None:
    rows = [
        f"[{n}.000001] NVRM: Xid (PCI:0000:{n % 8:02x}:00): {(13, 31)[n % 2]}, pid={n}, name=python"
        for n in range(60_000)
    ]
    rows[41_000] = "[41000.000001] NVRM: Xid (PCI:0000:03:00): 79, pid=7, GPU has fallen off the bus."
    assert "(PCI:0000:03:00): 79," in excerpt("\n".join(rows)).text


@pytest.mark.slow
def test_a_long_line_is_read_where_it_matters_and_without_its_secrets(tmp_path: Path) -> None:
    token = "hunter2Qx" + "z9Rt" * 4
    filler = " ".join(f"item{n}" for n in range(3000))
    line = f'{filler} password="{token}" {filler} db_password: {token} {"x" * 100} {SICK.strip()} {filler}\n'
    for text in (line, line * 40):
        code, report = judged(tmp_path / "log", "PyTorch version: 2.6.0+cu124\n" + text)
        assert code == 1 and token not in json.dumps(report) and token[5:] not in json.dumps(report)


def test_the_tail_of_a_large_text_keeps_its_line_numbers(tmp_path: Path) -> None:
    s = read(steps(200_000) + "PyTorch version: 2.6.0+cu124\n")
    assert s.witnesses["torch.version"] == ("line 200001: PyTorch version: 2.6.0+cu124",)
