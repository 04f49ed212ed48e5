/* A map of words to walk about in: mount(root, data, options) fills an element with it. The data is
 * one object, as src/saved/vectors/map_page.c writes it. Options: hash, false if the address is not
 * to say where one is; small, without the forms that the page around has; select(word), called when
 * a word was pressed. Nothing is loaded from anywhere, and no word
 * ever becomes HTML. `shoal map` puts this file into its page; the server sends it as it is. */

const LIGHT = ["#2f64c9", "#d2691e", "#20925a", "#c2314f", "#7a4fc0", "#8d6b12", "#c6409c", "#0f8f9e",
  "#66790f", "#56677a", "#a1452a", "#2e8bd6"];
const DARK = ["#7fabff", "#ffa05c", "#5fd699", "#ff7d95", "#b595ff", "#e0bd55", "#ff8fd6", "#4fd6e3",
  "#bcd34f", "#a9bbce", "#f09070", "#6cc3ff"];
const EXAMPLES = [["man", "king", "woman"], ["france", "paris", "germany"], ["big", "bigger", "small"],
  ["paris", "france", "rome"], ["he", "his", "she"]];
const NEAREST = 1, FARTHEST = 400; // scales of the view
const GRID = 64; // cells along each side of the map, for finding what is pointed at
const PHASES = 4; // places of a point within a pixel, along each side
const LABEL_MOST = 32; // characters of a word that are written on the map
const FLIGHT = 600, MORPH = 900; // milliseconds

/* ---- Data --------------------------------------------------------------------------- */

function bytes(text) {
  const raw = atob(text), out = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) out[i] = raw.charCodeAt(i);
  return out;
}

/* Places in a square of side 1, y upwards. */
function unpack(data) {
  const n = data.words.length;
  const layouts = data.layouts.map((l) => {
    const raw = new Uint16Array(bytes(l.places).buffer), places = new Float32Array(2 * n);
    for (let i = 0; i < 2 * n; i++) places[i] = i % 2 ? 1 - raw[i] / 65535 : raw[i] / 65535;
    return { name: l.name, trust: l.trust, kept: l.kept, places };
  });
  const near = { k: data.near.k, ids: new Uint16Array(bytes(data.near.ids).buffer), cosines: bytes(data.near.cosines) };
  const vectors = data.vectors && { dim: data.vectors.dim, at: new Int8Array(bytes(data.vectors.at).buffer) };
  const cluster = bytes(data.clusters.of), sizes = data.clusters.names.map(() => 0);
  for (const c of cluster) sizes[c]++;
  return { n, words: data.words, counts: data.counts, layouts, near, vectors, cluster, sizes,
    names: data.clusters.names, find: new Map(data.words.map((w, i) => [w, i])) };
}

/* The k words nearest to b - a + c, none of the three: 3CosAdd. */
function analogy(map, a, b, c, k) {
  const { dim, at } = map.vectors, n = map.n;
  const lengths = map.lengths || (map.lengths = Float32Array.from({ length: n }, (_, i) => {
    let sum = 0;
    for (let j = 0; j < dim; j++) sum += at[i * dim + j] ** 2;
    return Math.sqrt(sum) || 1;
  }));
  const want = new Float32Array(dim), best = [];
  for (let j = 0; j < dim; j++)
    want[j] = at[b * dim + j] / lengths[b] - at[a * dim + j] / lengths[a] + at[c * dim + j] / lengths[c];
  const length = Math.hypot(...want) || 1;
  for (let i = 0; i < n; i++) {
    if (i === a || i === b || i === c) continue;
    let sum = 0;
    for (let j = 0; j < dim; j++) sum += want[j] * at[i * dim + j];
    const score = sum / (lengths[i] * length);
    if (best.length === k && score <= best[k - 1].score) continue;
    const place = best.findIndex((x) => x.score < score);
    best.splice(place < 0 ? best.length : place, 0, { i, score });
    if (best.length > k) best.pop();
  }
  return best;
}

/* Which points lie in which cell of the plane: those of cell c from start[c] on. */
function gridOf(places, n) {
  const cell = (i) => Math.min(GRID - 1, Math.floor(places[2 * i] * GRID)) +
    GRID * Math.min(GRID - 1, Math.floor(places[2 * i + 1] * GRID));
  const start = new Int32Array(GRID * GRID + 1), ids = new Int32Array(n);
  for (let i = 0; i < n; i++) start[cell(i) + 1]++;
  for (let c = 0; c < GRID * GRID; c++) start[c + 1] += start[c];
  const next = start.slice();
  for (let i = 0; i < n; i++) ids[next[cell(i)]++] = i;
  return { start, ids };
}

function within(polygon, x, y) {
  let inside = false;
  for (let i = 0, j = polygon.length - 1; i < polygon.length; j = i++) {
    const a = polygon[i], b = polygon[j];
    if (a.y > y !== b.y > y && x < ((b.x - a.x) * (y - a.y)) / (b.y - a.y) + a.x) inside = !inside;
  }
  return inside;
}

/* ---- Elements ------------------------------------------------------------------------- */

function make(name, attributes = {}, ...children) {
  const at = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "class") at.className = value;
    else if (key.startsWith("on")) at.addEventListener(key.slice(2), value);
    else if (value !== false) at.setAttribute(key, value === true ? "" : value);
  }
  at.append(...children);
  return at;
}

const button = (text, press, attributes = {}) => make("button", { type: "button", onclick: press, ...attributes }, text);
const amount = (n) => Number(n).toLocaleString("en");
const ease = (t) => (t < 0.5 ? 4 * t * t * t : 1 - (-2 * t + 2) ** 3 / 2);
const still = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

function save(blob, name) {
  const at = make("a", { href: URL.createObjectURL(blob), download: name });
  document.body.append(at);
  at.click();
  at.remove();
  setTimeout(() => URL.revokeObjectURL(at.href), 10000);
}

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const at = make("textarea", { "aria-hidden": "true" });
    at.value = text;
    document.body.append(at);
    at.select();
    document.execCommand("copy");
    at.remove();
  }
}

/* ---- The map ----------------------------------------------------------------------------- */

let mounted = 0;

