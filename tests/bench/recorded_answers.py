"""What Gradloupe answers, recorded and compared, to see that a change in the package changes nothing for its users.

    make record INTO=BEFORE    starts servers and commands of this tree, and keeps what they say
    make record INTO=AFTER     once more, after the change
    PYTHONPATH=tests python tests/bench/recorded_answers.py compare BEFORE AFTER [--ignore "*view=contract*"]

With --only 'gallery: GET /ops/exp*' both do that for a part of it.

It knows the product by HTTP and by its command line alone. Recordings are raw: what is not compared, see CUTS, is cut
out by ``compare``. Both are to be made on the same machine, and in turns: who records is not to be in a hurry.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from difflib import unified_diff
from fnmatch import fnmatchcase
from hashlib import blake2b
from pathlib import Path
from urllib.parse import quote

from support import http
from support.own_server import FUNCTIONS, MY_OPS
from support.servers import HERE, serving

# ---------------------------------------------------------------- what is not compared, and why


@dataclass(frozen=True)
class Cut:
    """What is replaced before two records are compared, in those whose label matches ``where``."""

    found: str
    by: str
    why: str
    where: str = ""


NOISY = "/ops/noisy_backward"
MARKUP = r"^(?!.*\.(json|csv|py)(\?|$))"
FILE = r"\.html|look"  # what stands alone, with the sheets and modules written into it
CUTS = (
    Cut(r"(?m)^(date|content-length|x-request-id): .*\n", "", "the clock, chance, and the coding of what is below"),
    Cut(r'(?m)^etag: "[0-9a-f]+', 'etag: "DIGEST', "it changes with every file of the package"),
    Cut(r"\b(data-(?:digests?|form)=)('[^']*'|\"[^\"]*\")", r"\1DIGEST", "the same"),
    Cut(r"/static/[0-9a-f]+/(?:[\w-]+/)*", "/static/", "a file may move to another folder, under another digest"),
    Cut(r"(?s)<link rel=\"(?:stylesheet|modulepreload)\"[^>]*>", "", "sheets and modules may be merged"),
    Cut(r"(?s)<script[^>]* src=[^>]*></script>", "", "the same"),
    Cut(r"(?s)(<|&lt;)style\b.*?\1/style(>|&gt;)", "", "the same", FILE),
    Cut(
        r"(?s)(<|&lt;)script(?: type=(?:\"|&#34;)(?:module|importmap)(?:\"|&#34;))?(>|&gt;).*?\1/script(>|&gt;)",
        *("", "the same", FILE),
    ),
    Cut(r"(( |&#39;|')*sha256-[\w+/=]+( |&#39;|')*)+", "sha256-…", "the same, in the policy of such a file", FILE),
    Cut(r'"bytes": ?\d+', '"bytes": 0', "the size of such a file", r"\.size\.json"),
    Cut(r"\s+(?=[^<>]*>)", " ", "templates may break the lines of their tags elsewhere", MARKUP),
    Cut(r"\n\s*\n", "\n", "the empty lines that are left of what was cut", MARKUP),
    Cut(r'"seconds": [\d.]+', '"seconds": 0', "the clock", "--format json"),
    Cut(r'\btime="[\d.]+"', 'time="0"', "the clock", "--format junit"),
    Cut(r",\s+[\d.]+ s\.", ", 0 s.", "the clock", "--check$"),
    Cut(
        r'(?s)(id="card-noisy_backward".*?)<path class="line.*?</svg>',
        *(r"\1</svg>", "chance: the one op that answers differently each time", "GET /($| )"),
    ),
    Cut(r"(?s)<svg.*</svg>", "", "the same, drawn", NOISY + r"\.svg"),
    Cut(r"(?s)<svg.*?</svg>", "", "the same, drawn on a page", NOISY),
    Cut(r"[−-]?\d[\d.]*(e-?\d+)?(·10[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)?", "0", "the same; words are compared, numbers are not", NOISY),
    Cut(r"(?m) [\d.e+-]+$", "", "the clock; names and labels are compared", "GET /metrics"),
    Cut(r"/[\w/.-]+/bin/python[\d.]*", "PYTHON", "each checkout has an environment of its own"),
    Cut(r"\s+", " ", "with the length of that path, lines end elsewhere", r"unimportable\.py --check$"),
)


def cut(label: str, record: bytes) -> bytes:
    """What there is to compare of a record; what is no text is compared as it is."""
    head, _, body = record.partition(b"\n\n")
    return _cut(label, head) + b"\n\n" + (body if b"\0" in body else _cut(label, body))


def _cut(label: str, part: bytes) -> bytes:
    text = part.decode(errors="surrogateescape")
    for each in CUTS:
        if re.search(each.where, label):
            text = re.sub(each.found, each.by, text)
    return text.encode(errors="surrogateescape")


# ---------------------------------------------------------------- what is asked

VARIED = """
exp clamp_with_grad heaviside_atan matrix_product cross_entropy max_pool_with_indices fused_multiply_add kill_head
polar_to_cartesian swapped_gradients incorrect_clipped_relu one_gradient_too_few snake layer_norm
"""
PAGES = ("exp", "clamp_with_grad", "matrix_product")
SECTIONS = """
exp?start=-300&stop=300 exp?count=2 exp?count=5001&start=0&stop=1 exp?grad_output=1e9 exp?step=0.1 exp?atol=1&rtol=0
exp?utm_source=mail&count=21 exp?view=descent&lr=0.1&steps=20&goal=3 clamp_with_grad?min=-0.5&grad_output=-1
clamp_with_grad?max=2&theme=dark&layout=stacked&hide=source snake?wrt=a matrix_product?wrt=weight[0,1]&of=y[0,1]
leaky_relu?start=-1e-3&stop=1e-3 gelu_by_tanh?at=0.5&view=step l2_norm?view=surface&start2=-1&stop2=2
square?view=descent lambert_w?dtype=float32&order=2
"""
ERRORS = """
/ops/nope /ops/nope.json /ops/exq /ops/exp.jsn /ops/ /nope /embed/nope /ops/exp.json/ /compare.json
/compare.json?left=exp /compare?left=exp&right=nope /compare?left=exp&right=cube&x=1 /static/0123456789ab/nope.js
/oembed /oembed?url=nope /oembed?url=https%3A%2F%2Fexample.org%2Fops%2Fexp /oembed?url=URL%2Fops%2Fnope
/oembed?url=URL%2Fops%2Fexp&maxwidth=0 /healthz?wait=2 /own /events /sitemap.xml /metrics/
"""
BAD_QUERIES = """
start=2&stop=1 start=1&stop=1 count=1 count=5002 count=ten cuont=3 count=3&count=4 count=1.5 start=nan start=1e400
start=1,5 dtype=float23 dtype=float16&start=-1e6 device=tpu order=3 view=curve layout=x theme=x hide=x width=1 height=x
sliders=x:3 sliders=grad_output:99 wrt=z of=z wrt2=z step=0 atol=-1 compile=yes lr=0 steps=501 goal=1,2 recipe=x x=1,2
x= start=1&stop=1.0000000000000001 grad_output= %ff=1 =1 <b>=1 start=%3Cscript%3E
"""
COMPARISONS = """
left=exp&right=cube left=exp&right=exp&left.start=-1&right.dtype=float32 left=heaviside_atan&right=superspike
left=clamp_with_grad&right=clipped_relu&left.min=-2 left=exp&right=kill_head
"""
HEADERS: tuple[dict[str, str], ...] = (
    *({"accept-encoding": each} for each in ("br", "gzip", "br;q=0", "zstd")),
    *({"host": each} for each in ("evil.example.org", "localhost")),
    *({"origin": "https://example.org"}, {"accept": "text/html"}, {"accept": "application/json"}),
    {"if-none-match": "*"},
)
PUBLIC = ("--public", "--url", "https://gradloupe.example.org", "--frame-ancestors", "https://moodle.example.org")
OF_PUBLIC = """
/robots.txt /sitemap.xml /ops/exp /embed/exp /metrics /ops/exp.html
/oembed?url=https%3A%2F%2Fgradloupe.example.org%2Fops%2Fexp
"""
OF_MINE = """
/ /own /own?wait=1 /ops/Fused?count=21 /ops/Clamp.json?low=-2 /ops/Clamp?low=-2 /ops/Configured /ops/Configured.json
/ops/Configured.py /ops/Nope /compare.json?left=Clamp&right=exp /compare?left=Clamp&right=Cube /robots.txt /docs
/ops/exp /ops/Clamp.html /ops/Clamp.html?sliders=low:3 /reload
"""
OF_BROKEN = ("/own?wait=1", "/own", "/", "/ops/Clamp", "/ops/Clamp.json")
RECIPES = (
    *("x: float64[7]; low = -0.5; high = 0.5", "x: float64[2]", "x: float64[7]; low = ", "x: float65[7]", "nope"),
    *("x: float64[3]; low: float64[]; high: float64[]", "import os"),
)
CONFIGURED = "x: float64[7]; config = 'scale by 3'"


@dataclass(frozen=True)
class Ask:
    """A request."""

    address: str
    method: str = "GET"
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def label(self) -> str:
        address = self.address if len(self.address) < 300 else f"{self.address[:60]}… ({len(self.address)} characters)"
        headers = "".join(f" [{name}: {value}]" for name, value in self.headers.items())
        return f"{self.method} {address}{headers}"


def of_gallery(names: list[str], known: dict[str, list[str]]) -> Iterator[Ask]:
    """What the gallery's server is asked; a page follows its numbers, so that it has not to wait for them."""
    yield from map(Ask, ("/", "/openapi.json", "/docs", "/robots.txt", "/healthz", "/grad-loupe.js", "/compare"))
    for name in names:
        yield from (Ask(f"/ops/{name}{ending}") for ending in (".json", ".csv", ".svg", "", ".json?view=contract"))
    for name in VARIED.split():
        yield from (Ask(f"/ops/{name}.json?view={view}") for view in known["view"])
        yield from (Ask(f"/ops/{name}.json?dtype={dtype}") for dtype in known["dtype"])
        yield from (Ask(f"/ops/{name}{ending}?order=2") for ending in (".json", ""))
        yield from (Ask(each) for each in (f"/ops/{name}.py", f"/embed/{name}"))
    for name in PAGES:
        yield from (Ask(f"/ops/{name}{ending}?view={view}") for view in known["view"] for ending in ("", ".csv"))
        yield from (Ask(f"/ops/{name}.png{query}") for query in ("", "?width=640&height=480&theme=dark"))
        yield Ask(f"/embed/{name}?hide=source,verdict&height=400&theme=dark")
        yield Ask(f"/ops/{name}.html?sliders=grad_output:3")
        yield Ask(f"/ops/{name}.html")
        yield from (Ask(f"/oembed?url=URL%2Fops%2F{name}&format={form}") for form in ("json", "yaml"))
    yield Ask("/oembed?url=URL%2Fembed%2Fclamp_with_grad%3Fmin%3D-0.5&maxwidth=500&maxheight=300")
    for section in SECTIONS.split():
        name, _, query = section.partition("?")
        yield from (Ask(f"/ops/{name}{ending}?{query}") for ending in (".json", ".csv", ".svg", ""))
    for pair in COMPARISONS.split():
        yield from (Ask(f"/compare{ending}?{pair}") for ending in (".json", ""))
    yield from map(Ask, ERRORS.split())
    for query in BAD_QUERIES.split():
        yield from (Ask(f"/ops/exp{ending}?{query}") for ending in (".json", ""))
    yield from (Ask(f"{place}?count={'0' * 17_000}") for place in ("/ops/exp", "/ops/exp.json"))
    yield from (Ask(place, method) for place in ("/", "/ops/exp", "/nope") for method in ("POST", "DELETE", "OPTIONS"))
    yield from (Ask(place, "HEAD") for place in ("/", "/ops/exp", "/ops/exp.json", "/healthz", "/metrics"))
    yield from (Ask(place, headers=each) for place in ("/ops/exp.json", "/ops/nope") for each in HEADERS)


