/* Word vectors: nearest words, analogies, and the map of the commonest words. */
import { answerInto, ask, byId, latest, modelPath, page, Refused, say, showBars, submit } from "./ask.js";

const SOON = 500; // milliseconds until the map is asked for again

const newest = latest();
const version = () => encodeURIComponent(page.model().version);

async function search(word, push = true) {
  const k = Math.min(200, Math.max(1, byId("count").valueAsNumber || 20));
  byId("word").value = word;
  page.remember({ word, k }, push);
  await answerInto({
    path: `${modelPath()}/similar?word=${encodeURIComponent(word)}&k=${k}&version=${version()}`,
    behind: byId("search"), results: [byId("near")], retry: search, mine: newest(),
    show: (found) => {
      byId("near-title").textContent = "Nearest to " + found.word;
      showBars(byId("near"), found.similar.map((p) => [p.word, p.score]), { press: search });
      drawn = null;
      if (wordMap) wordMap.select(found.word);
    },
    refused: () => { byId("near-title").textContent = "Nearest words"; },
  });
}

/* ---- Analogies ---------------------------------------------------------------------------- */

const places = ["a", "b", "c"], newestAnalogy = latest();
let drawn = null; // the three words and the answer that are shown on the map

async function analogy(push = true) {
  const three = places.map((name) => byId("analogy").elements[name].value.trim());
  const query = new URLSearchParams([...places.map((name, i) => [name, three[i]]), ["k", 8], ["version", page.model().version]]);
  page.remember(Object.fromEntries(places.map((name, i) => [name, three[i]])), push);
  await answerInto({
    path: `${modelPath()}/analogy?${query}`, behind: byId("analogy"), results: [byId("answers")], mine: newestAnalogy(),
    show: (found) => {
      showBars(byId("answers"), found.answers.map((a) => [a.word, a.score]), { press: (word) => drawAnalogy([...three, word]) });
      if (found.answers.length > 0) drawAnalogy([...three, found.answers[0].word]);
    },
  });
}

/* As two arrows on the map; words that are not among the commonest are not there. */
function drawAnalogy(four) {
  drawn = four;
  for (const name of byId("answers").querySelectorAll("button")) name.setAttribute("aria-pressed", String(name.textContent === four[3]));
  if (!wordMap) return;
  const isThere = wordMap.showAnalogy(...four);
  if (!hasFirst) sayOfMap(isThere ? "" : "The map has the commonest words, and not all of these.");
}

/* ---- The map of the commonest words, which the server makes when it is first asked for -------- */

let wordMap = null, mapOf = "", hasFirst = false;

function endMap() {
  if (wordMap) wordMap.end();
  wordMap = globalThis.wordMap = null;
  hasFirst = false;
}

/* A sentence, and a share that screen readers need not hear of each time it grows. */
function sayOfMap(text, share) {
  say(byId("map-state"), text);
  say(byId("map-share"), share === undefined ? "" : Math.round(100 * share) + " %");
}

function forgetMap() {
  endMap();
  mapOf = "";
  drawn = null;
  byId("word-map").hidden = true;
  sayOfMap("");
  byId("near-title").textContent = "Nearest words";
}

function putMap(mount, data) {
  endMap();
  data.title = "Map of " + page.model().name;
  byId("word-map").hidden = false;
  wordMap = globalThis.wordMap = mount(byId("word-map"), data, { hash: false, small: true, select: search });
  if (drawn) drawAnalogy(drawn);
  else if (byId("word").value) wordMap.select(byId("word").value);
}

/* Principal components are there within a second, and are shown until the other layout is. */
async function showMap() {
  const m = page.model(), key = m.name + "/" + m.version, path = `${modelPath()}/map?version=${version()}`;
  mapOf = key;
  try {
    const [{ mount }, data] = await Promise.all([import("./map.js"), ask(path)]);
    const first = data.first && !hasFirst ? await ask(path + "&layout=pca") : null;
    if (mapOf !== key) return;
    if (data.making === undefined) {
      hasFirst = false;
      sayOfMap("");
      putMap(mount, data);
      return;
    }
    if (first && first.making === undefined) {
      putMap(mount, first);
      hasFirst = true;
    }
    sayOfMap((hasFirst ? "By principal components so far; a map by t-SNE" : "A map of the commonest words") + " is being made:", data.making);
    setTimeout(() => { if (mapOf === key) showMap(); }, SOON);
  } catch (error) {
    if (mapOf === key) sayOfMap("No map: " + (error instanceof Refused ? error.message : "the server does not answer."));
  }
}

submit("search", () => search(byId("word").value.trim()));
submit("analogy", () => analogy());

export const words = {
  show(params) {
    forgetMap();
    byId("word").value = params.word || "";
    byId("count").value = params.k || 20;
    for (const name of places) byId("analogy").elements[name].value = params[name] || "";
    showMap();
    if (places.every((name) => params[name])) analogy(false);
    else if (params.word) search(params.word, false);
  },
  end: forgetMap,
};
