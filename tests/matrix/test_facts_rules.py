"""More facts written down a second time: errors by their published names, and tables by the rule behind their rows."""

from __future__ import annotations

import pynvml
from packaging.version import Version

from compat_matrix import Matrix
from compat_matrix.versions import numbers

from ..rows import for_each

SAME_NAME = """3 NOT_INITIALIZED InitializationError; 34 STUB_LIBRARY; 36 CALL_REQUIRES_NEWER_DRIVER; 46 DEVICE_UNAVAILABLE DevicesUnavailable;
2 OUT_OF_MEMORY MemoryAllocation; 35 - InsufficientDriver; 98 - InvalidDeviceFunction; 100 NO_DEVICE; 101 INVALID_DEVICE;
102 DEVICE_NOT_LICENSED; 127 - StartupFailure; 200 INVALID_IMAGE InvalidKernelImage; 209 NO_BINARY_FOR_GPU NoKernelImageForDevice;
214 ECC_UNCORRECTABLE ECCUncorrectable; 217 PEER_ACCESS_UNSUPPORTED; 218 INVALID_PTX; 220 NVLINK_UNCORRECTABLE; 221 JIT_COMPILER_NOT_FOUND;
222 UNSUPPORTED_PTX_VERSION; 223 JIT_COMPILATION_DISABLED; 225 UNSUPPORTED_DEVSIDE_SYNC UnsupportedDevSideSync; 226 CONTAINED; 227 INSUFFICIENT_LOADER_VERSION;
300 INVALID_SOURCE; 301 FILE_NOT_FOUND; 302 SHARED_OBJECT_SYMBOL_NOT_FOUND; 303 SHARED_OBJECT_INIT_FAILED; 304 OPERATING_SYSTEM;
500 NOT_FOUND SymbolNotFound; 700 ILLEGAL_ADDRESS; 701 LAUNCH_OUT_OF_RESOURCES; 702 LAUNCH_TIMEOUT; 716 MISALIGNED_ADDRESS;
719 LAUNCH_FAILED LaunchFailure; 720 COOPERATIVE_LAUNCH_TOO_LARGE; 800 NOT_PERMITTED; 801 NOT_SUPPORTED; 802 SYSTEM_NOT_READY;
803 SYSTEM_DRIVER_MISMATCH; 804 COMPAT_NOT_SUPPORTED_ON_DEVICE; 805 MPS_CONNECTION_FAILED; 807 MPS_SERVER_NOT_READY; 911 EXTERNAL_DEVICE;
916 KEY_ROTATION -; 919 FABRIC_NOT_READY; 999 UNKNOWN"""
"""Number, driver's name, and the runtime's where it is not the same words; "-": there is none (cuda.h, driver_types.h)."""
TEGRA = ["3.2", "5.3", "6.2", "7.2", "8.7", "8.8", "10.1", "11.0"]
COMPAT = {
    450: "11.0", 455: "11.1", 460: "11.2", 465: "11.3", 470: "11.4", 495: "11.5", 510: "11.6", 515: "11.7", 520: "11.8", 525: "12.0",
    530: "12.1", 535: "12.2", 545: "12.3", 550: "12.4", 555: "12.5", 560: "12.6", 570: "12.8", 575: "12.9", 580: "13.0", 590: "13.1",
    595: "13.2", 610: "13.3", 615: "13.4", 620: "13.5", 410: "10.0", 418: "10.1", 440: "10.2",
}  # fmt: skip
"""Branch to the CUDA whose forward-compatibility package is built from it."""
CUDNN = {
    "8, 9": "7.0.1 7.1.4", "9, 10": "7.3.1 7.5.1 7.6.3 7.6.4",
    "10, 11": "8.0.0 8.0.2 8.0.4 8.1.0 8.2.0 8.2.2 8.3.0 8.4.0 8.5.0 8.6.0 8.7.0",
    "11, 12": "8.8.0 8.8.1 8.9.0 8.9.1 8.9.2 8.9.3 8.9.4 8.9.5 8.9.6 8.9.7 9.0.0 9.1.0 9.1.1 9.2.0 9.2.1 9.3.0 9.4.0 9.5.0 9.5.1 9.6.0 9.7.0 "
              "9.7.1 9.8.0 9.9.0 9.10.0 9.10.1 9.10.2",
    "12": "9.11.0 9.11.1", "13": "9.19.1 9.28.1",
    "12, 13": "9.12.0 9.13.0 9.13.1 9.14.0 9.15.0 9.15.1 9.16.0 9.17.0 9.17.1 9.18.0 9.18.1 9.19.0 9.20.0 9.21.0 9.21.1 9.22.0 9.23.0 9.23.1 "
              "9.23.2 9.24.0 9.24.1 9.25.1 9.26.0 9.26.1 9.27.0 9.28.0",
}  # fmt: skip
NCCL = """2.3.5 2.3.7 2.4.2 2.4.6 2.4.7 2.4.8 2.5.6 2.5.7 2.6.4 2.7.3 2.7.5 2.7.6 2.7.8 2.8.3 2.8.4 2.9.6 2.9.8 2.9.9 2.10.3 2.11.4 2.12.7 2.12.10
2.12.12 2.13.4 2.14.3 2.15.1 2.15.5 2.16.2 2.16.5 2.17.1 2.18.1 2.18.3 2.18.5 2.18.6 2.19.1 2.19.3 2.19.4 2.20.3 2.20.5 2.21.5 2.22.3 2.23.4 2.24.3
2.25.1 2.25.1.post1 2.26.2 2.26.2.post1 2.26.3 2.26.5 2.26.6 2.27.3 2.27.5 2.27.6 2.27.7 2.28.3 2.28.7 2.28.9 2.29.2 2.29.3 2.29.7 2.30.3 2.30.4
2.30.7 2.31.2 2.32.3"""
UPDATES = {"9.0": 1, "9.1": 1, "10.0": 1, "10.2": 1, "11.8": 1, "12.7": 1, "13.5": 1, "9.2": 2, "11.1": 2, "11.3": 2, "11.7": 2, "12.0": 2,
           "12.1": 2, "12.4": 2, "12.5": 2, "13.3": 2, "11.4": 5, "12.6": 4, "13.0": 4, "13.4": 4}  # fmt: skip
