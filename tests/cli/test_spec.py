"""A spec on the command line: print it, judge by it, and be told in one line what is wrong in the file."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
import tomllib
from msgspec.structs import replace

from doctor.commands.config import with_spec
from doctor.findings import Policy
from doctor.guard import Refusal
from doctor.snapshot import Missing

from ..healthy import healthy
from ..images.layouts import Layout, config
from ..report.parsers import PARSERS
from ..rows import Faults, for_each
from .command import gpudoctor, one_line, save


@pytest.fixture
def team(tmp_path: Path) -> Path:
    """The spec of a sound machine, as `print spec` writes it."""
    report = save(tmp_path, healthy(), name="sound.json")
    path = tmp_path / "team.toml"
    done = gpudoctor("print", "spec", "--from", report, "-o", path)
    assert (done.returncode, done.stderr) == (0, b""), done
    return path


def findings(*arguments: str | Path) -> tuple[int, list[dict[str, Any]]]:
    done = gpudoctor(*arguments, "--format", "json")
    return done.returncode, json.loads(done.stdout)["findings"]


def test_what_is_printed_passes_there_and_fails_elsewhere(team: Path) -> None:
    sound = team.with_name("sound.json")
    assert findings("check", "--from", sound, "--spec", team) == (0, [])
    other = save(team.parent, healthy(driver="570.86.15", cuda="12.8"), name="other.json")
    code, found = findings("check", "--from", other, "--spec", team)
    assert code == 1 and [one["id"] for one in found] == ["spec-not-met"]
    assert found[0]["detail"] == "driver: 570.86.15 (the spec requires ==580.*)"
    done = gpudoctor("healthcheck", "--from", other, "--spec", team)
    assert done.returncode == 1 and done.stdout.startswith(b"FAIL spec-not-met: driver does not meet the spec")
    assert gpudoctor("healthcheck", "--from", sound, "--spec", team).stdout.startswith(b"OK ")
    steps = gpudoctor("fix", "--from", other, "--spec", team)
    assert steps.returncode == 1 and b"Install NVIDIA driver branch 580" in steps.stdout
    said = gpudoctor("what-if", "--from", other, "--spec", team, "--driver", "580").stdout.decode()
    assert "Gone: driver does not meet the spec" in said, said


def test_it_is_toml_with_a_comment_for_each_line(team: Path) -> None:
    text = team.read_text()
    table = tomllib.loads(text)
    assert (table["torch"], table["driver"], table["os"]) == ("==2.8.*", "==580.*", "ubuntu 22.04")
    assert table["gpu"] == "1xH100 80GB HBM3" and table["packages"]["numpy"] == "==2.2.*"
    rows = [row for row in text.splitlines() if " = " in row and not row.startswith("#")]
    assert rows and all("  # " in row and len(row) <= 120 for row in rows), rows


@pytest.mark.slow
def test_the_formats_of_a_report_with_deviations_are_whole(team: Path) -> None:
    other = save(team.parent, healthy("l4", driver="570.86.15", cuda="12.8"), name="other.json")
    with Faults() as faults:
        for name in ("json", "markdown", "html", "sarif", "junit", "github"):
            with faults.of(name):
                done = gpudoctor("check", "--from", other, "--spec", team, "--format", name)
                assert done.returncode == 1
                PARSERS[name](done.stdout.decode())
                for what in ("570.86.15", "NVIDIA L4"):
                    assert what in done.stdout.decode()


def test_a_spec_is_part_of_the_report_and_the_flag_replaces_it(team: Path) -> None:
    other = save(team.parent, healthy(driver="570.86.15", cuda="12.8"), name="other.json")
    judged = team.parent / "judged.json"
    gpudoctor("check", "--from", other, "--spec", team, "--format", "json", "-o", judged)
    assert [one["id"] for one in findings("check", "--from", judged)[1]] == ["spec-not-met"]
    mild = team.parent / "mild.toml"
    mild.write_text('driver = ">=570"\n')
    assert findings("check", "--from", judged, "--spec", mild) == (0, [])


def test_a_report_that_its_own_configuration_judged_has_each_line_once(team: Path) -> None:
    """The file's path is masked in the report, and is not when it is read again."""
    other = save(team.parent, healthy(driver="570.86.15", cuda="12.8"), name="other.json")
    judged = team.parent / "judged.json"
    home = {"HOME": str(team.parent), "USER": "somebody"}
    gpudoctor("check", "--from", other, "--config", team, "--format", "json", "-o", judged, env=home)
    (finding,) = findings("check", "--from", judged, "--config", team)[1]
    assert finding["detail"] == "driver: 570.86.15 (the spec requires ==580.*)"


