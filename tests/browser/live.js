/* The page of runs that go on (`train --watch`, `shoal watch`): bars, time left, the last lines of
 * the log, all in place. Prints TAP. */
"use strict";
const { chromium } = require("playwright-core");
const { spawn } = require("node:child_process");
const fs = require("node:fs");
const path = require("node:path");
const { check, plan } = require("./tap.js");

const [shoal, out] = process.argv.slice(2);
const runs = path.join(out, "live-runs");
const children = [];

/* Its address is the first that it prints. */
function shown(...words) {
  const child = spawn(shoal, words, { cwd: out });
  children.push(child);
  return new Promise((resolve) => {
    let said = "";
    const hear = (data) => {
      said += data;
      const found = said.match(/http:\S+/);
      if (found) resolve({ child, url: found[0] });
    };
    child.stdout.on("data", hear);
    child.stderr.on("data", hear);
  });
}

function train(name, ...words) {
  const child = spawn(shoal, ["train", "mlp", "spiral.csv", "--quiet", "--threads", "1", "--output", name + ".shoal",
    "--metrics", path.join(runs, name + ".jsonl"), ...words], { cwd: out, stdio: "ignore" });
  children.push(child);
  return child;
}

const ended = (child) => new Promise((resolve) => (child.exitCode === null ? child.on("exit", resolve) : resolve()));

async function open(browser, url, options) {
  const page = await browser.newPage(options);
  page.troubles = [];
  page.on("request", (r) => { if (!r.url().startsWith(url) && !r.url().startsWith("data:")) page.troubles.push(r.url()); });
  page.on("pageerror", (e) => page.troubles.push(String(e)));
  await page.goto(url);
  return page;
}

async function axe(page) {
  await page.evaluate(fs.readFileSync(require.resolve("axe-core/axe.min.js"), "utf8"));
  const found = await page.evaluate(() => axe.run());
  return found.violations.map((v) => [v.id, v.nodes[0].html.slice(0, 200)]);
}

const VIEWS = [390, 1280].flatMap((width) => ["light", "dark"].map((colorScheme) => ({ width, colorScheme })));

async function looks(browser, url, name) {
  for (const { width, colorScheme } of VIEWS) {
    const as = `${name}, ${width} ${colorScheme}`;
    const page = await open(browser, url, { viewport: { width, height: 900 }, colorScheme });
    await page.waitForSelector(".live-run");
    const violations = await axe(page);
    check(`${as}: axe finds nothing`, violations.length === 0, violations);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    check(`${as}: nothing is wider than the screen`, wide <= 0, wide);
    check(`${as}: nothing leaves the machine, no script fails`, page.troubles.length === 0, page.troubles);
    await page.screenshot({ path: path.join(out, `${name}-${width}-${colorScheme}.png`) });
    await page.close();
  }
}

/* Before the first report there is a page that waits, and becomes the other by itself. */
async function waits(browser) {
  const { url } = await shown("watch", "live-runs");
  const page = await open(browser, url, { viewport: { width: 1280, height: 900 } });
  check("without a run the page waits", /Waiting for the run/.test(await page.textContent("h1")));
  const violations = await axe(page);
  check("the page that waits: axe finds nothing", violations.length === 0, violations);
  await ended(train("over-with-a-much-longer-name", "--epochs", "1"));
  await ended(train("over", "--epochs", "3"));
  await page.waitForSelector(".live-run");
  await page.waitForSelector('details[data-run="over.jsonl"]');
  await page.waitForFunction(() => document.querySelectorAll(".live-run").length === 2 &&
    [...document.querySelectorAll(".live-run")].every((run) => run.textContent.includes("ended after"))); // as of the next look
  check("a run that comes is shown without a reload by hand", /ended after/.test(await page.textContent(".live-runs")));
  check("its log is there after its end", /epoch 3 of 3, loss [\d.]+[^]*done at 100 %/.test(await page.textContent('details[data-run="over.jsonl"] pre')));
  return { page, url };
}

async function goesOn({ page, url }, browser) {
  const child = train("on", "--epochs", "1000000");
  await page.locator(".live-run", { hasText: "running" }).waitFor();
  check("a page whose runs are over shows a new one", true);
  check("the title says how far all are", /^\d+ % - shoal$/.test(await page.title()), await page.title());
  check("the bar of a run says how far it is and how long it will take",
    /running, \d+ %, [\d.]+ (s|min|h|d|days) left/.test(await page.locator(".live-run", { hasText: "running" }).textContent()),
    await page.locator(".live-run", { hasText: "running" }).textContent());
  const log = page.locator('details[data-run="on.jsonl"] pre');
  check("the newest run's log is open", await log.isVisible());
  check("the log of another is folded away", !(await page.locator('details[data-run="over.jsonl"] pre').isVisible()));
  await page.locator('details[data-run="over.jsonl"] summary').click();
  await page.evaluate(() => document.activeElement.blur());
  const first = await log.textContent();
  await page.waitForFunction((was) => document.querySelector('details[data-run="on.jsonl"] pre').textContent !== was, first);
  check("lines of the log come in place", true);
  check("a log that was opened stays open", await page.locator('details[data-run="over.jsonl"] pre').isVisible());
  await log.focus();
  const then = await log.textContent();
  await page.waitForFunction((was) => document.querySelector('details[data-run="on.jsonl"] pre').textContent !== was, then);
  check("a log that has the focus keeps it, and gets its lines",
    await page.evaluate(() => document.activeElement.tagName === "PRE"));
  const lefts = await page.locator(".live-run progress").evaluateAll((all) =>
    all.map((at) => [at.getBoundingClientRect().left, at.getBoundingClientRect().width]));
  check("the bars of runs with long and short names line up",
    lefts.length === 3 && lefts.every((at) => at.every((x, k) => Math.abs(x - lefts[0][k]) < 0.5)), lefts);
  await looks(browser, url, "watch");
  await page.evaluate(() => document.activeElement.blur());
  child.kill("SIGTERM");
  await page.locator(".live-run", { hasText: "stopped at" }).waitFor();
  check("a run that was stopped is not called stalled", true);
  check("the log says why it ended", /stopped: train: stopped on request/.test(await log.textContent()));
}

