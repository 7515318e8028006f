"""Recipes without a fault, in the ways that real projects write them."""

from __future__ import annotations

PIP = "https://download.pytorch.org/whl"

DOCKERFILES: dict[str, str] = {
    "devel to runtime": f"""\
ARG CUDA=12.4.1
FROM nvidia/cuda:${{CUDA}}-devel-ubuntu22.04 AS build
ENV TORCH_CUDA_ARCH_LIST="8.0;8.6;9.0+PTX" FORCE_CUDA=1
RUN apt-get update && apt-get install -y --no-install-recommends git python3-pip && rm -rf /var/lib/apt/lists/*
RUN pip install torch==2.6.0 torchvision==0.21.0 --index-url {PIP}/cu124
RUN pip wheel --no-build-isolation --no-deps -w /wheels git+https://github.com/facebookresearch/detectron2.git
FROM nvidia/cuda:${{CUDA}}-runtime-ubuntu22.04
COPY --from=build /wheels /wheels
RUN apt-get update && apt-get install -y python3-pip \\
    && pip install torch==2.6.0 --index-url {PIP}/cu124 \\
    && pip install /wheels/*.whl
HEALTHCHECK CMD ["gpudoctor", "healthcheck"]
""",
    "the new key first": """\
FROM pytorch/pytorch:1.11.0-cuda11.3-cudnn8-devel
RUN apt-key adv --fetch-keys https://developer.download.nvidia.com/compute/cuda/repos/ubuntu1804/x86_64/3bf863cc.pub
RUN apt-get update && apt-get install -y git
""",
    "without the repository": """\
FROM tensorflow/tensorflow:2.4.1-gpu
RUN rm -f /etc/apt/sources.list.d/cuda.list /etc/apt/sources.list.d/nvidia-ml.list && apt-get update
""",
    "made of ubuntu": """\
FROM pytorch/pytorch:1.9.0-cuda10.2-cudnn7-runtime
RUN apt-get update && apt-get install -y git
""",
    "a patch that is newer than the rows": """\
FROM nvidia/cuda:13.0.2-cudnn-devel-ubuntu24.04
RUN apt-get update
""",
    "an old tag, rebuilt with the new key": """\
FROM nvidia/cuda:11.3.1-cudnn8-devel-ubuntu20.04
RUN apt-get update
""",
    "uv takes the first index that has it": f"""\
FROM nvidia/cuda:12.8.1-base-ubuntu22.04
RUN uv pip install --system torch --extra-index-url {PIP}/cu128
""",
    "another build of PyPI where the index has none": f"""\
FROM nvidia/cuda:12.1.1-base-ubuntu22.04
RUN pip install torch==2.6.0 --extra-index-url {PIP}/cu121
""",
    "the newest for an old Python": """\
FROM nvidia/cuda:12.1.1-base-ubuntu20.04
RUN apt-get update && apt-get install -y python3-pip && pip3 install torch
""",
    "a nightly index that is built": f"""\
FROM nvidia/cuda:13.0.0-base-ubuntu24.04
RUN pip install --pre torch --index-url {PIP}/nightly/cu132
""",
    "compiled by ROCm": """\
FROM ubuntu:22.04
RUN apt-get update && apt-get install -y rocm-dev python3-pip
RUN cd apex && python setup.py install --cpp_ext --cuda_ext
""",
    "taken out before": """\
FROM nvcr.io/nvidia/pytorch:25.03-py3
RUN pip uninstall -y torch torchvision flash_attn
RUN pip install torch==2.8.0 torchvision==0.23.0
""",
    "taken out in the same step": """\
FROM pytorch/pytorch:2.6.0-cuda12.4-cudnn9-devel
RUN python -m pip uninstall -y torch && pip install torch==2.8.0
""",
    "taken out by uv, after an install": f"""\
FROM nvidia/cuda:12.8.1-devel-ubuntu22.04
RUN pip install torch==2.7.0 --index-url {PIP}/cu128
RUN uv pip uninstall torch
RUN pip install torch==2.8.0 --index-url {PIP}/cu128
""",
    "extensions with lists of their own": f"""\
FROM nvidia/cuda:12.8.1-devel-ubuntu22.04
RUN pip install torch==2.8.0 --index-url {PIP}/cu128
RUN pip install flash-attn --no-build-isolation && pip install git+https://github.com/state-spaces/mamba.git
RUN DS_BUILD_OPS=1 pip install deepspeed
RUN TCNN_CUDA_ARCHITECTURES=86 pip install git+https://github.com/NVlabs/tiny-cuda-nn#subdirectory=bindings/torch
RUN TORCH_CUDA_ARCH_LIST=8.6 pip install git+https://github.com/facebookresearch/xformers.git
""",
    "torch of the image": """\
FROM pytorch/pytorch:2.4.1-cuda12.4-cudnn9-runtime
WORKDIR /app
COPY requirements.txt .
RUN pip install --no-cache-dir -r requirements.txt
COPY . .
CMD ["python", "serve.py"]
""",
    "python and torch": f"""\
FROM python:3.11-slim
ENV NVIDIA_VISIBLE_DEVICES=all \\
    NVIDIA_DRIVER_CAPABILITIES=compute,utility
RUN pip install --no-cache-dir torch==2.7.1 --index-url {PIP}/cu128
""",
    "cpu on purpose": f"""\
FROM python:3.12-slim
RUN pip install torch --index-url {PIP}/cpu
HEALTHCHECK CMD curl -f http://localhost:8000/health || exit 1
""",
    "asks for GPUs; the toolkit's default capabilities": f"""\
FROM python:3.12-slim
RUN pip install torch==2.8.0 --index-url {PIP}/cu128
ENV NVIDIA_VISIBLE_DEVICES=all
""",
    "a plain torch, which may be for the CPU": """\
FROM python:3.12-slim
RUN pip install torch==2.8.0
""",
    "uv": f"""\
FROM nvidia/cuda:12.8.1-base-ubuntu24.04
COPY --from=ghcr.io/astral-sh/uv:latest /uv /bin/uv
COPY pyproject.toml uv.lock ./
RUN uv sync --frozen
RUN uv pip install torch==2.8.0 --index-url {PIP}/cu128
""",
    "toolkit by apt": """\
FROM ubuntu:22.04
RUN apt-get update && apt-get install -y cuda-toolkit-12-4 libcudnn9-cuda-12
ENV NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility PATH=/usr/local/cuda/bin:$PATH
RUN nvidia-smi || true
""",
    "NVIDIA's own": """\
FROM nvcr.io/nvidia/pytorch:25.08-py3
RUN pip install --no-deps transformers datasets && pip install "torch>=2.0"
ENV LD_LIBRARY_PATH=/usr/local/lib:$LD_LIBRARY_PATH
""",
    "a heredoc": f"""\
# syntax=docker/dockerfile:1
FROM nvidia/cuda:12.8.1-cudnn-runtime-ubuntu22.04
RUN <<EOF
set -e
apt-get update
pip install torch==2.8.0 --index-url {PIP}/cu128
pip install vllm==0.10.2
EOF
""",
    "same pin again": f"""\
FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04
COPY requirements.txt /srv/requirements.txt
RUN pip install torch==2.4.1 --index-url {PIP}/cu124 && pip install -r /srv/requirements.txt
""",
    "conda": """\
FROM continuumio/miniconda3
ENV NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=all
RUN conda install -y pytorch==2.4.1 pytorch-cuda=12.4 -c pytorch -c nvidia
SHELL ["conda", "run", "-n", "base", "/bin/bash", "-c"]
""",
    "NVIDIA's own list of architectures": """\
FROM nvcr.io/nvidia/pytorch:25.08-py3
RUN git clone https://github.com/NVIDIA/apex && cd apex && python setup.py install --cuda_ext
""",
    "another product of NVIDIA": f"""\
FROM nvcr.io/nvidia/tritonserver:25.08-py3
RUN pip install torch==2.8.0 --index-url {PIP}/cu128
""",
    "driver unpinned variable": """\
FROM nvidia/cuda:12.4.1-devel-ubuntu22.04
ARG TCNN_CUDA_ARCHITECTURES="70;75;80;86;89;90"
ENV TCNN_CUDA_ARCHITECTURES=${TCNN_CUDA_ARCHITECTURES}
RUN git clone https://github.com/NVlabs/tiny-cuda-nn && cd tiny-cuda-nn/bindings/torch && python setup.py install
""",
}
REQUIREMENTS = "numpy\ntorch==2.4.1\ntransformers>=4.40\n"

