// The state of the page is its address: what the controls say, defaults left out, always in the same order.

import { plainList } from "./number.js";

const UNBOUNDED = 3;

/** The interval swept at first: an input's domain, a parameter's bounds, or a few units around its default. */
function domain(op, wrt) {
  const name = wrt.split("[")[0];
  const input = op.inputs.find((each) => each.name === name);
  if (input) return input.domain;
  const parameter = op.parameters.find((each) => each.name === name);
  return [parameter?.minimum ?? parameter?.default - UNBOUNDED, parameter?.maximum ?? parameter?.default + UNBOUNDED];
}

/** An element as the address spells it: `weight[0,1]`, or the bare name of a single number. */
export const spelled = ({ name, index }) => (index.length > 0 ? `${name}[${index.join(",")}]` : name);

/** Every name of the address with its default as text, in canonical order; empty where the numerics choose. */
export function defaults(op, wrt = spelled(op.wrt)) {
  const [start, stop] = domain(op, wrt);
  return {
    ...Object.fromEntries(op.parameters.map(({ name, default: value }) => [name, String(value)])),
    ...Object.fromEntries(op.inputs.map(({ name, values }) => [name, values.join(",")])),
    wrt: spelled(op.wrt),
    of: spelled(op.of),
    start: String(start),
    stop: String(stop),
    count: "401",
    grad_output: "1",
    dtype: "float64",
    device: "auto",
    step: "",
    atol: "",
    rtol: "",
    layout: "stacked",
  };
}

/** What an address says, over the defaults. */
export function parse(op, search) {
  const given = Object.fromEntries(new URLSearchParams(search));
  return { ...defaults(op, given.wrt), ...given };
}

/** `text` in its shortest spelling, lists element by element. */
const canonical = (text) => plainList(text).join(",");

/** The query of `state`, "" where everything is as by default. */
export function query(op, state) {
  const usual = defaults(op, state.wrt);
  const said = Object.keys(usual)
    .map((name) => [name, canonical(state[name] ?? "")])
    .filter(([name, text]) => text !== "" && text !== canonical(usual[name]))
    .map(([name, text]) => `${name}=${encodeURIComponent(text).replace(/%2C|%5B|%5D/g, decodeURIComponent)}`);
  return said.length > 0 ? `?${said.join("&")}` : "";
}