def test_a_found_file_adds_a_spec_and_takes_nothing_away(tmp_path: Path) -> None:
    """It is not trusted: its lines count, and `fix --apply` installs nothing that it alone names."""
    home, repository = tmp_path / "home", tmp_path / "repo"
    (repository / ".git").mkdir(parents=True)
    home.mkdir()
    (repository / "gpudoctor.toml").write_text('python = "<3"\nskip = ["spec-not-met"]\n[packages]\nevil = ">=1"\n')
    env = {
        "HOME": str(home),
        "XDG_CONFIG_HOME": "",
        "XDG_STATE_HOME": "",
        "VIRTUAL_ENV": sys.prefix,
    }
    done = gpudoctor("check", "--no-import", "--expect", "any", "--format", "json", cwd=repository, env=env)
    report = json.loads(done.stdout)
    found = {one["id"]: one for one in report["findings"]}["spec-not-met"]
    assert done.returncode == 1 and "evil: not installed" in found["detail"] and "python: 3" in found["detail"]
    assert report["not_silenced"] == ["spec-not-met"]
    done = gpudoctor("fix", "--no-import", "--expect", "any", "--apply", "--yes", cwd=repository, env=env)
    assert b"The spec was not applied: it is in gpudoctor.toml, and that file is not trusted." in done.stderr
    assert b"pip install" not in done.stdout


WRONG: list[tuple[str, str]] = [
    ("torch = 2.9", 'torch must be a string, such as torch = ">=2.8,<2.10"'),
    ('torch = "2.9"', "to allow every 2.9 release, write ==2.9.*"),
    ('torch = "2.9.*"', "to allow every 2.9 release, write ==2.9.*"),
    ('torch = "=2.9"', "to allow every 2.9 release, write ==2.9.*"),
    ('torch = "*"', "; >=0 allows every version"),
    ('[packages]\nnumpy = "*"', "; >=0 allows every version"),
    ('driver = "==580"', "driver versions have more parts; to allow every 580 release, write ==580.*"),
    ('driver = ">=580,<=580"', "to allow every 580 release, write ==580.*"),
    (
        'cuda = "==12.8"',
        "allows only 12.8.0: to allow every 12.8 release, write ==12.8.*; to allow only 12.8.0, write ==12.8.0",
    ),
    ('cudnn = "==9.10"', "to allow every 9.10 release, write ==9.10.*"),
    ('nccl = "==2.27"', "to allow every 2.27 release, write ==2.27.*"),
    ('python = "==3.11"', "to allow every 3.11 release, write ==3.11.*"),
    ('python = "==3"', "to allow only 3.0.0, write ==3.0.0"),
    ('torch = "==2.9+cu128"', "to allow every 2.9 release, write ==2.9.*"),
    ('os = "ubuntu ==24"', "to allow every 24 release, write ubuntu 24"),
    ('torch = ">=2.8 and <3"', "is not a range of versions"),
    ('torch = ">3,<2"', "no version can satisfy this range"),
    ('driver = ""', 'driver is empty; ">=0" allows every version'),
    ("driver = [570]", "driver must be a string"),
    ('cuda = "===12.8"', "is not a range of versions"),
    ('python = ">=' + "1" * 300 + '"', "more than 200 characters"),
    ('gpu = "any"', "names no GPU"),
    ('gpu = "0xH100"', "names no GPU: write a count, a model or both, such as 8xH100"),
    ('gpu = "0"', "'0' names no GPU"),
    ("gpu = 0", "'0' names no GPU"),
    ('os = "ubuntu22.04"', "'ubuntu22.04' is not the name of an operating system: write ubuntu 22.04"),
    ('os = "Rocky-9.4"', "write rocky 9.4"),
    ('os = "debian12"', "write debian 12"),
    ("gpu = true", "gpu must be a string"),
    ('os = ">=22.04"', "is not an operating system"),
    ('os = "ubuntu newest"', "is not an operating system"),
    ("packages = 3", "packages must be a table"),
    ("[packages]\nnumpy = 2", 'packages.numpy must be a string, such as numpy = ">=1.26,<2"'),
    ('[packages]\nnumpy = "^2"', "packages.numpy: '^2' is not a range"),
    ('[packages]\n"../../etc" = ">=1"', "is not a valid package name"),
    ("[packages]\n" + "\n".join(f'p{n} = ">=1"' for n in range(1001)), "more than 1000 lines"),
    ('tourch = ">=2"', "did you mean torch"),
    ('expect = "any"', "states no versions"),
    ("", "states no versions"),
    ("torch = ", "is not valid TOML"),
    ("\0\xff", "is not UTF-8 text"),
    ('torch = ">=2.8"  # caf\xe9', "is not UTF-8 text"),
    ("\0", "is not valid TOML"),
]