"""Toolkits of each CUDA version; three where it is not named."""
GCC = {
    "9.0": 6,
    "9.2": 7,
    "10.1": 8,
    "11.0": 9,
    "11.1": 10,
    "11.4.1": 11,
    "12.0": 12,
    "12.4": 13,
    "12.8": 14,
    "13.0": 15,
    "13.4": 16,
}
"""The newest gcc that nvcc takes, from that toolkit on."""
WINDOWS = """340:340-342 384:385-388 387:388-388 390:391-392 396:397-399 410:411-416 415:416-417 418:418-427 430:430-432 435:436-436 440:440-446 450:451-454
455:456-457 460:460-463 465:465-466 470:471-475 495:496-497 510:511-514 515:516-518 520:520-522 525:526-529 530:531-531 535:535-539 545:545-546
550:551-553 555:555-555 560:560-561 565:565-566 570:570-573 575:575-576 580:580-582 590:591-591 595:595-596 610:610-610 615:616-616"""
KNOWN = {
    "flash-attn": 76, "xformers": 48, "bitsandbytes": 62, "vllm": 100, "sglang": 151, "tensorrt": 5,
    "auto-gptq": 4, "sglang-kernel": 15, "flashinfer-python": 74, "flashinfer-cubin": 28, "deepspeed": 124,
    "transformer-engine": 30,
}  # fmt: skip
"""Releases of extensions that have more than one row."""
EXACT = {
    "xformers": "0.0.22.post7=2.1.0 0.0.23=2.1.1 0.0.23.post1=2.1.2 0.0.24=2.2.0 0.0.25=2.2.1 0.0.25.post1=2.2.2 0.0.26.post1=2.3.0 0.0.27=2.3.1 "
    "0.0.27.post1=2.4.0 0.0.27.post2=2.4.0 0.0.28=2.4.1 0.0.28.post1=2.4.1 0.0.28.post2=2.5.0 0.0.28.post3=2.5.1 0.0.29=2.5.1 0.0.29.post1=2.5.1 "
    "0.0.29.post2=2.6.0 0.0.29.post3=2.6.0 0.0.30=2.7.0 0.0.31=2.7.1 0.0.31.post1=2.7.1 0.0.32.post1=2.8.0 0.0.32.post2=2.8.0 0.0.33=2.9.0 "
    "0.0.33.post1=2.9.0 0.0.33.post2=2.9.1 0.0.34=2.10.0",
    "vllm": "0.2.1.post1=2.0.1 0.5.0=2.3.0 0.6.3.post1=2.4.0 0.6.4.post1=2.5.1 0.7.3=2.5.1 0.8.5.post1=2.6.0 0.9.2=2.7.0 0.10.0=2.7.1 0.10.2=2.8.0 0.11.0=2.8.0 "
    "0.11.2=2.9.0 0.13.0=2.9.0 0.16.0=2.9.1 0.19.1=2.10.0 0.20.0=2.11.0 0.22.0=2.11.0 0.26.0=2.11.0 0.27.0=2.13.0 0.32.0=2.13.0 0.33.0=2.14.0",
    "sglang": "0.4.3=2.5.1 0.4.2=2.5.1 0.3.5=2.4.0 0.3.4=2.4.0 0.2.14=2.4.0 0.2.10=2.3.1 0.1.22=2.3.0 0.5.6.post2=2.9.1 0.5.9=2.9.1 0.5.10.post1=2.9.1 0.5.11=2.11.0 0.5.17=2.11.0 0.5.19=2.13.0 0.5.22=2.14.1 0.5.23=2.14.1",
}
"""Releases that pin one torch exactly, read in their METADATA by a person."""


