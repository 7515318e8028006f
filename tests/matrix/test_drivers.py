"""Drivers against CUDA, GPUs and compat packages: facts of NVIDIA's release notes and compatibility pages."""

from __future__ import annotations

from compat_matrix import Matrix

from ..rows import for_each

LINUX = [
    # the driver's own CUDA and below
    ("580.82.07", "13.0", "native"),
    ("535.129.03", "12.2", "native"),
    ("535.129.03", "12.1", "native"),
    ("535.129.03", "11.8", "native"),
    ("570.86.10", "12.8", "native"),
    ("570.26", "12.8", "native"),
    ("550.54.15", "12.4", "native"),
    ("470.256.02", "11.4", "native"),
    ("450.51.05", "11.0", "native"),
    ("620.70.06", "13.5", "native"),
    ("418.87.00", "10.1", "native"),
    # minor-version compatibility, on both sides of each floor
    ("535.129.03", "12.8", "minor-version"),
    ("525.60.13", "12.9", "minor-version"),
    ("525.60.12", "12.9", "impossible"),
    ("450.80.02", "11.8", "minor-version"),
    ("450.80.01", "11.3", "needs-forward-compat"),
    ("470.256.02", "11.8", "minor-version"),
    ("580.65.06", "13.5", "minor-version"),
    ("580.65.05", "13.0", "native"),
    ("580.65.05", "13.1", "needs-forward-compat"),
    # below the floor of the major
    ("535.129.03", "13.0", "needs-forward-compat"),
    ("570.211.01", "13.2", "needs-forward-compat"),
    ("470.256.02", "12.1", "needs-forward-compat"),
    ("560.35.03", "13.1", "needs-forward-compat"),
    ("520.61.05", "13.0", "impossible"),
    ("440.33.01", "12.1", "impossible"),
    # CUDA 10 has no minor-version compatibility
    ("410.104", "10.2", "needs-forward-compat"),
    ("387.26", "10.1", "impossible"),
    # not listed
    ("540.4.0", "12.6", "unknown"),
    ("580.82.07", "13.9", "unknown"),
    ("580.82.07", "14.0", "unknown"),
    ("580.82.07", "11.9", "unknown"),
    ("nonsense", "12.8", "unknown"),
    ("580.82.07", "", "unknown"),
]


@for_each(("driver", "cuda", "grade"), LINUX)
def test_driver_against_cuda(m: Matrix, driver: str, cuda: str, grade: str) -> None:
    assert m.driver_for_cuda(driver, cuda).grade == grade


@for_each(
    ("driver", "cuda", "grade"),
    [
        ("572.61", "12.8", "native"),
        ("527.41", "12.6", "minor-version"),
        ("522.06", "12.6", "impossible"),
        ("452.39", "11.8", "minor-version"),
        ("452.38", "11.8", "impossible"),
        ("581.15", "13.0", "native"),
        ("576.57", "13.0", "impossible"),
    ],
)
def test_windows_numbers(m: Matrix, driver: str, cuda: str, grade: str) -> None:
    assert m.driver_for_cuda(driver, cuda, "windows").grade == grade


def test_the_grade_names_floors_and_limits(m: Matrix) -> None:
    answer = m.driver_for_cuda("535.129.03", "12.8")
    assert (answer.cuda_reported, answer.floor_full, answer.floor_minor) == ("12.2", "570.26", "525.60.13")
    assert answer.limits == "sass-only"
    assert answer.rows and all(m.source(row.source) != row.source for row in answer.rows)


FULL_FLOORS = {
    "9.0": "384.81", "9.2": "396.26", "10.0": "410.48", "10.1": "418.39", "10.2": "440.33", "11.0": "450.36.06",
    "11.1": "455.23", "11.2": "460.27.03", "11.3": "465.19.01", "11.4": "470.42.01", "11.5": "495.29.05",
    "11.6": "510.39.01", "11.7": "515.43.04", "11.8": "520.61.05", "12.0": "525.60.13", "12.1": "530.30.02",
    "12.2": "535.54.03", "12.3": "545.23.06", "12.4": "550.54.14", "12.5": "555.42.02", "12.6": "560.28.03",
    "12.8": "570.26", "12.9": "575.51.03", "13.0": "580.65.06", "13.1": "590.44.01", "13.2": "595.45.04",
    "13.3": "610.43.02", "13.4": "615", "13.5": "620",
}  # fmt: skip


@for_each(("cuda", "floor"), FULL_FLOORS.items())
def test_full_feature_floor(m: Matrix, cuda: str, floor: str) -> None:
    assert m.driver_for_cuda("999.99", cuda).floor_full == floor


REPORTED = {
    384: "9.0", 390: "9.1", 396: "9.2", 410: "10.0", 418: "10.1", 440: "10.2", 450: "11.0", 455: "11.1", 460: "11.2",
    465: "11.3", 470: "11.4", 495: "11.5", 510: "11.6", 515: "11.7", 520: "11.8", 525: "12.0", 530: "12.1", 535: "12.2",
    545: "12.3", 550: "12.4", 555: "12.5", 560: "12.6", 565: "12.7", 570: "12.8", 575: "12.9", 580: "13.0", 590: "13.1",
    595: "13.2", 610: "13.3", 615: "13.4", 620: "13.5",
}  # fmt: skip


@for_each(("branch", "cuda"), REPORTED.items())
def test_branch_reports_cuda(m: Matrix, branch: int, cuda: str) -> None:
    answer = m.driver_branch(f"{branch}.1.1")
    assert answer.status == "known" and answer.row is not None and answer.row.cuda == cuda


