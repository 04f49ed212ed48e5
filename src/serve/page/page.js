"use strict";
/* The page of a shoal server: models with their health and latency, and a way to ask
 * each kind. Nothing is loaded from anywhere else, and no answer is ever put into the
 * page as HTML. */

const byId = (id) => document.getElementById(id);
const SVG = "http://www.w3.org/2000/svg";
const HISTORY = 90; // points of a chart, one a second
const history = new Map(); // "name/version" -> [{p50, p99}]
let models = [];
let chosen = ""; // "name/version"

/* ---- Elements ------------------------------------------------------------------ */

function make(name, attributes = {}, ...children) {
  const at = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "class") at.className = value;
    else if (key.startsWith("on")) at.addEventListener(key.slice(2), value);
    else at.setAttribute(key, value);
  }
  at.append(...children);
  return at;
}

function draw(name, attributes = {}, ...children) {
  const at = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) at.setAttribute(key, value);
  at.append(...children);
  return at;
}

function seconds(s) {
  if (!(s > 0)) return "–";
  if (s < 1e-3) return Math.round(s * 1e6) + " µs";
  return s < 1 ? (s * 1e3).toPrecision(3) + " ms" : s.toPrecision(3) + " s";
}

const amount = (n) => Number(n).toLocaleString("en", { maximumFractionDigits: n < 10 ? 1 : 0 });

/* ---- Asking ---------------------------------------------------------------------- */

class Refused extends Error {}

function knock() {
  const door = byId("door");
  return new Promise((opened) => {
    door.addEventListener("close", () => {
      sessionStorage.setItem("token", byId("token").value);
      opened();
    }, { once: true });
    if (!door.open) door.showModal();
  });
}

async function ask(path, options = {}) {
  const token = sessionStorage.getItem("token");
  const headers = { ...(options.headers || {}) };
  if (token) headers.Authorization = "Bearer " + token;
  const answer = await fetch(path, { ...options, headers });
  if (answer.headers.has("WWW-Authenticate")) {
    await knock();
    return ask(path, options);
  }
  let said = null;
  try {
    said = await answer.json();
  } catch { /* not JSON: the status says enough */ }
  if (!answer.ok) throw new Refused((said && (said.message || said.error || said.status)) || "Status " + answer.status);
  return said;
}

function complain(error, retry) {
  const at = byId("trouble");
  at.hidden = !error;
  at.replaceChildren();
  if (!error) return;
  const text = error instanceof Refused ? error.message : "The server does not answer.";
  const guesses = /^(.*did you mean )(.*)\?$/.exec(text);
  if (!guesses || !retry) {
    at.append(text);
    return;
  }
  at.append(guesses[1]);
  guesses[2].split(", ").forEach((word, i) => {
    if (i > 0) at.append(", ");
    at.append(make("button", { type: "button", onclick: () => retry(word) }, word));
  });
  at.append("?");
}

/* ---- Models --------------------------------------------------------------------------- */

const keyOf = (m) => m.name + "/" + m.version;

function line(points, of, most) {
  return points.map((p, i) => `${i ? "L" : "M"}${(100 * (i + HISTORY - points.length)) / (HISTORY - 1)} ` +
    `${38 - 36 * Math.min(1, p[of] / most)}`).join("");
}

function chart(points) {
  const most = Math.max(1e-4, ...points.map((p) => p.p99));
  return make("div", {},
    draw("svg", { class: "chart", viewBox: "0 0 100 40", preserveAspectRatio: "none", "aria-hidden": "true" },
      draw("line", { x1: 0, x2: 100, y1: 38.5, y2: 38.5 }),
      draw("path", { class: "p99", d: line(points, "p99", most) }),
      draw("path", { class: "p50", d: line(points, "p50", most) })),
    make("div", { class: "legend quiet" },
      make("span", {}, make("i", { class: "l50" }), "p50  ", make("i", { class: "l99" }), "p99"),
      make("span", {}, "top: " + seconds(most))));
}

function card(m) {
  const figure = (value, name) => make("span", {}, make("strong", {}, value), name);
  return make("button", { class: "card", type: "button", "data-key": keyOf(m), "aria-pressed": String(keyOf(m) === chosen),
    onclick: () => choose(keyOf(m), true) },
    make("span", { class: "kind-name" }, m.facts.net || m.kind || "no file"),
    make("span", { class: "dot " + (m.ready ? "good" : "bad"), title: m.ready ? "ready" : "not ready" }),
    make("b", {}, m.name), " ",
    make("span", { class: "quiet" }, m.version + (m.default ? "" : ", not the default")),
    make("span", { class: "figures quiet" }, figure(amount(m.rate) + "/s", "requests"),
      figure(seconds(m.p50), "median"), figure(seconds(m.p99), "99 %")),
    chart(history.get(keyOf(m)) || []),
    ...(m.trouble ? [make("span", { class: "trouble" }, m.trouble)] : []));
}

