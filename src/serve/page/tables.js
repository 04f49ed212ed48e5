/* Rows: a form by the columns that a model learned from, or sliders for its inputs; rows pasted
 * as they are; and the decision regions of nets of two inputs, with a point to drag. */
import { answerInto, ask, asJson, asText, byId, complain, hideCall, later, make, page, predictions, showBars, submit, latest } from "./ask.js";

const SLIDERS_MOST = 16; // inputs without names; more are a list
const FIELDS_MOST = 60;
const GRID = 64; // points of the regions along a side: 4,096 in one request, which is all a server takes
const ROWS_SHOWN = 200;
const COLOURS = ["#0b6bcb", "#d1610a", "#1a7f4b", "#a13fb5", "#b3882a", "#c1272d", "#00838f", "#5a6878"];

/* ---- The form --------------------------------------------------------------------------- */

let form = null;   // what the server says of the model
let fields = [];   // [{name, kind, get(), set(value), column}]
let regions = null; // {x, y: columns of the canvas}

const isUsed = (column) => column.kind === "number" || column.kind === "category";

/* Digits that tell a step of a column from the next. */
function tidy(column, x) {
  if (column.whole && Math.abs(x) <= 1e15) return Math.round(x);
  return Math.abs(x) > 1e15 ? String(BigInt(Math.round(x))) : Number(x.toPrecision(4));
}

/* A number: a slider over what was seen, and the number itself, which may lie beyond. */
function numberField(column, i) {
  const known = column.min !== undefined && column.max > column.min;
  const low = known ? column.min : -1, high = known ? column.max : 1;
  const large = Math.max(Math.abs(low), Math.abs(high)) > 1e15;
  const id = "field-" + i, step = column.whole && high - low >= 1 ? 1 : (high - low) / 200;
  const number = make("input", { id, type: "number", step: "any", inputmode: "decimal",
    placeholder: column.missing > 0 ? "none" : "" });
  const slider = make("input", { type: "range", min: low, max: high, step, "aria-label": column.name + ", slider" });
  /* Beyond what JSON's readers take for a whole number, as text, which loses no digit. */
  const get = () => {
    if (number.value === "") return null;
    return Math.abs(number.valueAsNumber) > Number.MAX_SAFE_INTEGER ? number.value : number.valueAsNumber;
  };
  const set = (x) => {
    number.value = x === null ? "" : x;
    slider.value = x === null ? (low + high) / 2 : x;
    slider.classList.toggle("none", x === null);
  };
  slider.addEventListener("input", () => {
    number.value = tidy(column, Number(slider.value));
    slider.classList.remove("none");
    changed();
  });
  number.addEventListener("input", () => {
    if (number.value !== "") slider.value = number.value;
    slider.classList.toggle("none", number.value === "");
    changed();
  });
  return { column, name: column.name, set, get,
    at: make("div", { class: large ? "field wide" : "field" }, make("label", { for: id, title: column.name }, column.name), number, ...(large ? [] : [slider])) };
}

/* A category: one of the values seen or, where there are many, any text. */
function categoryField(column, i) {
  const id = "field-" + i, texts = column.values.map((v) => v.text);
  const none = column.missing > 0 || texts.length === 0 ? [make("option", { value: "" }, "none")] : [];
  const many = texts.length >= 24;
  const input = many ? make("input", { id, list: id + "-list", autocomplete: "off" })
    : make("select", { id }, ...texts.map((text) => make("option", { value: text }, text)), ...none);
  input.addEventListener("input", () => changed());
  return { column, name: column.name,
    set: (x) => { input.value = x === null ? "" : x; },
    get: () => (input.value === "" ? null : input.value),
    at: make("div", { class: "field" }, make("label", { for: id, title: column.name }, column.name), input,
      ...(many ? [make("datalist", { id: id + "-list" }, ...texts.map((text) => make("option", { value: text })))] : [])) };
}

/* A value as the table might have it: a number about the mean, a category as often as it was. */
function exampleOf(column) {
  if (column.kind === "number") {
    if (column.min === undefined) return 0;
    const about = column.mean + column.sd * (Math.random() + Math.random() + Math.random() - 1.5);
    return tidy(column, Math.min(column.max, Math.max(column.min, about)));
  }
  let left = Math.random() * column.values.reduce((sum, v) => sum + v.count, 0);
  for (const v of column.values) if ((left -= v.count) < 0) return v.text;
  return column.values.length > 0 ? column.values[0].text : null;
}

