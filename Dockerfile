# An image with gpudoctor in an environment of its own, so that it never touches the Python it diagnoses.
#   docker build -t gpudoctor . && docker run --rm --gpus all gpudoctor
# BASE may be any image with python3 >= 3.10 and its venv module, such as your own training image.
ARG BASE=python:3.12-slim

FROM ${BASE} AS build
USER 0
# pip's own variables, for a mirror or for wheels in the build context: --build-arg PIP_INDEX_URL=...
ARG PIP_INDEX_URL
ARG PIP_NO_INDEX
ARG PIP_FIND_LINKS
COPY . /src
RUN python3 -m venv /pip \
 && python3 -m venv --without-pip /opt/gpudoctor \
 && /pip/bin/pip --disable-pip-version-check --python /opt/gpudoctor/bin/python install --no-cache-dir /src \
 && /opt/gpudoctor/bin/gpudoctor --version

FROM ${BASE}
COPY --from=build /opt/gpudoctor /opt/gpudoctor
# Last on PATH: `python3` stays the base image's own. The driver capability utility brings libnvidia-ml and nvidia-smi
# into the container, compute brings libcuda.
ENV PATH=${PATH}:/opt/gpudoctor/bin \
    NVIDIA_VISIBLE_DEVICES=all \
    NVIDIA_DRIVER_CAPABILITIES=compute,utility
USER 65534:65534
HEALTHCHECK --interval=60s --timeout=15s --start-period=30s --retries=3 CMD ["gpudoctor", "healthcheck"]
CMD ["gpudoctor", "check"]
