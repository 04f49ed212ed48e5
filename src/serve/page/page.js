/* The page of a shoal server: the models and a way to ask each kind, then their health. What is
 * asked is kept in the address behind #, which never leaves the browser. */
import { amount, ask, byId, complain, draw, hideCall, make, page, say, seconds } from "./ask.js";
import { pictures } from "./pictures.js";
import { tables } from "./tables.js";
import { labels, nextWords } from "./texts.js";
import { words } from "./words.js";

const HISTORY = 90; // points of a chart, one a second
const SILENCE = 10000; // milliseconds until a server that says nothing is said to be silent
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
    make("span", {}, at.name, " ", at.version), make("span", { class: "state quiet" }, at.dot, at.state, at.kind), at.trouble);
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

function line(points, of, most) {
  const x = (i) => (100 * (i + HISTORY - points.length)) / (HISTORY - 1), y = (p) => 38 - 36 * Math.min(1, p[of] / most);
  return points.map((p, i) => `${i ? "L" : "M"}${x(i).toFixed(1)} ${y(p).toFixed(1)}`).join("");
}

function newChart(m) {
  const at = { rate: make("td"), p50: make("td"), p99: make("td"), top: make("td", { class: "quiet top" }),
    high: draw("path", { class: "p99" }), low: draw("path", { class: "p50" }) };
  at.svg = draw("svg", { class: "chart", viewBox: "0 0 100 40", preserveAspectRatio: "none", "aria-hidden": "true" },
    draw("line", { x1: 0, x2: 100, y1: 38.5, y2: 38.5 }), at.high, at.low);
  at.card = make("tr", {}, make("th", { scope: "row" }, m.name, " ", make("span", { class: "quiet" }, m.version)),
    at.rate, at.p50, at.p99, make("td", { class: "lines" }, at.svg), at.top);
  return at;
}

function updateChart(at, m) {
  const points = history.get(keyOf(m)) || [], most = Math.max(0, ...points.map((p) => p.p99));
  say(at.rate, amount(m.rate) + "/s");
  say(at.p50, seconds(m.p50));
  say(at.p99, seconds(m.p99));
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
    const stats = await ask("stats", { signal: AbortSignal.timeout(SILENCE) });
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
    if (!chosen && models.length > 0) follow();
    else if (chosen) showChanges();
    showModels();
  } catch {
    showHealth("bad", "the server does not answer");
  }
  setTimeout(look, 1000);
}

/* ---- One model ---------------------------------------------------------------------------------- */

const panels = { vectors: [words, "vectors"], nextword: [nextWords, "text"], classify: [labels, "labels"] };
const ended = [pictures, words];

const panelOf = (m) =>
  (m.facts.images !== undefined ? [pictures, "image"] : panels[m.facts.net || m.kind] || [tables, "numbers"]);

const factNames = { dim: "dimensions", positive: "positive class", images: "pictures of", format: "rows as" };
const shownElsewhere = new Set(["net", "label_prefix"]);

/* "2 inputs", "1 output", "rows as csv"; the class that is positive may be a number, and counts nothing. */
function fact(key, value) {
  const name = factNames[key] || key.replaceAll("_", " ");
  if (!/^\d+$/.test(value) || key === "positive") return `${name} ${value}`;
  return `${amount(value)} ${value === "1" ? name.replace(/s$/, "") : name}`;
}

/* A model may end, come again, or be another of the same name, while it is looked at. */
let isGone = false, shownAs = "";
const nature = (m) => m.kind + JSON.stringify(m.facts);

function showChanges() {
  const m = current();
  if (m && (isGone || nature(m) !== shownAs)) show(chosen, addressed() || {});
  if (m || isGone) return;
  isGone = true;
  const [name, version] = [chosen.slice(0, chosen.lastIndexOf("/")), chosen.slice(chosen.lastIndexOf("/") + 1)];
  leave();
  byId("facts").textContent = "";
  for (const at of document.querySelectorAll(".kind")) at.hidden = true;
  byId("gone").hidden = false;
  byId("gone").textContent = `${name} ${version} is served no more.` + (models.length > 0 ? " Choose another model above." : "");
}

/* What the model before has begun ends, and what it still waits for counts no more. */
function leave() {
  page.shown++;
  for (const one of ended) one.end();
  complain(null);
  hideCall();
  byId("waiting").hidden = true;
}

function show(key, params) {
  chosen = key;
  isGone = false;
  leave();
  const m = current(), [panel, id] = panelOf(m);
  shownAs = nature(m);
  byId("gone").hidden = true;
  document.title = m.name + " · shoal";
  byId("panel").hidden = false;
  byId("panel-title").textContent = m.name;
  byId("facts").textContent = Object.entries(m.facts).filter(([key]) => !shownElsewhere.has(key))
    .map(([key, value]) => fact(key, value)).join(", ");
  for (const at of document.querySelectorAll(".kind")) at.hidden = at.id !== id;
  for (const list of document.querySelectorAll("#panel .bars, #counted")) list.replaceChildren();
  showModels();
  const card = cards.get(key).card; // which may lie further down among many
  if (card.offsetTop < byId("models").scrollTop || card.offsetTop + card.offsetHeight > byId("models").scrollTop + byId("models").clientHeight)
    byId("models").scrollTop = card.offsetTop - byId("models").clientHeight / 2;
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
