/* What a person does on the page, and what must then be seen. Prints TAP. */
"use strict";
const { chromium } = require("playwright-core");
const { spawn } = require("node:child_process");
const path = require("node:path");

const [shoal, out] = process.argv.slice(2);
let cases = 0, failed = 0;

function check(name, truth, detail) {
  cases++;
  console.log(`${truth ? "ok" : "not ok"} ${cases} - ${name}`);
  if (truth) return;
  failed++;
  if (detail !== undefined) console.log("# " + JSON.stringify(detail));
}

function serve() {
  const child = spawn(shoal, ["serve", "words=words.shoal", "second:2.0=words.shoal", "--quiet",
    "--inference-address", "127.0.0.1:18099", "--management-address", "none", "--metrics-address", "none"],
  { cwd: out, stdio: "ignore" });
  return child;
}

async function until(truth, what) {
  for (let i = 0; i < 100; i++) {
    if (await truth()) return true;
    await new Promise((go) => setTimeout(go, 100));
  }
  console.log("# waited in vain: " + what);
  return false;
}

async function desktop(browser, scheme) {
  const page = await browser.newPage({ viewport: { width: 1200, height: 1000 }, colorScheme: scheme });
  const outside = [], errors = [];
  page.on("request", (r) => { if (!/^(http:\/\/127\.0\.0\.1:18099|data:|blob:)/.test(r.url())) outside.push(r.url()); });
  page.on("pageerror", (e) => errors.push(String(e)));
  page.on("console", (m) => { if (m.type() === "error") errors.push(m.text()); });
  await page.goto("http://127.0.0.1:18099/");
  await page.waitForSelector(".card");
  check(`${scheme}: both models are shown`, await page.locator(".card").count() === 2);
  check(`${scheme}: the server is healthy`, await until(async () => (await page.textContent("#health-text")) === "healthy", "health"));
  await page.locator(".card", { hasText: "words" }).first().click();
  await page.fill("#word", "paris");
  await page.keyboard.press("Enter");
  await page.waitForSelector("#near li");
  check(`${scheme}: twenty neighbours are listed`, await page.locator("#near li").count() === 20);
  check(`${scheme}: the map has them and the word itself`, await page.locator("#map g.point").count() === 21);
  await page.fill("#analogy [name=a]", "paris");
  await page.fill("#analogy [name=b]", "france");
  await page.fill("#analogy [name=c]", "rome");
  await page.click("#analogy button");
  await page.waitForSelector("#answers li");
  check(`${scheme}: paris is to france as rome is to italy`, (await page.textContent("#answers li .name")) === "italy");
  for (let i = 0; i < 40; i++) await page.request.get("http://127.0.0.1:18099/models/words/similar?word=rome");
  await page.waitForTimeout(3500);
  await page.screenshot({ path: path.join(out, `desktop-${scheme}.png`), fullPage: true });

  const before = await page.locator("#map g.point").first().getAttribute("transform");
  await page.focus("#map");
  await page.keyboard.press("+");
  check(`${scheme}: + zooms the map`, (await page.locator("#map g.point").first().getAttribute("transform")) !== before);
  await page.keyboard.press("0");
  check(`${scheme}: 0 shows the whole map again`, (await page.locator("#map g.point").first().getAttribute("transform")) === before);
  const box = await page.locator("#map").boundingBox();
  await page.mouse.move(box.x + 200, box.y + 200);
  await page.mouse.wheel(0, -300);
  check(`${scheme}: the wheel zooms the map`, (await page.locator("#map g.point").first().getAttribute("transform")) !== before);
  await page.click("#zoom-all");
  await page.locator("#map g.self circle").last().hover();
  check(`${scheme}: hovering names the word`, (await page.textContent("#hover")).startsWith("paris"));
  await page.locator("#near button").first().click();
  check(`${scheme}: a neighbour can be followed`, await until(async () => (await page.inputValue("#word")) !== "paris", "a search"));
  await page.fill("#word", "pariss");
  await page.keyboard.press("Enter");
  check(`${scheme}: a word mistyped is guessed`, await until(async () => /did you mean.*paris/.test(await page.textContent("#trouble")), "a guess"));
  await page.locator("#trouble button").first().click();
  check(`${scheme}: and the guess can be pressed`, await until(async () => page.locator("#trouble").isHidden(), "an answer"));
  check(`${scheme}: nothing else is asked for`, outside.length === 0, outside);
  check(`${scheme}: no script fails`, errors.filter((e) => !/404/.test(e)).length === 0, errors);
  await page.close();
}

async function phone(browser) {
  const page = await browser.newPage({ viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, hasTouch: true, isMobile: true });
  await page.goto("http://127.0.0.1:18099/");
  await page.waitForSelector(".card");
  await page.fill("#word", "king");
  await page.locator("#search button").tap();
  await page.waitForSelector("#map g.point");
  const wide = await page.evaluate(() => document.documentElement.scrollWidth);
  check("phone: nothing is wider than the screen", wide <= 390, wide);
  const small = await page.evaluate(() => [...document.querySelectorAll("button")].filter((b) => b.offsetParent && !b.closest(".bars") && b.offsetHeight < 38).length);
  check("phone: buttons are large enough for a finger", small === 0, small);
  await page.waitForTimeout(1500);
  await page.screenshot({ path: path.join(out, "phone.png"), fullPage: true });
  await page.close();
}

async function keyboard(browser) {
  const page = await browser.newPage({ viewport: { width: 1000, height: 800 } });
  await page.goto("http://127.0.0.1:18099/");
  await page.waitForSelector(".card");
  const seen = new Set();
  for (let i = 0; i < 25; i++) {
    await page.keyboard.press("Tab");
    seen.add(await page.evaluate(() => document.activeElement.id || document.activeElement.name || document.activeElement.className));
  }
  check("keyboard: Tab reaches cards, search, map and analogy", ["card", "word", "map", "a", "b", "c", "zoom-in"].every((x) => seen.has(x)), [...seen]);
  await page.close();
}

(async () => {
  const server = serve();
  const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
  try {
    await until(async () => { try { return (await fetch("http://127.0.0.1:18099/ping")).ok; } catch { return false; } }, "the server");
    await desktop(browser, "light");
    await desktop(browser, "dark");
    await phone(browser);
    await keyboard(browser);
  } finally {
    await browser.close();
    server.kill("SIGTERM");
  }
  console.log(`1..${cases}`);
  process.exitCode = failed > 0 ? 1 : 0;
})();
