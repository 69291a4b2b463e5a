// One question as a person reads it.

import { el, marked } from "/dom.js";
import { inner, lineDiff, moment, size, visible } from "/words.js";

const LABELS = { command: "Command", content: "Content of the file", file: "File", change: "Change", more: "Also given to the tool, in the agent's words", input: "Input", patch: "Patch", question: "Question" };
const NUMBERED = 5000;

export function parts(item) {
  return item.parts.filter((part) => part.question === undefined).map(one);
}

function one(part) {
  if (part.label === "file") return file(part);
  const note = part.everywhere ? "everywhere in the file" : size(part);
  const label = el("h3.label", {}, LABELS[part.label] ?? part.label, note ? el("span.size", {}, note) : null);
  return el(`section.part.${part.label}`, {}, label, part.diff ? diff(part.diff) : lines(part.text ?? ""));
}

function file(part) {
  const note = part.note ? el("p.warning", {}, part.note.startsWith("really ") ? "This path leads elsewhere: " : "Careful: ", el("code", {}, marked(part.note))) : null;
  return el("section.part.file", {}, el("h3.label", {}, LABELS.file), el("p.path", {}, marked(part.text)), note);
}

export function lines(text) {
  const found = text.split("\n");
  if (found.length === 1 || found.length > NUMBERED) return el("pre.code", { tabindex: "0" }, marked(text));
  return el("pre.code.numbered", { tabindex: "0" }, found.map((line) => el("span.line", {}, marked(line), "\n")));
}

const SAID = { "+": "added: ", "-": "removed: ", " ": "" };

export function diff(rows) {
  return el("pre.code.diff", { tabindex: "0" }, chunked(paired(rows).map(([mark, line, other]) =>
    el(`span.line.${{ "+": "added", "-": "removed", " ": "same" }[mark]}`, { "data-mark": mark }, el("span.hidden", {}, SAID[mark]), changedWords(mark, line, other), "\n"))));
}

const CHUNK = 100;

/** All of it is there, and the browser draws what is on the screen: fifty thousand lines at once would take it minutes. */
function chunked(rows) {
  if (rows.length <= 2 * CHUNK) return rows;
  return Array.from({ length: Math.ceil(rows.length / CHUNK) }, (_, at) => el("span.chunk", {}, rows.slice(at * CHUNK, (at + 1) * CHUNK)));
}

/** Each removed line with the added one that took its place, where as many came as went. */
function paired(rows) {
  const found = rows.map(([mark, line]) => [mark, line, null]);
  for (let at = 0; at < found.length; at++) {
    if (found[at][0] !== "-") continue;
    let middle = at;
    while (found[middle]?.[0] === "-") middle++;
    let end = middle;
    while (found[end]?.[0] === "+") end++;
    if (end - middle === middle - at) for (let i = at; i < middle; i++) [found[i][2], found[i + middle - at][2]] = [found[i + middle - at][1], found[i][1]];
    at = end - 1;
  }
  return found;
}

function changedWords(mark, line, other) {
  if (other === null || other === line) return marked(line);
  const { a, start, endA } = inner(line, other);
  if (endA - start > a.length * 0.7) return marked(line);
  const cut = (from, to) => a.slice(from, to).join("");
  return [...marked(cut(0, start)), el("span.word", {}, ...marked(cut(start, endA))), ...marked(cut(endA))];
}

export function warnings(item) {
  return item.warnings.map((warning) => el("p.warning", {}, marked(`Careful: ${warning}`)));
}

/** What became of it, in words. */
export function outcome(item) {
  if (item.state === "pending") return null;
  const who = item.decided_by;
  const when = item.decided_at ? ` at ${moment(item.decided_at)}` : "";
  const words = item.allow === null ? ["late", "Expired", "The agent was told no."] : item.allow ? ["allowed", item.kind === "input" ? "Answered" : "Allowed", `by ${who}${when}`] : ["refused", "Refused", `by ${who}${when}`];
  return el(`div.outcome.${words[0]}`, { role: "status" },
    el("p", {}, el("strong", {}, words[1]), " ", marked(words[2])),
    item.message ? el("p.reason", {}, marked(item.message)) : null,
    item.late ? el("p", {}, item.used ? "It came too late for the first try; the agent's next try has used it." : "It came after the agent was told no. The agent's next identical try within an hour takes it.") : null,
    item.response !== null && item.response !== undefined ? el("p.reason", {}, marked(said(item.response).split("\n").map(visible).join("\n"))) : null);
}

function said(response) {
  if (typeof response === "string") return response;
  if (response && typeof response === "object") return Object.entries(response).map(([question, answer]) => `${question} ${answer}`).join("\n");
  return JSON.stringify(response);
}

/** What the approver changed, as a diff. */
export function rewrite(item) {
  if (!item.updated_input) return null;
  const field = item.edits;
  const text = (input) => (field && typeof input[field] === "string" ? input[field] : JSON.stringify(input, null, 2));
  return el("section.part", {}, el("h3.label", {}, "Changed by ", marked(item.decided_by), " before it was allowed"), diff(lineDiff(text(item.payload), text(item.updated_input))));
}
