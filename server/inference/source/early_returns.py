"""Early returns: values of an argument for which a Function returns its input unchanged, or raises."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

_Found = Iterator[tuple[ast.expr, object]]
# Calls that return the same values.
_COPIES = {"clone", "view_as", "alias", "identity"}


def early_return_values(
    node: ast.If | ast.IfExp, same: Callable[[ast.expr], bool], returned: Collection[str]
) -> _Found:
    """The (expression, value) pairs for which an if takes a branch that only returns an argument, or raises.

    Also the numbers in an if-elif chain that ends in a general else. ``same`` says whether an expression is an
    argument unchanged; an assignment counts if its name is among those ``returned``.
    """
    if _idle(node.body, same, returned):
        yield from _asked(node.test, True)
    elif isinstance(node, ast.If) and _general(node):
        yield from ((one, value) for one, value in _asked(node.test, True) if type(value) in (int, float))
    if _idle(node.orelse, same, returned):
        yield from _asked(node.test, False)


def returned_names(statements: Iterable[ast.stmt]) -> set[str]:
    """The names that are returned unchanged."""
    nodes = (node for each in statements for node in ast.walk(each))
    return {node.value.id for node in nodes if isinstance(node, ast.Return) and isinstance(node.value, ast.Name)}


def _idle(branch: Sequence[ast.stmt] | ast.expr, same: Callable[[ast.expr], bool], returned: Collection[str]) -> bool:
    """Whether a branch only returns an argument or raises, apart from setting attributes of ctx."""
    if isinstance(branch, ast.expr):
        return _handed_on(branch, same)
    noted = [each for each in branch if not _note(each)]
    return len(noted) == 1 and _ends(noted[0], same, returned)


def _ends(each: ast.stmt, same: Callable[[ast.expr], bool], returned: Collection[str]) -> bool:
    if isinstance(each, ast.Raise):
        return True
    if isinstance(each, ast.Return):
        return each.value is None or isinstance(each.value, ast.Constant) or _handed_on(each.value, same)
    return _into(each, returned) and _handed_on(each.value, same)  # type: ignore[attr-defined]


def _into(each: ast.stmt, names: Collection[str]) -> bool:
    return isinstance(each, ast.Assign) and isinstance(each.targets[0], ast.Name) and each.targets[0].id in names


def _handed_on(value: ast.expr, same: Callable[[ast.expr], bool]) -> bool:
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in _COPIES:
        return same(value.func.value) or any(same(each) for each in value.args)
    return same(value)


def _note(each: ast.stmt) -> bool:
    """Whether a statement only stores something on ctx, or is a docstring."""
    if isinstance(each, ast.Assign):
        return all(isinstance(target, ast.Attribute) for target in each.targets)
    if not isinstance(each, ast.Expr):
        return False
    call = each.value
    return isinstance(call, ast.Constant) or (
        isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and call.func.attr in ("save_for_backward", "mark_non_differentiable", "mark_dirty", "set_materialize_grads")
    )


def _general(node: ast.If) -> bool:
    """Whether the if-elif chain ends in an else that does not raise."""
    last = node
    while len(last.orelse) == 1 and isinstance(last.orelse[0], ast.If):
        last = last.orelse[0]
    return bool(last.orelse) and not any(isinstance(each, ast.Raise) for each in last.orelse)


def _asked(test: ast.expr, answer: bool) -> _Found:
    """The (expression, value) pairs that make a condition give this answer."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        yield from _asked(test.operand, not answer)
    elif isinstance(test, ast.BoolOp):
        for each in test.values if isinstance(test.op, ast.Or) == answer else []:
            yield from _asked(each, answer)
    elif isinstance(test, ast.Compare) and len(test.ops) == 1:
        yield from _compared(test.left, test.ops[0], test.comparators[0], answer)
    else:
        yield test, answer


def _compared(one: ast.expr, operator: ast.cmpop, other: ast.expr, answer: bool) -> _Found:
    if not isinstance(operator, (ast.Eq, ast.Is, ast.In) if answer else (ast.NotEq, ast.IsNot, ast.NotIn)):
        return
    values = other.elts if isinstance(other, ast.Tuple | ast.List | ast.Set) else [other]
    for each in values:
        if isinstance(each, ast.UnaryOp) and isinstance(each.op, ast.USub) and isinstance(each.operand, ast.Constant):
            if isinstance(each.operand.value, int | float):
                yield one, -each.operand.value
        elif isinstance(each, ast.Constant) and each.value is not None:
            yield one, each.value
