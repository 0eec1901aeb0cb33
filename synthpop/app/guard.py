"""Who may speak to the server: the one who has the token, from a page of the server itself.

The address has a random token, so that other users of the machine and other pages of the browser
do not find the app; host and origin are checked, so that no page from elsewhere reaches it through
the browser (DNS rebinding, cross-site requests), websockets included.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
ASGI = Callable[[Scope, Receive, Send], Awaitable[None]]

SECURITY = {
    "content-security-policy": (
        "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; "
        "style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self' {socket}; "
        "object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    ),
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "cache-control": "no-store",
}


def new_token() -> str:
    """Return a token for the address."""
    return secrets.token_urlsafe(24)


class Guard:
    """ASGI middleware for requests of the app's own pages only: each path begins with the token."""

    def __init__(self, app: ASGI, token: str, port: int) -> None:
        self.app = app
        self.token = token
        self.hosts = {f"{name}:{port}" for name in ("127.0.0.1", "localhost")}
        self.origins = {f"http://{host}" for host in self.hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, refuse or pass on."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        status = self.refusal(scope)
        if status == 0:
            await self.app(scope, receive, self._with_headers(send, scope))
        elif scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1008})
        else:
            await send({"type": "http.response.start", "status": status, "headers": []})
            await send({"type": "http.response.body", "body": b"refused"})

    def refusal(self, scope: Scope) -> int:
        """Return the status with which a request is refused; 0 lets it through."""
        headers = [(name.lower(), value.decode("latin-1")) for name, value in scope["headers"]]
        hosts = [value for name, value in headers if name == b"host"]
        origins = [value for name, value in headers if name == b"origin"]
        if len(hosts) != 1 or hosts[0] not in self.hosts:
            return 403
        first = scope["path"].split("/")[1] if "/" in scope["path"] else ""
        if not hmac.compare_digest(first.encode(), self.token.encode()):
            return 404
        wants_origin = scope["type"] == "websocket" or scope.get("method") not in ("GET", "HEAD")
        if (wants_origin or origins) and origins != [f"http://{hosts[0]}"]:
            return 403
        return 0

    def _with_headers(self, send: Send, scope: Scope) -> Send:
        host = next(value.decode() for name, value in scope["headers"] if name.lower() == b"host")
        lines = [
            (name.encode(), text.replace("{socket}", f"ws://{host}").encode())
            for name, text in SECURITY.items()
        ]

        async def sent(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                names = {name for name, _ in lines}
                headers = message.get("headers", [])
                other_headers = [line for line in headers if line[0].lower() not in names]
                message = {**message, "headers": [*other_headers, *lines]}
            await send(message)

        return sent
