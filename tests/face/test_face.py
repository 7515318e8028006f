"""`import gpudoctor`, `python -m gpudoctor`, and a machine on which `doctor` is another's package."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

import gpudoctor

from ..cli.command import save
from ..healthy import healthy
from ..rows import Faults

ROOT = Path(__file__).parents[2]
PUBLIC = {
    "Build", "Comparison", "Refused", "Report", "Resolution", "__version__", "check", "compare", "explain", "resolve",
}  # fmt: skip


def python(*words: str, cwd: Path | None = None, **env: str) -> subprocess.CompletedProcess[str]:
    command, variables = [sys.executable, *words], {**os.environ, **env}
    return subprocess.run(command, capture_output=True, text=True, env=variables, cwd=cwd, timeout=60, check=False)


def test_what_is_public() -> None:
    assert set(gpudoctor.__all__) == set(dir(gpudoctor)) == PUBLIC
    assert all(getattr(gpudoctor, name) is not None for name in PUBLIC)
    with pytest.raises(AttributeError, match="no attribute 'judge'"):
        gpudoctor.judge  # noqa: B018
    fields = set(gpudoctor.Report.__struct_fields__)
    assert {"verdict", "exit_code", "findings", "remarks", "checks", "snapshot", "possible", "text"} <= fields
    for answer in (gpudoctor.Report, gpudoctor.Comparison):
        ours = [one for one in answer.__mro__ if one.__module__.startswith("gpudoctor")]
        methods = {name for one in ours for name in vars(one) if not name.startswith("_")}
        wanted = {"ok", "to_dict", "to_json", "to_markdown", "to_text", "to_html"}
        assert methods - set(answer.__struct_fields__) == wanted


def test_importing_it_imports_nothing_heavy() -> None:
    done = python("-c", "import sys, gpudoctor; print({'msgspec', 'click', 'jinja2', 'doctor'} & set(sys.modules))")
    assert done.stdout == "set()\n", done


def test_a_check_looks_at_the_python_that_asks() -> None:
    made = gpudoctor.check(expect="any", import_torch=False)
    assert made.verdict in ("pass", "warn") and made.ok and made.exit_code == 0
    assert made.snapshot.python.patient.executable
    assert "gpudoctor: " in made.to_markdown() and "exit 0" in str(made)
    assert made.to_dict()["verdict"] == made.verdict and '"schema_version": 1' in made.to_json()
    assert made.to_html().startswith("<!DOCTYPE html>")


def test_a_saved_report_and_its_typed_parts(tmp_path: Path) -> None:
    made = gpudoctor.check(source=save(tmp_path, healthy().replace({"gpus": ()})), expect="8xH100")
    assert not made.ok and made.findings[0].fixes[0].steps[0].text
    assert made.policy.expect.count == 8
    shown = made._repr_html_()
    assert (
        shown.startswith('<div class="gpudoctor"><style>.gpudoctor {')
        and "<html" not in shown
        and "<script" not in shown
    )


def one_line(value: object) -> str:
    shown = repr(value)
    assert shown.isprintable() and len(shown) < 400, shown
    return shown


def test_each_value_is_one_line_at_a_prompt(tmp_path: Path) -> None:
    """Whatever a saved report says: a title is a stranger's text. print() stays the short text."""
    titles = {"a title": "a title", "two\nlines \x1b[31m": "two lines \\x1b[31m", "x" * 9000: "x" * 197 + "..."}
    made = gpudoctor.check(source=save(tmp_path, healthy().replace({"gpus": ()})), expect="8xH100")
    count = sum(one.status == "fail" for one in made.checks)
    for title, shown in titles.items():
        first = msgspec.structs.replace(made.findings[0], title=title)
        words = one_line(msgspec.structs.replace(made, findings=(first, *made.findings[1:])))
        assert words.startswith(f"<Report FAIL, exit 1: {shown} ({first.id}); {count} failed, "), words
    assert one_line(msgspec.structs.replace(made, verdict="pass", exit_code=0, findings=())).startswith(
        "<Report PASS, exit 0; "
    )
    assert str(made) == made.to_text() and str(made).count("\n") > 3
    found = gpudoctor.resolve("torch", gpus=["RTX 5090"], driver="575")
    assert found.best is not None and found.best.pip in one_line(found) and found.best.pip in one_line(found.best)
    assert one_line(msgspec.structs.replace(found, candidates=())).startswith("<Resolution no build; ")
    assert "cannot both" in one_line(gpudoctor.Resolution(conflict=("cannot both",)))
    assert repr([made]) == f"[{made!r}]"


def test_a_spec_and_a_comparison(tmp_path: Path) -> None:
    first, second = tmp_path / "a.toml", tmp_path / "b.toml"
    first.write_text('driver = ">=590"\n')
    second.write_text('torch = ">=2.9"\n')
    old = save(tmp_path, healthy(), name="old.json")
    assert gpudoctor.check(source=old).ok
    for spec, names in ((first, ["driver"]), (str(second), ["torch"]), ([first, second], ["driver", "torch"])):
        (finding,) = gpudoctor.check(source=old, spec=spec).findings
        assert [row["name"] for row in finding.facts["deviations"]] == names
    with pytest.raises(gpudoctor.Refused, match=r"none.toml"):
        gpudoctor.check(source=old, spec=tmp_path / "none.toml")
    new = save(tmp_path, healthy().replace({"driver.cu_init": 802, "host.kernel": "6.9"}), name="new.json")
    found = gpudoctor.compare(old, new)
    assert not found.ok and found.exit_code == 1 and found.appeared[0].status == "fail"
    assert [fact.path for fact in found.facts] == ["host.kernel"]
    assert not gpudoctor.compare(old, new, ignore="host.kernel").facts
    assert "1 new failure (exit 1)" in repr(found) and "\n" not in repr(found)
    assert found.to_dict()["exit_code"] == 1 and "New failure" in str(found) and "New failure" in found.to_markdown()
    assert found.to_html().startswith("<!DOCTYPE html>") and '"schema_version": 1' in found.to_json()
    assert gpudoctor.compare(old, old).ok
    with pytest.raises(gpudoctor.Refused, match="not a gpudoctor report"):
        gpudoctor.compare(first, new)


