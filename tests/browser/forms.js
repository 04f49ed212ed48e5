/* The forms of the page, one for each kind of model, and what went wrong on it before. Prints
 * TAP. */
"use strict";
const { chromium } = require("playwright-core");
const { execFileSync } = require("node:child_process");
const fs = require("node:fs");
const path = require("node:path");
const tools = require("./tools.js");
const { shoal, out, check, until, serve, violations, finish } = tools;

/* ---- Models ---------------------------------------------------------------------------------- */

/* Bars, upright and lying, 28 x 28, as MNIST's files have them. */
function idx() {
  const n = 200, images = Buffer.alloc(16 + n * 784), labels = Buffer.alloc(8 + n);
  [0x803, n, 28, 28].forEach((x, i) => images.writeUInt32BE(x, 4 * i));
  [0x801, n].forEach((x, i) => labels.writeUInt32BE(x, 4 * i));
  for (let i = 0; i < n; i++) {
    labels[8 + i] = i % 2;
    for (let t = 4; t < 24; t++)
      for (let w = 0; w < 3; w++) {
        const p = 6 + ((i * 7) % 15) + w;
        images[16 + i * 784 + (i % 2 ? p * 28 + t : t * 28 + p)] = 255;
      }
  }
  fs.writeFileSync(path.join(out, "bars-images-idx3-ubyte"), images);
  fs.writeFileSync(path.join(out, "bars-labels-idx1-ubyte"), labels);
}

function train() {
  const run = (...args) => execFileSync(shoal, args, { cwd: out, stdio: "ignore" });
  if (fs.existsSync(path.join(out, "news.shoal"))) return;
  run("gen", "people", "-o", "people.csv");
  run("train", "logreg", "people.csv", "-o", "people.shoal"); // as the README has it
  run("gen", "spiral", "--classes", "4", "-o", "spiral.csv");
  run("train", "mlp", "spiral.csv", "--layers", "32,32", "--epochs", "10", "-o", "spiral.shoal");
  fs.writeFileSync(path.join(out, "surface.csv"), "x,y,z\n" +
    Array.from({ length: 300 }, (_, i) => `${(i % 17) / 17},${(i % 23) / 23},${(10 * (i % 17)) / 17 - (i % 23) / 23}`).join("\n") + "\n");
  run("train", "mlp", "surface.csv", "--regression", "--label", "z", "--epochs", "5", "-o", "surface.shoal");
  fs.writeFileSync(path.join(out, "rows.svm"), Array.from({ length: 200 }, (_, i) => `${i % 2} 1:${i % 2} 2:${i % 7}`).join("\n") + "\n");
  run("train", "logreg", "rows.svm", "-o", "svm.shoal");
  run("train", "logreg", "people.csv", "--examples", "4", "-o", "kept.shoal");
  run("train", "multinomial", "spiral.csv", "-o", "multi.shoal");
  idx();
  run("train", "mlp", "bars-images-idx3-ubyte", "--layers", "16", "--epochs", "5", "-o", "pad.shoal");
  run("gen", "news", "-o", "news.txt");
  run("train", "classify", "news.txt", "-o", "news.shoal");
}

let url = "";
const open = (browser, hash, { at = url, ...how } = {}) => tools.open(browser, at, hash, how);

/* Names with their numbers and the lengths of their bars. */
const answers = (tab, list) => tab.locator(`${list} li`).evaluateAll((items) =>
  items.map((li) => ({ name: li.querySelector(".name").textContent, value: Number(li.querySelector(".value").textContent),
    width: li.querySelector(".bar i") ? parseFloat(li.querySelector(".bar i").style.width) : null })));

/* ---- What was wrong ------------------------------------------------------------------------------- */

