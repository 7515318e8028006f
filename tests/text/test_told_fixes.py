"""The first fix of a message: for what the text tells, and no version, GPU or package that it does not name."""

from __future__ import annotations

import re

import pytest

from compat_matrix.which_torch import USUAL
from doctor.findings import Finding
from doctor.text import read
from doctor.text.fixes.extension import OF_ANY_PACKAGE

from ..judging import matrix, report
from ..rows import Faults, for_each
from .test_error_index import rows

EXTENSION = ("extension-lacks-gpu-arch", "extension-built-for-other-torch")
REMAPPED = """\
==============NVSMI LOG==============
Driver Version                            : 535.54.03
Attached GPUs                             : 1
GPU 00000000:3B:00.0
    Product Name                          : NVIDIA A100-SXM4-80GB
    Remapped Rows
        Correctable Error                 : 0
        Uncorrectable Error               : {rows}
        Pending                           : No
        Remapping Failure Occurred        : {failed}
"""
GPU = "01:00.0 VGA compatible controller [0300]: NVIDIA Corporation GA102 [10de:2204] (rev a1)"
NIC = "03:00.0 Ethernet controller [0200]: Intel Corporation X710 [8086:1572] (rev 02)"
DISK = "0000:41:00.0 Non-Volatile memory controller: Samsung Electronics Co Ltd NVMe SSD"


def failing(text: str) -> list[Finding]:
    """What a text proves to be wrong."""
    return [found for found in report(read(text)).findings if found.status in ("fail", "warn")]


@for_each("text, first", [
    ("        Remapping Failure Occurred        : Yes", "replace-gpu"),
    ('DCGM_FI_DEV_ROW_REMAP_FAILURE{gpu="3"} 1', "replace-gpu"),
    ("GPU 2 had uncorrectable memory errors and row remapping failed. Run a field diagnostic.", "replace-gpu"),
    ("NVRM: Xid (PCI:0000:3b:00): 64, Row remapping failure\n        Remapping Failure Occurred : Yes", "replace-gpu"),
    (REMAPPED.format(rows=3, failed="Yes"), "replace-gpu"),
    (REMAPPED.format(rows=512, failed="No"), "replace-gpu"),
    ("Detected 2 volatile double-bit ECC error(s) in GPU 0.", "reset-gpu"),
    ('DCGM_FI_DEV_ECC_DBE_VOL_TOTAL{gpu="0"} 4', "reset-gpu"),
    ("RuntimeError: CUDA error: uncorrectable ECC error encountered", "reset-gpu"),
])  # fmt: skip
def test_memory_that_cannot_be_replaced_is_not_reset(text: str, first: str) -> None:
    (found,) = [one for one in failing(text) if one.id == "gpu-hardware-ecc-fault"]
    assert found.fixes[0].id == first


def test_few_replaced_rows_are_no_fault() -> None:
    assert "gpu-hardware-ecc-fault" not in {one.id for one in failing(REMAPPED.format(rows=3, failed="No"))}


@pytest.mark.slow
def test_where_no_package_can_be_named_the_message_keeps_its_own_fix() -> None:
    with Faults() as faults:
        for text, causes in rows():
            own = [one for one in read(text).symptoms if one.decides in EXTENSION and one.id not in OF_ANY_PACKAGE]
            for found in failing(text) if own and {*causes} & {*EXTENSION} else ():
                if found.id == own[0].decides:
                    with faults.of(text):
                        assert "name-the-extension" not in {fix.id for fix in found.fixes}


@for_each("text, version", [
    ("RuntimeError: Found cuDNN version 8700, but JAX was built against version 8904, which is newer.", "8.9"),
    ("Mixed dnn version. The header is version 5110 while the library is version 8005.", "5.1"),
    ("Loaded runtime CuDNN library: 7.1.2 but source was compiled with: 7.2.1.", "7.2"),
    ("Found cuDNN version 90100, but JAX was built against version 91002, which is newer.", "9.10"),
])  # fmt: skip
def test_the_cudnn_of_a_fix_is_the_one_that_the_text_asks_for(text: str, version: str) -> None:
    (found,) = [one for one in failing(text) if one.id == "cudnn-shadowed-or-mismatched"]
    assert found.fixes[0].title == f"Install cuDNN {version}, which the program asks for"


