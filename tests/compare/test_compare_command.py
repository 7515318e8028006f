"""`gpudoctor compare` as a command: what it reads, what it refuses, what it prints, and how it exits."""

from __future__ import annotations

import json
import os
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from doctor.findings import Expect, Policy
from doctor.snapshot import EnvVar, GpuPair, Missing, Snapshot, known

from ..checks.test_no_nvidia_gpu import without_gpu
from ..cli.command import gpudoctor, one_line, save
from ..far.test_target import kubectl
from ..healthy import healthy
from ..rows import Faults, for_each
from ..torches import not_asked, with_torch
from .machines import harmless


def broken(s: Snapshot) -> Snapshot:
    """A variable that hides all GPUs of a machine whose torch was not asked, and another kernel."""
    hidden = {
        "host.environment": (EnvVar("CUDA_VISIBLE_DEVICES", "7"),),
        "driver.cu_init": 100,
        "driver.cuda_devices": (),
    }
    return not_asked(s).replace({**hidden, "host.kernel": "6.9.1"})


def asked(*arguments: str | Path, **more: Any) -> tuple[int, dict[str, Any]]:
    """Exit code and answer."""
    done = gpudoctor("compare", *arguments, "--json", **more)
    assert done.returncode in (0, 1, 3), done.stderr
    return done.returncode, json.loads(done.stdout)


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    """A sound machine, and the same broken."""
    s = not_asked(healthy("h100", "h100"))
    return save(tmp_path, s, name="old.json"), save(tmp_path, broken(s), name="new.json")


def test_a_new_failure_exits_1_and_names_what_explains_it(pair: tuple[Path, Path]) -> None:
    code, found = asked(*pair)
    assert code == found["exit_code"] == 1
    (finding,) = found["appeared"]
    assert finding["id"] == "cuda-visible-devices-wrong" and finding["explained"] == "facts"
    ((fact,),) = [way["facts"] for way in finding["ways"]]
    assert (fact["path"], fact["kind"], fact["after"]) == ("host.environment[CUDA_VISIBLE_DEVICES]", "appeared", "7")
    assert [one["path"] for one in found["facts"]] == ["driver.cu_init", "host.kernel"]
    text = gpudoctor("compare", *pair).stdout.decode()
    assert "Why: variable CUDA_VISIBLE_DEVICES: not set -> 7" in text and "1 new failure (exit 1)." in text


def test_the_other_way_round_it_is_cured(pair: tuple[Path, Path]) -> None:
    code, found = asked(pair[1], pair[0])
    assert code == 0 and not found["appeared"] and found["matters"]
    assert [one["id"] for one in found["cured"]] == ["cuda-visible-devices-wrong"]
    assert "1 cured (exit 0)." in gpudoctor("compare", pair[1], pair[0]).stdout.decode()


def test_nothing_that_matters(tmp_path: Path) -> None:
    before, after, _ = harmless(healthy(), 5)
    files = save(tmp_path, before, name="old.json"), save(tmp_path, after, name="new.json")
    code, found = asked(*files)
    assert code == 0 and not found["matters"]
    assert "Nothing that matters changed, only" in gpudoctor("compare", *files, "-q").stdout.decode()
    same = gpudoctor("compare", files[0], files[0], "-q").stdout.decode()
    assert same == "✓ Nothing that matters changed (exit 0).\n"


def test_what_the_help_says_of_a_quiet_comparison(pair: tuple[Path, Path]) -> None:
    """The verdict without a step, as docs/compare.md says too: the whole comparison ends with the same sentence."""
    whole, short = (gpudoctor("compare", *pair, *more).stdout.decode() for more in ((), ("-q",)))
    assert "  Why: " in whole and short == "✗ 1 new failure (exit 1).\n" == whole[whole.rindex("\n\n") + 2 :]
    said = " ".join(gpudoctor("compare", "--help").stdout.decode().split())
    assert "--quiet Print only the verdict, in one sentence" in said


