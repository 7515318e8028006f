"""triton-lacks-gpu-arch, triton-libcuda-link-missing, nvrtc-lacks-gpu-arch, jit-build-toolchain-missing."""

from __future__ import annotations

from doctor.snapshot import EnvVar, LibraryFile, Missing, Snapshot, Toolkit, known

from ..healthy import healthy
from ..judging import assert_fix_works, ids, run
from ..rows import for_each
from ..sickness import env
from ..torches import with_torch, with_version

ARCH, LINK = "triton-lacks-gpu-arch", "triton-libcuda-link-missing"
NVRTC, JIT = "nvrtc-lacks-gpu-arch", "jit-build-toolchain-missing"


def on(s: Snapshot, capability: str) -> Snapshot:
    """The same machine with a GPU of this compute capability."""
    gpus, devices = known(s.gpus), known(s.driver.cuda_devices)
    assert gpus and devices
    changed = gpus[0].with_(compute_capability=capability, pci_device_id="ffff", name="NVIDIA Test GPU")
    from msgspec.structs import replace

    return s.replace(
        {
            "gpus": (changed,),
            "driver.cuda_devices": (replace(devices[0], compute_capability=capability),),
            "torch_run.device_capabilities": (capability,),
        }
    )


@for_each(
    ("capability", "triton", "status"),
    [
        ("9.0", "2.1.0", "pass"),
        ("8.9", "2.0.0", "pass"),
        ("7.5", "3.4.0", "pass"),
        ("10.0", "3.2.0", "warn"),
        ("12.0", "3.2.0", "warn"),
        ("12.0", "3.3.0", "pass"),
        ("12.1", "3.5.1", "warn"),
        ("12.1", "3.6.0", "pass"),
        ("10.3", "3.5.0", "warn"),
        ("11.0", "3.6.0", "warn"),
        ("11.0", "3.7.0", "pass"),
    ],
)
def test_triton_against_the_gpu(capability: str, triton: str, status: str) -> None:
    machine = on(with_version(healthy("rtx5090"), triton=triton), capability)
    assert run(ARCH, machine)[0] == status
    if status == "warn":
        assert_fix_works(machine, run(ARCH, machine)[2][0])


def test_triton_is_a_failure_for_who_cannot_do_without_it() -> None:
    machine = with_version(on(healthy("rtx5090"), "12.1"), vllm="0.11.0")
    assert run(ARCH, machine)[0] == "fail"
    assert_fix_works(machine, run(ARCH, machine)[2][0])


def test_the_toolkits_ptxas_serves_where_only_triton_s_own_is_too_old() -> None:
    kit = Toolkit(path="/usr/local/cuda", version="13.0.1", nvcc="13.0.88")
    machine = on(healthy("rtx5090"), "11.0").replace({"cuda.toolkits": (kit,)})
    assert run(ARCH, machine)[2][0].fixes[0].id != "set-triton-ptxas-path"  # Triton 3.4's LLVM does not know it
    newer = with_version(machine, triton="3.6.0")
    finding = run(ARCH, newer)[2][0]
    assert "TRITON_PTXAS_BLACKWELL_PATH=/usr/local/cuda/bin/ptxas" in finding.fixes[0].steps[0].command
    assert_fix_works(newer, finding)
    older = with_version(machine, triton="3.5.1")  # whose compiler.py knows one ptxas
    finding = run(ARCH, older)[2][0]
    assert "TRITON_PTXAS_PATH=/usr/local/cuda/bin/ptxas" in finding.fixes[0].steps[0].command
    assert_fix_works(older, finding)


def test_a_variable_that_this_triton_does_not_read_changes_nothing() -> None:
    for version, name, status in (
        ("3.5.1", "TRITON_PTXAS_PATH", "skipped"), ("3.5.1", "TRITON_PTXAS_BLACKWELL_PATH", "warn"),
        ("3.6.0", "TRITON_PTXAS_PATH", "warn"), ("3.6.0", "TRITON_PTXAS_BLACKWELL_PATH", "skipped"),
    ):  # fmt: skip
        machine = with_version(on(healthy("rtx5090"), "11.0"), triton=version)
        machine = machine.replace({"host.environment": (EnvVar(name, "/usr/local/cuda/bin/ptxas"),)})
        assert run(ARCH, machine)[0] == status, (version, name)


def test_without_triton_it_does_not_apply() -> None:
    s = healthy()
    left = tuple(d for d in known(s.python.distributions) or () if d.name != "triton")
    for check in (ARCH, LINK, JIT):
        assert run(check, s.replace({"python.distributions": left}))[0] == "skipped"
        assert run(check, s.replace({"python.distributions": Missing("denied")}))[0] == "unknown"


def test_the_words_of_llvm_and_ptxas() -> None:
    said = "ptxas-blackwell fatal   : Value 'sm_110a' is not defined for option 'gpu-name'"
    sick = on(with_version(healthy("rtx5090"), triton="3.6.0"), "11.0").replace({"torch_run.kernel_error": said})
    assert run(ARCH, sick)[0] == "fail"


LIB = "/usr/lib/x86_64-linux-gnu"


