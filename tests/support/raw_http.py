"""Requests as bytes on a socket, for what no client library would send."""

import socket
from itertools import takewhile
from typing import Protocol


class Located(Protocol):
    """A server at an address."""

    @property
    def url(self) -> str: ...


def connected(server: Located) -> socket.socket:
    host, port = server.url.removeprefix("http://").split(":")
    return socket.create_connection((host, int(port)), 60)


def send(connection: socket.socket, address: str) -> None:
    connection.sendall(f"GET {address} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())


def read(connection: socket.socket) -> tuple[int, dict[str, str], bytes]:
    """Status, headers and body of the one response that is on its way."""
    with connection.makefile("rb") as stream:
        status = int(stream.readline().split()[1])
        lines = [line.decode("latin-1").rstrip() for line in takewhile(bytes.strip, stream)]
        headers = dict(line.split(": ", 1) for line in lines)
        return status, headers, stream.read(int(headers.get("content-length", -1)))
