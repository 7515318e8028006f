"""The order of repair: by nodes cured, one cause and fix at a time, and what ends work behind the drain."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from doctor.findings import Fix, Step
from doctor.fixes.ending import DRAINED, ends_of
from doctor.fleet.kinds import NodeFinding
from doctor.fleet.repair import Repair, order, safe
from doctor.report.fleet_words import repair_title

from ..drawn import drawn
from ..rows import for_each

REBOOT = Fix(id="reboot", title="Reboot", steps=(Step(text="Reboot the host.", command="sudo reboot", where="host"),))
MODPROBE = Fix(
    id="load-uvm",
    title="Load nvidia-uvm",
    steps=(Step(text="Load the module.", command="sudo modprobe nvidia-uvm", where="host", needs_root=True),),
)


def finding(node: int, id: str, fix: Fix | None = REBOOT, **more: Any) -> NodeFinding:
    about = {"status": "fail", "layer": "driver", "subject": "", "title": f"title of {id}", "cause": "", "users": False}
    return NodeFinding(node=node, name=f"gpu-{node:03d}", id=id, fix=fix, **(about | more))


def cures(repairs: tuple[Repair, ...]) -> list[tuple[str, int]]:
    return [(one.id, one.cures) for one in repairs]


def test_the_repair_that_cures_most_nodes_comes_first() -> None:
    found = [finding(n, "uvm-device-missing", MODPROBE) for n in (1, 2)]
    found += [finding(n, "driver-library-version-mismatch") for n in range(10, 16)]
    found += [finding(20, "gpu-fell-off-bus", None)]
    repairs = order(found)
    assert cures(repairs) == [
        ("driver-library-version-mismatch", 6),
        ("uvm-device-missing", 2),
        ("gpu-fell-off-bus", 1),
    ]
    assert repairs[0].nodes == tuple(f"gpu-{n:03d}" for n in range(10, 16))
    assert repairs[2].fix is None


def test_a_node_is_cured_by_the_last_of_its_repairs() -> None:
    found = [finding(n, "a", MODPROBE) for n in (1, 2, 3, 4)] + [finding(n, "b") for n in (3, 4, 5)]
    assert cures(order(found)) == [("a", 2), ("b", 3)]


def test_a_repair_that_touches_many_nodes_and_cures_none_comes_before_one_that_touches_few() -> None:
    found = [finding(n, "a", MODPROBE) for n in (1, 2, 3)] + [finding(n, "b", MODPROBE) for n in (1, 2, 3, 4)]
    found += [finding(n, "c", MODPROBE) for n in (4,)]
    assert cures(order(found)) == [("b", 0), ("a", 3), ("c", 1)]


def test_of_two_equal_ones_the_milder_comes_first() -> None:
    found = [finding(1, "a", REBOOT), finding(2, "b", MODPROBE)]
    assert [one.id for one in order(found)] == ["b", "a"]
    assert [one.ends for one in order(found)] == ["", "all jobs on this host"]


def test_a_step_that_names_a_gpu_is_for_the_nodes_where_it_is_that_one() -> None:
    reset = {
        gpu: Fix(
            id="reset",
            title="Reset",
            steps=(Step(text="Reset.", command=f"nvidia-smi -i {gpu} --gpu-reset", where="host"),),
        )
        for gpu in (0, 3)
    }
    found = [
        finding(1, "a", reset[0], subject="GPU 0"),
        finding(2, "a", reset[3], subject="GPU 3"),
        finding(3, "a", REBOOT),
    ]
    repairs = order(found)
    found = [(one.fix.steps[-1].command if one.fix else "", one.nodes, one.subjects) for one in repairs]
    assert [row for row in found if "gpu-reset" in row[0]] == [
        ("nvidia-smi -i 0 --gpu-reset", ("gpu-001",), (("gpu-001", ("GPU 0",)),)),
        ("nvidia-smi -i 3 --gpu-reset", ("gpu-002",), (("gpu-002", ("GPU 3",)),)),
    ]
    assert len(repairs) == 3


def test_one_fix_that_names_several_gpus_counts_as_one() -> None:
    """Eight nodes with one fault come before five with another, whatever GPU it is on each."""
    reset = [
        Fix(id="reset", title="R", steps=(Step(text="R.", command=f"nvidia-smi -i {n} --gpu-reset", where="host"),))
        for n in range(4)
    ]
    found = [finding(n, "a", reset[n % 4], subject=f"GPU {n % 4}") for n in range(8)]
    found += [finding(n, "b", REBOOT) for n in range(8, 13)]
    assert [(one.id, one.cures) for one in order(found)] == [("a", 2)] * 4 + [("b", 5)]
    both = [*found, finding(0, "a", reset[1], subject="GPU 1")]
    assert [(one.id, one.cures) for one in order(both)] == [("a", 2), ("a", 2), ("a", 2), ("a", 2), ("b", 5)]
    assert sum(one.cures for one in order(both)) == 13


def test_another_command_is_another_repair() -> None:
    apt, dnf = (
        Fix(id="driver", title="Install", steps=(Step(text="Install.", command=command, where="host"),))
        for command in ("apt install nvidia-driver-580", "dnf install nvidia-driver")
    )
    assert len(order([finding(1, "a", apt), finding(2, "a", dnf)])) == 2
    assert len(order([finding(1, "a", apt), finding(2, "a", apt)])) == 1


def test_two_findings_on_one_node_count_it_once() -> None:
    found = [finding(1, "a", subject="GPU 0"), finding(1, "a", subject="GPU 4", title="other"), finding(2, "a")]
    (one,) = order(found)
    assert (one.cures, one.nodes) == (2, ("gpu-001", "gpu-002"))
    assert one.title == "title of a"
    assert one.titles == (("title of a", ("gpu-001", "gpu-002")), ("other", ("gpu-001",)))
    assert one.subjects == (("gpu-001", ("GPU 0", "GPU 4")),)


def test_consequences_and_what_does_not_fail_are_no_repairs() -> None:
    found = [
        finding(1, "a"),
        finding(1, "b", cause="a"),
        finding(2, "c", status="warn"),
        finding(3, "d", status="unknown"),
    ]
    assert cures(order(found)) == [("a", 1)]
    assert {id for id, _ in cures(order(found, ("fail", "warn")))} == {"a", "c"}


def test_findings_of_users_stand_last_and_keep_no_node_from_being_cured() -> None:
    found = [finding(n, "torch-lacks-new-gpu-sm", None, users=True, layer="python") for n in (1, 2, 3)]
    found += [finding(1, "uvm-device-missing", MODPROBE)]
    repairs = order(found)
    assert [(one.id, one.cures, one.users) for one in repairs] == [
        ("uvm-device-missing", 1, False),
        ("torch-lacks-new-gpu-sm", 3, True),
    ]


def test_nothing_failed() -> None:
    assert order([]) == ()


@for_each(
    "command",
    ["sudo reboot", "nvidia-smi --gpu-reset", "sudo systemctl restart nvidia-fabricmanager", "sudo systemctl restart docker",
     "nvidia-smi -i 0 -mig 1"],
)  # fmt: skip
def test_what_ends_work_comes_after_the_drain_and_with_its_condition(command: str) -> None:
    """Also where the report says of its step that it harms nobody."""
    step = Step(text="Do it now.", command=command, where="host")
    drain, last = safe(Fix(id="x", title="X", steps=(step,))).steps
    assert drain.text.startswith("Drain this node")
    assert last.command == command
    assert last.destructive
    assert last.ends == ends_of(command)
    assert last.text.startswith("Once the ")
    assert last.text.endswith(" are no longer needed: do it now.")


def test_a_drain_and_a_condition_that_are_there_are_kept() -> None:
    drain = Step(text="Drain this node in Slurm.", command="scontrol ...", where="host")
    step = Step(text="Once the jobs on this host are no longer needed, reboot.", command="sudo reboot", where="host")
    found = safe(Fix(id="x", title="X", steps=(drain, step)))
    assert [one.text for one in found.steps] == [drain.text, step.text]
    late = safe(Fix(id="x", title="X", steps=(step, drain)))
    assert [one.text[:5] for one in late.steps] == ["Drain", "Once ", "Drain"], "a drain behind it is none"


def test_a_step_by_hand_gets_its_condition_too() -> None:
    step = Step(text="Power off and reseat the board.", where="host", ends="all jobs on this host")
    drain, last = safe(Fix(id="x", title="X", steps=(step,))).steps
    assert drain.text.startswith("Drain")
    assert last.text == "Once the jobs on this host are no longer needed: power off and reseat the board."


def test_a_harmless_fix_stays_as_it_is() -> None:
    assert safe(MODPROBE) == MODPROBE


FIXES = st.sampled_from([REBOOT, MODPROBE, None])
FINDINGS = st.lists(
    st.builds(
        lambda node, id, fix, users: finding(node, id, fix, users=users),
        st.integers(1, 12), st.sampled_from("abcde"), FIXES, st.booleans(),
    ),
    max_size=40,
)  # fmt: skip


@drawn(200)
@given(FINDINGS)
def test_each_failing_node_is_cured_once_and_no_step_goes_without_its_drain(found: list[NodeFinding]) -> None:
    repairs = order(found)
    for users in (False, True):
        nodes = {one.name for one in found if one.users is users}
        assert sum(one.cures for one in repairs if one.users is users) == len(nodes)
    assert [one.users for one in repairs] == sorted(one.users for one in repairs)
    for one in repairs:
        steps = one.fix.steps if one.fix else ()
        for at, step in enumerate(steps):
            if step.ends in DRAINED:
                assert any(earlier.text.startswith("Drain") for earlier in steps[:at])
    assert order(found) == repairs


@drawn(200)
@given(FINDINGS)
def test_the_first_repair_cures_at_least_as_many_as_any_other_would_alone(found: list[NodeFinding]) -> None:
    node = [one for one in order(found) if not one.users]
    alone = []
    for one in node:
        others = {name for other in node if other is not one for name in other.nodes}
        alone.append(len(set(one.nodes) - others))
    if node:
        assert node[0].cures == alone[0] == max(alone)


LOOK = Step(text="Show the processes.", command="nvidia-smi", where="host", purpose="look")
LIAR = Step(text="Only a look.", command="sudo apt-get install -y nvidia-driver-580", where="host", purpose="look")
INSTALL = Step(text="Install the driver.", command="sudo apt-get install -y nvidia-driver-580", where="host")
FILE = Step(text="Set the option in /etc/modprobe.d.", where="host")
DRAIN = Step(text="Drain this node in Slurm.", command="sudo scontrol update state=drain", where="host")
BOOT, RESET = REBOOT.steps[0], Step(text="Reset it.", command="sudo nvidia-smi -i 0 --gpu-reset", where="host")
STEPS = st.lists(st.sampled_from([LOOK, LIAR, INSTALL, FILE, DRAIN, BOOT, RESET]), min_size=1, max_size=5)


@drawn(300)
@given(STEPS)
def test_heading_steps_and_last_line_have_one_order(steps: list[Step]) -> None:
    """Where the node is drained, that is the first thing that changes it, and the heading says so; elsewhere neither."""
    found = safe(Fix(id="x", title="Install the driver", steps=tuple(steps)))
    changing = [step for step in found.steps if step != LOOK]
    ends = any(step in (BOOT, RESET) for step in steps)
    first = bool(changing) and changing[0].text.startswith("Drain")
    assert first or not ends
    assert repair_title(found) == ("Drain, then install the driver" if first else "Install the driver")
    kept = [step.command for step in found.steps if not step.text.startswith("Drain")]
    assert kept == [step.command for step in steps if step != DRAIN], "nothing else is moved or lost"


def test_a_title_that_drains_does_not_say_it_twice() -> None:
    assert (
        repair_title(safe(Fix(id="x", title="Drain and reseat the board", steps=(BOOT,))))
        == "Drain and reseat the board"
    )
