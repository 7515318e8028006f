"""Writes the machines of this folder: `python -m tests.machines.generate`. See README.md for the two file formats."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent

# name, PCI device, subsystem, compute capability, MiB, brand, NVML architecture, W, PCIe generation, kind.
# Names, ids, memory and power are those of real boards; clocks and temperatures are plausible ones.
MODELS: dict[str, dict[str, Any]] = {
    "h100": dict(name="NVIDIA H100 80GB HBM3", pci="2330", sub="16c110de", cc="9.0", mib=81559, brand=14, arch=9, watt=700, gen=5, max=1980, mem=2619, links=18, dc=True),
    "h200": dict(name="NVIDIA H200", pci="2335", sub="18be10de", cc="9.0", mib=143771, brand=14, arch=9, watt=700, gen=5, max=1980, mem=3201, links=18, dc=True),
    "b200": dict(name="NVIDIA B200", pci="2901", sub="199910de", cc="10.0", mib=183359, brand=14, arch=10, watt=1000, gen=5, max=1965, mem=3996, links=18, dc=True),
    "a100": dict(name="NVIDIA A100-SXM4-80GB", pci="20b2", sub="147f10de", cc="8.0", mib=81920, brand=14, arch=7, watt=400, gen=4, max=1410, mem=1593, links=12, dc=True, slow=89, stop=92),
    "l4": dict(name="NVIDIA L4", pci="27b8", sub="16ee10de", cc="8.9", mib=23034, brand=14, arch=8, watt=72, gen=4, max=2040, mem=6251, dc=True),
    "l40s": dict(name="NVIDIA L40S", pci="26b9", sub="185110de", cc="8.9", mib=46068, brand=14, arch=8, watt=350, gen=4, max=2520, mem=9001, dc=True),
    "a10g": dict(name="NVIDIA A10G", pci="2237", sub="152f10de", cc="8.6", mib=23028, brand=14, arch=7, watt=300, gen=4, max=1710, mem=6251, dc=True, slow=95, stop=98),
    "t4": dict(name="Tesla T4", pci="1eb8", sub="12a210de", cc="7.5", mib=15360, brand=2, arch=6, watt=70, gen=3, max=1590, mem=5001, dc=True, slow=93, stop=96),
    "v100": dict(name="Tesla V100-SXM2-16GB", pci="1db1", sub="121210de", cc="7.0", mib=16384, brand=2, arch=5, watt=300, gen=3, max=1530, mem=877, links=6, dc=True, slow=87, stop=90),
    "rtx4090": dict(name="NVIDIA GeForce RTX 4090", pci="2684", sub="16f310de", cc="8.9", mib=24564, brand=5, arch=8, watt=450, gen=4, max=3105, mem=10501),
    "rtx5090": dict(name="NVIDIA GeForce RTX 5090", pci="2b85", sub="205710de", cc="12.0", mib=32607, brand=5, arch=10, watt=575, gen=5, max=3090, mem=14001),
    "rtx3060": dict(name="NVIDIA GeForce RTX 3060", pci="2504", sub="881d1043", cc="8.6", mib=12288, brand=5, arch=7, watt=170, gen=4, max=2130, mem=7501, slow=95, stop=98),
    "rtx3090": dict(name="NVIDIA GeForce RTX 3090", pci="2204", sub="147d10de", cc="8.6", mib=24576, brand=5, arch=7, watt=350, gen=4, max=2100, mem=9751, slow=95, stop=98),
    "gtx1080": dict(name="NVIDIA GeForce GTX 1080", pci="1b80", sub="119e10de", cc="6.1", mib=8192, brand=5, arch=4, watt=180, gen=3, max=1911, mem=5005, slow=96, stop=99),
    "gb10": dict(name="NVIDIA GB10", pci="2e12", sub="21ec10de", cc="12.1", mib=None, brand=14, arch=10, watt=None, gen=1, max=3003, mem=None, integrated=True),
}  # fmt: skip

CUDA = {
    "470": 11040,
    "535": 12020,
    "550": 12040,
    "565": 12070,
    "570": 12080,
    "575": 12090,
    "580": 13000,
    "590": 13010,
    "610": 13030,
}
DATES = "Release Build  (dvs-builder@U22)"


def gpu_lines(index: int, model: str, bus: str) -> dict[str, object]:
    """Scenario of one idle, healthy GPU."""
    m = MODELS[model]
    dc = m.get("dc", False)
    counters = ("failed", "recoveries") if m["arch"] >= 10 else ("replay", "recovery", "crc")
    values: dict[str, object] = {
        "name": m["name"], "uuid": f"GPU-{index:08x}-{m['pci']}-4a5b-8c6d-{m['pci']}{index:08x}", "pci.bus": bus,
        "pci.device": m["pci"], "pci.subsystem": m["sub"], "cc": m["cc"], "brand": m["brand"], "architecture": m["arch"],
        "memory.total": m["mib"], "memory.used": None if m["mib"] is None else 1 if not dc else 4,
        "memory.reserved": None if m["mib"] is None else 400, "compute_mode": 0, "persistence": int(dc),
        "serial": f"16540{index:08d}" if dc else None, "vbios": "96.00.89.00.01", "ecc": (0 if model == "a10g" else 1) if dc else None,
        "remapped": "0 0 0 0" if dc and m["arch"] >= 7 else None, "retired.single": 0 if dc and m["arch"] < 7 else None,
        "retired.double": 0 if dc and m["arch"] < 7 else None, "retired.pending": 0 if dc and m["arch"] < 7 else None,
        "recovery_action": 0 if m["arch"] >= 7 else None, "power.draw_w": (m["watt"] and round(m["watt"] * 0.11, 2)) or 9.5,
        "power.limit_w": m["watt"], "power.default_w": m["watt"], "power.min_w": m["watt"] and round(m["watt"] * 0.3),
        "power.max_w": m["watt"], "temperature": 33, "temperature.slowdown": m.get("slow"), "temperature.shutdown": m.get("stop"),
        "temperature.margin": None if m.get("slow") else 54, "clock.sm": 210 if not dc else 345, "clock.sm_max": m["max"],
        "clock.memory": m["mem"] and (405 if not dc else m["mem"]), "clock.memory_max": m["mem"], "clock.reasons": "0x1",
        "pcie.gen": 1 if not dc else m["gen"], "pcie.gen_max": m["gen"], "pcie.gen_device_max": m["gen"],
        "pcie.width": 1 if m.get("integrated") else 16, "pcie.width_max": 1 if m.get("integrated") else 16, "utilization": "0 0",
        "fan": None if dc or m.get("integrated") else 0, "virtualization": 0,
        "nvlink": " ".join("1" * m["links"]) if "links" in m else None, "pcie.replays": None if m.get("integrated") else 0,
        "sram": "0 0" if dc and m["arch"] >= 7 and model != "a10g" else None, "unrepairable": 0 if dc and m["arch"] >= 9 else None,
        **({f"nvlink.{name}": " ".join("0" * m["links"]) for name in counters} if "links" in m else {}), "mig": 0 if m["cc"] in ("8.0", "9.0", "10.0") else None,
        "integrated": 1 if m.get("integrated") else None, "cuda.memory": 122502 if m.get("integrated") else None,
    }  # fmt: skip
    return {f"gpu.{index}.{key}": value for key, value in values.items() if value is not None}


def kernel_line(driver: str, open_module: bool) -> str:
    """Text of /proc/driver/nvidia/version."""
    kind = "NVIDIA UNIX Open Kernel Module for x86_64" if open_module else "NVIDIA UNIX x86_64 Kernel Module"
    gcc = "GCC version:  gcc version 12.3.0 (Ubuntu 12.3.0-1ubuntu1~22.04)"
    return f"NVRM version: {kind}  {driver}  {DATES}\n{gcc}\n"


def pci_files(bus: str, device: str, subsystem: str, class_code: str = "0x030200") -> dict[str, str]:
    """sysfs files of one PCI function."""
    base = f"/sys/bus/pci/devices/{bus}/"
    return {
        base + "vendor": "0x10de\n",
        base + "device": f"0x{device}\n",
        base + "class": class_code + "\n",
        base + "subsystem_vendor": f"0x{subsystem[4:]}\n",
        base + "subsystem_device": f"0x{subsystem[:4]}\n",
    }


def nodes(count: int, mode: int = 0o666) -> list[dict[str, object]]:
    """Device nodes of a machine with a loaded driver."""
    named = [(f"/dev/nvidia{i}", 195, i) for i in range(count)]
    named += [("/dev/nvidiactl", 195, 255), ("/dev/nvidia-uvm", 510, 0), ("/dev/nvidia-uvm-tools", 510, 1)]
    return [
        {"path": path, "major": major, "minor": minor, "mode": mode, "uid": 0, "gid": 0} for path, major, minor in named
    ]


def machine(name: str, models: list[str], driver: str, note: str, **more: Any) -> None:
    """Write one machine. `scenario` adds or removes (None) keys; `loaded`, `open_module`, `wsl`, `uname`, `nodes` as told."""
    lines: dict[str, object] = {
        "driver.version": driver,
        "cuda.version": CUDA[driver.split(".")[0]],
        "gpus": len(models),
    }
    files: dict[str, str] = {
        "/etc/os-release": 'PRETTY_NAME="Ubuntu 22.04.5 LTS"\nNAME="Ubuntu"\nVERSION_ID="22.04"\nID=ubuntu\nID_LIKE=debian\n',
        "/proc/sys/kernel/osrelease": more.get("kernel", "6.8.0-60-generic") + "\n",
        "/proc/meminfo": "MemTotal:       131595520 kB\nMemFree:        99000000 kB\n",
    }
    links: dict[str, str] = {}
    loaded, wsl = more.get("loaded", True), more.get("wsl", False)
    module = more.get("module_version", driver)
    for index, model in enumerate(models):
        bus = (
            more.get("buses", [])[index]
            if "buses" in more
            else f"0000:{0x18 + 0x22 * index if len(models) > 1 else 1:02x}:00.0"
        )
        lines.update(gpu_lines(index, model, bus))
        if not wsl:
            dc = MODELS[model].get("dc", False)
            files.update(pci_files(bus, MODELS[model]["pci"], MODELS[model]["sub"], "0x030200" if dc else "0x030000"))
            if loaded:
                links[f"/sys/bus/pci/devices/{bus}/driver"] = "../../../../bus/pci/drivers/nvidia"
                files[f"/proc/driver/nvidia/gpus/{bus}/information"] = (
                    f"Model: \t\t {MODELS[model]['name']}\nBus Location: \t {bus}\nDevice Minor: \t {index}\nGPU Excluded:\t No\n"
                )
    if wsl:
        files["/proc/version"] = "Linux version 5.15.167.4-microsoft-standard-WSL2 (root@build) #1 SMP\n"
    elif loaded:
        files["/proc/driver/nvidia/version"] = kernel_line(module, more.get("open_module", True))
        files["/sys/module/nvidia/version"] = module + "\n"
        files["/proc/modules"] = (
            "nvidia_uvm 1540096 0 - Live 0x0\nnvidia_modeset 1306624 0 - Live 0x0\nnvidia 56770560 2 nvidia_uvm,nvidia_modeset, Live 0x0\n"
        )
    else:
        files["/proc/modules"] = "ext4 1024000 1 - Live 0x0\n"
    if len(models) > 1:
        linked = all("links" in MODELS[m] for m in models)
        lines["pair.*.p2p"], lines["pair.*.topology"] = (0, 50) if linked else (1, 40)
        if linked:
            lines["pair.*.nvlink"] = 0
    lines.update(more.get("scenario", {}))
    given = more.get("nodes", [] if wsl or not loaded else nodes(len(models)))
    if wsl:
        given = [{"path": "/dev/dxg", "major": 10, "minor": 125, "mode": 0o666, "uid": 0, "gid": 0}]
    folder = HERE / name
    folder.mkdir(exist_ok=True)
    text = "".join(f"{key} = {value}\n" for key, value in lines.items() if value is not None)
    (folder / "scenario.txt").write_text(f"# {note}\n{text}", "utf-8")
    record = {"note": note, "files": files, "links": links, "nodes": given}
    (folder / "files.json").write_text(json.dumps(record, indent=1, sort_keys=True) + "\n", "utf-8")


def mig(gpu: int, *devices: tuple[str, int, int]) -> dict[str, object]:
    """MIG devices (profile, MiB, GPU instance) of a GPU."""
    lines: dict[str, object] = {f"gpu.{gpu}.mig": 1}
    for slot, (profile, mib, instance) in enumerate(devices):
        values = {"uuid": f"MIG-{slot:08x}-20b2-5a5b-8c6d-00000000000{gpu}", "name": f"NVIDIA A100-SXM4-80GB MIG {profile}",
                  "memory.total": mib, "memory.used": 12, "gi": instance, "ci": 0}  # fmt: skip
        lines.update({f"gpu.{gpu}.mig.{slot}.{key}": value for key, value in values.items()})
    return lines


CUBE_MESH = (
    (0, 1, 1, 2, 2, 0, 0, 0), (1, 0, 2, 1, 0, 2, 0, 0), (1, 2, 0, 2, 0, 0, 1, 0), (2, 1, 2, 0, 0, 0, 0, 1),
    (2, 0, 0, 0, 0, 1, 1, 2), (0, 2, 0, 0, 1, 0, 2, 1), (0, 0, 1, 0, 1, 2, 0, 2), (0, 0, 0, 1, 2, 1, 2, 0),
)  # fmt: skip
"""NVLinks between each two GPUs of a DGX-1 with V100 (NVIDIA's white paper WP-08437, the hybrid cube mesh)."""


def cube_mesh() -> dict[str, object]:
    """Which GPU each NVLink of a DGX-1 ends at, and which two are joined."""
    lines: dict[str, object] = {"pair.*.nvlink": 1}
    for gpu, row in enumerate(CUBE_MESH):
        lines[f"gpu.{gpu}.nvlink.ends"] = " ".join(str(other) for other, links in enumerate(row) for _ in range(links))
        lines.update({f"pair.{gpu}.{other}.nvlink": 0 for other, links in enumerate(row) if links and other > gpu})
    return lines


def main() -> None:
    """Write all machines."""
    machine(
        "healthy-h100",
        ["h100"],
        "580.82.07",
        "One idle H100 SXM.",
        scenario={"gpu.0.fabric": "3 0 0 0", "gpu.0.gsp": "580.82.07"},
    )
    machine(
        "h200x8",
        ["h200"] * 8,
        "570.211.01",
        "HGX H200: eight GPUs behind NVSwitches.",
        scenario={"gpu.*.fabric": "3 0", "gpu.*.gsp": "570.211.01"},
    )
    machine(
        "b200x8",
        ["b200"] * 8,
        "580.82.07",
        "HGX B200: eight GPUs behind NVSwitches.",
        scenario={"gpu.*.fabric": "3 0 1aa 1", "gpu.*.gsp": "580.82.07"},
    )
    machine(
        "v100x8",
        ["v100"] * 8,
        "535.261.03",
        "A DGX-1: eight V100 joined by NVLink, page retirement instead of row remapping.",
        scenario=cube_mesh(),
        open_module=False,
    )
    machine(
        "a100-mig",
        ["a100"],
        "550.163.01",
        "A100 80 GB cut into a 3g.40gb and a 4g.40gb.",
        scenario=mig(0, ("4g.40gb", 40192, 1), ("3g.40gb", 40192, 2)),
    )
    machine("rtx4090", ["rtx4090"], "565.77", "A desktop with an RTX 4090.", open_module=False)
    machine("rtx5090", ["rtx5090"], "570.211.01", "A desktop with an RTX 5090 (open kernel modules only).")
    machine("l4", ["l4"], "550.163.01", "A cloud L4.", scenario={"gpu.*.virtualization": 1})
    machine("l40s", ["l40s"], "580.82.07", "A cloud L40S.", scenario={"gpu.*.virtualization": 1})
    machine(
        "a10g",
        ["a10g"],
        "535.261.03",
        "An A10G instance with ECC off.",
        scenario={"gpu.*.virtualization": 1},
        open_module=False,
    )
    machine("v100", ["v100"], "535.261.03", "A V100 SXM2 (proprietary kernel module only).", open_module=False)
    machine(
        "t4",
        ["t4"],
        "535.261.03",
        "A T4, the usual notebook GPU.",
        scenario={"gpu.*.virtualization": 1},
        open_module=False,
    )
    machine("gtx1080", ["gtx1080"], "580.82.07", "A GTX 1080 on the last branch that drives it.", open_module=False)
    machine(
        "rtx3060-gtx1080", ["rtx3060", "gtx1080"], "550.163.01", "Two GPUs of different generations.", open_module=False
    )
    machine(
        "rtx3090x2",
        ["rtx3090", "rtx3090"],
        "470.256.02",
        "Two RTX 3090 on an old driver (before some calls existed).",
        open_module=False,
    )
    machine(
        "gb10",
        ["gb10"],
        "580.119.02",
        "GB10: memory shared with the CPU, NVML does not support the memory query.",
        buses=["000f:01:00.0"],
    )
    machine(
        "wsl2-rtx3060",
        ["rtx3060"],
        "580.88",
        "WSL2: driver of Windows, /dev/dxg, no kernel module, no PCI NVIDIA device.",
        wsl=True,
        kernel="5.15.167.4-microsoft-standard-WSL2",
        scenario={"nvml.library": "1", "cuda.library": "1.1"},
    )
    machine(
        "busy-h100",
        ["h100"],
        "580.82.07",
        "An H100 at work: processes, power cap reached.",
        scenario={
            "gpu.0.memory.used": 61440,
            "gpu.0.utilization": "99 63",
            "gpu.0.clock.reasons": "0x4",
            "gpu.0.power.draw_w": 698.4,
            "gpu.0.process.0": "compute 4711 61000 python",
            "gpu.0.process.1": "compute 4712 -",
        },
    )
    machine(
        "nvml-hangs-init",
        ["h100"],
        "580.82.07",
        "NVML never returns from its first call.",
        scenario={"fail.nvmlInit": "hang"},
    )
    machine(
        "nvml-hangs-field",
        ["h100", "h100"],
        "580.82.07",
        "The power reading of the second GPU never returns.",
        scenario={"fail.nvmlDeviceGetPowerUsage.1": "hang"},
    )
    machine(
        "nvml-crashes",
        ["h100"],
        "580.82.07",
        "NVML ends the process in the power reading.",
        scenario={"fail.nvmlDeviceGetPowerUsage": "crash"},
    )
    machine("cuinit-hangs", ["h100"], "580.82.07", "cuInit never returns.", scenario={"fail.cuInit": "hang"})
    machine("cuinit-aborts", ["h100"], "580.82.07", "cuInit aborts the process.", scenario={"fail.cuInit": "abort"})
    machine(
        "mismatch",
        ["h100"],
        "580.82.07",
        "User-space libraries were upgraded, the old kernel module is still loaded.",
        module_version="570.211.01",
        scenario={"fail.nvmlInit": 18, "fail.cuInit": 803},
    )
    machine(
        "not-loaded",
        ["h100"],
        "580.82.07",
        "Driver libraries are installed, the kernel module is not loaded.",
        loaded=False,
        scenario={"fail.nvmlInit": 9, "fail.cuInit": 100},
    )
    machine(
        "no-permission",
        ["a100"],
        "550.163.01",
        "Device nodes are for root alone.",
        nodes=nodes(1, 0o600),
        scenario={"fail.nvmlInit": 4, "fail.cuInit": 100},
    )
    machine(
        "gpu-lost",
        ["h100", "h100"],
        "580.82.07",
        "The second GPU fell off the bus.",
        scenario={"fail.nvmlDeviceGetHandleByIndex.1": 15, "cuda.count": 1},
    )
    machine(
        "no-driver",
        ["rtx4090"],
        "580.82.07",
        "The card is there, no driver was installed.",
        loaded=False,
        scenario={"nvml.library": "absent", "cuda.library": "absent"},
    )


if __name__ == "__main__":
    main()
