/* Word vectors: nearest words, analogies, and the map of the commonest words. */
import { answerInto, ask, byId, modelPath, page, Refused, showBars, submit, turns } from "./ask.js";

const turn = turns();

async function search(word, push = true) {
  const k = Math.min(200, Math.max(1, byId("count").valueAsNumber || 20));
  byId("word").value = word;
  page.remember({ word, k }, push);
  await answerInto({
    path: `${modelPath()}/similar?word=${encodeURIComponent(word)}&k=${k}`,
    behind: byId("search"), results: [byId("near")], retry: search, mine: turn(),
    show: (found) => {
      byId("near-title").textContent = "Nearest to " + found.word;
      showBars(byId("near"), found.similar.map((p) => [p.word, p.score]), { press: search });
      if (wordMap) wordMap.select(found.word);
    },
  });
}

async function analogy(form) {
  const query = new URLSearchParams(new FormData(form));
  query.set("k", "8");
  await answerInto({
    path: `${modelPath()}/analogy?${query}`, behind: form, results: [byId("answers")],
    show: (found) => showBars(byId("answers"), found.answers.map((a) => [a.word, a.score]), { press: search }),
  });
}

/* The map of the commonest words, which the server makes when it is first asked for: map.js. */
let wordMap = null, mapOf = "";

function forgetMap() {
  if (wordMap) wordMap.end();
  wordMap = globalThis.wordMap = null;
  mapOf = "";
  byId("word-map").hidden = true;
  byId("map-state").textContent = "";
  byId("near-title").textContent = "Nearest words";
}

async function showMap() {
  const m = page.model(), key = m.name + "/" + m.version;
  mapOf = key;
  try {
    const [{ mount }, data] = await Promise.all([import("./map.js"), ask(`${modelPath()}/map`)]);
    if (mapOf !== key) return;
    if (data.making !== undefined) {
      byId("map-state").textContent = `A map of the commonest words is being made: ${Math.round(100 * data.making)} %`;
      setTimeout(() => { if (mapOf === key) showMap(); }, 500);
      return;
    }
    data.title = "Map of " + m.name;
    byId("map-state").textContent = "";
    byId("word-map").hidden = false;
    wordMap = globalThis.wordMap = mount(byId("word-map"), data, { hash: false, small: true, select: search });
    if (byId("word").value) wordMap.select(byId("word").value);
  } catch (error) {
    if (mapOf === key) byId("map-state").textContent = "No map: " + (error instanceof Refused ? error.message : "the server does not answer.");
  }
}

submit("search", () => search(byId("word").value.trim()));
submit("analogy", analogy);

export const words = {
  show(params) {
    forgetMap();
    byId("word").value = params.word || "";
    byId("count").value = params.k || 20;
    showMap();
    if (params.word) search(params.word, false);
  },
  end: forgetMap,
};