@for_each(("text", "words"), WRONG, ids=lambda value: value[:30])
def test_a_mistake_in_a_spec_is_one_line(tmp_path_factory: pytest.TempPathFactory, text: str, words: str) -> None:
    folder = tmp_path_factory.mktemp("wrong")
    path = folder / "team.toml"
    path.write_text(text, "latin-1")
    report = save(folder, healthy())
    others = (
        (("image", "./nothing"), ("dockerfile", "Dockerfile"), ("fleet", "report", "fleet.db"))
        if text == WRONG[0][0]
        else ()
    )
    for command in (("check", "--from", report), *others):
        line = one_line(gpudoctor(*command, "--spec", path))
        assert words in line and "team.toml" in line, line
        assert len(line) < 600


def test_a_misspelled_gpu_is_a_usage_error(tmp_path: Path) -> None:
    path = tmp_path / "team.toml"
    path.write_text('gpu = "8xH1OO"\n')
    line = one_line(gpudoctor("check", "--from", save(tmp_path, healthy()), "--spec", path))
    assert "no GPU named H1OO" in line and "8xH100" in line


def test_a_report_with_a_hostile_spec_is_one_line(tmp_path: Path) -> None:
    """A node's report brings its policy: what is no spec is no report."""
    path = save(tmp_path, healthy())
    plain = json.loads(path.read_text())
    with Faults() as faults:
        for line in (
            {"key": "torch", "allowed": "no range"},
            {"key": "torch", "allowed": ">=" + "9" * 100_000},
            {"key": "package", "allowed": ">=1", "package": "a; rm -rf /"},
            {"key": "matrix", "allowed": ">=1"},
            {"key": "torch", "allowed": ["a"]},
        ):
            with faults.of(str(line)[:60]):
                plain["policy"]["spec"] = [line]
                path.write_text(json.dumps(plain))
                assert "is not a gpudoctor report" in one_line(gpudoctor("check", "--from", path))
        plain["policy"]["spec"] = [{"key": "torch", "allowed": ">=2"}] * 1001
        path.write_text(json.dumps(plain))
        assert "is not a gpudoctor report" in one_line(gpudoctor("check", "--from", path))


def test_print_spec_tells_where_the_machine_is_not_sound(tmp_path: Path) -> None:
    sick = save(tmp_path, healthy().replace({"driver.cu_init": 802}))
    done = gpudoctor("print", "spec", "--from", sick)
    assert done.returncode == 0 and tomllib.loads(done.stdout.decode())
    assert b"a spec is best written on a healthy machine, but this one fails" in done.stderr
    assert "--from cannot be used with systemd" in one_line(gpudoctor("print", "systemd", "--from", sick))
    assert "--image cannot be used with spec" in one_line(gpudoctor("print", "spec", "--image", "a"))


def test_print_spec_leaves_out_what_is_not_known(tmp_path: Path) -> None:
    s = healthy().replace({"torch.version": Missing("error", "damaged"), "gpus": Missing("timeout")})
    text = gpudoctor("print", "spec", "--from", save(tmp_path, s)).stdout.decode()
    table = tomllib.loads(text)
    assert "torch" not in table and "gpu" not in table and "# missing or unknown: torch, gpu" in text


def test_print_spec_of_names_that_would_break_the_file(tmp_path: Path) -> None:
    """A report from elsewhere: what stands in a comment stays there."""
    hostile = 'Ubuntu"\n[thresholds]\nskip = ["x"]\n'
    s = healthy().replace({"host.os_name": hostile, "host.os_id": 'a"\nb', "host.os_version": '1"\n'})
    s = s.replace({"target": replace(s.target, gathered_at="\nonly=[1]")})
    text = gpudoctor("print", "spec", "--from", save(tmp_path, s)).stdout.decode()
    assert set(tomllib.loads(text)) <= {"torch", "driver", "cuda", "cudnn", "nccl", "python", "gpu", "packages"}


DOCKERFILE = """\
FROM nvidia/cuda:12.6.3-devel-ubuntu22.04
RUN apt-get update && apt-get install -y python3 python3-pip
RUN pip install torch==2.7.1 \\
    torchvision==0.22.1 numpy==1.26.4
RUN pip install triton
"""


