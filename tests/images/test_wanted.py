"""Names alone decide what is looked at; the folder of an environment comes from that of its packages."""

from __future__ import annotations

from doctor.images.layers.wanted import prefix_of, site_of, wanted

from ..rows import for_each


@for_each(
    ("site", "prefix"),
    [
        ("usr/local/lib/python3.11/site-packages", "/usr/local"),
        ("opt/libs/venv/lib64/python3.12/site-packages", "/opt/libs/venv"),
        ("usr/lib/python3/dist-packages", "/usr"),
        ("usr/local/lib/python3.12/dist-packages", "/usr/local"),
        ("opt/conda/lib/python3.13t/site-packages", "/opt/conda"),
        ("lib/python3.11/site-packages", "/"),
    ],
)
def test_the_prefix_of_a_folder_of_packages(site: str, prefix: str) -> None:
    assert prefix_of(site) == prefix


@for_each(
    ("path", "what"),
    [
        ("opt/x/lib/python3.11/site-packages/torch/lib/libtorch_cuda.so", "library"),
        ("opt/x/lib/python3.11/site-packages/torch/lib/libtorch_python.so", "arch-list"),
        ("opt/x/lib/python3.11/site-packages/torch/lib/libgomp.so.1", "listed"),
        ("opt/x/lib/python3.11/site-packages/torch/_inductor/config.py", ""),
        ("opt/x/lib/python3.11/site-packages/torch-2.6.0.dist-info/METADATA", "header"),
        ("opt/x/lib/python3.11/site-packages/torch-2.6.0.dist-info/RECORD", ""),
        ("opt/x/lib/python3.11/site-packages/click-8.1.0.dist-info/METADATA", ""),
        ("opt/x/lib/python3.11/site-packages/vllm/_C.abi3.so", "library"),
        ("root/.cache/uv/archive-v0/Xy1/torch/lib/libtorch_cuda.so", "library"),
        ("usr/local/cuda-12.4/compat/libcuda.so.550.54.15", "library"),
        ("usr/local/cuda-12.4/lib64/libcublas.so.12.4.5.8", "listed"),
        ("usr/share/doc/python3/README", ""),
        ("usr/lib/x86_64-linux-gnu/libc-2.31.so", "glibc"),
        ("usr/bin/x86_64-linux-gnu-gcc-12", "listed"),
        ("etc/ld.so.cache", "cache"),
    ],
)
def test_what_is_done_with_a_file(path: str, what: str) -> None:
    assert wanted(path, *site_of(path)) == what