async function clicks(browser) {
  const tab = await open(browser, "#model=people");
  await tab.waitForSelector("#outputs li");
  for (let i = 0; i < 20; i++) {
    await tab.click("#example");
    await tab.waitForTimeout(20);
  }
  await tab.waitForTimeout(300);
  const shown = await answers(tab, "#outputs");
  check("examples are answered by the click model of the README", await tab.locator("#trouble").isHidden() && shown.length === 2
    && Math.abs(shown[0].value + shown[1].value - 1) < 0.002, await tab.textContent("#trouble"));
  check("its answer is named by the labels", shown[0].name === "yes" && shown[1].name === "no", shown);
  check("the form has the columns that are used", (await tab.locator("#fields label").allTextContents()).join() === "age,income,hours,city,job,visit");
  const before = shown[0].value, body = () => JSON.parse(tab.asked[tab.asked.length - 1].body);
  await tab.locator("#fields input[type=range]").first().focus();
  for (let i = 0; i < 2; i++) await tab.keyboard.press(before > 0.5 ? "Home" : "End");
  check("a slider moved is answered", await until(async () => (await answers(tab, "#outputs"))[0].value !== before, "another answer"));
  check("rows are asked by the names of columns", Object.keys(body()).join() === "age,income,hours,city,job,visit", body());
  await tab.click("#pasted summary");
  await tab.fill("#rows", fs.readFileSync(path.join(out, "people.csv"), "utf8").split("\n").slice(0, 4).join("\n"));
  await tab.click("#paste button.main");
  check("rows pasted as they are are answered", await until(async () => (await answers(tab, "#outputs")).length === 3, "three answers"),
    await tab.textContent("#trouble"));
  await tab.fill("#rows", "nonsense");
  await tab.click("#paste button.main");
  check("rows that are none are refused in words", await until(() => tab.locator("#trouble").isVisible(), "trouble"));
  await tab.context().close();
  const raw = await open(browser, "#model=svm");
  await raw.waitForFunction(() => document.getElementById("rows").value !== "");
  await raw.click("#paste button.main");
  check("the label of a class is no count", /positive class 1/.test(await raw.textContent("#facts")), await raw.textContent("#facts"));
  check("a model without columns has an example too", await until(async () => (await answers(raw, "#outputs")).length === 2, "an answer"));
  await raw.context().close();
}

async function kept(browser) {
  const rows = fs.readFileSync(path.join(out, "people.csv"), "utf8").split("\n");
  const tab = await open(browser, "#model=kept");
  await tab.waitForSelector("#outputs li");
  const seen = [];
  for (let i = 0; i < 5; i++) {
    if (i > 0) await tab.click("#example");
    seen.push((await tab.locator("#fields .field > input:not([type=range]), #fields select").evaluateAll((all) => all.map((x) => x.value))).join("|"));
  }
  check("examples are the rows that the model keeps, one after the other", new Set(seen).size === 4 && seen[4] === seen[0]
    && seen.every((row) => rows.some((line) => row.split("|").every((value) => line.includes(value)))), seen);
  check("and are answered", await until(async () => (await answers(tab, "#outputs")).length === 2, "an answer"));
  await tab.click("#pasted summary");
  await tab.click("#example-rows");
  await tab.context().close();
}

async function cards(browser) {
  const tab = await open(browser, "#model=people");
  await tab.waitForSelector(".card");
  await tab.evaluate(() => { for (const card of document.querySelectorAll(".card")) card.kept = true; });
  let wrong = 0;
  for (let i = 0; i < 30; i++) {
    const name = i % 2 ? "people" : "words";
    await tab.locator(`[data-key="${name}/1.0"]`).scrollIntoViewIfNeeded();
    const box = await tab.locator(`[data-key="${name}/1.0"]`).boundingBox();
    await tab.mouse.move(box.x + 30, box.y + 10);
    await tab.mouse.down();
    await tab.waitForTimeout(90);
    await tab.mouse.up();
    if ((await tab.textContent("#panel-title")) !== name) wrong++;
  }
  check("no click on a model is lost, while figures change", wrong === 0, wrong);
  check("cards are changed in place", await tab.evaluate(() => [...document.querySelectorAll(".card")].every((card) => card.kept)));
  check("a card says whether its model is ready", (await tab.textContent(".card .state span:nth-child(2)")) === "ready");
  await fetch(url + "predictions/multi", { method: "POST", headers: { "Content-Type": "application/json" }, body: '{"x": 0.1, "y": 0.2}' });
  await tab.waitForTimeout(5000);
  const later = await open(browser, "#model=people");
  await later.waitForSelector("#charts tr");
  const said = await later.locator("#charts tr").evaluateAll((all) => all.map((at) => at.textContent));
  check("a page opened after a request knows of it", said.some((text) => /^multi/.test(text) && /up to/.test(text)), said);
  await later.context().close();
  const idle = said.filter((text) => /no requests lately/.test(text));
  check("without requests there is no scale", idle.length > 0 && !idle.some((text) => /µs|ms/.test(text)), idle);
  check("models come before health", await tab.evaluate(() =>
    (document.getElementById("panel").compareDocumentPosition(document.getElementById("health-box")) & 4) === 4));
  await tab.context().close();
}

