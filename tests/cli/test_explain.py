"""`gpudoctor explain ARG`: pages, files, standard input, texts, and what is none of them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import NamedTuple

import jsonschema

from compat_matrix.rows_library import NvmlError

from ..judging import matrix
from ..rows import for_each
from . import command


class Done(NamedTuple):
    """Exit code, stdout and stderr as text."""

    code: int
    out: str
    err: str


def gpudoctor(*words: str, stdin: str = "") -> Done:
    done = command.gpudoctor(*words, data=stdin.encode())
    return Done(done.returncode, done.stdout.decode(), done.stderr.decode())


SICK = "RTX 5080, driver 576.40, torch 2.5.1+cu121 on WSL"


@for_each(
    "name",
    [
        "804",
        "CUDA error 804",
        "cudaErrorNoKernelImageForDevice",
        "no-kernel-image",
        "NVML error 18",
        "xid-79",
        "Xid 119",
        "cpu-only-torch",
    ],
)
def test_pages(name: str) -> None:
    done = gpudoctor("explain", name)
    assert done.code == 0 and len(done.out.splitlines()) > 3 and not done.err


def test_one_unknown_word_gets_suggestions() -> None:
    done = gpudoctor("explain", "torch-lacks-new-gpu")
    assert done.code == 2 and "torch-lacks-new-gpu-sm" in done.err and not done.out


def test_a_text_as_argument_a_file_and_standard_input_say_the_same(tmp_path: Path) -> None:
    path = tmp_path / "ticket.txt"
    path.write_text(SICK)
    for words, given in ((("explain", SICK), ""), (("explain", str(path)), ""), (("explain", "-"), SICK)):
        done = gpudoctor(*words, "--format", "json", stdin=given)
        assert done.code == 1, done.err
        assert json.loads(done.out)["findings"][0]["id"] == "torch-lacks-new-gpu-sm"


def test_typed_by_hand_pasted_and_read_from_a_report_find_the_same() -> None:
    block = (
        "PyTorch version: 2.5.1+cu121\nCUDA used to build PyTorch: 12.1\nOS: Ubuntu 22.04.4 LTS (x86_64)\n"
        "Python platform: Linux-6.6.87.2-microsoft-standard-WSL2-x86_64-with-glibc2.35\n"
        "GPU 0: NVIDIA GeForce RTX 5080\nNvidia driver version: 576.40\n"
    )
    reports = [gpudoctor("explain", "-", "--format", "json", stdin=text).out for text in (SICK, block)]
    reports.append(gpudoctor("explain", "-", "--format", "json", stdin=reports[1]).out)
    assert {json.loads(report)["findings"][0]["id"] for report in reports} == {"torch-lacks-new-gpu-sm"}


def test_an_open_cause_exits_3_with_what_would_decide() -> None:
    done = gpudoctor("explain", "-", "--format", "json", stdin="RuntimeError: Found no NVIDIA driver on your system.")
    report = json.loads(done.out)
    assert done.code == 3 and report["target"]["kind"] == "text" and "container-no-gpu-flag" in report["possible"]
    assert report["needs"] and all(need["command"] and need["why"] and need["decides"] for need in report["needs"])
    jsonschema.validate(report, json.loads(gpudoctor("schema").out))


@for_each(
    ("text", "words"),
    [
        ("", "The text is empty. Provide an error"),
        ("\n\n", "The text is empty. Provide an error"),
        ("at com.example.Main.run(Main.java:12)\nnothing of ours\n", "No known error in this text, but"),
    ],
)
def test_nothing_to_judge(text: str, words: str) -> None:
    done = gpudoctor("explain", "-", stdin=text)
    assert done.code == 3 and words in done.out
    assert "gpudoctor check" in done.out or "gpudoctor explain FILE" in done.out, "the next step"


def test_a_folder_and_a_text_that_is_too_large(tmp_path: Path) -> None:
    assert gpudoctor("explain", str(tmp_path)).code == 2
    big = tmp_path / "big.log"
    with big.open("wb") as stream:
        stream.truncate(50_000_001)
    done = gpudoctor("explain", str(big))
    assert done.code == 2 and "over 50 MB" in done.err and len(done.err.splitlines()) == 1


def test_the_line_of_the_text_is_told() -> None:
    done = gpudoctor(
        "explain",
        "-",
        stdin='hello\n\ndocker: Error response: could not select device driver "" with capabilities: [[gpu]].\n',
    )
    assert done.code == 1 and "Line 3:" in done.out and "nvidia-ctk runtime configure" in done.out


def test_the_page_on_power_and_cooling_names_what_the_cables_carry() -> None:
    done = gpudoctor("explain", "power")
    text = " ".join(done.out.split())
    assert done.code == 0
    for words in (
        "8-pin plug carries up to 150 W", "6-pin plug 75 W", "500 to 600 W", "a pigtail with two plugs",
        "70 to 75 C is very good, below 80 C is fine", "Between 84 and 90 C", "gpudoctor prove --soak 600",
        "600 W as the workstation edition", "300 W as the Max-Q", "400 to 600 W as the server edition",
    ):  # fmt: skip
        assert words in text, words
    named = re.findall(r"gpudoctor explain ([a-z-]+)", text)
    assert len(named) == 4 and all(gpudoctor("explain", name).code == 0 for name in named)


def test_a_row_that_only_marks_a_topic_is_never_offered() -> None:
    for word in ("powr", "topic", "readings", "topic-powe"):
        done = gpudoctor("explain", word)
        offered = done.err.partition("did you mean")[2]
        assert done.code == 2 and "topic-" not in offered and "readings-" not in offered


def test_q_marks_a_likely_cause_once() -> None:
    short = gpudoctor(
        "explain",
        "-",
        "-q",
        stdin="mmcv==1.1.5\nRuntimeError: CUDA error: no kernel image is available for execution\n",
    )
    assert short.code == 3 and short.out.count("Likely:") == 1


def test_cuda_s_own_words_name_neither_torch_nor_an_extension() -> None:
    image = "no kernel image is available for execution on the device"
    for bare in (
        f"RuntimeError: CUDA error: {image}\n",
        f"torch.AcceleratorError: CUDA error: {image}\n",
        f"RuntimeError: CUDA error: {image}\nCompile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.\n",
        f"numpy==1.26.4\nRuntimeError: CUDA error: {image}\n",
        "torch.AcceleratorError: CUDA error: invalid device function\n",
    ):
        done = gpudoctor("explain", "-", stdin=bare)
        assert done.code == 3 and "Likely" not in done.out, bare
        assert "torch-lacks-new-gpu-sm" in done.out and "torch-dropped-old-gpu-sm" in done.out
    for named in (
        f"mmcv==1.1.5\nRuntimeError: CUDA error: {image}\n",
        f"cudaCheckError() failed : {image}\n",
        f"error in ms_deformable_im2col_cuda: {image}\n",
    ):
        assert "extension-lacks-gpu-arch" in gpudoctor("explain", "-", stdin=named).out.split("Possible causes")[0], (
            named
        )


def test_a_floor_is_no_fault_of_a_gpu_that_reaches_it() -> None:
    """xformers tests < (7, 5) and says "> 7.5"; SGLang takes 7.5 too."""
    for line in (
        "    requires a GPU with compute capability > 7.5",
        "RuntimeError: SGLang only supports sm75 and above.",
    ):
        for gpu in ("NVIDIA A100-SXM4-80GB", "Tesla T4", "NVIDIA H100 PCIe", "NVIDIA GeForce RTX 4090"):
            done = gpudoctor("explain", "-", stdin=f"GPU 0: {gpu}\n{line}\n")
            assert done.code == 3 and "extension-lacks-gpu-arch" not in done.out, (line, gpu)
        for gpu in ("Tesla V100-SXM2-16GB", "NVIDIA GeForce GTX 1080", "Tesla P100-PCIE-16GB"):
            done = gpudoctor("explain", "-", stdin=f"GPU 0: {gpu}\n{line}\n")
            assert done.code == 1 and "extension-lacks-gpu-arch" in done.out, (line, gpu)


def test_no_page_of_an_error_has_an_empty_line_to_fill() -> None:
    m = matrix()
    for row in (*m.cuda_errors, *(row for row in m.nvml_errors if row.code)):
        name = row.name if isinstance(row, NvmlError) else row.driver_name or row.runtime_name
        page = gpudoctor("explain", name)
        assert page.code == 0 and row.message in page.out, name
        assert not re.search(r"(?m)^(?:  - ?|What to do first: ?)$", page.out), page.out
        assert ("Usual causes:" in page.out) == bool(row.causes), page.out
