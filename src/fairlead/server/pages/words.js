// Times, sizes, differences: everything that can be said without a page.

const UNITS = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];

/** 75 → "1 min", 7300 → "2 h 1 min" */
export function span(seconds) {
  const whole = Math.max(0, Math.floor(seconds));
  const at = UNITS.findIndex(([size]) => whole >= size);
  if (at < 0) return "0 s";
  const [size, unit] = UNITS[at];
  const rest = at < 2 ? Math.floor((whole % size) / UNITS[at + 1][0]) : 0;
  return `${Math.floor(whole / size)} ${unit}${rest ? ` ${rest} ${UNITS[at + 1][1]}` : ""}`;
}

export const ago = (seconds) => (seconds < 2 ? "just now" : `${span(seconds)} ago`);

export function moment(at) {
  const when = new Date(at * 1000);
  const today = when.toDateString() === new Date().toDateString();
  return when.toLocaleString([], today ? { timeStyle: "medium" } : { dateStyle: "medium", timeStyle: "short" });
}

export function size(part) {
  if (part.bytes === undefined) return "";
  const bytes = part.bytes < 10240 ? `${part.bytes} bytes` : `${(part.bytes / 1024).toFixed(0)} KiB`;
  return part.lines > 1 ? `${part.lines} lines, ${bytes}` : bytes;
}

/** One line for a list; the whole is beside it. */
export const summary = (item) => item.line;

export const folderName = (path) => path.replace(/\/+$/u, "").split("/").pop() || path;

const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}\p{Mn}\p{Me}⟨⟩\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000\u115f\u1160\u3164\uffa0\u2800]/gu;

/** What the server does for what agents send, for what a person types. */
export function visible(line) {
  return line
    .replace(UNSEEN, (c) => (c === "\t" ? c : `⟨U+${c.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`))
    .replace(/(?<=\S) {9,}| {65,}/gu, (blanks) => `⟨${blanks.length} spaces⟩`)
    .replace(/ $/u, "⟨space⟩");
}

/** [[mark, line], …] with `-`, `+` and blank. */
export function lineDiff(before, after) {
  const [old, now] = [before.split("\n"), after.split("\n")];
  let start = 0;
  while (start < old.length && start < now.length && old[start] === now[start]) start++;
  let end = 0;
  while (end < old.length - start && end < now.length - start && old.at(-1 - end) === now.at(-1 - end)) end++;
  const middle = changed(old.slice(start, old.length - end), now.slice(start, now.length - end));
  const same = (lines) => lines.map((line) => [" ", line]);
  const all = [...same(old.slice(0, start)), ...middle, ...same(old.slice(old.length - end))];
  return all.map(([mark, line]) => [mark, visible(line)]);
}

const LARGEST_TABLE = 4_000_000;

function changed(old, now) {
  if (old.length * now.length > LARGEST_TABLE) return [...old.map((line) => ["-", line]), ...now.map((line) => ["+", line])];
  const table = Array.from({ length: old.length + 1 }, () => new Uint32Array(now.length + 1));
  for (let i = old.length - 1; i >= 0; i--)
    for (let j = now.length - 1; j >= 0; j--)
      table[i][j] = old[i] === now[j] ? table[i + 1][j + 1] + 1 : Math.max(table[i + 1][j], table[i][j + 1]);
  const found = [];
  let [i, j] = [0, 0];
  while (i < old.length || j < now.length) {
    if (i < old.length && j < now.length && old[i] === now[j]) found.push([" ", old[(j++, i++)]]);
    else if (i < old.length && (j >= now.length || table[i + 1][j] >= table[i][j + 1])) found.push(["-", old[i++]]);
    else found.push(["+", now[j++]]);
  }
  return found;
}

/** Where two lines differ: [from, end in the first, end in the second]. */
export function inner(one, other) {
  const [a, b] = [[...one], [...other]];
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a.at(-1 - end) === b.at(-1 - end)) end++;
  return { a, b, start, endA: a.length - end, endB: b.length - end };
}

const NOT_PLAIN = /[;&|<>$`\n\r\\"'(){}[\]*?~#!=]|[^\x20-\x7e]/u;

export const isPlain = (command) => !NOT_PLAIN.test(command);

/** Whether a rule for `allowed` lets `command` pass, as the server will see it. */
export function covers(allowed, command) {
  if (!allowed.endsWith(" *")) return command === allowed;
  const words = (text) => text.split(/\s+/u).filter(Boolean);
  const first = words(allowed.slice(0, -2));
  return isPlain(command) && first.length > 0 && first.every((word, at) => words(command)[at] === word);
}

/** Numbers that JavaScript cannot carry without changing them must not be sent back. */
export function isExact(value) {
  if (typeof value === "number") return !Number.isInteger(value) || Number.isSafeInteger(value);
  return value === null || typeof value !== "object" || Object.values(value).every(isExact);
}