def test_a_lost_gpu_matters_even_if_no_check_fails_for_it(tmp_path: Path) -> None:
    before = healthy(*["h100"] * 4)
    after = before.replace(
        {"gpus": known(before.gpus)[:3], "driver.cuda_devices": known(before.driver.cuda_devices)[:3]}
    )
    files = save(tmp_path, before, name="old.json"), save(tmp_path, after, name="new.json")
    done = gpudoctor("compare", *files)
    assert done.returncode == 3 and "3 GPUs instead of 4" in done.stdout.decode()
    assert "instead of" not in gpudoctor("compare", *reversed(files)).stdout.decode()


def test_fewer_gpus_fail_only_if_a_number_is_expected(tmp_path: Path) -> None:
    """Two nodes, or a node whose GPUs went with the bus: no check knows that eight were meant to be there."""
    old, new = save(tmp_path, healthy(*["h100"] * 8), name="old.json"), save(tmp_path, healthy(*["h100"] * 6))
    done = gpudoctor("compare", old, new)
    words = " ".join(done.stdout.decode().split())
    assert done.returncode == 0 and words.endswith("▲ 6 GPUs instead of 8 (exit 0)."), words
    assert "Fewer GPUs is not a failure, because no count is expected" in words
    assert "by torch: 9.0 (8 times) -> 9.0 (6 times)" in words
    spec = tmp_path / "team.toml"
    spec.write_text('gpu = "8xH100"\n')
    for flags, check in ((("--spec", spec), "spec-not-met"), (("--expect", "8xH100"), "gpu-expectation-unmet")):
        judged = tmp_path / "judged.json"
        gpudoctor("check", "--from", old, *flags, "--format", "json", "-o", judged)
        code, found = asked(judged, new)
        assert code == 1 and [one["id"] for one in found["appeared"]] == [check]
        assert "no failure" not in gpudoctor("compare", judged, new).stdout.decode()


def test_what_stays_is_no_new_failure(pair: tuple[Path, Path]) -> None:
    code, found = asked(pair[1], pair[1])
    assert code == 0 and not found["matters"] and [one["id"] for one in found["stays"]] != []
    assert "Fails in both" in gpudoctor("compare", pair[1], pair[1]).stdout.decode()


def test_a_warning_that_became_a_failure_is_new(tmp_path: Path) -> None:
    """And the other way round it is only a warning now."""
    s = not_asked(healthy("h100", container=True, driver="535.183.01", cuda="12.2"))
    warned = s.replace({"container.requirements": (EnvVar("NVIDIA_REQUIRE_CUDA", "driver>=570"),)})
    failed = warned.replace({"driver.cu_init": 999})
    files = save(tmp_path, warned, name="a.json"), save(tmp_path, failed, name="b.json")
    code, found = asked(*files)
    changed = {one["id"]: (one["status"], one["other_status"]) for one in found["appeared"]}
    assert code == 1 and changed["container-require-cuda-unsatisfied"] == ("fail", "warn")
    assert "container-require-cuda-unsatisfied" not in {one["id"] for one in found["stays"]}
    assert "It was a warning in OLD." in gpudoctor("compare", *files).stdout.decode()
    assert "Only a warning now: " in gpudoctor("compare", *reversed(files)).stdout.decode()


def test_something_required_that_is_unknown_exits_3(tmp_path: Path) -> None:
    s = healthy()
    silent = s.replace({"gpus": Missing("timeout"), "driver.nvml_init": Missing("timeout")})
    old, new = save(tmp_path, s, name="old.json"), save(tmp_path, silent, name="new.json")
    for files in ((old, new), (new, old)):
        code, found = asked(*files)
        assert code == 3 and found["old"]["unknown"] != found["new"]["unknown"]
    assert {(one["path"], one["kind"]) for one in asked(old, new)[1]["unread"]} >= {("gpus", "unknown")}
    assert "In NEW:" in gpudoctor("compare", old, new, "-q").stdout.decode()


