/* What the tests of the server's page share: servers, pages, checks that print TAP. */
"use strict";
const { spawn } = require("node:child_process");
const fs = require("node:fs");
const path = require("node:path");
const { check, plan } = require("./tap.js");

const [shoal, out] = process.argv.slice(2);
const axe = fs.readFileSync(path.join(out, "node_modules/axe-core/axe.min.js"), "utf8");

async function until(truth, what) {
  for (let i = 0; i < 100; i++) {
    if (await truth()) return true;
    await new Promise((go) => setTimeout(go, 50));
  }
  console.log("# waited in vain: " + what);
  return false;
}

/* {child, url, managed} at ports that the kernel chose; `managed` is there if the arguments want it. */
function serve(...args) {
  const managed = args.includes("--management-address");
  const child = spawn(shoal, ["serve", ...args, "--inference-address", "127.0.0.1:0", ...(managed ? [] : ["--management-address", "none"]),
    "--metrics-address", "none"], { cwd: out, stdio: ["ignore", "pipe", "inherit"] });
  return new Promise((ready, fail) => {
    let said = "";
    child.on("exit", () => fail(new Error("the server ended: " + said)));
    child.stdout.on("data", (data) => {
      said += data;
      const urls = said.match(/http:\/\/127\.0\.0\.1:\d+/g) || [];
      if (urls.length > Number(managed)) ready({ child, url: urls[0] + "/", managed: urls[1] + "/" });
    });
  });
}

/* A page at the address `at`; it counts what it asks of others, and what fails. */
async function open(browser, at, hash, { width = 1280, height = 900, scheme = "light" } = {}) {
  const context = await browser.newContext({ viewport: { width, height }, colorScheme: scheme, permissions: ["camera"] });
  const tab = await context.newPage();
  tab.setDefaultTimeout(10000);
  Object.assign(tab, { outside: [], errors: [], asked: [] });
  tab.on("request", (r) => {
    if (!r.url().startsWith(at) && !/^(data|blob):/.test(r.url())) tab.outside.push(r.url());
    if (r.method() === "POST") tab.asked.push({ url: r.url(), body: r.postData() });
  });
  tab.on("pageerror", (e) => tab.errors.push(String(e)));
  await tab.goto(at + hash);
  return tab;
}

const violations = async (tab) => {
  const session = await tab.context().newCDPSession(tab); // the page's policy lets no other script in
  await session.send("Runtime.evaluate", { expression: axe });
  return tab.evaluate(() => window.axe.run().then((r) => r.violations.map((v) => `${v.id}: ${v.nodes[0].target}`)));
};

/* Ends the servers, and says how it went. */
function finish(servers) {
  for (const { child } of servers) {
    child.removeAllListeners("exit");
    child.kill("SIGTERM");
  }
  plan();
}

module.exports = { shoal, out, check, until, serve, open, violations, finish };