def test_a_dockerfile_is_judged_by_what_it_pins(team: Path) -> None:
    path = team.parent / "Dockerfile"
    path.write_text(DOCKERFILE)
    done = gpudoctor("dockerfile", path, "--spec", team, "--format", "json")
    rows = [one for one in json.loads(done.stdout)["findings"] if one["rule"] == "spec-not-met"]
    off = {one["title"].partition(" does not")[0]: one["line"] for one in rows if one["level"] == "fail"}
    assert off == {"torch": 3, "cuda": 3, "cudnn": 3, "nccl": 3, "python": 1, "numpy": 4, "torchvision": 4}
    (unknown,) = (one for one in rows if one["level"] == "unknown")
    assert unknown["title"] == "Unknown whether the image meets the spec: torchaudio, triton"
    assert unknown["detail"].startswith("The Dockerfile pins no version of torchaudio, triton (NAME==VERSION).")
    fixes = {one["title"].partition(" does not")[0]: one["fix"] for one in rows if one["level"] == "fail"}
    assert fixes["torch"] == (
        "Install torch 2.8.0 for CUDA 12.8: RUN python3 -m pip install torch==2.8.0+cu128 torchvision==0.23.0+cu128 "
        f"torchaudio==2.8.0+cu128 --index-url https://download.pytorch.org/whl/cu128 (or change the spec, {team})"
    )
    assert fixes["numpy"].startswith("Install numpy ==2.2.*: RUN python3 -m pip install 'numpy==2.2.*' (or ")
    (host,) = (one["title"] for one in rows if one["level"] == "info")
    assert host == "Not judged in a Dockerfile: driver, gpu"
    assert done.returncode == 1
    path.write_text("FROM ubuntu:22.04\nRUN pip install numpy==2.2.6\n")
    (team.parent / "few.toml").write_text('os = "ubuntu 22.04"\n[packages]\nnumpy = "==2.2.*"\n')
    assert gpudoctor("dockerfile", path, "--spec", team.parent / "few.toml").returncode == 0
    path.write_text("FROM ubuntu:22.04\nRUN pip install numpy==2.2.6\nRUN pip install -U numpy\n")
    assert gpudoctor("dockerfile", path, "--spec", team.parent / "few.toml").returncode == 3


_TORCH = "FROM python:3.11\nRUN pip install torch==2.8.0 --index-url https://download.pytorch.org/whl/cu128\n"
JUDGED = [
    (_TORCH, 'cudnn = "==9.10.2"', 0, ""),
    (_TORCH, 'cudnn = "==9.10.2.21"', 0, ""),
    (_TORCH, 'cudnn = "==9.10.3"', 1, ""),
    (_TORCH, 'nccl = "==2.27.3"', 0, ""),
    (_TORCH, 'cuda = ">=12.8"', 0, ""),
    (_TORCH, 'cuda = "<12.9"', 0, ""),
    (_TORCH, 'cuda = ">=13"', 1, ""),
    (_TORCH, 'cuda = "==12.8.1"', 3, "cuda is known only as 12.8 (the spec requires ==12.8.1)."),
    (_TORCH, 'python = "==3.11.9"', 3, "python is known only as 3.11 (the spec requires ==3.11.9)."),
    (_TORCH, 'python = ">=3.10"', 0, ""),
    ("FROM debian\n", 'cudnn = ">=9"', 3, "The Dockerfile does not show cudnn. The built image may show more: "),
    ("FROM debian\n", 'os = "debian 12"', 3, "The Dockerfile does not show os. "),
    ("FROM debian\n", 'torch = ">=2"', 3, "The Dockerfile pins no version of torch (NAME==VERSION). The built "),
]  # fmt: skip

_CUDA, _TF = "FROM nvidia/cuda:12.8.1-devel-ubuntu22.04\n", "FROM nvcr.io/nvidia/tensorflow:25.01-tf2-py3\n"
JUDGED += [
    (_CUDA, 'cuda = "==12.8.1"', 0, ""),
    (_CUDA + "RUN apt-get update && apt-get install -y python3-pip\n", 'cuda = ">=12.8,<12.9"', 0, ""),
    (_CUDA, 'cuda = "==12.8.0"', 1, "cuda does not meet the spec: 12.8.1 instead of ==12.8.0"),
    (
        _CUDA,
        'cuda = "==12.9.*"',
        1,
        "cuda does not meet the spec: 12.8.1 instead of ==12.9.*; Start from a base image with CUDA ==12.9.* (or ",
    ),
    (_CUDA + "RUN pip install vllm\n", 'cuda = "==12.8.*"', 3, "The Dockerfile does not show cuda."),
    (_CUDA + "RUN uv pip install -r requirements.txt\n", 'cuda = "==12.8.*"', 3, "The Dockerfile does not show cuda."),
    (_TF, 'cuda = "==12.9.*"', 1, "cuda does not meet the spec: 12.8 instead of ==12.9.*"),
    (_TF, 'cuda = "==12.8.1"', 3, "cuda is known only as 12.8"),
    ("FROM pytorch/pytorch:2.8.0-cuda12.8-cudnn9-devel\n", 'cuda = "==12.8.*"', 0, ""),
    ("FROM ubuntu:22.04\n", 'cuda = "==12.8.*"', 3, "The Dockerfile does not show cuda."),
]