function showModels() {
  const focused = document.activeElement && document.activeElement.dataset.key;
  byId("models").replaceChildren(...models.map(card));
  byId("no-models").hidden = models.length > 0;
  if (focused) {
    const again = byId("models").querySelector(`[data-key="${CSS.escape(focused)}"]`);
    if (again) again.focus();
  }
}

function showHealth(state, text) {
  byId("health").className = state;
  if (byId("health-text").textContent !== text) byId("health-text").textContent = text;
}

function uptime(s) {
  if (s < 60) return Math.floor(s) + " s";
  if (s < 3600) return Math.floor(s / 60) + " min";
  return s < 172800 ? Math.floor(s / 3600) + " h" : Math.floor(s / 86400) + " days";
}

async function look() {
  try {
    const stats = await ask("stats");
    models = stats.models;
    for (const m of models) {
      const points = history.get(keyOf(m)) || [];
      points.push({ p50: m.p50, p99: m.p99 });
      history.set(keyOf(m), points.slice(-HISTORY));
    }
    showHealth(stats.healthy ? "good" : "bad", stats.healthy ? "healthy" : "unhealthy");
    byId("about").textContent = `shoal ${stats.version}, up ${uptime(stats.uptime)}`;
    showModels();
    if (!models.some((m) => keyOf(m) === chosen) && models.length > 0) choose(keyOf(models[0]), false);
  } catch {
    showHealth("bad", "no answer");
  }
  setTimeout(look, 1000);
}

/* ---- One model ---------------------------------------------------------------------------- */

const panels = { vectors: "vectors", nextword: "text", classify: "labels" };
const current = () => models.find((m) => keyOf(m) === chosen);
const predictions = () => `predictions/${encodeURIComponent(current().name)}/${encodeURIComponent(current().version)}`;

/* Something that the model can answer, to begin with. */
function example(m) {
  if (m.kind === "logreg") return '{"features": {"1": 1}}';
  return JSON.stringify(Array(Math.min(64, Number(m.facts.inputs) || 2)).fill(0));
}

function choose(key, go) {
  chosen = key;
  const m = current();
  if (!m) return;
  const panel = m.facts.images !== undefined ? "image" : panels[m.facts.net || m.kind] || "numbers";
  if (panel === "numbers") byId("body").value = example(m);
  byId("panel").hidden = false;
  byId("panel-title").textContent = m.name;
  byId("facts").textContent = Object.entries(m.facts)
    .map(([k, v]) => `${/^\d+$/.test(v) ? amount(v) : v} ${k}`).join(", ");
  for (const at of document.querySelectorAll(".kind")) at.hidden = at.id !== panel;
  for (const list of document.querySelectorAll("#panel .bars")) list.replaceChildren();
  complain(null);
  showModels();
  forgetMap();
  if (go) byId("panel").focus({ preventScroll: false });
}

/* Names with numbers, as bars; `press` makes the names buttons. */
function showBars(list, rows, press) {
  const most = Math.max(1e-9, ...rows.map((r) => Math.abs(r[1])));
  list.replaceChildren(...rows.map(([name, value]) => {
    const bar = make("i");
    bar.style.width = Math.max(0, (100 * value) / Math.max(most, press ? 1 : most)) + "%";
    return make("li", {},
      press ? make("button", { class: "name", type: "button", title: name, onclick: () => press(name) }, name)
        : make("span", { class: "name", title: name }, name),
      make("span", { class: "bar" }, bar),
      make("span", { class: "value" }, Number(value).toFixed(3)));
  }));
}

/* ---- Word vectors ------------------------------------------------------------------------------ */

async function search(word) {
  const model = encodeURIComponent(current().name);
  byId("word").value = word;
  try {
    const k = Math.min(200, Math.max(1, byId("count").valueAsNumber || 20));
    const found = await ask(`models/${model}/map?word=${encodeURIComponent(word)}&k=${k}`);
    complain(null);
    byId("near-title").textContent = "Nearest to " + found.word;
    showBars(byId("near"), found.map.slice(1).map((p) => [p.word, p.score]), search);
    showMap(found.map);
  } catch (error) {
    complain(error, search);
  }
}

