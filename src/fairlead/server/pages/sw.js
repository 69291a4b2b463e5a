// The service worker: notifications while no page is open, and answers from them.
//
// Allow is offered only where the server says that the notification shows the whole of what would run.

const PATIENCE = 15_000;
const A_MOMENT = 2_000;
const ICON = "/icon-192.png";
const ALLOW = { action: "allow", title: "Allow" };
const REFUSE = { action: "refuse", title: "Refuse" };
const OPEN = { action: "open", title: "Open" };

self.addEventListener("install", () => self.skipWaiting());
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));
self.addEventListener("push", (event) => event.waitUntil(pushed(event.data)));
self.addEventListener("pushsubscriptionchange", (event) => event.waitUntil(renew(event)));
self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  event.waitUntil(clicked(event.action, event.notification.data ?? {}));
});

// --- what the server tells -------------------------------------------------------------------------

async function pushed(data) {
  const told = read(data);
  if (told.kind === "over") await closed(told.id);
  else if (told.kind === "question") await asked(told);
  else await show("Fairlead", { body: told.where ?? "Something waits for an answer.", tag: told.kind ?? "unknown", data: {} });
  await tidy();
}

function read(data) {
  try {
    return data.json() ?? {};
  } catch {
    return {};
  }
}

async function asked(question) {
  const { id, digest, tool, where, detail, whole } = question;
  if (await isInFront(id)) return;
  await show(`${tool}: an answer is needed`, {
    body: [detail, where].filter(Boolean).join("\n"),
    tag: id,
    data: { id, digest, tool, where, detail, whole: whole === true },
    actions: whole === true ? [ALLOW, REFUSE] : [REFUSE, OPEN],
    requireInteraction: true,
  });
}

/** A page in front shows the question, and says so: one that has just been closed, or has lost the server, does not. */
async function isInFront(id) {
  if (navigator.vendor?.startsWith("Apple")) return false; // whose systems want a notification for each message
  const pages = (await self.clients.matchAll({ type: "window" })).filter((page) => page.focused && page.visibilityState === "visible");
  return (await Promise.all(pages.map((page) => shows(page, id)))).some(Boolean);
}

function shows(page, id) {
  return new Promise((done) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = ({ data }) => done(data === true);
    setTimeout(() => done(false), A_MOMENT);
    page.postMessage({ shows: id }, [port2]);
  });
}

const show = (title, options) => self.registration.showNotification(title, { icon: ICON, badge: ICON, ...options });

async function closed(id) {
  for (const note of await self.registration.getNotifications({ tag: id })) note.close();
}

/** What was answered while this browser could not be told: taken away now. */
async function tidy() {
  const notes = (await self.registration.getNotifications()).filter((note) => note.data?.id);
  if (notes.length < 2) return;
  try {
    const { interactions } = await call("/api/interactions?state=pending");
    const waiting = new Set(interactions.map(({ id }) => id));
    for (const note of notes) if (!waiting.has(note.data.id) && !note.data.problem) note.close();
  } catch {
    // They stay, and an answer from them will be told what became of the question.
  }
}

// --- what a person does ------------------------------------------------------------------------------

async function clicked(action, about) {
  if (action === "allow" && about.whole === true) return answer(about, "allow");
  if (action === "refuse" && about.id) return answer(about, "block");
  return open(about.id);
}

async function answer(about, decision) {
  try {
    const item = await call(`/api/interactions/${encodeURIComponent(about.id)}/answer`, { decision, digest: about.digest });
    return outcome(about, ...answered(item), { silent: true });
  } catch (problem) {
    return notAnswered(about, problem);
  }
}

function answered(item) {
  if (item.late) return ["too late", "The agent was told no. If it asks the same again within an hour, it gets your answer."];
  if (item.state === "pending") return ["you agreed", "Others still have to."];
  return item.allow ? ["allowed", ""] : ["refused", ""];
}

/** What would run stands first, as on the notification before: the buttons are about that. */
function notAnswered(about, { status, message, by }) {
  const actions = status === 0 ? (about.whole ? [ALLOW, REFUSE] : [REFUSE, OPEN]) : [OPEN];
  return outcome(about, by ? "answered already" : "not answered", message, { actions, renotify: true, problem: true });
}

const outcome = (about, word, text, { problem = false, ...more }) => show(`${about.tool}: ${word}`, {
  body: [problem ? about.detail : "", text, about.where].filter(Boolean).join("\n"),
  tag: about.id,
  data: { ...about, problem },
  ...more,
});

async function open(id) {
  const place = id ? `/#/waiting/${encodeURIComponent(id)}` : "/";
  const [page] = await self.clients.matchAll({ type: "window", includeUncontrolled: true });
  if (!page) return self.clients.openWindow(place);
  page.postMessage({ open: id ?? "" });
  return page.focus().catch(() => undefined);
}

// --- the server --------------------------------------------------------------------------------------

class Refused extends Error {
  constructor(status, message, by = "") {
    super(message);
    this.status = status;
    this.by = by;
  }
}

async function call(path, body) {
  const options = { method: body ? "POST" : "GET", credentials: "same-origin", cache: "no-store", signal: AbortSignal.timeout(PATIENCE) };
  if (body) Object.assign(options, { body: JSON.stringify(body), headers: { "Content-Type": "application/json" } });
  let response;
  try {
    response = await fetch(path, options);
  } catch {
    throw new Refused(0, "The server did not answer, so your answer may be lost. Press again, or open the inbox.");
  }
  const found = await response.json().catch(() => ({}));
  if (!response.ok) throw new Refused(response.status, said(response.status, found), found.interaction?.decided_by);
  return found;
}

function said(status, { error, interaction }) {
  if (status === 401) return "This browser is not logged in any more. Nothing was decided.";
  if (interaction?.decided_by) return `${interaction.decided_by} has ${interaction.allow ? "allowed" : "refused"} it.`;
  const text = error?.message ?? `The server answered ${status}`;
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?]$/u.test(text) ? "" : "."}`;
}

/** The browser has a new address for us. */
async function renew(event) {
  const options = event.oldSubscription?.options;
  const fresh = event.newSubscription ?? (options ? await self.registration.pushManager.subscribe(options) : null);
  if (fresh) await call("/api/push", fresh.toJSON());
}
