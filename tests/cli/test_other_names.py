"""What people type: other names of commands, a question without quotes, --dry-run, a misspelt name."""

from __future__ import annotations

from pathlib import Path

from doctor.cli import ALIASES, COMMANDS, GROUPS

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
    assert "exclude each other" in one_line(gpudoctor("fix", "--dry-run", "--apply"))


def test_no_name_is_suggested_twice() -> None:
    line = one_line(gpudoctor("matrix", "query", "torhc"))
    names = line.partition("did you mean ")[2].partition("?")[0].split(", ")
    assert "torch" in names and len(set(names)) == len(names)
