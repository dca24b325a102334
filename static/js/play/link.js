// A link that holds code, in the part of an address that no server sees: deflated, then base64 of the kind for addresses.

const LONGEST = 8000; // characters of a link
const UNPACKED = 2 ** 16; // bytes of a text, as the server has it: few characters may unpack to many

/** `text` as it stands in a link; raises `RangeError` where that would be too long. */
export async function packText(text) {
  const deflated = new Blob([text]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  const bytes = new Uint8Array(await new Response(deflated).arrayBuffer());
  const packed = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
  if (packed.length > LONGEST) throw new RangeError("too long");
  return packed.replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
}

/** The text that stands in a link; throws where that was cut, is no text, or is longer than a text may be. */
export async function unpackText(packed) {
  const signs = atob(packed.replace(/-/g, "+").replace(/_/g, "/"));
  const bytes = Uint8Array.from(signs, (sign) => sign.charCodeAt(0));
  const reader = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw")).getReader();
  const parts = [];
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    size += value.length;
    if (size > UNPACKED) {
      reader.cancel().catch(() => {});
      throw new RangeError("too long");
    }
    parts.push(value);
  }
  return new TextDecoder("utf-8", { fatal: true }).decode(await new Blob(parts).arrayBuffer());
}
