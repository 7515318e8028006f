"""`resolve -r`: the lines of real requirement files that are dead on a GPU or driver, and what is written instead."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from compat_matrix.framework_wishes import FRAMEWORKS
from compat_matrix.packages import goes_with
from compat_matrix.resolver import Question
from compat_matrix.wish import Wish, distribution_of
from doctor.cli import run
from doctor.resolve.dead import dead_lines
from doctor.resolve.files.lines import Pinned
from doctor.resolve.files.requirements import read_requirements

from ..cli.command import gpudoctor, one_line
from ..judging import matrix
from ..rows import Faults, for_each

LOCK = """\
version = 1
revision = 3
requires-python = ">=3.11"

[[package]]
name = "numpy"
version = "2.2.6"
source = { registry = "https://index.example/simple" }

[[package]]
name = "torch"
version = "2.8.0+cu128"
source = { registry = "https://download.pytorch.org/whl/cu128" }
resolution-markers = ["sys_platform == 'linux'"]

[[package]]
name = "torch"
version = "2.8.0"
source = { registry = "https://index.example/simple" }
resolution-markers = ["sys_platform == 'darwin'"]
"""
OLD, NEW = ("GTX 1080", "580"), ("RTX 5090", "580")
ROWS: list[tuple[str, str, tuple[str, str], list[int], str]] = [
    # name, file, (GPU, driver), numbers of dead lines, what has to be written among the rest
    ("sound", "numpy\ntorch==2.8.0\n", ("H100", "580"), [], ""),
    ("no line of ours", "numpy==2\n# torch==1.0\nrequests>=2\n", OLD, [], ""),
    ("dropped GPU", "numpy\ntorch==2.8.0 \\\n  --hash=sha256:00\ntorchvision==0.23.0\n", OLD, [2], "torch==2.8.0+cu126"),
    ("its companion too", "torch==2.8.0\ntorchvision==0.23.0\n", OLD, [1], "torchvision==0.23.0+cu126"),
    ("new GPU", "torch==2.5.1\n", NEW, [1], "torch==2.7.1+cu128"),
    ("by its tag", "torch==2.8.0+cu126\n", NEW, [1], "torch==2.8.0"),
    ("by its index", "--index-url https://download.pytorch.org/whl/cu126\ntorch==2.8.0\n", NEW, [2], "torch==2.8.0"),
    ("its index does", "--index-url https://download.pytorch.org/whl/cu126\ntorch==2.8.0\n", OLD, [], ""),
    ("driver", "torch==2.9.1+cu130\n", ("RTX 4090", "535"), [1], "torch==2.9.1"),
    ("no torch among them", "torchvision==0.20.1\n", NEW, [1], "torch==2.7.1+cu128"),
    ("CPU build beside a companion", "torchvision==0.23.0\ntorch==2.8.0+cpu\n", NEW, [2], "torch==2.8.0"),
    ("CPU build", "torch==2.8.0+cpu\n", NEW, [1], "torch==2.8.0"),
    ("another platform", "torch==2.5.1 ; sys_platform == 'win32'\n", NEW, [], ""),
    ("the one that pins torch", "bitsandbytes>=0.43\nvllm==0.8.4\n", NEW, [2], "vllm=="),
    ("one that pins it, after another", "xformers>=0.0.20\ntorchvision==0.20.1\n", NEW, [2], "torchvision==0.23.0"),
    ("in another order", "vllm==0.8.4\nbitsandbytes>=0.43\n", NEW, [1], "vllm=="),
    ("range takes the newest", "torch>=2.4\n", OLD, [1], "torch>=2.4,<="),
    ("a short pin is its first patch", "torch==2.7\ntorchvision==0.22.1\n", ("H100", "580"), [2], "torchvision==0.22.0"),
    ("companion of another", "torch==2.8.0\ntorchvision==0.22.0\n", ("H100", "580"), [2], "torchvision==0.23.0"),
    ("one of two, and one that is not listed", "torch==2.4.0\nflash-attn==2.6.3\n", NEW, [1], "torch==2.7.1+cu128"),
    ("each of two", "torch==2.4.0\nflash-attn==2.8.3\n", NEW, [1], "torch==2.7.1+cu128"),
    ("wheel by address", "https://download.pytorch.org/whl/cu128/torch-2.8.0%2Bcu128-cp311-cp311-manylinux_2_28_x86_64.whl\n",
     OLD, [1], "torch==2.8.0+cu126"),
]  # fmt: skip


def ask(words: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, Any], str]:
    code = run(["resolve", *words])
    text = capsys.readouterr().out
    assert run(["resolve", *words, "--format", "json"]) == code
    return code, json.loads(capsys.readouterr().out), text


def test_requirements(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "requirements.txt"
    with Faults() as faults:
        for name, text, (gpu, driver), dead, write in ROWS:
            with faults.of(name):
                file.write_text(text)
                words = ["-r", str(file), "--gpu", gpu, "--driver", driver, "--python", "3.11"]
                code, found, printed = ask(words, capsys)
                assert [one["number"] for one in found["dead"]] == dead, found
                assert code == (1 if dead else 0), printed
                written = [one["write"] for one in found["instead"]]
                assert any(one.startswith(write) for one in written) or not write, written
                assert all(one in printed for one in written) and ("No line is known to fail here" in printed) == (
                    not dead
                )
                if not dead:
                    continue
                # What is written instead is not dead.
                rest = [line for n, line in enumerate(text.splitlines(), 1) if n not in {*dead, *_numbers(found)}]
                rest = [line for line in rest if "torch" not in line and "hash" not in line]
                index = [f"--extra-index-url {url}" for url in found["index"].split()]
                file.write_text("\n".join([*index, *rest, *written]) + "\n")
                code, again, printed = ask(words, capsys)
                assert code == 0 and not again["dead"], again


def test_the_line_that_brings_torch_is_none_of_tensorflow(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "requirements.txt"
    file.write_text("tensorflow==2.21.0\nvllm==0.10.0\n")
    words = ["-r", str(file), "--gpu", "GTX 1080", "--driver", "470", "--python", "3.11"]
    _, found, _ = ask(words, capsys)
    assert [one["number"] for one in found["dead"] if "it installs torch" in one["reason"]] == [2]


def _numbers(found: dict[str, Any]) -> set[int]:
    return {one["number"] for one in found["instead"]}


def test_nothing_in_their_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "requirements.txt"
    file.write_text("torch==2.8.0\nnumpy\nvllm==0.11.0\n")
    code, found, printed = ask(["-r", str(file), "--gpu", "GTX 1080", "--driver", "580"], capsys)
    assert code == 3 and found["instead"] == [] and "No replacement fits" in printed
    assert [one["number"] for one in found["dead"]] == [1, 3] and "torch 2.8.0 from the default index" in found["dead"][
        1
    ]["reason"], found
    before = file.read_text()
    assert run(["resolve", "-r", str(file), "--gpu", "GTX 1080", "--driver", "580", "--format", "edited"]) == 3
    left = capsys.readouterr()
    assert left.out == before and left.err.splitlines() == [
        "line 1 cannot work here, and no replacement fits: torch==2.8.0",
        "line 3 cannot work here, and no replacement fits: vllm==0.11.0",
    ]


def test_what_is_not_judged_is_said_beside_the_edited_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "requirements.txt"
    file.write_text("torch==1.7.0\ngit+https://github.com/vllm-project/vllm.git#egg=vllm\n")
    assert run(["resolve", "-r", str(file), "--gpu", "V100", "--driver", "580", "--format", "edited"]) == 3
    assert "torch==1.7.0 is not listed in this matrix" in capsys.readouterr().err


@pytest.mark.slow
def test_what_is_written_needs_no_cuda_compat(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No line of a file can ask for it; where nothing else serves, no line changes and its name is the answer."""
    file = tmp_path / "requirements.txt"
    with Faults() as faults:
        for gpu, driver in (("A100", "470"), ("V100", "450"), ("T4", "525"), ("H100", "535")):
            for line in ("torch==2.8.0", "torch==2.11.0", "torch>=2.9", "torch==2.7.0\nvllm==0.9.0", "vllm==0.10.0"):
                with faults.of(f"{gpu} {driver} {line}"):
                    file.write_text(f"{line}\n")
                    words = ["-r", str(file), "--gpu", gpu, "--driver", driver, "--python", "3.11"]
                    code, found, printed = ask(words, capsys)
                    assert not (found["system"] and found["instead"]), found
                    assert ("Editing the file cannot fix this: install cuda-compat" in printed) == bool(found["system"])
                    assert code == (0 if not found["dead"] else 1 if found["instead"] else 3), found
                    assert run(["resolve", *words, "--format", "edited"]) in (0, 1, 3)
                    changed = capsys.readouterr().out
                    if found["instead"]:
                        file.write_text(changed)
                        assert ask(words, capsys)[1]["dead"] == [], changed


