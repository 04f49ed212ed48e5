/* What goes wrong while somebody looks at the page: models that end, servers that are slow or
 * silent, and words, labels and columns that were made to break it. Prints TAP. */
"use strict";
const { chromium } = require("playwright-core");
const { execFileSync } = require("node:child_process");
const fs = require("node:fs");
const path = require("node:path");
const { shoal, out, check, until, serve, open, violations, finish } = require("./tools.js");

const TAG = "<img/src=x/onerror=window.broken=1>"; // of a word, which has no spaces
const LONG = "x".repeat(3000);

/* ---- Models ---------------------------------------------------------------------------------- */

/* Words that are HTML, that are long, and that are of many scripts. */
const ODD = [TAG, "</script><script>window.broken=1</script>", "'\"&<>`${}", LONG, "שלום", "مرحبا", "日本語", "👩‍👩‍👧‍👦", "e\u0301", "a\u202eb", "%zz", "__proto__", "constructor"];

function numbers(n, seed) {
  return Array.from({ length: n }, (_, i) => Math.sin(seed * 12.9898 + i * 78.233).toFixed(4)).join(" ");
}

function make() {
  const run = (...args) => execFileSync(shoal, args, { cwd: out, stdio: "ignore" });
  const vec = (name, words, dim) => fs.writeFileSync(path.join(out, name),
    `${words.length} ${dim}\n` + words.map((w, i) => `${w} ${numbers(dim, i + 1)}`).join("\n") + "\n");
  if (fs.existsSync(path.join(out, "wide.shoal"))) return;
  vec("odd.vec", [...ODD, ...Array.from({ length: 60 }, (_, i) => "word" + i)], 8);
  vec("huge.vec", Array.from({ length: 20 }, (_, i) => "word" + i), 2000);
  vec("one.vec", ["sea", "fish", "tide", "wave", "salt"], 4);
  vec("two.vec", ["sea", "whale", "ship", "mast", "sail"], 4);
  const rows = (columns, row) => [columns.join(","), ...Array.from({ length: 200 }, (_, i) => row(i).join(","))].join("\n") + "\n";
  fs.writeFileSync(path.join(out, "odd.csv"), rows([TAG, "n".repeat(300), "größe", "label"],
    (i) => [(i % 17) / 17, i % 2 ? TAG : "y".repeat(400), i % 5, i % 2 ? "<b>bold</b>" : "plain"]));
  run("train", "logreg", "odd.csv", "-o", "oddrow.shoal");
  fs.writeFileSync(path.join(out, "oddnet.csv"), rows(["x", "y", "label"], (i) => [(i % 17) / 17, (i % 23) / 23, i % 17 > 8 ? TAG : "z".repeat(300)]));
  run("train", "mlp", "oddnet.csv", "--layers", "4", "--epochs", "1", "-o", "oddnet.shoal");
  fs.writeFileSync(path.join(out, "odd.txt"), Array.from({ length: 200 }, (_, i) => `__label__${i % 2 ? TAG : "plain"} ${i % 2 ? "one two " + TAG : "three four"}`).join("\n") + "\n");
  run("train", "classify", "odd.txt", "-o", "oddtext.shoal");
  // More columns than the form has fields, with categories among them.
  fs.writeFileSync(path.join(out, "wide.csv"), rows([...Array.from({ length: 80 }, (_, c) => "column" + c), "label"],
    (i) => [...Array.from({ length: 80 }, (_, c) => (c % 2 ? "v" + ((i + c) % 3) : ((i * (c + 1)) % 13) / 13)), i % 2]));
  run("train", "mlp", "wide.csv", "--label", "label", "--layers", "4", "--epochs", "1", "-o", "widenet.shoal");
  run("train", "logreg", "wide.csv", "--label", "label", "-o", "wide.shoal");
}

/* ---- What was made to break it ----------------------------------------------------------------- */

const broken = (tab) => tab.evaluate(() => Boolean(window.broken) || document.querySelector("main img[onerror], main script, main b.bold") !== null);

async function texts(browser, url) {
  for (const [width, scheme] of [[390, "light"], [390, "dark"], [1280, "light"], [1280, "dark"]]) {
    const wide = [], bad = [], found = [];
    for (const [name, list, does] of [
      ["odd", "#near li", async (tab) => { await tab.fill("#word", TAG); await tab.keyboard.press("Enter"); }],
      ["oddrow", "#outputs li", async () => {}], ["oddnet", "#outputs li", async () => {}],
      ["oddtext", "#label-bars li", async (tab) => tab.fill("#written", `one two ${TAG} ${LONG} שלום`)]]) {
      const tab = await open(browser, url, "#model=" + name, { width, scheme });
      await tab.waitForSelector(".card");
      await does(tab);
      await tab.waitForSelector(list);
      if (name === "odd") await tab.waitForSelector("#word-map canvas");
      await tab.waitForTimeout(300);
      await tab.click("#call summary");
      if (await broken(tab) || tab.errors.length > 0) bad.push([name, tab.errors]);
      if (await tab.evaluate(() => document.documentElement.scrollWidth) > width) wide.push(name);
      found.push(...(await violations(tab)).map((v) => `${name} ${v}`));
      await tab.screenshot({ path: path.join(out, `trouble-${name}-${width}-${scheme}.png`), fullPage: true });
      await tab.context().close();
    }
    check(`${width} ${scheme}: no word, label or column becomes HTML`, bad.length === 0, bad);
    check(`${width} ${scheme}: none makes the page wider than the screen`, wide.length === 0, wide);
    check(`${width} ${scheme}: axe finds nothing on these either`, found.length === 0, found);
  }
}