/* The rows that the model keeps, one after the other; null: it keeps none. */
let examplesTaken = 0;
function keptExample() {
  const kept = form.examples || [];
  return kept.length > 0 ? kept[examplesTaken++ % kept.length] : null;
}

/* Into the fields: a row that is kept, or one made up. */
function fillFields() {
  const kept = keptExample(), row = kept && kept.row;
  for (const f of fields) f.set(row && row[f.name] !== undefined ? row[f.name] : exampleOf(f.column));
}

/* One row of text that a model without a form understands. */
function exampleText() {
  const kept = keptExample();
  if (kept) return kept.text;
  const hex = () => Math.floor(Math.random() * 2 ** 32).toString(16).padStart(8, "0");
  if (form.format === "criteo")
    return [...Array.from({ length: 13 }, () => Math.floor(Math.random() * 30)), ...Array.from({ length: 26 }, hex)].join("\t");
  if (form.columns) return JSON.stringify(Object.fromEntries(form.columns.filter(isUsed).map((c) => [c.name, exampleOf(c)])));
  if (form.format === "vw") return "| a:1 b:0.5";
  if (form.format === "libsvm") return "0 1:1 2:0.5";
  return JSON.stringify(Array(form.inputs || 1).fill(0));
}

function takeExample() {
  if (fields.length === 0) {
    byId("rows").value = exampleText();
    askRows();
    return;
  }
  fillFields();
  askForm(true);
}

/* The columns of the form; inputs without names have numbers. */
function columnsOf() {
  if (form.columns) return form.width === form.columns.length ? form.columns.filter(isUsed) : [];
  if (form.inputs && form.inputs <= SLIDERS_MOST)
    return Array.from({ length: form.inputs }, (_, i) => ({ name: "input " + (i + 1), kind: "number", missing: 0 }));
  return [];
}

function build() {
  const columns = columnsOf();
  fields = columns.length > FIELDS_MOST ? []
    : columns.map((column, i) => (column.kind === "number" ? numberField(column, i) : categoryField(column, i)));
  byId("fields").replaceChildren(...fields.map((f) => f.at));
  byId("ask").hidden = fields.length === 0;
  byId("pasted").open = fields.length === 0;
  byId("rows").value = "";
  byId("rows").placeholder = form.columns ? columns.map((c) => c.name).join(form.delimiter) : "";
  byId("outputs").replaceChildren();
  const numbers = columns.every((c) => c.kind === "number" && !(c.missing > 0));
  regions = form.kind === "net" && columns.length === 2 && form.inputs === 2 && numbers ? {} : null;
  byId("regions").hidden = !regions;
}

/* ---- Asking -------------------------------------------------------------------------------- */

const newest = latest();
const valuesOf = () => fields.map((f) => f.get());

function bodyOf(values) {
  return form.columns ? Object.fromEntries(fields.map((f, i) => [f.name, values[i]])) : values;
}

/* [[name, number]...] of one answer, and whether the numbers are probabilities. */
function rowsOf(answer) {
  if (typeof answer === "number" && form.kind === "logreg") {
    const positive = page.model().facts.positive || "1";
    const label = (form.columns || []).find((c) => c.kind === "label");
    const other = label && label.values.map((v) => v.text).filter((text) => text !== positive);
    return [[positive, answer], [other && other.length === 1 ? other[0] : "not " + positive, 1 - answer]];
  }
  if (answer && answer.probabilities) return answer.probabilities.map((p, i) => [nameOf(i), p]);
  if (Array.isArray(answer)) return answer.map((x, i) => [nameOf(i), x]);
  if (typeof answer === "number") return [[nameOf(0), answer]];
  const entries = Object.entries(answer || {}).filter(([, v]) => typeof v === "number");
  return entries.sort((a, b) => form.classes.indexOf(a[0]) - form.classes.indexOf(b[0])); // so that bars stay in their places
}

const hasClasses = () => form.kind !== "net" || form.classes.length > 0;
function nameOf(i) {
  const label = (form.columns || []).filter((c) => c.kind === "label")[i];
  if (!hasClasses()) return label ? label.name : "output " + (i + 1);
  const name = form.classes[i];
  return name === undefined || name === String(i) ? "class " + i : name;
}

