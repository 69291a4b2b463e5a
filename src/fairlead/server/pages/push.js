// Notifications: of this page while it is open, and through the service worker when it is not.

import { button, el, marked, put } from "/dom.js";
import { call } from "/server.js";

const WORKER = "/sw.js";

/** The one script that is ever loaded by its address; the server's headers allow this policy and no other. */
let policy = null;

function workerAddress() {
  if (!window.trustedTypes) return WORKER;
  policy ??= window.trustedTypes.createPolicy("fairlead-worker", {
    createScriptURL: (address) => {
      if (address !== WORKER) throw new TypeError("only the service worker");
      return address;
    },
  });
  return policy.createScriptURL(WORKER);
}

const isApple = () => /iPhone|iPad/u.test(navigator.userAgent) || (/Macintosh/u.test(navigator.userAgent) && navigator.maxTouchPoints > 1);
const isInstalled = () => matchMedia("(display-mode: standalone)").matches || navigator.standalone === true;

/** Why this browser cannot be told while the page is closed; empty if it can. */
function whyNot(about) {
  if (!about.available) return `This server cannot send them: ${about.why_not}.`;
  if (!window.isSecureContext) return "The browser allows them only for pages with https, or on the machine of the server itself.";
  if (isApple() && !isInstalled()) return "On an iPhone or iPad, first add this page to the Home Screen (Share, then Add to Home Screen). Open it from there, log in, and come back to these settings.";
  if (!("serviceWorker" in navigator) || !("PushManager" in window)) return "This browser has no Web Push.";
  return "";
}

let subscribed = false;

/** Whether the service worker tells of new questions here. */
export const isPushed = () => subscribed;

async function subscription() {
  const worker = await navigator.serviceWorker?.getRegistration("/");
  return (await worker?.pushManager?.getSubscription()) ?? null;
}

/** After a new login or with a new key of the server: what was turned on stays on. */
export async function keepPush() {
  const known = await subscription().catch(() => null);
  if (!known) return;
  const about = await call("GET", "/api/push");
  if (!about.available) return;
  await send(isFor(known, about.public_key) ? known : await renewed(known, about));
}

async function renewed(known, about) {
  await known.unsubscribe();
  return subscribe(about);
}

const bytes = (text) => Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (letter) => letter.charCodeAt(0));

function isFor(known, key) {
  const mine = new Uint8Array(known.options.applicationServerKey ?? new ArrayBuffer(0));
  const theirs = bytes(key);
  return mine.length === theirs.length && mine.every((byte, at) => byte === theirs[at]);
}

async function subscribe(about) {
  await navigator.serviceWorker.register(workerAddress());
  const worker = await navigator.serviceWorker.ready;
  return worker.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: bytes(about.public_key) });
}

async function send(known) {
  await call("POST", "/api/push", known.toJSON());
  subscribed = true;
}

async function turnOn(about) {
  if ((await Notification.requestPermission()) !== "granted") throw new Error("The browser does not allow notifications; its settings for this page can change that.");
  const known = await subscription();
  await send(known && isFor(known, about.public_key) ? known : known ? await renewed(known, about) : await subscribe(about));
}

async function turnOff() {
  const known = await subscription();
  subscribed = false;
  if (!known) return;
  await known.unsubscribe();
  await call("POST", "/api/push/end", { endpoint: known.endpoint }).catch((problem) => {
    if (problem.status !== 404) throw problem;
  });
}

/** Notifications about what does not wait any more are taken away. */
export async function tidyNotes(isWaiting) {
  const worker = await navigator.serviceWorker?.getRegistration("/");
  for (const note of (await worker?.getNotifications?.()) ?? []) if (note.data?.id && !isWaiting(note.data.id)) note.close();
}

/** The service worker wants a question opened, or asks whether it is shown here. */
export function onWorker({ open, shows }) {
  navigator.serviceWorker?.addEventListener("message", ({ data, ports }) => {
    if (data?.shows !== undefined) ports[0]?.postMessage(shows(data.shows));
    else open(String(data?.open ?? ""));
  });
}

// --- the sheet -------------------------------------------------------------------------------------

/** `page` says and changes whether the open page notifies. */
export async function notesSheet(sheet, { page, close }) {
  const draw = async (said = "") => {
    const about = await call("GET", "/api/push");
    subscribed = Boolean(await subscription().catch(() => null)) && about.available;
    put(sheet, el("h2", { id: "notes-title" }, "Notifications"), openPart(page, draw), closedPart(about, draw), chatPart(about),
      el("p", { role: "status" }, said ? marked(said) : ""), el("div.row", {}, button("Close", { key: "Esc", click: close })));
  };
  await draw();
}

const tried = (work, draw, good = "") => async (event) => {
  event.currentTarget.disabled = true;
  try {
    await work();
    await draw(good);
  } catch (problem) {
    await draw(problem.message).catch(() => {});
  }
};

function openPart(page, draw) {
  const blocked = page.blocked();
  return el("section.setting", {}, el("h3", {}, "While this page is open"),
    el("p", {}, blocked || "A notification for each new question, when the page is not in front."),
    blocked ? null : el("div.row", {}, page.isOn() ? button("Turn off", { id: "page-off", click: tried(page.turnOff, draw) }) : button("Turn on", { id: "page-on", click: tried(page.turnOn, draw) })));
}

function closedPart(about, draw) {
  const why = whyNot(about);
  const what = about.details ? "They name the tool, the agent, the project and the command (--push-details). Allow is on a notification only where it shows the whole of what would run." : "They name the tool, the agent and the project, never the command; Allow is in the inbox, where all of it can be read.";
  const known = async () => ({ endpoint: (await subscription()).endpoint });
  return el("section.setting", {}, el("h3", {}, "While it is closed"),
    el("p", {}, why ? marked(why) : `Your server sends them itself, encrypted for this browser. ${what}`),
    why ? null : el("div.row", {}, subscribed
      ? [button("Turn off", { id: "push-off", click: tried(turnOff, draw) }), button("Send one now", { id: "push-trial", click: tried(async () => call("POST", "/api/push/trial", await known()), draw, "Sent. It should be on your screen in a moment.") })]
      : button("Turn on", { id: "push-on", click: tried(() => turnOn(about), draw) })),
    why || !about.browsers ? null : el("p.size", {}, `${about.browsers} ${about.browsers === 1 ? "browser" : "browsers"} of yours ${about.browsers === 1 ? "is" : "are"} told.`));
}

function chatPart(about) {
  if (!about.chats && !about.trouble) return null;
  return el("section.setting", {}, el("h3", {}, "Elsewhere"), about.chats ? el("p", {}, `${about.chats} ${about.chats === 1 ? "chat is" : "chats are"} told of questions.`) : null,
    about.trouble ? el("p.problem", {}, marked(about.trouble)) : null);
}
