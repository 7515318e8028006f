"""Which changes a file allows: by mutmut's operators and those that it lacks; in a table of the matrix by its rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, NamedTuple

import libcst as cst
from libcst.metadata import MetadataWrapper, PositionProvider
from mutmut.mutation.mutators import mutation_operators, operator_string

from . import rows
from .rows import TABLES

Operator = Callable[[Any], Iterable[cst.CSTNode]]


class Mutant(NamedTuple):
    """One change of one file. `before` and `after` are the code of what changes, `text` the whole file with it."""

    path: str
    line: int
    column: int
    kind: str
    before: str
    after: str
    text: str


def one_side(node: cst.BooleanOperation) -> Iterator[cst.CSTNode]:
    """`x or y` is x, or y."""
    yield node.left
    yield node.right


def swapped_arguments(node: cst.Call) -> Iterator[cst.CSTNode]:
    """Two neighboring arguments without a name change places."""
    for at in range(len(node.args) - 1):
        one, two = node.args[at], node.args[at + 1]
        if one.keyword or two.keyword or one.star or two.star or one.value.deep_equals(two.value):
            continue
        pair = [one.with_changes(value=two.value), two.with_changes(value=one.value)]
        yield node.with_changes(args=[*node.args[:at], *pair, *node.args[at + 2 :]])


def dropped_statement(node: cst.SimpleStatementLine) -> Iterator[cst.CSTNode]:
    """A call, yield or raise is left out; `return x` returns nothing."""
    if len(node.body) != 1:
        return
    only = node.body[0]
    if isinstance(only, cst.Return) and only.value is not None and not _is_name(only.value, "None"):
        yield node.with_changes(body=[cst.Return()])
    elif isinstance(only, cst.Raise) or (isinstance(only, cst.Expr) and not _is_text(only.value)):
        yield node.with_changes(body=[cst.Pass()])


def other_branch(node: cst.If | cst.While | cst.CompIf) -> Iterator[cst.CSTNode]:
    """The condition means its opposite."""
    bare = node.test.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
    space = cst.SimpleWhitespace(" ")
    yield node.with_changes(test=cst.UnaryOperation(operator=cst.Not(whitespace_after=space), expression=bare))


def changed_words(node: cst.FormattedStringText) -> Iterator[cst.CSTNode]:
    """The literal part of an f-string."""
    yield node.with_changes(value=f"XX{node.value}XX")


_TAKEN = {
    "operator_number", "operator_name", "operator_remove_unary_ops", "operator_symmetric_string_methods_swap",
    "operator_keywords", "operator_swap_op", "operator_match", "operator_if_exp",
}  # fmt: skip
"""Of mutmut's. A dropped argument, or None for one, mostly raises at once; a string in capitals changes nothing."""
_TYPES = {
    "operator_keywords": (cst.Is, cst.IsNot, cst.In, cst.NotIn, cst.Break, cst.Continue),
    "operator_swap_op": (
        cst.BinaryOperation, cst.UnaryOperation, cst.BooleanOperation, cst.ComparisonTarget, cst.AugAssign,
    ),
}  # fmt: skip
"""Of what mutmut offers to every node, those that it changes."""
OPERATORS: list[tuple[type | tuple[type, ...], str, Operator]] = [
    *(
        (_TYPES.get(operator.__name__, kind), operator.__name__.removeprefix("operator_").replace("_", " "), operator)
        for kind, operator in mutation_operators
        if operator.__name__ in _TAKEN
    ),
    (cst.SimpleString, "string", lambda node: list(operator_string(node))[:1]),
    (cst.FormattedStringText, "words", changed_words),
    (cst.BooleanOperation, "one side", one_side),
    (cst.Call, "swapped arguments", swapped_arguments),
    (cst.SimpleStatementLine, "dropped statement", dropped_statement),
    (cst.If, "other branch", other_branch),
    (cst.While, "other branch", other_branch),
    (cst.CompIf, "other branch", other_branch),
]


class _Sites(cst.CSTVisitor):
    """Each node that may change, with the operator for it. Docstrings, annotations and imports are left out."""

    METADATA_DEPENDENCIES = (PositionProvider,)

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[cst.CSTNode, str, Operator, int, int, int]] = []

    def on_visit(self, node: cst.CSTNode) -> bool:
        if isinstance(node, cst.Annotation | cst.Import | cst.ImportFrom | cst.Decorator | cst.TypeAlias):
            return False
        if isinstance(node, cst.Expr) and _is_text(node.value):
            return False
        if isinstance(node, cst.ClassDef):  # not what it is made with, such as frozen=True
            node.body.visit(self)
            return False
        if isinstance(node, cst.If) and _is_name(node.test, "TYPE_CHECKING"):
            return False
        if isinstance(node, cst.Assign) and any(_is_name(target.target, "__all__") for target in node.targets):
            return False
        operators = [(name, operator) for kind, name, operator in OPERATORS if isinstance(node, kind)]
        where = self.get_metadata(PositionProvider, node, None) if operators else None
        if where is not None:
            self.found += [(node, *one, where.start.line, where.start.column + 1, where.end.line) for one in operators]
        return True


class Change(NamedTuple):
    """One change that a file allows, and what makes the mutant of it: None where it is no Python then."""

    path: str
    line: int
    last_line: int
    kind: str
    make: Callable[[], Mutant | None]


def changes(path: str, source: str) -> list[Change]:
    """Every change that the operators offer for a file. Raises libcst's ParserSyntaxError where it is not Python."""
    if path in TABLES:
        found = []
        for line, kind, before, after, text in rows.changes(path, source):
            one = Mutant(path, line, 1, kind, before, after, text)
            found.append(Change(path, line, line, kind, lambda one=one: one))  # type: ignore[misc]
        return found
    wrapper = MetadataWrapper(cst.parse_module(source), unsafe_skip_copy=True)
    visitor = _Sites()
    wrapper.visit(visitor)
    return [
        Change(path, line, last, kind, partial(_mutant, path, wrapper.module, node, new, (line, column), kind))
        for node, kind, operator, line, column, last in visitor.found
        for new in operator(node)
    ]


def _mutant(
    path: str, module: cst.Module, node: cst.CSTNode, new: cst.CSTNode, at: tuple[int, int], kind: str
) -> Mutant | None:
    text = module.deep_replace(node, new).code  # type: ignore[arg-type]
    try:
        compile(text, path, "exec")
    except SyntaxError:
        return None
    if text == module.code:
        return None
    before, after = (" ".join(module.code_for_node(one).split()) for one in (node, new))
    return Mutant(path, *at, kind, before, after, text)


def _is_name(node: cst.BaseExpression, name: str) -> bool:
    return isinstance(node, cst.Name) and node.value == name


def _is_text(node: cst.BaseExpression) -> bool:
    return isinstance(node, cst.SimpleString | cst.ConcatenatedString)