def of_mine() -> Iterator[Ask]:
    """What a server of a visitor's own Functions is asked."""
    for name in FUNCTIONS[:-1]:
        for ending in (".json", ".csv", ".svg", "", ".py", ".json?view=contract", ".json?order=2", ".json?view=node"):
            yield Ask(f"/ops/{name}{ending}")
        yield Ask(f"/embed/{name}")
    yield from map(Ask, OF_MINE.split())
    for ending in (".json", "", ".py"):
        yield from (Ask(f"/ops/Clamp{ending}?recipe={quote(recipe)}") for recipe in RECIPES)
        yield Ask(f"/ops/Configured{ending}?recipe={quote(CONFIGURED)}")
    yield Ask("/reload", "POST")
    yield from (Ask("/ops/Cube", headers={"sec-fetch-site": each}) for each in ("cross-site", "none"))


# ---------------------------------------------------------------- what is run

FUNCTION = '''import torch
from torch.autograd import Function


class {name}(Function):
    """{doc}"""

    @staticmethod
    def forward(ctx, {arguments}):
        ctx.save_for_backward({saved})
        return {forward}

    @staticmethod
    def backward(ctx, g):
        {saved}, = ctx.saved_tensors
        return {backward}
'''
FILES = {
    "right.py": FUNCTION.format(
        name="Cube", doc="A cube.", arguments="x", saved="x", forward="x**3", backward="3 * x**2 * g"
    ),
    "wrong.py": FUNCTION.format(
        name="Sine", doc="A sine.", arguments="x", saved="x", forward="x.sin()", backward="g * x.cos() * (x < 1)"
    ),
    "several.py": MY_OPS,
    "tensors.py": FUNCTION.format(
        name="Scaled",
        doc="A product of matrices.",
        arguments="x: torch.Tensor, weight: torch.Tensor, k=2.0, mode='sum'",
        saved="x, weight",
        forward="2.0 * x @ weight.T",
        backward="2.0 * g @ weight, 2.0 * g.T @ x, None, None",
    ),
    "unimportable.py": MY_OPS.replace("import torch\n", "import torch\nimport a_module_that_is_not_there\n", 1),
}
LOOK = "import gradloupe, wrong; print(gradloupe.check(wrong.Sine), gradloupe.look(wrong.Sine)._repr_html_())"
RUN = (
    *(f"{file} --check --format json" for file in FILES),
    *(f"several.py {options}" for options in ("--check", "--save-html report.html", "--check --format junit")),
    *("right.py unimportable.py --check", "right.py --format json", "nope.py --check", "--check"),
    *("--help", "--version", "--prot 1", "--port x"),
)
COMMANDS = (*(["-m", "gradloupe", *words.split()] for words in RUN), ["-c", LOOK])


