/* What the pages of studies and runs look like: nothing overlaps or is cut off, every
 * axis is named, points answer, nothing is asked of anybody. Prints TAP. */
"use strict";
const { chromium } = require("playwright-core");
const fs = require("node:fs");
const path = require("node:path");
const { check, plan } = require("./tap.js");
const axe = fs.readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

const out = process.argv[2], only = process.argv.slice(3); /* pages; none: all */

/* "study/report.html" -> "study-report-light.png" */
function picture(file, end) {
  return path.join(out, `${file.replace(".html", "").replace("/", "-")}-${end}`);
}

/* Texts of one figure that touch each other, or leave it. What scripts drew anew is hidden. */
function troubles() {
  const found = [];
  for (const svg of document.querySelectorAll("svg.fig")) {
    const box = svg.getBoundingClientRect();
    if (box.width === 0) continue;
    const texts = [...svg.querySelectorAll("text")].map((t) => ({ said: t.textContent, b: t.getBoundingClientRect() }));
    for (const t of texts)
      if (t.b.left < box.left - 1 || t.b.right > box.right + 1 || t.b.top < box.top - 1 || t.b.bottom > box.bottom + 1)
        found.push(["outside", svg.getAttribute("aria-label"), t.said]);
    texts.forEach((a, i) => texts.slice(i + 1).forEach((b) => {
      const wide = Math.min(a.b.right, b.b.right) - Math.max(a.b.left, b.b.left);
      const high = Math.min(a.b.bottom, b.b.bottom) - Math.max(a.b.top, b.b.top);
      if (wide > 1 && high > 3) found.push(["overlap", svg.getAttribute("aria-label"), a.said, b.said]);
    }));
  }
  return found;
}

/* Charts whose plot has no line, or an axis without a name. */
function nameless() {
  return [...document.querySelectorAll("svg.fig")].filter((svg) => {
    if (svg.getBoundingClientRect().width === 0 || svg.closest(".wide")) return false;
    const bars = svg.querySelector("rect.b"), y = svg.querySelector("text[transform]");
    const line = svg.querySelector("path.l, circle[class^=f]");
    return bars ? !/[a-z]/.test([...svg.querySelectorAll("text[text-anchor=middle]")].pop().textContent) : !(y && y.textContent && line);
  }).map((svg) => svg.getAttribute("aria-label"));
}

/* Keys of charts whose colour is not that of their line. */
function keysAstray() {
  return [...document.querySelectorAll(".chart")].flatMap((chart) =>
    [...chart.querySelectorAll(".tools button.line:not(.ideal)")].filter((key) => {
      const number = /\bk(\d)\b/.exec(key.className)[1], drawn = chart.querySelector(`path.c${number}, circle.f${number}`);
      if (!drawn) return false;
      const style = getComputedStyle(drawn), colour = drawn.tagName === "path" ? style.stroke : style.fill;
      return getComputedStyle(key, "::before").backgroundColor !== colour;
    }).map((key) => key.textContent));
}

/* Of each timeline: whether its axis has a unit and all parts are named. */
function timelines() {
  return [...document.querySelectorAll("svg.fig")].filter((svg) => svg.querySelector("rect.h")).map((svg) => {
    const said = [...svg.querySelectorAll("text")].map((t) => t.textContent);
    return said.some((s) => /^time since the ranks began \((s|ms|min|h)\)$/.test(s)) &&
      ["computing", "communicating", "waiting", "other", "rank 0", "rank 1"].every((s) => said.includes(s));
  });
}

/* Whether the first such box, pointed at in its middle, says its title beside the pointer. */
async function says(page, kind, words) {
  const box = page.locator(`.album svg ${kind}`).first();
  await box.scrollIntoViewIfNeeded();
  await box.hover({ force: true });
  const tip = page.locator("#tip");
  const said = await tip.isVisible() && words.test(await tip.textContent());
  await page.mouse.move(1, 1);
  return said;
}

