"""record and check --replay: this machine's facts, saved, masked, and judged alike elsewhere."""

from __future__ import annotations

import json
import stat
from collections.abc import Iterator
from pathlib import Path

from doctor.targets.recording import foreign_name

from .command import gpudoctor, one_line

USER = "zaphod"


def home(folder: Path) -> Path:
    """A home folder with a virtual environment in it."""
    prefix = folder / "home" / USER / "venv"
    (prefix / "bin").mkdir(parents=True)
    (prefix / "bin" / "python").symlink_to("/usr/bin/python3")
    (prefix / "pyvenv.cfg").write_text("home = /usr/bin\nversion = 3.11.7\n")
    site = prefix / "lib" / "python3.11" / "site-packages"
    info = site / "torch-2.8.0+cpu.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: torch\nVersion: 2.8.0+cpu\n")
    (site / "torch").mkdir()
    (site / "torch" / "__init__.py").write_text("")
    (site / "torch" / "version.py").write_text("__version__ = '2.8.0+cpu'\ndebug = False\ncuda = None\nhip = None\n")
    return prefix


def judged(*arguments: str | Path, env: dict[str, str]) -> dict[str, object]:
    found: dict[str, object] = json.loads(gpudoctor("check", *arguments, "--format", "json", env=env).stdout)
    return found


def test_a_recording_is_judged_like_the_machine_and_names_nobody(tmp_path: Path) -> None:
    prefix = home(tmp_path)
    env = {
        "VIRTUAL_ENV": str(prefix),
        "HOME": str(prefix.parent),
        "LOGNAME": USER,
        "CUDA_VISIBLE_DEVICES": "GPU-5f3a9c1e",
    }
    folder = tmp_path / "recorded"
    done = gpudoctor("record", folder, "--no-import", env=env)
    assert (done.returncode, done.stderr) == (0, b"")
    raw = "\n".join(path.read_text() for path in folder.iterdir())
    assert "torch-2.8.0+cpu.dist-info" in raw
    assert USER not in raw
    live = judged("--no-import", env=env)
    replayed = judged("--replay", folder, "--no-import", env=env)
    told = [[(f["id"], f["status"]) for f in report["findings"]] for report in (live, replayed)]  # type: ignore[index, union-attr]
    assert told[0] == told[1]
    assert "cpu-only-torch" in [name for name, _ in told[0]]
    assert replayed["target"]["kind"] == live["target"]["kind"] == "live"  # type: ignore[index]


def test_a_recording_is_judged_by_the_day_it_was_taken(tmp_path: Path) -> None:
    """So it says the same when a driver branch has ended since; a clock that ran ahead is not believed."""
    folder = tmp_path / "recording"
    assert gpudoctor("record", folder, "--no-import").returncode == 0
    manifest = folder / "manifest.json"
    today = json.loads(gpudoctor("check", "--replay", folder, "--format", "json").stdout)["policy"]["judged_on"]
    for day, judged_on in (("2025-03-04T05:06:07Z", "2025-03-04"), ("2999-01-01T00:00:00Z", today), ("soon", today)):
        manifest.write_text(json.dumps({**json.loads(manifest.read_text()), "gathered_at": day}))
        done = gpudoctor("check", "--replay", folder, "--format", "json")
        assert json.loads(done.stdout)["policy"]["judged_on"] == judged_on, day


def test_no_redact_keeps_names(tmp_path: Path) -> None:
    prefix = home(tmp_path)
    env = {"VIRTUAL_ENV": str(prefix), "HOME": str(prefix.parent), "LOGNAME": USER}
    assert gpudoctor("record", tmp_path / "r", "--no-import", "--no-redact", env=env).returncode == 0
    assert USER in "\n".join(path.read_text() for path in (tmp_path / "r").iterdir())


def test_a_recording_replaces_an_older_one_and_all_of_it(tmp_path: Path) -> None:
    """A proof of the old one would be judged as the new one's; what an interrupted run left is no hindrance."""
    folder = tmp_path / "r"
    assert gpudoctor("record", folder, "--no-import").returncode == 0
    names = {path.name for path in folder.iterdir()}
    (folder / "torch_proof.jsonl").write_text('{"agent_end": {}}\n')
    (folder / "files.jsonl.part").write_text("{")
    assert gpudoctor("record", folder, "--no-import", "--no-redact").returncode == 0
    assert {path.name for path in folder.iterdir()} == names
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}


