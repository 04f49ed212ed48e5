/* Text: what comes next, and which labels it has with the words that counted. */
import { answerInto, ask, asJson, asText, byId, later, likeliest, make, page, predictions, showBars, latest } from "./ask.js";

const WORDS_MOST = 80; // that are left out one by one

/* ---- What comes next -------------------------------------------------------------------- */

const newestText = latest();

async function continueText() {
  const text = byId("typed").value, mine = newestText();
  page.remember({ text }, false);
  if (!text.trim()) {
    byId("next").replaceChildren();
    return;
  }
  await answerInto({
    path: predictions(), options: asText(text), behind: byId("typed"), results: [byId("next")], mine,
    show: (said) => {
      showBars(byId("next"), likeliest(said), { press: takeWord });
      if (Object.keys(said).length === 0) byId("next").append(make("li", { class: "quiet none" }, "The model knows none of these words."));
    },
  });
}

function takeWord(word) {
  byId("typed").value = byId("typed").value.replace(/\s*$/, " ").trimStart() + word + " ";
  byId("typed").focus();
  continueText();
}

/* ---- Labels, and the words that counted ----------------------------------------------------- */

const newestLabels = latest();
const logit = (p) => Math.log(Math.min(1 - 1e-6, Math.max(1e-6, p)) / (1 - Math.min(1 - 1e-6, Math.max(1e-6, p))));

const signed = (x) => (x < 0 ? "−" : "+") + Math.abs(x).toFixed(2);

/* How much the log odds of the label fall when a word is left out, for each word; all asked in
 * one request. */
async function weigh(text, label, p, k) {
  const parts = text.split(/(\s+)/), places = parts.map((s, i) => (s.trim() ? i : -1)).filter((i) => i >= 0);
  if (places.length < 2 || places.length > WORDS_MOST) return null;
  const texts = places.map((place) => parts.filter((_, i) => i !== place).join("").trim());
  const said = await ask(predictions(), asJson({ texts, k }));
  return { parts, weights: new Map(places.map((place, i) => [place, logit(p) - logit(said[i][label] || 0)])) };
}

function showWords(label, found) {
  const most = Math.max(0.5, ...[...found.weights.values()].map(Math.abs));
  byId("counted").replaceChildren(
    make("p", { class: "quiet" }, `Words that speak for ${label} are blue, those against it orange. Those that counted most, in log odds:`),
    make("p", { class: "marked" }, ...found.parts.map((part, i) => {
      const weight = found.weights.get(i);
      if (weight === undefined) return part;
      const mark = make("mark", { class: weight >= 0 ? "for" : "against", title: signed(weight) }, part);
      mark.style.setProperty("--share", Math.round((70 * Math.abs(weight)) / most) + "%");
      return mark;
    })),
    make("ol", { class: "plain quiet", id: "counted-most" },
      ...[...found.weights].sort((a, b) => Math.abs(b[1]) - Math.abs(a[1])).slice(0, 5)
        .map(([i, w]) => make("li", {}, `${found.parts[i]} ${signed(w)}`))));
}

async function classifyText() {
  const text = byId("written").value, mine = newestLabels();
  page.remember({ text }, false);
  if (!text.trim()) {
    byId("label-bars").replaceChildren();
    byId("counted").replaceChildren();
    return;
  }
  const said = await answerInto({
    path: predictions(), options: asText(text), behind: byId("written"), results: [byId("label-bars"), byId("counted")], mine,
    show: (answer) => showBars(byId("label-bars"), likeliest(answer)),
  });
  const first = said && likeliest(said)[0];
  if (!first) return;
  try {
    const found = await weigh(text.trim(), first[0], first[1], Math.min(1000, Number(page.model().facts.classes) || 1000));
    if (!mine()) return;
    if (found) showWords(first[0], found);
    else byId("counted").replaceChildren(make("p", { class: "quiet" }, `Which words counted is shown of texts of 2 to ${WORDS_MOST} words.`));
  } catch {
    if (mine()) byId("counted").replaceChildren();
  }
}

/* ---- Wiring ------------------------------------------------------------------------------- */

byId("typed").addEventListener("input", later(continueText, 200));
byId("written").addEventListener("input", later(classifyText, 200));

export const nextWords = {
  show(params) {
    byId("typed").value = params.text || "";
    continueText();
  },
};

export const labels = {
  show(params) {
    byId("written").value = params.text || "";
    classifyText();
  },
};
