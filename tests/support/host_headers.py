"""Requests with a Host header, and names that are no server's of ours."""

from support.raw_http import connected, read
from support.servers import Server


def asked(server: Server, *headers: str) -> tuple[int, dict[str, str], bytes]:
    with connected(server) as connection:
        lines = ["GET /healthz HTTP/1.1", *headers, "Connection: close", "", ""]
        connection.sendall("\r\n".join(lines).encode("latin-1"))
        return read(connection)


ELSEWHERE = """
    evil.example localhost.evil.example 127.0.0.1.evil.example evil-localhost school.example notschool.example
    xschool.example example.org www.loupe.example.org loupe.example.org.evil.example 0x7f.1.example 127.1.1 _x
"""
