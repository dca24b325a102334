"""The module that edited code would be, had it been imported here: its names are known, and none of its code runs.

Classes are made from what the guest says is there and from what the text says of it; a method is known by its
signature, its line and its source, and raises where it is called.
"""

import ast
import linecache
import sys
from collections.abc import Iterator
from functools import partial
from types import FunctionType, ModuleType
from typing import Any, NotRequired

import torch
from torch.autograd.function import once_differentiable
from typing_extensions import TypedDict

from ...ops import Descent, Input, Op, Parameter
from ..protocol.fits import fits
from .guest import FILE, MODULE
from .guest_process import GuestLost, GuestProcess
from .raised import definitions_by_line, edited_error, inert, lost_error
from .stand_in import EditedCall
from .wire import BadReply

_READABLE = ("torch", "numpy", "math")  # modules whose names a reader of the text may look up


class _Role(TypedDict):
    line: int
    defaults: Any


class _Function(TypedDict):
    name: str
    qualname: str
    static: bool
    once: bool
    roles: dict[str, _Role]


class _Loaded(TypedDict):
    functions: list[_Function]
    ops: dict[str, Op]
    claims: dict[str, Op]
    examples: NotRequired[Any]


def edited_module(text: str, guest: GuestProcess) -> tuple[ModuleType, dict[str, Op]]:
    """The module, entered into ``sys.modules``, and by qualified name what its Functions claim without an op.

    Raises what executing the text raises in the guest, or reading it here, and ``BadReply`` for a guest that describes
    what cannot be.
    """
    linecache.cache[FILE] = (len(text), None, text.splitlines(keepends=True), FILE)
    tree = ast.parse(text, FILE)
    try:
        reply = guest.load(text)
    except GuestLost as lost:
        raise lost_error(lost) from None
    if reply.header["kind"] == "raised":
        raise edited_error(reply.header)
    if not fits(reply.header, _Loaded):
        raise BadReply("it describes what cannot be in a text")
    loaded: _Loaded = reply.header  # type: ignore[assignment]
    module = ModuleType(MODULE, ast.get_docstring(tree))
    module.__file__ = FILE
    sys.modules[MODULE] = module
    names = vars(module)
    for statement in tree.body:
        names |= _named(statement, names)
    lines, classes, functions = definitions_by_line(tree), dict(_classes(tree, "")), dict[str, Any]()
    for each in loaded["functions"]:
        if node := classes.get(each["qualname"]):
            methods = {
                role: _method(lines.get(said["line"]), role, reply.reading.value(said["defaults"]), names)
                for role, said in each["roles"].items()
                if role in ("forward", "backward", "vjp", "setup_context")
            }
            made = functions[each["qualname"]] = _function(each, node, methods, guest)
            outer, _, last = each["qualname"].rpartition(".")
            if outer in functions:
                setattr(functions[outer], last, made)
            else:
                names[last] = made
    for name, record in loaded["ops"].items():
        if name.isidentifier():
            names[name] = _op(name, _with_tuples(record), functions, guest)
    if "examples" in loaded:
        names["example_inputs"] = reply.reading.value(loaded["examples"])
    claims = {name: record for name, record in loaded["claims"].items() if name in functions}
    return module, {name: _op(name, _with_tuples(record), functions, guest) for name, record in claims.items()}


def _named(node: ast.stmt, names: dict[str, Any]) -> dict[str, Any]:
    """What a statement of the module names, as far as that can be known without running it."""
    if isinstance(node, ast.Import):
        known = [(each.asname, each.name, "") for each in node.names if each.asname]
        tops = [each.name.partition(".")[0] for each in node.names if not each.asname]
        return _loaded(known + [(top, top, "") for top in tops])
    if isinstance(node, ast.ImportFrom) and node.module and not node.level:
        return _loaded([(each.asname or each.name, node.module, each.name) for each in node.names])
    if isinstance(node, ast.FunctionDef):
        return {node.name: inert(node, names)}
    if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
        try:
            return {node.targets[0].id: ast.literal_eval(node.value)}
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            return {}
    return {}


def _loaded(imports: list[tuple[str, str, str]]) -> dict[str, Any]:
    """Names of modules, or of what is in them, of those that are imported here anyhow."""
    known = [(name, sys.modules.get(module), of) for name, module, of in imports if module.split(".")[0] in _READABLE]
    got = {name: getattr(each, of, None) if of else each for name, each, of in known}
    return {name: each for name, each in got.items() if each is not None}


def _function(said: _Function, node: ast.ClassDef, methods: dict[str, FunctionType], guest: GuestProcess) -> type:
    """A Function that the guest has defined, and the text has as such a class."""
    body: dict[str, Any] = {
        "__module__": MODULE,
        "__qualname__": said["qualname"],
        "__doc__": ast.get_docstring(node, clean=False),
        "apply": EditedCall(guest, said["name"]),
    }
    for role, each in methods.items():
        method = once_differentiable(each) if said["once"] and role in ("backward", "vjp") else each
        body[role] = method if role == "forward" and not said["static"] else staticmethod(method)
    return type(node.name, (torch.autograd.Function,), body)


def _method(node: ast.stmt | None, role: str, defaults: Any, names: dict[str, Any]) -> FunctionType:
    """A method as it is defined in the text, or one of which only its role is known."""
    if not isinstance(node, ast.FunctionDef):
        return inert(ast.parse(f"def {role}(ctx, *inputs): ...").body[0], names)
    method = inert(node, names)
    if isinstance(defaults, dict) and node.args.defaults:
        positional = [each.arg for each in (*node.args.posonlyargs, *node.args.args)][-len(node.args.defaults) :]
        method.__defaults__ = tuple(defaults.get(each) for each in positional)
    if isinstance(defaults, dict) and method.__kwdefaults__:
        method.__kwdefaults__ = {each: defaults.get(each) for each in method.__kwdefaults__}
    return method


def _op(name: str, record: dict[str, Any], functions: dict[str, type], guest: GuestProcess) -> Op:
    """A declared op. Raises ``BadDeclaration`` and ``BadReply``."""

    def called(role: str) -> EditedCall | None:
        if record[role] is None:
            return None
        return EditedCall(guest, f"{name}.{role}", [each for each in record[role] if str(each).isidentifier()])

    try:
        made: dict[str, Any] = {role: called(role) for role in ("call", "surrogate")}
        made["function"], made["name"] = functions[record["function"]], ""
        made["inputs"] = tuple(Input(**each) for each in record["inputs"])
        made["parameters"] = tuple(Parameter(**each) for each in record["parameters"])
        made["aside"] = None if record["aside"] is None else partial(str, record["aside"])
        made["descent"] = record["descent"] and Descent(**record["descent"])
        return Op(**record | made)
    except (TypeError, ValueError, AttributeError, KeyError) as problem:
        raise BadReply("it declares an op that cannot be") from problem


def _with_tuples(plain: Any) -> Any:
    """Plain data with tuples in the place of lists."""
    if isinstance(plain, dict):
        return {name: _with_tuples(each) for name, each in plain.items()}
    return tuple(map(_with_tuples, plain)) if isinstance(plain, list) else plain


def _classes(node: ast.AST, outer: str) -> Iterator[tuple[str, ast.ClassDef]]:
    """The classes of a module by qualified name."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef):
            yield outer + child.name, child
            yield from _classes(child, f"{outer}{child.name}.")
        elif isinstance(child, ast.If | ast.Try | ast.With):
            yield from _classes(child, outer)
