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
  if (panel === "vectors") showMap();
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
    const found = await ask(`models/${model}/similar?word=${encodeURIComponent(word)}&k=${k}`);
    complain(null);
    byId("near-title").textContent = "Nearest to " + found.word;
    showBars(byId("near"), found.similar.map((p) => [p.word, p.score]), search);
    if (wordMap) wordMap.select(found.word);
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

/* The map of the commonest words, which the server makes when it is first asked for: map.js. */
let wordMap = null, mapOf = "";

function forgetMap() {
  if (wordMap) wordMap.end();
  wordMap = null;
  mapOf = "";
  byId("word-map").hidden = true;
  byId("map-state").textContent = "";
  byId("near-title").textContent = "Nearest words";
}

async function showMap() {
  const m = current(), key = keyOf(m);
  mapOf = key;
  try {
    const [{ mount }, data] = await Promise.all([import("./map.js"), ask(`models/${encodeURIComponent(m.name)}/map`)]);
    if (mapOf !== key) return;
    if (data.making !== undefined) {
      byId("map-state").textContent = `A map of the commonest words is being made: ${Math.round(100 * data.making)} %`;
      setTimeout(() => { if (mapOf === key) showMap(); }, 500);
      return;
    }
    data.title = "Map of " + m.name;
    byId("map-state").textContent = "";
    byId("word-map").hidden = false;
    wordMap = mount(byId("word-map"), data, { hash: false, small: true, select: search });
    if (byId("word").value) wordMap.select(byId("word").value);
  } catch (error) {
    if (mapOf === key) byId("map-state").textContent = "No map: " + (error instanceof Refused ? error.message : "the server does not answer.");
  }
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
