// The view "descent": gradient descent with backward and with the true derivative from one start, step by step.

import { calm, grid, h, ramp } from "../../dom.js";
import { format, typographic } from "../../number.js";
import { groundFigure, heatMap, lossFigure } from "./figures.js";

const RUNS = [
  { name: "with this backward", color: "analytical", prefix: "" },
  { name: "with the true derivative", color: "numerical", prefix: "true_" },
];
const [TOP, BOTTOM, LOW] = [0.5, 3, 2.6]; // margins in rem
const FEW = 16; // rows of the table

export function panel(place, { place: main, loadPlotly, drawFigure, palette, loadSheet }) {
  const dressed = loadSheet("descent");
  const parts = built(place);
  const scrub = scrubber(parts, step);
  let course = null; // what is shown
  let plotly = null;

  async function show(answer) {
    [plotly] = await Promise.all([loadPlotly("curves"), dressed]);
    fillPlaceholders(answer);
    course = read(answer);
    parts.all.hidden = course === null;
    if (course === null) return;
    scrub.extend(course.steps);
    parts.ground.hidden = answer.landscape === null;
    parts.lands.textContent = answer.landscape?.of === "loss" ? "loss" : answer.of;
    parts.heats.hidden = !parts.ground.hidden;
    parts.aim.hidden = answer.landscape === null;
    parts.unmoved.hidden = parts.heats.hidden || !course.runs.some(({ positions: all }) => someUnmoved(all[0], all.at(-1)));
    if (!parts.heats.hidden) layOutFields(parts, course);
    parts.table.replaceChildren(grid("Some of the steps", table(course)));
    await redraw();
  }

  /** Everything, at the step where the slider is. */
  async function redraw() {
    if (course === null || !main()) return;
    step(scrub.step());
    await Promise.all(drawn);
  }

  let drawn = [];
  function step(now) {
    writeStep(parts, course, now);
    if (!parts.heats.hidden) course.runs.forEach((run, i) => paint(parts.fields[i], run, course, now));
    const colors = palette();
    const pictures = [[parts.losses, lossFigure, LOW]];
    if (!parts.ground.hidden) pictures.push([parts.ground.lastChild, groundFigure, BOTTOM]);
    drawn = pictures.map(([picture, figure, bottom]) => {
      const size = seen(picture, bottom);
      const { data, layout, words } = figure(course, now, size, colors);
      if (words) parts.loses.textContent = words;
      return drawFigure(plotly, picture, { data, layout }, size);
    });
  }

  /** As large as its place, its margins those of the main figure. */
  function seen({ clientWidth: width, clientHeight: height }, bottom) {
    const { left, right, view } = main();
    return { width, height, rem: view.rem, margin: { l: left, r: right, t: TOP * view.rem, b: bottom * view.rem } };
  }

  function close() {
    scrub.close();
    for (const each of [parts.losses, parts.ground.lastChild]) plotly?.purge(each);
  }

  return { show, redraw, close };
}

/** The parts of the panel, laid out in `place`. */
function built(place) {
  const ground = h("div", { class: "ground" }, h("p", { class: "measured" }), picture("Forward, and where both descents are on it"));
  const fields = RUNS.map(({ name, color }) => {
    const title = h("figcaption", { class: color }, name);
    return { title, box: h("figure", {}, title), heat: null };
  });
  const [least, most] = [h("span"), h("span")];
  const heats = h("div", { class: "heats" },
    ...fields.map(({ box }) => box),
    h("p", { class: "gauge" }, least, ramp(), most),
  );
  const losses = picture("The loss of both descents, step by step");
  const button = h("button", { type: "button" }, "Play");
  const slider = { class: "slider", type: "range", min: 0, max: 0, step: 1, "aria-label": "step" };
  const [range, output] = [h("input", slider), h("output")];
  const [aim, unmoved] = [h("li", { class: "goal" }, "goal"), h("li", { class: "unmoved" }, "has not moved")];
  const legend = h("ul", { class: "keys" }, ...RUNS.map(({ name, color }) => h("li", { class: color }, name)), aim, unmoved);
  const reading = h("div", { class: "now" });
  const table = h("div", { class: "rows" });
  const some = h("details", {}, h("summary", {}, "Steps as a table"), table);
  const scrub = h("div", { class: "scrub" }, button, range, output);
  const loses = h("p", { class: "measured" });
  const all = h("div", { class: "descent" },
    legend,
    ground,
    heats,
    scrub,
    reading,
    loses,
    losses,
    some,
  );
  place.replaceChildren(all);
  const lands = ground.firstChild;
  return {
    all,
    ground,
    lands,
    loses,
    heats,
    fields,
    least,
    most,
    losses,
    button,
    range,
    output,
    aim,
    unmoved,
    reading,
    table,
  };
}

/** Both runs of an answer, row by row; null where there is nothing to show. */
function read(answer) {
  const { columns } = answer;
  if (!columns.step?.length) return null;
  const names = Object.keys(columns).filter((name) => name.startsWith("position"));
  const runs = RUNS.map((run) => {
    const { steps } = answer[run.prefix ? "true" : "returned"];
    const rows = Array.from({ length: steps + 1 }, (_, row) => row);
    const of = (what) =>
      rows.map((row) => names.map((name) => columns[run.prefix + name.replace("position", what)][row]));
    const heights = answer.landscape?.[run.prefix ? "true" : "returned"] ?? [];
    const losses = columns[`${run.prefix}loss`].slice(0, steps + 1);
    return { ...run, heights, losses, positions: of("position"), gradients: of("gradient") };
  });
  const sizes = runs.flatMap(({ positions }) => positions.flat()).map(Math.abs);
  return { answer, runs, steps: columns.step.length - 1, most: sizes.reduce((a, b) => Math.max(a, b), 0) || 1 };
}

