"""device-nodes-missing, uvm-device-missing, container-device-permission-denied, nvml-unknown-error-container-cgroup."""

from __future__ import annotations

from msgspec.structs import replace

from doctor.snapshot import NOT_ASKED, Missing, Snapshot, known

from ..healthy import healthy, nodes
from ..judging import assert_fix_works, ids, run
from ..rows import for_each
from ..sickness import cuda_says, not_given, not_installed, nvml_says, unlisted, without_nvml

NODES, UVM = "device-nodes-missing", "uvm-device-missing"
DENIED, LOST = "container-device-permission-denied", "nvml-unknown-error-container-cgroup"


def no_nodes(s: Snapshot) -> Snapshot:
    return unlisted(s).replace({"driver.device_nodes": ()})


def no_uvm(s: Snapshot) -> Snapshot:
    s = cuda_says(s, 999).replace({"driver.device_nodes": nodes(1)[:2]})
    return s if s.container.kind != "none" else s.replace({"driver.modules": ("nvidia", "nvidia_modeset")})


def denied(s: Snapshot) -> Snapshot:
    closed = tuple(replace(n, mode=0o660, readable=False, writable=False) for n in nodes(1))
    return nvml_says(cuda_says(s, 100), 4).replace({"driver.device_nodes": closed})


def lost(s: Snapshot) -> Snapshot:
    return nvml_says(cuda_says(s, 999), 999)


@for_each(
    ("check_id", "sick"),
    [
        (NODES, no_nodes(healthy())),
        (UVM, no_uvm(healthy())),
        (UVM, no_uvm(healthy(container=True))),
        (DENIED, denied(healthy())),
        (DENIED, denied(healthy(container=True))),
        (LOST, lost(healthy(container=True))),
    ],
)
def test_it_comes_first_and_can_be_mended(check_id: str, sick: Snapshot) -> None:
    assert ids(sick)[0] == check_id
    finding = run(check_id, sick)[2][0]
    assert finding.fixes[0].possible_here
    assert_fix_works(sick, finding)


def test_healthy_machines_pass() -> None:
    assert [run(i, healthy())[0] for i in (NODES, UVM, DENIED, LOST)] == ["pass", "pass", "pass", "skipped"]
    assert [run(i, healthy(container=True))[0] for i in (NODES, UVM, DENIED, LOST)] == [
        "skipped",
        "pass",
        "pass",
        "pass",
    ]


def test_nodes_made_on_demand_are_no_fault() -> None:
    s = healthy().replace({"driver.device_nodes": ()})
    assert run(NODES, s)[0] == "pass"
    s = healthy().replace({"driver.device_nodes": nodes(1)[:2]})
    assert run(UVM, s)[0] == "pass"


def test_another_users_gpu_is_no_fault() -> None:
    two = nodes(2)
    closed = replace(two[1], readable=False, writable=False)
    s = cuda_says(healthy("h100", "h100"), 999).replace({"driver.device_nodes": (two[0], closed, *two[2:])})
    assert run(DENIED, s)[0] == "pass"


def test_unknown_without_the_deciding_facts() -> None:
    assert run(NODES, no_nodes(healthy()).replace({"driver.device_nodes": NOT_ASKED}))[0] == "unknown"
    assert run(NODES, no_nodes(healthy()).replace({"driver.cu_init": NOT_ASKED}))[0] == "unknown"
    assert run(UVM, no_uvm(healthy()).replace({"driver.device_nodes": Missing("denied")}))[0] == "unknown"
    unasked = no_uvm(healthy()).replace({"driver.cu_init": NOT_ASKED, "torch_run.first_call_code": NOT_ASKED})
    assert run(UVM, unasked)[0] == "unknown"
    hidden = cuda_says(nvml_says(healthy(), 999), 999)
    assert run(DENIED, hidden.replace({"driver.device_nodes": NOT_ASKED}))[0] == "unknown"
    unread = tuple(replace(n, readable=NOT_ASKED) for n in nodes(1))
    assert run(DENIED, hidden.replace({"driver.device_nodes": unread}))[0] == "unknown"
    assert run(LOST, lost(healthy(container=True)).replace({"driver.nvml_init": NOT_ASKED}))[0] == "unknown"
    assert run(LOST, healthy().replace({"container.kind": NOT_ASKED}))[0] == "unknown"


