/* What all parts of the page share: elements, asking the server, bars, errors, and "call
 * this". Nothing is loaded from anywhere else, and no answer is ever put into the page as
 * HTML. */

const SLOW = 400; // milliseconds until it is said that an answer is waited for
const SVG = "http://www.w3.org/2000/svg";

/* What page.js fills in: the model that is chosen, how what was asked is kept in the address, and
 * how many models were shown so far: what another one still waited for counts no more. */
export const page = { model: () => null, remember: () => {}, shown: 0 };

/* ---- Elements ------------------------------------------------------------------ */

export const byId = (id) => document.getElementById(id);

function fill(at, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) at.addEventListener(key.slice(2), value);
    else at.setAttribute(key, value);
  }
  at.append(...children);
  return at;
}

export const make = (name, attributes = {}, ...children) => fill(document.createElement(name), attributes, children);
export const draw = (name, attributes = {}, ...children) => fill(document.createElementNS(SVG, name), attributes, children);

/* Writes only what changed: screen readers read what is written, and clicks get lost in
 * what is made anew. */
export function say(at, text) {
  if (at.textContent !== text) at.textContent = text;
}

export function seconds(s) {
  if (!(s > 0)) return "–";
  if (s < 1e-3) return Math.round(s * 1e6) + " µs";
  return s < 1 ? (s * 1e3).toPrecision(3) + " ms" : s.toPrecision(3) + " s";
}

export const amount = (n) => Number(n).toLocaleString("en", { maximumFractionDigits: n < 10 ? 1 : 0 });

export function submit(id, fn) {
  byId(id).addEventListener("submit", (event) => {
    event.preventDefault();
    fn(event.target);
  });
}

/* `does` once nothing has happened for a while, if the same model is still shown. */
export function later(does, ms) {
  let pause = 0;
  return (...args) => {
    const shown = page.shown;
    clearTimeout(pause);
    pause = setTimeout(() => shown === page.shown && does(...args), ms);
  };
}

/* Of several answers that are on their way the last one counts, and none of a model that is shown
 * no more: `const newest = latest()`, then `const mine = newest()`, and later `mine()`. */
export function latest() {
  let n = 0;
  return () => {
    const mine = ++n, shown = page.shown;
    return () => mine === n && shown === page.shown;
  };
}

/* ---- Asking ---------------------------------------------------------------------- */

export class Refused extends Error {}

function doorOf() {
  if (byId("door")) return byId("door");
  const door = make("dialog", { id: "door", "aria-labelledby": "door-title" },
    make("form", { method: "dialog" },
      make("label", { id: "door-title", for: "token" }, "This server wants its inference token"),
      make("input", { id: "token", type: "password", autocomplete: "off", required: "", "aria-describedby": "door-trouble" }),
      make("p", { id: "door-trouble", class: "trouble", role: "alert" }),
      make("button", {}, "Open")));
  document.body.append(door);
  return door;
}

let opening = null; // one dialog, however many requests wait for it

function knock(refused) {
  if (opening) return opening;
  const door = doorOf();
  say(byId("door-trouble"), refused ? "The server did not accept that token." : "");
  opening = new Promise((opened) => {
    door.addEventListener("close", () => {
      sessionStorage.setItem("token", byId("token").value);
      opening = null;
      opened();
    }, { once: true });
    door.addEventListener("cancel", (event) => event.preventDefault());
    door.showModal();
    byId("token").select();
  });
  return opening;
}

/* {said, call}: the answer, and what was asked and answered, for "call this". */
export async function question(path, { method = "GET", headers = {}, body, name, signal } = {}) {
  const token = sessionStorage.getItem("token"), began = performance.now();
  const answer = await fetch(path, { method, body, signal, headers: token ? { ...headers, Authorization: "Bearer " + token } : headers });
  if (answer.headers.has("WWW-Authenticate")) {
    await knock(token);
    return question(path, { method, headers, body, name });
  }
  const text = await answer.text(), ms = performance.now() - began;
  let said = null;
  try {
    said = JSON.parse(text);
  } catch { /* not JSON: the status says enough */ }
  const call = { method, path, headers, body, name, text, said, ms, token: Boolean(token), status: answer.status };
  if (!answer.ok)
    throw Object.assign(new Refused((said && (said.message || said.error || said.status)) || "Status " + answer.status), { call });
  return { said, call };
}