def _foreign(base: Path) -> Iterator[tuple[Path, str]]:
    """(folder, the name that is not a recording's): each holds all that a recording has, or something else alone."""

    def folder(name: str, own: bool = True) -> Path:
        made = base / name
        made.mkdir()
        if own:
            (made / "manifest.json").write_text('{"schema_version": 1, "redacted": true}')
            (made / "files.jsonl").write_text("{}\n")
        return made

    for number, name in enumerate(("thesis.tex", ".git", "zz.txt", "nvml.jsonl.bak", "files.json", "two\nlines")):
        made = folder(f"beside{number}")
        (made / name).write_text("precious")
        yield made, name
    made = folder("alone", own=False)
    (made / "thesis.tex").write_text("precious")
    yield made, "thesis.tex"
    made = folder("linked")
    (base / "target").write_text("precious")
    (made / "nvml.jsonl").symlink_to(base / "target")
    yield made, "nvml.jsonl"
    made = folder("nested")
    (made / "torch.jsonl").mkdir()
    yield made, "torch.jsonl"
    for number, text in enumerate(
        ('{"manifest_version": 3, "name": "an extension"}', "", "[]", '{"schema_version": 1}')
    ):
        made = folder(f"other{number}", own=False)
        (made / "manifest.json").write_text(text)
        yield made, "manifest.json"
    made = folder("no-manifest", own=False)
    (made / "nvml.jsonl").write_text("precious")
    yield made, "nvml.jsonl"


def test_a_folder_with_anything_else_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    base = tmp_path / "folders"
    base.mkdir()
    for folder, name in _foreign(base):
        assert foreign_name(str(folder)) == name, folder
    before = _content(base)
    for number, name in ((0, "thesis.tex"), (5, "two lines")):
        line = one_line(gpudoctor("record", base / f"beside{number}", "--no-import"))
        assert f"beside{number} contains {name}, which gpudoctor record did not write" in line
    assert _content(base) == before


def test_what_is_no_folder_that_can_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("precious")
    (tmp_path / "to-file").symlink_to("file")
    (tmp_path / "loop").symlink_to("loop")
    before = _content(tmp_path)
    for target in ("file", "file/sub", "to-file", "loop", "x" * 300):
        assert "cannot write" in one_line(gpudoctor("record", tmp_path / target, "--no-import")), target[:50]
    assert _content(tmp_path) == before
    (tmp_path / "empty").mkdir()
    (tmp_path / "to-empty").symlink_to("empty")
    assert gpudoctor("record", tmp_path / "to-empty", "--no-import").returncode == 0
    assert (tmp_path / "empty" / "manifest.json").exists()


def _content(base: Path) -> dict[str, bytes | str]:
    """Every name below it with its bytes, or where it leads."""
    found: dict[str, bytes | str] = {}
    for path in sorted(base.rglob("*")):
        found[str(path)] = str(path.readlink()) if path.is_symlink() else path.read_bytes() if path.is_file() else ""
    return found


def test_a_damaged_recording_is_one_line(tmp_path: Path) -> None:
    folder = tmp_path / "r"
    assert gpudoctor("record", folder, "--no-import").returncode == 0
    whole = (folder / "files.jsonl").read_bytes()
    (folder / "files.jsonl").write_bytes(whole[: len(whole) // 2] + b"\n{")
    one_line(gpudoctor("check", "--replay", folder))
    (folder / "files.jsonl").write_bytes(whole)
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps({**manifest, "schema_version": 99}))
    assert "newer" in one_line(gpudoctor("check", "--replay", folder))
    (folder / "manifest.json").write_text("[]")
    one_line(gpudoctor("check", "--replay", folder))


def test_an_environment_that_is_not_there_is_not_recorded(tmp_path: Path) -> None:
    done = gpudoctor("record", "--python", tmp_path / "gone", tmp_path / "out")
    assert one_line(done).endswith("gone: no Python environment found\n")
    assert not (tmp_path / "out").exists()
