"""The memory of processes: what they touch (RSS), and the same with shared pages counted once (PSS)."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from support.servers import family


@dataclass(frozen=True)
class Memory:
    """In MiB."""

    rss: float
    pss: float

    def __add__(self, other: Memory) -> Memory:
        return Memory(self.rss + other.rss, self.pss + other.pss)


def of_process(pid: int) -> Memory:
    """The memory of one process."""
    rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
    rss, pss = (int(re.search(rf"^{name}:\s+(\d+) kB", rollup, re.M)[1]) / 1024 for name in ("Rss", "Pss"))
    return Memory(rss, pss)


def of_family(pid: int) -> Memory:
    """The memory of a process and of all that is below it."""
    return sum((of_process(each) for each in family(pid)), Memory(0.0, 0.0))


def of_torch_alone() -> Memory:
    """The memory of a Python that has imported torch and does nothing else."""
    command = [sys.executable, "-c", "import sys, torch; print(flush=True); sys.stdin.read()"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdout.readline()
        memory = of_process(process.pid)
        process.stdin.close()
    return memory