export const ask = async (path, options) => (await question(path, options)).said;

export const modelPath = () => `models/${encodeURIComponent(page.model().name)}`;
export const predictions = () =>
  `predictions/${encodeURIComponent(page.model().name)}/${encodeURIComponent(page.model().version)}`;

export const asText = (body) => ({ method: "POST", body, headers: { "Content-Type": "text/plain" } });
export const asJson = (value) =>
  ({ method: "POST", body: JSON.stringify(value), headers: { "Content-Type": "application/json" } });

/* ---- What went wrong, behind what was asked with --------------------------------------- */

export function complain(error, behind, retry) {
  const at = byId("trouble");
  at.hidden = !error;
  at.replaceChildren();
  if (!error) return;
  if (behind) behind.after(at);
  const text = error instanceof Refused ? error.message : "The server does not answer.";
  const guesses = /^(.*did you mean )(.*)\?$/.exec(text);
  if (!guesses || !retry) {
    at.append(text);
  } else {
    at.append(guesses[1]);
    guesses[2].split(", ").forEach((word, i) => {
      if (i > 0) at.append(", ");
      at.append(make("button", { type: "button", onclick: () => retry(word) }, word));
    });
    at.append("?");
  }
  at.scrollIntoView({ block: "nearest" });
}

/* Says that an answer is waited for, once it takes long. */
function waiting(is, behind, results) {
  if (is && behind) behind.after(byId("waiting"));
  byId("waiting").hidden = !is;
  for (const at of results) at.classList.toggle("old", is);
}

/* Asks, and shows the answer by `show(said, call)`; what was shown before is taken away when the
 * server refuses. `results` are cleared elements, the last of which "call this" follows. */
export async function answerInto({ path, options, behind, results, show, refused, retry, mine = () => true }) {
  const slow = setTimeout(() => mine() && waiting(true, behind, results), SLOW);
  const ended = () => {
    clearTimeout(slow);
    if (mine()) waiting(false, behind, results);
    return mine();
  };
  try {
    const { said, call } = await question(path, options);
    if (!ended()) return null;
    complain(null);
    show(said, call);
    showCall(call, results[results.length - 1]);
    return said;
  } catch (error) {
    if (!ended()) return null;
    for (const at of results) at.replaceChildren();
    hideCall();
    if (refused) refused();
    complain(error, behind, retry);
    return null;
  }
}

/* ---- Bars ------------------------------------------------------------------------------ */

/* Names with numbers from 0 to 1 as bars; `press` makes the names buttons. With `values` the
 * numbers are of any size, and have no bars. */
export function showBars(list, rows, { press, values } = {}) {
  const best = Math.max(...rows.map((r) => r[1]));
  list.classList.toggle("values", Boolean(values));
  list.replaceChildren(...rows.map(([name, value]) => {
    const bar = make("i"), share = Math.min(1, Math.max(0, value));
    bar.style.width = 100 * share + "%";
    return make("li", value === best && !values ? { class: "best" } : {},
      press ? make("button", { class: "name", type: "button", title: name, onclick: () => press(name) }, name)
        : make("span", { class: "name", title: name }, name),
      ...(values ? [] : [make("span", { class: "bar" }, bar)]),
      make("span", { class: "value" }, values ? String(Number(value.toPrecision(6))) : Number(value).toFixed(3)));
  }));
}

/* {"cat": 0.9, ...} with the likeliest first: names that are numbers come in another order. */
export const likeliest = (said) => Object.entries(said).sort((a, b) => b[1] - a[1]);

/* ---- Call this ------------------------------------------------------------------------- */

const shell = (text) => `'${text.replaceAll("'", "'\\''")}'`;
const addressOf = (call) => new URL(call.path, document.baseURI).href;

