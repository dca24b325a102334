"""The module that edited code would be, had it been imported here: its names are known, and none of its code runs.

Classes are made from what the guest says is there and from what the text says of it; a method is known by its
signature, its line and its source, and raises where it is called.
"""

from __future__ import annotations
import __future__

import ast
import linecache
import sys
from collections.abc import Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any, NotRequired, get_args

import torch
from torch.autograd.function import once_differentiable
from typing_extensions import TypedDict

from ...ops import Descent, Input, Op, Parameter
from ...ops.op import Kind, Value
from ..protocol.fits import fits
from .guest import FILE, MODULE
from .guest_process import GuestLost, GuestProcess, Reply
from .raised import edited_error, lost_error
from .stand_in import EditedCall
from .wire import BadReply

_READABLE = ("torch", "numpy", "math")  # modules whose names a reader of the text may look up
_Definition = ast.FunctionDef | ast.ClassDef


class _Role(TypedDict):
    line: int
    defaults: Any


class _Function(TypedDict):
    name: str
    qualname: str
    static: bool
    once: bool
    roles: dict[str, _Role]


class _InputRecord(TypedDict):
    name: str
    description: str
    shape: Any
    domain: Any
    value: Any


class _ParameterRecord(TypedDict):
    name: str
    default: Any
    minimum: float
    maximum: float
    description: str
    kind: str
    choices: Any
    below: str


class _OpRecord(TypedDict):
    function: str
    title: str
    group: str
    forward: str
    backward: str
    inputs: Any
    parameters: Any
    outputs: Any
    call: Any
    surrogate: Any
    surrogate_formula: str
    surrogate_takes: Any
    broken: str
    check: str
    wrt: str
    of: str
    descent: Any
    dtype: str
    grad_output: float
    reference: str
    name: NotRequired[str]


def edited_module(text: str, guest: GuestProcess) -> ModuleType:
    """The module, entered into ``sys.modules``. Raises what executing the text raises in the guest, or reading it here.

    And ``BadReply`` for a guest that describes what cannot be.
    """
    linecache.cache[FILE] = (len(text), None, text.splitlines(keepends=True), FILE)
    tree = ast.parse(text, FILE)
    try:
        reply = guest.load()
    except GuestLost as lost:
        raise lost_error(lost) from None
    if reply.header["kind"] == "raised":
        raise edited_error(reply)
    module = ModuleType(MODULE, ast.get_docstring(tree))
    module.__file__ = FILE
    sys.modules[MODULE] = module
    _Making(module, tree, guest, reply).make()
    return module


class _Making:
    """Makes the names of a module."""

    def __init__(self, module: ModuleType, tree: ast.Module, guest: GuestProcess, reply: Reply) -> None:
        self._module, self._tree, self._guest, self._reply = module, tree, guest, reply
        self._lines = {_first_line(node): node for node in ast.walk(tree) if isinstance(node, _Definition)}
        self._classes = dict(_classes(tree, ""))
        self._made: dict[str, type[torch.autograd.Function]] = {}

    def make(self) -> None:
        for node in self._tree.body:
            self._read(node)
        things = self._reply.get("things", list)
        for thing in things:
            if not isinstance(thing, dict) or thing.get("what") not in ("function", "op", "examples"):
                raise BadReply("there is no such thing in a text")
        for thing in things:
            if thing["what"] == "function" and fits(thing, _Function):
                self._add_function(thing)
        for thing in things:
            name = thing.get("name")
            if thing["what"] == "op" and isinstance(name, str) and name.isidentifier():
                self._set(name, self._op(name, self._reply.reading.value(thing.get("record"))))
            elif thing["what"] == "examples":
                self._set("example_inputs", self._reply.reading.value(thing.get("value")))

    def _set(self, name: str, value: Any) -> None:
        vars(self._module)[name] = value

    def _read(self, node: ast.stmt) -> None:
        """Note what a statement of the module names, as far as that can be known without running it."""
        if isinstance(node, ast.Import):
            for each in node.names:
                top = each.name if each.asname else each.name.partition(".")[0]
                self._set_loaded(each.asname or top, top)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for each in node.names:
                self._set_loaded(each.asname or each.name, node.module, each.name)
        elif isinstance(node, ast.FunctionDef):
            self._set(node.name, _inert(node, vars(self._module)))
        elif isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            try:
                self._set(node.targets[0].id, ast.literal_eval(node.value))
            except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
                return

    def _set_loaded(self, name: str, module: str, attribute: str = "") -> None:
        if module.partition(".")[0] in _READABLE and module in sys.modules:
            found = sys.modules[module]
            if not attribute or hasattr(found, attribute):
                self._set(name, getattr(found, attribute) if attribute else found)

    def _add_function(self, thing: _Function) -> None:
        """Add a Function that the guest has defined, where the text has such a class."""
        name = thing["qualname"]
        node = self._classes.get(name)
        if node is None:
            return
        body: dict[str, Any] = {
            "__module__": MODULE,
            "__qualname__": name,
            "__doc__": ast.get_docstring(node, clean=False),
            "apply": EditedCall(self._guest, thing["name"]),
        }
        for role, said in thing["roles"].items():
            if role in ("forward", "backward", "vjp", "setup_context"):
                method: Any = self._method(said, role)
                if role in ("backward", "vjp") and thing["once"]:
                    method = once_differentiable(method)
                body[role] = method if role == "forward" and not thing["static"] else staticmethod(method)
        made = self._made[name] = type(node.name, (torch.autograd.Function,), body)
        outer, _, last = name.rpartition(".")
        if outer in self._made:
            setattr(self._made[outer], last, made)
        else:
            self._set(last, made)

    def _method(self, said: _Role, role: str) -> FunctionType:
        """A method as it is defined in the text, or one of which only its role is known."""
        node = self._lines.get(said["line"])
        if not isinstance(node, ast.FunctionDef):
            return _inert(ast.parse(f"def {role}(ctx, *inputs): ...").body[0], vars(self._module))
        method = _inert(node, vars(self._module))
        defaults = self._reply.reading.value(said["defaults"])
        if isinstance(defaults, dict):
            positional = [each.arg for each in (*node.args.posonlyargs, *node.args.args)][-len(node.args.defaults) :]
            if node.args.defaults:
                method.__defaults__ = tuple(defaults.get(each) for each in positional)
            method.__kwdefaults__ = {each: defaults[each] for each in method.__kwdefaults__ or () if each in defaults}
        return method

    def _op(self, name: str, record: Any) -> Op:
        """A declared op. Raises ``BadDeclaration`` and ``BadReply``."""
        if not fits(record, _OpRecord) or record["function"] not in self._made:
            raise BadReply("it declares an op of no Function in the text")
        try:
            inputs = tuple(Input(**each) for each in record["inputs"] if _is_input(each))
            parameters = tuple(Parameter(**each) for each in record["parameters"] if _is_parameter(each))
            roles = {role: self._called(f"{name}.{role}", record[role]) for role in ("call", "surrogate")}
            made: dict[str, Any] = {"function": self._made[record["function"]], "inputs": inputs, "name": "", **roles}
            made["parameters"] = parameters
            made["descent"] = Descent(**record["descent"]) if record["descent"] else None
            op = Op(**record | made)
        except (TypeError, ValueError, AttributeError) as problem:
            raise BadReply("it declares an op that cannot be") from problem
        if not all(isinstance(each, str) for each in op.outputs):
            raise BadReply("it declares an op that cannot be")
        return op

    def _called(self, target: str, names: Any) -> EditedCall | None:
        if names is None:
            return None
        return EditedCall(self._guest, target, [each for each in names if type(each) is str and each.isidentifier()])