async function analogy(form) {
  const query = new URLSearchParams(new FormData(form));
  query.set("k", "8");
  try {
    const found = await ask(`models/${encodeURIComponent(current().name)}/analogy?${query}`);
    complain(null);
    showBars(byId("answers"), found.answers.map((a) => [a.word, a.score]), search);
  } catch (error) {
    complain(error);
  }
}

/* The map: points in its own units; a view of it in the SVG's. */
const WIDE = 600, HIGH = 460, EDGE = 40;
let points = [];
let view = { x: 0, y: 0, scale: 1 };

function forgetMap() {
  points = [];
  byId("map").replaceChildren();
  byId("hover").textContent = "";
  byId("near-title").textContent = "Nearest words";
}

function showMap(map) {
  const xs = map.map((p) => p.x), ys = map.map((p) => p.y);
  const left = Math.min(...xs), low = Math.min(...ys);
  const sx = (WIDE - 2.6 * EDGE) / Math.max(1e-9, Math.max(...xs) - left);
  const sy = (HIGH - 2 * EDGE) / Math.max(1e-9, Math.max(...ys) - low);
  points = map.map((p, i) => ({ word: p.word, score: p.score, self: i === 0,
    x: EDGE + (p.x - left) * sx, y: HIGH - EDGE - (p.y - low) * sy }));
  wholeMap();
}

const overlap = (a, b) => b.x < a.x + a.w && a.x < b.x + b.w && b.y < a.y + a.h && a.y < b.y + b.h;

/* Labels that would lie upon a point or an earlier label are left to hovering and
 * zooming. On a small screen letters and points grow against the map. */
function placeMap() {
  const size = Math.min(2.2, Math.max(1, WIDE / Math.max(1, byId("map").clientWidth)));
  const places = points.map((p) => ({ x: (p.x - view.x) * view.scale, y: (p.y - view.y) * view.scale }));
  const taken = places.map(({ x, y }) => ({ x: x - 5 * size, y: y - 5 * size, w: 10 * size, h: 10 * size }));
  const groups = points.map((p, i) => {
    const { x, y } = places[i];
    const box = { x: x + 8 * size, y: y - 9 * size, w: (7.6 * p.word.length + 4) * size, h: 17 * size };
    const before = x < WIDE && box.x + box.w > WIDE; // at the right edge: on the other side
    if (before) box.x = x - 8 * size - box.w;
    const free = p.self || !taken.some((b, j) => j !== i && overlap(b, box));
    if (free) taken.push(box);
    const say = () => { byId("hover").textContent = p.self ? p.word : `${p.word}, ${p.score.toFixed(3)}`; };
    const group = draw("g", { class: p.self ? "point self" : "point", transform: `translate(${x} ${y})` },
      draw("title", {}, p.word),
      draw("circle", { class: "finger", r: 13 * size }),
      draw("circle", { r: (p.self ? 7 : 5) * size }));
    if (free) group.append(draw("text", { x: (before ? -9 : 9) * size, y: 4.5 * size, "font-size": 13 * size,
      "text-anchor": before ? "end" : "start" }, p.word));
    group.addEventListener("pointerenter", say);
    group.addEventListener("click", () => { if (!moved) search(p.word); });
    return group;
  });
  byId("map").replaceChildren(...groups.reverse()); // the word itself on top
}

function wholeMap() {
  view = { x: 0, y: 0, scale: 1 };
  placeMap();
}

function zoom(by, x = WIDE / 2, y = HIGH / 2) {
  const scale = Math.min(40, Math.max(0.5, view.scale * by));
  view.x += x / view.scale - x / scale;
  view.y += y / view.scale - y / scale;
  view.scale = scale;
  placeMap();
}

function shift(dx, dy) {
  view.x -= dx / view.scale;
  view.y -= dy / view.scale;
  placeMap();
}

const fingers = new Map();
let moved = false;

function inMap(event) {
  const box = byId("map").getBoundingClientRect();
  return { x: ((event.clientX - box.left) * WIDE) / box.width, y: ((event.clientY - box.top) * HIGH) / box.height };
}

function drag(event) {
  const before = fingers.get(event.pointerId);
  if (!before) return;
  const now = inMap(event), others = [...fingers.entries()].filter(([id]) => id !== event.pointerId);
  if (Math.hypot(now.x - before.x, now.y - before.y) < 2 && !moved) return;
  moved = true;
  if (others.length === 0) {
    shift(now.x - before.x, now.y - before.y);
  } else {
    const other = others[0][1];
    zoom(Math.hypot(now.x - other.x, now.y - other.y) / Math.max(1, Math.hypot(before.x - other.x, before.y - other.y)),
      (now.x + other.x) / 2, (now.y + other.y) / 2);
  }
  fingers.set(event.pointerId, now);
}

