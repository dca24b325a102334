"""One load of the targets: they are imported once, and their Functions described as far as possible without a call."""

import inspect
import os
import re
import sys
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, count
from keyword import iskeyword
from pathlib import Path
from types import ModuleType

from ...ops import OPS, BadDeclaration
from ..capture.record import BadCapture, Capture, read_capture
from ..catalogue.op_description import code_digest
from ..config.target import BadTarget, Target, parse_target, target_path
from ..inference.recipe.grammar import DOCSTRING_LINE
from ..protocol.errors import LoadFailed
from ..protocol.fingerprint import fingerprint
from ..protocol.listed import no_such_function
from ..protocol.load_error import load_error
from ..sandbox.edited_module import edited_module
from ..sandbox.guest import FILE, Claims
from ..sandbox.guest_process import GuestLost, GuestProcess
from ..schema.op import OpStub
from ..url.representations import REPRESENTATIONS
from .captured_calls import capture_notes, class_digest
from .discover import FoundFunction, abstract_method, find_functions, is_abstract_base
from .example_inputs import unknown_example_names
from .import_errors import display_path, encodable, import_error_report
from .importer import UserFileFinder, import_target
from .not_found import NoFunction, abstract_base_message
from .surrogates import claimed_in_docstring

_MAX_FILES = 500
_MAX_SOURCE = 2**21  # characters of source in a handshake message
# No name ends like the address of a representation: the parts of ``page.json`` follow a name each by itself.
_ENDINGS = frozenset(part for ending in REPRESENTATIONS for part in ending.split("."))
_NOT_THERE = (
    f"{FILE}, line {{}}, imports {{}}, which is not there for edited code: it has torch, numpy and what they use, and "
    "reads no files; save it as a file, and run gradloupe on that."
)
_NO_FUNCTION = (
    "The text defines no torch.autograd.Function; write a class that derives from it, with forward and backward."
)
_LoadedFunction = tuple[Target, ModuleType, FoundFunction]


@dataclass(frozen=True)
class CatalogueEntry:
    """A Function and its target module.

    ``stub`` is its catalogue entry, known before any call.
    """

    name: str
    group: str
    module: ModuleType
    definition: FoundFunction
    stub: OpStub


@dataclass(frozen=True)
class Load:
    """The result: the entries by name, the user's files that were read, and notes on them.

    ``reading`` has the contents of those files, and ``recipes`` those of the command line by name of the Function.
    """

    targets: tuple[str, ...]
    entries: dict[str, CatalogueEntry]
    files: list[str]
    notes: list[str]
    reading: UserFileFinder
    recipes: Mapping[str, str]
    capture: Capture | None = None


def load_targets(
    targets: Sequence[str], again: int = 0, recipes: Mapping[str, str] | None = None, data: str = ""
) -> Load:
    """Import the targets, in this process and for good; raises ``LoadFailed``.

    ``recipes`` are those of the command line, by name of the Function; ``data`` is the file of a capture.
    """
    reading, recipes, captured = UserFileFinder(), recipes or {}, [data] if data else []
    try:
        capture = read_capture(data) if data else None
    except BadCapture as problem:
        raise LoadFailed(load_error(str(problem), "BadCapture"), files_to_watch(reading, captured)) from None
    sys.meta_path.insert(0, reading)
    loaded: list[_LoadedFunction] = []
    notes: list[str] = []
    for text in targets:
        try:
            target = parse_target(text)
            reading.named.add(target.path)
            module, remarks = import_target(target, reading)
            functions = find_functions(module, target.attribute, target.name)
        except BaseException as error:  # noqa: BLE001 user code may raise anything, SystemExit included
            files = [target_path(text)] if isinstance(error, BadTarget) else []
            raise LoadFailed(import_error_report(error, reading, os.getcwd()), files_to_watch(reading, files)) from None
        notes += [each for each in remarks if each not in notes]
        reading.named.add(getattr(module, "__file__", None) or "")
        known = {id(each.function if each.op is None else each.op) for _, _, each in loaded}
        loaded += [(target, module, each) for each in functions if id(each.op or each.function) not in known]
    try:
        loaded = _without_abstract_bases(loaded)
        loaded = [(target, module, _with_claim(each)) for target, module, each in loaded]
    except (NoFunction, BadDeclaration) as error:
        raise LoadFailed(encodable(load_error(str(error), type(error).__name__)), files_to_watch(reading)) from None
    notes += [
        each for module in dict.fromkeys(module for _, module, _ in loaded) for each in unknown_example_names(module)
    ]
    files = files_to_watch(reading, captured)
    entries = _entries(loaded, _content_digest(reading, files, f"{again}{sorted(recipes.items())}"), reading)
    notes += [no_such_function(f"--recipe {each}", [*entries]) for each in recipes if each not in entries]
    if capture:
        sources = {each.function.__qualname__: class_digest(each.source) for _, _, each in loaded}
        notes += capture_notes(capture, sources)
    return Load(tuple(targets), entries, files, notes, reading, recipes, capture)


