/* What a person does on a map of words, and what must then be seen. Prints TAP. */
"use strict";
const { chromium } = require("playwright-core");
const { spawnSync } = require("node:child_process");
const fs = require("node:fs");
const path = require("node:path");
const { check, plan } = require("./tap.js");

const [out, shoal] = process.argv.slice(2);
const axe = fs.readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

const state = (page) => page.evaluate(() => window.wordMap.state());
const rest = async (page) => {
  await page.waitForFunction(() => !window.wordMap.state().moving);
  await page.waitForTimeout(60);
};

async function open(browser, file, options) {
  const context = await browser.newContext({ acceptDownloads: true, ...options });
  const page = await context.newPage(), outside = [], errors = [];
  page.on("request", (r) => { if (!/^(file|data|blob):/.test(r.url())) outside.push(r.url()); });
  page.on("pageerror", (e) => errors.push(String(e)));
  page.on("console", (m) => { if (m.type() === "error") errors.push(m.text()); });
  await page.goto("file://" + path.join(out, file));
  await page.waitForFunction(() => window.wordMap);
  await page.waitForTimeout(200);
  return { page, context, outside, errors };
}

/* By the protocol of the browser's tools: the page's own policy lets no script in. */
async function violations(page) {
  await page.evaluate(axe);
  const found = await page.evaluate(() => window.axe.run());
  return found.violations.map((v) => [v.id, v.nodes.slice(0, 3).map((n) => n.html.slice(0, 120))]);
}

/* Lines of a drawing that are no rims of points. */
const strokes = (page) => page.evaluate(() => {
  const p = CanvasRenderingContext2D.prototype, { stroke, arc, beginPath } = p;
  let lines = 0, round = false;
  p.beginPath = function (...a) { round = false; return beginPath.apply(this, a); };
  p.arc = function (...a) { round = true; return arc.apply(this, a); };
  p.stroke = function (...a) { lines += round ? 0 : 1; return stroke.apply(this, a); };
  window.wordMap.drawNow();
  Object.assign(p, { stroke, arc, beginPath });
  return lines;
});

/* Labels that touch another. */
function overlaps(labels) {
  const found = [];
  labels.forEach((a, i) => labels.slice(i + 1).forEach((b) => {
    const wide = Math.min(a.x + a.w, b.x + b.w) - Math.max(a.x, b.x), high = Math.min(a.y, b.y) - Math.max(a.y - a.h, b.y - b.h);
    if (wide > 1 && high > 2) found.push([a.text, b.text]);
  }));
  return found;
}