/* A run that failed before its first report, one whose name is markup, and files that are none. */
async function attacked({ page, url }, browser) {
  await ended(train("wrong", "--lr", "1000", "--optimizer", "sgd", "--epochs", "2"));
  await page.locator(".live-run", { hasText: "failed at" }).first().waitFor();
  check("a run that failed says so, and why", /failed: train: diverged/.test(await page.textContent('details[data-run="wrong.jsonl"] pre')));
  fs.writeFileSync(path.join(runs, "begun.jsonl"), fs.readFileSync(path.join(runs, "over.jsonl"), "utf8").split("\n")[0] + "\n");
  fs.writeFileSync(path.join(runs, "none.jsonl"), "no metrics\n");
  fs.copyFileSync(path.join(runs, "over.jsonl"), path.join(runs, '<img src=x onerror="document.title=1">.jsonl'));
  await page.locator(".live-run", { hasText: "begun.jsonl" }).waitFor();
  check("a run that has not reported yet is there", /starting, 0 %/.test(await page.locator(".live-run", { hasText: "begun.jsonl" }).textContent()));
  check("a name that is markup is a name", await page.locator(".live-run", { hasText: "<img src=x" }).count() === 1 && await page.locator("main img").count() === 0);
  check("a file that is no metrics is left out", await page.locator(".live-run", { hasText: "none.jsonl" }).count() === 0);
  const old = new Date(Date.now() - 120000);
  fs.utimesSync(path.join(runs, "begun.jsonl"), old, old);
  await page.locator(".live-run", { hasText: "stalled" }).waitFor();
  check("a run that writes nothing any more is called stalled, and since when", /stalled, 0 %, nothing was written for 1[2-9]\d/.test(await page.locator(".live-run", { hasText: "stalled" }).textContent()),
    await page.locator(".live-run", { hasText: "stalled" }).textContent());
  await looks(browser, url, "attacked");
  fs.rmSync(path.join(runs, "begun.jsonl"));
  await page.waitForFunction(() => !/begun/.test(document.querySelector(".live-state").textContent));
  check("a run that is removed goes", true);
}

/* Words that the reader opened stay open while bars and charts change; all gone, the last stays. */
async function removed({ page }) {
  await page.locator("details.words summary").click();
  await page.evaluate(() => document.activeElement.blur());
  fs.appendFileSync(path.join(runs, "over.jsonl"), "\n");
  await page.waitForTimeout(4500);
  check("what was opened stays open", await page.locator("details.words[open]").count() === 1);
  for (const name of fs.readdirSync(runs)) fs.rmSync(path.join(runs, name));
  await page.waitForFunction(() => /No run is there any more/.test(document.querySelector(".under").textContent));
  check("when all runs are gone the page says so, and keeps what it had", await page.locator(".chart svg").count() > 0);
  await ended(train("again", "--epochs", "2"));
  await page.waitForFunction(() => document.querySelectorAll(".live-run").length === 1);
  check("and shows the next one", !/No run/.test(await page.textContent(".under")));
  check("nothing leaves the machine and no script fails, whatever came", page.troubles.length === 0, page.troubles);
}

async function oneRun(browser) {
  const { child, url } = await shown("train", "mlp", "spiral.csv", "--epochs", "1000000", "--threads", "1", "--output",
    "one.shoal", "--watch", ":0");
  const page = await open(browser, url, { viewport: { width: 1280, height: 900 } });
  await page.waitForSelector(".live-run");
  check("a run alone has its log open", await page.locator(".log pre").isVisible());
  await looks(browser, url, "live");
  child.kill("SIGTERM");
  await page.waitForFunction(() => /has ended/.test(document.querySelector(".under").textContent));
  check("the page stays when the run has ended", await page.locator("svg").count() > 0);
}

(async () => {
  fs.rmSync(runs, { recursive: true, force: true });
  fs.mkdirSync(runs);
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM || "/usr/bin/chromium", args: ["--no-sandbox"] });
  try {
    const watched = await waits(browser);
    await goesOn(watched, browser);
    await attacked(watched, browser);
    await removed(watched);
    await oneRun(browser);
  } finally {
    for (const child of children) child.kill("SIGKILL");
    await browser.close();
  }
  plan();
  process.exit();
})();
