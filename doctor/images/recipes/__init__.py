"""Files that images and pods are made from, judged beforehand: Dockerfiles, compose files, Kubernetes manifests."""

from .lint import Fault, Recipe, Rule, rules
from .read import read_recipe

__all__ = ["Fault", "Recipe", "Rule", "read_recipe", "rules"]