def load_text(text: str, guest: GuestProcess) -> Load:
    """The Functions of a text that was edited in a page, which a guest executes; raises ``LoadFailed``."""
    reading = UserFileFinder()
    reading.named.add(FILE)
    reading.read[FILE] = text.encode("utf-8", "replace")
    target = Target(FILE, FILE, "", "", FILE, os.getcwd())
    try:
        module, claims = edited_module(text, guest)
        functions = find_functions(module, "", FILE)
        loaded = _without_abstract_bases([(target, module, each) for each in functions])
        loaded = [
            (each, of, _with_claim(one, lambda function: claims.get(function.__qualname__))) for each, of, one in loaded
        ]
        notes = list(unknown_example_names(module))
    except Exception as error:  # noqa: BLE001 edited code may raise anything
        report = import_error_report(error, reading, os.getcwd())
        if isinstance(error, ModuleNotFoundError):
            report |= {"sentence": _NOT_THERE.format(report["line"], error.name)}
        elif isinstance(error, GuestLost):
            happened = str(error).removeprefix("it ").partition("; last line")[0]
            where = f"{FILE}, line {report['line']}," if report["line"] else "This code"
            report |= {"sentence": f"{where} {happened}."}
        elif isinstance(error, NoFunction):
            report |= {"sentence": _NO_FUNCTION}
        else:
            report |= {"sentence": report["sentence"].replace(" and save.", ".")}  # there is no file to be saved
        raise LoadFailed(report, []) from None
    content = fingerprint(code_digest(), text)
    return Load((FILE,), _entries(loaded, content, reading), [], notes, reading, {})


def _with_claim(found: FoundFunction, claims: Claims = claimed_in_docstring) -> FoundFunction:
    """The Function with the claim that its docstring makes, where no op declares another."""
    return found if found.op else replace(found, op=claims(found.function))


def _without_abstract_bases(loaded: list[_LoadedFunction]) -> list[_LoadedFunction]:
    """Leave out abstract base classes that were not asked for by name; raises ``NoFunction`` if only such are left."""
    functions = [each.function for _, _, each in loaded]
    kept = [one for one in loaded if one[0].attribute or not is_abstract_base(one[2].function, functions)]
    if kept and all(abstract_method(each.function) and not target.attribute for target, _, each in kept):
        target, _, base = kept[0]
        raise NoFunction(abstract_base_message(base.title, abstract_method(base.function), target.name))
    return kept


def files_to_watch(reading: UserFileFinder, first: Sequence[str] = ()) -> list[str]:
    """The real paths of the files to watch, beginning with those given."""
    targets = [path for path in reading.named if path.endswith(".py")]
    paths = [*first, *targets, *reading.read]
    return list(dict.fromkeys(os.path.realpath(path) for path in paths if path))[:_MAX_FILES]


def _content_digest(reading: UserFileFinder, files: list[str], again: str) -> str:
    """Hash of all user files that were read, and of ``again``: the number of the reload, and given recipes."""
    read = {os.path.realpath(path): data for path, data in reading.read.items()}
    contents = (read[path] if path in read else Path(path).read_bytes() for path in files)
    return fingerprint(code_digest(), again, *map(os.fsencode, files), *contents)


def _entries(loaded: list[_LoadedFunction], content: str, reading: UserFileFinder) -> dict[str, CatalogueEntry]:
    names = _unique_url_names([(each.title, each.file) for _, _, each in loaded])
    max_source = _MAX_SOURCE // max(len(loaded), 1)
    entries = {}
    for name, (target, module, each) in zip(names, loaded, strict=True):
        stub = _stub(name, target.name, each, content, max_source, _import_line(module, each, reading))
        entries[name] = CatalogueEntry(name, target.name, module, each, stub)
    return entries


def _import_line(module: ModuleType, each: FoundFunction, reading: UserFileFinder) -> str:
    """The import line of the Function, or of the op that declares it, for a file in the same folder."""
    bound = each.bound.partition(".")[0]
    home = reading.name_of(module.__name__ if hasattr(module, bound) else each.function.__module__)
    if all(part.isidentifier() and not iskeyword(part) for part in home.split(".")):
        return f"from {home} import {bound}"
    return f'{bound} = __import__("{home}", fromlist=["{bound}"]).{bound}'


def _prose(function: object) -> str:
    """The docstring of a Function without the line that says how it is called, which pages tell in their own way."""
    return DOCSTRING_LINE.sub("", inspect.cleandoc(getattr(function, "__doc__", None) or "")).strip()


def _stub(name: str, group: str, each: FoundFunction, content: str, max_source: int, import_line: str) -> OpStub:
    op = each.op
    return {
        "name": name,
        "title": encodable((op and op.title) or each.title),
        "doc": encodable(_prose(each.function))[:max_source],
        "group": encodable(group),
        "source": encodable(op.source if op else each.source)[:max_source],
        "first_line": op.first_line if op else each.lines.first,
        "line": each.lines.line,
        "file": encodable(display_path(each.file, os.getcwd())),
        "digest": fingerprint(name, content),
        "own": True,
        "bound": encodable(each.bound),
        "import_line": encodable(import_line),
        "declared": op is not None and op.says_the_call,
        "claim": op.claim if op else "exact",
        "broken": op.broken if op else "",
        "check": op.check if op else "",
        "reference": op.reference if op else "",
    }


def _unique_url_names(things: Iterable[tuple[str, str]]) -> list[str]:
    """A unique ASCII name for each (title, file): that of the title, prefixed with the file's where it is taken."""
    given: list[str] = []
    for title, file in things:
        name = _ascii(title)
        if name in OPS or name in given:
            name = f"{_ascii(_stem(file))}.{name}"
        numbered = chain([name], (f"{name}_{number}" for number in count(2)))
        given.append(next(each for each in numbered if each not in OPS and each not in given))
    return given


def _stem(file: str) -> str:
    stem = os.path.basename(file).removesuffix(".py")
    return os.path.basename(os.path.dirname(file)) if stem == "__init__" else stem


def _ascii(title: str) -> str:
    """ASCII letters without accents; any other character as its code point."""
    letters = (each for each in unicodedata.normalize("NFKD", title) if not unicodedata.combining(each))
    spelled = "".join(each if each.isascii() else f"u{ord(each):04x}" for each in letters)
    name = re.sub(r"[^\w.-]", "_", spelled).strip(".") or "_"
    return f"{name}_" if name.rpartition(".")[2] in _ENDINGS and "." in name else name
