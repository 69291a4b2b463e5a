// The inbox: what waits, what was, live.

import { Detail } from "/detail.js";
import { el, find, marked, put } from "/dom.js";
import { helpSheet, onKey } from "/keys.js";
import { isPushed, keepPush, notesSheet, onWorker, tidyNotes } from "/push.js";
import { rulesPage } from "/rules.js";
import { Live, call } from "/server.js";
import { ago, folderName, moment, span, summary } from "/words.js";

const LOOK_AGAIN = 30_000;
const MOST = 200;

const state = {
  me: "",
  view: "waiting",
  argument: "",
  waiting: new Map(),
  past: new Map(),
  run: null,
  loaded: false,
  linked: false,
  lostAt: 0,
  selected: "",
  chosen: new Set(),
  skew: 0,
  text: "",
  wanted: "",
};
const now = () => Date.now() / 1000 + state.skew;
const isPast = () => state.view === "history" || state.view === "run";
const shownItems = () => [...(isPast() ? state.past : state.waiting).values()];
const pending = () => [...state.waiting.values()].filter((item) => item.state === "pending");

const detail = new Detail({ now, me: () => state.me, answer, rule: makeRule, next: () => selectNext(), back: () => select("") });
const live = new Live({
  opened: async () => {
    linked(true);
    await refresh();
  },
  changed,
  lost: () => linked(false),
});

// --- the way in ----------------------------------------------------------------------------------