async function bars(browser) {
  for (const name of ["spiral", "multi", "pad", "news", "next", "people", "words"]) {
    const tab = await open(browser, "#model=" + name);
    await tab.waitForSelector(".card");
    if (name === "pad") await scribble(tab);
    if (name === "news") await tab.fill("#written", story());
    if (name === "next") await tab.fill("#typed", "the king of the");
    if (name === "words") await deeds.words(tab);
    const list = { pad: "#classes", news: "#label-bars", next: "#next", words: "#near" }[name] || "#outputs";
    await tab.waitForSelector(list + " li");
    await tab.waitForTimeout(100);
    const shown = await answers(tab, list);
    check(`${name}: a bar is as long as its probability`, shown.every((a) => Math.abs(a.width - 100 * a.value) < 0.06), shown);
    await tab.context().close();
  }
  const tab = await open(browser, "#model=surface");
  await tab.waitForSelector("#outputs li");
  check("values have no bars", await tab.locator("#outputs .bar").count() === 0);
  check("one of something is no several", /1 output,/.test(await tab.textContent("#facts")), await tab.textContent("#facts"));
  check("they are named by their column", (await answers(tab, "#outputs"))[0].name === "z", await answers(tab, "#outputs"));
  await tab.context().close();
}

async function errors(browser) {
  const tab = await open(browser, "#model=words", { width: 390, height: 700 });
  await tab.fill("#word", "king");
  await tab.keyboard.press("Enter");
  await tab.waitForSelector("#near li");
  await tab.fill("#word", "kingg");
  await tab.keyboard.press("Enter");
  await tab.waitForSelector("#trouble:not([hidden])");
  const box = await tab.locator("#trouble").boundingBox();
  check("an error is where one looks", box.y >= 0 && box.y + box.height <= 700, box);
  check("it stands behind the form, and is announced", await tab.evaluate(() =>
    document.getElementById("search").nextElementSibling.id === "trouble" && document.getElementById("trouble").getAttribute("role") === "alert"));
  check("old results are gone", await tab.locator("#near li").count() === 0 && await tab.locator("#call").isHidden());
  await tab.context().close();
}

async function tokens(browser, at) {
  const tab = await open(browser, "", { at });
  await tab.waitForSelector("#door[open]");
  await tab.fill("#token", "another-token-than-that");
  await tab.keyboard.press("Enter");
  check("a wrong token is said to be wrong", await until(async () => /did not accept/.test(await tab.textContent("#door-trouble")), "a word"));
  check("axe finds nothing where a token is asked for", (await violations(tab)).length === 0, await violations(tab));
  check("and another is asked for", await tab.locator("#door[open]").count() === 1);
  await tab.fill("#token", "a-token-of-inference");
  await tab.keyboard.press("Enter");
  await tab.waitForSelector("#outputs li");
  check("no token is shown in what to call", !/a-token/.test(await tab.textContent("#call-code")) && /Bearer TOKEN/.test(await tab.textContent("#call-code")));
  await tab.context().close();
}