def libcuda(*names: tuple[str, str], s: Snapshot | None = None) -> Snapshot:
    files = tuple(
        LibraryFile(soname=path.rpartition("/")[2], path=path, real_path=path, size=90_000_000, found_by=by)
        for path, by in names
    )
    return (s or healthy()).replace({"driver.libcuda_candidates": files})


@for_each(
    ("triton", "files", "status"),
    [
        ("3.4.0", [(f"{LIB}/libcuda.so.1", "ld.so.cache")], "pass"),
        ("3.4.0", [("/opt/driver/libcuda.so.1", "LD_LIBRARY_PATH")], "pass"),
        ("3.4.0", [(f"{LIB}/libcuda.so.1", "default")], "warn"),
        ("2.1.0", [(f"{LIB}/libcuda.so.1", "ld.so.cache")], "warn"),
        ("2.1.0", [(f"{LIB}/libcuda.so.1", "ld.so.cache"), (f"{LIB}/libcuda.so", "default")], "pass"),
        ("3.4.0", [], "pass"),  # without any libcuda there is another finding
    ],
)
def test_libcuda_for_triton(triton: str, files: list[tuple[str, str]], status: str) -> None:
    machine = libcuda(*files, s=with_version(healthy(), triton=triton))
    assert run(LINK, machine)[0] == status
    if status == "warn":
        assert_fix_works(machine, run(LINK, machine)[2][0])
        folder = env(machine, TRITON_LIBCUDA_PATH=LIB)
        assert run(LINK, folder)[0] == "skipped"


def test_the_link_is_made_beside_the_drivers_own_library() -> None:
    for folder in (LIB, "/opt/driver/lib64"):
        for triton, name in (("2.1.0", "libcuda.so"), ("3.4.0", "libcuda.so.1")):
            where = "ld.so.cache" if triton == "2.1.0" else "default"
            sick = libcuda((f"{folder}/libcuda.so.1", where), s=with_version(healthy(), triton=triton))
            finding = run(LINK, sick)[2][0]
            assert f"The driver's library is {folder}/libcuda.so.1. " in finding.detail
            commands = [step.command for fix in finding.fixes for step in fix.steps if step.command]
            assert finding.facts["needs"] == name and commands
            assert all(folder in command for command in commands), commands


def test_libcuda_words_and_unknown() -> None:
    said = "AssertionError: libcuda.so cannot found!"
    assert run(LINK, libcuda().replace({"torch_run.kernel_error": said}))[0] == "fail"
    assert run(LINK, healthy().replace({"driver.libcuda_candidates": Missing("denied")}))[0] == "unknown"


def test_nvrtc_of_an_older_cuda_on_a_newer_gpu() -> None:
    """The kernels of cu113 run on a RTX 4090 (8.6 code); its NVRTC refuses 8.9."""
    sick = with_torch(healthy("rtx4090"), "1.12.1", "cu116")
    assert run(NVRTC, sick)[0] == "warn"
    assert_fix_works(sick, run(NVRTC, sick)[2][0])
    said = sick.replace({"torch_run.kernel_error": "nvrtc: error: invalid value for --gpu-architecture (-arch)"})
    assert run(NVRTC, said)[0] == "fail"
    assert_fix_works(said, run(NVRTC, said)[2][0])


def test_nvrtc_wheel_newer_than_torchs_cuda() -> None:
    gb10 = on(healthy("rtx5090"), "12.1")
    assert run(NVRTC, gb10)[0] == "warn"
    assert run(NVRTC, with_version(gb10, nvidia_cuda_nvrtc_cu12="12.9.86"))[0] == "pass"


@for_each("model", ["h100", "t4", "v100", "rtx5090", "l4"])
def test_nvrtc_knows_what_its_toolkit_knows(model: str) -> None:
    assert run(NVRTC, healthy(model))[0] == "pass"
    assert run(NVRTC, healthy(model).replace({"python.distributions": Missing("denied")}))[0] == "unknown"


def toolchain(s: Snapshot, compiler: str | None = "/usr/bin/gcc", headers: bool = True) -> Snapshot:
    return s.replace({"cuda.c_compiler": compiler, "python.patient.headers": headers})


def test_compiler_and_headers() -> None:
    assert run(JIT, toolchain(healthy()))[0] == "pass"
    assert run(JIT, healthy())[0] == "unknown"
    for sick in (toolchain(healthy(), None), toolchain(healthy(), headers=False)):
        assert ids(sick) == []  # torch works without: a remark
        assert [f.status for f in run(JIT, sick)[2]] == ["pass"]
        serving = with_version(sick, sglang="0.5.3")
        assert ids(serving) == [JIT]
        assert_fix_works(serving, run(JIT, serving)[2][0])


@for_each(
    "said",
    [
        "RuntimeError: Failed to find C compiler. Please specify via CC",
        "fatal error: Python.h: No such file or directory",
    ],
)
def test_what_was_said_is_a_failure(said: str) -> None:
    sick = toolchain(healthy(), None, False).replace({"torch_run.kernel_error": said})
    finding = run(JIT, sick)[2][0]
    assert finding.status == "fail"
    assert_fix_works(sick, finding)
