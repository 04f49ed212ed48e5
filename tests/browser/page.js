/* What a person does on the page, and what must then be seen. Prints TAP. */
"use strict";
const { chromium } = require("playwright-core");
const { execFileSync, spawn } = require("node:child_process");
const fs = require("node:fs");
const path = require("node:path");
const zlib = require("node:zlib");
const { check, plan } = require("./tap.js");

const [shoal, out] = process.argv.slice(2);

function serve(port, ...models) {
  const child = spawn(shoal, ["serve", ...models, "--quiet",
    "--inference-address", `127.0.0.1:${port}`, "--management-address", "none", "--metrics-address", "none"],
  { cwd: out, stdio: "ignore" });
  return child;
}

/* A picture of one colour. */
function png(colour, size = 12) {
  const crc = (data) => {
    let c = ~0;
    for (const byte of data) {
      c ^= byte;
      for (let i = 0; i < 8; i++) c = (c >>> 1) ^ (c & 1 ? 0xedb88320 : 0);
    }
    return ~c >>> 0;
  };
  const chunk = (kind, data) => {
    const all = Buffer.concat([Buffer.alloc(4), Buffer.from(kind), data, Buffer.alloc(4)]);
    all.writeUInt32BE(data.length, 0);
    all.writeUInt32BE(crc(all.subarray(4, -4)), all.length - 4);
    return all;
  };
  const head = Buffer.from([0, 0, 0, size, 0, 0, 0, size, 8, 2, 0, 0, 0]);
  const row = Buffer.concat([Buffer.alloc(1), ...Array(size).fill(Buffer.from(colour))]);
  return Buffer.concat([Buffer.from("89504e470d0a1a0a", "hex"), chunk("IHDR", head),
    chunk("IDAT", zlib.deflateSync(Buffer.concat(Array(size).fill(row)))), chunk("IEND", Buffer.alloc(0))]);
}

