"""A container's host beside it: what the report shows, and what it says of a difference."""

from __future__ import annotations

from pathlib import Path

from doctor.report.outside import remarks, rows
from doctor.snapshot import Missing, Outside, Snapshot

from ..cli.command import gpudoctor, save
from ..healthy import gpu, healthy, nodes

HOST = Outside(
    kernel_version="580.95.05", libcuda_path="/usr/lib/x86_64-linux-gnu/libcuda.so.1", libcuda_version="580.95.05",
    cuda_version="13.0", gpus=("NVIDIA H100 80GB HBM3",) * 4,
    nodes=("/dev/nvidiactl", *(f"/dev/nvidia{n}" for n in range(4))),
    mounted=tuple(f"/usr/lib/x86_64-linux-gnu/libnvidia-{n}.so.580.95.05" for n in range(5)),
)  # fmt: skip


def inside(**facts: object) -> Snapshot:
    changes = {"gpus": (gpu(),), "driver.device_nodes": nodes(1), "driver.libcuda_version": "580.95.05", **facts}
    return healthy().replace({"container.kind": "docker", "outside": HOST, **changes})


def test_what_stands_side_by_side() -> None:
    found = {name: (host, own) for name, host, own in rows(inside())}
    assert found["driver"][0] == "580.95.05" and found["GPUs"] == ("4x H100 80GB HBM3", "1x H100 80GB HBM3")
    assert found["libcuda"][0] == "libcuda.so.1 580.95.05" and found["mounted"][1].endswith("and 2 more")
    assert rows(healthy()) == [] and remarks(healthy()) == []


def test_a_library_of_the_image_and_gpus_that_were_not_given() -> None:
    assert remarks(inside()) == ["3 of the host's 4 GPUs were not passed to the container."]
    baked = remarks(inside(**{"driver.libcuda_version": "550.54.14", "driver.device_nodes": nodes(4)}))
    assert baked == [
        "The container's libcuda 550.54.14 does not match the host's driver 580.95.05; it comes from the image."
    ]
    assert remarks(inside(**{"driver.libcuda_version": Missing("absent"), "driver.device_nodes": nodes(4)})) == []


def test_every_form_of_the_report_has_it(tmp_path: Path) -> None:
    path = save(tmp_path, inside())
    text, markdown = (
        gpudoctor("check", "--from", path, "--format", form).stdout.decode() for form in ("text", "markdown")
    )
    assert "on the host" in text and "3 of the host's 4 GPUs" in text
    assert "| driver | 580.95.05 |" in markdown and "3 of the host's 4 GPUs" in markdown
