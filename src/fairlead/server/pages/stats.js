// Statistics: the numbers of `fairlead stats`, as plots, each with its table.

import { el, find, marked, put } from "/dom.js";
import { rowPlot, spanPlot, time, timePlot } from "/plots.js";
import { call } from "/server.js";
import { visible } from "/words.js";

const AGAIN = 1000;
const LOOK_AGAIN = 30_000;
const MOST = 12;
const KINDS = ["passed", "asked", "refused"];
const RANGES = ["24h", "7d", "30d"];

let range = RANGES.find((one) => location.hash === `#${one}`) ?? "24h";
let shown = null;
let asked = 0;
let waiting = null;

const name = (text) => marked(visible(text));
const number = (value) => value.toLocaleString();
const said = (text) => { find("state").textContent = text; };

async function load() {
  clearTimeout(waiting);
  const mine = ++asked;
  try {
    const found = await call("GET", `/api/stats?range=${range}`);
    if (mine !== asked) return;
    if (found.report) show(found);
    else if (found.problem) said(`The journal could not be counted: ${found.problem}`);
    waiting = setTimeout(load, found.reading ? AGAIN : LOOK_AGAIN);
  } catch (problem) {
    if (mine === asked) failed(problem);
  }
}

function failed(problem) {
  find("stats").setAttribute("aria-busy", "false");
  if (problem.status === 401) {
    put(find("numbers"), el("p", {}, "This browser is not logged in. ", el("a", { href: "/" }, "Open the inbox first")));
    said("");
    return;
  }
  said(problem.message);
  waiting = setTimeout(load, LOOK_AGAIN);
}

function show(found) {
  shown = found;
  const { report } = found;
  find("stats").setAttribute("aria-busy", "false");
  if (!report.events) {
    said("No agent has asked Fairlead anything in this time.");
    return put(find("numbers"), ...unused(report));
  }
  said("");
  const width = Math.min(find("numbers").clientWidth, 1080);
  const plot = width > 760 ? Math.floor((width - 34) * 0.6) : width - 34;
  return keepingPlace(() => put(find("numbers"), sums(report), overTime(found, plot), ...groups(report, plot), hooks(report, width - 34), ...unused(report)));
}

/** Where somebody has scrolled to inside a table, and which one has the focus. */
function keepingPlace(draw) {
  const tables = () => [...document.querySelectorAll(".table")];
  const places = tables().map((one) => one.scrollTop);
  const focused = tables().indexOf(document.activeElement);
  draw();
  tables().forEach((one, at) => { one.scrollTop = places[at] ?? 0; });
  tables()[focused]?.focus();
}

// --- what is shown -----------------------------------------------------------------------------------

function sums({ events, calls, decisions, refused, failed: failures, times }) {
  const one = (value, label, kind = "") => el(`div.sum${kind ? `.${kind}` : ""}`, {}, el("dt", {}, label), el("dd", {}, value));
  return el("dl.sums", {}, one(number(events), "events"), one(number(calls), "tool calls"), one(number(decisions.ask ?? 0), "asked"),
    one(number(refused), "refused", refused ? "bad" : ""), one(number(failures), "with a failed hook", failures ? "bad" : ""), one(time(times.p95), "95 % answered within"));
}

function card(title, plot, table, legend = null, isWide = false) {
  return el("figure.card", {}, el("figcaption", {}, el("h3", {}, title), legend), el(`div.${isWide ? "stacked" : "beside"}`, {}, el("div.drawn", {}, plot), table));
}

function table(title, heads, rows) {
  const line = ([first, ...rest]) => el("tr", {}, el("th", { scope: "row" }, first), rest.map((cell) => el("td", {}, cell)));
  return el("div.table", { tabindex: "0", role: "region", "aria-label": `${title}, as a table` },
    el("table", {}, el("caption.hidden", {}, title), el("thead", {}, el("tr", {}, heads.map((head) => el("th", { scope: "col" }, head)))), el("tbody", {}, rows.map(line))));
}

const legend = () => el("ul.legend", {}, KINDS.map((kind) => el("li", {}, el(`span.key.${kind}`, { "aria-hidden": "true" }), kind)));

function overTime({ range: of, report, ticks }, width) {
  const isHours = of === "24h";
  const known = new Map((report.by[isHours ? "hour" : "day"] ?? []).map((row) => [row.name, row]));
  const bars = ticks.map((at) => {
    const { count = 0, asked: questions = 0, refused = 0 } = known.get(at) ?? {};
    const label = isHours ? `${at.slice(5, 10)} ${at.slice(11)}:00` : at;
    return { label, tick: isHours ? `${at.slice(11)}:00` : at.slice(5), parts: { passed: count - questions - refused, asked: questions, refused } };
  });
  const title = isHours ? "By hour" : "By day";
  const rows = bars.slice().reverse().map(({ label, parts }) => [label, number(parts.passed + parts.asked + parts.refused), number(parts.asked), number(parts.refused)]);
  return card(title, timePlot(bars, KINDS, width, `Events ${title.toLowerCase()}`), table(title, ["When", "Events", "Asked", "Refused"], rows), legend());
}

function groups(report, width) {
  const titles = { agent: "By agent", tool: "By tool" };
  return Object.entries(titles).filter(([group]) => report.by[group]?.length).map(([group, title]) => {
    const rows = report.by[group];
    return card(title, rowPlot(rows.slice(0, MOST).map((row) => ({ ...row, name: visible(row.name) })), width, `Events ${title.toLowerCase()}`),
      table(title, [group === "agent" ? "Agent" : "Tool", "Events", "Refused", "Failed", "95 %"], rows.map((row) => [name(row.name), number(row.count), number(row.refused), number(row.failed), time(row.p95)])));
  });
}

function hooks(report, width) {
  const rows = report.by.hook ?? [];
  if (!rows.length) return null;
  const title = "Hooks, the slowest first";
  const cells = (row) => [name(row.name), number(row.count), number(row.refused), row.late ? `${number(row.failed)} (${number(row.late)} timed out)` : number(row.failed), time(row.p50), time(row.p95), time(row.p99)];
  return card(title, spanPlot(rows.slice(0, MOST).map((row) => ({ ...row, name: visible(row.name) })), width, "How long hooks take"),
    table(title, ["Hook", "Runs", "Refused", "Failed", "50 %", "95 %", "99 %"], rows.map(cells)),
    el("p.size", {}, "The dot is half of the runs, the thick line 95 %, the thin one 99 %."), true);
}

function unused({ unused: found = [] }) {
  if (!found.length) return [];
  const row = (hook) => el("li", {}, el("p", {}, el("strong", {}, name(hook.name)), ": ", marked(visible(hook.why))),
    el("p.size", {}, name([hook.events.join(", "), hook.matcher, hook.runs, hook.file ? `${hook.file}:${hook.line}` : ""].filter(Boolean).join(" · "))));
  return [el("section.card", {}, el("h3", {}, "Configured, and never matched in this time"), el("ul.unused", {}, found.map(row)))];
}

// --- what a person does ------------------------------------------------------------------------------

for (const one of RANGES) {
  const box = find(`range-${one}`);
  box.checked = one === range;
  box.addEventListener("change", () => {
    range = one;
    history.replaceState(null, "", `#${one}`);
    said("Counting…");
    find("stats").setAttribute("aria-busy", "true");
    load();
  });
}

let resizing = null;
window.addEventListener("resize", () => {
  clearTimeout(resizing);
  resizing = setTimeout(() => { if (shown) show(shown); }, 150);
});
document.addEventListener("visibilitychange", () => (document.hidden ? clearTimeout(waiting) : load()));
load();
