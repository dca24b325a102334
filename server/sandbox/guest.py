"""The guest: a process that executes edited code, confined, and answers what it is asked about it.

Nothing here is believed outside: edited code may replace any of it.
"""

import builtins
import fcntl
import gc
import inspect
import linecache
import os
import random
import resource
import signal
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from faulthandler import enable, register  # workers replace them in their module
from types import FunctionType, ModuleType, TracebackType
from typing import IO, Any, NoReturn

import numpy as np
import torch
from torch.autograd.function import _SingleLevelFunction

from ...ops import Op
from ..paths import PACKAGE
from ..protocol.job import EDITED
from ..protocol.stack_dump import DUMP_SIGNAL
from ..runtime.graph import declares_once
from ..runtime.vjp import pull_back
from .layers import CannotConfine, Limits, confine
from .wire import PREFIX, Reading, Writing, packed, parsed, tensors_in, with_tensors

FILE, MODULE = EDITED, f"{PACKAGE}.ops.edit"  # so that a file of the gallery may be edited as it is
MAX_FRAMES, MAX_MESSAGE = 20, 8000
# Its descriptors have numbers that no object of the worker has, whose end here would close them.
_CHANNEL, _DUMPS = 200, 201
_MOST_THINGS = 100
_MKLDNN: Any = torch.backends.mkldnn
_ROLES = ("forward", "backward", "vjp", "setup_context")


Claims = Callable[[Any], Op | None]  # what a Function claims of itself without an op


@dataclass
class _Graph:
    """What a call has computed: its leaves, its outputs, and the tensors that it was given, with their bytes then."""

    leaves: list[torch.Tensor]
    outputs: list[torch.Tensor]
    given: list[tuple[torch.Tensor, bytes]]