# ---------------------------------------------------------------- recording


@dataclass(frozen=True)
class Recording:
    """A folder with one file for each answer whose label matches ``only``.

    ``hidden`` are the words that are others in each run, and their names.
    """

    folder: Path
    only: str
    hidden: dict[str, str]

    def keep(self, label: str, head: list[str], body: bytes) -> None:
        record = "\n".join((label, *head, "", "")).encode() + body
        for word, name in self.hidden.items() if b"\0" not in body else ():
            record = record.replace(word.encode(), name.encode())
        name = re.sub(r"[^\w.=&,-]+", "~", label)[:120] + f"~{blake2b(label.encode(), digest_size=4).hexdigest()}"
        (self.folder / name).write_bytes(record)


def record(folder: Path, only: str) -> int:
    """Ask and run everything; how many answers there are."""
    folder.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as name:
        files = Path(name).resolve()
        for file, text in FILES.items():
            (files / file).write_text(text)
        kept = Recording(folder, only, {str(files): "FOLDER"})
        for words in COMMANDS:
            run(kept, words, files)
        ask(kept, "public", PUBLIC, files, lambda _: map(Ask, OF_PUBLIC.split()))
        ask(kept, "mine", ("several.py",), files, lambda _: of_mine())
        ask(kept, "broken", ("unimportable.py",), files, lambda _: map(Ask, OF_BROKEN))
        ask(kept, "gallery", (), files, in_gallery)
    return len(list(folder.iterdir()))


