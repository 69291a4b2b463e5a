// Elements are made here and nowhere else: text is only ever text.

const ATTRIBUTES = new Set(["type", "for", "href", "role", "name", "rows", "placeholder", "title", "id", "method", "autocomplete", "spellcheck", "datetime", "tabindex"]);

/** `el("p.note", {hidden: true}, "text", child)` */
export function el(what, properties = {}, ...children) {
  const [tag, ...classes] = what.split(".");
  const made = document.createElement(tag || "div");
  if (classes.length) made.className = classes.join(" ");
  for (const [name, value] of Object.entries(properties)) set(made, name, value);
  made.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

function set(element, name, value) {
  if (value === undefined || value === null) return;
  if (typeof value === "function") element.addEventListener(name, value);
  else if (ATTRIBUTES.has(name) || name.startsWith("aria-") || name.startsWith("data-")) element.setAttribute(name, value);
  else element[name] = value;
}

export const find = (id) => document.getElementById(id);

export function put(parent, ...children) {
  parent.replaceChildren(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
}

const MOST_MARKS = 20_000;
const RIGHT_TO_LEFT = "\\u0590-\\u08ff\\ufb1d-\\ufdff\\ufe70-\\ufefe\\u{10800}-\\u{10fff}\\u{1e800}-\\u{1efff}";
const PIECES = new RegExp(`(⟨[^⟩]*⟩|[${RIGHT_TO_LEFT}]+)`, "u");
const NAMED = /^⟨/u;
const TURNED = new RegExp(`^[${RIGHT_TO_LEFT}]`, "u");

/**
 * Text in which the names of invisible characters, ⟨U+202E⟩, stand out. A word that is written from right to left
 * stays by itself: it must not change the order of what stands around it.
 */
export function marked(text) {
  const pieces = String(text).split(PIECES);
  if (pieces.length > MOST_MARKS) return [el("span.as-stored", {}, String(text))];
  return pieces.filter((piece) => piece !== "").map((piece) => {
    if (NAMED.test(piece)) return el("span.unseen", { title: "a character that cannot be seen, or a long run of blanks" }, piece);
    return TURNED.test(piece) ? el("bdi", {}, piece) : piece;
  });
}

export function button(label, { key = "", kind = "", ...more } = {}) {
  const shortcut = key ? el("kbd", { "aria-hidden": "true" }, key) : null;
  return el(`button${kind ? `.${kind}` : ""}`, { type: "button", "aria-keyshortcuts": key || undefined, ...more }, el("span", {}, label), shortcut);
}
