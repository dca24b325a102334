// Style sheets that only some views need, asked for when they are opened.

const worn = new Map();

/** Settled when the style sheet `name`, one of ours, applies. */
export function wear(name) {
  if (!worn.has(name)) worn.set(name, load(name));
  return worn.get(name);
}

function load(name) {
  return new Promise((resolve, reject) => {
    const fail = () => {
      worn.delete(name); // the next view that wants it tries again
      reject(new Error(`the style sheet ${name} could not be loaded`));
    };
    const href = new URL(`../../css/${name}`, import.meta.url).href;
    document.head.append(Object.assign(document.createElement("link"), { rel: "stylesheet", href, onload: resolve, onerror: fail }));
  });
}