def run(kept: Recording, words: list[str], files: Path) -> None:
    """Run a command as a user would."""
    label = f"$ python {' '.join(words)}"
    if not fnmatchcase(label, kept.only):
        return
    environment = os.environ | {"PYTHONPATH": "", "COLUMNS": "100", "NO_COLOR": "1"}
    done = subprocess.run([sys.executable, *words], cwd=files, env=environment, capture_output=True, check=False)
    said = [f"stderr: {line}" for line in done.stderr.decode().splitlines()]
    written = files / "report.html"
    body = done.stdout + (written.read_bytes() if written.exists() else b"")
    written.unlink(missing_ok=True)
    kept.keep(label, [f"exit code {done.returncode}", *said], body)


def ask(
    kept: Recording, name: str, arguments: Iterable[str], files: Path, asks: Callable[[str], Iterable[Ask]]
) -> None:
    """Start a server as a user would, and ask it what there is to ask."""
    with serving(*arguments, "--deadline", "60", "--loading", "300", cwd=files) as server:
        url, _, token = server.url.partition("/own#token=")
        kept = replace(kept, hidden=kept.hidden | hidden(url, token))
        http.get(f"{url}/own?wait=1" if token else f"{url}/healthz?wait=1")
        http.get(f"{url}/?wait=1")
        drawn(url)
        named = set[str]()
        for each in asks(url):
            label = f"{name}: {each.label}"
            if not fnmatchcase(label, kept.only):
                continue
            headers = {"accept-encoding": "identity"} | each.headers
            address = url + each.address.replace("url=URL", f"url={quote(url, safe='')}")
            said = http.request(each.method, address, headers=headers)
            if said.headers.get("content-type", "").startswith("text/html"):
                named |= set(re.findall(r"/static/[\w./-]+", said.text))
            head = [str(said.status_code), *(f"{header}: {value}" for header, value in sorted(said.headers.items()))]
            kept.keep(label, head, said.content)
        lost = [each for each in sorted(named) if http.get(url + each).status_code != 200]
        kept.keep(f"{name}: static files that a page names and nobody serves", [], "\n".join(lost).encode())