def database_of(folder: Path, *reports: Path) -> Path:
    """A fleet's database of these reports, each a node of the file's name."""
    spool, database = folder / "spool", folder / "fleet.db"
    spool.mkdir()
    for one in reports:
        (spool / one.name).write_bytes(one.read_bytes())
    assert gpudoctor("fleet", "load", spool, "-o", database).returncode == 0
    return database


def test_nodes_of_a_database_and_a_pipe(pair: tuple[Path, Path], tmp_path: Path) -> None:
    database = database_of(tmp_path, *pair)
    code, found = asked(f"{database}:old", f"{database}:new")
    assert code == 1 and [one["id"] for one in found["appeared"]] == ["cuda-visible-devices-wrong"]
    assert (found["old"]["name"], found["new"]["name"]) == (f"{database}:old", f"{database}:new")
    code, found = asked("-", f"{database}:new", data=pair[0].read_bytes())
    assert code == 1 and found["old"]["name"] == "standard input"
    code, found = asked(f"{database}:new", pair[1])
    assert code == 0 and not found["facts"]


@pytest.mark.slow
def test_every_kind_of_side(tmp_path: Path) -> None:
    """A recording, a target, and this machine."""
    env = {**kubectl(tmp_path, 'exec "$@"'), "HOME": str(tmp_path)}
    folder, here = tmp_path / "recording", tmp_path / "here.json"
    assert gpudoctor("record", folder, "--no-import", env=env).returncode == 0
    gpudoctor("check", "--no-import", "--expect", "any", "--json", "-o", here, env=env)
    target = ("--target", "kubectl:team/pod-1")
    lines: dict[str, tuple[str | Path, ...]] = {
        "this machine": (here,),
        "a recording": (folder, here),
        "two recordings": (folder, folder),
        "a target": (here, *target),
        "two targets": (*target, *target),
    }
    with Faults() as faults:
        for name, line in lines.items():
            with faults.of(name):
                _, found = asked(*line, "--no-import", env=env)
                assert not [one for one in found["appeared"] if one["status"] == "fail"], found["appeared"]
                assert found["old"]["name"] and found["new"]["name"]


@for_each(
    ("words", "line"),
    [
        ("give OLD", []),
        ("give OLD", ["--target", "kubectl:a/b"]),
        ("two sides", ["{old}", "{new}", "--target", "kubectl:a/b"]),
        ("two sides", ["{old}", "--target", "kubectl:a/b", "--target", "kubectl:a/c"]),
        ("only one of OLD and NEW", ["-", "-"]),
        ("No such file", ["nothing.json"]),
        ("--target docker:web", ["docker:web"]),
        ("not a gpudoctor report", ["{new}", "{text}"]),
        ("name one of its nodes", ["{db}"]),
        ("no node 'nobody'", ["{db}:nobody"]),
        ("no such fact", ["{old}", "{new}", "--ignore", "host.kernle"]),
        ("did you mean host.kernel", ["{old}", "{new}", "--ignore", "host.kernle"]),
        ("cannot read", ["a" * 3000]),
        ("OLD is empty", [""]),
        ("NEW is empty", ["{old}", ""]),
        ("--python cannot be used with NEW", ["{old}", "{new}", "--python", "/usr"]),
        ("no such check", ["{old}", "{new}", "--only", "nothing"]),
    ],
)
def test_what_is_refused_is_one_line(words: str, line: list[str], tmp_path: Path) -> None:
    s = not_asked(healthy())
    text = tmp_path / "text.json"
    text.write_text("{}")
    files = {"old": save(tmp_path, s, name="old.json"), "new": save(tmp_path, s, name="new.json"), "text": text}
    database = database_of(tmp_path, files["old"]) if "{db" in "".join(line) else ""
    given = [one.format(db=database, **files) for one in line]
    assert words in one_line(gpudoctor("compare", *given, cwd=tmp_path))


