"""A configuration that is only found adds and tightens; `gpudoctor trust` and the user's own folders let it count."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from doctor.commands.config import KEYS, POWERS, found_policy
from doctor.findings import Expect, Policy
from doctor.judge import judge
from doctor.judge.registry import load_all
from doctor.snapshot import Missing

from ..checks.test_no_nvidia_gpu import without_gpu
from ..healthy import healthy
from ..judging import matrix
from ..rows import for_each
from .command import gpudoctor, one_line

ALL = tuple(check.id for check in load_all())


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A cloned repository, and a home of our own beside it."""
    (tmp_path / "repo" / ".git").mkdir(parents=True)
    (tmp_path / "home").mkdir()
    return tmp_path / "repo"


def env(clone: Path) -> dict[str, str]:
    return {"HOME": str(clone.parent / "home"), "XDG_CONFIG_HOME": "", "XDG_STATE_HOME": ""}


def test_every_key_has_its_power() -> None:
    """What chooses a table, program, host or index never counts from a found file; a new key is listed here first."""
    assert set(KEYS) == set(POWERS)
    assert {key for key, power in POWERS.items() if power == "chooses"} == {"matrix"}
    assert {key for key, power in POWERS.items() if power == "silences"} == {"skip", "only", "thresholds"}


HOSTILE = [
    {"skip": [*ALL]},
    {"only": ["gpu-too-hot"]},
    {"expect": "none"},
    {"expect": "any"},
    {"expect": "none", "skip": [*ALL], "fail-on": "fail"},
    {"expect": "any", "skip": [*ALL], "only": ["gpu-too-hot"]},
    {"thresholds": {"temperature_warn_c": 1000, "shm_warn_mib": 0}},
]


@for_each("table", HOSTILE)
def test_a_strangers_file_silences_no_failure(table: dict[str, Any]) -> None:
    """A lost GPU, a driver that hangs, a missing GPU: each still fails, and the report says what was ignored."""
    sick = healthy().replace({"driver.cu_init": 802})
    for snapshot in (without_gpu(healthy()), sick):
        alone = judge(snapshot, matrix(), Policy(judged_on="2026-11-20"))
        policy = found_policy("gpudoctor.toml", table, Policy(judged_on="2026-11-20"))
        done = judge(snapshot, matrix(), policy)
        assert alone.verdict == done.verdict == "fail"
        failed = {(f.id, f.subject) for f in alone.findings if f.status == "fail"}
        assert failed <= {(f.id, f.subject) for f in done.findings if f.status == "fail"}
        assert any("not trusted" in note for note in done.notes)


def test_it_silences_warnings_and_remarks() -> None:
    gpus = tuple(gpu.with_(temperature_margin_c=3) for gpu in healthy().gpus)  # type: ignore[union-attr]
    warned = healthy().replace({"gpus": gpus})
    alone = judge(warned, matrix(), Policy(judged_on="2026-11-20"))
    (name,) = {f.id for f in alone.findings}
    assert alone.verdict == "warn"
    policy = found_policy("gpudoctor.toml", {"skip": [name]}, Policy(judged_on="2026-11-20"))
    done = judge(warned, matrix(), policy)
    assert (done.verdict, done.not_silenced) == ("pass", ())


def test_a_required_unknown_is_not_silenced() -> None:
    unknown = healthy().replace({"driver.cu_init": Missing("denied")})
    alone = judge(unknown, matrix(), Policy(judged_on="2026-11-20"))
    assert alone.verdict == "unknown"
    policy = found_policy("gpudoctor.toml", {"skip": [*ALL]}, Policy(judged_on="2026-11-20"))
    assert judge(unknown, matrix(), policy).verdict == "unknown"


def test_it_tightens_and_never_loosens_the_users_own() -> None:
    own = Policy(expect=Expect.parse("8xH100"), fail_on="warn", require=("torch",), building=True)
    table = {"expect": "any", "fail-on": "fail", "require": ["numpy"], "building": False, "skip": ["gpu-too-hot"]}
    policy = found_policy("gpudoctor.toml", table, own)
    assert (policy.expect, policy.fail_on, policy.building) == (own.expect, "warn", True)
    assert policy.require == ("torch", "numpy") and policy.found is not None and policy.found.require == ("numpy",)
    assert found_policy("x", {"expect": "8xH100"}, None).expect == own.expect
    for loose in ("any", "none"):
        policy = found_policy("x", {"expect": loose}, None)
        assert policy.expect == Expect() and policy.found and policy.found.ignored == (f'expect = "{loose}"',)
    for other in ("gpu", "4", "8xA100", "8xH100"):
        assert found_policy("x", {"expect": other}, own).expect == own.expect


