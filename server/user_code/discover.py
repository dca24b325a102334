"""Discovery: the Functions, declared ops, plain functions and operators of ``torch.library.custom_op`` of a target
module, in source order.
"""

import ast
import functools
import inspect
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any

from torch import nn
from torch.autograd import Function

from ...ops import Op
from .definition_lines import NO_LINES, DefinitionLines, SourceFile, code_of
from .not_found import NoFunction, no_function_error, unknown_name_message, wrong_kind_message

# torch has no public name for what the decorator returns.
_KIND = ("torch._library.custom_ops", "CustomOpDef")


def is_custom_op(thing: Any) -> bool:
    """Whether it is what ``torch.library.custom_op`` makes of a function."""
    return (type(thing).__module__, type(thing).__qualname__) == _KIND


def backward_of(thing: Any) -> Callable[..., Any] | None:
    """The backward that a custom operator was given by ``register_autograd``; None for whatever has none."""
    backward: Callable[..., Any] | None = getattr(thing, "_backward_fn", None) if is_custom_op(thing) else None
    return backward


def as_function(thing: Any) -> Any:
    """A function that calls a custom operator, with the names of the function it was made of; else what was given.

    Types that stand in the schema alone are taken from there.
    """
    return _function(thing) if is_custom_op(thing) else thing


@functools.cache
def _function(custom: Any) -> Callable[..., Any]:
    written = custom._init_fn

    @functools.wraps(written)
    def called(*arguments: Any) -> Any:
        return custom(*arguments)

    declared = custom._opoverload._schema.arguments
    parameters = inspect.signature(written).parameters.values()
    called.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [_parameter(each, by_schema) for each, by_schema in zip(parameters, declared, strict=True)]
    )
    return called


def _parameter(written: inspect.Parameter, by_schema: Any) -> inspect.Parameter:
    return written.replace(annotation=str(by_schema.type)) if written.annotation is written.empty else written


_METHODS = ("forward", "backward")


def _not_overridden(function: type[Function], method: str) -> bool:
    """Whether a Function does not override a method of torch's base class; ``vjp`` is an alias of ``backward``."""
    names = ("backward", "vjp") if method == "backward" else (method,)
    return all(getattr(function, name, None) is getattr(Function, name) for name in names)


def abstract_method(thing: Any) -> str:
    """The name of an abstract method: one that only raises ``NotImplementedError``; "" if there is none."""
    if not isinstance(thing, type):
        return ""
    return next(
        (name for name in _METHODS if not _not_overridden(thing, name) and _only_raises(getattr(thing, name, None))), ""
    )


def _only_raises(method: Any) -> bool:
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(method)))
    except (OSError, TypeError, SyntaxError, ValueError):
        return False
    body = getattr(tree.body[0], "body", []) if tree.body else []
    statements = [each for each in body if not (isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant))]
    if len(statements) != 1 or not isinstance(statements[0], ast.Raise):
        return False
    raised = statements[0].exc.func if isinstance(statements[0].exc, ast.Call) else statements[0].exc
    return isinstance(raised, ast.Name) and raised.id == "NotImplementedError"


def is_abstract_base(thing: Any, others: Iterable[Any]) -> bool:
    """Whether it is an abstract base class of one of the others, without a backward or with an abstract method."""
    if not isinstance(thing, type) or not type.__subclasses__(thing):  # most have none, and need not be read
        return False
    has_subclass = any(each is not thing and isinstance(each, type) and issubclass(each, thing) for each in others)
    return has_subclass and bool(_not_overridden(thing, "backward") or abstract_method(thing))


EXAMPLES = "example_inputs"  # what a module calls the arguments of its Functions
_TORCH_MODULES = ("torch.autograd.function", "torch._C")  # modules that define the base classes of all Functions


@dataclass(frozen=True)
class FoundFunction:
    """A discovered Function, or plain function of tensors: ``title`` is its name, ``bound`` its name in its module.

    ``op`` is its declaration, if there is one; ``file`` and ``lines`` say where its source is, which of a ``custom``
    operator is that of its function, down to its backward.
    """

    title: str
    bound: str
    function: Any
    op: Op | None
    file: str
    lines: DefinitionLines
    source: str
    custom: bool = False


def find_functions(module: ModuleType, attribute: str, name: str) -> list[FoundFunction]:
    """The Functions of a module, or the one that the attribute names; ``name`` is that of the target.

    Raises ``NoFunction``, whose sentence says what there is instead.
    """
    functions = _named_functions(module, attribute, name) if attribute else _all_functions(module, name)
    files: dict[str, SourceFile] = {}
    located = [_located(title, thing, files) for title, thing in functions]
    order = {file: place for place, file in enumerate(files)}
    return sorted(located, key=lambda each: (order.get(each.file, 0), each.lines.line))


