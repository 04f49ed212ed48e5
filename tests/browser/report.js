/* What the pages of studies and runs look like: nothing overlaps or is cut off, every
 * axis is named, points answer, nothing is asked of anybody. Prints TAP. */
"use strict";
const { chromium } = require("playwright-core");
const fs = require("node:fs");
const path = require("node:path");

const out = process.argv[2];
let cases = 0, failed = 0;

function check(name, truth, detail) {
  cases++;
  console.log(`${truth ? "ok" : "not ok"} ${cases} - ${name}`);
  if (truth) return;
  failed++;
  if (detail !== undefined) console.log("# " + JSON.stringify(detail).slice(0, 600));
}

/* "study/report.html" -> "study-report-light.png" */
function picture(file, end) {
  return path.join(out, `${file.replace(".html", "").replace("/", "-")}-${end}`);
}

/* Texts of one figure that touch each other, or leave it. */
function troubles() {
  const found = [];
  for (const svg of document.querySelectorAll("svg.fig")) {
    const box = svg.getBoundingClientRect();
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
    const bars = svg.querySelector("rect.b"), y = svg.querySelector("text[transform]");
    const line = svg.querySelector("path.l");
    return bars ? !/[a-z]/.test([...svg.querySelectorAll("text[text-anchor=middle]")].pop().textContent) : !(y && y.textContent && line);
  }).map((svg) => svg.getAttribute("aria-label"));
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
  const box = page.locator(".album svg :has(> title)").and(page.locator(kind)).first();
  await box.scrollIntoViewIfNeeded();
  await box.hover({ force: true });
  const tip = page.locator("#tip");
  const said = await tip.isVisible() && words.test(await tip.textContent());
  await page.mouse.move(1, 1);
  return said;
}

async function look(browser, file, shown, options) {
  const page = await browser.newPage(options);
  const asked = [], errors = [];
  page.on("request", (r) => { if (!/^(file|data):/.test(r.url())) asked.push(r.url()); });
  page.on("pageerror", (e) => errors.push(String(e)));
  await page.goto("file://" + path.join(out, file));
  const name = `${file}, ${shown}`;
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  check(`${name}: nothing is wider than the page`, wide <= 0, wide);
  const found = await page.evaluate(troubles);
  check(`${name}: no words overlap or are cut off`, found.length === 0, found);
  const bare = await page.evaluate(nameless);
  check(`${name}: every chart has a line and named axes`, bare.length === 0, bare);
  const dot = page.locator(".album svg .h").first();
  await dot.scrollIntoViewIfNeeded();
  await dot.hover({ force: true });
  const tip = page.locator("#tip");
  check(`${name}: a point says its values`, await tip.isVisible() && /\d/.test(await tip.textContent()), await tip.textContent());
  await page.mouse.move(1, 1);
  check(`${name}: a bar says its values`, await says(page, "rect.b", /: .*\d/));
  check(`${name}: a moment of a rank says what it did`,
    await says(page, "rect.h", /^rank \d+.*, [\d.]+ (ms|s) to .*: computing [\d.]+ %, .*waiting [\d.]+ %/));
  const axes = await page.evaluate(timelines);
  check(`${name}: timelines have seconds below and a legend`, axes.length > 0 && axes.every((a) => a), axes);
  check(`${name}: nothing is asked of anybody`, asked.length === 0, asked);
  check(`${name}: no script fails`, errors.length === 0, errors);
  await page.screenshot({ path: picture(file, shown + ".png"), fullPage: true });
  return page;
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

(async () => {
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM || "/usr/bin/chromium", args: ["--no-sandbox"] });
  for (const file of ["study/report.html", "predicted/report.html", "run.html"]) {
    for (const scheme of ["light", "dark"]) {
      const page = await look(browser, file, scheme, { viewport: { width: 1240, height: 1000 }, colorScheme: scheme });
      if (scheme === "light") await print(page, file);
      await page.close();
    }
    const phone = await look(browser, file, "narrow", { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2 });
    await phone.close();
  }
  await browser.close();
  console.log(`1..${cases}`);
  process.exit(failed ? 1 : 0);
})();