@for_each("text", [
    "CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH", "undefined symbol: cudnnSetAttentionDescriptor",
    "F0628 13:44:06 cudnn_conv_layer.cpp:53] Check failed: status == CUDNN_STATUS_SUCCESS  CUDNN_STATUS_ARCH_MISMATCH",
    "Windows 11\nCUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH",
])  # fmt: skip
def test_no_title_has_a_cudnn_version_that_the_text_does_not_tell(text: str) -> None:
    titles = [fix.title for one in report(read(text)).findings for fix in one.fixes]
    assert titles and not any(char.isdecimal() for title in titles for char in title), titles


def test_a_told_gpu_still_gets_the_last_cudnn_for_it() -> None:
    found = failing("Tesla P100\nRuntimeError: cuDNN error: CUDNN_STATUS_ARCH_MISMATCH")
    assert "9.10.2, the last for this GPU" in found[0].fixes[0].title


@for_each("device", [NIC, DISK, "", "81:00.0 Infiniband controller: Mellanox Technologies MT28908"])
@for_each("driver", ["vfio-pci", "pci-stub", "xen-pciback", "nvidiafb"])
def test_a_driver_that_holds_no_gpu_is_no_fault(device: str, driver: str) -> None:
    held = f"{device}\n\tKernel driver in use: {driver}\n"
    for text in (held, f"{GPU}\n\tKernel modules: nvidia\n\n{held}" if device else held):
        told = report(read(text))
        names = {one.id for one in told.findings if one.status in ("fail", "warn")}
        assert "other-kernel-driver-bound" not in {*names, told.likely, *told.possible}


@for_each("driver", ["vfio-pci", "pci-stub", "xen-pciback", "nvidiafb"])
def test_a_driver_that_holds_the_gpu_is_one(driver: str) -> None:
    bus = f"{NIC}\n\tKernel driver in use: ixgbe\n\n{GPU}\n\tSubsystem: eVga\n\tKernel driver in use: {driver}\n"
    assert "other-kernel-driver-bound" in {one.id for one in failing(bus)}


def test_a_refused_compilation_names_the_variables() -> None:
    for text in ("CUDA error: PTX JIT compilation was disabled", "CUDA_ERROR_JIT_COMPILATION_DISABLED"):
        (found,) = failing(f"RuntimeError: {text}")
        assert found.fixes[0].steps[0].command == "unset CUDA_DISABLE_PTX_JIT CUDA_DISABLE_JIT"


def test_numba_names_its_own_variable() -> None:
    text = "CudaSupportError: CUDA is disabled due to setting NUMBA_DISABLE_CUDA=1 in the environment"
    told = [symptom.means for symptom in read(text).symptoms]
    assert any("NUMBA_DISABLE_CUDA" in means for means in told)


@for_each("text", [
    "torch 2.13.0+cpu\nAssertionError: Torch not compiled with CUDA enabled", "torch==2.8.0+cpu\nCUDA is not available",
    "driver 570.124.06\ntorch 2.9.1+cpu\nAssertionError: Torch not compiled with CUDA enabled",
])  # fmt: skip
def test_a_build_for_no_known_gpu_is_told_with_all_of_its_code(text: str) -> None:
    notes = "\n".join(fix.note for one in report(read(text)).findings for fix in one.fixes)
    told = {tuple(codes.split(", ")) for codes in re.findall(r"machine code for ((?:\d+\.\d(?:, )?)+)", notes)}
    builds = {row.sass for row in matrix().builds}
    assert told and USUAL not in told and all(one in builds for one in told), told