def _all_functions(module: ModuleType, name: str) -> list[tuple[str, Any]]:
    own: list[tuple[str, Any]] = []
    imported: list[tuple[str, Any]] = []
    for each in _modules(module):
        for title, thing in _functions_in(vars(each), each.__name__):
            (own if _is_defined_in(thing, module) else imported).append((title, thing))
    own += _named_by_examples(module)
    candidates = list({id(thing): (title, thing) for title, thing in own or imported}.values())
    declared = {id(thing.function) for _, thing in candidates if isinstance(thing, Op)}
    every = [thing for _, thing in candidates]
    functions = [each for each in candidates if id(each[1]) not in declared and not is_abstract_base(each[1], every)]
    if not functions:
        raise no_function_error(module, name)
    return functions


def _named_by_examples(module: ModuleType) -> Iterator[tuple[str, Any]]:
    """The Functions that ``example_inputs`` of a module names, as a class or by its name there, imported or not."""
    examples = vars(module).get(EXAMPLES)
    for key in examples if isinstance(examples, Mapping) else ():
        thing: Any = vars(module).get(key) if isinstance(key, str) else key
        if is_user_function(thing):
            yield thing.__qualname__, thing


def _modules(module: ModuleType) -> Iterator[ModuleType]:
    """The module and, for a package, its submodules that are imported already."""
    yield module
    if hasattr(module, "__path__"):
        inside = [each for name, each in list(sys.modules.items()) if name.startswith(f"{module.__name__}.")]
        yield from (each for each in inside if isinstance(each, ModuleType))


def _functions_in(names: Any, module: str, outer: str = "") -> Iterator[tuple[str, Any]]:
    """The Functions and declared ops in a namespace, and in the classes defined there."""
    for name, thing in list(names.items()):
        thing = thing.__func__ if type(thing) is staticmethod else thing  # a class may be decorated so, too
        kind = type(thing)  # not __class__, which user code may override, and which may raise
        if kind is Op or backward_of(thing) is not None:
            yield name, thing
        elif issubclass(kind, type):
            nested = thing.__module__ == module and thing.__qualname__ == outer + name
            if is_user_function(thing):
                yield (outer + name if "<locals>" in thing.__qualname__ else thing.__qualname__), thing
            if nested:
                yield from _functions_in(vars(thing), module, f"{outer}{name}.")


def is_user_function(thing: Any) -> bool:
    """Whether it is a subclass of ``torch.autograd.Function`` other than torch's own base classes."""
    return (
        isinstance(thing, type) and issubclass(thing, Function) and not str(thing.__module__).startswith(_TORCH_MODULES)
    )


def _is_defined_in(thing: Any, module: ModuleType) -> bool:
    """Whether it is defined in the module, or in the package."""
    return isinstance(thing, Op) or f"{as_function(thing).__module__}.".startswith(f"{module.__name__}.")


def _named_functions(module: ModuleType, attribute: str, name: str) -> list[tuple[str, Any]]:
    thing: Any = module
    for part in attribute.split("."):
        try:
            thing = getattr(thing, part)
        except AttributeError:
            raise NoFunction(unknown_name_message(module, thing, part, name)) from None
    if isinstance(thing, ModuleType):
        return _all_functions(thing, f"{name}:{attribute}")
    if getattr(thing, "__name__", "") == "apply" and is_user_function(getattr(thing, "__self__", None)):
        thing = thing.__self__  # swish = Swish.apply
    declared = declaration_of(thing, module) if is_user_function(thing) else None
    if declared:
        return [declared]
    if isinstance(thing, Op) or is_user_function(thing):
        return [(getattr(thing, "__qualname__", attribute), thing)]
    nested = (
        list(_functions_in(vars(thing), thing.__module__, f"{thing.__qualname__}.")) if isinstance(thing, type) else []
    )
    if nested:
        return nested
    if isinstance(thing, (type, nn.Module)) or not callable(thing):
        raise NoFunction(wrong_kind_message(thing, attribute, name))
    return [(attribute, thing)]


def declaration_of(function: Any, *modules: ModuleType) -> tuple[str, Op] | None:
    """The ``Op`` that declares a Function in one of these modules or its own, and its name there; None without one."""
    own = sys.modules.get(getattr(function, "__module__", None) or "")
    names = [pair for module in (*modules, own) if module for pair in list(vars(module).items())]
    return next(((name, each) for name, each in names if type(each) is Op and each.function is function), None)


def _located(title: str, thing: Any, files: dict[str, SourceFile]) -> FoundFunction:
    op = thing if isinstance(thing, Op) else None
    custom = op.function if op else thing
    function: type | Callable[..., Any] = as_function(custom)
    module = sys.modules.get(getattr(function, "__module__", None) or "")
    path = (getattr(module, "__file__", None) or "") if hasattr(function, "__qualname__") else ""
    if not path.endswith(".py"):
        return FoundFunction(title, title, function, op, path, NO_LINES, "")
    file = files.get(path) or files.setdefault(path, SourceFile(path))
    lines = file.place(function)
    backward = backward_of(custom)
    if getattr(code_of(backward), "co_filename", "") == path:  # it is shown, too, where it stands below
        lines = replace(lines, last=max(lines.last, file.place(backward).last))
    name = function.__qualname__ if op and isinstance(function, type) else title
    return FoundFunction(name, title, function, op, path, lines, file.text(lines), custom is not function)
