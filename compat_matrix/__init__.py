"""gpudoctor's knowledge: which driver, GPU, CUDA, torch and libraries work together.

    from compat_matrix import Matrix
    m = Matrix.load()                                             # tables are read on first question
    m.version, m.schema_version                                   # '2026.11.29', 1
    m.driver_for_cuda("535.129.03", "12.8").grade                 # 'minor-version'
    m.driver_for_gpu("570.86.15", "12.0", "proprietary").grade    # 'needs-open-module'
    m.code_for_gpu("8.9", ["8.0", "8.6"]).kind                    # 'sass'
    m.best_builds(["7.0"], driver="580.82.07", python="3.11").builds[0].requirements

Questions (answers are frozen structs; grades, never yes or no; `reason` is a plain sentence; `rows` are the rows it is
based on, each with a key for `m.source(key)`):

    driver_branch(version, platform)                 status known | newer-than-matrix | unknown; .row
    driver_for_cuda(driver, cuda, platform)          native | minor-version | needs-forward-compat |
                                                     impossible | unknown
    driver_for_gpu(driver, capability, flavour, platform, gpu_name)
                                                     ok | too-old | too-new | needs-open-module |
                                                     open-module-unsupported | unknown
    forward_compat(cuda, host_driver, *, gpu_name, brand_id, segment, note_hosts, note_brands)
                                                     possible | not-on-this-gpu | not-on-this-driver |
                                                     not-needed | unknown
    gpu(name, pci_device_id, pci_subsystem_id, memory_mib) -> GpuMatch(rows, exact, reason, .capability)
    is_model(name, model), lists_model(model), nearest_models(model): what people call a GPU
    gpu_by_capability(cc); compute_capability(cc) -> Capability | None
    expected(gpus, kind, what, *, power_limit_w, power_default_w, mig_profile, pcie_gen, pcie_width)
                                                     what matmul, memory or h2d should reach: low, typical,
                                                     high, floor; basis measured | peak | unknown
    code_for_gpu(cc, sass, ptx, driver_cuda, build_cuda)          sass | ptx-jit | none | unknown
    torch_release(version)                           known | newer-than-matrix | unlisted | nightly | vendor | ...
    torch_builds(version, platform), torch_build(version, tag, platform), torch_for(cc, platform),
    pypi_tag(version, platform)                      what plain PyPI gives: cu130 | cpu | none | None
    python_for_torch(torch, python, platform)        ok | too-old | too-new | no-wheel | unknown
    torch_for_python(python, platform); index_url(tag)
    companions(torch) -> (Expected(package, versions, relation), ...)
    companion_matches(torch, package, version)       match | mismatch | unknown
    cudnn(version), cudnn_for_gpu(version, cc, cuda_major), nccl(version), nccl_for_gpu(...)   ok | dropped | unknown
    framework(package, version) -> rows of TensorFlow, JAX, ONNX Runtime, CuPy, Paddle
    toolkit(version), toolkit_versions(), toolkit_of_driver(reported)
    cuda_error(code or name), nvml_error(code or name)
    image_requirements(tag, arch)                    every NVIDIA_REQUIRE_CUDA that nvidia/cuda:TAG was published with
    oldest_driver(tag, arch)                         the oldest driver that one of them lets start
    ngc_image(release)                               CUDA and torch of NVIDIA's framework containers of a month
    best_builds(gpus, driver, os, arch, python, torch, forward_compat) -> BestBuilds(builds, reason)
    conda_builds(gpus, driver, os, arch, python, torch) -> (CondaChoice(row, grade, why, .spec), ...)
    lint() -> list of problems

platform is 'linux' or 'windows' for drivers (a WSL driver carries Windows numbers), and 'linux_x86_64',
'linux_aarch64', 'windows' for wheels. Unlisted versions answer unknown, with newer_than_matrix if that is the reason.
Tables are attributes: m.drivers, m.toolkits, m.builds, m.gpus, m.gpu_specs ... (see store.py).
This package imports only the standard library, packaging and msgspec.
"""

from .matrix import Matrix
from .store import SCHEMA_VERSION
from .tables import MatrixError

__all__ = ["SCHEMA_VERSION", "Matrix", "MatrixError"]