@for_each(("dockerfile", "lines", "code", "words"), JUDGED)
def test_what_is_known_in_part_is_judged_as_on_a_machine(
    tmp_path: Path, dockerfile: str, lines: str, code: int, words: str
) -> None:
    path, spec = tmp_path / "Dockerfile", tmp_path / "team.toml"
    path.write_text(dockerfile)
    spec.write_text(f"{lines}\n")
    done = gpudoctor("dockerfile", path, "--spec", spec, "--format", "json")
    rows = [one for one in json.loads(done.stdout)["findings"] if one["rule"] == "spec-not-met"]
    assert done.returncode == code, rows
    assert [one["level"] for one in rows] == {0: [], 1: ["fail"], 3: ["unknown"]}[code], rows
    assert not words or (rows[0]["detail"] or f"{rows[0]['title']}; {rows[0]['fix']}").startswith(words), rows


def test_every_spec_that_is_given_counts(tmp_path: Path) -> None:
    """Not only the last; a report that was judged by two names both, and so does the next command."""
    report = save(tmp_path, healthy())
    first, second = tmp_path / "a.toml", tmp_path / "b.toml"
    first.write_text('torch = ">=2.9"\n')
    second.write_text('[packages]\nnumpy = ">=2"\n')
    for order in ((first, second), (second, first)):
        code, found = findings("check", "--from", report, "--spec", order[0], "--spec", order[1])
        assert code == 1 and found[0]["detail"] == "torch: 2.8.0+cu128 (the spec requires >=2.9)"
    path = tmp_path / "Dockerfile"
    path.write_text("FROM python:3.11\nRUN pip install torch==2.8.0 numpy==1.26.4\n")
    done = gpudoctor("dockerfile", path, "--spec", first, "--spec", second, "--format", "json")
    titles = [one["title"] for one in json.loads(done.stdout)["findings"] if one["level"] == "fail"]
    assert [title.partition(" does")[0] for title in titles if "spec" in title] == ["torch", "numpy"]
    line = one_line(gpudoctor("check", "--from", report, "--spec", first, "--spec", tmp_path / "none.toml"))
    assert "none.toml" in line
    second.write_text("[packages]\n" + "\n".join(f'p{n} = ">=1"' for n in range(1000)))
    assert "more than 1000 lines" in one_line(gpudoctor("check", "--from", report, "--spec", first, "--spec", second))


CONTRADICT = [
    ('torch = ">=2.8"', 'torch = "<2.6"', True),
    ('torch = "==2.8.*"', 'torch = "!=2.8.*"', True),
    ('driver = "==570.*"', 'driver = "==580.*"', True),
    ('cuda = "~=12.8.0"', 'cuda = ">=12.9"', True),
    ('python = ">=3.12"', 'python = "<=3.11"', True),
    ('os = "ubuntu 22.04"', 'os = "ubuntu >=24"', True),
    ('os = "ubuntu 22.04"', 'os = "debian"', True),
    ('gpu = "8xH100"', 'gpu = "4xh100"', True),
    ('gpu = "8"', "gpu = 4", True),
    ('[packages]\nnumpy = ">=2"', '[packages]\nNumPy = "<2"', True),
    ('torch = ">=2.8"', 'torch = "<=2.8"', False),
    ('torch = ">2.8"', 'torch = "<2.9"', False),
    ('torch = "==2.8.*"', 'torch = "!=2.8.0,!=2.8.1"', False),
    ('torch = ">=2.8"', 'torch = "==2.8.0+cu128"', False),
    ('torch = ">2.8rc1"', 'torch = "<2.8rc3"', False),
    ('nccl = ">=2.27"', 'nccl = "~=2.27.3"', False),
    ('os = "linux"', 'os = "ubuntu 24.04"', False),
    ('os = "WSL2"', 'os = "ubuntu 24.04"', False),
    ('os = "wsl"', 'os = "linux"', False),
    ('os = "WSL2"', 'os = "wsl 1"', True),
    ('os = "windows"', 'os = "ubuntu 24.04"', True),
    ('os = "windows"', 'os = "wsl"', True),
    ('os = "ubuntu"', 'os = "ubuntu 24.04"', False),
    ('gpu = "4xH100"', "gpu = 8", False),
    ('gpu = "8xH100"', 'gpu = "H100"', False),
    ('torch = ">=2.8"', 'driver = "<560"', False),
]


