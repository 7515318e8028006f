"""Which wheels exist and what goes with them, written down a second time: by tag and range instead of row by row."""

from __future__ import annotations

from compat_matrix import Matrix

from ..rows import for_each

RELEASES = """1.8.0 1.8.1 1.9.0 1.9.1 1.10.0 1.10.1 1.10.2 1.11.0 1.12.0 1.12.1 1.13.0 1.13.1 2.0.0 2.0.1 2.1.0 2.1.1 2.1.2 2.2.0 2.2.1 2.2.2
2.3.0 2.3.1 2.4.0 2.4.1 2.5.0 2.5.1 2.6.0 2.7.0 2.7.1 2.8.0 2.9.0 2.9.1 2.10.0 2.11.0 2.12.0 2.12.1 2.13.0 2.14.0 2.14.1 2.15.0""".split()  # noqa: SIM905
CONDA = {
    "cu101": "1.8.0 1.8.1", "cu102": "1.8.0 1.12.1", "cu111": "1.8.0 1.11.0", "cu113": "1.10.0 1.12.1", "cu115": "1.11.0 1.11.0",
    "cu116": "1.12.0 1.13.1", "cu117": "1.13.0 2.0.1", "cu118": "2.0.0 2.5.1", "cu121": "2.1.0 2.5.1", "cu124": "2.4.0 2.5.1",
}  # fmt: skip
"""First and last torch of each CUDA in the conda channel."""
ARM = {
    "cu124": "2.4.0 2.5.1", "cu126": "2.9.0 2.15.0", "cu128": "2.9.0 2.11.0", "cu130": "2.9.0 2.15.0", "cu132": "2.12.0 2.15.0",
    "cu134": "2.14.0 2.15.0",
}  # fmt: skip
ARM_BESIDES = {
    ("2.6.0", "cu126"),
    ("2.7.0", "cu128"),
    ("2.7.1", "cu128"),
    ("2.8.0", "cu129"),
    ("2.11.0", "cu129"),
    ("2.13.0", "cu129"),
}
UNVERIFIED = {
    "linux_aarch64": "2.4.0=cu124 2.4.1=cu124 2.5.0=cu124 2.5.1=cu124 2.11.0=cu129 2.13.0=cu129 2.14.0=cu134 2.14.1=cu134 2.15.0=cu130 2.15.0=cu134",
    "linux_x86_64": "2.9.0=cu129 2.14.0=cu134 2.14.1=cu134 2.15.0=cu130 2.15.0=cu134",
    "windows": "2.15.0=cu130 2.15.0=cu132",
}
PTX_BLACKWELL = {
    ("linux_x86_64", "cu128"): "2.7.0 2.7.1", ("linux_x86_64", "cu129"): "2.8.0 2.11.0", ("linux_x86_64", "cu130"): "2.9.0 2.10.0",
    ("linux_aarch64", "cu129"): "2.11.0 2.11.0", ("linux_aarch64", "cu130"): "2.9.0 2.10.0",
}  # fmt: skip
"""First and last torch whose wheel carries PTX of 12.0."""
COMPANIONS = {
    "torchtext": "1.8.0=0.9.0 1.8.1=0.9.1 1.9.0=0.10.0 1.9.1=0.10.1 1.10.0=0.11.0 1.10.1=0.11.1 1.10.2=0.11.2 1.11.0=0.12.0 1.12.0=0.13.0 "
    "1.12.1=0.13.1 1.13.0=0.14.0 1.13.1=0.14.1 2.0.0=0.15.1 2.0.1=0.15.2 2.1.0=0.16.0 2.1.1=0.16.1 2.1.2=0.16.2 2.2.0=0.17.0 2.2.1=0.17.1 "
    "2.2.2=0.17.2 2.3.0>=0.18.0",
    "triton": "2.0.0=2.0.0 2.0.1=2.0.0 2.1.0=2.1.0 2.1.1=2.1.0 2.1.2=2.1.0 2.2.0=2.2.0 2.2.1=2.2.0 2.2.2=2.2.0 2.3.0=2.3.0 2.3.1=2.3.1 "
    "2.4.0=3.0.0 2.4.1=3.0.0 2.5.0=3.1.0 2.5.1=3.1.0 2.6.0=3.2.0 2.7.0=3.3.0 2.7.1=3.3.1 2.8.0=3.4.0 2.9.0=3.5.0 2.9.1=3.5.1 2.10.0=3.6.0 "
    "2.11.0=3.6.0 2.12.0=3.7.0 2.12.1=3.7.1 2.13.0=3.7.1 2.14.0~=3.8.0 2.14.1~=3.8.0 2.15.0~=3.9.0",
    "torchao": "2.5.0 0.12.0 2.6.0 0.12.0 2.7.1 0.12.0 2.8.0 0.13.0 2.8.0 0.14.0 2.9.0 0.14.1 2.9.1 0.15.0 2.10.0 0.16.0 2.11.0 0.17.0 2.11.0 0.18.0",
    "torchcodec": "2.4 0.0.3 2.5 0.1 2.6 0.2 2.7 0.3 2.7 0.4 2.7 0.5 2.8 0.6 2.8 0.7 2.9 0.8 2.9 0.9 2.10 0.10 2.11 0.11 2.11 0.12 2.11 0.13 "
    "2.11 0.14 2.11 0.15 2.11 0.16 2.11 0.17",
}  # fmt: skip
EXTENSIONS = {
    "flash-attn": (
        "0.2.0 0.2.1 0.2.2 0.2.3 0.2.4 0.2.5 0.2.6.post1 0.2.7 0.2.8 1.0.0 1.0.1 1.0.2 1.0.3.post0 1.0.4 1.0.5 1.0.6 1.0.7 1.0.8 "
        "1.0.9 2.0.0.post1 2.0.1 2.0.2 2.0.3 2.0.4 2.0.5 "
        "2.0.6 2.0.6.post2 2.0.7 2.0.8 2.0.9 2.1.0 2.1.1 2.1.2.post3 2.2.0 2.2.1 2.2.2 2.2.3.post2 2.2.4 2.2.4.post1 2.2.5 "
        "2.3.0 2.3.1.post1 2.3.2 2.3.3 2.3.4 2.3.5 "
        "2.3.6 2.4.0.post1 2.4.1 2.4.2 2.4.3.post1 2.5.0 2.5.1.post1 2.5.2 2.5.3 2.5.4 2.5.5 2.5.6 2.5.7 2.5.8 2.5.9.post1 "
        "2.6.0.post1 2.6.1 2.6.2 2.6.3 2.7.0.post2 2.7.1.post4 2.7.2.post1 2.7.3 2.7.4.post1 2.8.0.post2 2.8.1 2.8.2 2.8.3 "
        "2.8.3.post1 2.8.3.post2"
    ),
}