async function addresses(browser) {
  const tab = await open(browser, "");
  await tab.waitForSelector(".card");
  check("the page has a picture in its tab", (await tab.getAttribute("link[rel=icon]", "href")).startsWith("data:image/svg+xml,%3Csvg"));
  await tab.locator('[data-key="words/1.0"]').click();
  check("the title names the model", (await tab.title()) === "words · shoal", await tab.title());
  for (const word of ["king", "queen"]) {
    await tab.fill("#word", word);
    await tab.keyboard.press("Enter");
    await until(async () => (await tab.textContent("#near-title")) === "Nearest to " + word, word);
  }
  check("the address has model and word", /#model=words&version=1.0&word=queen/.test(tab.url()), tab.url());
  await tab.goBack();
  check("back shows the word before", await until(async () => (await tab.textContent("#near-title")) === "Nearest to king", "king"));
  await tab.goBack();
  await tab.goBack();
  check("and the model before", await until(async () => (await tab.textContent("#panel-title")) !== "words", "another model"));
  await tab.goForward();
  await tab.goForward();
  await tab.reload();
  check("an address shows the same again", await until(async () => (await tab.textContent("#near-title")) === "Nearest to king", "king"));

  // A form that is answered once its model is shown no more.
  const forms = [];
  await tab.route("**/form?*", (route) => forms.push(route));
  await tab.locator('[data-key="spiral/1.0"]').click();
  await until(() => forms.length === 1, "the form of spiral");
  await tab.locator('[data-key="words/1.0"]').click();
  await tab.fill("#word", "queen");
  await tab.keyboard.press("Enter");
  await until(async () => (await tab.textContent("#near-title")) === "Nearest to queen", "queen");
  await Promise.all([tab.waitForResponse(/\/form\?/), forms[0].continue()]);
  await tab.waitForTimeout(500);
  check("an answer that comes late leaves the address alone", /#model=words&version=1.0&word=queen/.test(tab.url()), tab.url());
  await tab.context().close();
}

/* ---- Forms ------------------------------------------------------------------------------------------- */

async function regions(browser) {
  const tab = await open(browser, "#model=spiral");
  await tab.waitForSelector("#outputs li");
  await until(() => tab.evaluate(() => document.getElementById("regions-legend").children.length === 4), "regions");
  const colours = await tab.evaluate(() => {
    const canvas = document.getElementById("regions-canvas"), seen = new Set();
    const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
    for (let i = 0; i < data.length; i += 4 * 101) seen.add([data[i] >> 6, data[i + 1] >> 6, data[i + 2] >> 6].join());
    return seen.size;
  });
  check("the regions of four classes have colours", colours >= 4, colours);
  const batches = tab.asked.filter((a) => a.url.endsWith("/infer"));
  check("all their points are one request", batches.length === 1 && JSON.parse(batches[0].body).inputs[0].shape[0] > 4000, batches.length);
  const box = await tab.locator("#regions-canvas").boundingBox(), values = () => tab.locator("#fields input[type=number]").evaluateAll((all) => all.map((i) => Number(i.value)));
  await tab.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  await tab.mouse.down();
  await tab.mouse.move(box.x + box.width - 2, box.y + 2, { steps: 5 });
  await tab.mouse.up();
  const corner = await values();
  check("the point is dragged", corner[0] > 0.9 && corner[1] > 0.9, corner);
  await tab.waitForTimeout(200);
  const asked = JSON.parse(tab.asked[tab.asked.length - 1].body);
  check("and its answer is asked for", asked.x === corner[0] && asked.y === corner[1], asked);
  await tab.locator("#regions-canvas").focus();
  await tab.keyboard.press("ArrowLeft");
  check("an arrow key moves it", (await values())[0] < corner[0], await values());
  await tab.context().close();
}

async function scribble(tab) {
  await tab.locator("#pad").scrollIntoViewIfNeeded();
  const box = await tab.locator("#pad").boundingBox();
  await tab.mouse.move(box.x + box.width / 2, box.y + 40);
  await tab.mouse.down();
  await tab.mouse.move(box.x + box.width / 2, box.y + box.height - 40, { steps: 8 });
  await tab.mouse.up();
}

async function pictures(browser) {
  const tab = await open(browser, "#model=pad");
  await tab.waitForSelector(".card");
  await tab.evaluate(() => {
    window.cameras = 0;
    const real = navigator.mediaDevices.getUserMedia.bind(navigator.mediaDevices);
    navigator.mediaDevices.getUserMedia = (what) => { window.cameras++; return real(what); };
  });
  await scribble(tab);
  await tab.waitForSelector("#classes li");
  check("an upright stroke on the pad is an upright bar", (await answers(tab, "#classes"))[0].name === "0", await answers(tab, "#classes"));
  check("a small picture is shown large", (await tab.locator("#preview").boundingBox()).width >= 200);
  await tab.click("#pad-clear");
  await tab.evaluate(async () => {
    const canvas = Object.assign(document.createElement("canvas"), { width: 28, height: 28 }), c = canvas.getContext("2d");
    c.fillRect(0, 0, 28, 28);
    c.fillStyle = "#fff";
    c.fillRect(4, 13, 20, 3);
    const blob = await new Promise((done) => canvas.toBlob(done)), data = new DataTransfer();
    data.items.add(new File([blob], "lying.png", { type: "image/png" }));
    document.dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true }));
  });
  check("a picture pasted is answered", await until(async () => ((await answers(tab, "#classes"))[0] || {}).name === "1", "a lying bar"));
  const dropped = tab.asked.length;
  await tab.evaluate(async () => {
    const blob = await new Promise((done) => byName("pad").toBlob(done)), data = new DataTransfer();
    function byName(id) { return document.getElementById(id); }
    data.items.add(new File([blob], "upright.png", { type: "image/png" }));
    byName("drop").dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true }));
  });
  check("a picture dropped is answered", await until(async () => tab.asked.length > dropped && await tab.locator("#classes li").count() === 2
    && await tab.locator("#trouble").isHidden(), "an answer"));
  check("the camera is not asked for before somebody presses", await tab.evaluate(() => window.cameras) === 0);
  const before = tab.asked.length;
  await tab.click("#camera");
  await until(() => tab.evaluate(() => document.getElementById("video").videoWidth > 0), "the camera");
  await tab.click("#take");
  check("a picture of the camera is answered", await until(() => tab.asked.length > before && tab.locator("#trouble").isHidden(), "an answer"));
  await tab.click("#camera");
  check("and the camera is closed again", await tab.locator("#camera-box").isHidden());
  await tab.context().close();
}