export function mount(root, data, options = {}) {
  const map = unpack(data), n = map.n, id = "wm" + ++mounted;
  const useHash = options.hash !== false;
  const places = map.layouts[0].places.slice(); // where points are now
  const widths = new Float32Array(n); // of labels at 10 px, once measured
  const hidden = new Set(); // clusters
  let layout = 0, grid = gridOf(places, n), colours = LIGHT, ink = {}, sprites = [], paper = false;
  let view = { x: 0.5, y: 0.5, scale: 1 };
  let word = -1, hover = -1, answer = null, chosen = new Set(), lasso = null, lassoing = false;
  let wide = 300, high = 300, dirty = false, flight = null, morph = null;

  /* ---- The frame around it ---- */

  const canvas = make("canvas", { tabindex: "0", role: "application", "aria-label": "Map of words",
    "aria-roledescription": "map", "aria-describedby": id + "-keys" });
  const live = make("p", { class: "wm-live", role: "status", "aria-live": "polite" });
  const tip = make("div", { class: "wm-tip", hidden: true, "aria-hidden": "true" });
  const about = make("p", { class: "wm-quiet" });
  const search = make("input", { type: "text", id: id + "-search", role: "combobox", autocomplete: "off", spellcheck: "false",
    autocapitalize: "off", "aria-expanded": "false", "aria-controls": id + "-list", "aria-autocomplete": "list", placeholder: "a word" });
  const list = make("ul", { class: "wm-list", id: id + "-list", role: "listbox", "aria-label": "Words", hidden: true });
  const wordPart = make("section", { class: "wm-word", hidden: true });
  const answerPart = make("div", { class: "wm-answer" });
  const lassoPart = make("section", { class: "wm-chosen", hidden: true });
  const legend = make("div", { class: "wm-legend" });
  const layouts = make("div", { class: "wm-switch", role: "group", "aria-label": "Layout" });
  const lassoButton = button("Lasso", () => setLasso(!lassoing), { "aria-pressed": "false", title: "Draw around words (L)" });
  const viewButton = button("All in view", chooseView, { title: "Choose the words that are seen (V)" });

  const zoomers = make("div", { class: "wm-zoom", role: "group", "aria-label": "View" },
    button("+", () => zoomBy(1.6), { "aria-label": "Zoom in" }),
    button("−", () => zoomBy(1 / 1.6), { "aria-label": "Zoom out" }),
    button("Whole map", () => fly({ x: 0.5, y: 0.5, scale: NEAREST })), lassoButton, viewButton);
  const stage = make("div", { class: "wm-stage" }, canvas, tip, zoomers);
  const analogyForm = make("form", { class: "wm-analogy", onsubmit: (e) => { e.preventDefault(); askAnalogy(); } },
    ...["a", "b", "c"].flatMap((name, i) => [
      make("input", { name, "aria-label": ["First word", "is to", "as"][i], autocomplete: "off", autocapitalize: "off", spellcheck: "false",
        placeholder: ["man", "king", "woman"][i] }),
      make("span", {}, ["is to", "as", "is to"][i])]),
    make("button", { type: "submit" }, "which?"));
  const title = options.small ? "h3" : "h1", section = options.small ? "h4" : "h2";
  const asking = options.small ? [] : [
    make("div", { class: "wm-search" }, make("label", { for: id + "-search" }, "Find a word"), search, list), wordPart,
    ...(map.vectors ? [make("section", {}, make(section, {}, "Analogy"), analogyForm, examples(), answerPart)] : [])];
  const panel = make("div", { class: "wm-panel" },
    make(title, {}, data.title), about, layouts, ...asking, lassoPart,
    make("section", {}, make(section, {}, "Clusters"), legend),
    make("section", { class: "wm-save" }, make(section, {}, "Save"),
      make("div", { class: "wm-row" }, button("PNG", savePng), button("SVG", saveSvg), button("TSV", saveTsv)),
      ...(map.vectors ? [make("p", { class: "wm-quiet" }, "For TensorBoard's projector"),
        make("div", { class: "wm-row" }, button("vectors.tsv", saveVectors), button("metadata.tsv", saveMetadata))] : [])),
    make("p", { class: "wm-quiet wm-keys", id: id + "-keys" },
      "Drag to move, wheel or pinch to zoom, Shift and drag for a lasso. Keys: arrows, +, −, 0 for all, " +
      "Enter for the word in the middle, V for all in view, L for the lasso, Escape to let go."));
  root.classList.add("wm");
  root.classList.toggle("wm-small", Boolean(options.small));
  root.replaceChildren(stage, panel, live);

  function examples() {
    const known = EXAMPLES.filter((e) => e.every((w) => map.find.has(w))).slice(0, 3);
    return make("p", { class: "wm-chips" }, ...known.map((e) => button(`${e[0]} : ${e[1]} :: ${e[2]} : ?`, () => {
      ["a", "b", "c"].forEach((k, i) => { analogyForm.elements[k].value = e[i]; });
      askAnalogy();
    })));
  }

  function say(text) {
    live.textContent = text;
  }

  /* ---- Colours ---- */

  const colourOf = (c) => (c < colours.length ? colours[c] : `hsl(${(c * 137.5) % 360} 55% ${colours === LIGHT ? 42 : 70}%)`);

  /* Ten thousand points are too many for the canvas's own circles, unless a GPU draws them: they are
   * put together here, pixel by pixel. A stamp is one round point of a colour with a rim of the
   * ground's, for a place within a pixel (PHASES of them along each side): each of its pixels becomes
   * keep * what was there + add. */
  const one = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const known = new Map(); // colours that were asked for: zooming makes stamps of the same ones
  let image = null;

  function rgb(colour) {
    if (known.has(colour)) return known.get(colour);
    one.canvas.width = one.canvas.height = 1;
    one.fillStyle = colour;
    one.fillRect(0, 0, 1, 1);
    known.set(colour, one.getImageData(0, 0, 1, 1).data);
    return known.get(colour);
  }

  function stamp(colour, radius, alpha, fx, fy) {
    const reach = Math.ceil(radius + 1.5), back = rgb(ink.ground), front = rgb(colour), out = [];
    const covered = (d, r) => Math.min(1, Math.max(0, r - d + 0.5));
    for (let y = -reach; y <= reach; y++)
      for (let x = -reach; x <= reach; x++) {
        const d = Math.hypot(x - fx, y - fy), inner = covered(d, radius - 0.4) * alpha, rim = covered(d, radius + 0.6) * alpha;
        if (rim < 0.02) continue;
        out.push(x, y, (1 - rim) * (1 - inner), ...[0, 1, 2].map((k) => back[k] * rim * (1 - inner) + front[k] * inner));
      }
    return Float32Array.from(out);
  }

  function dress() {
    const style = getComputedStyle(root), of = (name) => style.getPropertyValue(name).trim();
    ink = { ground: of("--wm-ground"), text: of("--wm-ink"), quiet: of("--wm-quiet"), line: of("--wm-line"), accent: of("--wm-accent") };
    colours = !paper && matchMedia("(prefers-color-scheme: dark)").matches ? DARK : LIGHT;
    if (paper) ink = { ground: "#fff", text: "#111", quiet: "#555", line: "#ccc", accent: "#b4410e" };
    sprites = [];
    showLegend();
    redraw();
  }

  /* ---- Places on the screen ---- */

  const side = () => Math.min(wide, high) * 0.94;
  const toX = (x) => (x - view.x) * side() * view.scale + wide / 2;
  const toY = (y) => (y - view.y) * side() * view.scale + high / 2;
  const fromX = (x) => (x - wide / 2) / (side() * view.scale) + view.x;
  const fromY = (y) => (y - high / 2) / (side() * view.scale) + view.y;
  const radiusNow = () => Math.min(6.5, (n > 3000 ? 2.2 : 2.9) * Math.min(1.2, Math.max(0.75, Math.min(wide, high) / 800)) *
    Math.max(1, view.scale) ** 0.3);

  function redraw() {
    if (dirty) return;
    dirty = true;
    requestAnimationFrame((now) => {
      dirty = false;
      advance(now);
      draw();
    });
  }

  function setView(next) {
    const scale = Math.min(FARTHEST, Math.max(0.6, next.scale)), edge = 0.6 / scale;
    view = { scale, x: Math.min(1 + edge, Math.max(-edge, next.x)), y: Math.min(1 + edge, Math.max(-edge, next.y)) };
    redraw();
    remember();
  }

  function zoomBy(by, x = wide / 2, y = high / 2) {
    flight = null;
    const scale = Math.min(FARTHEST, Math.max(0.6, view.scale * by)), f = 1 - view.scale / scale;
    setView({ scale, x: view.x + (fromX(x) - view.x) * f, y: view.y + (fromY(y) - view.y) * f });
  }

  function fly(to) {
    if (still()) {
      setView(to);
      return;
    }
    flight = { from: view, to, began: performance.now() };
    redraw();
  }

  /* What moves by itself: a flight of the view, points on their way to another layout. */
  function advance(now) {
    if (flight) {
      const t = Math.min(1, Math.max(0, (now - flight.began) / FLIGHT)), e = ease(t), { from, to } = flight;
      const scale = from.scale * (to.scale / from.scale) ** e;
      const share = from.scale === to.scale ? e : (1 / scale - 1 / from.scale) / (1 / to.scale - 1 / from.scale);
      if (t === 1) flight = null;
      setView({ scale, x: from.x + (to.x - from.x) * share, y: from.y + (to.y - from.y) * share });
    }
    if (morph) {
      const t = Math.min(1, Math.max(0, (now - morph.began) / MORPH)), e = ease(t), to = map.layouts[layout].places;
      for (let i = 0; i < 2 * n; i++) places[i] = morph.from[i] + (to[i] - morph.from[i]) * e;
      if (t === 1) {
        morph = null;
        grid = gridOf(places, n);
      }
      redraw();
    }
  }

  /* The view in which all these points are seen, at a scale that shows what is around them. */
  function viewOf(points, at = places) {
    let l = Infinity, r = -Infinity, t = Infinity, b = -Infinity;
    for (const i of points) {
      l = Math.min(l, at[2 * i]); r = Math.max(r, at[2 * i]);
      t = Math.min(t, at[2 * i + 1]); b = Math.max(b, at[2 * i + 1]);
    }
    const scale = Math.min(0.6 * wide / (side() * Math.max(1e-6, r - l)), 0.7 * high / (side() * Math.max(1e-6, b - t)));
    return { x: (l + r) / 2, y: (t + b) / 2, scale: Math.min(14, Math.max(1, scale)) };
  }

  /* Where most points of a cluster lie together: its name stands there while all of the map is seen. */
  function middles(at) {
    const cells = 24;
    return map.names.map((_, c) => {
      const count = new Map();
      let best = null;
      for (let i = 0; i < n; i++) {
        if (map.cluster[i] !== c) continue;
        const key = Math.floor(at[2 * i] * cells) + 1000 * Math.floor(at[2 * i + 1] * cells);
        const cell = count.get(key) || { n: 0, x: 0, y: 0 };
        cell.n++;
        cell.x += at[2 * i];
        cell.y += at[2 * i + 1];
        count.set(key, cell);
        if (!best || cell.n > best.n) best = cell;
      }
      return best ? { x: best.x / best.n, y: best.y / best.n } : null;
    });
  }

  /* ---- Drawing ---- */

  const neighbours = (i) => Array.from({ length: map.near.k }, (_, k) => map.near.ids[i * map.near.k + k]);

  function arrow(pen, a, b, colour) {
    const x = toX(places[2 * a]), y = toY(places[2 * a + 1]), u = toX(places[2 * b]), v = toY(places[2 * b + 1]);
    const angle = Math.atan2(v - y, u - x), head = 11, back = 6;
    const ex = u - back * Math.cos(angle), ey = v - back * Math.sin(angle);
    pen.strokeStyle = pen.fillStyle = colour;
    pen.lineWidth = 2.2;
    pen.beginPath();
    pen.moveTo(x, y);
    pen.lineTo(ex, ey);
    pen.stroke();
    pen.beginPath();
    pen.moveTo(ex, ey);
    for (const barb of [0.42, -0.42]) pen.lineTo(ex - head * Math.cos(angle + barb), ey - head * Math.sin(angle + barb));
    pen.fill();
  }

  function drawLines(pen) {
    if (word >= 0 && !answer) {
      pen.strokeStyle = ink.accent;
      neighbours(word).forEach((j, k) => {
        pen.globalAlpha = 0.25 + 0.7 * (map.near.cosines[word * map.near.k + k] / 255);
        pen.lineWidth = 1.6;
        pen.beginPath();
        pen.moveTo(toX(places[2 * word]), toY(places[2 * word + 1]));
        pen.lineTo(toX(places[2 * j]), toY(places[2 * j + 1]));
        pen.stroke();
      });
      pen.globalAlpha = 1;
    }
    if (answer) {
      arrow(pen, answer.a, answer.b, ink.accent);
      arrow(pen, answer.c, answer.d, ink.accent);
    }
    if (lasso && lasso.length > 1) {
      pen.strokeStyle = ink.accent;
      pen.fillStyle = ink.accent + "22";
      pen.lineWidth = 1.5;
      pen.beginPath();
      lasso.forEach((p) => pen.lineTo(toX(p.x), toY(p.y)));
      pen.closePath();
      pen.fill();
      pen.stroke();
    }
  }

  function drawPoints(pen, ratio) {
    const r = radiusNow(), faint = chosen.size > 0 || answer || word >= 0, key = [r.toFixed(1), ratio, faint].join("/");
    const across = canvas.width, down = canvas.height;
    if (sprites.key !== key) {
      const phases = [...Array(PHASES * PHASES).keys()].map((p) => [(p % PHASES) / PHASES, Math.floor(p / PHASES) / PHASES]);
      sprites = map.names.map((_, c) => phases.map(([x, y]) => stamp(colourOf(c), r * ratio, faint ? 0.4 : 0.92, x, y)));
      sprites.key = key;
    }
    if (!image || image.width !== across || image.height !== down) image = pen.createImageData(across, down);
    const back = rgb(ink.ground), all = new Uint32Array(image.data.buffer), px = image.data;
    all.fill(((255 << 24) | (back[2] << 16) | (back[1] << 8) | back[0]) >>> 0);
    const edge = Math.ceil(r * ratio + 2), scale = side() * view.scale * ratio;
    const ox = (wide / 2) * ratio - view.x * scale, oy = (high / 2) * ratio - view.y * scale;
    for (let i = n - 1; i >= 0; i--) { // the commonest on top
      const x = places[2 * i] * scale + ox, y = places[2 * i + 1] * scale + oy, ix = Math.floor(x), iy = Math.floor(y);
      if (ix < edge || ix >= across - edge || iy < edge || iy >= down - edge || (hidden.size && hidden.has(map.cluster[i]))) continue;
      const s = sprites[map.cluster[i]][Math.floor((x - ix) * PHASES) + PHASES * Math.floor((y - iy) * PHASES)];
      for (let k = 0; k < s.length; k += 6) {
        const at = 4 * ((iy + s[k + 1]) * across + ix + s[k]), keep = s[k + 2];
        px[at] = px[at] * keep + s[k + 3];
        px[at + 1] = px[at + 1] * keep + s[k + 4];
        px[at + 2] = px[at + 2] * keep + s[k + 5];
      }
    }
    pen.putImageData(image, 0, 0);
    for (const i of important()) {
      pen.fillStyle = colourOf(map.cluster[i]);
      pen.strokeStyle = i === word || i === hover ? ink.text : ink.ground;
      pen.lineWidth = 1.5;
      pen.beginPath();
      pen.arc(toX(places[2 * i]), toY(places[2 * i + 1]), i === word ? r + 3 : r + 1.2, 0, 7);
      pen.fill();
      pen.stroke();
    }
  }

  /* Those that are drawn and named before all others. */
  function important() {
    const out = [];
    if (hover >= 0) out.push(hover);
    if (answer) out.push(answer.a, answer.b, answer.c, answer.d);
    if (word >= 0) out.push(word, ...(answer ? [] : neighbours(word)));
    if (chosen.size) for (const i of chosen) out.push(i);
    return [...new Set(out)];
  }

  const labelOf = (i) => (map.words[i].length > LABEL_MOST ? map.words[i].slice(0, LABEL_MOST - 1) + "…" : map.words[i]);

  function widthOf(pen, i) {
    if (!widths[i]) {
      pen.font = "10px system-ui, sans-serif";
      widths[i] = pen.measureText(labelOf(i)).width;
    }
    return widths[i];
  }

  /* Labels of visible points, the commonest first, that overlap none before them. Boxes are found
   * again by rows of the screen, so that each is compared with few. */
  function labels(pen) {
    const out = [], rows = new Map(), first = important(), bold = new Set(first), step = 20;
    const r = radiusNow(), most = (wide * high) / (view.scale < 1.5 ? 9000 : view.scale < 5 ? 6000 : 4200);
    const air = view.scale < 1.5 ? 7 : 4;
    const free = (b) => {
      for (let row = Math.floor(b.y / step); row <= Math.floor((b.y + b.h) / step); row++)
        for (const o of rows.get(row) || [])
          if (o.x < b.x + b.w && b.x < o.x + o.w && o.y < b.y + b.h && b.y < o.y + o.h) return false;
      return true;
    };
    const take = (b) => {
      for (let row = Math.floor(b.y / step); row <= Math.floor((b.y + b.h) / step); row++)
        rows.set(row, [...(rows.get(row) || []), b]);
    };
    const place = (i, size, must) => {
      const x = toX(places[2 * i]), y = toY(places[2 * i + 1]), w = (widthOf(pen, i) * size) / 10;
      if (x < 0 || x > wide || y < 0 || y > high) return;
      const box = (left, middle) => ({ x: left - air, y: middle - size * 0.6 - air / 2, w: w + 2 * air, h: size * 1.2 + air });
      const apart = size * 1.2 + air; // from one line to the next
      const right = x + r + 3, before = Math.max(2, x - r - 4 - w), fits = right + w + 1 <= wide - 2;
      const ways = [[fits ? right : before, y], ...(must ? [[before, y], [x - w / 2, y - apart], [x - w / 2, y + apart]] : [])];
      const b = ways.map(([left, middle]) => box(left, middle)).find(free) || (must ? box(...ways[0]) : null);
      if (!b) return;
      take(b);
      out.push({ i, text: labelOf(i), size, bold: bold.has(i), x: b.x + air, y: b.y + air / 2 + size * 0.96, w });
    };
    if (view.scale < 2.5 && !first.length && !morph) {
      pen.font = "700 15px system-ui, sans-serif";
      (map.layouts[layout].middles ||= middles(map.layouts[layout].places)).forEach((m, c) => {
        const text = (map.names[c] || []).slice(0, 2).join(", ");
        if (!m || !text || hidden.has(c)) return;
        const w = pen.measureText(text).width, x = Math.min(wide - w - 6, Math.max(6, toX(m.x) - w / 2));
        const b = { x: x - air, y: toY(m.y) - 10 - air, w: w + 2 * air, h: 20 + 2 * air };
        if (!free(b)) return;
        take(b);
        out.push({ cluster: c, text, size: 15, bold: true, x, y: toY(m.y) + 5, w });
      });
    }
    first.forEach((i) => place(i, i === word || (answer && [answer.a, answer.b, answer.c, answer.d].includes(i)) ? 16 : 13,
      i === hover || i === word || (answer && [answer.a, answer.b, answer.c, answer.d].includes(i))));
    if (morph) return out;
    const enough = out.length + most;
    for (let i = 0; i < n && out.length < enough; i++)
      if (!bold.has(i) && !hidden.has(map.cluster[i])) place(i, i < n / 50 ? 14 : i < n / 8 ? 12.5 : 11.5, false);
    return out;
  }

  function drawLabels(pen) {
    const faint = word >= 0 || answer || chosen.size > 0;
    const all = labels(pen);
    pen.lineJoin = "round";
    pen.textBaseline = "alphabetic";
    for (const pass of [false, true])
      for (const l of all) {
        if (l.bold !== pass) continue;
        pen.font = `${l.bold && (l.i === word || l.size > 14) ? 700 : l.bold ? 600 : 500} ${l.size}px system-ui, sans-serif`;
        pen.globalAlpha = l.bold ? 1 : faint ? 0.55 : 0.95;
        pen.lineWidth = l.cluster !== undefined ? 4 : 3;
        pen.strokeStyle = ink.ground;
        pen.strokeText(l.text, l.x, l.y);
        pen.fillStyle = l.cluster !== undefined ? colourOf(l.cluster) : ink.text;
        pen.fillText(l.text, l.x, l.y);
      }
    pen.globalAlpha = 1;
  }

  function draw() {
    const ratio = devicePixelRatio || 1, pen = canvas.getContext("2d");
    if (canvas.width !== Math.round(wide * ratio) || canvas.height !== Math.round(high * ratio)) {
      canvas.width = Math.round(wide * ratio);
      canvas.height = Math.round(high * ratio);
    }
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    drawPoints(pen, ratio);
    drawLines(pen);
    drawLabels(pen);
    frames++;
  }
  let frames = 0;

  /* ---- Choosing ---- */

  /* The nearest point that is shown, within so many pixels. */
  function at(x, y, reach) {
    const px = fromX(x), py = fromY(y), far = reach / (side() * view.scale), most = GRID - 1;
    const cell = (v) => Math.min(most, Math.max(0, Math.floor(v * GRID)));
    let best = -1, least = far * far;
    for (let cy = cell(py - far); cy <= cell(py + far); cy++)
      for (let c = cell(px - far) + GRID * cy; c <= cell(px + far) + GRID * cy; c++)
        for (let k = grid.start[c]; k < grid.start[c + 1]; k++) {
          const i = grid.ids[k], d = (places[2 * i] - px) ** 2 + (places[2 * i + 1] - py) ** 2;
          if (d < least && !hidden.has(map.cluster[i])) {
            least = d;
            best = i;
          }
        }
    return best;
  }

  /* A word to press, with the colour of its cluster. */
  function named(i, press = () => select(i, true)) {
    const dot = make("i", { class: "wm-dot" });
    dot.style.background = colourOf(map.cluster[i]);
    const b = button("", press, { class: "wm-name" });
    b.append(dot, map.words[i]);
    return b;
  }

  function showWord() {
    wordPart.hidden = word < 0;
    wordPart.replaceChildren();
    if (word < 0) return;
    const count = map.counts ? `${amount(map.counts[word])} times in the text, ` : "";
    const rows = neighbours(word).map((j, k) => {
      const cosine = map.near.cosines[word * map.near.k + k] / 255, bar = make("i");
      bar.style.width = 100 * cosine + "%";
      return make("tr", {}, make("td", {}, named(j)), make("td", { class: "wm-bar" }, bar), make("td", {}, cosine.toFixed(2)));
    });
    wordPart.append(
      make(section, {}, map.words[word], button("×", () => select(-1), { class: "wm-close", "aria-label": "Let go of the word" })),
      make("p", { class: "wm-quiet" }, `${count}number ${amount(word + 1)}`),
      make("table", {}, make("caption", {}, "Nearest by cosine, of the words here"),
        make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "word"), make("th", { scope: "col", colspan: "2" }, "cosine"))),
        make("tbody", {}, ...rows)));
  }

  function select(i, go = false, quiet = false) {
    word = i;
    answer = null;
    answerPart.replaceChildren();
    if (i >= 0) hidden.delete(map.cluster[i]);
    if (i >= 0 && go) fly(viewOf([i, ...neighbours(i).slice(0, 6)], map.layouts[layout].places));
    showWord();
    showLegend();
    if (i >= 0 && !quiet) say(`${map.words[i]}. Nearest: ${neighbours(i).slice(0, 5).map((j) => map.words[j]).join(", ")}.`);
    if (options.select && i >= 0 && !quiet) options.select(map.words[i]);
    redraw();
    remember();
  }

  function askAnalogy() {
    const said = ["a", "b", "c"].map((k) => analogyForm.elements[k].value.trim());
    const ids = said.map((w) => map.find.get(w) ?? map.find.get(w.toLowerCase()) ?? -1);
    const missing = said.filter((_, i) => ids[i] < 0);
    answer = null;
    if (missing.length) {
      answerPart.replaceChildren(make("p", { class: "wm-bad" }, missing.some((w) => !w) ? "Three words are wanted."
        : `${missing.join(", ")}: not among the ${amount(n)} words here.`));
      say(answerPart.textContent);
      redraw();
      return;
    }
    const best = analogy(map, ...ids, 5);
    showAnswer(ids, best, 0, true);
  }

  function showAnswer(ids, best, which, go) {
    answer = { a: ids[0], b: ids[1], c: ids[2], d: best[which].i };
    word = -1;
    showWord();
    answerPart.replaceChildren(make("ol", {}, ...best.map((x, k) => {
      const b = named(x.i, () => showAnswer(ids, best, k, true));
      b.setAttribute("aria-pressed", String(k === which));
      return make("li", {}, b, make("span", { class: "wm-quiet" }, x.score.toFixed(2)));
    })));
    say(`${map.words[ids[0]]} is to ${map.words[ids[1]]} as ${map.words[ids[2]]} is to ${map.words[answer.d]}.`);
    if (go) fly(viewOf([answer.a, answer.b, answer.c, answer.d], map.layouts[layout].places));
    redraw();
  }

  /* ---- The lasso ---- */

  function setLasso(on) {
    lassoing = on;
    lassoButton.setAttribute("aria-pressed", String(on));
    stage.classList.toggle("wm-lassoing", on);
  }

  function choose(polygon) {
    chosen = new Set();
    for (let i = 0; i < n; i++)
      if (!hidden.has(map.cluster[i]) && within(polygon, places[2 * i], places[2 * i + 1])) chosen.add(i);
    showChosen();
    say(`${chosen.size} words chosen.`);
  }

  /* What is seen, for those who cannot draw around it. */
  function chooseView() {
    const l = fromX(0), r = fromX(wide), t = fromY(0), b = fromY(high);
    lasso = null;
    choose([{ x: l, y: t }, { x: r, y: t }, { x: r, y: b }, { x: l, y: b }]);
  }

  function showChosen() {
    const words = [...chosen].map((i) => map.words[i]), shown = 300;
    lassoPart.hidden = words.length === 0;
    lassoPart.replaceChildren();
    redraw();
    if (!words.length) return;
    const text = make("p", { class: "wm-words", tabindex: "0", role: "group", "aria-label": "Words chosen" },
      words.slice(0, shown).join(" ") + (words.length > shown ? ` and ${amount(words.length - shown)} more` : ""));
    const done = button("Copy", async () => {
      await copy(words.join("\n"));
      say(`${words.length} words copied.`);
      done.textContent = "Copied";
    });
    lassoPart.append(make(section, {}, `${amount(words.length)} ${words.length === 1 ? "word" : "words"} chosen`,
      button("×", () => { chosen = new Set(); lasso = null; showChosen(); }, { class: "wm-close", "aria-label": "Let go of the words" })),
      text, make("div", { class: "wm-row" }, done, button("Zoom to them", () => fly(viewOf(chosen)))));
  }

  /* ---- Clusters and layouts ---- */

  function showLegend() {
    const focused = document.activeElement && document.activeElement.dataset.cluster;
    legend.replaceChildren(...map.names.map((names, c) => {
      const dot = make("i", { class: "wm-dot" });
      const b = button("", () => {
        if (hidden.has(c)) hidden.delete(c);
        else hidden.add(c);
        showLegend();
        redraw();
      }, { "aria-pressed": String(!hidden.has(c)), "data-cluster": c, title: hidden.has(c) ? "Show" : "Hide" });
      dot.style.background = colourOf(c);
      b.append(dot, make("span", {}, names.join(", ")), make("small", {}, amount(map.sizes[c])));
      return b;
    }));
    const only = word >= 0 ? map.cluster[word] : -1;
    legend.append(make("div", { class: "wm-row" },
      button("All", () => { hidden.clear(); showLegend(); redraw(); }, { disabled: hidden.size === 0 }),
      button("None", () => { map.names.forEach((_, c) => hidden.add(c)); showLegend(); redraw(); }),
      button("Only the word's", () => {
        map.names.forEach((_, c) => (c === only ? hidden.delete(c) : hidden.add(c)));
        showLegend();
        redraw();
      }, { disabled: only < 0 })));
    if (focused !== undefined && legend.children[focused]) legend.children[focused].focus();
  }

  function showLayouts() {
    const l = map.layouts[layout];
    layouts.replaceChildren(...map.layouts.map((x, i) => button(x.name, () => setLayout(i), { "aria-pressed": String(i === layout) })));
    about.textContent = `${amount(n)} of ${amount(data.all)} words, ${data.dim} dimensions. ` +
      `Of each word's 10 nearest ${Math.round(100 * l.kept)} % are nearest here too; trustworthiness ${l.trust.toFixed(2)}.`;
  }

  function setLayout(i) {
    if (i === layout) return;
    layout = i;
    morph = { from: places.slice(), began: performance.now() - (still() ? MORPH : 0) };
    chosen = new Set();
    lasso = null;
    showChosen();
    showLayouts();
    if (word >= 0) fly(viewOf([word, ...neighbours(word).slice(0, 6)], map.layouts[layout].places));
    else if (answer) fly(viewOf([answer.a, answer.b, answer.c, answer.d], map.layouts[layout].places));
    say(`Layout: ${map.layouts[i].name}.`);
    redraw();
    remember();
  }

  /* ---- Search ---- */

  let found = [], marked = -1;

  function complete() {
    const typed = search.value.trim().toLowerCase();
    found = [];
    if (typed) {
      const exact = map.find.get(search.value.trim()) ?? map.find.get(typed);
      if (exact !== undefined) found.push(exact);
      for (const test of [(w) => w.startsWith(typed), (w) => w.includes(typed)])
        for (let i = 0; i < n && found.length < 8; i++)
          if (test(map.words[i].toLowerCase()) && !found.includes(i)) found.push(i);
    }
    marked = found.length ? 0 : -1;
    showFound();
    if (typed && !found.length) say(`No word here has ${typed}.`);
  }

  function showFound() {
    list.hidden = found.length === 0;
    search.setAttribute("aria-expanded", String(found.length > 0));
    if (marked >= 0 && found.length) search.setAttribute("aria-activedescendant", `${id}-o${marked}`);
    else search.removeAttribute("aria-activedescendant");
    list.replaceChildren(...found.map((i, k) => {
      const dot = make("i", { class: "wm-dot" });
      dot.style.background = colourOf(map.cluster[i]);
      return make("li", { role: "option", id: `${id}-o${k}`, "aria-selected": String(k === marked),
        onpointerdown: (e) => { e.preventDefault(); pick(k); } }, dot, map.words[i]);
    }));
  }

  function pick(k) {
    const i = found[k];
    if (i === undefined) return;
    search.value = map.words[i];
    found = [];
    showFound();
    select(i, true);
  }

  search.addEventListener("input", complete);
  search.addEventListener("blur", () => { found = []; showFound(); });
  search.addEventListener("keydown", (e) => {
    if (e.key === "ArrowDown" || e.key === "ArrowUp") {
      if (!found.length) complete();
      marked = found.length ? (marked + (e.key === "ArrowDown" ? 1 : found.length - 1)) % found.length : -1;
      showFound();
      e.preventDefault();
    } else if (e.key === "Enter") {
      if (!found.length) complete();
      pick(marked);
      e.preventDefault();
    } else if (e.key === "Escape") {
      found = [];
      showFound();
    }
  });

  /* ---- Hands ---- */

  const fingers = new Map();
  let moved = false;
  const inside = (e) => {
    const box = canvas.getBoundingClientRect();
    return { x: e.clientX - box.left, y: e.clientY - box.top };
  };

  canvas.addEventListener("pointerdown", (e) => {
    const p = inside(e);
    canvas.setPointerCapture(e.pointerId);
    fingers.set(e.pointerId, p);
    moved = false;
    flight = null;
    if (fingers.size === 1 && (lassoing || e.shiftKey)) lasso = [{ x: fromX(p.x), y: fromY(p.y) }];
    else if (fingers.size > 1) lasso = null;
  });

  canvas.addEventListener("pointermove", (e) => {
    const now = inside(e), before = fingers.get(e.pointerId);
    if (!before) {
      point(now);
      return;
    }
    if (!moved && Math.hypot(now.x - before.x, now.y - before.y) < 3) return;
    moved = true;
    tip.hidden = true;
    const other = [...fingers].find(([k]) => k !== e.pointerId);
    if (lasso && fingers.size === 1 && (lassoing || e.shiftKey || lasso.length > 1)) {
      lasso.push({ x: fromX(now.x), y: fromY(now.y) });
      redraw();
    } else if (!other) {
      const f = side() * view.scale;
      setView({ ...view, x: view.x - (now.x - before.x) / f, y: view.y - (now.y - before.y) / f });
    } else {
      const o = other[1], far = (p) => Math.max(10, Math.hypot(p.x - o.x, p.y - o.y));
      zoomBy(far(now) / far(before), (now.x + o.x) / 2, (now.y + o.y) / 2);
    }
    fingers.set(e.pointerId, now);
  });

  function point(p) {
    const i = at(p.x, p.y, 12);
    canvas.style.cursor = lassoing ? "crosshair" : i >= 0 ? "pointer" : "grab";
    if (i === hover) return;
    hover = i;
    redraw();
  }

  canvas.addEventListener("pointerup", (e) => {
    const p = inside(e), drawn = lasso && lasso.length > 2;
    fingers.delete(e.pointerId);
    if (drawn) {
      choose(lasso);
      setLasso(false);
    } else if (!moved && fingers.size === 0) {
      const i = at(p.x, p.y, e.pointerType === "touch" ? 22 : 12);
      if (i >= 0) select(i);
      else if (word >= 0 || answer) select(-1);
    }
    if (!drawn) lasso = chosen.size ? lasso : null;
    redraw();
  });
  canvas.addEventListener("pointercancel", (e) => { fingers.delete(e.pointerId); lasso = null; redraw(); });
  canvas.addEventListener("pointerleave", () => { if (hover >= 0) { hover = -1; redraw(); } });
  canvas.addEventListener("dblclick", (e) => { const p = inside(e); zoomBy(2, p.x, p.y); });
  canvas.addEventListener("wheel", (e) => {
    const p = inside(e), unit = e.deltaMode === 1 ? 20 : 1;
    e.preventDefault();
    zoomBy(Math.exp(-Math.max(-300, Math.min(300, e.deltaY * unit)) * (e.ctrlKey ? 0.01 : 0.0016)), p.x, p.y);
  }, { passive: false });

  canvas.addEventListener("keydown", (e) => {
    const step = 60 / (side() * view.scale), go = (dx, dy) => { flight = null; setView({ ...view, x: view.x + dx * step, y: view.y + dy * step }); };
    const does = { "+": () => zoomBy(1.3), "=": () => zoomBy(1.3), "-": () => zoomBy(1 / 1.3),
      0: () => fly({ x: 0.5, y: 0.5, scale: NEAREST }), l: () => setLasso(!lassoing), v: chooseView,
      ArrowLeft: () => go(-1, 0), ArrowRight: () => go(1, 0), ArrowUp: () => go(0, -1), ArrowDown: () => go(0, 1),
      Enter: () => { const i = at(wide / 2, high / 2, Math.max(wide, high)); if (i >= 0) select(i); },
      Escape: () => { chosen = new Set(); lasso = null; setLasso(false); showChosen(); select(-1); } }[e.key];
    if (!does || e.ctrlKey || e.metaKey || e.altKey) return;
    e.preventDefault();
    does();
  });

  /* ---- Where one is, in the address ---- */

  let later = 0;
  function remember() {
    if (!useHash) return;
    clearTimeout(later);
    later = setTimeout(() => {
      const state = new URLSearchParams({ layout: map.layouts[layout].name, x: view.x.toFixed(4), y: view.y.toFixed(4), zoom: view.scale.toFixed(2) });
      if (word >= 0) state.set("word", map.words[word]);
      try {
        history.replaceState(null, "", "#" + state);
      } catch { /* a page within another may not */ }
    }, 250);
  }

  function recall() {
    if (!useHash || location.hash.length < 2) return;
    const state = new URLSearchParams(location.hash.slice(1)), number = (k, or) => (state.has(k) && isFinite(+state.get(k)) ? +state.get(k) : or);
    const i = map.layouts.findIndex((l) => l.name === state.get("layout"));
    if (i > 0) {
      layout = i;
      places.set(map.layouts[i].places);
      grid = gridOf(places, n);
      showLayouts();
    }
    const w = map.find.get(state.get("word"));
    if (w !== undefined) select(w, !state.has("zoom"), true);
    if (state.has("zoom")) setView({ x: number("x", 0.5), y: number("y", 0.5), scale: number("zoom", 1) });
  }

  /* ---- Files ---- */

  const file = () => (data.title.replace(/\.[a-z0-9]+$/i, "").replace(/[^\w-]+/g, "-") || "words") + "-" + map.layouts[layout].name.toLowerCase();

  function savePng() {
    draw();
    canvas.toBlob((blob) => save(blob, file() + ".png"), "image/png");
  }

  function saveSvg() {
    const esc = (t) => t.replace(/[<>&"']/g, (c) => `&#${c.charCodeAt(0)};`).replace(/[\u0000-\u001f]/g, " ");
    const f = (x) => x.toFixed(1), r = f(radiusNow()), out = [];
    for (let i = n - 1; i >= 0; i--) {
      const x = toX(places[2 * i]), y = toY(places[2 * i + 1]);
      if (x < 0 || x > wide || y < 0 || y > high || hidden.has(map.cluster[i])) continue;
      out.push(`<circle cx="${f(x)}" cy="${f(y)}" r="${r}" fill="${colourOf(map.cluster[i])}" fill-opacity=".85"/>`);
    }
    for (const [a, b] of answer ? [[answer.a, answer.b], [answer.c, answer.d]] : word >= 0 ? neighbours(word).map((j) => [word, j]) : [])
      out.push(`<line x1="${f(toX(places[2 * a]))}" y1="${f(toY(places[2 * a + 1]))}" x2="${f(toX(places[2 * b]))}" y2="${f(toY(places[2 * b + 1]))}" stroke="${ink.accent}"/>`);
    for (const l of labels(canvas.getContext("2d")))
      out.push(`<text x="${f(l.x)}" y="${f(l.y)}" font-size="${l.size}" font-weight="${l.bold ? 700 : 400}" paint-order="stroke" stroke="${ink.ground}" stroke-width="3"${l.cluster !== undefined ? ` fill="${colourOf(l.cluster)}"` : ""}>${esc(l.text)}</text>`);
    save(new Blob([`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${f(wide)} ${f(high)}" font-family="system-ui, sans-serif" fill="${ink.text}">\n` +
      `<rect width="100%" height="100%" fill="${ink.ground}"/>\n${out.join("\n")}\n</svg>\n`], { type: "image/svg+xml" }), file() + ".svg");
  }

  const plain = (text) => text.replace(/[\u0000-\u001f]/g, " "); // what would end a field
  const saveText = (lines, name) => save(new Blob([lines.join("\n") + "\n"], { type: "text/tab-separated-values" }), name);

  function saveTsv() {
    const lines = ["word\tx\ty\tcluster"];
    for (let i = 0; i < n; i++)
      lines.push([plain(map.words[i]), places[2 * i].toFixed(5), (1 - places[2 * i + 1]).toFixed(5), map.cluster[i] + 1].join("\t"));
    saveText(lines, file() + ".tsv");
  }

  /* As TensorBoard's projector reads them: rows of numbers, here of length 1, and a table of what
   * they are. */
  function saveVectors() {
    const { dim, at } = map.vectors, lines = [];
    for (let i = 0; i < n; i++) {
      const row = Array.from(at.subarray(i * dim, (i + 1) * dim)), length = Math.hypot(...row) || 1;
      lines.push(row.map((x) => (x / length).toFixed(4)).join("\t"));
    }
    saveText(lines, "vectors.tsv");
  }

  function saveMetadata() {
    const name = (c) => plain((map.names[c] || [])[0] || "");
    saveText(["word\tcount\tcluster", ...map.words.map((w, i) =>
      [plain(w), map.counts ? map.counts[i] : 0, `${map.cluster[i] + 1} ${name(map.cluster[i])}`].join("\t"))], "metadata.tsv");
  }

  /* ---- Begin ---- */

  const watcher = new ResizeObserver(() => {
    wide = Math.max(50, stage.clientWidth);
    high = Math.max(50, stage.clientHeight);
    redraw();
  });
  watcher.observe(stage);
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const print = (on) => () => { paper = on; dress(); advance(performance.now()); draw(); };
  const before = print(true), after = print(false);
  dark.addEventListener("change", dress);
  addEventListener("beforeprint", before);
  addEventListener("afterprint", after);
  if (useHash) addEventListener("hashchange", recall);
  wide = Math.max(50, stage.clientWidth);
  high = Math.max(50, stage.clientHeight);
  showLayouts();
  dress();
  recall();

  return {
    /* The word is shown, with its neighbours; false: it is not here. */
    select(text) {
      const i = map.find.get(text);
      if (i === undefined) return false;
      search.value = text;
      select(i, true, true);
      return true;
    },
    /* a is to b as c is to d, as two arrows; false: one of them is not here. */
    showAnalogy(...four) {
      const [a, b, c, d] = four.map((w) => map.find.get(w) ?? -1);
      if ([a, b, c, d].includes(-1)) return false;
      word = -1;
      answer = { a, b, c, d };
      fly(viewOf([a, b, c, d], map.layouts[layout].places));
      redraw();
      return true;
    },
    /* For tests: how often it was drawn, and what is where. */
    state: () => ({ frames, view, word: map.words[word], layout: map.layouts[layout].name, chosen: [...chosen].map((i) => map.words[i]),
      answer: answer && map.words[answer.d], moving: Boolean(flight || morph), labels: labels(canvas.getContext("2d"))
        .map((l) => ({ text: l.text, x: l.x, y: l.y, w: l.w, h: l.size })) }),
    place(text) {
      const i = map.find.get(text);
      return { x: toX(places[2 * i]), y: toY(places[2 * i + 1]) };
    },
    setView,
    drawNow: draw,
    end() {
      watcher.disconnect();
      dark.removeEventListener("change", dress);
      removeEventListener("beforeprint", before);
      removeEventListener("afterprint", after);
      if (useHash) removeEventListener("hashchange", recall);
      root.replaceChildren();
    },
  };
}

const own = document.getElementById("map-data");
if (own) window.wordMap = mount(document.getElementById("map-page"), JSON.parse(own.textContent));
