"""Plain questions get the command of ours that decides them, filled in; complaints and calm sentences get none."""

from __future__ import annotations

import json
import re
import shlex
from functools import cache
from pathlib import Path

import click
import pytest

from benchmarks.cases import CASES, load_cases, renderer
from compat_matrix import Matrix
from doctor.cli import gpudoctor, run
from doctor.judge.report import Answer, Report
from doctor.snapshot.masks import holds_mask
from doctor.text import read
from doctor.text.plain_question import deciding, plain, plain_questions
from doctor.text.short_question import question_of

from ..judging import report
from ..rows import for_each

Capture = pytest.CaptureFixture[str]
TABLE = Path(__file__).parents[2] / "doctor" / "text" / "tables" / "plain_questions.toml"
FIRST = {
    "my container sees no GPU on k8s": "gpudoctor check --target kubectl:NAMESPACE/POD",
    "is my pod slow because of CPU": "gpudoctor watch -- python train.py",
    "CUDA out of memory on a 4090 with a 7B model": "gpudoctor fit --params 7B --gpus 'RTX 4090'",
    "why can't my docker container see the GPU?": "gpudoctor check --target docker:NAME",
    "torch uses the CPU instead of the GPU in WSL2": "gpudoctor check",
    "no gpu in my slurm job, why?": "srun --gpus=1 gpudoctor check",
    "pod trainer-0 in namespace ml doesn't find any GPU": "gpudoctor check --target kubectl:ml/trainer-0",
    "my jupyter notebook doesn't detect the graphics card":
        "!gpudoctor check --python {__import__('sys').executable}",
    "will Llama 70B fit on two A100 80GB?": "gpudoctor fit --params 70B --gpus 2xA100-80GB",
    "can I finetune a 13B model with QLoRA on one RTX 3090?":
        "gpudoctor fit --params 13B --lora 16 --base nf4 --gpus 'RTX 3090'",
    "how much VRAM do I need for a 32B model in 4-bit": "gpudoctor fit --params 32B --task inference --dtype int4",
    "how many H100 do I need to serve a 405B model": "gpudoctor fit --params 405B --task inference --gpus H100",
    "GPU utilization is at 20 %, what is the bottleneck?": "gpudoctor watch -- python train.py",
    "training waits for the dataloader all the time": "gpudoctor watch -- python train.py",
    "train_gpt.py is so slow on my A100": "gpudoctor watch -- python train_gpt.py",
    "my vllm server is slow, is it the gpu?": "gpudoctor watch --pid PID",
    "why is training slower on 8 GPUs than on one?": "gpudoctor prove --links",
    "does NCCL use NVLink between my GPUs?": "gpudoctor topo",
    "ddp training hangs with 2 nodes, how can I find out why": "gpudoctor prove --links",
    "are my GPUs connected with NVLink": "gpudoctor topo",
    "does vllm/vllm-openai:v0.10.0 run with driver 535?": "gpudoctor image vllm/vllm-openai:v0.10.0 --driver 535",
    "will the image nvcr.io/nvidia/pytorch:25.08-py3 run on our host":
        "gpudoctor image nvcr.io/nvidia/pytorch:25.08-py3",
    "what is wrong with my Dockerfile? torch sees no GPU": "gpudoctor dockerfile Dockerfile",
    "can I upgrade to driver 580 without breaking torch?": "gpudoctor what-if --driver 580",
    "what happens if I switch to python 3.13": "gpudoctor what-if --python 3.13",
    "which of our nodes is broken?": "gpudoctor fleet run --on ssh --nodes NODES -o now.db",
    "is my gpu healthy?": "gpudoctor check",
    "how do I know if my GPU is really used?": "gpudoctor check",
    "bought a used gpu, how to test it": "gpudoctor check",
    "my GPU runs at 90 degrees, is that ok": "gpudoctor check",
    "pc shuts off when the gpu is under load": "gpudoctor check",
    "loss is nan only on the new card": "gpudoctor prove",
    "it worked yesterday, today the gpu is gone": "gpudoctor check",
    "one container works, the other container has no gpu": "gpudoctor check --target docker:NAME",
    "which torch should I install for my card": "gpudoctor resolve",
    "how do I install flash-attn without compiling for hours": "gpudoctor check --building",
    "how to check the gpu before each job in slurm": "gpudoctor print slurm-prolog",
    "my training is stuck, gpu at 0%": "gpudoctor watch -- python train.py",
}  # fmt: skip
"""Written before the code."""
LATER = {
    "Why does nvidia-smi work on the host but the container has no GPU?": "gpudoctor check --target docker:NAME",
    "hi all, k8s newbie here. deployed a pod but it doesnt see any gpu, what do i do":
        "gpudoctor check --target kubectl:NAMESPACE/POD",
    "GPU not available in my deployment on EKS": "gpudoctor check --target kubectl:NAMESPACE/POD",
    "is there something wrong with my cuda setup?": "gpudoctor check",
    "my 3090 sits idle most of the time during training": "gpudoctor watch -- python train.py",
    "OOM when fine-tuning llama 8b with lora on a single 24GB 3090":
        "gpudoctor fit --params 8B --lora 16 --gpus 'RTX 3090'",
    "can a 4060 ti 16gb run a 14b model?":
        "gpudoctor fit --params 14B --task inference --gpus 'RTX 4060 Ti=16GB'",
    "does it fit: 70B awq, 32k context, 2x L40S":
        "gpudoctor fit --params 70B --task inference --dtype awq --seq 32768 --gpus 2xL40S",
    "ollama only uses cpu, not my graphics card": "gpudoctor check",
    "Is my CPU the bottleneck? GPU jumps between 0 and 100%": "gpudoctor watch -- python train.py",
    "epoch takes too long on the A10G, yesterday it was faster": "gpudoctor watch -- python train.py",
    "we run 4 nodes with infiniband and scaling is bad": "gpudoctor prove --links",
    "Can podman container trainer_1 use the GPU?": "gpudoctor check --target podman:trainer_1",
    "since the kernel update pytorch does not find my gpu": "gpudoctor check",
    "should I update my driver from 535.183.01 to 570?": "gpudoctor what-if --driver 570",
    "How can I be sure that the A100 I rented is not faulty": "gpudoctor check",
    "how to make kubernetes restart pods when the gpu dies? liveness probe?": "gpudoctor print kubernetes",
    "is docker-compose.yml right for gpu?": "gpudoctor dockerfile docker-compose.yml",
    "xformers build takes forever, is something missing on my machine?": "gpudoctor check --building",
    "which driver do I need for a 5090": "gpudoctor resolve --gpu 'RTX 5090' --driver none",
    "I get garbage outputs from the model on one of two cards": "gpudoctor prove",
    "I want to run a 7B model, do I have enough VRAM?": "gpudoctor fit --params 7B --task inference",
    "GPU temperature 88 C is this throttling?": "gpudoctor check",
    "jax can't find the gpu in colab": "!gpudoctor check --python {__import__('sys').executable}",
    "inference is 3x slower in docker than on the host": "gpudoctor watch -- python train.py",
    "ssh box gpu-17: torch doesn't see cuda": "gpudoctor check --target ssh:gpu-17",
    "vLLM starts slowly and GPU memory is full, how many gb do i need for qwen 32b fp8":
        "gpudoctor fit --params 32B --task inference --dtype fp8",
    "torchrun on 8 gpus just hangs": "gpudoctor prove --links",
    "anyone know why tensorflow doesnt use my gpu on ubuntu": "gpudoctor check",
    "Kubernetes: GPU not showing up inside the pod infer-7c9, namespace prod":
        "gpudoctor check --target kubectl:prod/infer-7c9",
    "I'm trying to load mixtral 47b in 4bit on 2x3090 and get OOM":
        "gpudoctor fit --params 47B --task inference --dtype int4 --gpus '2xRTX 3090'",
    "What GPU memory is required to train a 3B model with batch size 8 and 4096 tokens?":
        "gpudoctor fit --params 3B --seq 4096 --batch 8",
    "is 12 gb vram enough for a 7b q4_k_m?": "gpudoctor fit --params 7B --task inference --dtype q4_k_m",
    "my lab's slurm job only sees the cpu": "srun --gpus=1 gpudoctor check",
    "pytorch falls back to cpu inside podman": "gpudoctor check --target podman:NAME",
    "after apt upgrade my gpu disappeared": "gpudoctor check",
    "how do i find the slowest node in our cluster": "gpudoctor fleet run --on ssh --nodes NODES -o now.db",
    "multi gpu training not faster than single gpu": "gpudoctor prove --links",
    "want to move from torch 2.4 to torch 2.8, what breaks?": "gpudoctor what-if --torch 2.8",
    "Is this used Tesla V100 ok? bought on ebay": "gpudoctor check",
    "My model outputs nan on gpu but not on cpu": "gpudoctor prove",
    "GPU fan at 100% and it is throttling": "gpudoctor check",
    "Does my image my-registry.example/team/train:1.4 run on a node with driver 550?":
        "gpudoctor image my-registry.example/team/train:1.4 --driver 550",
    "deployment.yaml requests nvidia.com/gpu but is it right?": "gpudoctor dockerfile deployment.yaml",
    "nvlink between the two 3090s: how do I see that it works": "gpudoctor topo",
    "conda env has no cuda, which version do I install": "gpudoctor resolve",
    "Please help, GPU at 3% while training resnet": "gpudoctor watch -- python train.py",
}  # fmt: skip
"""Written when the code had answered the first ones. The first try answered 41 of 48 rightly; the rest led to repairs."""
COMPLAINTS = (
    "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 8.00 GiB total capacity)",
    "RuntimeError: No CUDA GPUs are available",
    "No CUDA GPUs are available",
    'docker: Error response from daemon: could not select device driver "" with capabilities: [[gpu]].',
    "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.",
    "No devices were found",
    "Failed to initialize NVML: Unknown Error",
    "CUDA driver version is insufficient for CUDA runtime version",
    "my pod was OOMKilled with exit code 137",
    "/usr/bin/ld: cannot find -lcuda",
    "ImportError: libcudart.so.12: cannot open shared object file",
    "nvidia-smi: command not found",
    "CUDA error: device-side assert triggered",
    "Xid 79, GPU has fallen off the bus",
    "[rank0]: NCCL WARN Cuda failure",
    "nvcc fatal   : Unsupported gpu architecture 'compute_120'",
    "libnvidia-ml.so.1: cannot open shared object file",
    "Segmentation fault (core dumped) when importing torch",
    "my code has a bug in the training loop: KeyError: 'loss'",
    "host memory is full, the dataloader gets killed",
)
CALM = (
    "the container sees the GPU now, thanks",
    "solved: the driver was too old, works now on the 4090",
    "Thanks, fixed by reinstalling the driver, GPU visible again",
    "my website is slow",
    "is my laptop slow because of chrome",
    "the build of my website is slow, no gpu involved",
    "my GPU is not slow and there is no problem",
    "the training is not slow, just a note",
    "no OOM on the 4090 with 7B",
    "I have no GPU, only an AMD card",
    "training on the A100 runs at 95 % utilization",
    "GPU temperature is 45 C",
    "the GPU is used and everything is fine",
    "all good, the pod uses the gpu",
    "loss goes down nicely on the H100",
    "throughput is 900 tokens/s on one L40S",
    "nvidia-smi shows 2 GPUs",
    "GPU 0: NVIDIA A100-SXM4-80GB",
    "GPU out of stock everywhere, when can I buy a 5090",
    "Loaded plugin gpu, no errors",
    "hello there",
)