def test_extras_stay(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "requirements.txt"
    file.write_text("vllm[audio]==0.6.6\ntorch==2.5.1\n")
    _, found, _ = ask(["-r", str(file), "--gpu", "RTX 5090", "--driver", "580"], capsys)
    assert any(one["write"].startswith("vllm[audio]==") for one in found["instead"]), found


def test_uv_lock(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "uv.lock"
    file.write_text(LOCK)
    code, found, printed = ask(["-r", str(file), "--gpu", "GTX 1080", "--driver", "580"], capsys)
    assert code == 1 and [one["number"] for one in found["dead"]] == [
        LOCK.splitlines().index('version = "2.8.0+cu128"')
    ]
    assert found["instead"][0]["write"] == "torch==2.8.0+cu126" and "uv lock" in printed
    assert ask(["-r", str(file), "--gpu", "RTX 5090", "--driver", "580"], capsys)[0] == 0


def test_the_command_after_a_lock_names_the_same_machine(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "uv.lock"
    file.write_text(LOCK)
    machine = ["--gpu", "2xGTX 1080", "--driver", "580", "--python", "3.11"]
    code, _, printed = ask(["-r", str(file), *machine], capsys)
    assert code == 1 and re.search(r"--gpu '2x.*GTX 1080' --driver 580\S* --python 3\.11 --format pyproject", printed)


def test_markers_are_those_of_the_platform_asked_for() -> None:
    """Each variable of a marker that Windows and Linux answer differently, and Python's."""
    lines = (
        "torch==2.8.0 ; sys_platform == 'win32'\ntorch==2.7.1 ; platform_system == 'Windows'\n"
        "torch==2.6.0 ; os_name == 'nt'\ntorch==2.5.1 ; platform_machine == 'AMD64'\n"
        "torch==2.4.1 ; sys_platform == 'linux'\ntorch==2.3.1 ; platform_system == 'Linux'\n"
        "torch==2.2.2 ; os_name == 'posix'\ntorch==2.1.2 ; platform_machine == 'aarch64'\n"
        "torch==2.0.1 ; python_version == '3.12'\ntorch==1.13.1 ; python_version == '3.13'\n"
    )
    for question, wanted in (
        (Question(gpus=(), os="windows"), ["2.8.0", "2.7.1", "2.6.0", "2.5.1", "2.0.1"]),
        (Question(gpus=(), arch="aarch64", python="3.13t"), ["2.4.1", "2.3.1", "2.2.2", "2.1.2", "1.13.1"]),
        (Question(gpus=(), os="wsl"), ["2.4.1", "2.3.1", "2.2.2", "2.0.1"]),
    ):
        assert [one.wish.specifier for one in read_requirements(lines, "requirements.txt", question).lines] == wanted, (
            question
        )


def test_bad_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "bad.txt").write_text("torch==2.8.0\ntorch = 2.8\n")
    (tmp_path / "bytes.txt").write_bytes(b"\xff\xfe\x00t")
    (tmp_path / "bad.lock").write_text("version = [")
    (tmp_path / "other.lock").write_text("a = 1\n")
    (tmp_path / "odd.lock").write_text("version = 1\n[[package]]\nname = 3\n")
    (tmp_path / "marker.lock").write_text(
        'version = 1\n[[package]]\nname = "torch"\nversion = "2.8.0"\nresolution-markers = ["?"]\n'
    )
    (tmp_path / "good.txt").write_text("torch\n")
    rows = [[str(tmp_path / name)] for name in
            ("none.txt", ".", "bad.txt", "bytes.txt", "bad.lock", "other.lock", "odd.lock", "marker.lock")]  # fmt: skip
    rows += [[str(tmp_path / "good.txt"), *more] for more in (["--keep"], ["--format", "pyproject"], ["--explain-all"])]
    unknown = [str(tmp_path / "good.txt"), "--gpu", "no such GPU"]
    with Faults() as faults:
        for words in [*rows, unknown]:
            with faults.of(" ".join(words)):
                code = 3 if words == unknown else 2
                assert run(["resolve", "--gpu", "T4", "--driver", "580", "-r", *words]) == code
                printed = capsys.readouterr()
                assert printed.out == "" and len(printed.err.splitlines()) == 1, printed


def test_a_list_that_names_torch_very_often_is_refused(tmp_path: Path) -> None:
    """Each line is judged with all others."""
    table = '[[package]]\nname = "torch"\nversion = "2.5.1+cu121"\nsource = { registry = "https://index.example/simple" }\n\n'
    for name, text in (
        ("requirements.txt", "".join(f"torch=={n}.0\n" for n in range(20_000))),
        ("uv.lock", "version = 1\n" + table * 400),
    ):
        (tmp_path / name).write_text(text)
        line = one_line(gpudoctor("resolve", "-r", tmp_path / name, "--gpu", "H100", "--driver", "575"))
        assert "more than 300 times" in line


@for_each(
    ("text", "driver", "dead", "written"),
    [
        ("tensorflow==2.11.0\n", "535", [], ""),  # CUDA 11.2, and no torch beside it
        ("onnxruntime-gpu==1.20.2\n", "535", [], ""),
        ("tensorflow==2.21\n", "450.80.02", [1], "tensorflow==2.14.*"),
        ("jax[cuda12]==0.4.30\nnumpy\n", "450.80.02", [1], ""),
        ("jax==0.4.30\nnumpy\n", "450.80.02", [], ""),  # without a plugin it uses no GPU
    ],
)
def test_a_file_without_torch_gets_none(
    text: str, driver: str, dead: list[int], written: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "requirements.txt"
    file.write_text(text)
    code, data, _ = ask(["-r", str(file), "--gpu", "T4", "--driver", driver], capsys)
    assert [one["number"] for one in data["dead"]] == dead and code == (0 if not dead else 1 if written else 3)
    assert [one["write"] for one in data["instead"]] == ([written] if written else [])
    assert "torch" not in json.dumps(data["instead"]) + data["takes"]


@for_each(
    ("text", "written"),
    [
        ("onnxruntime-gpu==1.31.1", "onnxruntime-gpu==1.26.*"),
        ("onnxruntime-gpu[cuda,cudnn]>=1.31.1", "onnxruntime-gpu[cuda,cudnn]==1.26.*"),
        ("jax[cuda13]==0.12.0.1", "jax[cuda12]==0.12.0.1"),
        ("jax-cuda13-plugin[with-cuda]==0.12.0.1", "jax-cuda12-plugin[with-cuda]==0.12.0.1"),
        ("cupy-cuda13x==14.2.0", "cupy-cuda12x==14.2.0"),
        ("cupy-cuda12x==14.2.0", ""),
        ("jax==0.12.0.1", ""),  # with a plugin of either CUDA
    ],
)
def test_a_framework_is_judged_by_the_driver_without_a_line_of_torch(
    text: str, written: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "requirements.txt"
    file.write_text(f"numpy\n{text}\n")
    words = ["-r", str(file), "--gpu", "RTX 3060", "--driver", "535"]
    code, data, printed = ask(words, capsys)
    assert (code, [one["write"] for one in data["instead"]]) == ((1, [written]) if written else (0, [])), printed
    assert ("580.65.06" in printed) == bool(written)
    words[-1] = "580"
    assert ask(words, capsys)[0] == 0


@for_each("driver", ["450.248.02", "470.256.02", "535.309.01", "580.178.04"])
def test_each_framework_line_is_judged_as_the_matrix_answers(driver: str) -> None:
    """`matrix query driver for` and `resolve -r` look at the same row, and agree."""
    m = matrix()
    q = Question(gpus=("8.6",), driver=driver)
    rows = [row for row in m.frameworks if distribution_of(row.package)[0] in FRAMEWORKS]
    runs = {row: goes_with(m, row, "driver", driver) for row in rows}
    assert {True, False} == set(runs.values()) or driver.startswith("580")
    with Faults() as faults:
        for row in rows:
            release = (row.releases or (row.version,))[-1]
            with faults.of(f"{row.package} {release}"):
                name, distribution = distribution_of(row.package)
                wish = Wish(name, release, distribution)
                found = dead_lines(m, q, [Pinned(number=1, text="a", name=row.package, wish=wish)])
                is_known = m.toolkit(row.cuda) is not None  # TensorFlow 1.4 is built for CUDA 8.0
                assert bool(found.dead) == (is_known and not runs[row]) and not found.unknown, found


@for_each("name", ["setup.py", "Pipfile.json", "install.ipynb"])
def test_another_kind_of_file_is_named_in_one_line(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / name).write_text("torch==1.11.0\n")
    assert run(["resolve", "-r", str(tmp_path / name), "--gpu", "T4"]) == 2
    printed = capsys.readouterr()
    assert (
        "supported files are requirements.txt, pyproject.toml, environment.yml" in printed.err
        and printed.err.count("\n") == 1
    )


def test_a_file_without_torch_gets_a_line_of_its_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Line 0: there is none to write it in place of; what is written in place of a line has that line's number."""
    file = tmp_path / "requirements.txt"
    file.write_text("numpy\ntorchvision==0.20.1\n")
    _, found, _ = ask(["-r", str(file), "--gpu", NEW[0], "--driver", NEW[1], "--python", "3.11"], capsys)
    numbers = {one["write"].partition("==")[0]: one["number"] for one in found["instead"]}
    assert numbers.get("torch") == 0, found
    file.write_text("numpy\n\ntorch==2.8.0\ntorchvision==0.23.0\n")
    _, found, _ = ask(["-r", str(file), "--gpu", OLD[0], "--driver", OLD[1], "--python", "3.11"], capsys)
    assert {one["write"].partition("==")[0]: one["number"] for one in found["instead"]} == {
        "torch": 3,
        "torchvision": 4,
    }


def test_a_file_that_it_includes_is_not_read_and_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "requirements.txt"
    for line in ("-r base.txt", "--requirement=base.txt", "-c base.txt"):
        file.write_text(f"numpy\n{line}\n")
        code, found, printed = ask(["-r", str(file), "--gpu", "RTX 4090", "--driver", "535"], capsys)
        assert code == 3 and found["unknown"] == ["line 2: base.txt was not read; run resolve -r on it too"], printed
