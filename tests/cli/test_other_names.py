"""What people type: other names of commands, a question without quotes, --dry-run, a misspelt name."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import pytest

from doctor.cli import ALIASES, COMMANDS, GROUPS, run
from doctor.cli import gpudoctor as program

from ..healthy import healthy
from ..rows import for_each
from .command import gpudoctor, one_line, save

DOCKERFILE = "FROM python:3.12\nRUN pip install torch==2.6.0 --index-url https://download.pytorch.org/whl/cpu\n"


def test_the_help_has_each_command_in_one_group() -> None:
    assert sorted(name for names in GROUPS.values() for name in names) == sorted(COMMANDS)
    printed = gpudoctor("--help").stdout.decode()
    for name in (*GROUPS, *COMMANDS, *ALIASES):
        assert f"\n{name}:\n" in printed or f"\n  {name} " in printed, name


@for_each(
    ("alias", "words"),
    [
        ("doctor", ("--from", "{report}")),
        ("diagnose", ("--from", "{report}", "-v")),
        ("install", ("--gpu", "A100", "--driver", "550")),
        ("install", ("torch==2.6.0", "--gpu", "RTX 5090", "--driver", "550")),
        ("lint", ("{dockerfile}",)),
        ("lint", ("{dockerfile}", "--format", "json")),
        ("lint", ("--help",)),
    ],
)
def test_an_alias_is_the_command(alias: str, words: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "Dockerfile").write_text(DOCKERFILE)
    paths = {"report": save(tmp_path, healthy()), "dockerfile": tmp_path / "Dockerfile"}
    words = tuple(word.format_map(paths) for word in words)
    one, other = (gpudoctor(name, *words) for name in (alias, ALIASES[alias]))
    assert (one.returncode, one.stdout, one.stderr) == (other.returncode, other.stdout, other.stderr)
    assert one.stdout


@for_each("alias", sorted(ALIASES))
def test_an_alias_is_the_command_in_help_and_a_misspelling(alias: str) -> None:
    assert gpudoctor("help", alias).stdout == gpudoctor(ALIASES[alias], "--help").stdout
    assert f"gpudoctor {ALIASES[alias]} " in gpudoctor(alias, "--help").stdout.decode()


@for_each(
    "question",
    [
        "why is my gpu slow",
        "torch.cuda.is_available() is False",
        "torchvision for torch 2.4.1",
        "RuntimeError: CUDA error: no kernel image is available for execution on the device",
    ],
)
def test_a_question_needs_no_quotes(question: str) -> None:
    one, other = gpudoctor("explain", question), gpudoctor("explain", *question.split())
    assert (one.returncode, one.stdout, one.stderr) == (other.returncode, other.stdout, other.stderr)
    assert one.stdout


def test_two_files_are_no_question(tmp_path: Path) -> None:
    for name in ("a.log", "b.log"):
        (tmp_path / name).write_text("CUDA out of memory\n")
    for words in ((tmp_path / "a.log", tmp_path / "b.log"), ("see", tmp_path / "b.log"), ("-", "a")):
        assert "one text at a time" in one_line(gpudoctor("explain", *words))


def test_a_dry_run_is_what_fix_does_without_apply(tmp_path: Path) -> None:
    report = save(tmp_path, healthy())
    one, other = gpudoctor("fix", "--dry-run", "--from", report), gpudoctor("fix", "--from", report)
    assert (one.returncode, one.stdout, one.stderr) == (other.returncode, other.stdout, other.stderr)
    assert "--apply cannot be used with --dry-run" in one_line(gpudoctor("fix", "--dry-run", "--apply"))


def test_no_name_is_suggested_twice() -> None:
    line = one_line(gpudoctor("matrix", "query", "torhc"))
    names = line.partition("did you mean ")[2].partition("?")[0].split(", ")
    assert "torch" in names and len(set(names)) == len(names)


@for_each(
    "words",
    [
        "resolve --gpu 'RTX 509O' --driver 570",
        "fit --params 7B --gpus '2xRTX 509O'",
        "topo --gpu 'RTX 509O' table.txt",
        "matrix query gpu 'RTX 509O'",
        "matrix query build --gpu 'RTX 509O'",
        "what-if --gpu 'RTX 509O' --from report.json",
        "image ./root --driver 570 --gpu 'RTX 509O'",
        "dockerfile Dockerfile --driver 570 --gpu 'RTX 509O'",
    ],
)
def test_a_misspelt_gpu_gets_the_names_that_it_is_close_to(
    words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    save(tmp_path, healthy())
    (tmp_path / "Dockerfile").write_text("FROM pytorch/pytorch:2.6.0-cuda12.4-cudnn9-runtime\n")
    (tmp_path / "table.txt").write_text("\tGPU0\tGPU1\nGPU0\t X \tPIX\nGPU1\tPIX\t X \n")
    (tmp_path / "root" / "etc").mkdir(parents=True, exist_ok=True)
    assert run(shlex.split(words)) in (2, 3)
    assert "did you mean NVIDIA GeForce RTX 5090" in capsys.readouterr().err


@for_each(
    "words",
    [
        "check --from reprot.json",
        "prove --from reprot.json",
        "what-if --driver 580 --from reprot.json",
        "fix --from reprot.json",
        "compare reprot.json report.json",
        "resolve -r reprot.json --gpu H100 --driver 580",
        "explain reprot.json",
        "dockerfile reprot.json",
        "fit reprot.json --gpus H100",
        "topo reprot.json",
        "check --config reprot.json",
        "check --matrix ./reprot.json",
        "fleet report reprot.json",
        "fleet load reprot.json -o new.db",
        "image ./reprot.json",
        "trust reprot.json",
    ],
)
def test_a_misspelt_file_gets_the_name_of_one_that_is_there(
    words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    save(tmp_path, healthy())
    assert run(shlex.split(words)) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1) and "report.json?" in err


def test_the_help_of_a_command_with_many_options_has_them_in_groups() -> None:
    """Each option once, as click's own list has it."""
    context = click.Context(program, info_name="gpudoctor")
    for name in COMMANDS:
        command = program.get_command(context, name)
        if command is None or isinstance(command, click.Group):
            continue
        text = command.get_help(click.Context(command, parent=context, info_name=name))
        options = [one for one in command.get_params(click.Context(command)) if isinstance(one, click.Option)]
        _, lists = re.split(rf"^(?:Options|{'|'.join(ORDER)}):$", text, maxsplit=1, flags=re.M)
        assert len(re.findall(r"^  -", lists, re.M)) == len(options), name
        headings = re.findall(r"^([A-Z][a-z ]+):$", text, re.M)
        assert headings == (["Options"] if len(options) <= 12 else [h for h in ORDER if h in headings]), name
        assert len(options) <= 12 or "Output" in headings, name


ORDER = ("What to examine", "Where", "How to judge", "Output")
