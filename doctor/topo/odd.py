"""What is wrong with a table by itself: a GPU that the others' NVLinks leave out, or boards whose NVLink is unseen."""

from __future__ import annotations

from collections import Counter

from .matrix import Table

_MOST_ODD = 1 / 3
"""Of the GPUs: more of them without NVLink are the way that the machine is built."""


def odd(table: Table, has_nvlink: str) -> tuple[str, ...]:
    """A sentence for each. has_nvlink: NV18, where every such board has NVLink by itself (no bridges); else ''."""
    names = [device.name for device in table.devices if device.is_gpu]
    bonds = table.bonds()
    if len(names) < 2:
        return ()
    if not any(map(any, bonds)):
        if not has_nvlink:
            return ()
        words = (
            f"These GPUs have NVLink ({has_nvlink}), but the table shows none. Either the fabric manager is not "
            f"running, NVLink is switched off (a module option, or MIG), or the table is from nvidia-smi topo -mp, "
            f"which omits NVLink. nvidia-smi nvlink -s shows the links."
        )
        return (words,)
    usual, _ = Counter(bond for row in bonds for bond in row if bond).most_common(1)[0]
    without = [at for at, row in enumerate(bonds) if not any(row)]
    joined = [at for at in range(len(names)) if at not in without]
    all_joined = all(bonds[i][j] for i in joined for j in joined if i != j)
    found = []  # of two that are joined by a bridge, a third is no odd one
    if without and all_joined and len(joined) > 2 and len(without) <= max(1, len(names) * _MOST_ODD):
        lone = ", ".join(names[at] for at in without)
        found.append(
            f"Only {lone} {'has' if len(without) == 1 else 'have'} no NVLink, while the other {len(joined)} GPUs are "
            f"connected by NV{usual}: {'that GPU, its' if len(without) == 1 else 'those GPUs, their'} links or the "
            f"fabric has a fault. nvidia-smi nvlink -s -i {without[0]} and the log of nvidia-fabricmanager show which."
        )
    fewer = [at for at in joined if all_joined and max(bonds[at]) < usual]
    if fewer and len(fewer) <= max(1, len(names) * _MOST_ODD):
        some = ", ".join(f"{names[at]} (NV{max(bonds[at])})" for at in fewer)
        has, its = ("has", "its") if len(fewer) == 1 else ("have", "their")
        found.append(f"{some} {has} fewer NVLinks than the others (NV{usual}); some of {its} links are down.")
    return tuple(found)
