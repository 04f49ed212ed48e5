/* The page of a shoal server: the models and a way to ask each kind, then their health. What is
 * asked is kept in the address behind #, which never leaves the browser. */
import { amount, ask, byId, complain, draw, hideCall, make, page, say, seconds } from "./ask.js";
import { pictures } from "./pictures.js";
import { tables } from "./tables.js";
import { labels, nextWords } from "./texts.js";
import { words } from "./words.js";

const HISTORY = 90; // points of a chart, one a second
const ADDRESS_MOST = 4000; // characters of what was asked that are kept
const history = new Map(); // "name/version" -> [{p50, p99, told, requests}]
const cards = new Map(), charts = new Map(); // "name/version" -> what is shown of it
let models = [];
let chosen = ""; // "name/version"

const keyOf = (m) => m.name + "/" + m.version;
const current = () => models.find((m) => keyOf(m) === chosen);

/* ---- The address: #model=NAME&version=1.0&word=king --------------------------------------- */

function addressed() {
  const params = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
  return params.model ? params : null;
}

function remember(params, push) {
  const m = current();
  if (!m) return;
  const all = new URLSearchParams({ model: m.name, version: m.version, ...params });
  for (const [key, value] of [...all]) if (value === "") all.delete(key);
  const hash = "#" + all;
  if (hash === location.hash || hash.length > ADDRESS_MOST) return;
  window.history[push ? "pushState" : "replaceState"](null, "", hash);
}

page.model = current;
page.remember = remember;

/* Shows what the address says; what it does not say, of the first model. */
function follow() {
  const params = addressed() || {};
  const m = models.find((one) => one.name === params.model && (!params.version || one.version === params.version)) ||
    models.find((one) => one.name === params.model) || models[0];
  if (m) show(keyOf(m), params);
}

/* ---- Models -------------------------------------------------------------------------------- */

function newCard(m) {
  const at = {
    kind: make("span", { class: "kind-name" }), dot: make("span", { class: "dot", "aria-hidden": "true" }),
    state: make("span", {}), name: make("b", {}, m.name), version: make("span", { class: "quiet" }),
    trouble: make("span", { class: "trouble" }),
  };
  at.card = make("button", { class: "card", type: "button", "data-key": keyOf(m), onclick: () => choose(keyOf(m)) },
    at.name, " ", at.version, make("span", { class: "state quiet" }, at.dot, at.state, at.kind), at.trouble);
  return at;
}

function updateCard(at, m) {
  say(at.kind, m.facts.net || m.kind || "no file");
  say(at.version, m.version + (m.default ? "" : ", not the default"));
  at.dot.className = "dot " + (m.ready ? "good" : "bad");
  say(at.state, m.ready ? "ready" : "not ready");
  say(at.trouble, m.trouble || "");
  at.card.setAttribute("aria-pressed", String(keyOf(m) === chosen));
}

/* ---- Health ---------------------------------------------------------------------------------- */

/* One point alone is a dot: its end is round. */
function line(points, of, most) {
  return (points.length === 1 ? [points[0], points[0]] : points).map((p, i) => `${i ? "L" : "M"}${(100 * Math.min(i + HISTORY - points.length, HISTORY - 1)) / (HISTORY - 1)} ` +
    `${38 - 36 * Math.min(1, p[of] / most)}`).join("");
}

function newChart(m) {
  const figure = (name) => {
    const value = make("strong");
    return { value, at: make("span", {}, value, name) };
  };
  const at = { rate: figure("requests"), p50: figure("median"), p99: figure("p99"), top: make("span"),
    high: draw("path", { class: "p99" }), low: draw("path", { class: "p50" }) };
  at.lines = make("div", { class: "lines" },
    draw("svg", { class: "chart", viewBox: "0 0 100 40", preserveAspectRatio: "none", "aria-hidden": "true" },
      draw("line", { x1: 0, x2: 100, y1: 38.5, y2: 38.5 }), at.high, at.low),
    make("div", { class: "legend quiet" },
      make("span", {}, make("i", { class: "l50" }), "median  ", make("i", { class: "l99" }), "p99"), at.top));
  at.card = make("div", { class: "box" }, make("b", {}, m.name), " ", make("span", { class: "quiet" }, m.version),
    make("span", { class: "figures quiet" }, at.rate.at, at.p50.at, at.p99.at), at.lines);
  return at;
}

