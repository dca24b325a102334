// The figure of a session: its curves, its cursor, what is read there, and the verdict.

import { roundForSpan } from "../number.js";
import { displayError } from "../state/question.js";
import { curveCursor } from "./cursor.js";
import { legendButtons } from "./legend.js";
import { hearPinch } from "./pinch.js";
import { onPaletteChange, plotter } from "./plot.js";
import { readout } from "./reading.js";
import { verdictWriter } from "./words.js";

/**
 * A figure whose elements have ids that begin with `prefix`. `load()` brings Plotly; `drawn(answer)` is called after each
 * drawing and `picked(x)` for a click; `reading(read)` may put its own way of reading a row around the usual one; of the answer `behind()`, if
 * there is one, the curves are seen as well, pale.
 */
export function liveFigure(session, prefix, { load, drawn, picked = () => {}, reading = (read) => read, behind }) {
  const find = (name) => document.querySelector(`#${prefix}${name}`);
  const travel = ({ start, stop }) => session.move({ start, stop });
  const zoomed = (start, stop) => travel({ start: roundForSpan(start, stop - start), stop: roundForSpan(stop, stop - start) });
  const widened = () => travel(session.home());
  const hidden = legendButtons(find("canvas").closest("figure"), session, () => plot.redraw());
  const plot = plotter(find("canvas"), { load, zoomed, widened, hidden, behind, drawn: () => drawn(plot.state().answer) });
  hearPinch(find("canvas"), plot, zoomed);
  wayOut(session, find("unzoom"), find("cursor"), widened);
  const read = reading(readout(find("reading"), () => plot.state().answer));
  const trace = curveCursor({ canvas: find("canvas"), overlay: find("overlay"), cursor: find("cursor") }, plot, read, picked);
  const write = verdictWriter(find("verdict"), { link: (range) => session.link(range), follow: travel });
  session.on("complaint", plot.unzoom);
  return { plot, trace, write: (answer) => write(answer, prefix, session.dragging) };
}

/** The button out of a zoom, if there is one: it rests where there is none to leave, and hands its focus on then. */
function wayOut(session, button, cursor, widened) {
  button?.addEventListener("click", () => {
    if (button.matches(":focus-visible")) cursor.focus({ preventScroll: true });
    widened();
  });
  session.on("address", () => {
    const [{ start, stop }, home] = [session.state, session.home()];
    if (button) button.disabled = start === home.start && stop === home.stop;
  });
}

/**
 * The figure of a page that has one: draws each answer. Its y-axes are those of the answer; while a slider is held, those
 * that were there before, and on a page that gives some as `ranges`, {upper, lower}, always these.
 */
export function soleFigure(session, { load, drawn = () => {}, picked, behind, ranges = null }) {
  const figure = liveFigure(session, "", {
    load,
    picked,
    behind,
    drawn(answer) {
      figure.trace.refresh();
      session.drawn(answer);
      drawn(answer);
    },
  });
  const { plot, write } = figure;

  function draw(held = ranges) {
    plot.draw(session.answer, session.state.layout, held).catch((error) => session.complain(displayError(error)));
  }

  session.on("answer", (answer) => {
    document.documentElement.dataset.order = answer.order;
    draw(session.dragging ? plot.state()?.ranges : undefined);
  });
  session.on("words", (answer) => {
    write(answer);
    document.querySelector("#values")?.toggleAttribute("hidden", answer.columns.x.length === 0);
  });
  session.on("control", (name) => name === "layout" && session.answer && draw());
  onPaletteChange(plot.redraw);
  return figure;
}
