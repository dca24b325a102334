"""Route of ``/own``: redirects to the first of the user's own Functions, or shows why there is none yet."""

from __future__ import annotations

from urllib.parse import quote

from fastapi import APIRouter, HTTPException, Request, Response
from fastapi.responses import RedirectResponse

from ..http.responses import NO_STORE, uncached_reply
from ..protocol.errors import EngineBusy
from ..reload.composite_engine import CompositeEngine
from ..reload.reloader import Reloader
from .context import Site
from .gallery import WAIT_QUERY

_NONE = (
    "This server shows the gallery alone, which is at /; started as gradloupe my_ops.py it shows the Functions of"
    " that file here."
)

router = APIRouter()


@router.get("/own", include_in_schema=False)
async def own(request: Request) -> Response:
    """The way to the first Function; a page that waits while the file is imported, or says why it cannot be."""
    site = Site.serving(request)
    if not isinstance(site.engine, CompositeEngine):
        raise HTTPException(404, _NONE)
    loads = site.engine.own
    if request.url.query == WAIT_QUERY:
        await _loaded(loads)
    state, file = loads.state(), ", ".join(site.settings.targets)
    if state["first"] is not None:
        return RedirectResponse(f"/ops/{quote(state['first'])}", 303, {"Cache-Control": NO_STORE})
    if state["trouble"] is None:
        limit = f"{site.settings.loading:g} s"
        why = f"{file} is being imported, once torch is loaded; that may take {limit} at most, see --loading."
        return uncached_reply(request, site.pages.waiting("Your Functions", f"/own?{WAIT_QUERY}", why=why), "text/html")
    return uncached_reply(request, site.pages.trouble(state["trouble"], file, state["generation"]), "text/html")


async def _loaded(loads: Reloader) -> None:
    """Return when the first load is finished; raises ``EngineBusy`` where the server ends before that."""
    async for state in loads.changes():
        if state["generation"]:
            return
    raise EngineBusy