def test_ignored_facts_are_left_out_and_counted_but_still_explain(pair: tuple[Path, Path], tmp_path: Path) -> None:
    for patterns in (["host.kernel"], ["host"], ["host.k*"], ["*"]):
        line = [word for pattern in patterns for word in ("--ignore", pattern)]
        _, found = asked(*pair, *line)
        left = [one["path"] for one in found["facts"]]
        assert left == ([] if patterns == ["*"] else ["driver.cu_init"]) and found["ignored"] == 2 - len(left)
        assert found["appeared"][0]["ways"]
    _, found = asked(*pair, "--ignore", "host.environment[CUDA_VISIBLE_DEVICES]")
    assert found["appeared"][0]["ways"] and found["ignored"] == 0
    before, after, _ = harmless(healthy(), 5)
    files = save(tmp_path, before, name="a.json"), save(tmp_path, after, name="b.json")
    whole, part = asked(*files)[1], asked(*files, "--ignore", "host.environment")[1]
    names = {one["path"] for one in whole["facts"]} - {one["path"] for one in part["facts"]}
    assert names and all(name.startswith("host.environment[") for name in names)
    (one, *_) = names
    assert asked(*files, "--ignore", one)[1]["ignored"] == 1


def test_both_are_judged_by_what_old_expected(tmp_path: Path) -> None:
    bare = without_gpu(healthy())
    any_ = save(tmp_path, bare, Policy(expect=Expect(kind="any")), name="any.json")
    gpu = save(tmp_path, bare, name="gpu.json")
    assert asked(any_, gpu)[1]["new"]["verdict"] == asked(any_, any_)[1]["new"]["verdict"] != "fail"
    assert asked(gpu, any_)[1]["new"]["verdict"] == "fail"
    assert asked(gpu, any_, "--expect", "any")[1]["new"]["verdict"] != "fail"


@pytest.mark.slow
def test_rates_beyond_both_spreads(tmp_path: Path) -> None:
    from benchmarks.compare import machine

    torch = ("2.8.0", "cu128")
    fast, slow = machine("580.82.07", "13.0", 1.0, torch), machine("580.82.07", "13.0", 0.7, torch)
    almost = machine("580.82.07", "13.0", 0.999, torch)
    files = {
        name: save(tmp_path, s, name=f"{name}.json") for name, s in (("fast", fast), ("slow", slow), ("almost", almost))
    }
    code, found = asked(files["fast"], files["slow"])
    assert code == 1 and {one["id"] for one in found["appeared"]} == {"slower-than-baseline", "matmul-below-range"}
    assert {one["explained"] for one in found["appeared"]} == {"measurements"}
    assert len(found["rates"]) == found["rates_compared"] == 40
    assert {round(one["percent"]) for one in found["rates"]} == {-30}
    _, found = asked(files["fast"], files["almost"])
    assert not found["rates"] and found["rates_compared"] == 40
    _, found = asked(files["slow"], files["fast"])
    assert not found["appeared"] and len(found["rates"]) == 40


def test_it_writes_nothing_and_needs_no_home(pair: tuple[Path, Path], tmp_path: Path) -> None:
    before = sorted(os.listdir(tmp_path))
    assert gpudoctor("compare", *pair, env={"HOME": "/nonexistent"}).returncode == 1
    assert sorted(os.listdir(tmp_path)) == before


def test_another_board_in_its_place_is_the_same_gpu(tmp_path: Path) -> None:
    """A warning of one GPU on two machines is in both; on another GPU it is new there, and cured here."""

    def limited(s: Snapshot, number: int, board: str) -> Snapshot:
        gpus = list(known(s.gpus) or ())
        gpus = [replace(gpu, key=f"{gpu.key[:-4]}{board}", uuid=f"{gpu.key[:-4]}{board}") for gpu in gpus]
        gpus[number] = replace(gpus[number], power_limit_w=300.0)
        return s.replace({"gpus": tuple(gpus)})

    one, other, third = (
        save(tmp_path, limited(healthy("h100", "h100"), number, board), name=f"{board}.json")
        for number, board in ((1, "aaaa"), (1, "bbbb"), (0, "cccc"))
    )
    _, found = asked(one, other)
    assert not found["appeared"] and not found["cured"] and [f["id"] for f in found["stays"]] == ["power-limit-lowered"]
    _, found = asked(one, third)
    assert [f["id"] for f in (*found["appeared"], *found["cured"])] == ["power-limit-lowered"] * 2
    assert found["appeared"][0]["ways"][0]["facts"][0]["gpus"] == [0]


