"""Error messages for a target without a Function: what it defines instead, and what to do."""

from pathlib import Path
from pkgutil import iter_modules
from types import BuiltinMethodType, FunctionType, MethodType, ModuleType
from typing import Any

from torch import nn
from torch.autograd import Function

from ..config.target import file_with_functions
from ..protocol.listed import closest_match, first_few
from .definition_lines import SourceFile

_MAX_NAMED = 5  # names in a message
_ADVICE = "name the file that has it, or file.py:name for a function of tensors."


class NoFunction(Exception):
    """The target has no Function; the message says what there is instead."""


class NothingToLookAt(NoFunction):
    """A target in which nothing looks like a Function: there is nothing that should have been examined."""


def no_function_error(module: ModuleType, name: str) -> NoFunction:
    """The error for a module without Functions, which says whether something in it was meant to be one."""
    classes, functions = _names_defined(module, type), _names_defined(module, FunctionType)
    start = f"{name} defines no torch.autograd.Function"
    hidden = _functions_with_local_ones(module)
    if hidden:
        return NoFunction(
            f"{start} that can be reached: one is inside {hidden[0]}; move it out, or name a function of tensors."
        )
    alike = [each for each in classes if {"forward", "backward"} <= vars(getattr(module, each)).keys()]
    if alike:
        return NoFunction(
            f"{start}; {alike[0]} has a forward and a backward, so let it inherit from torch.autograd.Function."
        )
    inner = _submodule_with_functions(module)
    if inner:
        return NothingToLookAt(f"{start}; {inner} does, so name that.")
    names = [_listed("class", "classes", classes), _listed("function", "functions", functions)]
    if not any(names):
        return NothingToLookAt(f"{start}; {_submodule_hint(module) or _ADVICE}")
    hint = f"; to look at a function of tensors write {name}:{functions[0]}." if functions else "."
    return NothingToLookAt(f"{start}; it defines {' and '.join(filter(None, names))}{hint}")


def abstract_base_message(base: str, method: str, name: str) -> str:
    """The message for an abstract base class."""
    return (
        f"{method} of {base} in {name} only raises NotImplementedError, so there is nothing to look at; name a "
        "subclass, or write that method."
    )


def unknown_name_message(module: ModuleType, inside: Any, part: str, name: str) -> str:
    """The message for an attribute that does not exist, with a suggestion; ``part`` is what ``inside`` lacks."""
    every = [each for each in vars(inside) if not each.startswith("__")] if hasattr(inside, "__dict__") else []
    names = [each for each in every if inside is not module or _is_defined_in(module, vars(inside)[each])] or every
    outer = "" if inside is module else f"{getattr(inside, '__qualname__', part)}."
    suggestion = closest_match(part, names)
    if suggestion:
        return f"{name} has no {outer}{part}; did you mean {name}:{outer}{suggestion}?"
    usable = [each for each in names if _is_usable(vars(inside)[each])]
    hint = f"it has {', '.join(usable[:_MAX_NAMED])}." if usable else "nothing in it can be looked at."
    return f"{name} has no {outer}{part}; {hint}"


def _is_defined_in(module: ModuleType, thing: Any) -> bool:
    """Whether it is defined in the module or package; a bound method such as ``apply`` counts as its class does."""
    home = getattr(getattr(thing, "__self__", thing), "__module__", None)
    made = type | FunctionType | MethodType | BuiltinMethodType
    return isinstance(thing, made) and f"{home}.".startswith(f"{module.__name__}.")


def _is_usable(thing: Any) -> bool:
    return isinstance(thing, FunctionType) or (isinstance(thing, type) and issubclass(thing, Function))


def wrong_kind_message(thing: Any, attribute: str, name: str) -> str:
    """The message for an ``nn.Module``, a class that is no Function, or a value."""
    if isinstance(thing, nn.Module) or (isinstance(thing, type) and issubclass(thing, nn.Module)):
        kind = "an nn.Module"
    else:
        kind = "a class, but no torch.autograd.Function" if isinstance(thing, type) else f"a {type(thing).__name__}"
    return f"{name}:{attribute} is {kind}; name a Function, or a function of tensors that uses it."


def _names_defined(module: ModuleType, kind: type) -> list[str]:
    names = list(vars(module).items())
    return [key for key, each in names if issubclass(type(each), kind) and each.__module__ == module.__name__]


def _listed(singular: str, plural: str, names: list[str]) -> str:
    if not names:
        return ""
    return f"the {singular if len(names) == 1 else plural} {first_few(names, _MAX_NAMED)}"


def _functions_with_local_ones(module: ModuleType) -> list[str]:
    """The functions that seem to define a Function locally."""
    path = getattr(module, "__file__", None) or ""
    if not path.endswith(".py"):
        return []
    file = SourceFile(path)
    local = [(name, file.text(places[0])) for name, places in file.definitions.items() if "<locals>" in name]
    return [name.partition(".<locals>")[0] for name, text in local if _defines_function_class(text)]


def _defines_function_class(text: str) -> bool:
    head = next((line for line in text.splitlines() if line.lstrip().startswith("class ")), "")
    return "Function)" in head


def _submodule_hint(module: ModuleType) -> str:
    """The hint for a package that imports none of its modules."""
    inside = [each.name for each in iter_modules(getattr(module, "__path__", ()))]
    if not inside:
        return ""
    return f"it imports none of its modules; name one of them, such as {module.__name__}.{inside[0]}."


def _submodule_with_functions(module: ModuleType) -> str:
    """The first module of a package that defines a Function."""
    for folder in list(getattr(module, "__path__", ())):
        found = file_with_functions(Path(folder))
        if found:
            inner = found.relative_to(folder).with_suffix("").parts
            return ".".join((module.__name__, *inner)).removesuffix(".__init__")
    return ""