def test_the_readmes_file_works_without_trust(clone: Path) -> None:
    readme = (Path(__file__).parents[2] / "README.md").read_text()
    text = readme.partition("<!-- config -->")[2].partition("```toml\n")[2].partition("```")[0]
    (clone / "gpudoctor.toml").write_text(text)
    (clone / "root" / "etc").mkdir(parents=True)
    done = gpudoctor("check", "--root", clone / "root", "--format", "json", cwd=clone, env=env(clone))
    policy = json.loads(done.stdout)["policy"]
    assert policy["expect"] == {"kind": "gpu", "count": 8, "model": "H100"} and policy["fail_on"] == "warn"
    assert policy["skip"] == ["gpu-memory-in-use"] and policy["found"]["ignored"] == []


def test_trust_lets_it_count_until_it_changes(clone: Path) -> None:
    (clone / "gpudoctor.toml").write_text('expect = "none"\n')

    def health() -> tuple[int, str]:
        done = gpudoctor("healthcheck", cwd=clone, env=env(clone))
        return done.returncode, done.stderr.decode()

    code, said = health()
    assert code == 1 and 'Ignored in gpudoctor.toml: expect = "none"' in said and "gpudoctor trust" in said
    assert gpudoctor("trust", "gpudoctor.toml", cwd=clone, env=env(clone)).returncode == 0
    kept = clone.parent / "home" / ".local" / "state" / "gpudoctor" / "trusted"
    assert kept.stat().st_mode & 0o777 == 0o600
    code, said = health()
    assert code == 0 and "Configured by" in said and "not trusted" not in said
    listed = gpudoctor("trust", "--list", cwd=clone, env=env(clone)).stdout.decode()
    assert listed == f"{clone / 'gpudoctor.toml'}\n"
    (clone / "gpudoctor.toml").write_text('expect = "none"\nskip = ["gpu-too-hot"]\n')
    assert health()[0] == 1
    assert "changed since" in gpudoctor("trust", "--list", cwd=clone, env=env(clone)).stdout.decode()
    assert gpudoctor("trust", "--remove", "gpudoctor.toml", cwd=clone, env=env(clone)).returncode == 0
    assert gpudoctor("trust", "--list", cwd=clone, env=env(clone)).stdout == b""


def test_a_store_that_others_can_write_is_not_believed(clone: Path) -> None:
    (clone / "gpudoctor.toml").write_text('expect = "none"\n')
    assert gpudoctor("trust", "gpudoctor.toml", cwd=clone, env=env(clone)).returncode == 0
    os.chmod(clone.parent / "home" / ".local" / "state" / "gpudoctor" / "trusted", 0o666)
    assert gpudoctor("healthcheck", cwd=clone, env=env(clone)).returncode == 1


def test_the_users_own_folder_counts_in_full(clone: Path) -> None:
    folder = clone.parent / "home" / ".config" / "gpudoctor"
    folder.mkdir(parents=True)
    (folder / "gpudoctor.toml").write_text('expect = "none"\n')
    assert gpudoctor("healthcheck", cwd=clone, env=env(clone)).returncode == 0
    os.chmod(folder, 0o777)
    assert gpudoctor("healthcheck", cwd=clone, env=env(clone)).returncode == 1, "anybody could have put it there"


@pytest.mark.slow
@for_each(
    ("words", "says"),
    [
        ([], "give a FILE, or --list"),
        (["nothing.toml"], "nothing.toml"),
        (["broken.toml"], "broken.toml is not valid TOML"),
        (["unknown.toml"], "unknown key 'skp'"),
        (["--remove", "gpudoctor.toml"], "is not trusted"),
        (["--list", "gpudoctor.toml"], "--list cannot be used with FILE"),
    ],
)
def test_what_cannot_be_trusted_is_one_line(tmp_path: Path, words: list[str], says: str) -> None:
    (tmp_path / "broken.toml").write_text("skip = [")
    (tmp_path / "unknown.toml").write_text("skp = []")
    home = tmp_path / "home"
    home.mkdir(exist_ok=True)
    assert says in one_line(gpudoctor("trust", *words, cwd=tmp_path, env={"HOME": str(home)}))


def test_a_found_file_installs_no_package_of_its_own(clone: Path) -> None:
    """`fix --apply --yes`: the index and the matrix are the built-in ones, and the package is not installed."""
    (clone / "gpudoctor.toml").write_text('require = ["strange-package"]\nmatrix = ".m.json"\n')
    (clone / ".m.json").write_text("not even JSON: it is not opened")
    done = gpudoctor("fix", "--apply", "--yes", "--no-import", "--expect", "any", cwd=clone, env=env(clone))
    said = done.stderr.decode()
    assert (
        "strange-package was not installed: only gpudoctor.toml names it" in said
        and "Ignored in gpudoctor.toml: matrix" in said
    )
    assert b"pip install strange-package" not in done.stdout and "[1/" not in said