def test_a_driver_newer_than_the_matrix_never_fails(m: Matrix) -> None:
    assert m.driver_branch("999.10.01").status == "newer-than-matrix"
    known = m.driver_for_cuda("999.10.01", "13.5")
    assert known.grade == "native" and known.newer_than_matrix
    assert m.driver_for_cuda("999.10.01", "15.0").grade == "unknown"
    assert m.driver_for_gpu("999.10.01", "9.0").grade == "unknown"
    assert m.driver_for_gpu("999.10.01", "9.0").newer_than_matrix
    assert m.driver_for_gpu("999.10.01", "7.0").grade == "too-new"
    assert m.forward_compat("13.0", "999.10.01", segment="datacenter").grade == "unknown"


@for_each(
    ("driver", "capability", "flavour", "grade"),
    [
        ("570.86.16", "12.0", "open", "ok"),
        ("570.86.16", "12.0", None, "ok"),
        ("570.86.16", "12.0", "proprietary", "needs-open-module"),
        ("565.57.01", "12.0", "open", "too-old"),
        ("575.57.08", "10.3", "open", "too-old"),
        ("580.82.07", "10.3", "open", "ok"),
        ("580.95.05", "12.1", "open", "ok"),
        ("610.43.02", "10.7", "open", "too-old"),
        ("580.178.04", "7.0", "proprietary", "ok"),
        ("590.44.01", "7.0", "proprietary", "too-new"),
        ("590.44.01", "6.1", None, "too-new"),
        ("590.44.01", "5.2", None, "too-new"),
        ("590.44.01", "7.5", "open", "ok"),
        ("470.256.02", "3.5", None, "ok"),
        ("495.44", "3.5", None, "too-new"),
        ("550.54.15", "6.1", "open", "open-module-unsupported"),
        ("535.129.03", "7.0", "open", "open-module-unsupported"),
        ("535.129.03", "8.9", "proprietary", "ok"),
        ("510.108.03", "8.9", None, "too-old"),
        ("450.80.02", "8.6", None, "too-old"),
        ("440.33.01", "8.0", None, "too-old"),
        ("396.26", "7.5", None, "too-old"),
        ("540.4.0", "8.7", None, "unknown"),
        ("580.82.07", "20.0", None, "unknown"),
        ("", "8.0", None, "unknown"),
    ],
)
def test_driver_against_gpu(m: Matrix, driver: str, capability: str, flavour: str | None, grade: str) -> None:
    assert m.driver_for_gpu(driver, capability, flavour).grade == grade


def test_a_board_may_ask_for_more_than_its_capability(m: Matrix) -> None:
    asked = m.driver_for_gpu("570.86.15", "9.0", "proprietary", gpu_name="NVIDIA GH200 480GB")
    assert asked.grade == "needs-open-module"
    assert m.driver_for_gpu("570.86.15", "9.0", "proprietary", gpu_name="NVIDIA H100 PCIe").grade == "ok"
    assert m.driver_for_gpu("570.86.15", "9.0", "open", gpu_name="NVIDIA GH200 480GB").grade == "ok"


def test_windows_driver_against_gpu(m: Matrix) -> None:
    assert m.driver_for_gpu("572.16", "12.0", platform="windows").grade == "ok"
    assert m.driver_for_gpu("566.36", "12.0", platform="windows").grade == "too-old"


@for_each(
    ("cuda", "driver", "about", "grade"),
    [
        ("13.0", "535.129.03", {"gpu_name": "NVIDIA H100 80GB HBM3"}, "possible"),
        ("13.0", "535.129.03", {"brand_id": 14}, "possible"),
        ("13.0", "535.129.03", {"gpu_name": "NVIDIA GeForce RTX 4090"}, "not-on-this-gpu"),
        ("13.0", "535.129.03", {"brand_id": 15}, "not-on-this-gpu"),
        ("13.0", "535.129.03", {"gpu_name": "NVIDIA RTX A6000"}, "unknown"),
        ("13.0", "535.129.03", {"brand_id": 13, "note_brands": [1, 2, 13]}, "possible"),
        ("13.0", "535.129.03", {}, "unknown"),
        ("13.0", "525.147.05", {"segment": "datacenter"}, "not-on-this-driver"),
        ("13.0", "560.35.03", {"segment": "datacenter"}, "not-on-this-driver"),
        ("13.1", "580.82.07", {"segment": "datacenter"}, "possible"),
        ("13.3", "590.48.01", {"segment": "datacenter"}, "possible"),
        ("12.9", "535.129.03", {"segment": "datacenter", "note_hosts": [535, 550]}, "possible"),
        ("12.9", "535.129.03", {"segment": "datacenter", "note_hosts": [550]}, "not-on-this-driver"),
        ("12.2", "535.129.03", {"segment": "datacenter"}, "not-needed"),
        ("12.4", "580.82.07", {"segment": "datacenter"}, "not-needed"),
        ("13.5", "535.129.03", {"segment": "datacenter"}, "unknown"),
    ],
)
def test_forward_compatibility(m: Matrix, cuda: str, driver: str, about: dict[str, object], grade: str) -> None:
    assert m.forward_compat(cuda, driver, **about).grade == grade  # type: ignore[arg-type]


def test_end_of_life(m: Matrix) -> None:
    from compat_matrix.branches import branch_ended

    lts = m.driver_branch("535.129.03").row
    new = m.driver_branch("580.82.07").row
    assert lts is not None and new is not None
    assert lts.type == new.type == "lts"
    assert branch_ended(m, lts, "2026-06-30") is False
    assert branch_ended(m, lts, "2026-07-01") is True
    assert branch_ended(m, new, "2026-11-20") is False
