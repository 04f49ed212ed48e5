/* Checks that print TAP. */
"use strict";
let cases = 0, failed = 0;

function check(name, truth, detail) {
  cases++;
  console.log(`${truth ? "ok" : "not ok"} ${cases} - ${name}`);
  if (truth) return;
  failed++;
  if (detail !== undefined) console.log("# " + JSON.stringify(detail).slice(0, 800));
}

/* How many there were, and the status of the process. */
function plan() {
  console.log(`1..${cases}`);
  process.exitCode = failed > 0 ? 1 : 0;
}

module.exports = { check, plan };