/* Small models of the other kinds, once. */
function train() {
  const run = (...args) => execFileSync(shoal, args, { cwd: out, stdio: "ignore" });
  if (fs.existsSync(path.join(out, "next.shoal"))) return;
  for (const [name, colour] of [["red", [250, 10, 10]], ["blue", [10, 10, 250]], ["green", [10, 250, 10]]]) {
    fs.mkdirSync(path.join(out, "set", name), { recursive: true });
    for (let i = 0; i < 8; i++) fs.writeFileSync(path.join(out, "set", name, `${i}.png`), png(colour.map((c) => Math.max(0, c - 5 * i))));
  }
  run("train", "vgg", "set", "--size", "8", "--base", "16", "--batch", "8", "--epochs", "15", "--lr", "0.02", "--warmup", "0", "-o", "vgg.shoal");
  run("gen", "spiral", "--classes", "4", "-o", "spiral.csv");
  run("train", "mlp", "spiral.csv", "--layers", "8", "--epochs", "2", "-o", "mlp.shoal");
  run("gen", "world", "--words", "100000", "-o", "few.txt");
  run("train", "cbow", "few.txt", "--dim", "8", "--epochs", "1", "-o", "few.shoal");
  run("train", "nextword", "few.txt", "--vectors", "few.shoal", "--hidden", "8", "--epochs", "1", "-o", "next.shoal");
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
  await page.waitForSelector("#word-map canvas");
  check(`${scheme}: a map of the commonest words is made and shown`, (await page.evaluate(() => wordMap.state().labels.length)) > 10);
  check(`${scheme}: it has 2,000 words or more`, await until(async () => /^3,000 of /.test(await page.textContent("#word-map .wm-quiet")), "the words"));
  check(`${scheme}: it shows the word that was asked for`, await until(() => page.evaluate(() => wordMap.state().word === "paris"), "the word"));
  await page.fill("#analogy [name=a]", "paris");
  await page.fill("#analogy [name=b]", "france");
  await page.fill("#analogy [name=c]", "rome");
  await page.click("#analogy button");
  await page.waitForSelector("#answers li");
  check(`${scheme}: paris is to france as rome is to italy`, (await page.textContent("#answers li .name")) === "italy");
  check(`${scheme}: the map draws the analogy`, await until(() => page.evaluate(() => wordMap.state().answer === "italy" && !wordMap.state().moving), "two arrows"));
  const four = ["paris", "france", "rome", "italy"], boxes = (await page.evaluate(() => wordMap.state().labels)).filter((l) => four.includes(l.text));
  check(`${scheme}: its four words are written, none over another`, boxes.length === 4 && boxes.every((a) => boxes.every((b) => a === b
    || a.x + a.w <= b.x || b.x + b.w <= a.x || Math.abs(a.y - b.y) >= a.h * 0.9)), boxes);
  check(`${scheme}: the address has the analogy`, /a=paris&b=france&c=rome/.test(page.url()), page.url());
  const second = await page.textContent("#answers li:nth-child(2) .name");
  await page.click("#answers li:nth-child(2) .name");
  check(`${scheme}: another answer is drawn when it is pressed, if it is common`, await page.evaluate((word) => wordMap.state().answer === word, second)
    || /not all of these/.test(await page.textContent("#map-state")));
  await page.waitForFunction(() => !wordMap.state().moving);
  for (let i = 0; i < 40; i++) await page.request.get("http://127.0.0.1:18099/models/words/similar?word=rome");
  await page.waitForTimeout(3500);
  await page.screenshot({ path: path.join(out, `desktop-${scheme}.png`), fullPage: true });

  const view = () => page.evaluate(() => wordMap.state().view);
  await page.click("#word-map >> text=Whole map");
  await page.waitForFunction(() => !wordMap.state().moving);
  await page.focus("#word-map canvas");
  await page.keyboard.press("+");
  check(`${scheme}: + zooms the map`, (await view()).scale > 1);
  await page.keyboard.press("0");
  await page.waitForFunction(() => !wordMap.state().moving);
  check(`${scheme}: 0 shows the whole map again`, (await view()).scale === 1);
  const box = await page.locator("#word-map canvas").boundingBox();
  await page.mouse.move(box.x + 200, box.y + 200);
  await page.mouse.wheel(0, -300);
  check(`${scheme}: the wheel zooms the map`, (await view()).scale > 1);
  await page.click("#word-map >> text=Whole map");
  await page.waitForFunction(() => !wordMap.state().moving);
  const king = await page.evaluate(() => wordMap.place("king"));
  await page.mouse.click(box.x + king.x, box.y + king.y);
  check(`${scheme}: a point pressed is searched for`, await until(async () => (await page.inputValue("#word")) !== "paris", "a search"));
  await page.fill("#word", "paris");
  await page.keyboard.press("Enter");
  await until(async () => (await page.textContent("#near-title")) === "Nearest to paris", "paris");
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

/* Principal components at once: what the server says while it makes the rest is held here. */
async function first(browser) {
  const page = await browser.newPage({ viewport: { width: 1000, height: 800 } });
  let making = true;
  await page.route("**/map?*", (route) => (making && !/layout=pca/.test(route.request().url())
    ? route.fulfill({ json: { making: 0.2, first: true } }) : route.continue()));
  await page.goto("http://127.0.0.1:18099/#model=words&word=king");
  await page.waitForSelector("#word-map canvas");
  check("a map is there while another is made, and both is said", /By principal components so far; a map by t-SNE is being made: 20 %/.test(await page.textContent(".map-state")),
    await page.textContent("#map-state"));
  check("the word is shown on it", await until(() => page.evaluate(() => wordMap.state().word === "king"), "king"));
  making = false;
  check("then the whole is", await until(async () => (await page.textContent("#map-state")) === "" && await page.evaluate(() => wordMap.state().layout === "t-SNE"), "t-SNE"));
  await page.close();
}

async function phone(browser) {
  const page = await browser.newPage({ viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, hasTouch: true, isMobile: true });
  await page.goto("http://127.0.0.1:18099/");
  await page.waitForSelector(".card");
  await page.fill("#word", "king");
  await page.locator("#search button").tap();
  await page.waitForSelector("#near li");
  await page.waitForSelector("#word-map canvas");
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
  await page.waitForSelector("#word-map canvas");
  const seen = new Set();
  for (let i = 0; i < 50; i++) {
    await page.keyboard.press("Tab");
    seen.add(await page.evaluate(() => document.activeElement.id || document.activeElement.name || document.activeElement.className || document.activeElement.getAttribute("role")));
  }
  check("keyboard: Tab reaches cards, search, map and analogy", ["card", "word", "application", "a", "b", "c"].every((x) => seen.has(x)), [...seen]);
  await page.close();
}

async function others(browser) {
  const page = await browser.newPage({ viewport: { width: 1000, height: 800 } });
  const errors = [];
  page.on("pageerror", (e) => errors.push(String(e)));
  await page.goto("http://127.0.0.1:18098/");
  await page.waitForSelector(".card");
  await page.locator(".card", { hasText: "pictures" }).first().click();
  fs.writeFileSync(path.join(out, "blue.png"), png([20, 15, 240]));
  await page.setInputFiles("#file", path.join(out, "blue.png"));
  await page.waitForSelector("#classes li");
  check("a picture chosen: its classes, likeliest first", (await page.textContent("#classes li .name")) === "blue"
    && await page.locator("#classes li").count() === 3, await page.textContent("#classes"));
  check("and the picture is shown", await page.locator("#preview").isVisible());
  await page.screenshot({ path: path.join(out, "pictures.png"), fullPage: true });
  await page.locator(".card", { hasText: "next" }).first().click();
  await page.fill("#typed", "the king of the");
  await page.waitForSelector("#next li");
  check("text typed: its next words", await page.locator("#next li").count() === 10);
  await page.screenshot({ path: path.join(out, "next.png"), fullPage: true });
  await page.locator(".card", { hasText: "mlp" }).first().click();
  await page.click("#ask button");
  await page.waitForSelector("#outputs li");
  check("numbers given: the classes of a net", await page.locator("#outputs li").count() === 4);
  check("no script fails on these either", errors.length === 0, errors);
  await page.close();
}

async function door(browser) {
  const page = await browser.newPage({ viewport: { width: 1000, height: 800 } });
  await page.goto("http://127.0.0.1:18097/");
  await page.waitForSelector("#door[open]");
  check("without a token the page asks for one", await page.locator(".card").count() === 0);
  await page.fill("#token", "a-token-of-inference");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".card");
  check("and with it shows the models", await page.locator(".card").count() === 1);
  await page.close();
}

(async () => {
  train();
  fs.writeFileSync(path.join(out, "tokens"), "inference a-token-of-inference\nmanagement a-token-of-management\n", { mode: 0o600 });
  const servers = [serve(18099, "words=words.shoal", "second:2.0=words.shoal"),
    serve(18098, "pictures=vgg.shoal", "next=next.shoal", "mlp=mlp.shoal"),
    serve(18097, "words=words.shoal", "--token-file", "tokens")];
  const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
  try {
    for (const port of [18099, 18098, 18097]) await until(async () => { try { return (await fetch(`http://127.0.0.1:${port}/ping`)).ok; } catch { return false; } }, "the server");
    await desktop(browser, "light");
    await desktop(browser, "dark");
    await first(browser);
    await phone(browser);
    await keyboard(browser);
    await others(browser);
    await door(browser);
  } finally {
    await browser.close();
    for (const server of servers) server.kill("SIGTERM");
  }
  plan();
})();
