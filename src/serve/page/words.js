/* Word vectors: nearest words, analogies, and a map of the neighbourhood. */
import { answerInto, byId, draw, modelPath, page, showBars, submit, turns } from "./ask.js";

const turn = turns();

async function search(word, push = true) {
  const k = Math.min(200, Math.max(1, byId("count").valueAsNumber || 20));
  byId("word").value = word;
  page.remember({ word, k }, push);
  await answerInto({
    path: `${modelPath()}/map?word=${encodeURIComponent(word)}&k=${k}`,
    behind: byId("search"), results: [byId("near")], retry: search, mine: turn(),
    show: (found) => {
      byId("near-title").textContent = "Nearest to " + found.word;
      showBars(byId("near"), found.map.slice(1).map((p) => [p.word, p.score]), { press: search });
      showMap(found.map);
    },
  });
  if (!byId("trouble").hidden) forgetMap();
}

async function analogy(form) {
  const query = new URLSearchParams(new FormData(form));
  query.set("k", "8");
  await answerInto({
    path: `${modelPath()}/analogy?${query}`, behind: form, results: [byId("answers")],
    show: (found) => showBars(byId("answers"), found.answers.map((a) => [a.word, a.score]), { press: search }),
  });
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

submit("search", () => search(byId("word").value.trim()));
submit("analogy", analogy);
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

export const words = {
  show(params) {
    forgetMap();
    byId("word").value = params.word || "";
    byId("count").value = params.k || 20;
    if (params.word) search(params.word, false);
  },
};