def between(ends: str) -> list[str]:
    """The releases from the first to the last."""
    first, last = ends.split()
    return RELEASES[RELEASES.index(first) : RELEASES.index(last) + 1]


def pairs(m: Matrix, platform: str) -> set[tuple[str, str]]:
    return {(row.torch, row.tag) for row in m.builds if row.platform == platform}


def test_the_releases(m: Matrix) -> None:
    assert [row.torch for row in m.releases] == RELEASES


def test_conda_has_the_builds_of_these_ranges(m: Matrix) -> None:
    assert pairs(m, "linux_x86_64_conda") == {(torch, tag) for tag, ends in CONDA.items() for torch in between(ends)}


def test_arm_has_the_builds_of_these_ranges(m: Matrix) -> None:
    assert (
        pairs(m, "linux_aarch64")
        == {(torch, tag) for tag, ends in ARM.items() for torch in between(ends)} | ARM_BESIDES
    )


def test_which_builds_are_published(m: Matrix) -> None:
    for row in m.builds:
        open_question = f"{row.torch}={row.tag}" in UNVERIFIED.get(row.platform, "").split()
        dropped = (row.torch, row.tag) == ("2.15.0", "cu126")
        assert row.published == ("dropped" if dropped else "unverified" if open_question else "yes"), (
            row.torch,
            row.tag,
            row.platform,
        )


