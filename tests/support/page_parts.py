"""The parts of a page that come with its HTML and are there again once the scripts have run."""

WORDS = (
    "#verdict",
    "#summary",
    "#marks",
    "#method",
    "#notes",
    "#head-upper",
    "#head-lower",
    "#values thead",
    "#values tbody",
)
# The pieces of text in a place that are not hidden, without what lies between them.
PIECES = """boxes => boxes.flatMap(box => [...box.querySelectorAll('*')].filter(e => !e.closest('[hidden]'))
.flatMap(e => [...e.childNodes].filter(n => n.nodeType === 3).map(n => n.textContent.trim())).filter(Boolean))"""
