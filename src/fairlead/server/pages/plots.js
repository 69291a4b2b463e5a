// Plots: plain SVG, as wide as there is room. Beside each stands a table with the same numbers.

const SVG = "http://www.w3.org/2000/svg";

function shape(tag, attributes = {}, ...children) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

const text = (at, words, attributes = {}) => shape("text", { x: at[0], y: at[1], ...attributes }, words);
const titled = (made, words) => (made.append(shape("title", {}, words)), made);

function canvas(width, height, label) {
  return shape("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": label, class: "plot" });
}

/** The next number above that is easy to read, as is its half. */
export function roundUp(value) {
  if (value <= 2) return Math.max(1, Math.ceil(value));
  const size = 10 ** Math.floor(Math.log10(value));
  return size * [1, 2, 4, 6, 8, 10].find((one) => one * size >= value);
}

/** Bars over time; each is made of parts: [{label, parts: {kind: count}}]. */
export function timePlot(bars, kinds, width, label) {
  const [left, bottom, top, height] = [44, 24, 8, 190];
  const made = canvas(width, height, label);
  const highest = roundUp(Math.max(1, ...bars.map(({ parts }) => kinds.reduce((sum, kind) => sum + parts[kind], 0))));
  const y = (value) => top + (height - top - bottom) * (1 - value / highest);
  for (const value of highest === 1 ? [0, 1] : [0, highest / 2, highest]) {
    made.append(shape("line", { x1: left, x2: width, y1: y(value), y2: y(value), class: "grid" }));
    made.append(text([left - 7, y(value) + 4], short(value), { "text-anchor": "end", class: "tick" }));
  }
  const step = (width - left) / Math.max(bars.length, 1);
  const every = Math.ceil(62 / step);
  bars.forEach((bar, at) => {
    const x = left + at * step;
    const group = titled(shape("g", { class: "bar" }), `${bar.label}: ${kinds.map((kind) => `${bar.parts[kind].toLocaleString()} ${kind}`).join(", ")}`);
    group.append(shape("rect", { x, y: top, width: step, height: height - top - bottom, class: "room" }));
    let base = 0;
    for (const kind of kinds) {
      const count = bar.parts[kind];
      if (count) group.append(shape("rect", { x: x + step * 0.12, width: step * 0.76, y: Math.min(y(base + count), y(base) - 1), height: Math.max(y(base) - y(base + count), 1), class: kind }));
      base += count;
    }
    made.append(group);
    const isAtEnd = x + step / 2 + 20 > width;
    if (at % every === 0) made.append(text([isAtEnd ? width : x + step / 2, height - 7], bar.tick, { "text-anchor": isAtEnd ? "end" : "middle", class: "tick" }));
  });
  return made;
}

/** One bar for each row: [{name, count, refused}]. */
export function rowPlot(rows, width, label) {
  const [line, room] = [26, roomFor(width)];
  const made = canvas(width, Math.max(rows.length, 1) * line + 4, label);
  const highest = Math.max(1, ...rows.map(({ count }) => count));
  const x = (value) => room + (width - room - 52) * (value / highest);
  rows.forEach((row, at) => {
    const top = at * line + 4;
    const group = titled(shape("g"), `${row.name}: ${row.count.toLocaleString()}, ${row.refused.toLocaleString()} of them refused`);
    group.append(text([room - 8, top + 14], cut(row.name, room / 8.5), { "text-anchor": "end", class: "name" }));
    group.append(shape("rect", { x: room, y: top, width: Math.max(x(row.count) - room, 1), height: line - 8, class: "passed" }));
    if (row.refused) group.append(shape("rect", { x: room, y: top, width: Math.max(x(row.refused) - room, 1), height: line - 8, class: "refused" }));
    group.append(text([x(row.count) + 6, top + 14], short(row.count), { class: "tick" }));
    made.append(group);
  });
  return made;
}

/** From half of the runs to 99 % of them, on a logarithmic scale. */
export function spanPlot(rows, width, label) {
  const [line, room, bottom] = [26, roomFor(width), 24];
  const height = Math.max(rows.length, 1) * line + bottom;
  const made = canvas(width, height, label);
  const [lowest, highest] = decades(rows);
  const x = (ms) => room + (width - room - 20) * ((Math.log10(Math.max(ms, lowest)) - Math.log10(lowest)) / Math.max(Math.log10(highest) - Math.log10(lowest), 1));
  for (let ms = lowest; ms <= highest * 1.001; ms *= 10) {
    made.append(shape("line", { x1: x(ms), x2: x(ms), y1: 0, y2: height - bottom, class: "grid" }));
    const isNamed = width > 500 || Math.round(Math.log10(ms)) % 2 === 0;
    if (isNamed) made.append(text([x(ms), height - 7], time(ms), { "text-anchor": "middle", class: "tick" }));
  }
  rows.forEach((row, at) => {
    const middle = at * line + line / 2;
    const group = titled(shape("g"), `${row.name}: half within ${time(row.p50)}, 95 % within ${time(row.p95)}, 99 % within ${time(row.p99)}`);
    group.append(text([room - 8, middle + 4], cut(row.name, room / 8.5), { "text-anchor": "end", class: "name" }));
    group.append(shape("line", { x1: x(row.p50), x2: x(row.p99), y1: middle, y2: middle, class: "span" }));
    group.append(shape("line", { x1: x(row.p50), x2: x(row.p95), y1: middle, y2: middle, class: "span thick" }));
    group.append(shape("circle", { cx: x(row.p50), cy: middle, r: 5, class: row.failed ? "failed" : "passed" }));
    made.append(group);
  });
  return made;
}

function decades(rows) {
  const power = (ms, round) => 10 ** round(Math.log10(Math.max(ms, 0.01)));
  const lowest = power(Math.min(...rows.map(({ p50 }) => p50)), Math.floor);
  return [lowest, Math.max(power(Math.max(...rows.map(({ p99 }) => p99)), Math.ceil), lowest * 10)];
}

const roomFor = (width) => (width > 500 ? 160 : 118);
const cut = (name, most) => ([...name].length <= most ? name : `${[...name].slice(0, Math.floor(most) - 1).join("")}…`);

export const short = (count) => (count < 10_000 ? `${Math.round(count * 10) / 10}` : count < 1e6 ? `${(count / 1000).toFixed(count < 1e5 ? 1 : 0)}k` : `${(count / 1e6).toFixed(1)}M`);

export function time(ms) {
  if (ms >= 1000) return `${Math.round(ms / (ms >= 10_000 ? 1000 : 100)) / (ms >= 10_000 ? 1 : 10)} s`;
  return `${ms >= 10 ? Math.round(ms) : Number(ms.toPrecision(2))} ms`;
}
