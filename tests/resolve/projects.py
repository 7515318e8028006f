"""Parts of pyproject.toml files that several tests put together."""

from __future__ import annotations

WHL = "https://download.pytorch.org/whl"


def uv_indexes(tags: dict[str, str]) -> str:
    """Name -> tag of each of PyTorch's indexes, for uv."""
    tables = (
        f'[[tool.uv.index]]\nname = "{name}"\nurl = "{WHL}/{tag}"\nexplicit = true\n' for name, tag in tags.items()
    )
    return "".join(tables)


def poetry_sources(tags: dict[str, str]) -> str:
    """The same for Poetry."""
    return (
        uv_indexes(tags)
        .replace("tool.uv.index", "tool.poetry.source")
        .replace("explicit = true", 'priority = "explicit"')
    )