def test_a_text() -> None:
    made = gpudoctor.explain("RTX 5090, torch 2.5.1+cu121, no kernel image is available \udcff")
    assert made.findings[0].id == "torch-lacks-new-gpu-sm" and made.text is not None


def test_what_to_install() -> None:
    found = gpudoctor.resolve("torch", gpus=["RTX 5090"], driver="575")
    assert found.best is not None and found.best.tag == "cu129" and found.best.pip.startswith("python3 -m pip install")
    assert gpudoctor.resolve(gpus=["GTX 1080"], driver="580").rejected


def test_what_is_refused_is_one_line() -> None:
    with pytest.raises(gpudoctor.Refused, match=r"^cannot read /nonexistent: No such file or directory$"):
        gpudoctor.check(source="/nonexistent")
    with pytest.raises(gpudoctor.Refused, match="GPU 'nothing' is not listed"):
        gpudoctor.resolve(gpus=["nothing"])
    for gpus in (
        "A100",
        ["A100"],
    ):  # CUDA 12 takes driver 525 (NVIDIA's release notes); 2.6.0 came for 11.8, 12.4, 12.6
        best = gpudoctor.resolve("torch==2.6.0", gpus=gpus, driver="470").best
        assert best is not None and best.tag == "cu118"
    with pytest.raises(gpudoctor.Refused, match=r"such as 'RTX 4090', with --gpu \(in Python: gpus=\)"):
        gpudoctor.resolve("torch")


def test_a_number_is_taken_as_it_is_typed_and_nothing_else_is_a_traceback(tmp_path: Path) -> None:
    saved = save(tmp_path, healthy())
    assert gpudoctor.check(source=saved, expect=1).policy.expect.count == 1
    assert gpudoctor.check(source=saved, only="no-nvidia-gpu", require=None, timeout_s=None).policy.only
    with Faults() as faults:
        for name, call in {
            "expect": lambda: gpudoctor.check(expect=["8"]),
            "flag": lambda: gpudoctor.check(expect=True),
            "skip": lambda: gpudoctor.check(skip=[None]),
            "timeout": lambda: gpudoctor.check(timeout_s="soon"),
            "zero byte": lambda: gpudoctor.check(expect="a\0b"),
            "text": lambda: gpudoctor.explain(8),
            "wish": lambda: gpudoctor.resolve(None),
            "driver": lambda: gpudoctor.resolve(driver={}),
        }.items():
            with faults.of(name), pytest.raises(gpudoctor.Refused, match=r"^[^\n]+$"):
                call()


def test_the_module_is_the_command() -> None:
    assert python("-m", "gpudoctor", "--version").stdout == f"gpudoctor {gpudoctor.__version__}\n"
    assert python("-m", "gpudoctor", "check", "--nonsense").returncode == 2


def test_another_distribution_owns_the_name_doctor(tmp_path: Path) -> None:
    """Whatever comes first on the path is what Python imports."""
    (tmp_path / "doctor").mkdir()
    (tmp_path / "doctor" / "__init__.py").write_text("patients = []\n")
    about = tmp_path / "doctor_who-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: doctor-who\nVersion: 1.0\n")
    (about / "top_level.txt").write_text("doctor\n")
    (about / "RECORD").write_text("doctor/__init__.py,,\n")
    here = tmp_path / "empty"
    here.mkdir()
    start = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); from gpudoctor.__main__ import main; sys.exit(main())"
    done = python("-c", start, "check", cwd=here)
    assert done.returncode == 2 and done.stdout == ""
    assert "the package 'doctor' here belongs to the distribution doctor-who" in done.stderr
    assert done.stderr.count("\n") == 1
    done = python("-c", "import gpudoctor; gpudoctor.check()", cwd=here, PYTHONPATH=str(tmp_path))
    assert done.returncode == 1 and "the package 'doctor' here belongs to the distribution doctor-who" in done.stderr


@pytest.mark.notebook
def test_a_notebook_shows_the_report() -> None:
    """A real kernel runs the cells; what it shows is the report as HTML."""
    import nbformat
    from nbclient import NotebookClient

    book = nbformat.v4.new_notebook()
    book.cells = [nbformat.v4.new_code_cell("import gpudoctor\ngpudoctor.check(expect='any', import_torch=False)")]
    NotebookClient(book, timeout=120, kernel_name="python3").execute()
    (output,) = book.cells[0].outputs
    assert output.output_type == "execute_result" and 'class="gpudoctor"' in output.data["text/html"]
    assert output.data["text/plain"].startswith("<Report WARN, exit 0: torch is not installed")