def test_nvml_errors_have_the_names_that_nvidia_ml_py_gives_them(m: Matrix) -> None:
    names = {
        value: name for name, value in vars(pynvml).items() if name.startswith("NVML_ERROR_") and isinstance(value, int)
    }
    assert {row.code for row in m.nvml_errors} == {999, *range(1, 31)} - {5, 22, 23, 24}
    for row in m.nvml_errors:
        if row.code is not None:
            assert row.name == names.get(row.code, row.name), "an older nvidia-ml-py does not know the newest"


def test_cuda_errors_have_the_names_of_both_interfaces(m: Matrix) -> None:
    wanted = {}
    for entry in SAME_NAME.split(";"):
        code, driver, *runtime = entry.split()
        said = runtime[0] if runtime else "".join(word.capitalize() for word in driver.split("_"))
        wanted[int(code)] = (driver.replace("-", ""), said.replace("-", ""))
    found = {
        r.code: (r.driver_name.removeprefix("CUDA_ERROR_"), r.runtime_name.removeprefix("cudaError"))
        for r in m.cuda_errors
    }
    assert found == wanted


def test_which_targets_ptx_has(m: Matrix) -> None:
    plain = [row.target for row in m.ptx_targets if row.target[-1].isdigit()]
    assert plain == ["7.5", "8.0", "8.6", "8.7", "8.8", "8.9", "9.0", "10.0", "10.3", "10.7", "11.0", "12.0", "12.1"]
    families, variants = plain[7:], plain[6:]
    assert [row.target for row in m.ptx_targets if row.target[-1] == "f"] == [f"{cc}f" for cc in families]
    assert [row.target for row in m.ptx_targets if row.target[-1] == "a"] == [f"{cc}a" for cc in variants]


def test_every_compat_package_is_built_from_the_branch_of_its_cuda(m: Matrix) -> None:
    assert {row.from_branch: row.cuda for row in m.compat_packages} == COMPAT


def test_which_cuda_majors_have_minor_version_compatibility(m: Matrix) -> None:
    found = {row.major: (row.minor_version_compatibility, row.limits) for row in m.cuda_majors}
    assert found == {major: (major > 10, "sass-only" if major > 10 else "none") for major in range(9, 14)}


def test_which_capabilities_are_tegra(m: Matrix) -> None:
    assert len(m.capabilities) == 47
    assert {row.cc.rstrip("af") for row in m.capabilities if row.tegra} == set(TEGRA)
    assert not any(row.cc.rstrip("af") in TEGRA for row in m.capabilities if not row.tegra)


def test_which_wheel_indexes_there_are(m: Matrix) -> None:
    tags = [row.tag for row in m.index_urls if "/" not in row.tag]
    assert len(tags) == 40 and len(set(tags)) == 40
    for row in m.index_urls:
        if row.tag.startswith("cu"):
            arm = {"linux_aarch64"} if row.tag >= "cu124" else set()
            assert set(row.platforms) == {"linux_x86_64"} | arm | ({"windows"} if row.tag != "cu134" else set())


def test_windows_has_the_builds_of_linux_but_for_these(m: Matrix) -> None:
    pairs = {
        name: {(row.torch, row.tag) for row in m.builds if row.platform == name} for name in ("linux_x86_64", "windows")
    }
    never = {"cu129", "cu134"}
    but = {pair for pair in pairs["linux_x86_64"] if pair[1] in never and pair != ("2.8.0", "cu129")}
    but |= {("1.12.0", "cu102"), ("1.12.1", "cu102"), ("2.15.0", "cu126")}
    assert pairs["linux_x86_64"] - pairs["windows"] == but