async function words(browser, url) {
  const tab = await open(browser, url, "#model=odd");
  const refused = [];
  for (const word of ODD) {
    await tab.fill("#word", word);
    await tab.keyboard.press("Enter");
    if (!await until(async () => (await tab.textContent("#near-title")) === "Nearest to " + word, word.slice(0, 40))) refused.push(word.slice(0, 40));
  }
  check("words of any script are answered, also those that are HTML or names of JavaScript", refused.length === 0, refused);
  await tab.context().close();
  const huge = await open(browser, url, "#model=huge");
  await huge.waitForSelector(".card");
  check("of vectors with too many dimensions it is said why there is no map", await until(async () =>
    /No map: .*2000 dimensions, want 1024/.test(await huge.textContent("#map-state")), "a sentence"));
  await huge.fill("#word", "word1");
  await huge.keyboard.press("Enter");
  await huge.waitForSelector("#near li");
  check("and they are answered all the same", await huge.locator("#near li").count() === 19);
  await huge.context().close();
}

/* Word by word of the version that was chosen. */
async function versions(browser, url) {
  const tab = await open(browser, url, "#model=both&version=2.0&word=sea");
  await tab.waitForSelector("#near li");
  const near = await tab.locator("#near .name").allTextContents();
  check("a version that is not the default is asked itself", near.includes("whale") && !near.includes("fish"), near);
  await until(() => tab.evaluate(() => Boolean(globalThis.wordMap)), "a map");
  check("and its map is shown", await tab.evaluate(() => wordMap.select("whale") && !wordMap.select("fish")));
  check("what to call names it", /version=2.0/.test(await tab.textContent("#call-code")));
  await tab.context().close();
}

async function wideTables(browser, url) {
  for (const name of ["wide", "widenet"]) {
    const tab = await open(browser, url, "#model=" + name);
    await tab.waitForFunction(() => document.getElementById("rows").value !== "");
    await tab.click("#paste button.main");
    check(`${name}: the example row of a table too wide for a form is answered`, await until(async () =>
      await tab.locator("#outputs li").count() === 2 && await tab.locator("#trouble").isHidden(), "an answer"), await tab.textContent("#trouble"));
    await tab.context().close();
  }
}

/* ---- What ends, and what is slow ------------------------------------------------------------------ */

async function unloaded(browser, server) {
  const tab = await open(browser, server.url, "#model=going&word=sea");
  await tab.waitForSelector("#near li");
  await fetch(server.managed + "models/going/1.0", { method: "DELETE" });
  check("a model that ends while it is looked at is said to be served no more", await until(async () =>
    /going 1.0 is served no more/.test(await tab.textContent("#gone")) && await tab.locator("#vectors").isHidden(), "a sentence"));
  check("the page does not go to another by itself", (await tab.textContent("#panel-title")) === "going" && /model=going/.test(tab.url()));
  check("its card and its figures are gone", await tab.locator(".card").count() === 1 && await tab.locator("#charts tr").count() === 1);
  await fetch(server.managed + "models?url=one.vec&model_name=going&initial_workers=1&synchronous=true", { method: "POST" });
  check("when it comes again it is asked again", await until(async () => await tab.locator("#near li").count() > 0 && await tab.locator("#gone").isHidden(), "answers"));
  await fetch(server.managed + "models/going/1.0", { method: "DELETE" });
  await until(() => tab.locator("#gone").isVisible(), "the end");
  await tab.locator(".card").click();
  check("another can be chosen", await until(async () => (await tab.textContent("#panel-title")) === "staying" && await tab.locator("#gone").isHidden(), "the other"));
  check("no script fails", tab.errors.length === 0, tab.errors);
  await tab.context().close();
}

/* Another file under the same name. */
async function replaced(browser, url) {
  const tab = await open(browser, url, "#model=renewed&word=sea");
  await tab.waitForSelector("#near li");
  fs.copyFileSync(path.join(out, "odd.vec"), path.join(out, "renewed.new"));
  fs.renameSync(path.join(out, "renewed.new"), path.join(out, "renewed.vec"));
  check("a model whose file is replaced is shown as it is now", await until(async () => /73 words, 8 dimensions/.test(await tab.textContent("#facts")), "other facts"));
  check("and what was asked is asked of it again", await until(async () => await tab.inputValue("#word") === "sea" && await tab.locator("#trouble").isVisible(), "a refusal"));
  await tab.context().close();
}

