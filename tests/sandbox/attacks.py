"""Attacks on whoever runs edited code: what each tries, as the body of a function that returns true where it succeeds.

Those in ``HARMLESS`` groups succeed without the layers, and are tried so, which shows that they are alive.
"""

# ruff: noqa: E501 what is tried stands beside its name

from __future__ import annotations

PRELUDE = """
import array, builtins, code, collections, contextlib, ctypes, errno, faulthandler, fcntl, gc, glob, importlib.util
import inspect, io, json, linecache, marshal, math, mmap, os, pickle, platform, random, re, resource, select, shutil
import encodings.idna, multiprocessing.pool, multiprocessing.synchronize
import signal, socket, stat, struct, subprocess, sys, sysconfig, tempfile, threading, time, traceback, types, warnings
import weakref
import numpy as np, torch
if importlib.util.find_spec("torch.utils.serialization"):  # which torch.load looks for, from 2.6 on
    import torch.utils.serialization
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
def call(number, *given):
    return libc.syscall(number, *[ctypes.c_long(each) if isinstance(each, int) else each for each in given])
"""

# Read or look at what is on the disk.
FILES = {
    "read the users": "return open('/etc/passwd').read()",
    "read the environment of the worker": "return open(f'/proc/{os.getppid()}/environ', 'rb').read() is not None",
    "read its own memory map": "return open('/proc/self/maps').read()",
    "list the root": "return os.listdir('/')",
    "walk": "return len(list(os.scandir('/etc'))) > 0",
    "see whether a file is there": "return os.path.exists('/etc/passwd')",
    "stat": "return os.stat('/')",
    "read by numpy": "return np.fromfile('/etc/passwd', dtype='u1').size",
    "map a file by numpy": "return np.memmap('/etc/passwd', dtype='u1', mode='r').size",
    "map a file by torch": "return torch.from_file('/etc/passwd', size=8, dtype=torch.uint8).numel()",
    "read by the C library": "return call(257, -100, ctypes.c_char_p(b'/etc/passwd'), 0) >= 0",
    "read by openat2": "how = (ctypes.c_uint64 * 3)(); return call(437, -100, ctypes.c_char_p(b'/etc/passwd'), how, 24) >= 0",
    "read by a new module": "spec = importlib.util.find_spec('this'); return spec and open(spec.origin).read()",
    "read a file of this program": "return open(torch.__file__).read()",
    "read by linecache": "return linecache.getlines('/etc/passwd')",
    "read where Python is": "return os.readlink('/proc/self/exe')",
    "change folder": "os.chdir('/etc'); return True",
    "glob": "return glob.glob('/etc/*')",
    # One that no build of torch has loaded: what is there already is found without being opened.
    "load a library": "return ctypes.CDLL('libanl.so.1')",
    "load operators": "torch.ops.load_library('/lib/x86_64-linux-gnu/libanl.so.1'); return True",
    "look at mounts": "return open('/proc/self/mountinfo').read()",
    "look at processes": "return any(each.isdigit() for each in os.listdir('/proc'))",
    "look at the disk": "return os.statvfs('/').f_blocks",
    "see a file by access": "return os.access('/etc/passwd', os.R_OK)",
}
# Write, or make something that lasts.
WRITES = {
    "write a file": "p = f'/tmp/attack-{os.getpid()}'; open(p, 'w').write('x'); os.unlink(p); return True",
    "write by torch": "p = f'/tmp/attack-{os.getpid()}'; torch.save(torch.ones(1), p); os.unlink(p); return True",
    "write by numpy": "p = f'/tmp/attack-{os.getpid()}'; np.ones(1).tofile(p); os.unlink(p); return True",
    "write shared memory": "p = f'/dev/shm/attack-{os.getpid()}'; open(p, 'w').write('x'); os.unlink(p); return True",
    "make a folder": "p = f'/tmp/attack-{os.getpid()}'; os.mkdir(p); os.rmdir(p); return True",
    "make a link": "p = f'/tmp/attack-{os.getpid()}'; os.symlink('/', p); os.unlink(p); return True",
    "make a fifo": "p = f'/tmp/attack-{os.getpid()}'; os.mkfifo(p); os.unlink(p); return True",
    "make a temporary file": "with tempfile.TemporaryFile() as f: f.write(b'x'); return True",
    "make a file in memory": "return os.memfd_create('x') > 0",
    "share a tensor": "return torch.ones(1).share_memory_() is not None",
    "change rights": "p = f'/tmp/attack-{os.getpid()}'; open(p, 'w'); os.chmod(p, 0o777); os.unlink(p); return True",
    "mask files": "return os.umask(0) is not None",
}
# Reach the network, or another process.
NEIGHBOURS = {
    "open a TCP socket": "return socket.socket()",
    "send by UDP": "s = socket.socket(type=socket.SOCK_DGRAM); return s.sendto(b'x', ('127.0.0.1', 9))",
    "open a unix socket": "return socket.socket(socket.AF_UNIX)",
    "make a pair of sockets": "return socket.socketpair()",
    "listen": "s = socket.socket(); s.bind(('127.0.0.1', 0)); s.listen(); return True",
    "resolve a name": "return socket.getaddrinfo('localhost', 80)",
    "open netlink": "return socket.socket(16, 3, 0)",
    "look for the worker": "os.kill(os.getppid(), 0); return True",
    "look for a process": "os.kill(1, 0); return True",
    "signal a thread": "return call(234, os.getpid(), threading.get_native_id(), 0) == 0",
    "queue a signal": "return call(129, os.getpid(), 0, (ctypes.c_char * 128)()) == 0 or ctypes.get_errno() == 22",
    "hold the worker by a descriptor": "return call(434, os.getppid(), 0) >= 0",
    "read another's memory": "return call(310, os.getppid(), 0, 0, 0, 0, 0) == 0",
    "trace the worker": "return call(101, 0, 0, 0, 0) == 0",
    "take up more room": "os.setpriority(os.PRIO_PROCESS, os.getppid(), os.getpriority(os.PRIO_PROCESS, os.getppid())); return True",
    "limits of the worker": "return resource.prlimit(os.getppid(), resource.RLIMIT_CPU)",
    "make a pipe": "return os.pipe()",
    "wait for events": "return select.epoll()",
    "copy its channel": "return os.dup(200) > 0",
    "lead its channel elsewhere": "return os.dup2(200, 9) == 9",
    "change its channel": "return fcntl.fcntl(200, fcntl.F_SETFL, os.O_NONBLOCK) == 0",
    "know who it is": "return os.getppid() > 1",
}
# Start a process or a thread, or run another program.
PROCESSES = {
    "fork": "pid = os.fork(); pid or os._exit(0); return os.waitpid(pid, 0)",
    "vfork by number": "pid = call(57); pid or os._exit(0); return pid > 0",
    "clone": "pid = call(56, 17, 0, 0, 0, 0); pid or os._exit(0); return pid > 0",
    "clone3": "args = (ctypes.c_uint64 * 8)(0, 0, 0, 0, 17); pid = call(435, args, 64); pid or os._exit(0); return pid > 0",
    "start a thread": "t = threading.Thread(target=bool); t.start(); t.join(); return True",
    "start twenty threads": "ts = [threading.Thread(target=bool) for _ in range(20)]; [t.start() for t in ts]; return True",
    "more threads for torch": "torch.set_num_threads(8); a = torch.rand(999, 999); a @ a; return torch.get_num_threads() > 7 and len(os.listdir('/proc/self/task')) > 1",
    "a subprocess": "return subprocess.run(['true']).returncode == 0",
    "a shell": "return os.system('true') == 0",
    "a shell by the C library": "return libc.system(b'true') == 0",
    "popen": "return os.popen('echo x').read()",
    "spawn": "return os.posix_spawn('/bin/true', ['true'], {}) > 0",
    "exec": "try: os.execve('/nowhere', ['x'], {})\n    except OSError as problem: return problem.errno != errno.EPERM",
    "a pickle that runs": "class Bad:\n        def __reduce__(self): return os.listdir, ('/',)\n    return pickle.loads(pickle.dumps(Bad()))",
    "a shell out of a pickle": "return pickle.loads(b'cos\\nsystem\\n(S\\'true\\'\\ntR.') == 0",
    "a shell out of a checkpoint": "class Bad:\n        def __reduce__(self): return os.system, ('true',)\n    f = io.BytesIO(); torch.save(Bad(), f); f.seek(0); return torch.load(f, weights_only=False) == 0",
    "a shell by the subclasses": "p = [c for c in object.__subclasses__() if c.__name__ == 'Popen'][0]; return p(['true']).wait() == 0",
    "a pool": "import multiprocessing; return multiprocessing.get_context('fork').Pool(1).map(abs, [1])",
    "a new session": "os.setsid(); return True",
    "a compiler": "return subprocess.run(['gcc', '--version'], capture_output=True) or True",
}
# Change the rules, or reach the kernel by another way.
KERNEL = {
    "machine code": "return mmap.mmap(-1, 4096, prot=7)",
    "turn data into code": "m = mmap.mmap(-1, 4096); a = ctypes.addressof(ctypes.c_char.from_buffer(m)); return libc.mprotect(ctypes.c_void_p(a), 4096, 7) == 0",
    "turn data into code by keys": "m = mmap.mmap(-1, 4096); a = ctypes.addressof(ctypes.c_char.from_buffer(m)); return call(329, a, 4096, 7, -1) == 0",
    "data that is code by the personality": "return call(135, 0x0400000) >= 0 and mmap.mmap(-1, 4096, prot=3)",
    "know its filter": "return libc.prctl(21, 0, 0, 0, 0) == 0",
    "be dumpable again": "return libc.prctl(4, 1, 0, 0, 0) == 0",
    "outlive its parent": "return libc.prctl(1, 0, 0, 0, 0) == 0",
    "another name": "return libc.prctl(15, b'kworker', 0, 0, 0) == 0",
    "more files": "resource.setrlimit(resource.RLIMIT_NOFILE, (999, 999)); return True",
    "be root": "os.setuid(0); return os.getuid() == 0",
    "namespaces": "return libc.unshare(0x10000000) == 0",
    "mount": "return libc.mount(b'none', b'/nowhere', b'nothing', 0, None) == 0 or ctypes.get_errno() != 1",
    "io_uring": "return call(425, 1, (ctypes.c_char * 256)()) >= 0",
    "bpf": "return call(321, 0, (ctypes.c_char * 128)(), 128) >= 0 or ctypes.get_errno() != 1",
    "userfaultfd": "return call(323, 1) >= 0",
    "perf events": "return call(298, (ctypes.c_char * 128)(), 0, -1, -1, 0) >= 0 or ctypes.get_errno() != 1",
    "keys": "return call(250, 0, -3, 0, 0, 0) >= 0",
    "shared memory of System V": "i = call(29, 0, 4096, 0o1600); call(31, i, 0, 0); return i >= 0",
    "a message queue": "i = call(68, 0, 0o1600); call(71, i, 0, 0); return i >= 0",
    "inotify": "return call(294, 0) >= 0",
    "a timer that signals": "signal.setitimer(signal.ITIMER_REAL, 99); return True",
    "an alarm": "return signal.alarm(99) == 0",
    "a timer as a file": "return call(283, 1, 0) >= 0",
    "an event as a file": "return call(290, 0, 0) >= 0",
    "pin a processor": "os.sched_setaffinity(0, os.sched_getaffinity(0)); return True",
    "run before others": "os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0)); return True",
    "hold memory": "return libc.mlock(ctypes.create_string_buffer(4096), 4096) == 0",
    "hold all memory": "return libc.mlockall(1) == 0",
    "where memory lies": "return call(239, 0, 0, 0, 0, 0) == 0",
    "the machine's name": "return os.uname()",
    "the machine's load": "return os.getloadavg()",
    "how long it is up": "return time.clock_gettime(time.CLOCK_BOOTTIME) and call(99, (ctypes.c_char * 256)()) == 0",
    "set the clock": "return call(227, 0, (ctypes.c_int64 * 2)(0, -1)) == 0 or ctypes.get_errno() != 1",
    "restart the machine": "return call(169, 0, 0, 0, 0) == 0 or ctypes.get_errno() == 22",
    "calls of another width": "code = 0x40000000 + 39; return call(code) > 0",
}
# What nobody had tried at first: other ways to the same, and descriptors, namespaces and schedulers.
SECOND = {
    "a program out of memory": "fd = call(319, b'x', 0); call(322, fd, b'', 0, 0, 0x1000); return ctypes.get_errno() != 1",
    "a ring that is entered": "call(426, 0, 1, 0, 0, 0, 0); return ctypes.get_errno() != 1",
    "a ring that is registered": "call(427, -1, 0, 0, 0); return ctypes.get_errno() != 1",
    "seize the worker": "return call(101, 0x4206, os.getppid(), 0, 0) == 0",
    "a descriptor of the worker": "call(438, call(434, os.getppid(), 0), 0, 0); return ctypes.get_errno() != 1",
    "a signal by a descriptor": "call(424, call(434, os.getppid(), 0), 0, 0, 0); return ctypes.get_errno() != 1",
    "write into the worker": "call(311, os.getppid(), 0, 0, 0, 0, 0); return ctypes.get_errno() != 1",
    "advise the memory of the worker": "call(440, -1, 0, 0, 0, 0); return ctypes.get_errno() != 1",
    "memory of the worker as it swaps": "call(272, 0x80000000) ; return ctypes.get_errno() != 1",
    "another descriptor": "return any(call(8, fd, 0, 1) >= 0 or ctypes.get_errno() != 9 for fd in range(3, 4096) if fd not in (200, 201))",
    "whose the channel is": "call(55, 200, 1, 17, (ctypes.c_char * 12)(), (ctypes.c_int * 1)(12)); return ctypes.get_errno() != 1",
    "send a descriptor": "call(46, 200, (ctypes.c_char * 56)(), 0); return ctypes.get_errno() != 1",
    "receive a descriptor": "call(47, 200, (ctypes.c_char * 56)(), 0x40); return ctypes.get_errno() != 1",
    "half a channel": "call(48, -1, 2); return ctypes.get_errno() != 1",
    "how full the channel is": "return fcntl.ioctl(200, 0x541B, bytes(4)) is not None",
    "from one descriptor to another": "call(40, 200, 201, 0, 1); return ctypes.get_errno() != 1",
    "splice": "call(275, 201, 0, 200, 0, 1, 0); return ctypes.get_errno() != 1",
    "duplicate by number": "return call(292, 200, 99, 0) == 99",
    "close all descriptors": "return call(436, 5000, 5001, 0) == 0",
    "System V semaphores": "i = call(64, 0, 1, 0o1600); call(66, i, 0, 0); return i >= 0",
    "a POSIX queue": "call(240, b'x', 0, 0, 0); return ctypes.get_errno() != 1",
    "a semaphore of processes": "import multiprocessing; return multiprocessing.get_context('fork').Semaphore() is not None",
    "join a namespace": "call(308, -1, 0); return ctypes.get_errno() != 1",
    "a handle of a file": "call(303, -100, b'/', 0, 0, 0); return ctypes.get_errno() != 1",
    "a tree of mounts": "call(428, -100, b'/', 0); return ctypes.get_errno() != 1",
    "new rules of Landlock": "return call(444, 0, 0, 1) > 0",
    "another filter": "call(317, 2, 0, (ctypes.c_uint32 * 1)(0x7fff0000)); return ctypes.get_errno() != 1",
    "keys of memory": "call(330, 0, 9); return ctypes.get_errno() != 1",
    "a schedule of deadlines": "call(314, 0, 0, 0); return ctypes.get_errno() != 1",
    "first at the disk": "return call(251, 1, 0, (2 << 13) | 4) == 0",
    "more of a processor": "resource.setrlimit(resource.RLIMIT_CPU, (60, 61)); return True",
    "a timer of POSIX": "call(222, -1, 0, 0); return ctypes.get_errno() != 1",
    "tables of the processor": "call(154, 0, 0, 0); return ctypes.get_errno() != 1",
    "registers of the processor": "call(158, 0x1003, (ctypes.c_long * 1)()); return ctypes.get_errno() != 1",
    "ports of the machine": "call(172, -1); return ctypes.get_errno() != 1",
    "the log of the kernel": "call(103, -1, 0, 0); return ctypes.get_errno() != 1",
    "compare descriptors": "call(312, os.getpid(), os.getppid(), 0, 0, 0); return ctypes.get_errno() != 1",
    "wait for another's child": "call(61, -1, 0, 1, 0); return ctypes.get_errno() != 1",
    "what is left of a clock": "call(159, 0); return ctypes.get_errno() != 1",
    "a call that does not exist": "call(4095); return ctypes.get_errno() != 1",
    "a call of 32 bits": "libc.syscall(ctypes.c_long(0x1_0000_0027)); return ctypes.get_errno() == 38",
    "a restarted thread of torch": "torch.set_num_threads(2); a = torch.rand(2, 999, 999); torch.bmm(a, a); return torch.get_num_threads() == 2",
    "a thread of autograd": "x = torch.ones(9, requires_grad=True); torch.autograd.set_multithreading_enabled(True); t = threading.Thread(target=lambda: (x * x).sum().backward()); t.start(); t.join(); return True",
    "code at a callback": "return ctypes.CFUNCTYPE(ctypes.c_int)(lambda: 3)() == 3",
}
# Take more than its share; not tried without the layers. All end in an error, or with the process.
GREED = {
    "for ever": "while True: pass",
    "for ever, and deaf": "for n in range(1, 64):\n        try: signal.signal(n, signal.SIG_IGN)\n        except (OSError, ValueError): pass\n    while True:\n        try:\n            while True: pass\n        except BaseException: pass",
    "sleep": "time.sleep(999)",
    "a regular expression": "return re.match('(a+)+$', 'a' * 64 + 'b')",
    "a power": "return len(str(7 ** 10 ** 8))",
    "a large tensor": "return torch.ones(2 ** 30).numel()",
    "a large text": "return len('x' * 2 ** 32)",
    "many tensors": "kept = [torch.ones(2 ** 20) for _ in range(2 ** 12)]; return len(kept)",
    "many maps": "kept = [mmap.mmap(-1, 2 ** 24) for _ in range(2 ** 12)]; return len(kept)",
    "much address space": "return mmap.mmap(-1, 2 ** 41, flags=mmap.MAP_PRIVATE | 0x4000)",
    "a bomb of forks": "while True: os.fork()",
    "a bomb of threads": "for _ in range(2 ** 12): threading.Thread(target=time.sleep, args=(99,)).start()\n    return True",
    "the stack of C": "def f(*_): return sys.setrecursionlimit(10 ** 9) or f()\n    return f()",
    "a deep list": "a = []\n    for _ in range(10 ** 6): a = [a]\n    return repr(a)",
    "much output": "for _ in range(2 ** 14): print('x' * 2 ** 14)\n    return False",
    "kill all": "os.kill(-1, 9); return True",
    "kill its group": "os.killpg(0, 9); return True",
    "kill the worker": "os.kill(os.getppid(), 9); return True",
    "stop the worker": "os.kill(os.getppid(), signal.SIGSTOP); return True",
    "leave": "os._exit(0)",
    "abort": "os.abort()",
    "a wrong address": "ctypes.string_at(0)",
    "a stack that is written over": "ctypes.memset(ctypes.addressof(ctypes.c_char.from_buffer(bytearray(1))), 0, 2 ** 28)",
    "a reader of nothing": "torch._C.PyTorchFileWriter(1)",
    "a trickle": "import struct\n    os.write(200, struct.pack('!II', 2 ** 20, 0))\n    while True: os.write(200, b'[')",
    "memory that it shares": "for each in gc.get_objects(): kept = [each] * 3\n    mine = bytearray(2 ** 30); return True",
    "half a gigabyte at a break": "return call(12, call(12, 0) + 2 ** 29) == call(12, 0) and len(bytearray(2 ** 29))",
    "itself again and again": "def f():\n        try: f()\n        finally: f()\n    f()",
    "a trickle of stacks": "while True: os.write(201, b'x'); time.sleep(.01)",
    "a stack that lies": "os.write(201, b'Current thread (most recent call first):\\n  File \"edit.py\", line ' + b'9' * 9999 + b' in f\\n'); time.sleep(99)",
    "a finalizer that hangs": "class E:\n        def __del__(self):\n            while True: pass\n    E()",
    "a tensor that pickles itself": "class T(torch.Tensor):\n        def __reduce_ex__(self, n): return os.system, ('true',)\n    raise ValueError(torch.ones(1).as_subclass(T))",
    "an alarm that never comes": "signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 64))\n    while True: pass",
    "a signal of its own": "signal.raise_signal(signal.SIGUSR2); return False",
    "a regular expression of C": "import ast; return ast.literal_eval('-' * 10 ** 6 + '1')",
    "a class without end": "class M(type):\n        def __instancecheck__(c, x): return True\n        def __getattribute__(c, n): return c\n    class X(Exception, metaclass=M): pass\n    raise X",
    "an exit handler": "import atexit; atexit.register(time.sleep, 999); raise SystemExit(7)",
    "an error without a text": "class E(BaseException):\n        def __str__(self): raise self\n    raise E",
    "an error that hangs": "class E(Exception):\n        def __str__(self):\n            while True: pass\n    raise E",
    "an error of many megabytes": "raise ValueError('x' * 2 ** 27)",
}
HARMLESS = {
    "files": FILES,
    "writes": WRITES,
    "neighbours": NEIGHBOURS,
    "processes": PROCESSES,
    "kernel": KERNEL,
    "second": SECOND,
}
ATTACKS = {name: body for group in (*HARMLESS.values(), GREED) for name, body in group.items()}
# What another kernel, a container or a user without privileges may refuse anyhow.
NOT_ALIVE = {
    *(
        "load operators",
        "write shared memory",
        "trace the worker",
        "io_uring",
        "bpf",
        "perf events",
        "keys",
        "calls of another width",
    ),
    *("seize the worker", "memory of the worker as it swaps", "another descriptor", "half a channel"),
    *("duplicate by number", "close all descriptors", "new rules of Landlock", "a call of 32 bits"),
    *("more of a processor", "a restarted thread of torch", "first at the disk"),
    *("userfaultfd", "mount", "set the clock", "restart the machine", "be root", "namespaces", "a compiler"),
}


def text_of(body: str) -> str:
    """The text of an attack, which raises ``GOT OUT`` where it succeeds."""
    return f"{PRELUDE}\ndef attempt():\n    {body}\n\nif attempt():\n    raise RuntimeError('GOT OUT')\n"
