"""Recipes without a fault, in the ways that real projects write them."""

from __future__ import annotations

PIP = "https://download.pytorch.org/whl"

DOCKERFILES: dict[str, str] = {
    "devel to runtime": f"""\
ARG CUDA=12.4.1
FROM nvidia/cuda:${{CUDA}}-devel-ubuntu22.04 AS build
ENV TORCH_CUDA_ARCH_LIST="8.0;8.6;9.0+PTX"
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
ARG TORCH_CUDA_ARCH_LIST="7.0 7.5 8.0 8.6 8.9 9.0"
ENV TORCH_CUDA_ARCH_LIST=${TORCH_CUDA_ARCH_LIST}
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