@for_each(("one", "other", "is_refused"), CONTRADICT)
def test_lines_that_no_machine_can_meet_together_are_refused(
    tmp_path: Path, one: str, other: str, is_refused: bool
) -> None:
    first, second = tmp_path / "a.toml", tmp_path / "b.toml"
    first.write_text(f"{one}\n")
    second.write_text(f"{other}\n")
    if not is_refused:
        assert len(with_spec(Policy(), [str(first), str(second)]).spec) == 2
        return
    with pytest.raises(Refusal, match="contradicts") as refusal:
        with_spec(Policy(), [str(first), str(second)])
    assert str(first) in str(refusal.value) and str(second) in str(refusal.value)


THREE = [
    (['torch = ">=2.8"', 'torch = "<2.9"', 'torch = "!=2.8.*"'], "torch"),
    (['driver = ">=570"', 'driver = "!=570.*,!=575.*"', 'driver = "<580"', 'driver = ">=550"'], ""),
    (['cuda = ">=12.8"', 'cuda = "<12.9"', 'cuda = "!=12.8.*"', 'cuda = "<14"'], "cuda"),
    (['os = "ubuntu >=22"', 'os = "ubuntu <23"', 'os = "ubuntu !=22.*"'], "os"),
    (['[packages]\nnumpy = ">=1.26"', '[packages]\nnumpy = "<2"', '[packages]\nNumPy = "!=1.*"'], "numpy"),
    (['os = "linux"', 'os = "ubuntu 22.04"', 'os = "ubuntu >=22"'], ""),
    (['torch = ">=2.8rc1"', 'torch = "<2.8rc3"', 'torch = "!=2.8rc2"'], ""),
    (['torch = ">=2.8"', 'torch = "<2.10"', 'torch = "!=2.8.*"'], ""),
    (['torch = "==2.9.*"', 'cuda = "==11.8.*"', 'driver = "==450.*"'], ""),
]


@for_each(("lines", "name"), THREE)
def test_three_files_that_no_machine_can_meet_together_are_refused(tmp_path: Path, lines: list[str], name: str) -> None:
    """Of four, only the three that exclude each other are named; lines of different keys are never refused."""
    paths = [tmp_path / f"{number}.toml" for number in range(len(lines))]
    for path, line in zip(paths, lines, strict=True):
        path.write_text(f"{line}\n")
    if not name:
        assert len(with_spec(Policy(), list(map(str, paths))).spec) >= len(lines)
        return
    with pytest.raises(Refusal, match="no machine can meet all 3") as refusal:
        with_spec(Policy(), list(map(str, paths)))
    assert [path.name in str(refusal.value) for path in paths] == [True] * 3 + [False] * (len(paths) - 3)
    assert str(refusal.value).count(f"{name} ") == 3 and "\n" not in str(refusal.value)


def _three_specs(tmp_path: Path) -> tuple[Path, dict[str, str]]:
    """A repository with a spec, a user's own, and a report that was judged by one."""
    home, repository = tmp_path / "home", tmp_path / "repo"
    (repository / ".git").mkdir(parents=True)
    own = home / ".config" / "gpudoctor"
    own.mkdir(parents=True)
    (own / "gpudoctor.toml").write_text('torch = ">=2.8"\n')
    (repository / "gpudoctor.toml").write_text('torch = "<2.6"\n')
    env = {"HOME": str(home), "XDG_CONFIG_HOME": "", "XDG_STATE_HOME": ""}
    return repository, env | {"VIRTUAL_ENV": sys.prefix}


def test_specs_of_several_places_add_up_or_are_refused_and_the_flag_replaces_them(tmp_path: Path) -> None:
    """One rule: --spec replaces every other one; all others count together, and a contradiction is one line."""
    repository, env = _three_specs(tmp_path)
    live = ("check", "--no-import", "--expect", "any", "--json")
    line = one_line(gpudoctor(*live, cwd=repository, env=env))
    assert "torch <2.6 contradicts torch >=2.8 in " in line and "no machine can meet both" in line
    team = tmp_path / "team.toml"
    team.write_text('torch = "==2.7.*"\n')
    for flags in (("--spec", str(team)), ("--no-config",)):
        done = gpudoctor(*live, *flags, cwd=repository, env=env)
        spec = [one["allowed"] for one in json.loads(done.stdout)["policy"]["spec"]]
        assert spec == ["==2.7.*"][: len(flags) - 1], done.stderr
    judged = gpudoctor("check", "--from", save(tmp_path, healthy()), "--spec", team, "--json").stdout
    report = tmp_path / "judged.json"
    report.write_bytes(judged)
    line = one_line(
        gpudoctor("check", "--from", report, "--config", repository / "gpudoctor.toml", cwd=repository, env=env)
    )
    assert "torch <2.6 contradicts torch ==2.7.* in " in line
    (repository / "gpudoctor.toml").write_text('torch = "<2.9"\n')
    done = gpudoctor("check", "--from", report, "--config", "gpudoctor.toml", "--json", cwd=repository, env=env)
    assert {one["allowed"] for one in json.loads(done.stdout)["policy"]["spec"]} == {"==2.7.*", "<2.9"}
    done = gpudoctor("check", "--from", report, "--spec", "gpudoctor.toml", "--json", cwd=repository, env=env)
    assert [one["allowed"] for one in json.loads(done.stdout)["policy"]["spec"]] == ["<2.9"]
    done = gpudoctor(*live, cwd=repository, env=env)
    assert {one["allowed"] for one in json.loads(done.stdout)["policy"]["spec"]} == {">=2.8", "<2.9"}


