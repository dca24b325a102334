// Where answers come from: the server that the page came from.

/** Answers an address with {ok, status, body, retryAfter}, in seconds; throws when the server says nothing of sense. */
export function fetching() {
  return async (address, signal) => {
    const response = await fetch(address, { signal, headers: { Accept: "application/json" } });
    const { ok, status, headers } = response;
    return { ok, status, body: await response.json(), retryAfter: Number(headers.get("Retry-After") ?? 0) };
  };
}