/* Ways in which a page is hard to use for somebody. What is in a drawing is an image to whoever does not see it. */
async function barriers(page) {
  await page.evaluate(axe);
  return page.evaluate(async () => (await window.axe.run({ exclude: [["figure.live > svg"], ["svg.fig > *"]] })).violations.map((v) => [v.id, v.nodes.length, v.nodes[0].html.slice(0, 120)]));
}

/* What is on the pages of runs of several ranks. */
async function ranks(page, name) {
  check(`${name}: a bar says its values`, await says(page, "rect.b:has(> title)", /: .*\d/));
  check(`${name}: a moment of a rank says what it did`,
    await says(page, "rect.h", /^rank \d+.*, [\d.]+ (ms|s) to .*: computing [\d.]+ %, .*waiting [\d.]+ %/));
  const axes = await page.evaluate(timelines);
  check(`${name}: timelines have seconds below and a legend`, axes.length > 0 && axes.every((a) => a), axes);
  const rows = (title) => page.locator("section.panels").filter({ hasText: title }).locator("tbody tr").allTextContents();
  const waits = await rows("Who waited for whom"), hides = await rows("What the backward pass hides");
  check(`${name}: ranks say whom they waited for`, waits.length >= 2 && waits.every((w) => /^rank \d+.*(rank \d+|nobody)/.test(w)), waits);
  check(`${name}: steps of nets say what the backward pass hid`, hides.every((w) => /^rank \d+.* %/.test(w)), hides);
}

async function look(browser, file, shown, options, chapter) {
  const page = await browser.newPage(options);
  const asked = [], errors = [];
  page.on("request", (r) => { if (!/^(file|data|blob):/.test(r.url())) asked.push(r.url()); });
  page.on("pageerror", (e) => errors.push(String(e)));
  page.on("dialog", (d) => { errors.push("a dialog: " + d.message()); d.dismiss(); });
  await page.goto("file://" + path.join(out, file));
  const name = `${file}, ${shown}`;
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  check(`${name}: nothing is wider than the page`, wide <= 0, wide);
  const found = await page.evaluate(troubles);
  check(`${name}: no words overlap or are cut off`, found.length === 0, found);
  const lost = await page.evaluate(() => [...document.querySelectorAll("main h2")].filter((h, i, all) => all.length > 1 &&
    !document.querySelector(`nav a[href="#${CSS.escape(h.id)}"]`)).map((h) => h.textContent));
  check(`${name}: the contents lead to every chapter`, lost.length === 0, lost);
  const bare = await page.evaluate(nameless);
  check(`${name}: every chart has a line and named axes`, bare.length === 0, bare);
  const keys = await page.evaluate(keysAstray);
  check(`${name}: the key of a line has its colour`, keys.length === 0, keys);
  const small = await page.evaluate(() => [...document.querySelectorAll(".chart text")].map((t) =>
    [t.textContent, t.getBoundingClientRect().height]).filter((t) => t[1] > 0 && t[1] < 9));
  check(`${name}: numbers of charts can be read`, small.length === 0, small.slice(0, 5));
  const cut = await page.locator("table.settings tbody tr > :first-child").evaluateAll((all) =>
    all.filter((e) => {
      const range = document.createRange();
      range.selectNodeContents(e);
      return range.getClientRects().length > 1;
    }).map((e) => e.textContent));
  check(`${name}: names of settings are not broken`, cut.length === 0, cut);
  const twice = await page.locator(".chart svg").evaluateAll((all) => all.map((svg) =>
    [...svg.querySelectorAll("text[text-anchor=middle]:not([transform])")].map((t) => t.textContent)).filter((t) => new Set(t).size < t.length));
  check(`${name}: no axis has a number twice`, twice.length === 0, twice);
  if (chapter.ranks) await ranks(page, name);
  await learned(page, name, chapter);
  const hard = await barriers(page);
  check(`${name}: axe finds nothing`, hard.length === 0, hard);
  check(`${name}: nothing is asked of anybody`, asked.length === 0, asked);
  check(`${name}: no script fails`, errors.length === 0, errors);
  await page.screenshot({ path: picture(file, shown + ".png"), fullPage: true });
  return page;
}