OTHERS: dict[str, str] = {
    "compose.yaml": """\
services:
  api:
    build: .
    gpus: all
    shm_size: 8gb
    command: torchrun serve.py
    healthcheck: {test: [CMD, gpudoctor, healthcheck]}
  worker:
    image: vllm/vllm-openai:v0.10.0
    ipc: host
    deploy: {resources: {reservations: {devices: [{driver: nvidia, device_ids: ["0", "3"], capabilities: [gpu]}]}}}
  old:
    image: nvidia/cuda:12.4.1-base-ubuntu22.04
    runtime: nvidia
    environment: {NVIDIA_VISIBLE_DEVICES: all}
  web-cpu:
    image: pytorch/pytorch:2.6.0-cuda12.4-cudnn9-runtime
    environment: [CLI_ARGS=--cpu]
  redis: {image: "redis:7"}
  models: {image: "nvcr.io/nvidia/tritonserver:25.08-py3", command: [wget, "https://example.org/model"]}
""",
    "deployment.yaml": """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: llm}
spec:
  template:
    spec:
      runtimeClassName: nvidia
      containers:
        - name: llm
          image: vllm/vllm-openai:v0.10.0
          args: [--tensor-parallel-size, "4"]
          resources:
            limits: {nvidia.com/gpu: 4, memory: 64Gi}
            requests: {nvidia.com/gpu: 4}
          livenessProbe: {httpGet: {path: /health, port: 8000}}
          startupProbe: {exec: {command: [gpudoctor, healthcheck]}}
          volumeMounts: [{name: shm, mountPath: /dev/shm}]
        - {name: proxy, image: "envoyproxy/envoy:v1.31.0"}
      volumes: [{name: shm, emptyDir: {medium: Memory}}]
---
apiVersion: v1
kind: Service
metadata: {name: llm}
spec: {ports: [{port: 80}]}
""",
}

_POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n"
_CLAIM = "resources: {limits: {nvidia.com/gpu: %s}}"


def _runs(image: str, *rows: str, kind: str = "apps/v1\nkind: DaemonSet", name: str = "a") -> str:
    """A workload of one container with this image, and these rows of it."""
    own = "".join(f"\n          {row}" for row in rows)
    return (
        f"apiVersion: {kind}\nmetadata: {{name: a}}\nspec:\n  template:\n    spec:\n      containers:\n"
        f"        - name: {name}\n          image: {image}{own}\n"
    )


_VOID = "env: [{name: NVIDIA_VISIBLE_DEVICES, value: void}]"
_SHM = "volumeMounts: [{name: shm, mountPath: /dev/shm}]"
KUBERNETES: dict[str, str] = {
    "the operator's manager asks for nothing": _runs("nvcr.io/nvidia/cloud-native/k8s-cc-manager:v0.1", _VOID),
    "its driver container": _runs("nvcr.io/nvidia/driver:580.95.05-ubuntu22.04", _VOID),
    "the device plugin": _runs("nvcr.io/nvidia/k8s-device-plugin:v0.17.0"),
    "labels by feature discovery": _runs("nvcr.io/nvidia/gpu-feature-discovery:v0.17.0"),
    "DCGM's exporter": _runs("nvcr.io/nvidia/k8s/dcgm-exporter:4.2.3-4.3.0-ubuntu22.04"),
    "a DaemonSet that watches all GPUs": _runs("me/x", "env: [{name: NVIDIA_VISIBLE_DEVICES, value: all}]"),
    "void in a pod without GPUs": _runs("me/x", _VOID),
    "Ray's head": "apiVersion: ray.io/v1\nkind: RayCluster\nmetadata: {name: r}\nspec:\n  headGroupSpec:\n    rayStartParams: {}\n    template:\n      spec:\n        containers:\n        - {name: ray-head, image: 'rayproject/ray:2.46.0-gpu', resources: {limits: {nvidia.com/gpu: 4}}}\n",
    "Ray's workers in a service": "apiVersion: ray.io/v1\nkind: RayService\nmetadata: {name: r}\nspec:\n  rayClusterConfig:\n    workerGroupSpecs:\n    - template:\n        spec:\n          containers:\n          - {name: w, image: 'rayproject/ray:2.46.0-gpu', command: [python, train.py], resources: {limits: {nvidia.com/gpu: 1}}}\n",
    "KServe's own service": "apiVersion: serving.kserve.io/v1alpha1\nkind: LLMInferenceService\nmetadata: {name: r}\nspec:\n  template:\n    containers:\n    - {name: main, image: 'vllm/vllm-openai:v0.10.0', resources: {limits: {nvidia.com/gpu: 8}}}\n",
    "GKE's folder": f"{_POD}  volumes: [{{name: n, hostPath: {{path: /home/kubernetes/bin/nvidia}}}}, {{name: shm, emptyDir: {{medium: Memory}}}}]\n  containers:\n  - name: c\n    image: nvcr.io/nvidia/pytorch:25.06-py3\n    {_SHM}\n    {_CLAIM % 8}\n",
    "no runtime class, and none in the file": _runs("me/x", _CLAIM % 1, kind="apps/v1\nkind: Deployment"),
    "a share by HAMi": _runs("vllm/vllm-openai:v0.10.0", "resources: {limits: {nvidia.com/gpumem: 3000}}"),
    "a share by volcano": _runs("vllm/vllm-openai:v0.10.0", "resources: {limits: {volcano.sh/vgpu-number: 1}}"),
    "memory of a GPU by Alibaba Cloud": _runs(
        "vllm/vllm-openai:v0.10.0", "resources: {limits: {aliyun.com/gpu-mem: 3}}"
    ),
    "a MIG instance": _runs("vllm/vllm-openai:v0.10.0", "resources: {limits: {nvidia.com/mig-1g.10gb: 1}}"),
    "mpirun's launcher": "apiVersion: kubeflow.org/v2beta1\nkind: MPIJob\nmetadata: {name: m}\nspec:\n  mpiReplicaSpecs:\n    Launcher:\n      template:\n        spec:\n          containers:\n          - {name: l, image: 'nvcr.io/nvidia/pytorch:25.06-py3', command: [mpirun, python, train.py]}\n",
    "as many as it gets": _runs(
        "vllm/vllm-openai:v0.10.0",
        'args: [--tensor-parallel-size, "2"]',
        _SHM,
        _CLAIM % 2,
        kind="apps/v1\nkind: Deployment",
    ),
    "GPUs of two nodes": _runs(
        "lmsysorg/sglang:v0.5.3",
        'args: [--tp, "16", --nnodes, "2"]',
        _SHM,
        _CLAIM % 8,
        kind="apps/v1\nkind: StatefulSet",
    ),
}
"""Manifests of public projects, reduced: operators, controllers and schedulers that do by themselves what a pod need not."""
COMPOSE: dict[str, str] = {
    "a variable of the shell, as many GPUs as the program takes": "services:\n  a:\n    image: vllm/vllm-openai:v0.10.0\n    ipc: host\n    environment: {CUDA_VISIBLE_DEVICES: , LD_LIBRARY_PATH: /usr/lib}\n    command: --tensor-parallel-size 2\n    deploy: {resources: {reservations: {devices: [{driver: nvidia, count: 2, capabilities: [gpu]}]}}}\n",
    "all GPUs": "services:\n  a:\n    image: vllm/vllm-openai:v0.10.0\n    ipc: host\n    command: --tensor-parallel-size 8\n    gpus: all\n",
    "one service of an image has the GPU": "services:\n  controller:\n    image: nvidia/cuda:12.2.0-runtime-ubuntu20.04\n    command: [python3, -m, app.controller]\n  worker:\n    image: nvidia/cuda:12.2.0-runtime-ubuntu20.04\n    shm_size: 8gb\n    deploy: {resources: {reservations: {devices: [{driver: nvidia, count: 1, capabilities: [gpu]}]}}}\n",
}
TEMPLATES: dict[str, str] = {
    "a chart that is YAML too": "apiVersion: apps/v1\nkind: Deployment\nspec:\n  template:\n    spec:\n      containers:\n      - name: {{ .Chart.Name }}\n        image: nvcr.io/nvidia/tritonserver:25.06-py3\n        resources: {limits: {nvidia.com/gpu: {{ .Values.image.numGpus }}}}\n",
    "a value alone": "apiVersion: v1\nkind: Pod\nspec:\n  containers:\n  - {name: a, image: '{{ .Values.image }}'}\n",
    "a helper": "apiVersion: v1\nkind: Pod\nmetadata: {name: '{{ include \"a.name\" . }}'}\nspec:\n  containers: [{name: a, image: b}]\n",
}