def hidden(url: str, token: str) -> dict[str, str]:
    place = url.removeprefix("http://")
    return {place: "SERVER", quote(place): "SERVER"} | ({token: "TOKEN"} if token else {})


def drawn(url: str) -> str:
    """The page of the gallery, once all that stands on it is drawn."""
    until = time.monotonic() + 300
    while True:
        page = http.get(url).text
        if "measuring" not in page.replace('id="mark-measuring"', "") or time.monotonic() > until:
            return page


def in_gallery(url: str) -> Iterable[Ask]:
    """What the gallery is asked about the ops that its page names, in the words that its API knows."""
    names = list(dict.fromkeys(re.findall(r'href="/ops/(\w+)"', drawn(url))))
    assert len(names) > 50, f"the gallery names only {names}"
    told = http.get(f"{url}/openapi.json").json()["paths"]["/ops/{name}.json"]["get"]["parameters"]
    return of_gallery(names, {each["name"]: each["schema"]["enum"] for each in told if "enum" in each["schema"]})


# ---------------------------------------------------------------- comparing


def compare(one: Path, other: Path, only: str, ignored: list[str], shown: int) -> int:
    """Say what differs; how many do."""
    before, after = records(one), records(other)
    labels = [each for each in before | after if fnmatchcase(each, only)]
    labels = [each for each in labels if not any(fnmatchcase(each, pattern) for pattern in ignored)]
    different = 0
    for label in labels:
        if label not in before or label not in after:
            different += 1
            print(f"{label}: only in {one if label in before else other}")
            continue
        ours, theirs = cut(label, before[label]), cut(label, after[label])
        if ours != theirs:
            different += 1
            print(f"{label}: differs")
            if different <= shown:
                print(difference(ours, theirs))
    print(f"{len(labels)} answers: {len(labels) - different} identical, {different} different")
    return different


def records(folder: Path) -> dict[str, bytes]:
    """The records of a folder by their labels."""
    read = (path.read_bytes() for path in sorted(folder.iterdir()))
    return {each.partition(b"\n")[0].decode(): each for each in read}


def difference(ours: bytes, theirs: bytes, longest: int = 24) -> str:
    """The first lines that differ; what stands on one long line is told apart at its commas and tags."""
    texts = (each.decode(errors="replace") for each in (ours, theirs))
    before, after = (re.sub(r"(?<=[,>{\[])", "\n", text).splitlines() for text in texts)
    lines = [line[:160] for line in unified_diff(before, after, lineterm="", n=1)][2:]
    return "\n".join(f"    {line}" for line in lines[:longest]) + ("\n    …" if len(lines) > longest else "")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    recorder = commands.add_parser("record")
    recorder.add_argument("folder", type=Path)
    comparer = commands.add_parser("compare")
    comparer.add_argument("one", type=Path)
    comparer.add_argument("other", type=Path)
    comparer.add_argument("--ignore", action="append", default=[], metavar="PATTERN", help="labels, as in a shell")
    comparer.add_argument("--show", type=int, default=5, metavar="N", help="of how many the difference is shown")
    for each in (recorder, comparer):
        each.add_argument("--only", default="*", metavar="PATTERN", help="labels, as in a shell")
    chosen = parser.parse_args()
    if chosen.command == "compare":
        raise SystemExit(bool(compare(chosen.one, chosen.other, chosen.only, chosen.ignore, chosen.show)))
    count, used = record(chosen.folder, chosen.only), resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{count} answers of {HERE} in {chosen.folder}: {used.ru_utime + used.ru_stime:.0f} s of processor time")


if __name__ == "__main__":
    main()
