// The page of an op of the visitor's own, brought up to date in its place when the file has been saved: the address
// stays, and what is not of the file stays as it was left.

import { follow, remark } from "./live.js";
import { scrollable } from "./scroll.js";

const PARTS = [".opening", ".prose"]; // what the file says, beside the curves
const BESIDE = ["theme", "hide", "layout", "view", "grad_output", "count", "device"]; // what holds for every op
const LEFT = "gradloupe-left"; // names that the address had to lose, for the page that opens then
const aside = document.querySelector("#following");
const { name, file } = aside.dataset;

/** Follow the file. `figure` is the section of the page, `closer` its companion figure. */
export function refreshing(figure, closer) {
  let wanted = aside.dataset.digest;
  let busy = false;
  tellWhatWasLeft();

  follow(({ digests }) => {
    if (name in digests) {
      remark(aside.dataset.remark ?? "");
      if (digests[name] !== wanted) renew(digests[name]);
    } else if (Object.keys(digests).length > 0) {
      const others = Object.keys(digests).map((each) => [each, `/ops/${encodeURIComponent(each)}`]);
      remark(`${name} is no longer in ${file}; its last curves stay. There is:`, others);
    }
  });

  async function renew(digest) {
    wanted = digest;
    if (busy) return;
    busy = true;
    try {
      let done = "";
      while (done !== wanted) {
        done = wanted;
        await once();
      }
    } catch {
      wanted = ""; // the server has gone meanwhile: when it is back, it is tried again
    } finally {
      busy = false;
    }
  }

  async function once() {
    const { search } = location;
    const { status, page } = await opened(location.pathname + search);
    if (status === 422) return fit(search);
    if (status !== 200) throw new Error(`status ${status}`);
    const theirs = page.querySelector("#following");
    if (theirs?.dataset.form !== aside.dataset.form) return location.reload();
    for (const each of PARTS) exchange(document.querySelector(each), page.querySelector(each));
    scrollable(document.querySelectorAll(".prose .formulas dd, .prose .scroll"));
    document.title = page.title;
    aside.dataset.digest = theirs.dataset.digest;
    closer.expire();
    return figure.again(location.search === search ? (page.querySelector("#answer")?.textContent ?? "") : "");
  }
}

/** Put what stands in another page into the place of ours. */
function exchange(ours, theirs) {
  if (ours && theirs && ours.innerHTML !== theirs.innerHTML) ours.replaceChildren(...theirs.childNodes);
}

async function opened(address) {
  const response = await fetch(address, { headers: { Accept: "text/html" }, cache: "no-cache" });
  return { status: response.status, page: new DOMParser().parseFromString(await response.text(), "text/html") };
}

/** The address says what the op knows no more: open the one that still says the most. */
async function fit(search) {
  const path = location.pathname;
  const { page } = await opened(path);
  const known = JSON.parse(page.querySelector("#controls")?.dataset.defaults ?? "[]").map(([each]) => each);
  const given = [...new URLSearchParams(search)];
  const without = (keep) => given.filter(([each]) => keep(each));
  const attempts = [
    without((each) => known.includes(each)),
    without((each) => known.includes(each) && each !== "recipe"),
    without((each) => BESIDE.includes(each)),
    [],
  ];
  for (const pairs of attempts) {
    const query = new URLSearchParams(pairs).toString();
    const address = path + (query && `?${query}`);
    const { status } = pairs.length > 0 ? await opened(address) : { status: 200 };
    if (status !== 200) continue;
    const left = given.filter(([each]) => !pairs.some(([kept]) => kept === each)).map(([each]) => each);
    sessionStorage.setItem(LEFT, JSON.stringify({ path, left }));
    return location.replace(address);
  }
  return undefined;
}

function tellWhatWasLeft() {
  const { path, left } = JSON.parse(sessionStorage.getItem(LEFT) ?? "{}");
  sessionStorage.removeItem(LEFT);
  if (path !== location.pathname || !left.length) return;
  const one = left.length === 1;
  aside.dataset.remark = `The address said ${left.join(", ")}, which ${one ? "does" : "do"} not fit any more since the save; ${one ? "it was" : "they were"} left out.`;
  remark(aside.dataset.remark);
}