class Guest:
    """Executes one text, and answers requests about it over the channel until that is closed."""

    def __init__(self, claims: Claims) -> None:
        self._claims = claims
        self._targets: dict[str, Callable[..., Any]] = {}
        self._graphs: dict[int, _Graph] = {}
        self._count, self._drawn = 0, _positions()

    def serve(self) -> None:
        """Answer until the worker closes its end, or edited code ends the process."""
        incoming = open(_CHANNEL, "rb", closefd=False)  # noqa: SIM115 as long as the process
        while True:
            head, payload = PREFIX.unpack(_read(incoming, PREFIX.size))
            request, reading = parsed(_read(incoming, head)), Reading(_read(incoming, payload))
            writing = Writing(foreign=True)
            try:
                reply = self._reply(request, reading, writing)
                frame = packed(reply, writing.segments)
            except BaseException as error:  # noqa: BLE001 edited code may raise anything
                frame = packed(_raised(error), [])
            _write(frame)

    def _reply(self, request: dict[str, Any], reading: Reading, writing: Writing) -> dict[str, Any]:
        for graph in request.get("forget", ()):
            self._graphs.pop(graph, None)
        if request["kind"] == "load":
            return {"kind": "loaded"} | self._load(request["text"], writing)
        state = reading.value(request["generator"])
        before = self._drawn if state is request["seed"] is None else _set_generators(state, request["seed"])
        answer = self._called if request["kind"] == "call" else self._pulled
        try:
            reply = answer(request, reading, writing)
        finally:
            self._drawn = _positions()
        pairs = zip(_GENERATORS, before, self._drawn, strict=True)
        return reply | {"drew": [name for name, old, new in pairs if old != new]}

    def _load(self, text: str, writing: Writing) -> dict[str, Any]:
        module = ModuleType(MODULE)
        module.__package__ = f"{PACKAGE}.ops"
        module.__file__ = FILE
        sys.modules[MODULE] = module
        linecache.cache[FILE] = (len(text), None, text.splitlines(keepends=True), FILE)
        exec(compile(text, FILE, "exec", dont_inherit=True), vars(module))  # noqa: S102 this is what the process is for
        things = list(_things(vars(module)))[:_MOST_THINGS]
        ops = {name: self._op(name, thing) for name, thing in things if isinstance(thing, Op)}
        alone = {name: each for name, each in things if not isinstance(each, Op)}
        functions = [self._function(name, each, writing) for name, each in alone.items()]
        claims = {each.__qualname__: (name, self._claims(each)) for name, each in alone.items()}
        claimed = {name: self._op(bound, op) for name, (bound, op) in claims.items() if op is not None}
        examples = vars(module).get("example_inputs")
        if isinstance(examples, dict):
            examples = {getattr(key, "__qualname__", key): each for key, each in examples.items()}
        named = {} if examples is None else {"examples": writing.value(examples)}
        return {"functions": functions, "ops": ops, "claims": claimed} | named

    def _function(self, name: str, thing: Any, writing: Writing) -> dict[str, Any]:
        self._targets[name] = thing.apply
        roles = {role: getattr(thing, role) for role in _ROLES}
        own = {role: each for role, each in roles.items() if each is not getattr(_SingleLevelFunction, role)}
        return {
            "name": name,
            "qualname": thing.__qualname__,
            "static": not isinstance(inspect.getattr_static(thing, "forward", None), FunctionType),
            "once": declares_once(thing),
            "roles": {role: _method(each, writing) for role, each in own.items()},
        }

    def _op(self, name: str, op: Op) -> dict[str, Any]:
        callables = {"call": op.call, "surrogate": op.surrogate}
        self._targets |= {f"{name}.{role}": each for role, each in callables.items() if each is not None}
        plain = {field: getattr(op, field) for field in Op.__dataclass_fields__}
        plain |= {role: _parameter_names(each) for role, each in callables.items()}
        plain |= {name: [asdict(each) for each in getattr(op, name)] for name in ("inputs", "parameters")}
        plain |= {"function": op.function.__qualname__, "descent": op.descent and asdict(op.descent)}
        return plain | {"aside": op.aside and str(op.aside())}

    def _called(self, request: dict[str, Any], reading: Reading, writing: Writing) -> dict[str, Any]:
        """Call a target: what it returns, and which of the tensors it was given it has written into."""
        arguments = reading.value(request["arguments"])
        options = reading.value(request["options"])
        places, leaves = [], list[torch.Tensor]()
        for place, role in enumerate(request["roles"]):
            if role in ("leaf", "tracked"):
                leaves.append(arguments[place].requires_grad_())
            if role == "tracked":
                arguments[place] = arguments[place].clone()
            if role:
                places.append(place)
        given = [(arguments[place], _bits(arguments[place])) for place in places]
        versions = [each._version for each, _ in given]
        with torch.set_grad_enabled(request["grad"]):
            returned = self._targets[request["target"]](*arguments, **options)
        outputs = list(tensors_in(returned))
        same = [next((n for n, (one, _) in enumerate(given) if one is each), -1) for each in outputs]
        written = _written(given, versions, writing)
        return self._returned(returned, _Graph(leaves, outputs, given), writing) | {"written": written, "same": same}

    def _pulled(self, request: dict[str, Any], reading: Reading, writing: Writing) -> dict[str, Any]:
        """Pull cotangents back through a graph; with ``create`` the gradients are outputs of a graph of their own."""
        graph, create = self._graphs[request["graph"]], request["create"]
        cotangents = reading.value(request["cotangents"])
        own = [each for each in cotangents if each is not None]
        own = [each.requires_grad_() for each in own] if create else own
        given = [(each, _bits(each)) for each in own]
        versions, old = [each._version for each in own], [each._version for each, _ in graph.given]
        outputs = [out for out, one in zip(graph.outputs, cotangents, strict=True) if one is not None]
        gradients = pull_back(outputs, own, graph.leaves, retain_graph=True, create_graph=create)
        written, saved = _written(given, versions, writing), _written(graph.given, old, writing)
        graph.given = [(each, _bits(each)) for each, _ in graph.given]
        made = _Graph([*graph.leaves, *own] if create else [], list(tensors_in(gradients)), given)
        return self._returned(tuple(gradients), made, writing) | {"written": written, "saved": saved}

    def _returned(self, returned: Any, graph: _Graph, writing: Writing) -> dict[str, Any]:
        tracked = [each.requires_grad for each in graph.outputs]
        self._count += 1
        if graph.leaves and any(tracked):
            self._graphs[self._count] = graph
        value = writing.value(with_tensors(returned, map(_dense, tensors_in(returned))))
        return {"kind": "returned", "graph": self._count, "value": value, "tracked": tracked}


def _things(names: dict[str, Any], outer: str = "") -> Iterator[tuple[str, Any]]:
    """The Functions and declared ops of a module, also those inside of its classes."""
    for name, thing in list(names.items()):
        if isinstance(thing, Op):
            yield name, thing
        elif isinstance(thing, type) and thing.__module__ == MODULE and thing.__qualname__ == outer + name:
            if issubclass(thing, torch.autograd.Function):
                yield thing.__qualname__, thing
            yield from _things(dict(vars(thing)), f"{outer}{name}.")


def _method(method: Any, writing: Writing) -> dict[str, Any]:
    """Where a method is defined, and the defaults of its parameters."""
    code = getattr(inspect.unwrap(method), "__code__", None)
    line = code.co_firstlineno if code is not None and code.co_filename == FILE else 0
    try:
        parameters = inspect.signature(method).parameters.values()
    except (TypeError, ValueError):
        return {"line": line, "defaults": writing.value({})}
    defaults = {each.name: each.default for each in parameters if each.default is not each.empty}
    return {"line": line, "defaults": writing.value(defaults)}


def _parameter_names(call: Callable[..., Any] | None) -> tuple[str, ...] | None:
    try:
        return None if call is None else tuple(inspect.signature(call).parameters)
    except ValueError:  # a function of torch's
        return ()


def _dense(tensor: torch.Tensor) -> torch.Tensor:
    sparse = tensor.layout in (torch.sparse_coo, torch.sparse_csr, torch.sparse_csc, torch.sparse_bsr, torch.sparse_bsc)
    return tensor.to_dense() if sparse else tensor


