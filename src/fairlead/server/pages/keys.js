// The keyboard: every key that does something, and the sheet that says so.

import { button, el } from "/dom.js";

const KEYS = [
  ["Moving", [["j  ↓", "next question"], ["k  ↑", "question before"], ["Enter", "into the question"], ["Space  G", "a page down, to the end"], ["n", "next that waits"]]],
  ["Answering", [["a", "allow"], ["d", "refuse, with a reason"], ["e", "change it, then allow"], ["w", "always allow…"], ["1 … 9", "choose an option"], ["Ctrl+Enter", "send what you wrote"], ["Esc", "back"]]],
  ["Several", [["x", "choose this one"], ["X", "choose all alike"]]],
  ["Places", [["g w", "waiting"], ["g h", "history"], ["g r", "rules"], ["/", "search the history"], ["?", "this sheet"]]],
];

const isOn = () => localStorage.getItem("keys") !== "off";
let went = 0;

export function onKey(event, { detail, ...actions }) {
  if (document.querySelector("dialog[open]")) return;
  if (event.key === "Escape") {
    if (event.target.matches("input, textarea")) event.target.blur();
    actions.escape();
    return;
  }
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    if (!event.repeat && !detail.isOpen) detail.do("sendAnswers");
    return;
  }
  const writes = event.target.matches("textarea, select, input:not([type=radio]):not([type=checkbox])");
  if (writes || detail.isOpen || event.ctrlKey || event.metaKey || event.altKey || !isOn()) return;
  if (pressed(event, detail, actions)) event.preventDefault();
}

function pressed(event, detail, actions) {
  const { key } = event;
  if (Date.now() - went < 1200) {
    went = 0;
    const view = { w: "waiting", h: "history", r: "rules" }[key];
    // Whatever follows "g" belongs to it: a mistyped place must not become an answer.
    if (view) actions.goto(view);
    return true;
  }
  const moves = { j: 1, ArrowDown: 1, k: -1, ArrowUp: -1 };
  if (key in moves && !(key.startsWith("Arrow") && event.target.matches("input, pre, #content"))) return actions.move(moves[key]), true;
  // A key that is held down answers nothing.
  if (event.repeat) return false;
  const asks = { a: "allow", d: "refuse", e: "edit", w: "always" };
  if (key in asks) return detail.do(asks[key]), true;
  if (/^[1-9]$/u.test(key) && detail.questions) return detail.questions.choose(Number(key)), true;
  if (key === " " && !event.target.matches("button, input, a")) return detail.scroll(event.shiftKey ? -1 : 1), true;
  if (key === "Enter" && !event.target.matches("button, input, a")) return actions.select(), true;
  const others = { g: () => { went = Date.now(); }, G: () => detail.scrollToEnd(), x: () => actions.choose(), X: actions.chooseAlike, n: actions.next, "/": actions.search, "?": actions.help };
  if (!(key in others)) return false;
  others[key]();
  return true;
}

export function helpSheet(close) {
  const box = el("input", { type: "checkbox", id: "keys-on", checked: isOn(), change: () => localStorage.setItem("keys", box.checked ? "on" : "off") });
  const group = ([title, keys]) => el("section", {}, el("h3", {}, title), el("dl", {}, keys.map(([key, what]) => [el("dt", {}, ...key.split("  ").map((one) => el("kbd", {}, one))), el("dd", {}, what)])));
  return [
    el("h2", { id: "help-title" }, "Keyboard"),
    el("div.columns", {}, KEYS.map(group)),
    el("p", {}, "An answer is about exactly what you see. Buttons wake up a moment after the text stands still, and Allow once you have seen its end. Characters that cannot be seen are written like ", el("span.unseen", {}, "⟨U+202E⟩"), "."),
    el("label.inline", { for: "keys-on" }, box, "Single keys do something"),
    el("div.row", {}, button("Close", { key: "Esc", click: close })),
  ];
}