@cache
def matrix() -> Matrix:
    return Matrix.load()


def answered(text: str) -> tuple[Report, tuple[Answer, ...]]:
    found = report(read(text))
    return found, found.text.answers if found.text else ()


@for_each("question", FIRST | LATER)
def test_a_plain_question_gets_the_command_that_decides_it(question: str) -> None:
    found, answers = answered(question)
    assert answers and answers[0].command == (FIRST | LATER)[question], answers
    assert found.verdict == "unknown", "a question proves nothing"


def test_a_third_of_the_questions_is_newer_than_the_code() -> None:
    assert len(FIRST | LATER) >= 40 and 3 * len(LATER) >= len(FIRST | LATER)


@for_each("text", (*COMPLAINTS, *CALM))
def test_what_is_no_question_gets_no_command(text: str) -> None:
    assert answered(text)[1] == ()


def test_cases_are_reports_and_no_questions() -> None:
    """Of the public reports and the lines of a program in them, one sentence is as people would put it."""
    render, taken = renderer(CASES), set()
    for case in load_cases(CASES):
        for text in (render(case), "\n".join(case.get("error_text") or [])):
            question = question_of(text)
            if question and plain(question) and answered(text)[1]:
                taken.add(case["id"])
    assert taken <= {"sunone_aimbot_2-10"}


