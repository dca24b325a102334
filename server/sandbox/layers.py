"""The layers that confine a process for good: namespaces, rlimits, Landlock, a list of system calls (seccomp).

Each is set by the process itself, by ctypes alone, and needs no privilege. Linux on x86_64 and aarch64.
"""

import ctypes
import errno
import os
import platform
import resource
import signal
import struct
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS = 1, 4, 22, 38
_NOBODY = 65534
# Of clone(2): mounts, UTS, IPC, network; and users, which lets one without privileges have the others.
_CLONE_SPACES, _CLONE_NEWUSER = 0x20000 | 0x4000000 | 0x8000000 | 0x40000000, 0x10000000
_MAX_FILES, _STACK = 16, 8 * 2**20


class CannotConfine(Exception):
    """A layer that this system does not have; the message is a noun, which goes on after "without"."""


@dataclass(frozen=True)
class Limits:
    """The limits of a confined process: ``memory``, bytes above what it holds already, and ``cpu``, seconds in all."""

    memory: int = 256 * 2**20
    cpu: int = 60


@dataclass(frozen=True)
class Layer:
    """One layer, in the order in which they are set: ``apply`` raises ``CannotConfine`` where the system has it not.

    Nothing is run where a ``required`` one cannot be set.
    """

    name: str
    apply: Callable[[Limits], None]
    required: bool = False


def confine(limits: Limits | None = None, without: frozenset[str] = frozenset()) -> list[str]:
    """Confine this process, for good; the names of the layers that this system has not, and that were left out.

    Layers ``without`` are left out. Raises ``CannotConfine`` where a required one cannot be set.
    """
    missing = []
    for layer in LAYERS:
        if layer.name in without:
            continue
        try:
            layer.apply(limits or Limits())
        except CannotConfine as problem:
            if layer.required:
                raise
            missing.append(str(problem))
    return missing


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _control(option: int, *values: object) -> None:
    """Call prctl(2)."""
    if sys.platform != "linux" or _libc().prctl(option, *values, *[0] * (4 - len(values))):
        raise CannotConfine(f"prctl({option})")


def _unshare(limits: Limits) -> None:
    """Leave the network, the mounts and the names of this machine; in a container that needs a privilege."""
    rootless = _CLONE_NEWUSER if os.geteuid() else 0
    if _libc().unshare(_CLONE_SPACES | rootless):
        raise CannotConfine("namespaces")


def _become_nobody(limits: Limits) -> None:
    if os.geteuid() == 0:
        try:
            os.setgroups([])
            os.setresgid(_NOBODY, _NOBODY, _NOBODY)
            os.setresuid(_NOBODY, _NOBODY, _NOBODY)
        except OSError:
            raise CannotConfine("a user of its own") from None


def _limit_resources(limits: Limits) -> None:
    with open("/proc/self/statm") as sizes:
        held = int(sizes.read().split()[0]) * resource.getpagesize()
    for kind, most in (
        (resource.RLIMIT_AS, held + limits.memory),
        (resource.RLIMIT_NPROC, 0),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_MEMLOCK, 0),
        (resource.RLIMIT_NOFILE, _MAX_FILES),
        (resource.RLIMIT_STACK, _STACK),
    ):
        allowed = resource.getrlimit(kind)[1]
        least = most if allowed == resource.RLIM_INFINITY else min(most, allowed)
        resource.setrlimit(kind, (least, least))
    resource.setrlimit(resource.RLIMIT_CPU, (limits.cpu, limits.cpu + 1))


_LANDLOCK_CREATE, _LANDLOCK_RESTRICT = 444, 446  # the same numbers everywhere
# How many rights on files there are from each version of its interface on; the others come with versions 4 and 6.
_FILE_RIGHTS = {1: 13, 2: 14, 3: 15, 5: 16}
_NET_RIGHTS, _SCOPES = 0b11, 0b11  # bind and connect; abstract sockets and signals
_SIZE_BEFORE_NET, _SIZE_BEFORE_SCOPES = 8, 16


def _landlock(limits: Limits) -> None:
    """Forbid all that Landlock can: files, TCP, signals and sockets beyond this process."""
    libc = _libc()
    abi = libc.syscall(_LANDLOCK_CREATE, None, ctypes.c_size_t(0), ctypes.c_uint(1))
    if abi < 1:
        raise CannotConfine("Landlock")
    files = (1 << max(count for version, count in _FILE_RIGHTS.items() if version <= abi)) - 1
    rules = struct.pack("QQQ", files, _NET_RIGHTS if abi >= 4 else 0, _SCOPES if abi >= 6 else 0)
    size = _SIZE_BEFORE_NET if abi < 4 else _SIZE_BEFORE_SCOPES if abi < 6 else len(rules)
    ruleset = libc.syscall(_LANDLOCK_CREATE, ctypes.c_char_p(rules), ctypes.c_size_t(size), ctypes.c_uint(0))
    if ruleset < 0:
        raise CannotConfine("Landlock")
    try:
        if libc.syscall(_LANDLOCK_RESTRICT, ctypes.c_int(ruleset), ctypes.c_uint(0)):
            raise CannotConfine("Landlock")
    finally:
        os.close(ruleset)


