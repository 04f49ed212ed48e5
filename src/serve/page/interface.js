/* The server's OpenAPI document as a page: what each request takes and gives, and a form that
 * sends it. */
import { ask, byId, complain, make, question, Refused, showCall } from "./ask.js";

const DEEP = 4; // levels of a schema that are shown

let api = {};

/* "#/components/schemas/Error" -> what stands there. */
function resolve(at) {
  for (let i = 0; at && at.$ref && i < 8; i++)
    at = at.$ref.replace(/^#\//, "").split("/").reduce((o, key) => (o || {})[key.replaceAll("~1", "/").replaceAll("~0", "~")], api);
  return at || {};
}

/* A schema in a line: "{code: integer, message: string}". */
function typeOf(schema, deep = 0) {
  const s = resolve(schema);
  const several = s.oneOf || s.anyOf;
  if (several) return several.map((one) => typeOf(one, deep)).join(" or ");
  if (s.enum) return s.enum.map((x) => JSON.stringify(x)).join(" or ");
  if (deep > DEEP) return "…";
  if (s.type === "array" || s.items) return `[${typeOf(s.items || {}, deep + 1)}, …]`;
  if (s.properties)
    return `{${Object.entries(s.properties).map(([key, of]) => `${key}: ${typeOf(of, deep + 1)}`).join(", ")}}`;
  if (s.additionalProperties && typeof s.additionalProperties === "object")
    return `{name: ${typeOf(s.additionalProperties, deep + 1)}, …}`;
  return s.type || "anything";
}

/* What fits a schema, to begin with: what must be there, and no more. */
function exampleOf(schema, deep = 0) {
  const s = resolve(schema);
  if (s.example !== undefined) return s.example;
  if (deep > DEEP) return null;
  if (s.oneOf || s.anyOf) return exampleOf((s.oneOf || s.anyOf)[0], deep);
  if (s.enum) return s.enum[0];
  if (s.type === "array") return [exampleOf(s.items || {}, deep + 1)];
  if (s.type === "object" || s.properties)
    return Object.fromEntries((s.required || []).map((key) => [key, exampleOf((s.properties || {})[key], deep + 1)]));
  return { string: "", integer: s.minimum || 0, number: s.minimum || 0, boolean: false }[s.type] ?? null;
}

/* ---- What a model is asked with ------------------------------------------------------------ */

/* A number about the middle; beyond what JSON's readers take for a whole number, as text. */
function middle(column) {
  const x = column.mean || 0;
  return Math.abs(x) > Number.MAX_SAFE_INTEGER ? String(BigInt(Math.round(x))) : Number(x.toPrecision(4));
}

/* A row about the middle of the data, numbers for inputs without names, or a text. */
function inputOf(form) {
  const used = (form.columns || []).filter((c) => c.kind === "number" || c.kind === "category");
  if (used.length > 0 && form.width === form.columns.length)
    return Object.fromEntries(used.map((c) => [c.name, c.kind === "number" ? middle(c) : (c.values[0] || { text: null }).text]));
  if (form.inputs) return Array(form.inputs).fill(0);
  return form.format ? { features: { 1: 1 } } : "the";
}

const inputs = new Map(); // model -> what it can be asked with

async function inputFor(model) {
  if (!inputs.has(model)) {
    try {
      inputs.set(model, inputOf(await ask(`models/${encodeURIComponent(model)}/form`)));
    } catch {
      return "";
    }
  }
  return inputs.get(model);
}

/* ---- One request -------------------------------------------------------------------------- */

/* A field by the schema of its parameter: one of several, a number in its range, or text. */
function inputOfSchema(schema, attributes, value) {
  const several = schema.enum || (schema.type === "boolean" ? ["true", "false"] : null);
  if (several)
    return make("select", attributes, ...("required" in attributes ? several : ["", ...several]).map((x) => make("option", { value: x }, x || "as it is")));
  const range = Object.fromEntries([["min", schema.minimum], ["max", schema.maximum]].filter(([, x]) => Math.abs(x) <= Number.MAX_SAFE_INTEGER));
  const number = schema.type === "integer" ? { type: "number", step: 1, ...range } : {};
  return make("input", { ...attributes, ...number, value, autocomplete: "off" });
}

function parameterField(id, parameter, known) {
  const p = resolve(parameter), name = `${id}-${p.name}`, isModel = p.name === "model_name";
  const preset = isModel ? known.name : p.name === "model_version" && p.in === "path" ? known.version : "";
  const input = inputOfSchema(resolve(p.schema), { id: name, "data-name": p.name, "data-in": p.in || "query",
    ...(isModel ? { list: "known-models" } : {}), ...(p.required || p.in === "path" ? { required: "" } : {}) }, preset || "");
  return make("div", { class: "field" }, make("label", { for: name }, p.name), input,
    make("span", { class: "quiet" }, p.description || ""));
}

const isFile = (content) => content.schema && resolve(content.schema).format === "binary";

/* The body of a request: its media types, and for each an example or a file to choose. */
function bodyFields(id, operation) {
  const content = resolve(operation.requestBody).content || { "application/json": {} };
  const types = Object.keys(content).filter((t) => !t.startsWith("multipart/")); // browsers make those themselves
  const type = make("select", { id: id + "-type" }, ...types.map((t) => make("option", {}, t)));
  const text = make("textarea", { id: id + "-body", rows: "3", spellcheck: "false" });
  const file = make("input", { id: id + "-file", type: "file" });
  const takes = make("code"), texts = make("div", {}, make("label", { for: id + "-body" }, "Body"), text);
  const files = make("div", { class: "field" }, make("label", { for: id + "-file" }, "Body"), file);
  let preset = ""; // what nobody has changed may be replaced

  async function follow(model) {
    const media = content[type.value], examples = Object.values(media.examples || {}), wantsFile = isFile(media);
    files.hidden = !wantsFile;
    texts.hidden = wantsFile;
    takes.textContent = wantsFile ? "a file" : typeOf(media.schema || {});
    if (wantsFile || text.value !== preset) return;
    let example = examples.length > 0 ? resolve(examples[0]).value : exampleOf(media.schema || {});
    if (model && /predictions|invoke/.test(id)) example = await inputFor(model);
    if (text.value !== preset) return; // somebody began to type
    if (type.value === "application/x-www-form-urlencoded")
      example = new URLSearchParams({ data: typeof example === "string" ? example : JSON.stringify(example) }).toString();
    preset = type.value === "application/json" || typeof example !== "string" ? JSON.stringify(example) : example;
    text.value = preset;
  }
  return { follow, type, at: [
    make("div", { class: "fields one" }, make("div", { class: "field" }, make("label", { for: id + "-type" }, "Content-Type"), type)),
    make("p", { class: "quiet" }, "It takes ", takes), texts, files] };
}

/* Where the request goes, by what stands in its fields. */
function addressOf(form, path) {
  const query = new URLSearchParams();
  for (const input of form.querySelectorAll("[data-name]")) {
    if (input.dataset.in === "path") path = path.replace(`{${input.dataset.name}}`, encodeURIComponent(input.value));
    else if (input.dataset.in === "query" && input.value) query.append(input.dataset.name, input.value);
  }
  return "." + path + (query.size > 0 ? "?" + query : "");
}

function optionsOf(form, method) {
  const text = form.querySelector("textarea"), type = form.querySelector("select[id$=-type]"), file = form.querySelector("[type=file]");
  const options = { method: method.toUpperCase() };
  if (!text) return options;
  const headers = { "Content-Type": type.value };
  if (file.parentElement.hidden) return text.value ? { ...options, body: text.value, headers } : options;
  return file.files[0] ? { ...options, body: file.files[0], name: file.files[0].name, headers } : options;
}

async function send(form, method, path, out) {
  const show = (call) => {
    out.replaceChildren(make("p", {}, make("strong", {}, "Status " + call.status)),
      make("pre", { tabindex: "0", "aria-label": "Answer" }, call.said === null ? call.text.slice(0, 20000) : JSON.stringify(call.said, null, 2).slice(0, 20000)));
    showCall(call, out);
  };
  complain(null);
  try {
    show((await question(addressOf(form, path), optionsOf(form, method))).call);
  } catch (error) {
    if (error instanceof Refused && error.call) {
      show(error.call);
    } else {
      out.replaceChildren();
      complain(error, form);
    }
  }
}

/* [[what, codes]...]: codes that are answered alike stand together. */
function answersOf(operation) {
  const alike = new Map();
  for (const [code, response] of Object.entries(operation.responses || {})) {
    const r = resolve(response), [[type, content] = []] = Object.entries(r.content || {});
    const said = { what: r.description || "", type: content && content.schema ? typeOf(content.schema) : type };
    const key = JSON.stringify(said);
    if (!alike.has(key)) alike.set(key, [said, []]);
    alike.get(key)[1].push(code);
  }
  return [...alike.values()];
}

function operationBox(path, method, operation, known, shared) {
  const id = `${method}-${path}`.replace(/[^\w]+/g, "-"), out = make("div", { class: "answered", "aria-live": "polite" });
  const parameters = [...(shared || []), ...(operation.parameters || [])];
  const takesBody = ["post", "put", "patch"].includes(method) && (operation.requestBody || method === "post");
  const body = takesBody ? bodyFields(id, operation) : null;
  const form = make("form", { onsubmit: (event) => { event.preventDefault(); send(form, method, path, out); } },
    make("div", { class: "fields one" }, ...parameters.map((p) => parameterField(id, p, known))),
    ...(body ? body.at : []),
    make("p", { class: "tools" }, make("button", { class: "main" }, "Send")));
  const model = form.querySelector("[data-name=model_name]"), follow = () => body && body.follow(model && model.value);
  if (body) body.type.addEventListener("change", follow);
  if (model) model.addEventListener("change", follow);
  const answers = answersOf(operation).map(([said, codes]) => make("li", {}, make("strong", {}, codes.join(", ")), " ", said.what, " ", ...(said.type ? [make("code", {}, said.type)] : [])));
  return make("details", { class: "operation", id, ontoggle: follow },
    make("summary", {}, make("span", { class: "method " + method }, method.toUpperCase()), " ", make("code", {}, path), " ",
      make("span", { class: "quiet" }, operation.summary || operation.description || "")),
    form, out, ...(answers.length > 0 ? [make("h3", {}, "Answers"), make("ul", { class: "answers" }, ...answers)] : []));
}

/* ---- The page ------------------------------------------------------------------------------- */

/* The first that fits; OPTIONS, which tells what is here, is of the server. */
const groups = [
  ["The server", (path, method) => method === "options" || !/^\/(predictions|models|v1|v2)/.test(path)],
  ["Predictions", (path) => /^\/predictions|\/invoke$/.test(path)],
  ["Words and forms", (path) => /^\/models\/.*\/(similar|analogy|vector|map|form)$|embeddings$/.test(path)],
  ["Registering models", (path) => /^\/models|^\/v2\/repository/.test(path)],
  ["KServe and Open Inference Protocol", () => true],
];
const order = ["Predictions", "Words and forms", "KServe and Open Inference Protocol", "Registering models", "The server"];

async function begin() {
  let models = [];
  try {
    api = await ask("openapi.json");
    models = (await ask("stats")).models;
  } catch (error) {
    if (!api.paths) {
      complain(error);
      return;
    }
  }
  const boxes = new Map(order.map((name) => [name, []])), methods = ["get", "post", "put", "delete", "options", "patch", "head"];
  for (const [path, item] of Object.entries(api.paths))
    for (const method of methods)
      if (item[method]) boxes.get(groups.find(([, fits]) => fits(path, method))[0]).push(operationBox(path, method, item[method], models[0] || {}, item.parameters));
  const parts = [...boxes].filter(([, all]) => all.length > 0).map(([name, all], i) =>
    [make("li", {}, make("a", { href: "#part-" + i }, name)), make("section", {}, make("h2", { id: "part-" + i }, name), ...all)]);
  byId("operations").replaceChildren(make("ul", { class: "groups" }, ...parts.map(([link]) => link)), ...parts.map(([, at]) => at),
    make("datalist", { id: "known-models" }, ...[...new Set(models.map((m) => m.name))].map((name) => make("option", { value: name }))));
  byId("about").textContent = `${api.info.title} ${api.info.version}.`;
}

begin();