def test_cudnn_releases_by_the_cuda_majors_that_they_are_built_for(m: Matrix) -> None:
    found: dict[str, list[str]] = {}
    for row in m.cudnn_rows:
        found.setdefault(", ".join(map(str, row.cuda_majors)), []).append(row.version)
        floors = {"12": "7.5" if numbers(row.version) >= (9, 11) else "5.0", "13": "7.5", "9": "3.0", "10": "3.0",
                  "11": "5.0" if numbers(row.version) >= (8, 8) else "3.5"}  # fmt: skip
        assert row.min_cc == (
            {} if 8 in row.cuda_majors else {str(major): floors[str(major)] for major in row.cuda_majors}
        )
    assert {majors: " ".join(versions) for majors, versions in found.items()} == CUDNN


def test_nccl_releases_and_the_code_in_their_wheels(m: Matrix) -> None:
    assert [row.version for row in m.nccl_rows] == NCCL.split()
    for row in m.nccl_rows:
        for major, sass in row.wheel_sass.items():
            maxwell = ["3.5"] * (major == "11") + ["5.0"] if numbers(row.version) < (2, 28) else []
            blackwell = ["10.0", "12.0"] if numbers(row.version) >= (2, 27) or ".post" in row.version else []
            rubin = ["10.7"] if numbers(row.version) >= (2, 32) else []
            wanted = [*maxwell, "6.0", "6.1", "7.0", "8.0", *(["9.0"] if major == "12" else []), *blackwell]
            if major == "13":
                wanted = ["7.5", "8.0", "9.0", "10.0", *rubin, "11.0", "12.0"]
            assert list(sass) == wanted, (row.version, major)


def test_toolkits_their_updates_and_their_gcc(m: Matrix) -> None:
    counted: dict[str, int] = {}
    for row in m.toolkits:
        counted[row.cuda] = counted.get(row.cuda, 0) + 1
        floor = max((key for key in GCC if numbers(key) <= numbers(row.version)), key=numbers)
        assert row.host_gcc_max_major == (None if row.cuda == "12.7" else GCC[floor]), row.version
    assert counted == {cuda: UPDATES.get(cuda, 3) for cuda in counted} and len(counted) == 31


@for_each("package", EXACT)
def test_extensions_that_pin_one_torch(m: Matrix, package: str) -> None:
    found = {
        row.version: row.torch[2:] for row in m.extensions if row.package == package and row.torch.startswith("==")
    }
    wanted = dict(pair.split("=") for pair in EXACT[package].split())
    assert {version: found.get(version) for version in wanted} == wanted
    assert list(found) == sorted(found, key=Version), "in their order"


def test_the_windows_releases_of_each_branch(m: Matrix) -> None:
    """Windows numbers its releases on from Linux' branch."""
    found = [
        f"{row.branch}:{row.windows_first}-{row.windows_last}" for row in m.drivers if row.windows_first is not None
    ]
    assert found == WINDOWS.split()


def test_a_driver_of_an_extension_begins_with_its_branch(m: Matrix) -> None:
    """So that '530 (of CUDA 12.1) or newer' reads as a sentence."""
    assert [row.package for row in m.extensions if not (row.min_driver or "5")[:1].isdigit()] == []


def test_how_many_releases_of_each_extension_are_known(m: Matrix) -> None:
    counted: dict[str, int] = {}
    for row in m.extensions:
        counted[row.package] = counted.get(row.package, 0) + 1
    assert {name: count for name, count in counted.items() if count > 1} == KNOWN
    assert len(counted) == 22


def test_which_code_runs_nowhere_but_on_its_own_device(m: Matrix) -> None:
    assert [row.device for row in m.binary_rules if row.rule == "own-code-only"] == ["3.2", "5.3", "6.2", "7.2", "8.7"]


def test_the_hook_of_the_container_toolkit_reads_the_driver_list_from_1_20_on(m: Matrix) -> None:
    """Tags of nvidia-container-toolkit: 1.19 compares CUDA versions, 1.20.0 asks for the host's branch in the list."""
    (text,) = (row.text for row in m.forward_compat_rules if row.rule == "toolkit hook")
    assert "1.17.5" in text and "1.20.0 and later ask for the host's driver branch" in text


def test_the_newest_lts_branch_and_its_end(m: Matrix) -> None:
    assert {row.branch: row.end_of_life for row in m.drivers if row.type == "lts" and row.branch > 500} == {
        535: "2026-06", 580: "2028-06", 620: "2029-09",
    }  # fmt: skip


def test_documented_capabilities_are_those_of_a_matrix_that_was_seen(m: Matrix) -> None:
    """Of a cuDNN whose support matrix was not seen, a neighbor's capabilities are not documented."""
    quoted = {"8.1.0", "9.25.1"}  # a cut table, a note that quotes the matrix
    found = {row.version for row in m.cudnn_rows if row.documented_cc and row.confidence != "documented"}
    assert found == quoted and not [r.version for r in m.cudnn_rows if " as " in f" {r.documented_cc}"]