/* ---- what was learned ---- */

async function learned(page, name, chapter) {
  if (!chapter.learned) return;
  const said = await page.locator("section.exhibit h4").allTextContents();
  const drawn = await page.locator("figure figcaption, figure .wide svg").evaluateAll((all) => all.map((e) => e.textContent && e.tagName === "FIGCAPTION" ? e.textContent : e.getAttribute("aria-label")));
  const missing = chapter.learned.filter((c) => !said.includes(c) && !drawn.some((d) => d.split(": ")[0] === c));
  check(`${name}: what was learned is there`, missing.length === 0 && await page.locator("#what-was-learned").count() === 1, [missing, said, drawn]);
  const stuck = await page.evaluate(() => [...document.querySelectorAll("*")].filter((e) => {
    const s = getComputedStyle(e);
    return /auto|scroll/.test(s.overflowX) && e.scrollWidth > e.clientWidth + 1 && e.tabIndex < 0;
  }).map((e) => e.className));
  check(`${name}: what is scrolled can be reached by keys`, stuck.length === 0, stuck);
  const classes = await page.locator("figure.live", { hasText: "Precision and recall" }).first().locator(".legend button").allTextContents()
    .catch(() => []);
  const named = classes.filter((c) => /^\d+$/.test(c)).map(Number);
  check(`${name}: classes stand in their order`, named.every((c, i) => i === 0 || c > named[i - 1]), classes);
  if (!chapter.learned.includes("Surely wrong")) return;
  const shown = await page.locator(".pictures img").evaluateAll((all) => all.map((i) => i.complete && i.naturalWidth > 0 && i.alt.length > 0));
  check(`${name}: wrong pictures are seen, and named`, shown.length > 0 && shown.length <= 24 && shown.every((x) => x), shown);
}

/* ---- charts that answer ---- */

async function download(page, button) {
  const [file] = await Promise.all([page.waitForEvent("download"), button.click()]);
  return { name: file.suggestedFilename(), bytes: fs.readFileSync(await file.path()) };
}

async function files(figure, page, name, rows = /^"line",.*\n"[^"]*",[-\d.e]+,[-\d.e]+\n/) {
  const csv = await download(page, figure.getByRole("button", { name: / as CSV$/ }));
  const svg = await download(page, figure.getByRole("button", { name: / as SVG$/ }));
  const png = await download(page, figure.getByRole("button", { name: / as PNG$/ }));
  check(`${name}: a chart is saved as CSV`, /\.csv$/.test(csv.name) && rows.test(csv.bytes.toString()), csv.bytes.toString().slice(0, 80));
  check(`${name}: a chart is saved as SVG`, /\.svg$/.test(svg.name) && /^<svg [^>]*xmlns/.test(svg.bytes.toString()), svg.bytes.toString().slice(0, 80));
  check(`${name}: a chart is saved as PNG`, png.bytes.subarray(1, 4).toString() === "PNG" && png.bytes.length > 2000, png.bytes.length);
}

/* The d of its lines: what changes when it is drawn anew. */
const lines = (figure) => figure.locator(".chart path").evaluateAll((all) => all.map((p) => p.getAttribute("d")));
const ticks = (figure) => figure.locator(".chart text").allTextContents();

