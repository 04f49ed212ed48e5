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

/* ---- One request -------------------------------------------------------------------------- */

function parameterField(id, parameter, known) {
  const p = resolve(parameter), schema = resolve(p.schema), name = `${id}-${p.name}`;
  const preset = p.name === "model_name" ? known.name : p.name === "model_version" && p.in === "path" ? known.version : "";
  const input = make("input", { id: name, "data-name": p.name, "data-in": p.in || "query", value: preset || "",
    autocomplete: "off", ...(p.required || p.in === "path" ? { required: "" } : {}) });
  return make("div", { class: "field" },
    make("label", { for: name }, p.name),
    input, make("span", { class: "quiet" }, [p.description, schema.type].filter(Boolean).join(", ")));
}

/* The body of a request: its media types, the first with its example. */
function bodyFields(id, operation) {
  const content = resolve(operation.requestBody).content || {};
  const types = Object.keys(content).length > 0 ? Object.keys(content) : ["application/json", "text/plain"];
  const type = make("select", { id: id + "-type" }, ...types.map((t) => make("option", {}, t)));
  const first = content[types[0]] || {}, examples = Object.values(first.examples || {});
  const example = first.example !== undefined ? first.example : examples.length > 0 ? resolve(examples[0]).value : "";
  const text = make("textarea", { id: id + "-body", rows: "3", spellcheck: "false" });
  text.value = typeof example === "string" ? example : JSON.stringify(example);
  const schema = first.schema ? [make("p", { class: "quiet" }, "takes ", make("code", {}, typeOf(first.schema)))] : [];
  return [...schema,
    make("div", { class: "field" }, make("label", { for: id + "-type" }, "Content-Type"), type),
    make("label", { for: id + "-body" }, "Body"), text];
}

async function send(form, method, path, out) {
  let address = path;
  const query = new URLSearchParams();
  for (const input of form.querySelectorAll("[data-name]")) {
    if (input.dataset.in === "path") address = address.replace(`{${input.dataset.name}}`, encodeURIComponent(input.value));
    else if (input.dataset.in === "query" && input.value) query.append(input.dataset.name, input.value);
  }
  const text = form.querySelector("textarea"), type = form.querySelector("select");
  const options = { method: method.toUpperCase() };
  if (text && text.value) Object.assign(options, { body: text.value, headers: { "Content-Type": type.value } });
  const show = (call) => {
    out.replaceChildren(make("p", {}, make("strong", {}, "Status " + call.status)),
      make("pre", { tabindex: "0", "aria-label": "Answer" }, call.said === null ? call.text.slice(0, 20000) : JSON.stringify(call.said, null, 2).slice(0, 20000)));
    showCall(call, out);
  };
  complain(null);
  try {
    show((await question("." + address + (query.size > 0 ? "?" + query : ""), options)).call);
  } catch (error) {
    if (error instanceof Refused && error.call) {
      show(error.call);
    } else {
      out.replaceChildren();
      complain(error, form);
    }
  }
}

function operationBox(path, method, operation, known, shared) {
  const id = `${method}-${path}`.replace(/[^\w]+/g, "-"), out = make("div", { class: "answered", "aria-live": "polite" });
  const parameters = [...(shared || []), ...(operation.parameters || [])];
  const takesBody = ["post", "put", "patch"].includes(method) && (operation.requestBody || method === "post");
  const form = make("form", { onsubmit: (event) => { event.preventDefault(); send(form, method, path, out); } },
    make("div", { class: "fields one" }, ...parameters.map((p) => parameterField(id, p, known))),
    ...(takesBody ? bodyFields(id, operation) : []),
    make("p", { class: "tools" }, make("button", { class: "main" }, "Send")));
  const answers = Object.entries(operation.responses || {}).map(([code, response]) => {
    const r = resolve(response), [[type, content] = []] = Object.entries(r.content || {});
    return make("li", {}, make("strong", {}, code), " ", r.description || "", " ",
      ...(content && content.schema ? [make("code", {}, typeOf(content.schema))] : type ? [make("code", {}, type)] : []));
  });
  return make("details", { class: "operation", id },
    make("summary", {}, make("span", { class: "method " + method }, method.toUpperCase()), " ", make("code", {}, path), " ",
      make("span", { class: "quiet" }, operation.summary || operation.description || "")),
    form, out, ...(answers.length > 0 ? [make("h3", {}, "Answers"), make("ul", { class: "answers" }, ...answers)] : []));
}

/* ---- The page ------------------------------------------------------------------------------- */

async function begin() {
  let known = {};
  try {
    api = await ask("openapi.json");
    known = (await ask("stats")).models[0] || {};
  } catch (error) {
    if (!api.paths) {
      complain(error);
      return;
    }
  }
  const boxes = [], methods = ["get", "post", "put", "delete", "options", "patch", "head"];
  for (const [path, item] of Object.entries(api.paths))
    for (const method of methods)
      if (item[method]) boxes.push(operationBox(path, method, item[method], known, item.parameters));
  byId("operations").replaceChildren(make("h2", {}, `${api.info.title} ${api.info.version}`), ...boxes);
}

begin();