function updateChart(at, m) {
  const points = history.get(keyOf(m)) || [], most = Math.max(0, ...points.map((p) => p.p99));
  say(at.rate.value, amount(m.rate) + "/s");
  say(at.p50.value, seconds(m.p50));
  say(at.p99.value, seconds(m.p99));
  at.lines.classList.toggle("empty", most === 0);
  say(at.top, most > 0 ? "up to " + seconds(most) : "no requests lately");
  at.high.setAttribute("d", most > 0 ? line(points, "p99", most) : "");
  at.low.setAttribute("d", most > 0 ? line(points, "p50", most) : "");
}

/* One element for each model, made once and changed in place. */
function keep(box, shown, makeNew, update) {
  for (const [key, at] of shown)
    if (!models.some((m) => keyOf(m) === key)) {
      at.card.remove();
      shown.delete(key);
    }
  models.forEach((m, i) => {
    if (!shown.has(keyOf(m))) shown.set(keyOf(m), makeNew(m));
    const at = shown.get(keyOf(m));
    update(at, m);
    if (box.children[i] !== at.card) box.insertBefore(at.card, box.children[i] || null);
  });
}

function showModels() {
  keep(byId("models"), cards, newCard, updateCard);
  keep(byId("charts"), charts, newChart, updateChart);
  byId("no-models").hidden = models.length > 0;
}

function showHealth(state, text) {
  byId("health").className = state;
  say(byId("health-text"), text);
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
      const points = history.get(keyOf(m)) || [], last = points[points.length - 1];
      // Latencies stay for a while after the last request: no point where there was none since.
      const asked = !last || m.requests !== last.requests || m.p99 !== last.told;
      points.push({ p50: asked ? m.p50 : 0, p99: asked ? m.p99 : 0, told: m.p99, requests: m.requests });
      history.set(keyOf(m), points.slice(-HISTORY));
    }
    showHealth(stats.healthy ? "good" : "bad", stats.healthy ? "healthy" : "unhealthy");
    say(byId("about"), `shoal ${stats.version}, up ${uptime(stats.uptime)}`);
    if (!current() && models.length > 0) follow();
    if (models.length === 0) byId("panel").hidden = true;
    showModels();
  } catch {
    showHealth("bad", "no answer");
  }
  setTimeout(look, 1000);
}

/* ---- One model ---------------------------------------------------------------------------------- */

const panels = { vectors: [words, "vectors"], nextword: [nextWords, "text"], classify: [labels, "labels"] };
const ended = [pictures, words];

const panelOf = (m) =>
  (m.facts.images !== undefined ? [pictures, "image"] : panels[m.facts.net || m.kind] || [tables, "numbers"]);

/* "2 inputs", "1 output", "format csv"; the class that is positive may be a number, and counts nothing. */
function fact(name, value) {
  if (!/^\d+$/.test(value) || name === "positive") return `${name} ${value}`;
  return `${amount(value)} ${value === "1" ? name.replace(/s$/, "") : name}`;
}

function show(key, params) {
  chosen = key;
  page.shown++;
  const m = current(), [panel, id] = panelOf(m);
  for (const one of ended) one.end();
  document.title = m.name + " · shoal";
  byId("panel").hidden = false;
  byId("panel-title").textContent = m.name;
  byId("facts").textContent = Object.entries(m.facts)
    .map(([k, v]) => fact(k, v)).join(", ");
  for (const at of document.querySelectorAll(".kind")) at.hidden = at.id !== id;
  for (const list of document.querySelectorAll("#panel .bars, #counted")) list.replaceChildren();
  complain(null);
  hideCall();
  showModels();
  panel.show(params);
}

/* As somebody pressed: a step that the back button takes back. */
function choose(key) {
  if (key === chosen) return;
  chosen = key;
  remember({}, true);
  show(key, {});
  byId("panel").focus({ preventScroll: true });
  if (byId("panel").getBoundingClientRect().top > 0.6 * innerHeight) byId("panel").scrollIntoView();
}

/* ---- Wiring --------------------------------------------------------------------------------------- */

window.addEventListener("popstate", () => { if (models.length > 0 && addressed()) follow(); });
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  byId("panel").focus();
});
look();