def linked(s: Snapshot, nvlinks: int = 2, unlike: tuple[int, int] = (-1, -1)) -> Snapshot:
    """With a pair for every two GPUs; those of `unlike` have one link fewer."""
    keys = [gpu.key for gpu in known(s.gpus) or ()]
    pairs = combinations(range(len(keys)), 2)
    every = tuple(GpuPair(a=keys[a], b=keys[b], nvlinks=nvlinks - ((a, b) == unlike)) for a, b in pairs)
    return s.replace({"gpu_pairs": every})


def test_pairs_of_gpus_are_named_by_their_gpus(tmp_path: Path) -> None:
    """A lost GPU, or another order of the list, moves every later pair, and changes none of the others."""
    whole = linked(healthy(*["h100"] * 4))
    gpus = known(whole.gpus) or ()
    without = linked(healthy(*["h100"] * 4).replace({"gpus": (gpus[0], *gpus[2:])}))
    turned = whole.replace({"gpu_pairs": tuple(reversed(known(whole.gpu_pairs) or ()))})
    rows = {
        "one lost": (without, []),
        "another order": (turned, []),
        "one link fewer": (linked(healthy(*["h100"] * 4), unlike=(1, 3)), [("NVLinks between GPUs 1 and 3", "2", "1")]),
    }
    old = save(tmp_path, whole, name="old.json")
    for name, (s, expected) in rows.items():
        _, found = asked(old, save(tmp_path, s, name="new.json"))
        facts = [fact for fact in (*found["facts"], *found["unread"]) if fact["path"].startswith("gpu_pairs")]
        assert [(fact["label"], fact["before"], fact["after"]) for fact in facts] == expected, name
    fewer = save(tmp_path, linked(healthy(*["h100"] * 4), 1), name="fewer.json")
    assert len(asked(old, fewer)[1]["facts"]) == 6
    text = gpudoctor("compare", old, fewer).stdout.decode()
    assert "NVLinks between GPUs 0 and 1 (and 5 other pairs): 2 -> 1" in text


def test_a_driver_is_not_of_one_gpu(tmp_path: Path) -> None:
    """What changes with it on each GPU does not make it a fact of these GPUs."""
    drivers = (("580.82.07", "13.0"), ("535.183.01", "12.2"))
    old, new = (not_asked(with_torch(healthy("h100", "h100", driver=d, cuda=c), "2.9.1", "cu130")) for d, c in drivers)
    gpus = tuple(replace(gpu, vbios="2", pcie_gen_max=3) for gpu in known(new.gpus) or ())
    files = save(tmp_path, old, name="old.json"), save(tmp_path, new.replace({"gpus": gpus}), name="new.json")
    code, found = asked(*files)
    facts = [fact for one in found["appeared"] for way in one["ways"] for fact in way["facts"]]
    assert code == 1 and [fact["gpus"] for fact in facts if fact["path"].startswith("driver.")] == [[]]


def test_limits_and_nothing_in_words(tmp_path: Path) -> None:
    s = healthy()
    less = s.replace({"host.memlock_kib": 64, "host.memory_limit_mib": 4096, "host.rdma_devices": 0})
    text = gpudoctor("compare", save(tmp_path, s, name="a.json"), save(tmp_path, less, name="b.json")).stdout.decode()
    assert "locked-memory limit: unlimited -> 64 KiB" in text and "memory limit: none -> 4096 MiB" in text