function mapKeys(event) {
  const step = 40;
  const does = { "+": () => zoom(1.3), "=": () => zoom(1.3), "-": () => zoom(1 / 1.3), "0": wholeMap,
    ArrowLeft: () => shift(step, 0), ArrowRight: () => shift(-step, 0),
    ArrowUp: () => shift(0, step), ArrowDown: () => shift(0, -step) }[event.key];
  if (!does) return;
  event.preventDefault();
  does();
}

/* ---- Pictures, text, numbers ----------------------------------------------------------------------- */

/* A class map {"cat": 0.9}, or a list of numbers. */
function rowsOf(answer) {
  const one = Array.isArray(answer) && answer.length === 1 && typeof answer[0] === "object" ? answer[0] : answer;
  const rows = Object.entries(typeof one === "number" ? { answer: one } : one || {})
    .filter(([, v]) => typeof v === "number");
  return Array.isArray(one) ? rows.map(([k, v]) => ["class " + k, v]) : rows;
}

async function look_at(file) {
  if (!file) return;
  byId("preview").src = URL.createObjectURL(file);
  byId("preview").hidden = false;
  try {
    const answer = await ask(predictions(), { method: "POST", body: file,
      headers: { "Content-Type": file.type || "application/octet-stream" } });
    complain(null);
    showBars(byId("classes"), rowsOf(answer));
  } catch (error) {
    complain(error);
  }
}

let typing = 0;
async function continueText() {
  const text = byId("typed").value, mine = ++typing;
  if (!text.trim()) return;
  try {
    const answer = await ask(predictions(), { method: "POST", body: text, headers: { "Content-Type": "text/plain" } });
    if (mine !== typing) return;
    complain(null);
    showBars(byId("next"), rowsOf(answer), (word) => {
      byId("typed").value = byId("typed").value.replace(/\s*$/, " ") + word + " ";
      byId("typed").focus();
      continueText();
    });
  } catch (error) {
    complain(error);
  }
}

/* Of several answers that are on their way the last one counts. */
let written = 0;
async function classifyText() {
  const text = byId("written").value, mine = ++written;
  if (!text.trim()) return;
  try {
    const answer = await ask(predictions(), { method: "POST", body: text, headers: { "Content-Type": "text/plain" } });
    if (mine !== written) return;
    complain(null);
    showBars(byId("label-bars"), rowsOf(answer));
  } catch (error) {
    complain(error);
  }
}

async function askNumbers() {
  try {
    const answer = await ask(predictions(), { method: "POST", body: byId("body").value,
      headers: { "Content-Type": "application/json" } });
    complain(null);
    showBars(byId("outputs"), rowsOf(answer));
  } catch (error) {
    complain(error);
  }
}

/* ---- Wiring --------------------------------------------------------------------------------------------- */

function submit(id, fn) {
  byId(id).addEventListener("submit", (event) => {
    event.preventDefault();
    fn(event.target);
  });
}

submit("search", () => search(byId("word").value.trim()));
submit("analogy", analogy);
submit("ask", askNumbers);
byId("zoom-in").addEventListener("click", () => zoom(1.5));
byId("zoom-out").addEventListener("click", () => zoom(1 / 1.5));
byId("zoom-all").addEventListener("click", wholeMap);
byId("map").addEventListener("keydown", mapKeys);
byId("map").addEventListener("wheel", (event) => {
  const at = inMap(event);
  event.preventDefault();
  zoom(event.deltaY < 0 ? 1.2 : 1 / 1.2, at.x, at.y);
}, { passive: false });
byId("map").addEventListener("pointerdown", (event) => {
  moved = false;
  fingers.set(event.pointerId, inMap(event));
});
window.addEventListener("pointermove", drag);
for (const end of ["pointerup", "pointercancel"])
  window.addEventListener(end, (event) => fingers.delete(event.pointerId));
byId("file").addEventListener("change", (event) => look_at(event.target.files[0]));
for (const [name, over] of [["dragover", true], ["dragleave", false], ["drop", false]])
  byId("drop").addEventListener(name, (event) => {
    event.preventDefault();
    byId("drop").classList.toggle("over", over);
    if (name === "drop") look_at(event.dataTransfer.files[0]);
  });
let pause = 0;
for (const [id, does] of [["typed", continueText], ["written", classifyText]])
  byId(id).addEventListener("input", () => {
    clearTimeout(pause);
    pause = setTimeout(does, 200);
  });
look();