async function answers(browser, file) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 1000 } });
  await page.goto("file://" + path.join(out, file));
  const figure = page.locator("figure.live").filter({ has: page.locator(".tools .line") }).filter({ has: page.locator("input[type=range]") }).first();
  const svg = figure.locator(".chart svg"), said = figure.locator(".said-at");
  await svg.scrollIntoViewIfNeeded();
  await svg.hover();
  check(`${file}: a crosshair says the values of all lines`, await figure.locator(".cross circle").count() > 1 && /\d/.test(await said.textContent()), await said.textContent());
  await page.mouse.move(1, 1);
  check(`${file}: it goes with the pointer`, await figure.locator(".cross").count() === 0 && await said.textContent() === "");
  await svg.focus();
  await page.keyboard.press("ArrowRight");
  const first = await said.textContent();
  for (let i = 0; i < 8; i++) await page.keyboard.press("ArrowRight");
  check(`${file}: arrow keys read values`, /\d/.test(first) && await said.textContent() !== first, [first, await said.textContent()]);
  const before = await lines(figure), button = figure.locator(".tools .line").first();
  await button.focus();
  await page.keyboard.press("Enter");
  check(`${file}: a line is switched off by keys`, (await lines(figure)).length === before.length - 1 && await button.getAttribute("aria-pressed") === "false");
  await button.click();
  check(`${file}: and on again`, (await lines(figure)).join() === before.join());
  const slider = figure.locator("input[type=range]");
  await slider.fill("80");
  check(`${file}: lines are smoothed`, (await lines(figure)).join() !== before.join());
  await slider.fill("0");
  check(`${file}: and not any more`, (await lines(figure)).join() === before.join());
  const box = await svg.boundingBox(), all = (await ticks(figure)).join();
  await page.mouse.move(box.x + box.width * 0.4, box.y + box.height / 2);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.7, box.y + box.height / 2, { steps: 5 });
  check(`${file}: the range dragged over is shown`, await figure.locator("rect.range").count() === 1);
  await page.mouse.up();
  check(`${file}: the chart looks into it`, (await ticks(figure)).join() !== all);
  await svg.focus();
  await page.keyboard.press("Escape");
  check(`${file}: Escape shows all again`, (await ticks(figure)).join() === all);
  await logarithmic(page, file);
  await files(figure, page, file);
  await page.close();
}

/* Both axes; what each shows then are powers of ten, their doubles and halves. */
async function logarithmic(page, file) {
  const figure = page.locator("figure.live").filter({ has: page.getByRole("button", { name: /^log x:/ }) })
    .filter({ has: page.getByRole("button", { name: /^log y:/ }) }).first();
  for (const axis of ["x", "y"]) {
    const plain = await ticks(figure), button = figure.getByRole("button", { name: new RegExp(`^log ${axis}:`) });
    await button.click();
    check(`${file}: its ${axis} axis becomes logarithmic`, (await ticks(figure)).join() !== plain.join() && await button.getAttribute("aria-pressed") === "true");
    const svg = figure.locator(".chart svg");
    await svg.scrollIntoViewIfNeeded();
    await svg.hover();
    check(`${file}: and its values are read there (${axis})`, /\d/.test(await figure.locator(".said-at").textContent()));
    await page.mouse.move(1, 1);
    await button.click();
    check(`${file}: and plain again (${axis})`, (await ticks(figure)).join() === plain.join());
  }
}

/* What is chosen in one chart holds for all that have it. */
async function together(browser, file) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 1000 } });
  await page.goto("file://" + path.join(out, file));
  const colours = await page.locator("#how-it-went + .album .legend button, #workers + .album .legend button:not(.ideal)").evaluateAll((all) => all.map((b) => [b.textContent, b.className]));
  const first = new Map(colours);
  check(`${file}: a line has the same colour in every chart`, colours.every(([name, as]) => first.get(name) === as), colours);
  const button = page.locator("figure.live .legend button").first(), name = await button.textContent();
  const same = page.locator("figure.live .legend button", { hasText: name });
  await button.click();
  check(`${file}: a line that is switched off is off in all charts`,
    await same.evaluateAll((all) => all.length > 1 && all.every((b) => b.getAttribute("aria-pressed") === "false")));
  await button.click();
  const sliders = page.locator("figure.live input[type=range]");
  if (await sliders.count() > 0) { /* there is none of a handful of points */
    await sliders.first().fill("70");
    check(`${file}: all charts are smoothed alike`, await sliders.evaluateAll((all) => all.length > 1 && all.every((s) => s.value === "70")));
    check(`${file}: what was smoothed is seen behind it`, await page.locator("figure.live path.raw").count() > 1);
  }
  const figure = page.locator("figure.drawn").first();
  await files(figure, page, `${file}, ${await figure.locator("figcaption").textContent()}`, /^"[^"]*","[^"]*".*\n"[^"]*",.*[-\d.e]+\n/);
  const bare = await page.locator(".album figure").evaluateAll((all) => all.filter((f) => f.querySelectorAll(".files button").length !== 3).length);
  check(`${file}: each figure can be had as CSV, SVG and PNG`, bare === 0, bare);
  await page.close();
}

