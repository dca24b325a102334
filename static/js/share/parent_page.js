// What a page in the frame of another says to it, and hears from it.

/**
 * A page in the frame of another: `moved(state)` and `themed(theme)` hear what the page around asks for. Returns `tell(type, more)`, and
 * `resized(height)`, which says so in the four ways that there are of saying it.
 */
export function messenger({ moved, themed }) {
  const framed = parent !== window;
  const post = (message) => framed && parent.postMessage(message, "*"); // whoever it is: all of this is on their page
  const secret = new URLSearchParams(location.hash.replace(/^#\??/, "")).get("secret") ?? "";
  const heard = { "gradloupe:state": ({ state }) => moved(state), "gradloupe:theme": ({ theme }) => themed(theme) };
  let last = 0;

  addEventListener("message", ({ source, data }) => {
    if (framed && source === parent && Object.hasOwn(heard, data?.type)) heard[data.type](data);
  });

  return {
    tell: (type, more) => post({ type: `gradloupe:${type}`, ...more }),
    resized(height) {
      if (height === last) return;
      last = height;
      post({ type: "gradloupe:resize", height });
      post({ subject: "lti.frameResize", height });
      post({ message: "height", value: height, secret });
      post(JSON.stringify({ src: location.href, context: "iframe.resize", height }));
    },
  };
}
