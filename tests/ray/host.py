"""The head and the nodes of a Ray cluster, in a process of their own: what Ray does to its process concerns no test.

A line on stdin is a JSON object: {"add": NAME, "path": PATH, "gpus": N, "env": {...}}, {"remove": INDEX},
{"raylet": INDEX}, {"versions": [RAY, PYTHON]}; its answer is one line too. It ends with stdin.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from ray._raylet import GcsClient
from ray.cluster_utils import Cluster

cluster = Cluster()
made: list[Any] = []


def add(asked: dict[str, Any]) -> str:
    """A node whose programs, and so its tasks, have this PATH and these variables."""
    kept = dict(os.environ)
    os.environ.update({"PATH": asked["path"], **asked.get("env", {})})
    node = cluster.add_node(num_cpus=1, num_gpus=asked["gpus"], node_name=asked["add"], include_dashboard=False)
    os.environ.clear()
    os.environ.update(kept)
    made.append(node)
    return f"{node.node_id} {node.node_ip_address} {cluster.address}"


def versions(ray: str, python: str) -> str:
    """Let the cluster say that it was started with these; returns the true ones."""
    client = GcsClient(address=cluster.address)
    key, space = b"CLUSTER_METADATA", b"cluster"
    found = json.loads(client.internal_kv_get(key, space))
    true = f"{found['ray_version']} {found['python_version']}"
    found |= {"ray_version": ray, "python_version": python}
    client.internal_kv_put(key, json.dumps(found).encode(), True, space)
    return true


def main() -> None:
    for line in sys.stdin:
        asked = json.loads(line)
        if "add" in asked:
            said = add(asked)
        elif "remove" in asked:
            cluster.remove_node(made[asked["remove"]], allow_graceful=False)
            said = "removed"
        elif "raylet" in asked:
            said = str(made[asked["raylet"]].all_processes["raylet"][0].process.pid)
        else:
            said = versions(*asked["versions"])
        print(f"@ {said}", flush=True)
    for node in reversed(made):
        if node in cluster.list_all_nodes():
            cluster.remove_node(node, allow_graceful=False)


if __name__ == "__main__":
    main()