async function start() {
  const key = location.hash.match(/^#k=([0-9a-f]+)$/u)?.[1];
  if (key) history.replaceState(null, "", location.pathname);
  else state.wanted = wantedIn(location.hash);
  try {
    if (key) await call("POST", "/api/login", { key });
    state.me = (await call("GET", "/api/me")).name;
  } catch (problem) {
    if (problem.status === 0) return again(problem);
    return loginPage(key ? problem.message : "");
  }
  find("top").dataset.in = "1";
  keepPush().catch(() => {});
  live.start();
  route();
}

function again(problem) {
  linked(false);
  put(find("page"), el("p.empty", {}, `${problem.message} Trying again…`));
  showOnly("page");
  setTimeout(start, 1500);
}

function loginPage(problem) {
  live.stop();
  // Nothing of it stays behind for whoever sits down here next.
  for (const known of [state.waiting, state.past, wholes, missing, rows]) known.clear();
  find("list").replaceChildren();
  detail.clear();
  find("top").dataset.in = "";
  document.title = "Fairlead inbox: not open";
  const link = el("input", { type: "text", id: "login-link", placeholder: "Paste the link here", autocomplete: "off", spellcheck: "false" });
  const open = (event) => {
    event.preventDefault();
    const key = link.value.match(/([0-9a-f]{64})\s*$/u)?.[1];
    if (key) {
      location.hash = `k=${key}`;
    } else {
      find("login-problem").textContent = "This is not a link of the inbox: it ends with #k= and 64 letters and digits.";
    }
  };
  put(find("page"), el("div.login", {},
    el("img", { src: "/icon.svg", alt: "", width: 56, height: 56 }),
    el("h2", {}, "This browser is not logged in"),
    el("p", {}, "The inbox opens with a link that only you can make. In a terminal on the machine where the server runs:"),
    el("pre.code", {}, "fairlead inbox --link"),
    el("p", {}, "The link works once, within a minute. Open it, or paste it here:"),
    el("form", { submit: open }, el("label.hidden", { for: "login-link" }, "Link"), link, el("button.allow", { type: "submit" }, el("span", {}, "Open"))),
    el("p.problem", { id: "login-problem", role: "alert" }, problem ? marked(sentence(problem)) : "")));
  showOnly("page");
}

const sentence = (text) => `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?]$/u.test(text) ? "" : "."}`;

function failed(problem) {
  if (problem.status === 401) loginPage(problem.message);
  else if (problem.status === 0) linked(false);
  else say(sentence(problem.message));
}

// --- what the server knows -----------------------------------------------------------------------

/** What the stream tells while a list is on its way is newer than the list. */
const onTheWay = new Set();

async function refresh() {
  const news = new Map();
  onTheWay.add(news);
  try {
    const [found, me] = await Promise.all([call("GET", "/api/interactions?state=pending"), call("GET", "/api/me")]);
    state.skew = found.now - Date.now() / 1000;
    const before = state.loaded ? new Set(state.waiting.keys()) : null;
    const kept = [...state.waiting.values()].filter((item) => item.state !== "pending" && state.selected === item.id);
    const gone = await Promise.all([...state.waiting.values()].filter((item) => item.state === "pending" && item.id === state.selected && !found.interactions.some(({ id }) => id === item.id)).map(({ id }) => call("GET", `/api/interactions/${id}`)));
    const listed = new Map([...found.interactions, ...kept, ...gone].map((item) => [item.id, item]));
    for (const [id, item] of news) if (item.state === "pending" || listed.has(id)) listed.set(id, item);
    state.waiting = new Map([...listed].sort(([, a], [, b]) => a.created_at - b.created_at));
    state.loaded = true;
    missing.clear();
    trouble(me.trouble, me.untold);
    tidyNotes((id) => state.waiting.get(id)?.state === "pending").catch(() => {});
    if (before) found.interactions.filter(({ id }) => !before.has(id)).forEach(announce);
    if (isPast()) await loadPast();
    draw();
    await openWanted();
  } catch (problem) {
    failed(problem);
  } finally {
    onTheWay.delete(news);
  }
}

async function loadPast() {
  const run = state.view === "run" ? `&run=${encodeURIComponent(state.argument)}` : "";
  const text = state.view === "history" && state.text ? `&text=${encodeURIComponent(state.text)}` : "";
  const wanted = `${state.view} ${state.argument} ${state.text}`;
  const [done, open, runs] = await Promise.all([
    call("GET", `/api/interactions?state=done${run}${text}`),
    run ? call("GET", `/api/interactions?state=pending${run}`) : { interactions: [] },
    run ? call("GET", "/api/runs") : { runs: [] },
  ]);
  if (wanted !== `${state.view} ${state.argument} ${state.text}`) return;
  state.run = runs.runs.find(({ id }) => id === state.argument) ?? null;
  const found = [...open.interactions, ...done.interactions].sort((a, b) => b.created_at - a.created_at);
  state.past = new Map(found.map((item) => [item.id, item]));
}

function changed(item) {
  for (const news of onTheWay) news.set(item.id, item);
  const known = state.waiting.get(item.id);
  if (item.state === "pending") {
    state.waiting.set(item.id, item);
    if (!known || (item.escalated && !known.escalated)) announce(item);
  } else if (known) {
    state.waiting.set(item.id, item);
    state.chosen.delete(item.id);
    notes.get(item.id)?.close();
    if (known.state === "pending" && item.decided_by !== state.me) say(`${item.decided_by ? `${item.decided_by} has ${item.allow ? "allowed" : "refused"}` : "Nobody answered in time"}: ${item.tool} ${summary(item).slice(0, 60)}`);
  }
  if (state.past.has(item.id)) state.past.set(item.id, item);
  else if (state.view === "history" && !state.text && item.state !== "pending") state.past = new Map([[item.id, item], ...state.past]);
  else if (state.view === "run" && item.run.id === state.argument) state.past = new Map([[item.id, item], ...state.past]);
  draw();
}

function linked(is) {
  if (state.linked && !is) state.lostAt = Date.now();
  state.linked = is;
  const link = find("link");
  link.dataset.state = is ? "connected" : "reconnecting";
  find("link-text").textContent = is ? "Live" : "Reconnecting…";
  link.title = is ? `Connected as ${state.me}` : "The server does not answer. What you see may be old; nothing is decided until it is back.";
  if (!is) draw();
}

function trouble(text, untold = "") {
  const said = [text ? `The server has trouble with its store, so answers may not be kept: ${text}` : "", untold ? `Not everybody is told of questions: ${untold}` : ""].filter(Boolean);
  find("trouble").hidden = !said.length;
  find("trouble").textContent = said.join(" · ");
}

// --- answers -------------------------------------------------------------------------------------

async function answer(items, fields) {
  try {
    const results = items.length === 1 ? [await call("POST", `/api/interactions/${items[0].id}/answer`, { ...fields, digest: items[0].digest })]
      : (await call("POST", "/api/answers", { answers: items.map((item) => ({ id: item.id, digest: item.digest, ...fields })) })).answers;
    answered(items, results);
  } catch (problem) {
    notAnswered(items[0], problem);
  }
}

function answered(items, results) {
  const good = results.filter((result) => !result.error);
  const bad = results.filter((result) => result.error);
  good.forEach(keep);
  state.chosen.clear();
  const done = good.filter((item) => item.state !== "pending");
  const what = items.length > 1 ? `${good.length} questions` : `${items[0].tool} ${summary(items[0]).slice(0, 60)}`;
  const word = good[0]?.state === "pending" ? "Agreed, others still have to" : good[0]?.allow ? (good[0].kind === "input" ? "Answered" : good[0].updated_input ? "Allowed with your change" : "Allowed") : "Refused";
  say([good.length ? `${word}: ${what}` : "", bad.length ? `${bad.length} not: ${bad[0].error.message}` : ""].filter(Boolean).join(". "));
  if (state.view === "waiting" && done.length) selectNext(done.map(({ id }) => id));
  else draw();
}

function keep(item) {
  if (state.waiting.has(item.id)) state.waiting.set(item.id, item);
  if (state.past.has(item.id)) state.past.set(item.id, item);
}

function notAnswered(item, problem) {
  if (problem.status === 401) return loginPage(problem.message);
  if (problem.interaction) {
    const { run, yours, concerns } = item;
    const really = { ...problem.interaction, run, yours, concerns };
    keep(really);
    say(sentence(problem.message));
    return draw();
  }
  if (problem.status === 0) linked(false);
  return detail.fail(problem.status === 0 ? "Not sent: the server cannot be reached. Nothing was decided; try again." : `Not sent. ${sentence(problem.message)}`);
}

async function makeRule(item, fields) {
  try {
    await call("POST", `/api/interactions/${item.id}/rule`, fields);
    return true;
  } catch (problem) {
    if (problem.status === 401) loginPage(problem.message);
    else detail.fail(`No rule was made, and nothing was allowed. ${sentence(problem.message)}`);
    return false;
  }
}

// --- selecting -----------------------------------------------------------------------------------

function select(id, { keepChosen = false } = {}) {
  if (!keepChosen) state.chosen.clear();
  const left = state.selected;
  state.selected = id;
  if (left !== id) forgetOver();
  find("main").dataset.open = id ? "1" : "";
  draw();
  if (id) rows.get(id)?.scrollIntoView({ block: "nearest" });
}

/** What somebody else answered stays in its place, so that nothing moves, until the person moves on. */
function forgetOver() {
  for (const item of [...state.waiting.values()]) if (item.state !== "pending" && item.id !== state.selected) state.waiting.delete(item.id);
}

function selectNext(done = [state.selected]) {
  const all = shownItems();
  const at = all.findIndex(({ id }) => done.includes(id));
  const open = (item) => !done.includes(item.id) && (isPast() || item.state === "pending");
  const next = all.slice(at + 1).find(open) ?? (isPast() ? null : all.find(open));
  select(next && !isPhone() ? next.id : "");
}

const isPhone = () => matchMedia("(max-width: 760px)").matches;

function move(step) {
  const all = shownItems();
  if (!all.length) return;
  const at = all.findIndex(({ id }) => id === state.selected);
  select(all[Math.min(all.length - 1, Math.max(0, at < 0 ? 0 : at + step))].id);
}

const alike = (one, other) => one.kind === "approval" && other.kind === "approval" && one.tool === other.tool && one.state === "pending" && other.state === "pending" && one.yours && other.yours;

function choose(id = state.selected) {
  const item = state.waiting.get(id);
  if (state.view !== "waiting" || !item || item.kind !== "approval") return;
  const current = state.waiting.get(state.selected);
  if (!state.chosen.size && current && current.id !== id && alike(current, item)) state.chosen.add(current.id);
  if (!state.chosen.delete(id)) state.chosen.add(id);
  if (state.chosen.size === 1) select([...state.chosen][0], { keepChosen: true });
  else draw();
}

function chooseAlike() {
  const item = state.waiting.get(state.selected);
  if (!item) return;
  state.chosen = new Set(pending().filter((one) => alike(one, item)).map(({ id }) => id));
  draw();
}

// --- drawing -------------------------------------------------------------------------------------

const rows = new Map();

function draw() {
  badge();
  for (const link of find("views").children) {
    if (link.dataset.view === state.view) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  if (!find("top").dataset.in || state.view === "rules") return;
  showOnly("list");
  find("main").dataset.view = state.view;
  find("search").hidden = state.view !== "history";
  drawHead();
  drawList();
  drawDetail();
}

function showOnly(what) {
  find("page").hidden = what !== "page";
  find("side").hidden = find("detail").hidden = what === "page";
}

function badge() {
  const count = pending().length;
  find("count").textContent = String(count);
  find("count").hidden = count === 0;
  document.title = `${count ? `(${count}) ` : ""}Fairlead inbox`;
}

function drawHead() {
  const head = find("side-head");
  head.hidden = state.view !== "run";
  if (head.hidden) return;
  const { run } = state;
  put(head, el("a", { href: "#/waiting" }, "‹ Back"), el("h2", {}, marked(run?.title || `Run ${state.argument.slice(0, 8)}`)),
    run ? el("p.size", {}, [run.agent, run.project, `started ${moment(run.created_at)}`, run.ended_at ? `ended ${moment(run.ended_at)}` : "still running"].filter(Boolean).join(" · ")) : null);
}

function drawList() {
  const items = shownItems();
  const wanted = items.map((item) => {
    const row = rows.get(item.id) ?? newRow(item);
    rows.set(item.id, row);
    updateRow(row, item);
    return row;
  });
  const list = find("list");
  if (wanted.length !== list.children.length || wanted.some((row, at) => list.children[at] !== row)) list.replaceChildren(...wanted);
  for (const id of rows.keys()) if (!state.waiting.has(id) && !state.past.has(id)) rows.delete(id);
  const note = find("list-note");
  note.hidden = items.length < MOST;
  note.textContent = isPast() ? "These are the latest 200; the search finds older ones." : "These are the 200 oldest; more come up as you answer.";
}

function newRow(item) {
  const box = el("input", { type: "checkbox", "aria-label": "Answer together with others", click: () => choose(item.id) });
  const open = el("button.open", { type: "button", click: () => { select(item.id); if (isPhone()) find("detail").focus(); } }, el("span.first", {}, el("span.tool", {}), el("span.age", {})), el("span.summary", {}), el("span.second", {}));
  return el("li", {}, box, open);
}

const STATES = { allowed: "✓ allowed", answered: "✓ answered", refused: "✗ refused", expired: "expired", late: "late answer" };

function stateOf(item) {
  if (item.state === "pending") return "";
  if (item.allow === null) return "expired";
  return item.allow ? (item.kind === "input" ? "answered" : "allowed") : "refused";
}

function updateRow(row, item) {
  const [box, open] = row.children;
  const became = stateOf(item);
  row.dataset.state = became || "pending";
  box.hidden = state.view !== "waiting" || item.kind !== "approval" || item.state !== "pending" || !item.yours;
  box.checked = state.chosen.has(item.id);
  const first = state.waiting.get([...state.chosen][0]);
  box.disabled = Boolean(first && !alike(first, item));
  row.classList.toggle("chosen", state.chosen.has(item.id));
  if (item.id === state.selected) open.setAttribute("aria-current", "true");
  else open.removeAttribute("aria-current");
  const [first_, summary_, second] = open.children;
  put(first_.children[0], marked(item.tool));
  put(summary_, marked(summary(item)));
  const people = item.people > 1 && item.state === "pending" ? `${item.agreed.length} of ${item.people} agreed` : "";
  const circle = item.state === "pending" && item.deciders.length ? `for ${item.deciders.join(", ")}` : "";
  const escalated = item.state === "pending" && item.escalated ? el("span.chip.escalated", {}, "escalated") : null;
  const left = state.view === "waiting" && item.state === "pending" ? el("span.left", {}) : null;
  put(second, became ? el(`span.became.${became}`, {}, `${STATES[became]}${item.late ? " late" : ""}${item.decided_by ? ` by ${item.decided_by}` : ""}`) : null,
    item.state === "pending" && isPast() ? el("span.became", {}, "waits") : null,
    escalated, ...[item.run.agent, folderName(item.run.project), people, circle].filter(Boolean).map((text) => el("span", {}, marked(text))), left);
  age(row, item);
}

function age(row, item) {
  row.querySelector(".age").textContent = isPast() ? moment(item.created_at) : ago(now() - item.created_at);
  const left = row.querySelector(".left");
  if (!left) return;
  left.textContent = `${span(item.expires_at - now() + 0.9)} left`;
  left.classList.toggle("hurry", item.expires_at - now() < 60);
}

// --- all of it -----------------------------------------------------------------------------------

/** The lists have beginnings; what a person looks at is fetched, and only that can be answered. */
const wholes = new Map();
const fetching = new Map();
const missing = new Map();
const KEPT = 20;

const stamp = ({ digest, state: now_, allow, agreed, used, escalated, yours }) => JSON.stringify([digest, now_, allow, agreed, used, escalated, yours]);

function wholeOf(row) {
  const known = wholes.get(row.id);
  if (known?.stamp !== stamp(row) && !missing.has(row.id)) fetchWhole(row);
  if (known?.item.digest !== row.digest) return null;
  const { item } = known;
  return { ...item, ...row, tool: item.tool, message: item.message, run: { ...item.run, active: row.run.active }, whole: true };
}

async function fetchWhole(row) {
  const wanted = stamp(row);
  if (fetching.get(row.id) === wanted) return;
  fetching.set(row.id, wanted);
  try {
    const item = await call("GET", `/api/interactions/${row.id}`);
    wholes.delete(row.id);
    wholes.set(row.id, { stamp: wanted, item });
  } catch (problem) {
    if (problem.status === 401) return loginPage(problem.message);
    missing.set(row.id, problem.message);
  } finally {
    if (fetching.get(row.id) === wanted) fetching.delete(row.id);
  }
  return draw();
}

/** Shows them when all of each is here. */
function showWhole(items) {
  const whole = items.map(wholeOf);
  const shown = new Set(items.map(({ id }) => id));
  for (const id of [...wholes.keys()].slice(0, -KEPT)) if (!shown.has(id)) wholes.delete(id);
  if (whole.every(Boolean)) return detail.show(whole);
  const problem = items.map(({ id }) => missing.get(id)).find(Boolean) ?? "";
  return detail.wait(items, problem, () => { missing.clear(); draw(); });
}

function drawDetail() {
  const chosen = shownItems().filter(({ id }) => state.chosen.has(id));
  if (chosen.length > 1) return showWhole(chosen);
  let item = shownItems().find(({ id }) => id === state.selected);
  if (!item && !isPhone() && state.view === "waiting" && pending().length) {
    [item] = pending();
    state.selected = item.id;
    drawList();
  }
  find("main").dataset.open = item ? "1" : "";
  return item ? showWhole([item]) : detail.clear(empty());
}

function empty() {
  if (!state.linked || !state.loaded) return el("div.empty", {}, el("h2", {}, state.lostAt ? "No connection" : "One moment"), el("p", {}, state.lostAt ? `Since ${moment(state.lostAt / 1000)} the server does not answer, so this page cannot tell what waits. It tries again by itself.` : "Connecting to the server…"));
  if (state.view === "history") return el("div.empty", {}, el("h2", {}, shownItems().length ? "Choose one to see all of it" : state.text ? "Nothing found" : "Nothing was asked yet"), el("p", {}, state.text ? "The search looks at the whole text of each question, and at the tool's name." : ""));
  if (state.view === "run") return el("div.empty", {}, el("h2", {}, shownItems().length ? "Choose one to see all of it" : "This run has asked nothing"));
  if (shownItems().length) return el("div.empty", {}, el("h2", {}, "Choose a question"));
  return el("div.empty", {}, el("span.calm", { "aria-hidden": "true" }, "✓"), el("h2", {}, "Nothing waits"), el("p", {}, "No agent is waiting for you. New questions appear here by themselves."), el("p.size", {}, "Start an agent under supervision: ", el("code", {}, "fairlead run -- claude")));
}

async function drawRules() {
  try {
    const { rules } = await call("GET", "/api/rules");
    if (state.view !== "rules") return;
    put(find("page"), el("div.text", {}, rulesPage(rules, takeBack)));
    showOnly("page");
  } catch (problem) {
    failed(problem);
  }
}

async function takeBack(rule) {
  try {
    await call("DELETE", `/api/rules/${rule.id}`);
    say("Taken back: it is asked about again.");
  } catch (problem) {
    failed(problem);
  }
  await drawRules();
}

// --- telling -------------------------------------------------------------------------------------

let fading = null;

function say(text) {
  put(find("said"), marked(text));
  find("said").dataset.on = "1";
  clearTimeout(fading);
  fading = setTimeout(() => { find("said").dataset.on = ""; }, 6000);
}

const notes = new Map();
const wantsNotes = () => "Notification" in window && Notification.permission === "granted" && localStorage.getItem("notify") === "1";

function announce(item) {
  if (!item.concerns) return;
  find("news").textContent = `New question: ${item.tool}, ${item.run.agent}`;
  if (!wantsNotes() || isPushed() || (document.hasFocus() && !document.hidden)) return;
  try {
    // Where and by whom, not what: a notification is also shown on locked screens.
    const note = new Notification(`${item.tool}: an answer is needed`, { body: [item.run.agent, folderName(item.run.project)].filter(Boolean).join(" in "), tag: item.id, icon: "/icon.svg" });
    note.addEventListener("click", () => {
      window.focus();
      location.hash = "/waiting";
      select(item.id);
      note.close();
    });
    notes.set(item.id, note);
  } catch {
    say("This browser shows notifications of installed pages only.");
  }
}

const pageNotes = {
  isOn: wantsNotes,
  blocked: () => (!("Notification" in window) ? "This browser has none for pages that are not installed." : Notification.permission === "denied" ? "The browser does not allow notifications; its settings for this page can change that." : ""),
  turnOn: async () => {
    if ((await Notification.requestPermission()) !== "granted") return;
    localStorage.setItem("notify", "1");
    say("You will be notified while this page is open and not in front.");
  },
  turnOff: async () => localStorage.removeItem("notify"),
};

async function askForNotes() {
  try {
    await notesSheet(find("notes"), { page: pageNotes, close: () => find("notes").close() });
    find("notes").showModal();
  } catch (problem) {
    failed(problem);
  }
}

// --- moving around -------------------------------------------------------------------------------

const wantedIn = (hash) => hash.match(/^#\/waiting\/([\w-]+)$/u)?.[1] ?? "";

/** A link or a notification leads to one question. */
async function openWanted() {
  const id = state.wanted;
  if (!id || !state.loaded) return;
  state.wanted = "";
  history.replaceState(null, "", "#/waiting");
  if (state.waiting.get(id)?.state === "pending") return select(id);
  const item = await call("GET", `/api/interactions/${encodeURIComponent(id)}`);
  say(item.state === "pending" ? "This question is further down the list." : `This question does not wait any more: ${item.decided_by ? `${item.decided_by} has ${item.allow ? "allowed" : "refused"} it` : "nobody answered in time"}.`);
}

async function route() {
  if (location.hash.startsWith("#k=")) return start();
  if (!find("top").dataset.in) return undefined;
  state.wanted ||= wantedIn(location.hash);
  const [view, argument = ""] = state.wanted ? ["waiting"] : location.hash.replace(/^#\//u, "").split("/");
  const before = `${state.view}/${state.argument}`;
  state.view = ["waiting", "history", "rules", "run"].includes(view) ? view : "waiting";
  state.argument = decodeURIComponent(argument);
  if (before !== `${state.view}/${state.argument}`) {
    state.selected = "";
    state.chosen.clear();
    state.past.clear();
    forgetOver();
    detail.clear();
  }
  if (state.view === "rules") {
    draw();
    return drawRules();
  }
  draw();
  if (isPast()) await loadPast().then(draw, failed);
  await openWanted().catch(failed);
  return undefined;
}

let typing = null;

function searched() {
  clearTimeout(typing);
  typing = setTimeout(() => {
    state.text = find("search-text").value.trim();
    state.selected = "";
    loadPast().then(draw, failed);
  }, 200);
}

function helped() {
  put(find("help"), helpSheet(() => find("help").close()));
  find("help").showModal();
}

const actions = {
  move, choose, chooseAlike,
  select: () => find("detail").focus(),
  goto: (view) => { location.hash = `/${view}`; },
  search: () => {
    location.hash = "/history";
    setTimeout(() => find("search-text").focus(), 0);
  },
  help: helped,
  escape: () => { if (!detail.close() && state.chosen.size) select(state.selected); else if (isPhone()) select(""); },
  detail,
  next: () => selectNext(),
};

find("search").addEventListener("submit", (event) => event.preventDefault());
find("search-text").addEventListener("input", searched);
find("notify").addEventListener("click", askForNotes);
onWorker({ open: (id) => { location.hash = id ? `/waiting/${id}` : "/waiting"; }, shows: (id) => state.linked && state.waiting.has(id) });
find("help-button").addEventListener("click", helped);
find("skip").addEventListener("click", (event) => {
  event.preventDefault();
  find("detail").focus();
});
document.addEventListener("keydown", (event) => onKey(event, actions));
window.addEventListener("hashchange", route);
setInterval(() => {
  for (const item of shownItems()) if (rows.has(item.id)) age(rows.get(item.id), item);
  detail.tick();
}, 1000);
// A connection that died without a word is noticed here.
setInterval(() => { if (find("top").dataset.in) refresh(); }, LOOK_AGAIN);
start();