function headersOf(call) {
  return call.token ? { ...call.headers, Authorization: "Bearer TOKEN" } : call.headers;
}

function curl(call) {
  const lines = ["curl -s " + (["GET", "POST"].includes(call.method) ? "" : `-X ${call.method} `) + shell(addressOf(call))];
  if (call.name) lines.push("-T " + shell(call.name));
  const headers = Object.entries(headersOf(call));
  for (const [key, value] of headers) lines.push(`-H ${shell(`${key}: ${value}`)}`);
  if (call.body !== undefined && !call.name) lines.push("--data-binary " + shell(call.body));
  return lines.join(" \\\n    ");
}

function python(call) {
  const lines = ["import json, pathlib, urllib.request".replace(call.name ? "" : "pathlib, ", ""), "", "request = urllib.request.Request(", `    ${JSON.stringify(addressOf(call))},`];
  if (call.name) lines.push(`    data=pathlib.Path(${JSON.stringify(call.name)}).read_bytes(),`);
  else if (call.body !== undefined) lines.push(`    data=${JSON.stringify(call.body)}.encode(),`);
  const headers = headersOf(call);
  if (Object.keys(headers).length > 0) lines.push(`    headers=${JSON.stringify(headers)},`);
  if (!["GET", "POST"].includes(call.method)) lines.push(`    method=${JSON.stringify(call.method)},`);
  return [...lines, ")", "print(json.load(urllib.request.urlopen(request)))"].join("\n");
}

function javascript(call) {
  const lines = [`const answer = await fetch(${JSON.stringify(addressOf(call))}, {`];
  if (call.method !== "GET") lines.push(`  method: ${JSON.stringify(call.method)},`);
  const headers = headersOf(call);
  if (Object.keys(headers).length > 0) lines.push(`  headers: ${JSON.stringify(headers)},`);
  if (call.name) lines.push(`  body: file, // a File: ${call.name}`);
  else if (call.body !== undefined) lines.push(`  body: ${JSON.stringify(call.body)},`);
  return [...lines, "});", "console.log(await answer.json());"].join("\n");
}

const languages = {
  curl, Python: python, JavaScript: javascript,
  JSON: (call) => call.text,
};
let language = "curl";

async function copy(text, button) {
  try {
    await navigator.clipboard.writeText(text);
  } catch { // beyond this machine without TLS browsers know no clipboard
    const at = make("textarea", {}, text);
    document.body.append(at);
    at.select();
    document.execCommand("copy");
    at.remove();
    button.focus();
  }
  say(button, "Copied");
  setTimeout(() => say(button, "Copy"), 1500);
}

function callBox() {
  if (byId("call")) return byId("call");
  const code = make("pre", { id: "call-code", tabindex: "0", "aria-label": "The same request" });
  const tabs = Object.keys(languages).map((name) => make("button",
    { type: "button", "data-language": name, onclick: () => { language = name; writeCall(); } }, name));
  return make("details", { id: "call" },
    make("summary", {}, "Call this ", make("span", { id: "call-time", class: "quiet" })),
    make("div", { class: "tools", role: "group", "aria-label": "As" }, ...tabs,
      make("button", { type: "button", id: "call-copy", onclick: (event) => copy(code.textContent, event.currentTarget) }, "Copy")),
    code);
}

let lastCall = null;

function writeCall() {
  const box = byId("call");
  for (const tab of box.querySelectorAll("[data-language]"))
    tab.setAttribute("aria-pressed", String(tab.dataset.language === language));
  const text = languages[language](lastCall);
  say(byId("call-code"), text.length > 20000 ? text.slice(0, 20000) + "\n…" : text);
}

export function showCall(call, behind) {
  const box = callBox();
  lastCall = call;
  box.hidden = false;
  if (behind.nextElementSibling !== box) behind.after(box);
  say(byId("call-time"), `answered in ${call.ms < 10 ? call.ms.toFixed(1) : Math.round(call.ms)} ms`);
  writeCall();
}

export function hideCall() {
  if (byId("call")) byId("call").hidden = true;
}