function showAnswer(answer) {
  showBars(byId("outputs"), rowsOf(answer), { values: !hasClasses() });
}

async function askForm(push) {
  const values = valuesOf();
  page.remember({ row: JSON.stringify(values) }, push);
  drawPoint();
  await answerInto({ path: predictions(), options: asJson(bodyOf(values)), behind: byId("ask"), results: [byId("outputs")],
    mine: newest(), show: showAnswer });
}

const changed = later(() => askForm(false), 120);

/* The likeliest of each row, or its probability. */
function showSeveral(answers) {
  showBars(byId("outputs"), answers.slice(0, ROWS_SHOWN).map((answer, i) => {
    const rows = rowsOf(answer), best = rows.reduce((a, b) => (b[1] > a[1] ? b : a), ["none", 0]);
    return typeof answer === "number" ? [`row ${i + 1}: ${rows[0][0]}`, answer] : [`row ${i + 1}: ${best[0]}`, best[1]];
  }), { values: !hasClasses() });
}

const linesOf = (text) => text.split(/\r?\n/).filter((line) => line.trim()).length;

async function askRows() {
  const text = byId("rows").value;
  page.remember({ rows: text }, true);
  const several = (said) => Array.isArray(said) && (form.kind === "logreg" || typeof said[0] === "object");
  await answerInto({ path: predictions(), options: /^\s*[[{]/.test(text) ? { ...asText(text), headers: { "Content-Type": "application/json" } } : asText(text),
    behind: byId("paste"), results: [byId("outputs")], mine: newest(),
    show: (said) => (several(said) && (linesOf(text) > 1 || said.length !== 1) ? showSeveral(said) : showAnswer(several(said) ? said[0] : said)) });
}

/* ---- Decision regions ------------------------------------------------------------------------ */

const spanOf = (column) => {
  const known = column.min !== undefined && column.max > column.min;
  const low = known ? column.min : -1, high = known ? column.max : 1, edge = (high - low) * 0.05;
  return { low: low - edge, high: high + edge };
};

function rgb(hex) {
  return [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));
}

/* All points of the grid are one request, answered as rows of floats. */
async function askRegions() {
  const [x, y] = fields.map((f) => spanOf(f.column)), data = [], own = regions, m = page.model();
  for (let j = 0; j < GRID; j++)
    for (let i = 0; i < GRID; i++)
      data.push(...[x.low + ((i + 0.5) * (x.high - x.low)) / GRID, y.high - ((j + 0.5) * (y.high - y.low)) / GRID].map((v) => Number(v.toPrecision(7))));
  const body = { inputs: [{ name: "input", datatype: "FP32", shape: [GRID * GRID, 2], data }] };
  const said = await ask(`v2/models/${encodeURIComponent(m.name)}/versions/${encodeURIComponent(m.version)}/infer`, asJson(body));
  if (own !== regions) return;
  Object.assign(regions, { x, y, cells: said.outputs[0].data });
  paintRegions();
  drawPoint();
}

/* The colour of the likeliest class, the paler the less sure; of values from the least, faint, to
 * the largest. */
function colourOf(cells, k, outputs, low, high) {
  if (!hasClasses()) return [...rgb(COLOURS[0]), 255 * (high > low ? (cells[k * outputs] - low) / (high - low) : 0.5)];
  let best = 0;
  for (let o = 1; o < outputs; o++) if (cells[k * outputs + o] > cells[k * outputs + best]) best = o;
  const sure = (cells[k * outputs + best] - 1 / outputs) / (1 - 1 / outputs);
  return [...rgb(COLOURS[best % COLOURS.length]), 60 + 150 * Math.max(0, sure)];
}

function paintRegions() {
  const { cells } = regions, outputs = form.outputs;
  const image = new ImageData(GRID, GRID);
  const firsts = cells.filter((_, i) => i % outputs === 0), low = Math.min(...firsts), high = Math.max(...firsts);
  for (let k = 0; k < GRID * GRID; k++) image.data.set(colourOf(cells, k, outputs, low, high), 4 * k);
  regions.picture = document.createElement("canvas");
  regions.picture.width = regions.picture.height = GRID;
  regions.picture.getContext("2d").putImageData(image, 0, 0);
  const shown = (i) => { // a square of the class's colour before its name
    const square = make("i", { "aria-hidden": "true" });
    square.style.background = COLOURS[i % COLOURS.length];
    return make("li", {}, square, hasClasses() ? nameOf(i) : `from ${Number(low.toPrecision(4))}, faint, to ${Number(high.toPrecision(4))}`);
  };
  byId("regions-legend").replaceChildren(...Array.from({ length: hasClasses() ? outputs : 1 }, (_, i) => shown(i)));
  byId("regions-title").textContent = hasClasses() ? "Decision regions" : "Its answers";
  byId("regions-axes").textContent = `${fields[0].name} to the right, ${fields[1].name} upwards`;
}

const place = (span, size, value, up) => {
  const share = (value - span.low) / (span.high - span.low);
  return size * (up ? 1 - share : share);
};

function drawPoint() {
  if (!regions || !regions.picture) return;
  const canvas = byId("regions-canvas"), c = canvas.getContext("2d"), [a, b] = valuesOf();
  c.clearRect(0, 0, canvas.width, canvas.height);
  c.imageSmoothingEnabled = true;
  c.drawImage(regions.picture, 0, 0, canvas.width, canvas.height);
  const x = place(regions.x, canvas.width, a), y = place(regions.y, canvas.height, b, true);
  c.beginPath();
  c.arc(x, y, 11, 0, 7);
  c.lineWidth = 7;
  c.strokeStyle = "#000";
  c.stroke();
  c.lineWidth = 4;
  c.strokeStyle = "#fff";
  c.stroke();
  const list = byId("outputs").querySelector(".best .name");
  canvas.setAttribute("aria-label", `Decision regions: the point is at ${fields[0].name} ${a}, ${fields[1].name} ${b}` +
    `${list ? ", " + list.textContent : ""}. Arrow keys move it.`);
}

function movePoint(x, y) {
  const put = (f, span, value) => f.set(tidy(f.column, Math.min(span.high, Math.max(span.low, value))));
  put(fields[0], regions.x, x);
  put(fields[1], regions.y, y);
  drawPoint();
  dragged();
}

const dragged = later(() => askForm(false), 30);

function pointTo(event) {
  if (!regions || !regions.picture) return;
  const box = byId("regions-canvas").getBoundingClientRect();
  movePoint(regions.x.low + ((event.clientX - box.left) / box.width) * (regions.x.high - regions.x.low),
    regions.y.high - ((event.clientY - box.top) / box.height) * (regions.y.high - regions.y.low));
}

function regionKeys(event) {
  const by = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
  if (!by || !regions || !regions.picture) return;
  event.preventDefault();
  const [a, b] = valuesOf(), far = event.shiftKey ? 10 : 50;
  movePoint(a + (by[0] * (regions.x.high - regions.x.low)) / far, b + (by[1] * (regions.y.high - regions.y.low)) / far);
}

/* ---- Wiring ------------------------------------------------------------------------------------ */

submit("ask", () => askForm(true));
submit("paste", askRows);
for (const id of ["example", "example-rows"]) byId(id).addEventListener("click", takeExample);
byId("regions-canvas").addEventListener("keydown", regionKeys);
byId("regions-canvas").addEventListener("pointerdown", (event) => {
  event.currentTarget.setPointerCapture(event.pointerId);
  pointTo(event);
});
byId("regions-canvas").addEventListener("pointermove", (event) => { if (event.buttons) pointTo(event); });

const newestForm = latest();

/* What the address says, or an example to begin with. */
function begin(params) {
  let row = null;
  try {
    row = JSON.parse(params.row || "null");
  } catch { /* the address was typed wrong: an example */ }
  if (params.rows || fields.length === 0) {
    byId("rows").value = params.rows || exampleText();
    byId("pasted").open = true;
    if (params.rows) askRows();
    return;
  }
  if (Array.isArray(row) && row.length === fields.length) fields.forEach((f, i) => f.set(row[i]));
  else fillFields();
  askForm(false);
}

export const tables = {
  async show(params) {
    const mine = newestForm(), m = page.model();
    try {
      const said = await ask(`models/${encodeURIComponent(m.name)}/form?version=${encodeURIComponent(m.version)}`);
      if (!mine()) return;
      form = said;
      examplesTaken = 0;
      build();
      begin(params);
      if (regions) await askRegions();
    } catch (error) {
      if (!mine()) return;
      hideCall();
      complain(error, byId("ask"));
    }
  },
};
