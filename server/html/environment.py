"""The Jinja environments: of all pages, and of the report."""

from functools import partial

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from ..documents import panel_tables
from ..documents.pytest_file import shown_call
from ..documents.text_alternative import (
    code_markup,
    data_table,
    kink_table,
    method_paragraph,
    range_out_of_view,
    summary_sentences,
)
from ..documents.typography import reworded_for_order, typeset_number
from ..documents.typography import typeset_sentence as typeset
from ..figure.graph_svg import graph_svg
from ..figure.sheet_svg import PREVIEW_SIZE, SHEET_SIZE
from ..figure.svg_paths import sparkline
from ..paths import TEMPLATES
from ..protocol.views import VIEWS
from ..schema.verdict_words import MARKS, verdict_mark, verdict_name
from ..url.address import (
    GRAD_OUTPUT_RANGE,
    HEIGHT_BOUNDS,
    MOST_SECTIONS,
    PARAMETERS,
    SLIDER_VALUE_BOUNDS,
    WIDTH_BOUNDS,
)
from ..url.representations import PICTURES, REPRESENTATIONS
from .assets import SHARED_SCRIPT, Assets
from .glossary import termed
from .op_markup import controls_digest, highlighted_source, inline_code, mathml, prose
from .social_tags import is_local


def bare_environment() -> Environment:
    """One for our templates, in which a name that is not there is an error, and text is escaped."""
    return Environment(
        loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined, auto_reload=False
    )


def page_environment(assets: Assets, own: str, framed: bool, root: str) -> Environment:
    """The one of the pages of an app, with what their templates call; as for ``Pages``."""
    environment, sheets = bare_environment(), {name: f"css/views/{name}.css" for name in VIEWS}
    environment.globals |= {
        "own": own,
        "embeddable": framed,
        "is_local": is_local,
        "root": root,
        "static": lambda name: root + assets.address(name),
        "shared_script": root + assets.address(SHARED_SCRIPT),
        "plotly": lambda kind: root + assets.plotly(kind),
        "editor": assets.editor and root + assets.editor,
        "mathml": mathml,
        "prose": prose,
        "termed": partial(termed, root=root),
        "inline": inline_code,
        "highlight": highlighted_source,
        "sparkline": sparkline,
        "tabled": data_table,
        "beyond": range_out_of_view,
        "marks": MARKS,
        "mark": verdict_mark,
        "verdict_name": verdict_name,
        "retold": reworded_for_order,
        "coded": code_markup,
        "call_shown": shown_call,
        "declaration": controls_digest,
        "typeset": typeset,
        "number": typeset_number,
        "graph": graph_svg,
        "tables": panel_tables,
        "summary_sentences": summary_sentences,
        "kinks": kink_table,
        "method_paragraph": method_paragraph,
        "views": [*VIEWS.values()],
        "sheets": {name: root + assets.address(sheet) for name, sheet in sheets.items() if assets.find(sheet)},
        "view_fields": [each for each in PARAMETERS.values() if each.hint],
        "bounds": {
            **{"width": WIDTH_BOUNDS, "height": HEIGHT_BOUNDS, "values": SLIDER_VALUE_BOUNDS},
            "sections": MOST_SECTIONS,
            "grad_output": GRAD_OUTPUT_RANGE,
        },
        "exported": {ending: shown.gist for ending, shown in REPRESENTATIONS.items() if shown.exported},
        "formats": [(f".{ending}", ending.upper()) for ending in PICTURES],
        "pictures": {ending: PREVIEW_SIZE if ending == "png" else SHEET_SIZE for ending in PICTURES},
    }
    return environment