def test_an_empty_name_of_a_spec_is_one_line(tmp_path: Path) -> None:
    assert "--spec is empty" in one_line(gpudoctor("check", "--from", save(tmp_path, healthy()), "--spec", ""))


def test_a_contradiction_is_one_line_of_every_command(tmp_path: Path) -> None:
    first, second = tmp_path / "a.toml", tmp_path / "b.toml"
    first.write_text('torch = ">=2.8"\n')
    second.write_text('torch = "<2.6"\n')
    line = one_line(gpudoctor("check", "--from", save(tmp_path, healthy()), "--spec", first, "--spec", second))
    assert f"{second}: torch <2.6 contradicts torch >=2.8 in {first}: no machine can meet both" in line
    first.write_text('[packages]\nnumpy = ">=2"\nNumPy = "<2"\n')
    line = one_line(gpudoctor("check", "--from", save(tmp_path, healthy()), "--spec", first))
    assert "numpy <2 contradicts numpy >=2 in the same file" in line


def test_a_saved_report_is_judged_by_its_own_spec_and_not_by_the_folder_it_is_read_in(tmp_path: Path) -> None:
    """As every other key of a configuration; a recording brings no policy, and has the folder's."""
    report = save(tmp_path, healthy())
    (tmp_path / ".git").mkdir()
    config = tmp_path / "gpudoctor.toml"
    config.write_text('expect = "8xH100"\ntorch = ">=2.9"\n')
    done = gpudoctor("check", "--from", report, "--format", "json", cwd=tmp_path)
    assert done.returncode == 0 and json.loads(done.stdout)["policy"]["spec"] == []
    done = gpudoctor("check", "--from", report, "--spec", config, "--format", "json", cwd=tmp_path)
    assert done.returncode == 1 and [one["id"] for one in json.loads(done.stdout)["findings"]] == ["spec-not-met"]


def test_a_step_that_only_a_found_file_names_says_so_in_every_format(tmp_path: Path) -> None:
    """Nobody pastes it without having seen which file named the package."""
    home, repository = tmp_path / "home", tmp_path / "repo"
    (repository / ".git").mkdir(parents=True)
    home.mkdir()
    env = {"HOME": str(home), "XDG_CONFIG_HOME": "", "XDG_STATE_HOME": ""}
    here = {"VIRTUAL_ENV": sys.prefix}
    with Faults() as faults:
        for text in ('[packages]\nevil-thing = ">=1"\n', 'require = ["evil-thing"]\n'):
            (repository / "gpudoctor.toml").write_text(text)
            for kind in ("text", "json", "markdown", "html", "sarif", "junit", "github", "brief", "quiet", "fix"):
                with faults.of(f"{text!r} {kind}"):
                    flags = {"brief": ["--brief"], "quiet": ["-q"], "fix": []}.get(kind, ["--format", kind])
                    command = "fix" if kind == "fix" else "check"
                    done = gpudoctor(
                        command, "--no-import", "--expect", "any", *flags, cwd=repository, env={**env, **here}
                    )
                    words = " ".join(done.stdout.decode().split())
                    at = [found.start() for found in re.finditer(r"pip install .{0,60}?evil-thing", words)]
                    assert done.returncode == 1 and at, words
                    for start in at:
                        before = words[max(0, start - 700) : start]
                        assert "not trusted" in before and "gpudoctor.toml" in before, before


