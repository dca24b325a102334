"""HTTP as the tests ask: each request on a connection of its own, and as long as a busy machine may need for it."""

from functools import partial

import httpx2

SECONDS = 60

get = partial(httpx2.get, timeout=SECONDS)
head = partial(httpx2.head, timeout=SECONDS)
post = partial(httpx2.post, timeout=SECONDS)
request = partial(httpx2.request, timeout=SECONDS)
stream = partial(httpx2.stream, timeout=SECONDS)
