"""The place of a text by its marks: providers, systems, engines, conda; and what is no mark."""

from __future__ import annotations

from doctor.snapshot import Missing, Snapshot, known
from doctor.text import read
from doctor.text.where import marks

from ..rows import for_each

ERROR = "RuntimeError: CUDA error: no kernel image is available for execution on the device"


def place(text: str) -> Snapshot:
    return read(f"{text}\n{ERROR}\n")


@for_each(
    ("text", "provider"),
    [
        ('  File "/content/train.py", line 12, in <module>', "colab"),
        ("%cd /content/drive/MyDrive/project", "colab"),
        ("from google.colab import drive", "colab"),
        ("COLAB_GPU=1", "colab"),
        ("I run this in Google Colab with a T4.", "colab"),
        ("Platform: Colab", "colab"),
        ('  File "/kaggle/working/train.py", line 12, in <module>', "kaggle"),
        ("KAGGLE_KERNEL_RUN_TYPE=Interactive", "kaggle"),
        ("This is on a Kaggle notebook, P100", "kaggle"),
        ("RUNPOD_POD_ID=abcdef", "runpod"),
        ("image: runpod/pytorch:2.1.0-py3.10-cuda11.8.0-devel-ubuntu22.04", "runpod"),
        ("VAST_CONTAINERLABEL=C.123456", "vast"),
        ("docker image vastai/pytorch:latest", "vast"),
        ("I rented a 4090 on vast.ai", "vast"),
        ("an H100 from Lambda Cloud", "lambda"),
        ("PAPERSPACE_FQDN=x", "paperspace"),
        ("MODAL_TASK_ID=ta-123", "modal"),
    ],
)
def test_a_provider_is_known_by_its_marks(text: str, provider: str) -> None:
    assert place(text).host.provider == provider


@for_each(
    "text",
    [
        "It works on Colab, but not on my own machine.",
        "Unlike on Kaggle, here it fails.",
        "See https://colab.research.google.com/github/org/repo/blob/main/x.ipynb",
        "[![Open In Colab](https://colab.research.google.com/assets/colab-badge.svg)]",
        "f = lambda x: x + 1",
        "a vast amount of memory",
        "a multimodal model",
        "downloaded the data set from kaggle competitions",
        "wget http://host/content/train.py",
    ],
)
def test_words_that_only_look_like_a_provider_are_no_mark(text: str) -> None:
    assert isinstance(place(text).host.provider, Missing)


def test_two_providers_are_a_conflict_and_no_place() -> None:
    found = place("RUNPOD_POD_ID=a\nVAST_CONTAINERLABEL=C.1").host.provider
    assert isinstance(found, Missing) and found.reason == "conflict"


@for_each(
    "text",
    [
        r'  File "C:\Users\me\proj\venv\Lib\site-packages\torch\cuda\__init__.py", line 1',
        r"PS C:\proj> python train.py",
        "OSError: [WinError 126] The specified module could not be found.",
    ],
)
def test_windows_by_its_paths(text: str) -> None:
    assert place(text).host.system == "windows"


@for_each(
    "text",
    [
        "PS C:\\proj> wsl\nme@PC:/mnt/c/proj$ python train.py",
        'PS C:\\proj> docker run --gpus all x\n  File "/usr/lib/python3/dist-packages/x.py"',
        "Linux here; a colleague has C:\\Users\\him",
    ],
)
def test_paths_of_windows_beside_linux_do_not_decide(text: str) -> None:
    assert place(text).host.system != "windows"


def test_the_portable_python_of_windows_is_named() -> None:
    s = place(r'  File "C:\ComfyUI\python_embeded\Lib\site-packages\torch\__init__.py", line 1')
    assert s.python.patient.executable == "./python_embeded/python.exe"


@for_each(
    "text", ["libcuda.so.1 => /usr/lib/wsl/lib/libcuda.so.1", "ls: /dev/dxg", '  File "/mnt/c/Users/me/x.py", line 3']
)
def test_wsl_by_its_paths(text: str) -> None:
    assert place(text).host.wsl == 2


@for_each("text", ["Wsl2: native_linux", '"wsl": "Native Linux",', "WSL: native linux", "WSL2 - Native Linux"])
def test_a_tool_that_says_native_linux_is_not_wsl(text: str) -> None:
    assert known(place(text).host.wsl) in (0, None)


@for_each(
    "text",
    [
        "Python version: 3.12.9 | packaged by Anaconda, Inc. | (main, Feb  6 2025, 18:56:27) [GCC 11.2.0] (64-bit runtime)",
        "Python version: 3.8.18 | packaged by conda-forge | (default, Oct 10 2023, 15:44:36)  [GCC 12.3.0]",
        '  File "/home/me/miniconda3/envs/ml/lib/python3.10/site-packages/torch/__init__.py", line 1',
        '  File "/opt/conda/lib/python3.10/site-packages/torch/__init__.py", line 1',
        "# packages in environment at /home/me/anaconda3/envs/ml:",
        "installer: conda",
        "$ conda activate ml",
    ],
)
def test_conda_by_its_marks(text: str) -> None:
    assert place(text).python.patient.kind == "conda"


def test_a_note_on_conda_is_no_mark() -> None:
    assert known(place("If you use conda, see the docs").python.patient.kind) is None


@for_each(
    ("text", "kind"),
    [
        ('docker: Error response from daemon: could not select device driver "".', "docker"),
        ("Error response from daemon: unknown or invalid runtime name: nvidia", "docker"),
        ("$ podman run --device nvidia.com/gpu=all x", "podman"),
        ("$ apptainer exec --nv image.sif python x.py", "apptainer"),
        ("$ singularity run image.sif", "apptainer"),
        ("container: True\ndocker: Error response from daemon: x", "docker"),
    ],
)
def test_an_engine_by_its_own_words(text: str, kind: str) -> None:
    assert place(text).container.kind == kind


def test_slurm_by_its_own_words() -> None:
    assert place("slurmstepd: error: execve(): x").host.scheduler == "slurm"


def test_what_is_said_comes_before_what_a_path_suggests() -> None:
    assert place("provider: gke\nRUNPOD_POD_ID=a").host.provider == "gke"


def test_marks_are_well_formed() -> None:
    for mark in marks():
        assert mark.find and all(word == word.lower() for word in (*mark.find, *mark.alone))
        assert mark.path.startswith(("host.system.windows", "raised.")) or Snapshot().fact(mark.path) is not None


def test_a_long_line_of_almost_marks_is_read_in_time() -> None:
    text = "/content/" * 20_000 + "\n" + "on colab https:// " * 20_000 + "\n" + "C:\\Users\\" * 20_000
    assert isinstance(read(text), Snapshot)


def test_words_before_the_lines_of_a_log_tell_the_place() -> None:
    compose = "vllm-openai_1  | (Worker pid=3487) ERROR 06-05 16:30:08 worker_base.py:148] RuntimeError: no\n"
    assert read(compose).container.kind == "docker"
    assert read("[pod/llm-0/server] Traceback (most recent call last):\n").host.scheduler == "kubernetes"
    assert isinstance(read("layer_1 | 3x3 | 64\nlayer_2 | 3x3 | 128\n").container.kind, Missing)
