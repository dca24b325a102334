// What a page in the frame of another says to it, and hears from it.

const THEMES = ["auto", "light", "dark"];

/**
 * A page in the frame of another, which tells it its height unless it was given one, in the four ways that there are of
 * saying it, and takes its theme from it; `moved(state)` hears what else is asked for. Returns `tell(type, more)`.
 */
export function messenger(moved) {
  const page = document.documentElement;
  const framed = parent !== window;
  const post = (message) => framed && parent.postMessage(message, "*"); // whoever it is: all of this is on their page
  const secret = new URLSearchParams(location.hash.replace(/^#\??/, "")).get("secret") ?? "";
  const heard = { "gradloupe:state": ({ state }) => moved(state), "gradloupe:theme": ({ theme }) => THEMES.includes(theme) && (page.dataset.theme = theme) };
  let last = 0;

  addEventListener("message", ({ source, data }) => {
    if (framed && source === parent && Object.hasOwn(heard, data?.type)) heard[data.type](data);
  });

  function measure() {
    const height = Math.ceil(document.body.getBoundingClientRect().height);
    if (height === last || height === 0) return; // it is not seen
    last = height;
    post({ type: "gradloupe:resize", height });
    post({ subject: "lti.frameResize", height });
    post({ message: "height", value: height, secret });
    post(JSON.stringify({ src: location.href, context: "iframe.resize", height }));
  }

  if (framed && !page.dataset.high) new ResizeObserver(measure).observe(document.body);
  return (type, more) => post({ type: `gradloupe:${type}`, ...more });
}
