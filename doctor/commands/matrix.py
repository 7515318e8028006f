"""`gpudoctor matrix`: browse and query the compatibility matrix, and check its files."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import click

from .click_flags import options
from .flags import answer_flags

MATRIX = click.option(
    "--matrix", "path", metavar="PATH", help="Use this matrix (a folder or file) instead of the built-in one."
)
FORMAT = options(answer_flags("text", "json"))


@click.group()
def matrix() -> None:
    """Show and query the compatibility matrix: facts about drivers, GPUs, CUDA, torch and libraries.

    Every fact has a source, and every answer has a grade. Anything the matrix does not list is unknown.
    """


@matrix.command()
@click.argument("table", required=False)
@click.option("--where", metavar="FIELD=VALUE", multiple=True, help="Show only rows with this value. Repeatable.")
@MATRIX
@FORMAT
def show(table: str | None, where: tuple[str, ...], path: str | None, **flags: Any) -> int:
    """List the tables, or print the rows of one TABLE."""
    from .matrix_show import show_table, show_tables

    if where and not table:
        raise click.UsageError("--where selects rows of a table: name the TABLE")
    return show_table(table, where, flags, path) if table else show_tables(flags, path)


@matrix.command()
@click.argument("words", nargs=-1, required=True)
@click.option("--gpu", "gpus", metavar="GPU", multiple=True, help="build: a capability or GPU name. Repeatable.")
@click.option("--driver", metavar="VERSION", help="build: the driver's version.")
@click.option("--python", metavar="VERSION", help="build: the Python version, such as 3.11 or 3.13t.")
@click.option("--torch", metavar="VERSION", help="build: a torch version or range, such as 2.6.0 or '>=2.4,<2.9'.")
@click.option(
    "--os",
    "os_",
    type=click.Choice(("linux", "windows", "wsl")),
    default="linux",
    help="Operating system. Default: linux.",
)
@click.option(
    "--arch",
    type=click.Choice(("x86_64", "aarch64")),
    default="x86_64",
    help="CPU architecture, for build, packages and questions with 'for'. Default: x86_64.",
)
@click.option("--forward-compat", is_flag=True, help="build: also list builds that need a cuda-compat package.")
@click.option("--sources", is_flag=True, help="Show all sources of the answer (default: the first, shortened).")
@MATRIX
@FORMAT
def query(words: tuple[str, ...], path: str | None, **flags: Any) -> int:
    """Ask about a subject, or which version of one thing works with another. The whole question can be quoted.

    \b
    driver 535.129.03             its branch: CUDA reported, type, end of life
    driver 535.129.03 cuda 12.8   can it run a program built with CUDA 12.8?
    driver 570.86.16 gpu 12.0     does it support this GPU (capability or name)?
    gpu "RTX 5090"                what is it? Names, capability, memory, PCI ids
    torch 2.11.0                  builds, Pythons, companions
    build --gpu 7.0 --driver 580.82.07 --python 3.11
                                  what to install
    cudnn 9.10.2, nccl 2.27.3, cuda 12.8, error 804
    framework tensorflow 2.15     its CUDA, cuDNN, Pythons; also jax, onnxruntime-gpu, cupy, paddlepaddle
    vllm 0.33.0, flash-attn 2.8.3 what a package release works with
    driver for cuda 12.8          which driver works with CUDA 12.8? On either side of 'for': driver, cuda, torch,
    torch for gpu "GTX 1080"      gpu, cudnn, nccl or a package, and python with torch or a package; if there is no
                                  value (only gpu needs one), the newest is used:
    torchaudio for torch, torchvision for torch 2.4.1, python for tensorflow 2.15, gpu for driver 470

    Exit codes: 0 an answer (it may be 'unknown'), 2 wrong usage, or the matrix lists no such subject.
    """
    from .matrix_query import answer

    return answer(words, flags, path)


@matrix.command()
@click.argument("key", required=False)
@MATRIX
@FORMAT
def sources(key: str | None, path: str | None, **flags: Any) -> int:
    """List where the facts come from, or the rows based on one source (KEY, or part of its text)."""
    from .matrix_sources import show_source, show_sources

    return show_source(key, flags, path) if key else show_sources(flags, path)


@matrix.command()
@click.option(
    "--on", metavar="DAY", type=click.DateTime(("%Y-%m-%d",)), help="Compute ages as of this day. Default: today."
)
@MATRIX
@FORMAT
def age(on: datetime | None, path: str | None, **flags: Any) -> int:
    """List when each table was last compared with its publisher's data, and which ones may be missing new releases."""
    from .matrix_age import show_ages

    return show_ages(on.date() if on else None, flags, path)


@matrix.command()
@click.argument("file")
@MATRIX
def export(file: str, path: str | None) -> int:
    """Write the whole matrix to FILE ('-': stdout), for use on another machine with `--matrix FILE`."""
    from .matrix_sources import write_export

    return write_export(file, path)


@matrix.command()
@MATRIX
@FORMAT
def lint(path: str | None, **flags: Any) -> int:
    """Check the data files. Exits 1 if there are problems."""
    from .matrix_show import print_lint

    return print_lint(flags, path)