def _bits(tensor: torch.Tensor) -> bytes:
    return tensor.detach().contiguous().view(-1).view(torch.uint8).numpy().tobytes() if tensor.numel() else b""


def _written(
    given: list[tuple[torch.Tensor, bytes]], versions: list[int], writing: Writing
) -> list[tuple[int, bool, dict[str, Any]]]:
    """The places of tensors whose elements are not as they were, whether autograd knows that, and the elements now."""
    return [
        (place, each._version != version, writing.value(each.detach())["tensor"])
        for place, ((each, bits), version) in enumerate(zip(given, versions, strict=True))
        if each._version != version or _bits(each) != bits
    ]


_GENERATORS = ("torch", "NumPy", "Python")


def _positions() -> tuple[Any, ...]:
    """Where each of the generators is, so far as it tells whether it was drawn from since."""
    numpy: Any = np.random.get_state(legacy=False)
    return torch.get_rng_state().numpy().tobytes(), str(numpy["state"].get("pos", numpy)), random.getstate()[1][-1]


def _set_generators(state: torch.Tensor | None, seed: int | None) -> tuple[Any, ...]:
    if state is not None:
        torch.set_rng_state(state)
    if seed is not None:
        random.seed(seed)
        np.random.seed(seed)
    return _positions()


def _raised(error: BaseException) -> dict[str, Any]:
    try:
        message = str(error)[:MAX_MESSAGE]
    except BaseException:  # noqa: BLE001 it is the code's own
        message = ""
    kinds = [kind.__name__ for kind in type(error).__mro__]
    names = [name for name in kinds if isinstance(getattr(builtins, name, None), type)]
    return {
        "kind": "raised",
        "name": kinds[0],
        "base": names[0] if names else "Exception",
        "message": message,
        "line": error.lineno if isinstance(error, SyntaxError) and error.filename == FILE else None,
        "frames": list(_frames(error.__traceback__))[-MAX_FRAMES:],
    }


def _frames(traceback: TracebackType | None) -> Iterator[dict[str, Any]]:
    """The frames of edited code, outermost first: the line where each begins, and what of it was running."""
    while traceback is not None:
        code, line = traceback.tb_frame.f_code, traceback.tb_lineno
        if code.co_filename == FILE:
            place = list(code.co_positions())[traceback.tb_lasti // 2]
            position = (line, line, 0, 0) if None in place else place
            yield {"function": code.co_name, "first": code.co_firstlineno, "position": position}
        traceback = traceback.tb_next


def _read(incoming: IO[bytes], size: int) -> bytes:
    data = incoming.read(size)
    if len(data) < size:
        os._exit(0)
    return data


def _write(data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(_CHANNEL, view) :]


def preload() -> None:
    """Load what torch and Python load when it is first used, while files can still be read."""
    import fractions  # noqa: F401
    import statistics  # noqa: F401

    repr(torch.zeros(2, dtype=torch.float64))


def become_guest(channel: int, dumps: int, limits: Limits, without: frozenset[str], claims: Claims) -> NoReturn:
    """Turn this forked process into a guest: confined, and with nothing open but the channel and a pipe for stacks."""
    code = 1
    try:
        for each in (signal.SIGALRM, signal.SIGINT, signal.SIGTERM, signal.SIGCHLD):
            signal.signal(each, signal.SIG_DFL)
        _keep_only(channel, dumps)
        enable(_DUMPS)
        register(DUMP_SIGNAL, _DUMPS)
        os.environ.clear()
        os.chdir("/")
        sys.argv, sys.path_importer_cache = [FILE], {}
        warnings.simplefilter("ignore")
        _MKLDNN.set_flags(False)  # it makes machine code, which is forbidden
        # It may have been forked inside a forward, where neither is on.
        torch.set_grad_enabled(True)
        torch._C._set_fwd_grad_enabled(True)
        preload()
        parent = os.getppid()
        missing = confine(limits, without)
        _write(packed({"kind": "ready", "missing": missing, "parent": parent}, []))
        gc.enable()
        Guest(claims).serve()
    except CannotConfine as problem:
        _write(packed({"kind": "refused", "without": str(problem)}, []))
    finally:
        os._exit(code)


def _keep_only(channel: int, dumps: int) -> None:
    """Close all descriptors but these two, which get numbers of their own; input and output lead nowhere."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))  # for these numbers; the layers leave it fewer
    high = [fcntl.fcntl(each, fcntl.F_DUPFD, _DUMPS + 1) for each in (channel, dumps)]
    nowhere = os.open(os.devnull, os.O_RDWR)
    for each in (0, 1, 2):
        os.dup2(nowhere, each)
    for kept, each in zip((_CHANNEL, _DUMPS), high, strict=True):
        os.dup2(each, kept)
    os.closerange(3, _CHANNEL)
    os.closerange(_DUMPS + 1, os.sysconf("SC_OPEN_MAX"))