const story = () => fs.readFileSync(path.join(out, "news.txt"), "utf8").split("\n")[3].replace(/^__label__\S+ /, "");

async function texts(browser) {
  const next = await open(browser, "#model=next");
  await next.waitForSelector(".card");
  await next.type("#typed", "the king of the", { delay: 15 });
  await next.waitForSelector("#next li");
  await next.waitForTimeout(300);
  check("typing asks once it pauses", next.asked.length <= 3, next.asked.length);
  const word = (await answers(next, "#next"))[0].name;
  check("next words come with their probabilities", (await answers(next, "#next")).every((a, i, all) => a.value > 0 && (i === 0 || a.value <= all[i - 1].value)));
  await next.locator("#next button").first().click();
  check("a next word pressed is taken", (await next.inputValue("#typed")) === `the king of the ${word} `);
  await next.fill("#typed", "qqqq");
  check("that no word is known is said", await until(async () => /knows none/.test(await next.textContent("#next")), "a sentence"));
  await next.context().close();

  const tab = await open(browser, "#model=news");
  await tab.waitForSelector(".card");
  await tab.fill("#written", story());
  await tab.waitForSelector("#counted mark");
  const words = story().split(/\s+/).length;
  check("each word is marked by how much it counted", await tab.locator("#counted mark").count() === words);
  check("all words are left out in one request", tab.asked.length === 2 && JSON.parse(tab.asked[1].body).texts.length === words, tab.asked.length);
  check("the labels stand before the words that counted", await tab.evaluate(() =>
    (document.getElementById("label-bars").compareDocumentPosition(document.getElementById("counted")) & 4) === 4));
  check("those that counted most are listed", await tab.locator("#counted-most li").count() === 5);
  await tab.fill("#written", Array(100).fill("mumu").join(" "));
  check("of long texts it is said that no words are shown", await until(async () => /2 to 80 words/.test(await tab.textContent("#counted")), "a sentence"));
  await tab.context().close();
}