def _is_input(plain: Any) -> bool:
    if not fits(plain, _InputRecord):
        return False
    values = plain["value"] if isinstance(plain["value"], tuple) else (plain["value"],)
    numbers = all(type(each) in (int, float) for each in (*plain["domain"], *values))
    return numbers and len(plain["domain"]) == 2 and all(type(each) is int for each in plain["shape"])


def _is_parameter(plain: Any) -> bool:
    if not fits(plain, _ParameterRecord) or plain["kind"] not in get_args(Kind):
        return False
    return isinstance(plain["default"], Value) and all(isinstance(each, str) for each in plain["choices"])


def _first_line(node: _Definition) -> int:
    return min([node.lineno, *(each.lineno for each in node.decorator_list)])


def _classes(node: ast.AST, outer: str) -> Iterator[tuple[str, ast.ClassDef]]:
    """The classes of a module by qualified name."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef):
            yield outer + child.name, child
            yield from _classes(child, f"{outer}{child.name}.")
        elif isinstance(child, ast.If | ast.Try | ast.With):
            yield from _classes(child, outer)


def _inert(node: ast.stmt, namespace: dict[str, Any]) -> FunctionType:
    """A function with name, parameters and lines of a definition, and no code of it: it raises."""
    assert isinstance(node, ast.FunctionDef)
    nothing: list[ast.expr] = [ast.copy_location(ast.Constant(None), node) for _ in node.args.defaults]
    arguments = ast.arguments(
        posonlyargs=node.args.posonlyargs,
        args=node.args.args,
        vararg=node.args.vararg,
        kwonlyargs=node.args.kwonlyargs,
        kw_defaults=[each and ast.copy_location(ast.Constant(None), node) for each in node.args.kw_defaults],
        kwarg=node.args.kwarg,
        defaults=nothing,
    )
    body: list[ast.stmt] = [ast.copy_location(stmt, node) for stmt in ast.parse("raise NotImplementedError").body]
    plain = ast.copy_location(ast.FunctionDef(node.name, arguments, body, [], node.returns), node)
    tree = ast.fix_missing_locations(ast.Module([plain], []))
    # Annotations stay text, and are never evaluated.
    flags = __future__.annotations.compiler_flag
    made: dict[str, Any] = {}
    exec(compile(tree, FILE, "exec", flags=flags, dont_inherit=True), made)  # noqa: S102 a definition without code
    function = made[node.name]
    code: CodeType = function.__code__
    copy = FunctionType(code.replace(co_firstlineno=_first_line(node)), namespace, node.name, function.__defaults__)
    copy.__kwdefaults__ = function.__kwdefaults__
    copy.__annotations__ = function.__annotations__
    copy.__doc__ = ast.get_docstring(node)
    copy.__module__ = MODULE
    copy.__qualname__ = node.name
    return copy
