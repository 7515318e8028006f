"""Rows of the matrix for a second reader: all rows of all tables are one list, each drawn as likely as another.

    python benchmarks/draw_rows.py --seed 20261129 --count 100

prints a JSON line for each: the table, the number of its line in data/TABLE.json, the row, and the text of its source.
What a reader found is in `rows_second_reader.md`.
"""

from __future__ import annotations

import argparse
import json
import random
from pathlib import Path

from compat_matrix.tables import DATA, TABLES


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--count", type=int, default=100)
    flags = parser.parse_args()
    sources = json.loads((Path(DATA) / "sources.json").read_text("utf-8"))
    every = [
        (table, number, row)
        for table in sorted(TABLES)
        for number, row in enumerate(json.loads((Path(DATA) / f"{table}.json").read_text("utf-8")), 2)
    ]
    for at in sorted(random.Random(flags.seed).sample(range(len(every)), flags.count)):
        table, number, row = every[at]
        print(json.dumps({"table": table, "line": number, "row": row, "cited": sources[row["source"]]}))


if __name__ == "__main__":
    main()
