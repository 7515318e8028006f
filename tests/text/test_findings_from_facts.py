"""What the facts of a text prove without any sentence that the catalogue knows."""

from __future__ import annotations

from benchmarks.cases import ask_here
from tests.rows import for_each

NO_IMAGE = "RuntimeError: CUDA error: no kernel image is available for execution on the device\n"
OTHER_PTX = "ptxas fatal   : Unsupported .version 9.3; current version is '9.0'\n"
MATRICES = """Unidirectional P2P=Disabled Bandwidth Matrix (GB/s)
   D\\D     0      1
     0 743.00  11.20
     1  11.23 745.10
Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)
   D\\D     0      1
     0 744.01  {enabled}
     1  {enabled} 745.30
"""
COPY = """>>> x = torch.ones(4, device='cuda:0')
>>> x
tensor([1., 1., 1., 1.], device='cuda:0')
>>> {line}
tensor([{values}], device='cuda:1')
"""
TEXTS = (
    # a torch with code for the GPU did not say it
    (f"GPU: RTX 3090\nPyTorch version: 2.6.0+cu126\n{NO_IMAGE}", "extension-lacks-gpu-arch", "fail"),
    (f"GPU: RTX 5090\nPyTorch version: 2.6.0+cu126\n{NO_IMAGE}", "torch-lacks-new-gpu-sm", "fail"),
    (f"GPU: GTX 1080\nPyTorch version: 2.9.0+cu128\n{NO_IMAGE}", "torch-dropped-old-gpu-sm", "fail"),
    # releases against the CUDA that is told
    ("tensorflow 2.1.0\nCUDA 11.2\ncuDNN 8.1\npython 3.7\nGTX 1080\n", "framework-cuda-libs-not-found", "warn"),
    ("tensorflow 2.1.0\nCUDA/cuDNN version: 10.1/7.6\nGPU model: GTX 1080\n", "framework-cuda-libs-not-found", ""),
    ("tensorflow 2.6.0\nCUDA/cuDNN version: 11.4/8.2\nGPU model: GTX 1080\n", "framework-cuda-libs-not-found", ""),
    ("onnxruntime-gpu==1.20.1\nCUDA Version: 11.8\npython 3.10\n", "onnxruntime-cpu-fallback", "warn"),
    ("onnxruntime-gpu==1.20.1\nCUDA Version: 12.4\npython 3.10\n", "onnxruntime-cpu-fallback", ""),
    # nvidia-smi's number is the driver's
    ("onnxruntime-gpu==1.20.1\nDriver Version: 520.61  CUDA Version: 11.8\n", "onnxruntime-cpu-fallback", ""),
    # wheels against each other
    (
        f"nvidia-cuda-nvcc 13.3.22\nnvidia-cuda-runtime 13.0.48\n{OTHER_PTX}",
        "mixed-cuda-wheels",
        "fail",
    ),
    (
        f"nvidia-cuda-nvcc-cu12 12.8.93\nnvidia-cuda-runtime-cu12 12.8.90\n{OTHER_PTX}",
        "mixed-cuda-wheels",
        "",
    ),
    # quantities
    ("#SBATCH --gres=gpu:4\n>>> torch.cuda.device_count()\n1\n", "scheduler-gpu-allocation", "fail"),
    ("#SBATCH --gres=gpu:a100:2\n>>> torch.cuda.device_count()\n2\n", "scheduler-gpu-allocation", ""),
    (
        "#SBATCH --gres=gpu:4\nCUDA_VISIBLE_DEVICES=0\n>>> torch.cuda.device_count()\n1\n",
        "scheduler-gpu-allocation",
        "",
    ),
    ("CUDA_VISIBLE_DEVICES=0,1\nSLURM_JOB_GPUS=4\n", "cuda-visible-devices-wrong", "fail"),
    ("CUDA_VISIBLE_DEVICES=0\nSLURM_JOB_GPUS=4\n", "cuda-visible-devices-wrong", ""),
    ("CUDA_VISIBLE_DEVICES=0,1\nSLURM_JOB_GPUS=4-5\n", "cuda-visible-devices-wrong", ""),
    (MATRICES.format(enabled=" 0.21"), "acs-redirects-peer-traffic", "fail"),
    (MATRICES.format(enabled="26.10"), "acs-redirects-peer-traffic", ""),
    (COPY.format(line="x.to('cuda:1')", values="0., 0., 0., 0."), "acs-redirects-peer-traffic", "fail"),
    (COPY.format(line="x.to('cuda:1')", values="1., 1., 1., 1."), "acs-redirects-peer-traffic", ""),
    (COPY.format(line="x.to('cuda:1') + 1", values="1., 1., 1., 1."), "acs-redirects-peer-traffic", ""),
    (COPY.format(line="torch.zeros(4, device='cuda:1')", values="0., 0., 0., 0."), "acs-redirects-peer-traffic", ""),
)
"""Text, check, and its status there ('': it finds nothing)."""


@for_each("row", TEXTS)
def test_facts_decide(row: tuple[str, str, str]) -> None:
    """Each text is decided by its facts, and by none of its neighbours'."""
    text, check, status = row
    report = ask_here(text)
    found = {f["id"]: f["status"] for f in report["findings"] if f["status"] in ("fail", "warn")}
    found.pop(report["likely"], None)
    assert found.get(check, "") == status, found


LOST = "ImportError: libcudart.so.12: cannot open shared object file: No such file or directory\n"
PATHS = (
    ("/usr/lcoal/cuda-12.1/lib64", "/usr/local/cuda-12.1/lib64"),
    ("/usr/loca/cuda/lib64:/opt/x", "/usr/local/cuda/lib64:/opt/x"),
    ("/user/local/cuda/lib64", "/usr/local/cuda/lib64"),
    ("/usr/local/cuda/lib64", ""),
    ("/usr/lib/cuda/lib64", ""),
    ("/opt/local/cuda/lib64", ""),
    ("/home/me/cuda/lib64", ""),
)
"""LD_LIBRARY_PATH, and what it should be ('': it is no slip)."""


@for_each("row", PATHS)
def test_a_mistyped_path_is_named_and_corrected(row: tuple[str, str]) -> None:
    """The path is the cause, and the command sets the right one; a path that is no slip is left alone."""
    given, right = row
    report = ask_here(f"LD_LIBRARY_PATH={given}\n{LOST}")
    first = report["findings"][0]
    commands = [step.get("command", "") for fix in first["fixes"] for step in fix["steps"]]
    assert (f"export LD_LIBRARY_PATH={right}" in commands) is bool(right), commands
    assert ("a typo for" in first["title"]) is bool(right), first["title"]
