"""The figure of ``look`` as a widget, where anywidget is installed: its controls ask the running kernel."""

import sys
from functools import cache
from importlib.util import find_spec
from typing import Any

import orjson

from ..html.assets import Assets
from ..html.glossary import unlinked
from ..html.pages import Pages
from ..http.problem_details import problem_json
from ..protocol.answer import curves_of
from ..protocol.errors import BadQuestion
from ..url.address import canonical_address, curves_only
from ..url.parse import parse_query, read_address
from ..worker.answer import device_summary
from . import process_restored
from .subject import Subject

_LONGEST = 64  # budget: characters of the name of a question


def is_watched() -> bool:
    """Whether somebody runs this cell who can move what it shows; not a program that executes a notebook."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    kernel = getattr(shell, "kernel", None)
    if kernel is None or find_spec("anywidget") is None:
        return False
    return bool(kernel.get_parent("shell").get("content", {}).get("allow_stdin"))  # who can be asked is there


def kernel_widget(subject: Subject, page: bytes, height: int) -> Any:
    """The widget that shows ``page`` and has what it asks answered of ``subject``; raises ``ImportError``."""
    widget = _widget_class()(page=page.decode(), height=height)
    widget.on_msg(lambda _, said, __: _reply(widget, subject, said))
    return widget


@cache
def _widget_class() -> Any:
    from anywidget import AnyWidget
    from traitlets import Int, Unicode

    class GradLoupe(AnyWidget):
        _esm = Assets.shared().widget
        page = Unicode().tag(sync=True)
        height = Int().tag(sync=True)

    return GradLoupe


def _reply(widget: Any, subject: Subject, said: Any) -> None:
    name, asked = (said.get(key) if isinstance(said, dict) else None for key in ("id", "address"))
    if isinstance(name, str) and isinstance(asked, str):
        status, body = _answered(subject, asked)
        widget.send({"id": name[:_LONGEST], "ok": status == 200, "status": status, "retryAfter": 0}, [body])


def _answered(subject: Subject, asked: str) -> tuple[int, bytes]:
    """The status and the body, as a server would answer ``/ops/NAME.page.json``."""
    pages, op = Pages.shared(), subject.told
    try:
        with process_restored():
            address = curves_only(read_address(op, device_summary(), parse_query(asked.partition("?")[2])))
            answer = curves_of(subject.frame(address.question))
            document = pages.document(answer, canonical_address(op, address))
    except BadQuestion as problem:
        return 422, problem_json(422, str(problem), problem.refusals)
    except (Exception, SystemExit) as problem:  # noqa: BLE001 a Function may raise anything
        return 500, problem_json(500, f"Looking at it raised {type(problem).__name__}: {problem}")
    words = {name: unlinked(text) for name, text in document["words"].items()}
    return 200, orjson.dumps({**document, "words": words})
