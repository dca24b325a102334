"""HTTP as the tests ask: each request on a connection of its own, and as long as a busy machine may need for it."""

import ssl
from functools import partial

import httpx2

SECONDS = 60
NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # else each request would read the certificates of this machine again

get = partial(httpx2.get, timeout=SECONDS, verify=NO_TLS)
head = partial(httpx2.head, timeout=SECONDS, verify=NO_TLS)
post = partial(httpx2.post, timeout=SECONDS, verify=NO_TLS)
request = partial(httpx2.request, timeout=SECONDS, verify=NO_TLS)
stream = partial(httpx2.stream, timeout=SECONDS, verify=NO_TLS)