const someUnmoved = (before, after) => before.some((value, i) => value === after[i]);

/** What was chosen stands in the fields that were left empty, and that of many numbers is long. */
function fillPlaceholders({ at, lr, steps, goal, shape }) {
  document.querySelector("#field-goal").classList.toggle("long", shape.length > 0 || goal.length > 1);
  const same = goal.every((value) => value === goal[0]);
  const texts = { at: [at], lr: [lr], steps: [steps], goal: same ? goal.slice(0, 1) : goal };
  for (const [name, numbers] of Object.entries(texts)) {
    const known = numbers.filter((each) => each !== null);
    document.querySelector(`#field-${name}`).placeholder = known.map((each) => format(each, 6)).join(", ");
  }
}

function layOutFields({ fields, least, most }, { answer, most: size }) {
  for (const field of fields) {
    field.heat?.svg.remove();
    field.heat = heatMap(answer.shape, answer.wrt.split("[")[0]);
    field.box.prepend(field.title, field.heat.svg);
  }
  [least.textContent, most.textContent] = [format(-size, 3), format(size, 3)];
}

function paint({ heat: field }, run, { answer, most }, now) {
  const row = Math.min(now, run.positions.length - 1);
  field.paint(run.positions[row], row > 0 ? run.positions[0] : null, most);
  field.svg.setAttribute("aria-label", `${answer.wrt.split("[")[0]} ${run.name}, step ${row}`);
}

/** The step in words and numbers. */
function writeStep({ output, range, reading }, { answer, runs, steps }, now) {
  const single = answer.landscape !== null;
  const head = [`step ${now}`, ...(single ? [answer.wrt] : []), "loss", single ? "gradient" : "size of the gradient"];
  const rows = runs.map((run) => [run.name + ended(run, now), ...valuesAt(run, now, single)]);
  output.textContent = `${now} of ${steps}`;
  const said = rows.map((row) => row.map((text, i) => (i ? `${head[i]} ${text}` : text)).join(", "));
  range.setAttribute("aria-valuetext", [`step ${now}`, ...said].join("; "));
  reading.replaceChildren(grid("The step", { head, rows }));
}

const ended = ({ positions: { length } }, step) => (step < length ? "" : `, ended after step ${length - 1}`);

/** What a run has at a step: where it is, what it loses, what pulls it; the last of it where it has ended before. */
function valuesAt({ positions, losses, gradients }, step, single) {
  const row = Math.min(step, positions.length - 1);
  const known = gradients[row].every((each) => each !== null);
  const pull = single ? gradients[row][0] : Math.hypot(...gradients[row]);
  return [...(single ? [format(positions[row][0])] : []), format(losses[row]), known ? format(pull) : "–"];
}

/** Some of the steps: {head, rows}. */
function table({ answer, runs, steps }) {
  const single = answer.landscape !== null;
  const what = [...(single ? [answer.wrt] : []), "loss"];
  const head = ["step", ...runs.flatMap(({ name }) => what.map((each) => `${each} ${name}`))];
  const count = Math.min(FEW, steps + 1);
  const chosen = Array.from({ length: count }, (_, i) => Math.round((i * steps) / Math.max(1, count - 1)));
  const cells = (step) => runs.flatMap((run) => valuesAt(run, step, single).slice(0, -1));
  return { head, rows: chosen.map((step) => [typographic(step), ...cells(step)]) };
}

function picture(label) {
  return h("div", { class: "plot", role: "img", "aria-label": label });
}

const [FASTEST, SLOWEST, WHOLE] = [60, 450, 6000]; // ms for a step at least and at most, and for all of them about

/**
 * `range` is the slider, `button` plays, `stepped(step)` is called after every change. Where motion is not wanted the
 * button takes one step at a time. Returns {extend(steps), step(), close()}.
 */
function scrubber({ range, button }, stepped) {
  let timer = 0;

  const last = () => Number(range.max);
  const step = () => Number(range.value);
  const label = () => (timer ? "Pause" : calm.matches ? "Next step" : "Play");

  function go(to) {
    range.value = to;
    stepped(step());
  }

  function pause() {
    clearTimeout(timer);
    timer = 0;
    button.textContent = label();
  }

  function play() {
    const pace = Math.min(SLOWEST, Math.max(FASTEST, WHOLE / last()));
    timer = setTimeout(() => {
      go(step() + 1);
      if (step() < last()) play();
      else pause();
    }, pace);
    button.textContent = label();
  }

  function press() {
    if (timer) return pause();
    const again = step() === last();
    if (calm.matches) return go(again ? 0 : step() + 1);
    if (again) go(0);
    return play();
  }

  range.addEventListener("input", () => {
    pause();
    stepped(step());
  });
  button.addEventListener("click", press);
  calm.addEventListener("change", pause);

  /** From now on there are so many steps. Who is at the last stays there. */
  function extend(steps) {
    pause();
    const atEnd = step() === last();
    range.max = steps;
    range.value = atEnd ? steps : Math.min(step(), steps);
    button.disabled = steps === 0;
  }

  function close() {
    clearTimeout(timer);
    calm.removeEventListener("change", pause);
  }

  return { extend, step, close };
}
