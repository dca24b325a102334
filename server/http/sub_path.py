"""ASGI middleware: takes the path of the site off an address, for proxies that pass it on whole."""

from starlette.types import ASGIApp, Receive, Scope, Send


class SubPath:
    """Answers at ``root`` what stands at the top; that too, as most proxies take the path off themselves."""

    def __init__(self, app: ASGIApp, root: str) -> None:
        self.app = app
        self._root = root

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and f"{scope['path']}/".startswith(f"{self._root}/"):
            scope["path"] = scope["path"].removeprefix(self._root) or "/"
            scope["raw_path"] = scope["raw_path"].removeprefix(self._root.encode()) or b"/"
        await self.app(scope, receive, send)