@for_each("row", [row.id for row in plain_questions()])
def test_each_row_answers_its_own_examples(row: str) -> None:
    says = re.search(rf"^id = '{row}'\nsays = \[(.*)\]$", TABLE.read_text("utf-8"), re.M)
    assert says
    for text in re.findall(r"'([^']+)'", says[1]):
        found = plain(text)
        assert found and found[0].id == row, (text, found and found[0].id)


@for_each("question", FIRST | LATER)
def test_every_command_is_one_that_exists(question: str) -> None:
    """Its options are parsed as a shell and click parse them; words in capitals stand for what the question lacks."""
    for answer in answered(question)[1]:
        words = shlex.split(answer.command.replace("srun --gpus=1 ", "").removeprefix("!").replace("PID", "4711"))
        words = ["python" if "__import__" in word else word for word in words]
        assert words.pop(0) == "gpudoctor"
        command: click.Command = gpudoctor
        while isinstance(command, click.Group):
            name = words.pop(0)
            found = command.get_command(click.Context(command), name)
            assert found, answer.command
            command = found
        assert command.make_context(command.name, words)


@for_each(
    "question", [question for question, command in (FIRST | LATER).items() if command.startswith("gpudoctor fit")]
)
def test_every_model_and_gpu_is_one_that_fit_knows(question: str, capsys: Capture) -> None:
    command = (FIRST | LATER)[question]
    given = command if "--gpus" in command else f"{command} --gpus H100-80GB"
    assert run(shlex.split(given)[1:]) in (0, 1, 3), capsys.readouterr().err


