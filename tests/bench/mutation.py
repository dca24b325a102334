"""Mutants: the source of a module with one change to the arithmetic of the backward of one class."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

REDUCTIONS = ("sum", "mean", "prod", "amax", "amin", "logsumexp", "sum_to_size")
ALONG_A_DIM = (*REDUCTIONS, "cumsum", "cumprod", "softmax", "log_softmax", "flip", "sort", "argsort", "argmax")
MASKS = ("masked_fill", "clamp", "clamp_min", "clamp_max", "tril", "triu", "relu")
TRANSPOSES = ("t", "transpose", "adjoint", "conj")
PLAIN = ("abs", "sign", "exp", "log", "sqrt", "rsqrt", "square", "reciprocal", "neg", "cumsum", "flip", "sigmoid")
EXCHANGED = {"sin": "cos", "cos": "sin", "sinh": "cosh", "cosh": "sinh", "tanh": "sigmoid", "sigmoid": "tanh"}
EXCHANGED |= {"maximum": "minimum", "minimum": "maximum", "max": "min", "min": "max", "sum": "mean", "mean": "sum"}
NO_ARITHMETIC = ("view", "reshape", "expand", "range", "permute", "zeros", "ones", "empty", "new_zeros", "split")
OF_CTX = ("saved_tensors", "needs_input_grad", "saved_for_forward", "materialize_grads")
NAMESPACES = ("torch", "F", "np", "math", "functional", "special")
DROPPED = {
    **dict.fromkeys(PLAIN, "a function dropped"),
    **dict.fromkeys(MASKS, "a mask dropped"),
    **dict.fromkeys(TRANSPOSES, "a transpose dropped"),
    **dict.fromkeys(REDUCTIONS, "a sum forgotten"),
}
OPERATORS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}
COMPARISONS = {ast.Gt: (">", "<"), ast.GtE: (">", "<"), ast.Lt: ("<", ">"), ast.LtE: ("<", ">")}
COMPOUND = (ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.Lambda, ast.NamedExpr)


@dataclass(frozen=True)
class Mutation:
    """One change of a ``kind``: the text ``before`` and ``after``, and the ``source`` of the module that has it."""

    kind: str
    before: str
    after: str
    source: str

    @property
    def short(self) -> str:
        """The change in a few words."""
        return f"{self.kind}: `{_one_line(self.before)}` → `{_one_line(self.after)}`"


def mutations(source: str, name: str) -> list[Mutation]:
    """Every mutation of the backward of the class ``name``, and of functions that only it calls, from top to bottom.

    A class without a backward of its own gets that of its base class in the same module. None are found for a class
    whose backward is not written there.
    """
    text, found = _Text(source), dict[str, Mutation]()
    tree = ast.parse(source)
    for place, method in enumerate(_methods(tree, name)):
        ctx = "" if place else next((each.arg for each in method.args.args if each.arg != "cls"), "")
        for node, parent in _arithmetic(method):
            for kind, changed, after in _changes(text, node, parent, ctx):
                mutant = text.replaced(changed, after)
                found.setdefault(mutant, Mutation(kind, text.of(changed), after, mutant))
    found.pop(source, None)
    return list(found.values())


# ---------------------------------------------------------------- where


def _methods(tree: ast.Module, name: str) -> list[ast.FunctionDef]:
    classes = {each.name: each for each in ast.walk(tree) if isinstance(each, ast.ClassDef)}
    methods = _inherited(classes, name)
    backward = next((methods[each] for each in ("backward", "vjp") if each in methods), None)
    if backward is None:
        return []
    functions = {each.name: each for each in tree.body if isinstance(each, ast.FunctionDef)}
    of_others = {called for each in methods.values() if each is not backward for called in _called(each)}
    return [backward, *(functions[each] for each in _called(backward) if each in functions and each not in of_others)]


def _inherited(classes: dict[str, ast.ClassDef], name: str) -> dict[str, ast.FunctionDef]:
    """The methods of a class and of its bases in the same module, its own first."""
    if name not in classes:
        return {}
    methods = dict[str, ast.FunctionDef]()
    for base in reversed(classes[name].bases):
        methods |= _inherited(classes, base.id) if isinstance(base, ast.Name) and base.id != name else {}
    return methods | {each.name: each for each in classes[name].body if isinstance(each, ast.FunctionDef)}


def _called(method: ast.FunctionDef) -> list[str]:
    calls = [each.func for each in ast.walk(method) if isinstance(each, ast.Call)]
    return list(dict.fromkeys(each.id for each in calls if isinstance(each, ast.Name)))


def _arithmetic(node: ast.AST, parent: ast.AST | None = None) -> Iterator[tuple[ast.AST, ast.AST]]:
    """What computes, with what it stands in: no annotations, conditions, indices, shapes, messages."""
    if parent is not None:
        yield node, parent
    for each in _inside(node):
        yield from _arithmetic(each, node)


def _inside(node: ast.AST) -> list[ast.AST]:
    match node:
        case ast.FunctionDef():
            return list(node.body)
        case ast.If() | ast.While():
            return [*node.body, *node.orelse]
        case ast.Assert() | ast.Raise() | ast.JoinedStr():
            return []
        case ast.Return() | ast.Assign() if isinstance(node.value, ast.BinOp) and _counts_gradients(node.value):
            return []
        case ast.Subscript():
            return [node.value]
        case ast.Call() if _called_name(node) in NO_ARITHMETIC:
            return [node.func]
        case ast.AnnAssign():
            return [node.value] if node.value else []
    return list(ast.iter_child_nodes(node))


# ---------------------------------------------------------------- what

Change = tuple[str, ast.AST, str]


def _changes(text: _Text, node: ast.AST, parent: ast.AST, ctx: str) -> Iterator[Change]:
    """What may become of a node; ``ctx`` is the name of that in backward, and empty in a function that it calls."""
    match node:
        case ast.Return(value=ast.Tuple(elts=gradients)):
            yield from _of_gradients(text, gradients)
        case ast.Return(value=ast.expr() as gradient) if ctx and not _may_be_several(gradient):
            yield from _of_gradients(text, [gradient])
        case ast.BinOp():
            yield from _of_operator(text, node)
        case ast.UnaryOp(op=ast.USub(), operand=operand) if not isinstance(operand, ast.Constant):
            yield "a sign flipped", node, text.bare(operand)
        case ast.Compare(ops=[op]) if type(op) in COMPARISONS:
            yield "a mask reversed", node, text.exchanged(node, node.left, *COMPARISONS[type(op)])
        case ast.Call():
            yield from _of_call(text, node)
        case ast.IfExp() if "needs_input_grad" not in text.of(node.test):
            yield "one branch for both", node, text.bare(node.body)
            yield "one branch for both", node, text.bare(node.orelse)
        case ast.Attribute(value=ast.Name(id=owner), attr=attr, ctx=ast.Load()) if owner == ctx and attr not in OF_CTX:
            if isinstance(parent, ast.BinOp | ast.UnaryOp | ast.Compare | ast.Assign) or _is_argument(node, parent):
                yield "a parameter replaced by 1", node, "1"
        case ast.Attribute(attr="T" | "mT" | "H" | "mH", ctx=ast.Load()):
            yield "a transpose dropped", node, text.bare(node.value)
        case ast.Constant(value=int() | float()) if _is_factor(node, parent):
            yield "a constant off by 1 %", node, f"{float(node.value) * 1.01:.12g}"
        case ast.stmt():
            yield from _of_statement(text, node, ctx)


def _of_gradients(text: _Text, gradients: list[ast.expr]) -> Iterator[Change]:
    for each in gradients:
        if isinstance(each, ast.Starred) or (isinstance(each, ast.Constant) and each.value is None):
            continue
        yield "None for a gradient", each, "None"
        yield "a gradient negated", each, f"-{text.bare(each)}"
        yield "a gradient off by 1 %", each, f"1.01 * {text.bare(each)}"


def _may_be_several(value: ast.expr) -> bool:
    """Whether it may be a tuple of gradients: so may be what a function that is no method returns."""
    called = value.func if isinstance(value, ast.Call) else None
    return isinstance(value, ast.List | ast.ListComp) or isinstance(called, ast.Name) or _counts_gradients(value)


def _counts_gradients(value: ast.expr | None) -> bool:
    """Whether it puts tuples together, as ``gradients + (None,) * 3`` does."""
    if isinstance(value, ast.BinOp):
        return _counts_gradients(value.left) or _counts_gradients(value.right)
    return isinstance(value, ast.Tuple | ast.List)


def _of_operator(text: _Text, node: ast.BinOp) -> Iterator[Change]:
    left, right = text.bare(node.left), text.bare(node.right)
    match node.op:
        case ast.Mult():
            yield "a factor dropped", node, left
            yield "a factor dropped", node, right
        case ast.Div():
            yield "a divisor dropped", node, left
            yield "* for /", node, text.exchanged(node, node.left, "/", "*")
        case ast.Add() | ast.Sub():
            old, new = ("+", "-") if isinstance(node.op, ast.Add) else ("-", "+")
            yield f"{new} for {old}", node, text.exchanged(node, node.left, old, new)
            yield "a term dropped", node, left
            yield "a term dropped", node, right
        case ast.Pow():
            yield "another exponent", node.right, f"({text.of(node.right)} + 1)"
        case ast.MatMult():
            yield "a product turned round", node, f"{right} @ {left}"
        case ast.BitAnd():
            yield "a mask dropped", node, left
            yield "a mask dropped", node, right


def _of_call(text: _Text, node: ast.Call) -> Iterator[Change]:
    name, operand, others = _operation(node)
    for each in node.keywords:
        if each.arg in ("dim", "axis"):
            yield from _of_dim(text, each.value)
    if operand is None:
        return
    if name in ALONG_A_DIM and others:
        yield from _of_dim(text, others[0])
    if name == "where" and len(others) == 2:
        branches = (others[0], others[1]) if _is_namespace(node.func) else (operand, others[1])
        for each in branches:
            yield "a mask dropped", node, text.bare(each)
    if name in DROPPED:
        yield DROPPED[name], node, text.bare(operand)
    if name == "pow" and others:
        yield "another exponent", others[0], f"({text.of(others[0])} + 1)"
    if name in EXCHANGED and isinstance(node.func, ast.Attribute) and not (name in ("max", "min") and others):
        func = text.of(node.func)
        yield f"{EXCHANGED[name]} for {name}", node.func, func[: -len(name)] + EXCHANGED[name]


def _of_dim(text: _Text, dim: ast.expr) -> Iterator[Change]:
    try:
        value = ast.literal_eval(dim)
    except ValueError:
        value = None
        if isinstance(dim, ast.Attribute | ast.Name):
            yield "another dim", dim, f"({text.of(dim)} - 1)"
    if type(value) is int:
        yield "another dim", dim, str({0: -1, -1: 0}.get(value, value - 1 if value > 0 else value + 1))


def _of_statement(text: _Text, node: ast.stmt, ctx: str) -> Iterator[Change]:
    match node:
        case ast.Assign(targets=[ast.Subscript()]):
            yield "an indexed assignment removed", node, "pass"
        case ast.AugAssign(op=op, target=target):
            yield "an update removed", node, "pass"
            if type(op) in OPERATORS:
                old = OPERATORS[type(op)]
                new = {"+": "-", "-": "+", "*": "/", "/": "*"}[old]
                yield f"{new}= for {old}=", node, text.exchanged(node, target, old, new)
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr=name, value=owner))) if name.endswith("_"):
            if not (isinstance(owner, ast.Name) and owner.id == ctx):
                yield "a change in place removed", node, "pass"


# ---------------------------------------------------------------- nodes


def _called_name(node: ast.AST) -> str:
    func = node.func if isinstance(node, ast.Call) else None
    return func.attr if isinstance(func, ast.Attribute) else func.id if isinstance(func, ast.Name) else ""


def _is_namespace(func: ast.expr) -> bool:
    """Whether it is a function of a module, as ``torch.sum``, and not a method, as ``x.sum``."""
    owner = func.value if isinstance(func, ast.Attribute) else None
    return (isinstance(owner, ast.Name) and owner.id in NAMESPACES) or (
        isinstance(owner, ast.Attribute) and owner.attr in NAMESPACES
    )


def _operation(node: ast.Call) -> tuple[str, ast.expr | None, list[ast.expr]]:
    """Its name, what it is done to, and the other positional arguments; None where it is done to nothing."""
    name, plain = _called_name(node), [each for each in node.args if not isinstance(each, ast.Starred)]
    if not isinstance(node.func, ast.Attribute) or len(plain) < len(node.args):
        return name, None, []
    if _is_namespace(node.func):
        return (name, plain[0], plain[1:]) if plain else (name, None, [])
    return name, node.func.value, plain


def _is_argument(node: ast.AST, parent: ast.AST) -> bool:
    """Whether it is handed to a function; a dim is no number to compute with."""
    return (isinstance(parent, ast.Call) and node in parent.args and _called_name(parent) not in ALONG_A_DIM) or (
        isinstance(parent, ast.keyword) and parent.arg not in ("dim", "axis", "dtype", "device", "keepdim")
    )


def _is_factor(node: ast.Constant, parent: ast.AST) -> bool:
    if isinstance(node.value, bool) or not node.value:
        return False
    if isinstance(parent, ast.BinOp):
        return isinstance(parent.op, ast.Add | ast.Sub | ast.Mult | ast.Div)
    return isinstance(node.value, float)


class _Text:
    """A source whose nodes can be read and replaced as they are written."""

    def __init__(self, source: str) -> None:
        self.source = source.encode()  # ast counts bytes
        self.starts = [0]
        for line in self.source.split(b"\n"):
            self.starts.append(self.starts[-1] + len(line) + 1)

    def span(self, node: ast.AST) -> tuple[int, int]:
        start = self.starts[node.lineno - 1] + node.col_offset  # type: ignore[attr-defined]
        return start, self.starts[node.end_lineno - 1] + node.end_col_offset  # type: ignore[attr-defined]

    def of(self, node: ast.AST) -> str:
        """As it is written, without brackets around it."""
        start, stop = self.span(node)
        return self.source[start:stop].decode()

    def bare(self, node: ast.AST) -> str:
        """As it may be written anywhere: in brackets where it is put together."""
        return f"({self.of(node)})" if isinstance(node, COMPOUND) else self.of(node)

    def exchanged(self, node: ast.AST, left: ast.AST, old: str, new: str) -> str:
        """With another operator behind the part on the left."""
        (start, stop), (_, behind) = self.span(node), self.span(left)
        return (self.source[start:behind] + self.source[behind:stop].replace(old.encode(), new.encode(), 1)).decode()

    def replaced(self, node: ast.AST, text: str) -> str:
        start, stop = self.span(node)
        return (self.source[:start] + text.encode() + self.source[stop:]).decode()


def _one_line(text: str, most: int = 60) -> str:
    words = " ".join(text.split())
    return words if len(words) <= most else f"{words[: most - 1]}…"