async function calls(browser) {
  const tab = await open(browser, "#model=people");
  await tab.waitForSelector("#outputs li");
  check("an answer says how long it took", /answered in [\d.]+ ms/.test(await tab.textContent("#call summary")));
  await tab.click("#call summary");
  const as = async (language) => {
    await tab.click(`[data-language=${language}]`);
    return tab.textContent("#call-code");
  };
  const json = JSON.parse(await as("JSON"));
  const curl = execFileSync("sh", ["-c", await as("curl")], { encoding: "utf8", timeout: 10000 });
  check("curl gives the same answer", JSON.parse(curl) === json, curl);
  const python = execFileSync("python3", ["-c", await as("Python")], { encoding: "utf8", timeout: 20000 });
  check("Python does", Number(python) === json, python);
  const node = execFileSync("node", ["--input-type=module", "-e", await as("JavaScript")], { encoding: "utf8", timeout: 20000 });
  check("and JavaScript", Number(node) === json, node);
  await tab.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await tab.click("#call-copy");
  check("it can be copied", await until(async () => (await tab.textContent("#call-copy")) === "Copied", "a copy")
    && (await tab.evaluate(() => navigator.clipboard.readText())) === await tab.textContent("#call-code"));
  await tab.context().close();
}

async function interfaces(browser) {
  const tab = await open(browser, "interface");
  await tab.waitForSelector(".operation");
  const api = await (await fetch(url + "api-description")).json();
  const known = Object.entries(api.paths).flatMap(([p, item]) => Object.keys(item).filter((m) => m !== "parameters").map((m) => m.toUpperCase() + " " + p));
  const shown = await tab.locator(".operation summary").evaluateAll((all) => all.map((s) => s.querySelector(".method").textContent + " " + s.querySelector("code").textContent));
  check("the interface has every request of the OpenAPI document", known.length > 10 && known.every((k) => shown.includes(k)), shown);
  await tab.click("#get-ping summary");
  await tab.click("#get-ping button.main");
  check("a request can be tried", await until(async () => /Status 200[^]*Healthy/.test(await tab.textContent("#get-ping .answered")), "an answer"));
  const post = "#post-predictions-model_name-";
  await tab.click(`${post} summary`);
  check("its form begins with a body that the first model takes", await until(async () => (await tab.inputValue(`${post} textarea`)) !== "", "a body"));
  await tab.click(`${post} button.main`);
  check("which is answered as it stands", await until(async () => /Status 200/.test(await tab.textContent(`${post} .answered`)), "an answer"),
    await tab.textContent(`${post} .answered`));
  await tab.route("**/models/spiral/form", (route) => setTimeout(() => route.continue(), 500));
  await tab.fill(`${post} [data-name=model_name]`, "spiral");
  await tab.fill(`${post} textarea`, "[0.5, 0.5]");
  await tab.click(`${post} button.main`);
  await tab.waitForTimeout(600);
  check("a body that was typed stays", (await tab.inputValue(`${post} textarea`)) === "[0.5, 0.5]");
  check("one with a body too", await until(async () => /Status 200/.test(await tab.textContent(`${post} .answered`)), "an answer"));
  await tab.fill(`${post} textarea`, "[0.5]");
  await tab.click(`${post} button.main`);
  check("and one that is refused says so", await until(async () => /Status 400[^]*want 2/.test(await tab.textContent(`${post} .answered`)), "a refusal"));
  await tab.selectOption(`${post} select`, "image/png");
  await tab.fill(`${post} [data-name=model_name]`, "pad");
  fs.writeFileSync(path.join(out, "dot.png"), Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg==", "base64"));
  await tab.setInputFiles(`${post} [type=file]`, path.join(out, "dot.png"));
  await tab.click(`${post} button.main`);
  check("a body that is a file is chosen and sent", await until(async () => /Status 200/.test(await tab.textContent(`${post} .answered`)), "an answer"),
    await tab.textContent(`${post} .answered`));
  const similar = "#get-models-model_name-similar";
  await tab.click(`${similar} summary`);
  check("a parameter has the range and the values of its schema", await tab.getAttribute(`${similar} [data-name=k]`, "max") === "1000"
    && await tab.locator(`${similar} select[data-name=exact] option`).count() === 3);
  const codes = await tab.locator(`${post} .answers strong`).allTextContents();
  check("answers that are alike are told once", codes.length === 2 && /^200$/.test(codes[0]) && /400, 404, .*default/.test(codes[1]), codes);
  check("requests stand in groups", await tab.locator("#operations h2").allTextContents().then((all) => all[0] === "Predictions" && all.length >= 4));
  await tab.context().close();
}

/* ---- Every kind, light and dark, small and large -------------------------------------------------------- */

const models = ["words", "next", "news", "people", "svm", "spiral", "surface", "multi", "pad"];
const deeds = {
  words: async (tab) => { await tab.fill("#word", "king"); await tab.keyboard.press("Enter"); await tab.waitForSelector("#near li"); },
  next: async (tab) => { await tab.fill("#typed", "the king of the"); await tab.waitForSelector("#next li"); },
  news: async (tab) => { await tab.fill("#written", story()); await tab.waitForSelector("#counted mark"); },
  svm: async (tab) => { await tab.click("#paste button.main"); await tab.waitForSelector("#outputs li"); },
  pad: async (tab) => { await scribble(tab); await tab.waitForSelector("#classes li"); },
};

async function everyKind(browser) {
  for (const [width, scheme] of [[1280, "light"], [1280, "dark"], [390, "light"], [390, "dark"]]) {
    const found = [], wide = [], outside = [], errorsSeen = [];
    for (const name of [...models, "interface"]) {
      const tab = await open(browser, name === "interface" ? name : "#model=" + name, { width, scheme });
      await tab.waitForSelector(name === "interface" ? ".operation" : ".card");
      if (name === "interface") for (const id of ["get-ping", "post-predictions-model_name-"]) await tab.click(`#${id} summary`);
      else await (deeds[name] || ((t) => t.waitForSelector("#outputs li")))(tab);
      if (name !== "interface") await tab.click("#call summary");
      await tab.waitForTimeout(300);
      await tab.screenshot({ path: path.join(out, `${name}-${width}-${scheme}.png`), fullPage: true });
      found.push(...(await violations(tab)).map((v) => `${name} ${v}`));
      if (await tab.evaluate(() => document.documentElement.scrollWidth) > width) wide.push(name);
      outside.push(...tab.outside);
      errorsSeen.push(...tab.errors);
      await tab.context().close();
    }
    check(`${width} ${scheme}: axe finds nothing`, found.length === 0, found);
    check(`${width} ${scheme}: nothing is wider than the screen`, wide.length === 0, wide);
    check(`${width} ${scheme}: nothing leaves the machine, no script fails`, outside.length + errorsSeen.length === 0, [outside, errorsSeen]);
  }
}

async function sizes() {
  const seen = new Set([""]), sum = { bytes: 0 };
  for (const name of seen) {
    const text = await (await fetch(url + name)).text();
    sum.bytes += Buffer.byteLength(text);
    for (const [, more] of text.matchAll(/(?:src|href|from |import\()"?(?:="|")?\.?\/?([a-z]+(?:\.js|\.css|face))"/g)) seen.add(more);
  }
  check(`the page has less than 150 KB in all`, seen.size >= 9 && sum.bytes < 150000, [[...seen], sum.bytes]);
  console.log(`# ${sum.bytes} bytes`);
}

(async () => {
  train();
  fs.writeFileSync(path.join(out, "tokens"), "inference a-token-of-inference\nmanagement a-token-of-management\n", { mode: 0o600 });
  const servers = [await serve(...["words", "next", ...models.slice(2), "kept"].map((name) => `${name}=${name}.shoal`)),
    await serve("people=people.shoal", "--token-file", "tokens")];
  url = servers[0].url;
  const browser = await chromium.launch({ executablePath: "/usr/bin/chromium",
    args: ["--no-sandbox", "--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream"] });
  try {
    await sizes();
    for (const part of [clicks, kept, cards, bars, errors, addresses, regions, pictures, texts, calls, interfaces, everyKind]) await part(browser);
    await tokens(browser, servers[1].url);
  } catch (error) {
    check("the tests come to their end", false, String(error));
  } finally {
    await browser.close();
    finish(servers);
  }
})();