async function desktop(browser, scheme) {
  const { page, context, outside, errors } = await open(browser, "map.html", { viewport: { width: 1280, height: 860 }, colorScheme: scheme });
  const { words, dim } = await page.evaluate(() => {
    const data = JSON.parse(document.getElementById("map-data").textContent);
    return { words: data.words, dim: data.vectors.dim };
  });
  const first = await state(page);
  check(`${scheme}: labels are there and none overlaps another`, first.labels.length > 20 && overlaps(first.labels).length === 0, overlaps(first.labels));
  await page.screenshot({ path: path.join(out, `map-${scheme}.png`) });
  check(`${scheme}: words have the colour of their cluster`, await page.evaluate(() => {
    const rgb = (text) => text.match(/\d+/g).slice(0, 3).join();
    const dots = [...document.querySelectorAll(".wm-legend .wm-dot")].map((dot) => rgb(getComputedStyle(dot).backgroundColor));
    const canvas = document.querySelector("canvas"), px = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data, seen = new Set();
    for (let i = 0; i < px.length; i += 4) seen.add([px[i] & ~3, px[i + 1] & ~3, px[i + 2] & ~3].join());
    const near = (a, b) => a.split(",").every((x, i) => Math.abs(x - b.split(",")[i]) < 28); // points are a little pale
    return dots.length === 12 && new Set(dots).size === 12 && dots.every((d) => [...seen].some((x) => near(x, d)));
  }));
  check(`${scheme}: axe finds nothing`, (await violations(page)).length === 0, await violations(page));
  const idle = (await state(page)).frames;
  await page.waitForTimeout(300);
  check(`${scheme}: nothing is drawn while nothing changes`, (await state(page)).frames === idle);

  const word = words.includes("king") ? "king" : words[Math.min(40, words.length - 1)];
  await page.fill("[role=combobox]", word.slice(0, -1));
  check(`${scheme}: a word begun is completed`, (await page.locator("[role=option]").allTextContents()).includes(word));
  await page.fill("[role=combobox]", word);
  await page.keyboard.press("Enter");
  await rest(page);
  let now = await state(page);
  check(`${scheme}: search flies to the word`, now.word === word && now.view.scale > 1.2, now.view);
  const place = await page.evaluate((w) => window.wordMap.place(w), word);
  check(`${scheme}: it is on the screen`, place.x > 0 && place.x < 950 && place.y > 0 && place.y < 860, place);
  check(`${scheme}: lines lead to its ten nearest`, await strokes(page) >= 10, await strokes(page));
  check(`${scheme}: its ten nearest stand in a table`, await page.locator(".wm-word tbody tr").count() === 10);
  check(`${scheme}: they are said to whoever listens`, new RegExp("^" + word + "\\. Nearest: ").test(await page.textContent("[role=status]")));
  check(`${scheme}: zoomed in, other labels appear`, now.labels.some((l) => !first.labels.some((f) => f.text === l.text)));
  await page.screenshot({ path: path.join(out, `map-${scheme}-word.png`) });
  check(`${scheme}: axe finds nothing with a word chosen`, (await violations(page)).length === 0, await violations(page));
  check(`${scheme}: the address says where one is`, await page.waitForFunction((w) => new URLSearchParams(location.hash.slice(1)).get("word") === w, word).then(() => true, () => false));
  await page.locator(".wm-word tbody button").first().click();
  check(`${scheme}: a neighbour can be followed`, (await state(page)).word !== word);

  await page.click(".wm-close");
  const chip = page.locator(".wm-chips button").first(), three = await chip.count() ? (await chip.textContent()).split(/ :+ /).slice(0, 3) : words.slice(10, 13);
  for (const [i, k] of ["a", "b", "c"].entries()) await page.fill(`.wm-analogy [name=${k}]`, three[i]);
  await page.click(".wm-analogy button");
  await rest(page);
  now = await state(page);
  check(`${scheme}: an analogy is answered and drawn as two lines`, await strokes(page) === 2 && now.answer && !three.includes(now.answer) && await page.locator(".wm-answer li").count() === 5, now.answer);
  await page.screenshot({ path: path.join(out, `map-${scheme}-analogy.png`) });
  await page.fill(".wm-analogy [name=a]", "no such word");
  await page.click(".wm-analogy button");
  check(`${scheme}: a word that is not here is named`, /no such word: not among/.test(await page.textContent(".wm-answer")));

  const before = await page.evaluate((w) => window.wordMap.place(w), word);
  await page.click(".wm-zoom >> text=Whole map");
  await rest(page);
  await page.click(".wm-switch button:nth-child(2)");
  await page.waitForTimeout(450);
  check(`${scheme}: on their way to the other layout points move`, (await state(page)).moving);
  await rest(page);
  check(`${scheme}: then they are elsewhere`, (await state(page)).layout === "PCA" && JSON.stringify(before) !== JSON.stringify(await page.evaluate((w) => window.wordMap.place(w), word)));
  await page.screenshot({ path: path.join(out, `map-${scheme}-pca.png`) });
  await page.click(".wm-switch button:nth-child(1)");
  await rest(page);

  await page.locator("canvas").focus();
  const plain = (await state(page)).view;
  await page.keyboard.press("+");
  await page.keyboard.press("ArrowRight");
  now = (await state(page)).view;
  check(`${scheme}: keys zoom and move`, now.scale > plain.scale && now.x > plain.x, [plain, now]);
  await page.keyboard.press("Enter");
  check(`${scheme}: Enter chooses the word in the middle`, Boolean((await state(page)).word));
  await page.keyboard.press("Escape");
  await page.keyboard.press("0");
  await rest(page);
  check(`${scheme}: Escape lets go, 0 shows all`, !(await state(page)).word && (await state(page)).view.scale === 1);
  await page.mouse.move(400, 400);
  await page.mouse.wheel(0, -400);
  check(`${scheme}: the wheel zooms`, (await state(page)).view.scale > 1.3);
  await page.mouse.down();
  await page.mouse.move(300, 350, { steps: 4 });
  await page.mouse.up();
  check(`${scheme}: dragging moves`, (await state(page)).view.x > 0.45);

  await page.keyboard.press("0");
  await rest(page);
  await page.click(".wm-zoom >> text=Lasso");
  await page.mouse.move(300, 250);
  await page.mouse.down();
  for (const [x, y] of [[600, 250], [600, 550], [300, 550], [300, 260]]) await page.mouse.move(x, y, { steps: 5 });
  await page.mouse.up();
  now = await state(page);
  check(`${scheme}: a lasso chooses the words within`, now.chosen.length > 5 && /chosen/.test(await page.textContent(".wm-chosen")), now.chosen.length);
  const wrong = await page.evaluate((chosen) => chosen.filter((w) => { const p = window.wordMap.place(w); return p.x < 295 || p.x > 605 || p.y < 245 || p.y > 555; }), now.chosen);
  check(`${scheme}: and no others`, wrong.length === 0, wrong);
  await page.screenshot({ path: path.join(out, `map-${scheme}-lasso.png`) });
  check(`${scheme}: axe finds nothing with words chosen`, (await violations(page)).length === 0, await violations(page));
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.click(".wm-chosen >> text=Copy");
  check(`${scheme}: the list is copied`, (await page.evaluate(() => navigator.clipboard.readText())).split("\n").length === now.chosen.length);

  await page.locator("canvas").focus();
  await page.keyboard.press("Escape");
  await page.locator("canvas").focus();
  await page.keyboard.press("+");
  await page.keyboard.press("v");
  now = await state(page);
  const seen = await page.evaluate((all) => all.filter((w) => { const p = window.wordMap.place(w), c = document.querySelector("canvas");
    return p.x > 0 && p.y > 0 && p.x < c.clientWidth && p.y < c.clientHeight; }), words);
  check(`${scheme}: a key chooses all that is in view`, seen.length < words.length && now.chosen.length === seen.length, [now.chosen.length, seen.length]);
  await page.keyboard.press("Escape");
  await page.keyboard.press("0");
  await rest(page);
  const shown = (await state(page)).labels.length;
  await page.click(".wm-legend >> text=None");
  check(`${scheme}: without clusters no labels are left`, (await state(page)).labels.length === 0);
  await page.locator(".wm-legend button").first().click();
  const some = (await state(page)).labels.length;
  check(`${scheme}: one cluster shows some`, some > 0 && some < shown, [some, shown]);
  await page.click(".wm-legend >> text=All");

  for (const [kind, begins] of [["PNG", "\x89PNG"], ["SVG", "<svg"], ["TSV", "word\tx\ty\tcluster"]]) {
    const [file] = await Promise.all([page.waitForEvent("download"), page.click(`.wm-save >> text=${kind}`)]);
    const saved = fs.readFileSync(await file.path());
    check(`${scheme}: it is saved as ${kind}`, saved.toString("latin1").startsWith(begins) && file.suggestedFilename().endsWith(kind.toLowerCase()), file.suggestedFilename());
    if (kind === "TSV") check(`${scheme}: the table has a line for each word`, saved.toString().trim().split("\n").length === words.length + 1);
  }
  for (const [name, lines, columns] of [["vectors.tsv", words.length, dim], ["metadata.tsv", words.length + 1, 3]]) {
    const [file] = await Promise.all([page.waitForEvent("download"), page.click(`.wm-save >> text=${name}`)]);
    const rows = fs.readFileSync(await file.path(), "utf8").replace(/\n$/, "").split("\n").map((line) => line.split("\t"));
    check(`${scheme}: TensorBoard's projector gets ${name}, a line for each word`, file.suggestedFilename() === name
      && rows.length === lines && rows.every((row) => row.length === columns), [rows.length, rows[0].length]);
    if (name === "vectors.tsv") check(`${scheme}: its rows have length 1`, rows.every((row) => Math.abs(Math.hypot(...row.map(Number)) - 1) < 0.01));
    else check(`${scheme}: its names are the words, in the same order`, rows.slice(1).every((row, i) => row[0] === words[i]));
  }
  await page.goto(page.url().replace(/#.*/, "") + `#layout=PCA&word=${encodeURIComponent(word)}&x=0.5&y=0.5&zoom=2`);
  await page.reload();
  await page.waitForFunction(() => window.wordMap);
  now = await state(page);
  check(`${scheme}: an address leads back`, now.layout === "PCA" && now.word === word && now.view.scale === 2, now.view);
  check(`${scheme}: nothing is asked of anybody`, outside.length === 0, outside);
  check(`${scheme}: no script fails`, errors.length === 0, errors);
  if (scheme === "dark") {
    await page.pdf({ path: path.join(out, "map.pdf"), preferCSSPageSize: true });
    check("it can be printed", fs.statSync(path.join(out, "map.pdf")).size > 10000);
    await page.emulateMedia({ media: "print", colorScheme: "dark" });
    check("paper stays white", (await page.evaluate(() => getComputedStyle(document.getElementById("map-page")).backgroundColor)) === "rgb(255, 255, 255)");
  }
  await context.close();
}

async function phone(browser, scheme) {
  const { page, context, errors } = await open(browser, "map.html", { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, hasTouch: true, isMobile: true, colorScheme: scheme });
  const wide = await page.evaluate(() => document.documentElement.scrollWidth);
  check(`phone, ${scheme}: nothing is wider than the screen`, wide <= 390, wide);
  const small = await page.evaluate(() => [...document.querySelectorAll("button, input")].filter((b) => b.offsetParent && b.offsetHeight < 38).map((b) => b.outerHTML.slice(0, 80)));
  check(`phone, ${scheme}: what is pressed is large enough for a finger`, small.length === 0, small);
  await page.screenshot({ path: path.join(out, `map-phone-${scheme}.png`) });
  const target = (await state(page)).labels.map((l) => l.text).find((t) => !t.includes(","));
  const at = await page.evaluate((w) => window.wordMap.place(w), target);
  await page.touchscreen.tap(at.x, at.y);
  check(`phone, ${scheme}: a finger chooses a word`, Boolean((await state(page)).word));
  const tools = await context.newCDPSession(page), before = (await state(page)).view.scale;
  const touch = (type, gap) => tools.send("Input.dispatchTouchEvent", { type, touchPoints: type === "touchEnd" ? [] : [{ x: 195 - gap, y: 250, id: 1 }, { x: 195 + gap, y: 250, id: 2 }] });
  await touch("touchStart", 30);
  for (const gap of [40, 60, 80, 100]) await touch("touchMove", gap);
  await touch("touchEnd", 0);
  check(`phone, ${scheme}: two fingers zoom`, (await state(page)).view.scale > 1.5 * before, [before, (await state(page)).view.scale]);
  check(`phone, ${scheme}: axe finds nothing`, (await violations(page)).length === 0, await violations(page));
  check(`phone, ${scheme}: no script fails`, errors.length === 0, errors);
  await page.screenshot({ path: path.join(out, `map-phone-${scheme}-word.png`), fullPage: true });
  await context.close();
}

async function keyboard(browser) {
  const { page, context } = await open(browser, "map.html", { viewport: { width: 1000, height: 800 } });
  const seen = new Set();
  for (let i = 0; i < 40; i++) {
    await page.keyboard.press("Tab");
    seen.add(await page.evaluate(() => document.activeElement.getAttribute("role") || document.activeElement.name || document.activeElement.textContent));
  }
  check("keyboard: Tab reaches map, view, layouts, search, analogy, clusters and files",
    ["application", "Lasso", "PCA", "combobox", "a", "PNG", "TSV", "None"].every((x) => seen.has(x)), [...seen]);
  await context.close();
}

/* Ten thousand words of a hundred dimensions, laid out by shoal; the page of the last is used below.
 * Other programs hold it up: it is judged by what two cores would take that nobody else works on. */
function layouts() {
  for (const method of ["tsne", "umap"]) {
    const began = performance.now();
    const made = spawnSync("sh", ["-c", '"$0" "$@"; times', shoal, "map", path.join(out, "many.shoal"), "--words", "10000", "--method", method,
      "--threads", "2", "--output", path.join(out, "map-10000.html")], { encoding: "utf8" });
    const took = (performance.now() - began) / 1000, said = made.stdout + made.stderr, [, , user, system] = said.match(/\d+m[\d.]+s/g);
    const seconds = (text) => 60 * parseInt(text, 10) + parseFloat(text.split("m")[1]);
    const alone = Math.min(took, (seconds(user) + seconds(system)) / 2), trust = /([\d.]+)\s+trustworthiness/.exec(said);
    console.log(`# ${method} of 10,000 x 100: ${took.toFixed(1)} s, on two cores alone ${alone.toFixed(1)} s, trustworthiness ${trust && trust[1]}`);
    check(`${method} of 10,000 x 100 takes less than 20 s of two cores`, alone < 20, alone);
    check(`${method}: its trustworthiness is printed`, trust && Number(trust[1]) > 0.8 && Number(trust[1]) <= 1, said);
  }
  const data = /id="map-data">([^]*?)<\/script>/.exec(fs.readFileSync(path.join(out, "map-10000.html"), "utf8"));
  check("the page has ten thousand words", JSON.parse(data[1]).words.length === 10000);
}

/* What a frame of ten thousand points asks of the canvas: counted, since speed is of the machine. */
async function work(browser) {
  const { page, context } = await open(browser, "map-10000.html", { viewport: { width: 1280, height: 860 } });
  const calls = await page.evaluate(() => {
    const kinds = ["fill", "stroke", "fillText", "strokeText", "measureText", "putImageData", "getImageData"], p = CanvasRenderingContext2D.prototype;
    const all = Object.fromEntries(kinds.map((k) => [k, 0]));
    for (const k of kinds) { const own = p[k]; p[k] = function (...a) { all[k]++; return own.apply(this, a); }; }
    for (let i = 0; i < 20; i++) {
      window.wordMap.setView({ x: 0.3 + i / 50, y: 0.5, scale: 1.5 });
      window.wordMap.drawNow();
    }
    return Object.fromEntries(kinds.map((k) => [k, all[k] / 20]));
  });
  console.log(`# 10,000 words: calls of the canvas a frame ${JSON.stringify(calls)}`);
  check("10,000 words: a frame has few paths and labels, whatever the points",
    calls.fill + calls.stroke < 400 && calls.fillText + calls.strokeText < 600 && calls.getImageData === 0, calls);
  await context.close();
}

/* How long frames of a walk over ten thousand points take, by the browser's own timing: the drawing
 * itself, and between frames. Half of them are judged: other programs hold up the rest. */
async function pace(browser) {
  const { page, context } = await open(browser, "map-10000.html", { viewport: { width: 1280, height: 860 } });
  for (const [way, walk] of [["panned over", "scale: 1.5"], ["panned and zoomed", "scale: 1 + (i % 60) / 20"]]) {
    const took = await page.evaluate(`new Promise((done) => {
      const drawn = [], apart = [];
      let i = 0, last = 0;
      function step(now) {
        if (last) apart.push(now - last);
        last = now;
        const t = performance.now();
        window.wordMap.setView({ x: 0.5 + 0.2 * Math.sin(i / 20), y: 0.5 + 0.2 * Math.cos(i / 20), ${walk} });
        window.wordMap.drawNow();
        drawn.push(performance.now() - t);
        if (++i < 180) requestAnimationFrame(step);
        else done({ drawn: drawn.sort((a, b) => a - b), apart: apart.sort((a, b) => a - b) });
      }
      requestAnimationFrame(step);
    })`);
    const at = (list, share) => list[Math.floor(share * (list.length - 1))];
    console.log(`# 10,000 words ${way}: a frame is drawn in ${at(took.drawn, 0.5).toFixed(1)} ms, 95 % in ${at(took.drawn, 0.95).toFixed(1)}; ` +
      `between frames ${at(took.apart, 0.5).toFixed(1)} ms, 95 % ${at(took.apart, 0.95).toFixed(1)}`);
    check(`ten thousand words are ${way} at 60 frames a second`, at(took.apart, 0.5) < 1000 / 59 && at(took.drawn, 0.5) < 1000 / 60, at(took.apart, 0.5));
  }
  await context.close();
}

(async () => {
  layouts();
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM || "/usr/bin/chromium", args: ["--no-sandbox"] });
  try {
    for (const scheme of ["light", "dark"]) {
      await desktop(browser, scheme);
      await phone(browser, scheme);
    }
    await keyboard(browser);
    await work(browser);
    await pace(browser);
  } finally {
    await browser.close();
  }
  check("the page has a picture in its tab", /rel="icon" href="data:image\/svg/.test(fs.readFileSync(path.join(out, "map.html"), "utf8")));
  const size = fs.statSync(path.join(out, "map.html")).size;
  check("the file of 5,000 words is below 2 MB", size < 2e6, size);
  plan();
})();