/* So many models that their cards would fill the page. */
async function many(browser) {
  const server = await serve(...Array.from({ length: 60 }, (_, i) => `model${i}=one.vec`));
  for (const width of [390, 1280]) {
    const tab = await open(browser, server.url, "#model=model47", { width });
    await tab.waitForSelector("#panel:not([hidden])");
    const panel = await tab.locator("#panel").boundingBox(), card = await tab.locator('[data-key="model47/1.0"]').boundingBox(), all = await tab.locator("#models").boundingBox();
    check(`${width}: of sixty models the one that is asked is in view`, panel.y < 600 && card.y >= all.y && card.y + card.height <= all.y + all.height + 1, [panel, card, all]);
    check(`${width}: axe finds nothing with so many`, (await violations(tab)).length === 0, await violations(tab));
    await tab.screenshot({ path: path.join(out, `trouble-many-${width}.png`) });
    await tab.context().close();
  }
  server.child.kill("SIGTERM");
}

async function slow(browser, url) {
  const tab = await open(browser, url, "#model=both&version=1.0");
  await tab.waitForSelector(".card");
  await tab.fill("#word", "sea");
  await tab.keyboard.press("Enter");
  await tab.waitForSelector("#near li");
  const waiting = [];
  await tab.route("**/similar?*", (route) => waiting.push(route));
  await tab.fill("#word", "fish");
  await tab.keyboard.press("Enter");
  check("an answer that takes long is said to be waited for", await until(() => tab.locator("#waiting").isVisible(), "a word"));
  check("and what is shown meanwhile is pale", await tab.locator("#near.old").count() === 1);
  await waiting[0].continue();
  check("until it comes", await until(async () => await tab.locator("#waiting").isHidden() && await tab.locator("#near.old").count() === 0
    && (await tab.textContent("#near-title")) === "Nearest to fish", "the answer"));
  await tab.fill("#word", "tide");
  await tab.keyboard.press("Enter");
  await until(() => waiting.length === 2, "a request");
  await waiting[1].abort();
  check("a server that does not answer is said to be silent", await until(async () =>
    /does not answer/.test(await tab.textContent("#trouble")) && await tab.locator("#waiting").isHidden(), "a sentence"));
  await tab.route("**/stats", (route) => route.abort());
  check("also at the top of the page", await until(async () => /does not answer/.test(await tab.textContent("#health-text")), "a sentence"));
  await tab.unroute("**/stats");
  check("until it answers again", await until(async () => (await tab.textContent("#health-text")) === "healthy", "health"));
  await tab.context().close();
}

/* ---- By keys alone --------------------------------------------------------------------------------- */

const focused = (tab) => tab.evaluate(() => document.activeElement.id || document.activeElement.getAttribute("data-key") || document.activeElement.textContent);

async function tabTo(tab, what) {
  for (let i = 0; i < 80; i++) {
    if ((await focused(tab)) === what) return true;
    await tab.keyboard.press("Tab");
  }
  return false;
}

async function keys(browser, url) {
  const tab = await open(browser, url, "#model=oddnet");
  await tab.waitForSelector("#outputs li");
  await tab.keyboard.press("Tab");
  check("the first key leads to a link over the models", /Skip/.test(await focused(tab)));
  check("a model is reached", await tabTo(tab, "both/1.0"));
  await tab.keyboard.press("Enter");
  check("and chosen, and its panel is where one is", await until(async () => (await tab.textContent("#panel-title")) === "both" && (await focused(tab)) === "panel", "the panel"));
  await tabTo(tab, "word");
  await tab.keyboard.type("sea");
  await tab.keyboard.press("Enter");
  await tab.waitForSelector("#near li");
  await tabTo(tab, "Call this " + await tab.textContent("#call-time"));
  await tab.keyboard.press("Enter");
  await tabTo(tab, "Python");
  await tab.keyboard.press("Enter");
  check("what to call is opened and another language taken", /urllib/.test(await tab.textContent("#call-code")));
  await tab.waitForSelector("#word-map canvas");
  for (let i = 0; i < 40 && await tab.evaluate(() => document.activeElement.tagName) !== "CANVAS"; i++) await tab.keyboard.press("Tab");
  await tab.keyboard.press("v");
  check("words of the map are chosen without drawing", await tab.evaluate(() => wordMap.state().chosen.length) > 0);
  await tab.context().close();
}

(async () => {
  make();
  fs.copyFileSync(path.join(out, "one.vec"), path.join(out, "renewed.vec"));
  const servers = [await serve(...["odd=odd.vec", "huge=huge.vec", "both:1.0=one.vec", "both:2.0=two.vec", "oddrow=oddrow.shoal", "oddnet=oddnet.shoal",
    "oddtext=oddtext.shoal", "wide=wide.shoal", "widenet=widenet.shoal", "renewed=renewed.vec"]),
    await serve("going=one.vec", "staying=two.vec", "--model-store", ".", "--management-address", "127.0.0.1:0")];
  const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
  try {
    for (const part of [words, versions, wideTables, texts, slow, replaced, keys]) await part(browser, servers[0].url);
    await unloaded(browser, servers[1]);
    await many(browser);
  } catch (error) {
    check("the tests come to their end", false, String(error));
  } finally {
    await browser.close();
    finish(servers);
  }
})();