def test_what_the_users_own_file_states_too_is_no_strangers(tmp_path: Path) -> None:
    home, repository = tmp_path / "home", tmp_path / "repo"
    (repository / ".git").mkdir(parents=True)
    own = home / ".config" / "gpudoctor"
    own.mkdir(parents=True)
    for folder, lines in ((own, ""), (repository, 'python = ">=3"\n')):
        (folder / "gpudoctor.toml").write_text(f'{lines}[packages]\nevil-thing = ">=1"\n')
    env = {"HOME": str(home), "XDG_CONFIG_HOME": "", "XDG_STATE_HOME": ""}
    env |= {"VIRTUAL_ENV": sys.prefix}
    done = gpudoctor("check", "--no-import", "--expect", "any", "--json", cwd=repository, env=env)
    (finding,) = (one for one in json.loads(done.stdout)["findings"] if one["id"] == "spec-not-met")
    assert "pip install" in finding["fixes"][0]["steps"][0]["command"] and "trusted" not in json.dumps(finding["fixes"])


def test_the_formats_of_a_dockerfile_with_deviations_are_whole(team: Path) -> None:
    path = team.parent / "Dockerfile"
    path.write_text(DOCKERFILE)
    for name in ("sarif", "junit", "github", "json"):
        PARSERS[name](gpudoctor("dockerfile", path, "--spec", team, "--format", name).stdout.decode())


def test_an_image_is_judged_by_what_it_says_and_the_host_by_what_it_has(team: Path) -> None:
    folder = team.parent / "image"
    made = Layout(folder)
    variables = {"PYTORCH_VERSION": "2.7.1", "CUDA_VERSION": "12.6.3", "PYTHON_VERSION": "3.11.9"}
    made.tag("latest", made.image(config(variables)))
    done = gpudoctor("image", folder, "--spec", team, "--format", "json")
    answer = json.loads(done.stdout)["spec"]
    (row,) = answer["deviations"]
    assert (row["name"], row["found"]) == ("torch", "2.7.1")
    assert (row["fix"], row["command"]) == (
        "Install torch 2.8.0 for CUDA 12.8.",
        "RUN python3 -m pip install torch==2.8.0",
    )
    unknown = {row["name"] for row in answer["unknown"]}
    assert {"cudnn", "nccl", "os", "numpy", "torchvision"} <= unknown and "python" not in unknown
    assert answer["left"] == ["driver", "gpu"] and answer["verdict"] == "fail" and done.returncode == 1
    hint = "With --layers, the image's files may show what is unknown"
    for more, shown in (((), True), (("--layers",), False)):
        assert (hint in gpudoctor("image", folder, "--spec", team, *more).stdout.decode()) is shown
    other = save(team.parent, healthy("l4", driver="570.86.15", cuda="12.8"), name="other.json")
    done = gpudoctor("image", folder, "--spec", team, "--against", other, "--format", "json")
    answer = json.loads(done.stdout)["spec"]
    rows = {(row["name"], row["where"] == "image") for row in answer["deviations"]}
    assert rows == {("torch", True), ("driver", False), ("gpu", False)} and answer["left"] == []
    assert [row["fix"] for row in answer["deviations"][1:]] == [
        "Choose a host with NVIDIA driver ==580.*.",
        "Choose a host with 1xH100 80GB HBM3.",
    ]
    few = team.parent / "few.toml"
    few.write_text('python = "==3.11.*"\n')
    assert gpudoctor("image", folder, "--spec", few).returncode == 0
    few.write_text('os = "ubuntu 22.04"\n')
    assert gpudoctor("image", folder, "--spec", few).returncode == 3


@pytest.mark.slow
def test_the_formats_of_an_image_with_deviations_are_whole(team: Path) -> None:
    folder = team.parent / "image"
    made = Layout(folder)
    made.tag("latest", made.image(config({"PYTORCH_VERSION": "2.7.1"})))
    with Faults() as faults:
        for name in ("text", "json", "markdown", "html"):
            with faults.of(name):
                done = gpudoctor("image", folder, "--spec", team, "--format", name)
                PARSERS[name](done.stdout.decode())
                assert done.returncode == 1 and "2.7.1" in done.stdout.decode()


@for_each("wsl", [1, 2])
def test_a_spec_printed_in_wsl_passes_there(tmp_path: Path, wsl: int) -> None:
    report = save(tmp_path, healthy().replace({"host.wsl": wsl}))
    assert gpudoctor("print", "spec", "--from", report, "-o", tmp_path / "wsl.toml").returncode == 0
    text = (tmp_path / "wsl.toml").read_text()
    (line,) = [line for line in text.splitlines() if line.startswith("os = ")]
    assert line.startswith('os = "ubuntu 22.04"') and line.endswith(f"Ubuntu 22.04.4 LTS, in WSL {wsl}")
    done = gpudoctor("check", "--from", report, "--spec", tmp_path / "wsl.toml", "--only", "spec-not-met")
    assert done.returncode == 0, done