def test_which_builds_carry_ptx(m: Matrix) -> None:
    for row in m.builds:
        old = row.platform in ("windows", "linux_x86_64_conda") and row.tag < "cu121"
        new = row.torch in between(PTX_BLACKWELL.get((row.platform, row.tag), "2.15.0 2.14.1"))
        assert row.ptx == (("3.7",) if old else ("12.0",) if new else ()), (row.torch, row.tag, row.platform)


def test_other_platforms_have_the_pythons_of_linux_but_for_these(m: Matrix) -> None:
    for row in m.releases:
        late = {"1.13.0": ("3.11",), "1.13.1": ("3.11",), "2.5.0": ("3.13",), "2.5.1": ("3.13",)}.get(row.torch, ())
        usual = tuple(python for python in row.pythons_linux_x86_64 if python not in late)
        assert row.pythons_windows == usual, row.torch
        odd = {"1.9.1": (), "1.10.2": (*usual, "3.10")}
        assert row.pythons_linux_aarch64 == odd.get(row.torch, usual), row.torch


@for_each("package", COMPANIONS)
def test_companions_by_torch(m: Matrix, package: str) -> None:
    rows = [row for row in m.companion_rows if row.package == package]
    if package in ("torchtext", "triton"):
        found = " ".join(f"{row.torch}{row.relation.replace('==', '=')}{row.version}" for row in rows)
    else:
        found = " ".join(f"{row.torch} {row.version}" for row in rows)
        assert [row.relation for row in rows] == (
            ["built-for"] * 8 + [">="] * 2 if package == "torchao" else ["=="] * 12 + [">="] * 6
        )
    assert found == COMPANIONS[package]


@for_each(
    ("package", "last", "twice", "loose"),
    [
        ("torchvision", "2.14.0", ("1.10.0", "2.0.0"), [("2.14.0", ">=")] * 2),
        ("torchaudio", "2.10.0", ("2.0.0",), [("*", "any"), ("2.11", ">=")]),
    ],
)
def test_vision_and_audio_are_pinned_to_their_torch_but_for_the_newest(
    m: Matrix, package: str, last: str, twice: tuple[str, ...], loose: list[tuple[str, str]]
) -> None:
    found = [(row.torch, row.relation) for row in m.companion_rows if row.package == package]
    assert found == [
        *((torch, "==") for torch in between(f"1.8.0 {last}") for _ in range(1 + (torch in twice))),
        *loose,
    ]


@for_each("package", EXTENSIONS)
def test_which_releases_of_an_extension_are_known(m: Matrix, package: str) -> None:
    assert " ".join(row.version for row in m.extensions if row.package == package) == EXTENSIONS[package]


def test_a_product_needs_the_kernel_module_of_its_generation(m: Matrix) -> None:
    rules = {row.cc: row.open_module for row in m.capabilities}
    for row in m.gpus:
        if row.cc:
            wanted = "required" if "GH200" in row.name else rules[row.cc]
            assert row.open_module == wanted, row.name


def test_only_systems_on_chip_have_no_pci_id(m: Matrix) -> None:
    without = [row.name for row in m.gpus if not row.device_ids]
    assert [name for name in without if not any(word in name for word in ("Thor", "Orin", "Xavier", "Tegra"))] == []
    assert len(without) == 8
    assert sum(len(row.device_ids) for row in m.gpus) == 326


def test_a_memory_size_is_one_that_boards_have(m: Matrix) -> None:
    sizes = {row.memory_gib for row in m.gpus if row.memory_gib}
    odd = sorted(size for size in sizes if size > 16 and size % 4)
    assert odd == [94, 141, 186], "H100 NVL, H200 and GB200 alone have an uneven size"
