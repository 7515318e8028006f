"""`gpudoctor topo` as a user calls it: pasted tables, saved reports, and tables that are not whole."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jsonschema
import pytest
from msgspec.structs import replace

from doctor.snapshot import CudaDevice, DeviceNode, GpuPair, Missing, PciDevice, PciePath, Snapshot, known
from tests.machines.generate import CUBE_MESH

from ..cli.command import gpudoctor, one_line, save
from ..healthy import healthy
from ..rows import Faults, for_each

NV2 = """\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity
GPU0\t X \tNV2\t0-23\t\tN/A
GPU1\tNV2\t X \t0-23\t\tN/A
"""
PHB = NV2.replace("NV2", "PHB").replace("0-23", "0-11")
NICS = """\x1b[4m\tGPU0\tGPU1\tNIC0\tNIC1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\x1b[0m
GPU0\t X \tNV4\tPIX\tSYS\t0-31\t0\t\tN/A
GPU1\tNV4\t X \tSYS\tPXB\t32-63\t1\t\tN/A
NIC0\tPIX\tSYS\t X \tSYS
NIC1\tSYS\tPXB\tSYS\t X

Legend:

  X    = Self

NIC Legend:

  NIC0: mlx5_0
  NIC1: mlx5_1
"""


def asked(text: str, *flags: str, code: int = 0) -> dict[str, Any]:
    """The answer in JSON to a pasted table."""
    done = gpudoctor("topo", "-", "--format", "json", *flags, data=text.encode())
    assert done.returncode == code, done
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def test_links_two_machines_as_nvidia_smi_prints_them() -> None:
    """worked-numbers.md, Links: NV2 with CPUs 0-23, PHB with 0-11, and what it means for DDP and ZeRO."""
    with Faults() as faults:
        for text, link, cpus in ((NV2, "NV2", "0-23"), (PHB, "PHB", "0-11")):
            with faults.of(link):
                found = asked(text, "--gpu", "TITAN RTX")
                assert found["links"] == [["X", link], [link, "X"]]
                assert [d["cpu_affinity"] for d in found["devices"]] == [cpus, cpus]
                assert [d["numa"] for d in found["devices"]] == ["N/A", "N/A"]
                sent = {cost["way"]: cost["bytes_per_step"] for cost in found["costs"]}
                assert sent["FSDP / ZeRO 3"] == 1.5 * sent["DDP"] and sent["DDP"] == 2 * 0.5 * 2 * 7e9


def test_links_legend() -> None:
    """worked-numbers.md, Links: the legend's seven lines."""
    legend = asked(NV2, "--gpu", "TITAN RTX")["legend"]
    words = {"X": "itself", "SYS": "between NUMA nodes", "NODE": "host bridges of one NUMA node", "PHB": "a host bridge",
             "PXB": "several PCIe bridges", "PIX": "at most one PCIe bridge", "NV#": "# NVLinks"}  # fmt: skip
    assert all(text in legend[name] for name, text in words.items())


def test_links_third_generation_nvlink_on_ga102() -> None:
    """worked-numbers.md, Links: 4 x 14.0625 = 56.25 GB/s each way, 112.5 in all; two boards at most."""
    found = asked(NV2.replace("NV2", "NV4"), "--gpu", "RTX 3090")
    assert found["rate_gb_s"] == 56.25
    assert "4 x 14.0625 = 56.25 GB/s each way, 112.5 GB/s in total" in found["rate_words"]
    four = "\tGPU0\tGPU1\tGPU2\nGPU0\tX\tNV4\tSYS\nGPU1\tNV4\tX\tSYS\nGPU2\tSYS\tSYS\tX\n"
    more = asked(four, "--gpu", "RTX 3090")
    assert more["slowest"] == "SYS" and any(
        "an NVLink bridge connects at most two RTX 3090" in note for note in more["notes"]
    )


def test_a_table_with_nics() -> None:
    found = asked(NICS, "--gpu", "RTX 3090")
    assert found["nearest_nics"] == {"GPU0": ["NIC0"], "GPU1": ["NIC1"]}
    assert found["slowest"] == "NV4" and [d["nic"] for d in found["devices"]] == ["", "", "mlx5_0", "mlx5_1"]


def test_without_a_model_seconds_are_not_known() -> None:
    found = asked(PHB, code=3)
    assert found["missing"] == ["the GPUs' model (--gpu 'RTX 3090')"]
    assert all(cost["seconds"] is None and cost["bytes_per_step"] for cost in found["costs"])
    assert found["verdict"] == "PHB: fine for DDP; ZeRO-3 and tensor parallelism will wait for the link."


def test_a_slower_link_is_told_in_the_verdict() -> None:
    found = asked(PHB, "--gpu", "A100-SXM4-40GB")
    assert found["rate_gb_s"] == 31.5
    waits = {cost["way"] for cost in found["costs"] if cost["verdict"].startswith("waits for the link")}
    assert "FSDP / ZeRO 3" in waits and "will wait for the link" in found["verdict"]
    near = asked(NV2.replace("NV2", "NV18"), "--gpu", "H100 SXM")
    assert near["verdict"].startswith("NV18, the fastest link these GPUs have: fine for DDP")
    assert "will wait" not in near["verdict"] and "slowed" not in near["verdict"]


@pytest.mark.slow
def test_tables_that_are_not_whole() -> None:
    lines = NV2.splitlines(keepends=True)
    broken = {
        "the row for GPU1 is missing": "".join(lines[:2]),
        "they are cut off": NV2.replace("NUMA Affinity", "NUMA Aff"),
        "line 3: GPU1 has no column": "".join([lines[0].replace("\tGPU1", ""), "GPU0\tX\t0-23\tN/A\n", lines[2]]),
        "line 3: GPU1 has 1 of 2 links: columns are cut off": "".join([*lines[:2], "GPU1\tNV2\n"]),
        "line 3: GPU1 lacks its CPU": "".join([*lines[:2], "GPU1\tNV2\tX\n"]),
        "is not a link": NV2.replace("NV2\t X", "OK\t X"),
        "GPU1 to GPU0 is PHB, but GPU0 to GPU1 is NV2": NV2.replace("GPU1\tNV2", "GPU1\tPHB"),
        "no table": "hello\n",
        "not in its own column": "".join([*lines[:2], "GPU1\tX\tNV2\t0-23\tN/A\n"]),
    }
    with Faults() as faults:
        for words, text in broken.items():
            with faults.of(words):
                assert words in one_line(gpudoctor("topo", "-", data=text.encode()))


def joined(count: int, links: int | None) -> Snapshot:
    """A sound machine with so many GPUs, each two one PCIe host bridge apart, or on one NVSwitch fabric."""
    s = healthy()
    (first, *_) = known(s.gpus) or ()
    fabric = {"nvlink_active": links, "nvlink_inactive": 0, "fabric_state": 3} if links else {}
    gpus = tuple(replace(first, key=f"gpu-{n}", index=n, uuid=f"GPU-{n}", **fabric) for n in range(count))
    nvlink = 0 if links else 1
    pairs = tuple(
        GpuPair(a=a.key, b=b.key, p2p_read=0, p2p_nvlink=nvlink, topology=30)
        for at, a in enumerate(gpus) for b in gpus[at + 1 :]
    )  # fmt: skip
    return replace(s, gpus=gpus, gpu_pairs=pairs)


def test_a_report(tmp_path: Path) -> None:
    done = gpudoctor("topo", "--from", save(tmp_path, joined(72, 18)), "--format", "json")
    assert done.returncode in (0, 3), done
    found = json.loads(done.stdout)
    assert len(found["links"]) == 72 and found["slowest"] == "NV18" and found["rate_gb_s"] == 450
    schema = json.loads(gpudoctor("schema", "topo").stdout)
    jsonschema.Draft202012Validator(schema).validate(found)


def test_a_report_that_lacks_a_pair(tmp_path: Path) -> None:
    s = joined(2, None)
    (pair,) = known(s.gpu_pairs) or ()
    s = replace(s, gpu_pairs=(replace(pair, topology=Missing("denied")),))
    done = gpudoctor("topo", "--from", save(tmp_path, s))
    assert "the given facts do not show what connects GPU0 and GPU1" in one_line(done, 3)


def test_the_other_forms() -> None:
    picture = gpudoctor("topo", "-", "--gpu", "RTX 3090", "--format", "svg", data=NICS.encode())
    assert picture.returncode == 0
    words = [element.text for element in ElementTree.fromstring(picture.stdout).iter() if element.text]
    assert words.count("NV4") == 2 and words.count("PIX") == 2
    table = gpudoctor("topo", "-", "--gpu", "RTX 3090", "--format", "markdown", data=NICS.encode()).stdout.decode()
    assert "| GPU0 | X | NV4 | PIX | SYS | 0-31 | 0 |" in table and "| DDP | " in table


def test_a_dgx_1_by_the_ends_of_its_links(tmp_path: Path) -> None:
    """Two GPUs that no NVLink joins lie as PCIe has them; the slowest of all links is named."""
    s = joined(8, None)
    gpus = tuple(replace(gpu, nvlink_active=6, nvlink_inactive=0) for gpu in known(s.gpus) or ())
    order = {gpu.key: at for at, gpu in enumerate(gpus)}
    pairs = tuple(
        replace(pair, nvlinks=n, p2p_nvlink=0 if n else 1, topology=50)
        for pair in known(s.gpu_pairs) or () for n in [CUBE_MESH[order[pair.a]][order[pair.b]]]
    )  # fmt: skip
    done = gpudoctor("topo", "--from", save(tmp_path, replace(s, gpus=gpus, gpu_pairs=pairs)), "--format", "json")
    found = json.loads(done.stdout)
    assert found["links"][0] == ["X", "NV1", "NV1", "NV2", "NV2", "SYS", "SYS", "SYS"]
    assert found["slowest"] == "SYS"


def test_an_hgx_without_a_fabric_manager_by_the_ends_of_its_links(tmp_path: Path) -> None:
    """An A100's driver tells no state of the fabric: its links to the switches do."""
    s = joined(8, 12)
    gpus = tuple(
        replace(gpu, fabric_state=Missing("absent", "not supported"), nvlinks_to_switch=12)
        for gpu in known(s.gpus) or ()
    )
    pairs = tuple(replace(pair, nvlinks=0) for pair in known(s.gpu_pairs) or ())
    done = gpudoctor("topo", "--from", save(tmp_path, replace(s, gpus=gpus, gpu_pairs=pairs)), "--format", "json")
    assert done.returncode == 0 and json.loads(done.stdout)["slowest"] == "NV12"
    unknown = tuple(replace(gpu, nvlinks_to_switch=Missing("error")) for gpu in gpus)
    done = gpudoctor("topo", "--from", save(tmp_path, replace(s, gpus=unknown, gpu_pairs=pairs)))
    assert "GPU0 and GPU1 are connected by NVLink, but the given facts do not show by how many links" in one_line(
        done, 3
    )


def hung() -> Snapshot:
    """Four GPUs and two cards: two GPUs and a card below a switch of each processor."""
    s = joined(4, None)
    paths = []
    gpus = []
    for at, gpu in enumerate(known(s.gpus) or ()):
        half = at // 2
        above = (f"pci0000:{half}0", f"0000:{half}0:01.0", f"0000:{half}1:00.0", f"0000:{half}2:0{at % 2}.0")
        address = f"0000:{half}{3 + at % 2}:00.0"
        gpus.append(replace(gpu, pci_address=address))
        paths.append(PciePath(address=address, bridges=above, numa_node=half, cpus=f"{half * 24}-{half * 24 + 23}",
                              iommu="DMA-FQ", acs_redirects=(above[-1],)))  # fmt: skip
    for half in (0, 1):
        above = (f"pci0000:{half}0", f"0000:{half}0:01.0", f"0000:{half}1:00.0", f"0000:{half}2:04.0")
        paths.append(PciePath(address=f"0000:{half}8:00.0", bridges=above, nic=f"mlx5_{half}", numa_node=half,
                              cpus=f"{half * 24}-{half * 24 + 23}", iommu="DMA-FQ", acs_redirects=()))  # fmt: skip
    gpus_of = {gpu.key: at for at, gpu in enumerate(gpus)}
    pairs = tuple(
        replace(pair, topology=10 if gpus_of[pair.a] // 2 == gpus_of[pair.b] // 2 else 50)
        for pair in known(s.gpu_pairs) or ()
    )
    devices = tuple(
        CudaDevice(
            ordinal=at, pci_address=gpu.pci_address, peers=tuple(n for n in range(4) if n != at and (at, n) != (0, 3))
        )
        for at, gpu in enumerate(gpus)
    )
    s = replace(s, gpus=tuple(gpus), gpu_pairs=pairs)
    return s.replace({"driver.pcie_paths": tuple(paths), "driver.cuda_devices": devices})


def test_affinity_and_cards_of_sysfs(tmp_path: Path) -> None:
    found = json.loads(gpudoctor("topo", "--from", save(tmp_path, hung()), "--format", "json").stdout)
    assert [d["name"] for d in found["devices"]] == ["GPU0", "GPU1", "GPU2", "GPU3", "NIC0", "NIC1"]
    assert found["links"][0] == ["X", "PIX", "SYS", "SYS", "PIX", "SYS"]
    assert found["links"][5] == ["SYS", "SYS", "PIX", "PIX", "SYS", "X"]
    assert [d["numa"] for d in found["devices"]] == ["0", "0", "1", "1", "0", "1"]
    assert found["devices"][3]["cpu_affinity"] == "24-47"
    assert found["nearest_nics"] == {"GPU0": ["NIC0"], "GPU1": ["NIC0"], "GPU2": ["NIC1"], "GPU3": ["NIC1"]}
    text = gpudoctor("topo", "--from", save(tmp_path, hung())).stdout.decode()
    assert "NIC0" in text and "mlx5_0" in text
    plain = " ".join(text.split())
    assert "no peer access in CUDA: GPU0 to GPU3" in plain and "peer access (NVML): between all GPUs" in plain
    assert "ACS redirects traffic between devices at 0000:02:00.0" in plain
    assert "IOMMU: on; the GPUs' groups have type DMA-FQ" in plain


@pytest.mark.slow
def test_a_recording(on_machine: Callable[..., dict[str, str]], tmp_path: Path) -> None:
    """The folder of a recording gives the matrix that the machine gave."""
    env = on_machine("v100x8")
    done = gpudoctor("record", str(tmp_path / "kept"), env=env)
    assert (tmp_path / "kept").is_dir(), done
    live = json.loads(gpudoctor("topo", "--format", "json", env=env).stdout)
    kept = json.loads(gpudoctor("topo", "--from", str(tmp_path / "kept"), "--format", "json").stdout)
    assert kept["links"] == live["links"] and kept["links"][0][3] == "NV2"


def test_gpus_of_several_kinds(tmp_path: Path) -> None:
    """One rate is not made up for them."""
    s = joined(2, None)
    (one, two) = known(s.gpus) or ()
    s = replace(s, gpus=(one, replace(two, name="NVIDIA GeForce RTX 4090")))
    done = gpudoctor("topo", "--from", save(tmp_path, s), "--format", "json")
    assert done.returncode == 3
    assert "a common rate, because the GPUs are different models" in json.loads(done.stdout)["missing"][0]


@pytest.mark.slow
def test_the_report_of_an_explained_text_gives_the_same_matrix(tmp_path: Path) -> None:
    """`explain` reads a pasted table into the facts that `topo` draws."""
    four = (
        "\tGPU0\tGPU1\tGPU2\tCPU Affinity\nGPU0\tX\tNV4\tSYS\t0-11\nGPU1\tNV4\tX\tPHB\t0-11\nGPU2\tSYS\tPHB\tX\t0-11\n"
    )
    report = tmp_path / "explained.json"
    report.write_bytes(gpudoctor("explain", "-", "--format", "json", data=four.encode()).stdout)
    found = json.loads(gpudoctor("topo", "--from", report, "--gpu", "RTX 3090", "--format", "json").stdout)
    assert found["links"] == asked(four, "--gpu", "RTX 3090")["links"]


@pytest.mark.slow
@for_each(
    ("changed", "words"),
    [
        ({"driver.pci_devices": ()}, "NVML did not list the GPUs"),
        ({}, "there is no NVIDIA GPU here (according to the PCI bus)"),
        ({"host.wsl": 2}, "NVML did not list the GPUs; gpudoctor check on that machine shows why"),
        ({"driver.device_nodes": (DeviceNode(path="/dev/nvhost-gpu", kind="tegra"),)}, "NVML did not list the GPUs"),
    ],
)
def test_no_list_of_gpus(tmp_path: Path, changed: dict[str, Any], words: str) -> None:
    """Why there is nothing to draw, and what can be drawn all the same. (An empty PCI list proves nothing.)"""
    bus = (PciDevice(address="0000:01:00.0", vendor="1a03", device="2000", class_code="030000"),)
    s = healthy().replace({"gpus": Missing("absent"), "driver.pci_devices": bus, **changed})
    line = one_line(gpudoctor("topo", "--from", save(tmp_path, s)), 3)
    assert words in line and "topo -" in line


def test_a_text_that_names_no_gpu(tmp_path: Path) -> None:
    report = tmp_path / "text.json"
    report.write_bytes(gpudoctor("explain", "my training is slow and I do not know why", "--format", "json").stdout)
    assert "the given facts include no GPU" in one_line(gpudoctor("topo", "--from", str(report)), 3)
