"""record and check --replay: this machine's facts, saved, masked, and judged alike elsewhere."""

from __future__ import annotations

import json
from pathlib import Path

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


def test_a_recording_replaces_an_older_one_but_no_other_folder(tmp_path: Path) -> None:
    folder = tmp_path / "r"
    for _ in range(2):
        assert gpudoctor("record", folder, "--no-import").returncode == 0
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("x")
    assert "not empty" in one_line(gpudoctor("record", tmp_path / "mine", "--no-import"))
    one_line(gpudoctor("record", tmp_path / "mine" / "thesis.tex", "--no-import"))


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
