"""What an image or a pod is made by, judged before it is: Dockerfiles, compose files, Kubernetes manifests."""

from .lint import Fault, Recipe, Rule, rules
from .read import read_recipe

__all__ = ["Fault", "Recipe", "Rule", "read_recipe", "rules"]