def test_where_they_do_not_apply() -> None:
    assert run(NODES, not_installed(healthy()))[0] == "skipped"
    assert run(UVM, not_given(healthy(container=True)))[0] == "skipped"
    assert run(LOST, without_nvml(healthy(container=True)))[0] == "skipped"
    for check_id in (NODES, UVM):
        assert run(check_id, healthy().replace({"host.wsl": 2}))[0] == "skipped"


def test_a_group_is_joined_only_where_it_is_not_roots_and_may_open_the_nodes() -> None:
    for gid, mode, joins in ((44, 0o660, True), (0, 0o660, False), (44, 0o640, False), (44, 0o600, False)):
        closed = tuple(replace(n, readable=False, writable=False, gid=gid, mode=mode) for n in nodes(1))
        sick = cuda_says(nvml_says(healthy(), 4), 100).replace(
            {"driver.device_nodes": closed, "host.user_is_root": False}
        )
        finding = run(DENIED, sick)[2][0]
        commands = [step.command for fix in finding.fixes for step in fix.steps]
        join = 'sudo usermod -aG "$(stat -c %G /dev/nvidia0)" "$USER"'
        assert (commands == [join]) is joins, (gid, oct(mode))
        assert joins or commands[-1] == 'sudo gpasswd -a "$USER" nvidia'
        assert_fix_works(sick, finding)


def test_nodes_are_opened_no_wider_than_the_driver_has_them() -> None:
    """The driver's own mode where it lets everybody in; else no mode at all, and never the folder of MIG's nodes."""
    for own, opened in ((0o666, "0666"), (0o660, ""), (0o600, "")):
        closed = tuple(replace(n, readable=False, writable=False, mode=0o600) for n in nodes(1))
        sick = cuda_says(nvml_says(healthy(), 4), 100).replace(
            {"driver.device_nodes": closed, "host.user_is_root": False, "driver.device_file_mode": own}
        )
        finding = run(DENIED, sick)[2][0]
        lines = [line for fix in finding.fixes for step in fix.steps for line in step.command.split(" && ")]
        wide = [line for line in lines if "chmod" in line and "0660" not in line]
        assert [line.split()[2] for line in wide] == ([opened] if opened else []), oct(own)
        assert all("/dev/nvidia*" not in line and "nvidia-caps" not in line for line in lines)
        assert_fix_works(sick, finding)


def test_open_nodes_are_not_closed_to_others() -> None:
    """One node is closed and the others are open to all: they stay so."""
    first, *rest = nodes(1)
    shut = replace(first, readable=False, writable=False, mode=0o600)
    sick = cuda_says(nvml_says(healthy(), 4), 100).replace({"driver.device_nodes": (shut, *rest)})
    commands = [step.command for fix in run(DENIED, sick)[2][0].fixes for step in fix.steps]
    assert commands and not any("0660" in line for line in commands), commands


def test_one_missing_node_is_and_several_are() -> None:
    sick = no_nodes(healthy())
    all_ = run(NODES, sick)[2][0]
    missing = ["/dev/nvidiactl", "/dev/nvidia0", "/dev/nvidia-uvm"]
    assert all_.facts["missing"] == missing and "are not in /dev" in all_.detail
    kept = tuple(n for n in known(healthy().driver.device_nodes) or () if n.path != "/dev/nvidia0")
    one = run(NODES, sick.replace({"driver.device_nodes": kept}))[2][0]
    assert one.facts["missing"] == ["/dev/nvidia0"] and "/dev/nvidia0 is not in /dev" in one.detail