@for_each("denied", ["It is not in docker", "I don't use docker", "this is outside of docker", "no docker here",
                     "we run without any container"])  # fmt: skip
def test_a_place_that_is_denied_is_not_examined(denied: str) -> None:
    answers = answered(f"torch does not see my gpu. {denied}")[1]
    assert [answer.command for answer in answers] == ["gpudoctor check"]


@for_each("denied", ["the GPU is not slow", "my training isn't slow", "inference on the gpu is no longer slow",
                     "the gpu isn't too hot", "no oom on my gpu", "training never hangs"])  # fmt: skip
def test_a_complaint_that_is_denied_is_none(denied: str) -> None:
    assert answered(denied)[1] == ()


@for_each("host", ["host-3", "host-17", "user-2"])
def test_no_command_holds_a_mask(host: str) -> None:
    for text in (f"ssh {host}: torch does not see the gpu", f"container {host} in docker has no gpu",
                 f"does {host}/team/train:1.4 run with driver 535?"):  # fmt: skip
        for answer in deciding(text, matrix(), False):
            assert not holds_mask(answer.command), answer.command


def test_the_answer_leads_the_screen_and_a_likely_cause_stays(capsys: Capture) -> None:
    run(["explain", "no gpu in my slurm job, why?"])
    shown = capsys.readouterr().out
    assert shown.index("srun --gpus=1 gpudoctor check") < shown.index("scheduler-gpu-allocation")
    run(["explain", "is", "my", "pod", "slow", "because", "of", "CPU"])
    shown = capsys.readouterr().out
    assert "gpudoctor watch -- python train.py" in shown and "No known error" not in shown
    for flags in (["-q"], ["--brief"], ["--format", "html"]):
        run(["explain", "is my pod slow because of CPU", *flags])
        assert "gpudoctor watch -- python train.py" in capsys.readouterr().out
    run(["explain", "is my pod slow because of CPU", "--json"])
    first = json.loads(capsys.readouterr().out)["text"]["answers"][0]
    assert first["command"] == "gpudoctor watch -- python train.py"
