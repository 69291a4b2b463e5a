// "Always allow this": a rule that can be read, narrowed and taken back.

import { button, el, marked, put } from "/dom.js";
import { covers, folderName, isPlain, moment, visible } from "/words.js";

const WRITERS = ["Write", "Edit", "MultiEdit", "NotebookEdit"];

/** What a rule for this question may say, the narrowest first. */
export function ruleOffers(item) {
  if (item.kind !== "approval" || item.state !== "pending") return [];
  const { command } = item.payload;
  const path = item.payload.file_path ?? item.payload.notebook_path;
  if (typeof command === "string" && command.trim() && !command.endsWith(" *")) return commandOffers(command);
  if (WRITERS.includes(item.tool) && typeof path === "string" && path.startsWith("/")) return [{ path, label: "exactly this file" }, ...folderOffer(path)];
  return [];
}

function commandOffers(command) {
  const words = command.split(/\s+/u).filter(Boolean);
  const shorter = isPlain(command) ? [2, 1].filter((count) => count < words.length).map((count) => `${words.slice(0, count).join(" ")} *`) : [];
  return [{ command, label: "exactly this command" }, ...shorter.map((wide) => ({ command: wide, label: `whatever begins with ${wide.slice(0, -2)}` }))];
}

function folderOffer(path) {
  const folder = path.slice(0, path.lastIndexOf("/"));
  return folder.split("/").length > 2 ? [{ path: `${folder}/**`, label: `every file below ${folderName(folder)}/` }] : [];
}

const SCOPES = { session: "in this run only", project: "in every run of this project", user: "in every run" };

export function ruleForm(item, { send, cancel }) {
  const offers = ruleOffers(item);
  const key = offers[0].path === undefined ? "command" : "path";
  const text = el("input.code", { type: "text", id: "rule-text", value: offers[0][key], autocomplete: "off", spellcheck: "false" });
  const sentence = el("p.sentence", { "aria-live": "polite" });
  const scopes = Object.entries(SCOPES).filter(([scope]) => scope !== "project" || item.run.project)
    .map(([scope, label], at) => ({ scope, label, box: el("input", { type: "radio", name: "scope", id: `scope-${scope}`, checked: at === 0, ...(at === 0 ? { "data-first": "1" } : {}) }) }));
  const scope = () => scopes.find(({ box }) => box.checked).scope;
  const exact = offers[0][key];
  // A text field joins the lines of what it is given, so an unchanged one stands for the original.
  const joined = text.value;
  const wanted = () => (text.value === joined ? exact : text.value.trim());
  const say = () => put(sentence, ...readable({ tool: item.tool, [key]: wanted(), scope: scope(), folder: item.cwd, here: true }), ...(key === "command" && !covers(wanted(), item.payload.command) ? [" ", el("strong", {}, "This question itself is not covered by it.")] : []));
  const offer = (one) => el("button.quiet", { type: "button", click: () => { text.value = one[key]; if (one[key] === exact) text.value = joined; say(); } }, marked(one.label.split("\n").map(visible).join(" ")));
  text.addEventListener("input", say);
  for (const { box } of scopes) box.addEventListener("change", say);
  say();
  const made = el("form.answer", { "aria-label": "Always allow this", submit: (event) => { event.preventDefault(); send({ scope: scope(), [key]: wanted() }); } },
    el("h3", {}, "Always allow this"),
    el("fieldset.inline", {}, el("legend.hidden", {}, "Where"), scopes.map(({ label, box }) => el("label", { for: box.id }, box, label))),
    el("label.label", { for: "rule-text" }, key === "command" ? "Command" : "File"), text, el("div.offers", {}, offers.map(offer)), sentence,
    el("div.row", {}, el("button.allow", { type: "submit", "data-needs": "read" }, el("span", {}, "Make the rule and allow this")), button("Cancel", { key: "Esc", click: cancel })), el("p.hint", { role: "status" }));
  return made;
}

/** A rule as a sentence. */
export function readable(rule) {
  const what = rule.command || rule.path;
  const code = (text) => el("code", {}, marked(text.split("\n").map(visible).join("\n")));
  const where = { session: rule.within ? "In its run" : "In this run", project: rule.within ? ["In every run of ", code(rule.within)] : "In every run of this project", user: "In every run" }[rule.scope];
  const starts = [where, rule.here ? "" : " on another machine", ", ", code(rule.tool), " may "].flat();
  if (rule.path) return what.endsWith("/**") ? [...starts, "change every file below ", code(what.slice(0, -3)), " without asking."] : [...starts, "change ", code(what), " without asking."];
  const folder = rule.folder ? [" in the folder ", code(rule.folder)] : [" where no folder is known"];
  if (what.endsWith(" *")) return [...starts, "run whatever begins with the words ", code(what.slice(0, -2)), ...folder, " without asking, unless it pipes, chains, redirects, quotes or expands something."];
  return [...starts, "run exactly ", code(what), ...folder, " without asking."];
}

/** The list of all rules in force. */
export function rulesPage(rules, takeBack) {
  const row = (rule) => el("li.rule", {},
    el("div", {}, el("p", {}, readable(rule)), el("p.size", {}, `made by ${rule.created_by}, ${moment(rule.created_at)}`, rule.scope === "session" ? [" · ", el("a", { href: `#/run/${encodeURIComponent(rule.within)}` }, "its run")] : [])),
    button("Take back", { kind: "refuse", click: () => takeBack(rule) }));
  return [
    el("h2", {}, "What is allowed without asking"),
    rules.length ? el("ul.rules", {}, rules.map(row)) : el("p.empty", {}, "Nothing: every question comes to you. “Always allow…” beside a question makes a rule, and this is where you take it back."),
  ];
}
