// Questions with options, and a line of one's own for each.

import { el, marked } from "/dom.js";

export function questions(item) {
  const asked = item.parts.filter((part) => part.question !== undefined);
  return asked.length ? choices(asked) : freeText();
}

function freeText() {
  const text = el("textarea", { id: "response", rows: "3", placeholder: "Your answer" });
  const element = el("div.questions", {}, el("label.label", { for: "response" }, "Your answer"), text);
  return { element, choose: () => {}, read: () => (text.value.trim() ? { response: text.value } : { problem: "Write an answer first." }) };
}

/** One question is answered with a text, several with one text for each. */
function choices(asked) {
  const all = asked.map(fieldset);
  const read = () => {
    const answers = all.map((one) => one.read());
    const missing = answers.findIndex((answer) => answer === "");
    if (missing >= 0) return { problem: asked.length > 1 ? `Question ${missing + 1} has no answer yet.` : "Choose an answer first." };
    return { response: asked.length === 1 ? answers[0] : Object.fromEntries(asked.map((part, at) => [part.key, answers[at]])) };
  };
  const choose = (number) => (all.find((one) => one.element.contains(document.activeElement)) ?? all.find((one) => one.read() === "") ?? all[0]).choose(number);
  return { element: el("div.questions", {}, all.map((one) => one.element)), read, choose };
}

let groups = 0;

function fieldset(part) {
  const group = `question-${++groups}`;
  const inputs = part.options.map((option, at) => ({ option, box: el("input", { type: part.multiple ? "checkbox" : "radio", name: group, id: `${group}-${at}` }) }));
  const own = el("input.own", { type: "text", id: `${group}-own`, placeholder: part.options.length ? "Something else…" : "Your answer", autocomplete: "off" });
  own.addEventListener("input", () => {
    if (!part.multiple && own.value) for (const { box } of inputs) box.checked = false;
  });
  for (const { box } of inputs) box.addEventListener("change", () => { if (!part.multiple) own.value = ""; });
  const element = el("fieldset", {},
    el("legend", {}, part.header ? el("span.chip", {}, marked(part.header)) : null, marked(part.question), part.multiple ? el("span.size", {}, "choose any number") : null),
    inputs.map(({ option, box }, at) => el("label.option", { for: box.id }, box, el("span", {}, el("strong", {}, marked(option.label)), option.description ? el("span.description", {}, marked(option.description)) : null), at < 9 ? el("kbd", { "aria-hidden": "true" }, String(at + 1)) : null)),
    el("label.hidden", { for: own.id }, "Your own answer"), own);
  const chosen = () => inputs.filter(({ box }) => box.checked).map(({ option }) => option.value);
  return { element, choose: (number) => inputs[number - 1]?.box.click(), read: () => [...chosen(), own.value.trim()].filter(Boolean).join(", ") };
}