/* The table of runs: by any column, both ways, by keys too. */
async function sorted(browser, file) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 1000 } });
  await page.goto("file://" + path.join(out, file));
  const table = page.locator("#runs + .wide table"), names = () => table.locator("tbody tr > :first-child").allTextContents();
  check(`${file}: the runs' final figures stand in one table, the best marked`,
    await table.locator("td.best").count() >= 3 && (await table.locator("th").allTextContents()).includes("validation loss"));
  const before = await names();
  await table.getByRole("button", { name: "validation loss" }).focus();
  await page.keyboard.press("Enter");
  const up = await names();
  await page.keyboard.press("Enter");
  const down = await names();
  check(`${file}: it is sorted by a column, both ways`, up.join() === [...down].reverse().join() && before.length === up.length && before.length > 1, [up, down]);
  check(`${file}: which says so`, await table.locator("th[aria-sort=descending]").count() === 1);
  await page.close();
}

async function print(page, file) {
  const pdf = picture(file, "paper.pdf");
  await page.pdf({ path: pdf, preferCSSPageSize: true });
  check(`${file}: it can be printed`, fs.statSync(pdf).size > 10000);
  await page.emulateMedia({ media: "print", colorScheme: "dark" });
  await page.setViewportSize({ width: 1046, height: 718 }); /* A4 less its margins */
  const cut = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  check(`${file}: the paper is wide enough`, cut <= 0, cut);
  await page.screenshot({ path: picture(file, "print.png") });
  const paper = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  check(`${file}: paper stays white`, paper === "rgb(255, 255, 255)", paper);
}

const classes = ["Who is taken for whom", "Each class", "ROC", "Precision and recall", "Calibration"];
const pages = {
  "study/report.html": { ranks: true, learned: ["Nearest words", "Analogies", "A map of words"] },
  "predicted/report.html": { ranks: true, learned: classes },
  "run.html": { ranks: true, learned: ["Nearest words", "Analogies", "A map of words"] },
  "mlp.html": { learned: classes },
  "prices.html": { learned: ["Predicted against true", "Residuals"] },
  "two.html": { learned: classes },
  "evil.html": { learned: classes },
  "three.html": { learned: classes },
  "mixed.html": { learned: [] },
  "begun.html": { learned: null },
  "classify.html": { learned: classes },
  "logreg.html": { learned: [...classes, "The largest weights"] },
  "multinomial.html": { learned: [...classes, "What speaks for each class"] },
  "vgg.html": { learned: [...classes, "Surely wrong"] },
  "skipgram.html": { learned: ["Nearest words", "A map of words"] },
  "nextword.html": { learned: ["What comes next?"] },
};

(async () => {
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM || "/usr/bin/chromium", args: ["--no-sandbox"] });
  for (const [file, chapter] of Object.entries(pages)) {
    if (only.length > 0 && !only.includes(file)) continue;
    for (const scheme of ["light", "dark"]) {
      const page = await look(browser, file, scheme, { viewport: { width: 1280, height: 1000 }, colorScheme: scheme }, chapter);
      if (scheme === "light") await print(page, file);
      await page.close();
    }
    for (const scheme of ["light", "dark"]) {
      const phone = await look(browser, file, "narrow-" + scheme, { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, colorScheme: scheme }, chapter);
      await phone.close();
    }
  }
  for (const file of ["mlp.html", "two.html"]) await answers(browser, file);
  for (const file of ["mlp.html", "two.html", "mixed.html", "study/report.html"]) await together(browser, file);
  for (const file of ["two.html", "three.html"]) await sorted(browser, file);
  await browser.close();
  plan();
  process.exit();
})();
