"""What `topo` does once its flags are known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from compat_matrix.close_names import unlisted_gpu

from ..guard import Refusal
from ..topo import Answer, Gap, Garbled, Peers, Table, answer, of_snapshot, parse_peers, parse_table
from .assess import matrix_of
from .counted import parameter_count
from .read import read_bounded
from .write import answer as print_answer
from .write import echo

_MOST_BYTES = 4 << 20


def run_topo(flags: dict[str, Any]) -> int:
    """Gather, compute and print; returns the exit code."""
    if flags["text"] and flags["from_"]:
        raise Refusal("a pasted table cannot be used with --from")
    count = parameter_count(flags["params"])
    m = matrix_of(flags)
    if flags["gpu"] and not (m.gpu(flags["gpu"]).rows or m.gpus_like(flags["gpu"]).rows):
        echo(f"gpudoctor: {unlisted_gpu(m, flags['gpu'])}", err=True)
        return 3
    try:
        text = _pasted(flags) if flags["text"] else ""
        peers = parse_peers(text) if text else None
        if peers is not None:
            return _print_peers(peers, flags)
        table = parse_table(text) if flags["text"] else _looked_at(flags)
    except Garbled as error:
        raise Refusal(f"{'standard input' if flags['text'] == '-' else flags['text']}: {error}") from None
    except Gap as gap:
        echo(f"gpudoctor: {gap}", err=True)
        return 3
    found = answer(m, table, count, flags["seq"], flags["gpu"] or "")
    print_answer(_rendered(found, flags), flags)
    return 3 if found.missing else 0


def _pasted(flags: dict[str, Any]) -> str:
    data = read_bounded(flags["text"], _MOST_BYTES, "is over 4 MiB: too large to be a table from nvidia-smi topo -m")
    return data.decode("utf-8", "replace")


def _print_peers(peers: Peers, flags: dict[str, Any]) -> int:
    """Raises Refusal for a format in which this matrix cannot be drawn."""
    if flags["format_"] == "json":
        import msgspec

        print_answer(msgspec.json.format(msgspec.json.encode(peers), indent=2).decode() + "\n", flags)
    elif flags["format_"] in ("text", "markdown"):
        print_answer("\n".join(peers.verdict) + "\n", flags)
    else:
        raise Refusal(f"a -p2p matrix cannot be used with --format {flags['format_']}: use text, markdown or json")
    return 0


def _looked_at(flags: dict[str, Any]) -> Table:
    if flags["from_"] and Path(flags["from_"]).is_dir():
        from .sources import replay

        return of_snapshot(replay(flags["from_"]))
    from .run_resolve import looked_at

    return of_snapshot(looked_at(flags))


def _rendered(found: Answer, flags: dict[str, Any]) -> str:
    if flags["format_"] == "json":
        import msgspec

        return msgspec.json.format(msgspec.json.encode(found), indent=2).decode() + "\n"
    if flags["format_"] == "svg":
        from ..report.plot_topo import render_topo

        return render_topo(found)
    if flags["format_"] == "html":
        from ..report.page_plain import topo_page

        return topo_page(found)
    from ..report.topo import topo_markdown, topo_text, topo_verdict

    if flags["quiet"]:
        return topo_verdict(found)
    return topo_markdown(found) if flags["format_"] == "markdown" else topo_text(found)
