"""Changes of one place in a module: which there are, where they are, and which of them change nothing."""

from __future__ import annotations

import ast
import copy
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
_TURNED = (ast.Eq, ast.NotEq, ast.Is, ast.IsNot, ast.In, ast.NotIn)
"""Comparisons whose change is also the change of the condition that they are."""
Spot = tuple[str, ast.stmt | None]
"""The function around it, of those inside each other the outer one; and the statement."""


class Mutant(NamedTuple):
    module: str
    inside: str
    """`Class.method`; empty for what runs when the module is imported."""
    line: int
    lines: range
    """Of its statement, without what stands in it."""
    was: str
    becomes: str
    nth: int
    """Of several that read alike in one function."""
    node: int
    kind: str

    def __str__(self) -> str:
        again = f" ({self.nth})" if self.nth > 1 else ""
        return f"src/fairlead/{self.module}:{self.line}: {self._what}{again}"

    @property
    def _what(self) -> str:
        return f"{self.inside or 'module'}: {self.was} → {self.becomes}"

    @property
    def change(self) -> tuple[str, int]:
        """The same when other lines come before it."""
        return f"{self.module}: {self._what}", self.nth


def changes(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """What else could stand in its place."""
    yield from _of_values(node)
    yield from _of_steps(node)


def _of_values(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    if isinstance(node, ast.Compare):
        other = copy.deepcopy(node)
        other.ops[0] = COMPARED[type(node.ops[0])]()
        yield "comparison", other
    elif isinstance(node, ast.BoolOp):
        yield "and/or", ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
        yield "one part less", node.values[0] if len(node.values) == 2 else ast.BoolOp(node.op, node.values[:-1])
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield "not", node.operand
    elif isinstance(node, ast.Constant) and isinstance(node.value, int):
        yield "constant", ast.Constant(not node.value if isinstance(node.value, bool) else node.value + 1)
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
        yield "plus/minus", ast.BinOp(node.left, ast.Sub() if isinstance(node.op, ast.Add) else ast.Add(), node.right)


def _of_steps(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    if isinstance(node, ast.If | ast.IfExp | ast.While) and not _turns_by_itself(node.test):
        other = copy.copy(node)
        other.test = ast.UnaryOp(ast.Not(), node.test)
        yield "condition", other
    elif isinstance(node, ast.Return) and not _is_empty(node.value):
        yield "return nothing", ast.Return(ast.Constant(None))
    elif isinstance(node, ast.Continue):
        yield "break", ast.Break()
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        yield "call left out", ast.Pass()
    elif isinstance(node, ast.Raise):
        yield "raise left out", ast.Pass()


def _is_empty(value: ast.expr | None) -> bool:
    """Nothing, for another nothing, is no change but one of the type, which others check."""
    if isinstance(value, ast.List | ast.Tuple):
        return not value.elts
    return value is None or (isinstance(value, ast.Constant) and not value.value)


def _turns_by_itself(test: ast.expr) -> bool:
    if isinstance(test, ast.Compare):
        return len(test.ops) == 1 and isinstance(test.ops[0], _TURNED)
    return isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)


def places(tree: ast.Module) -> Iterator[tuple[ast.AST, Spot]]:
    """Of code that runs: neither types nor names for types."""
    for node in ast.iter_child_nodes(tree):
        yield from _below(node, "", None)


def _below(node: ast.AST, inside: str, around: ast.stmt | None) -> Iterator[tuple[ast.AST, Spot]]:
    if _is_for_types(node):
        return
    around = node if isinstance(node, ast.stmt) else around
    yield node, (inside if not inside.endswith(".") else "", around)
    for name, value in ast.iter_fields(node):
        if name not in ("annotation", "returns", "decorator_list"):
            within = _named(node, name, inside)
            for inner in value if isinstance(value, list) else [value]:
                if isinstance(inner, ast.AST):
                    yield from _below(inner, within, around)


def _is_for_types(node: ast.AST) -> bool:
    if isinstance(node, ast.If):
        return isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
    return isinstance(node, ast.Assign) and ast.unparse(node).startswith("TYPE_CHECKING = ")


def _named(node: ast.AST, field: str, inside: str) -> str:
    """Defaults of parameters belong to what is around the function."""
    if field != "body" or (inside and not inside.endswith(".")):
        return inside
    if isinstance(node, ast.ClassDef):
        return f"{inside}{node.name}."
    return f"{inside}{node.name}" if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else inside


def mutants(module: str, text: str) -> Iterator[Mutant]:
    alike: Counter[tuple[str, str, str]] = Counter()
    for number, (node, (inside, around)) in enumerate(places(ast.parse(text))):
        for kind, other in changes(node):
            was, becomes = _short(node), _short(other)
            alike[inside, was, becomes] += 1
            yield Mutant(
                module, inside, getattr(node, "lineno", 0), _own_lines(around), was, becomes,
                alike[inside, was, becomes], number, kind,
            )  # fmt: skip


def _short(node: ast.AST) -> str:
    """Of what has a body, the condition."""
    if isinstance(node, ast.If | ast.While):
        return f"{type(node).__name__.lower()} {ast.unparse(node.test)}"
    return ast.unparse(node)


def _own_lines(statement: ast.stmt | None) -> range:
    if statement is None:
        return range(0)
    body = getattr(statement, "body", None)
    end = body[0].lineno - 1 if body else statement.end_lineno or statement.lineno
    return range(statement.lineno, max(end, statement.lineno) + 1)


def changed(text: str, mutant: Mutant) -> ast.Module:
    """The module with that one change; every other line where it was."""
    tree = ast.parse(text)
    target = next(node for number, (node, _) in enumerate(places(tree)) if number == mutant.node)
    other = next(new for kind, new in changes(target) if kind == mutant.kind)
    ast.copy_location(other, target)
    done = _Put(target, other).visit(tree)
    assert isinstance(done, ast.Module)  # noqa: S101
    return ast.fix_missing_locations(done)


class _Put(ast.NodeTransformer):
    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self._old, self._new = old, new

    def visit(self, node: ast.AST) -> ast.AST:
        return self._new if node is self._old else super().generic_visit(node)


class Equal(NamedTuple):
    """A change that nobody can notice, and why."""

    change: str
    why: str
    nth: int = 1


def equals(file: Path) -> list[Equal]:
    return [Equal(**entry) for entry in tomllib.loads(file.read_text())["equal"]]