# The system calls that computing takes, with their numbers on x86_64 and on aarch64 (-: it has none of that name).
# None opens a file or a socket, starts a process or a thread, or concerns another process.
_ALLOWED = """
read 0 63, write 1 64, close 3 57, poll 7 -, ppoll 271 73, lseek 8 62, munmap 11 215, brk 12 214,
rt_sigaction 13 134, rt_sigprocmask 14 135, rt_sigreturn 15 139, mremap 25 216, madvise 28 233,
sched_yield 24 124, nanosleep 35 101, getpid 39 172, gettid 186 178, exit 60 93, exit_group 231 94,
gettimeofday 96 169, getrusage 98 165, sigaltstack 131 132, futex 202 98, sched_getaffinity 204 123,
restart_syscall 219 128, clock_gettime 228 113, clock_getres 229 114, clock_nanosleep 230 115, getrandom 318 278,
getcpu 309 168, time 201 -, set_robust_list 273 99, rseq 334 293, membarrier 324 283
"""
_MAPPING = ((9, 10), (222, 226))  # mmap and mprotect on each, allowed where the memory is not to be executed
_ARCHITECTURES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}  # column above, AUDIT_ARCH
_X32 = 0x40000000  # numbers from here on are those of another interface of x86_64
_PROT_EXEC = 4
# Of classic BPF: load a word, jump if equal, if greater or equal, if bits are set, return; offsets in seccomp_data.
_LOAD, _IF_EQUAL, _IF_AT_LEAST, _IF_SET, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCHITECTURE, _THIRD_ARGUMENT = 0, 4, 32
_ALLOW, _REFUSE, _KILL = 0x7FFF0000, 0x00050000 | errno.EPERM, 0x80000000
_MODE_FILTER = 2


def _instruction(code: int, if_true: int, if_false: int, value: int) -> bytes:
    return struct.pack("HBBI", code, if_true, if_false, value)


def syscall_filter(machine: str) -> bytes:
    """The BPF program that allows the listed system calls, and refuses all others (EPERM).

    Raises ``CannotConfine`` for another kind of machine.
    """
    if machine not in _ARCHITECTURES:
        raise CannotConfine(f"a list of system calls for {machine}")
    column, audit = _ARCHITECTURES[machine]

    def parts() -> Iterator[bytes]:
        yield _instruction(_LOAD, 0, 0, _ARCHITECTURE)
        yield _instruction(_IF_EQUAL, 1, 0, audit)
        yield _instruction(_RETURN, 0, 0, _KILL)
        yield _instruction(_LOAD, 0, 0, _NUMBER)
        if machine == "x86_64":
            yield _instruction(_IF_AT_LEAST, 0, 1, _X32)
            yield _instruction(_RETURN, 0, 0, _KILL)
        for numbers in (each.split()[1:] for each in _ALLOWED.split(",")):
            if numbers[column] != "-":
                yield _instruction(_IF_EQUAL, 0, 1, int(numbers[column]))
                yield _instruction(_RETURN, 0, 0, _ALLOW)
        for number in _MAPPING[column]:
            yield _instruction(_IF_EQUAL, 0, 4, number)
            yield _instruction(_LOAD, 0, 0, _THIRD_ARGUMENT)
            yield _instruction(_IF_SET, 0, 1, _PROT_EXEC)
            yield _instruction(_RETURN, 0, 0, _REFUSE)
            yield _instruction(_RETURN, 0, 0, _ALLOW)
        yield _instruction(_RETURN, 0, 0, _REFUSE)

    return b"".join(parts())


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_void_p))


def _restrict_syscalls(limits: Limits) -> None:
    if sys.platform != "linux":
        raise CannotConfine("seccomp")
    code = syscall_filter(platform.machine())
    memory = ctypes.create_string_buffer(code, len(code))
    program = _Program(len(code) // 8, ctypes.cast(memory, ctypes.c_void_p))
    try:
        _control(_PR_SET_SECCOMP, _MODE_FILTER, ctypes.byref(program))
    except CannotConfine:
        raise CannotConfine("seccomp") from None


# The order matters: a change of user takes back the signal at the parent's death, Landlock forbids to read how much
# memory is held, and seccomp to set any of the others.
LAYERS = (
    Layer("namespaces", _unshare),
    Layer("nobody", _become_nobody),
    Layer("dumps", lambda _: _control(_PR_SET_DUMPABLE, 0), required=True),  # its memory is read by nobody
    Layer("parent", lambda _: _control(_PR_SET_PDEATHSIG, signal.SIGKILL), required=True),
    Layer("privileges", lambda _: _control(_PR_SET_NO_NEW_PRIVS, 1), required=True),
    Layer("resources", _limit_resources, required=True),
    Layer("landlock", _landlock),
    Layer("syscalls", _restrict_syscalls, required=True),
)
