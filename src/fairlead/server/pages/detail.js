// The question, or several alike, that a person looks at, and the ways to answer.

import { button, el, find, marked, put } from "/dom.js";
import { diff, outcome, parts, rewrite, warnings } from "/parts.js";
import { questions } from "/questions.js";
import { ruleForm, ruleOffers } from "/rules.js";
import { ago, isExact, lineDiff, moment, span } from "/words.js";

const STABLE = 400;
const HURRY = 60;

export class Detail {
  #items = [];
  #shown = "";
  #form = null;
  #armed = false;
  #read = false;
  #busy = false;
  #timer = null;
  #watcher = null;
  #kept = null;

  constructor({ now, me, answer, rule, next, back }) {
    Object.assign(this, { now, me, answer, rule, next, back });
    this.content = find("content");
    this.bar = find("actions");
  }

  get items() {
    return this.#items;
  }

  get isOpen() {
    return this.#form !== null;
  }

  /** Shows them; what is on the screen already, unchanged, stays as it is. */
  show(items) {
    const identity = JSON.stringify(items.map((item) => [item.id, item.digest, item.state, item.allow, item.agreed, item.used, item.run.active, item.yours, item.escalated, item.message, item.response, Boolean(item.updated_input)]));
    if (identity === this.#shown) return;
    const sameQuestions = items.length > 0 && ids(items) === ids(this.#items);
    if (!sameQuestions) this.#keep();
    this.#items = items;
    this.#shown = identity;
    this.#busy = false;
    if (!sameQuestions || items.some((item) => item.state !== "pending")) this.#form = null;
    if (!sameQuestions) this.#take();
    this.#draw(sameQuestions);
  }

  /** Until all of it is here there is nothing to press. */
  wait(items, problem, again) {
    const shown = `waits ${items.map(({ id }) => id).join()} ${problem}`;
    if (shown === this.#shown) return;
    this.clear(el("button.back", { type: "button", click: this.back }, "‹ All questions"),
      ...items.map((item) => el("header.about", {}, el("h2", {}, marked(item.tool)), el("p.where", {}, marked(item.line)))),
      el("p.loading", { role: "status" }, problem ? `Not all of it is here, so it cannot be answered yet: ${problem}` : "Fetching all of it…"),
      problem ? button("Try again", { click: again }) : null);
    this.#shown = shown;
  }

  /** What somebody was writing is there again when they come back to it, if only because their login had ended. */
  #keep() {
    const written = this.#form ?? this.questions?.element;
    if (written && this.#items.length) this.#kept = { by: this.me(), about: ids(this.#items), form: this.#form, questions: this.questions };
  }

  #take() {
    if (this.#kept?.by !== this.me()) this.#kept = null;
    if (this.#kept?.about !== ids(this.#items) || this.#items.some((item) => item.state !== "pending")) return;
    this.#form = this.#kept.form;
    this.questions = this.#kept.questions;
  }

  clear(...instead) {
    this.#keep();
    this.#items = [];
    this.#shown = "";
    this.#form = null;
    put(this.content, ...instead);
    put(this.bar);
  }

  #draw(keepsPlace) {
    const place = keepsPlace ? this.content.scrollTop : 0;
    const end = el("div.end", { "aria-hidden": "true" });
    const about = ids(this.#items);
    if (!this.#isInput || this.#items.length !== 1) this.questions = null;
    else if (this.questions?.about !== about) this.questions = { ...questions(this.#items[0]), about };
    put(this.content, el("button.back", { type: "button", click: this.back }, "‹ All questions"), ...this.#items.map((item, at) => this.#article(item, at)), this.questions?.element, end);
    this.content.scrollTop = place;
    this.#watchEnd(end);
    this.#arm();
    this.tick();
  }

  get #isInput() {
    return this.#items[0]?.kind === "input" || this.#items[0]?.parts.some((part) => part.question !== undefined);
  }

  #article(item, at) {
    const count = this.#items.length > 1 ? `${at + 1} of ${this.#items.length}: ` : "";
    return el("article", { "data-id": item.id, "aria-label": `${count}${item.tool}` },
      el("header.about", {},
        el("h2", {}, el("span.count-of", {}, count), marked(item.tool), people(item)),
        item.why ? el("p.why", {}, marked(item.why)) : null,
        el("p.where", {}, where(item)),
        el("p.when", {}, el("time.asked", { datetime: new Date(item.created_at * 1000).toISOString(), title: moment(item.created_at) }), el("span.left", {}))),
      outcome(item), warnings(item), parts(item), rewrite(item));
  }

  /** Ages and the time left. */
  tick() {
    for (const item of this.#items) {
      const article = this.content.querySelector(`article[data-id="${CSS.escape(item.id)}"]`);
      if (!article) continue;
      article.querySelector(".asked").textContent = `asked ${ago(this.now() - item.created_at)}`;
      const left = article.querySelector(".left");
      const rest = item.expires_at - this.now();
      left.textContent = item.state !== "pending" ? "" : rest > 0 ? `${span(rest + 0.9)} left, then the answer is no` : "time is up";
      left.classList.toggle("hurry", item.state === "pending" && rest < HURRY);
    }
  }

  // --- readiness ---------------------------------------------------------------------------------

  #watchEnd(end) {
    this.#watcher?.disconnect();
    this.#read = false;
    this.#watcher = new IntersectionObserver(([entry]) => {
      if (entry.isIntersecting && !this.#read) {
        this.#read = true;
        this.#enable();
      }
      this.bar.querySelector(".below")?.classList.toggle("gone", entry.isIntersecting);
    }, { root: this.content, rootMargin: "0px 0px 24px 0px" });
    this.#watcher.observe(end);
  }

  /** A finger that was on its way to something else must not decide. */
  #arm() {
    this.#armed = false;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#armed = true;
      this.#enable();
    }, STABLE);
    this.#drawBar();
  }

  #enable() {
    const ready = this.#armed && !this.#busy;
    for (const one of this.bar.querySelectorAll("[data-needs]")) one.disabled = !ready || (one.dataset.needs === "read" && !this.#read);
    const hint = this.bar.querySelector(".hint");
    if (hint && !hint.dataset.fixed) hint.textContent = this.#busy ? "Sending…" : this.#read ? "" : "Read to the end to allow it.";
  }

  scroll(pages) {
    this.content.scrollBy({ top: pages * this.content.clientHeight * 0.9 });
  }

  scrollToEnd() {
    this.content.scrollTop = this.content.scrollHeight;
  }

  // --- the bar -----------------------------------------------------------------------------------

  #drawBar() {
    put(this.bar, this.#items.length ? this.#form ?? this.#choices() : null);
    this.#enable();
  }

  #choices() {
    const item = this.#items[0];
    if (this.#items.some((one) => one.state === "decided" || one.allow !== null)) return this.#over();
    if (item.state === "expired") return item.run.active && item.yours ? this.#late() : this.#over("The run has ended, so nobody takes an answer any more.");
    const others = this.#items.find((one) => !one.yours);
    if (others) return this.#over(`${others.deciders.join(" or ")} may decide ${this.#items.length > 1 ? "one of these" : "this"}; you are ${this.me()}.`);
    if (this.questions) return this.#row([this.#button("Send answer", "sendAnswers", { key: "Ctrl+Enter", kind: "allow", needs: "read" }), this.#button("Decline…", "refuse", { key: "d", kind: "refuse" })]);
    const several = this.#items.length > 1 ? ` ${this.#items.length}` : "";
    const agreed = this.#items.every((one) => one.agreed.includes(this.me()));
    const allow = agreed ? el("p.hint", { "data-fixed": "1" }, "You have agreed. It waits for somebody else.") : this.#button(`Allow${several}`, "allow", { key: "a", kind: "allow", needs: "read" });
    const alone = this.#items.length === 1 && item.people === 1;
    return this.#row([
      allow,
      this.#button(`Refuse${several}…`, "refuse", { key: "d", kind: "refuse" }),
      alone ? this.#button("Change…", "edit", { key: "e" }) : null,
      alone && ruleOffers(item).length ? this.#button("Always allow…", "always", { key: "w" }) : null,
    ]);
  }

  #late() {
    return this.#row([this.#button("Allow the next try", "allow", { key: "a", kind: "allow", needs: "read" }), this.#button("Refuse the next try…", "refuse", { key: "d", kind: "refuse" })],
      "Nobody answered in time, and the agent was told no. Your answer is kept: if the agent asks the same again within an hour, it gets it.");
  }

  #over(why = "") {
    return el("div.row", {}, button("Next", { key: "n", click: () => this.next() }), el("p.hint", { "data-fixed": "1" }, why));
  }

  #row(buttons, explanation = "") {
    const more = el("button.below", { type: "button", click: () => this.scrollToEnd(), "aria-label": "More below: go to the end" }, "More below ↓");
    return el("div.choices", {}, more, explanation ? el("p.explain", {}, explanation) : null, el("div.row", {}, buttons), el("p.hint", { role: "status" }));
  }

  #button(label, what, { needs = "armed", ...options } = {}) {
    return button(label, { ...options, "data-needs": needs, "data-do": what, click: () => this.do(what) });
  }

  /** What a key or a button asks for, if its button is there and ready. */
  do(what) {
    const wanted = this.bar.querySelector(`[data-do="${what}"]`);
    if (!wanted || wanted.disabled) return;
    const item = this.#items[0];
    if (what === "allow") this.#send({ decision: "allow" });
    else if (what === "refuse") this.#open(this.#refusal());
    else if (what === "edit") this.#open(this.#editor(item));
    else if (what === "always") this.#open(ruleForm(item, { send: (fields) => this.#always(item, fields), cancel: () => this.close() }));
    else if (what === "sendAnswers") this.#sendAnswers();
  }

  #open(form) {
    this.#form = form;
    this.#arm();
    (form.querySelector("[data-first]") ?? form.querySelector("textarea, input"))?.focus();
  }

  close() {
    if (!this.#form) return false;
    this.#form = this.#kept = null;
    this.#arm();
    find("detail").focus();
    return true;
  }

  fail(message) {
    this.#busy = false;
    this.#enable();
    const hint = this.bar.querySelector(".hint");
    if (hint) hint.textContent = message;
  }

  async #send(fields) {
    if (this.#busy) return;
    this.#busy = true;
    this.#enable();
    await this.answer(this.#items, fields);
  }

  #sendAnswers() {
    const { response, problem } = this.questions.read();
    if (problem) this.fail(problem);
    else this.#send({ decision: "allow", response });
  }

  async #always(item, fields) {
    if (this.#busy) return;
    this.#busy = true;
    this.#enable();
    if (await this.rule(item, fields)) await this.answer([item], { decision: "allow" });
  }

  #refusal() {
    const reason = el("textarea", { rows: "2", id: "reason", name: "reason", placeholder: "What should it do instead? (may stay empty)", "data-first": "1" });
    const send = () => this.#send({ decision: "block", message: reason.value.trim() });
    return form("Refuse, and tell the agent why", send,
      el("label.hidden", { for: "reason" }, "Reason, for the agent"), reason,
      el("div.row", {}, submit("Refuse", "refuse"), button("Cancel", { key: "Esc", click: () => this.close() })), el("p.hint", { role: "status" }));
  }

  #editor(item) {
    const field = item.edits;
    const before = field ? item.payload[field] : JSON.stringify(item.payload, null, 2);
    if (!isExact(item.payload)) return form("This cannot be changed here", () => {}, el("p", {}, "It holds numbers that a browser cannot carry exactly. Refuse it and say what to change."), button("Cancel", { key: "Esc", click: () => this.close() }));
    const text = el("textarea.code", { id: "edit", name: "edit", rows: String(Math.min(14, Math.max(3, before.split("\n").length + 1))), spellcheck: "false", autocomplete: "off", value: before, "data-first": "1" });
    const preview = el("div.preview", { "aria-live": "polite" });
    const draw = () => put(preview, text.value === before ? el("p.hint", { "data-fixed": "1" }, "Nothing is changed yet.") : diff(lineDiff(before, text.value)));
    text.addEventListener("input", draw);
    draw();
    const send = () => {
      const { input, problem } = changedInput(item, field, text.value);
      if (problem) this.fail(problem);
      else this.#send(text.value === before ? { decision: "allow" } : { decision: "allow", updated_input: input });
    };
    return form(`Change the ${field.replace("_", " ") || "input"}, then allow it`, send,
      el("label.hidden", { for: "edit" }, "What will run instead"), text, el("h3.label", {}, "Your change"), preview,
      el("div.row", {}, submit("Allow with this change", "allow"), button("Cancel", { key: "Esc", click: () => this.close() })), el("p.hint", { role: "status" }));
  }
}

const ids = (items) => items.map(({ id }) => id).join();

function changedInput(item, field, text) {
  if (field) return { input: { ...item.payload, [field]: text } };
  try {
    const input = JSON.parse(text);
    return input && typeof input === "object" && !Array.isArray(input) ? { input } : { problem: "The input must be a JSON object: { … }" };
  } catch (error) {
    return { problem: `This is not JSON yet: ${error.message}` };
  }
}

function submit(label, kind) {
  const needs = kind === "allow" ? "read" : "armed";
  return el(`button.${kind}`, { type: "submit", "data-needs": needs }, el("span", {}, label), el("kbd", { "aria-hidden": "true" }, "Ctrl+Enter"));
}

function form(title, send, ...children) {
  const made = el("form.answer", { submit: (event) => { event.preventDefault(); send(); }, "aria-label": title }, el("h3", {}, title), ...children);
  made.addEventListener("keydown", (event) => {
    const whole = event.key === "Enter" && (event.ctrlKey || event.metaKey);
    if (!whole) return;
    event.preventDefault();
    if (!made.querySelector("button[type=submit]")?.disabled) send();
  });
  return made;
}

function people(item) {
  const names = item.agreed.length ? `: ${item.agreed.join(", ")}` : "";
  return [
    item.people < 2 ? null : el("span.chip", {}, marked(`${item.agreed.length} of ${item.people} agreed${names}`)),
    item.deciders.length ? el("span.chip", {}, marked(`for ${item.deciders.join(", ")}`)) : null,
    item.escalated ? el("span.chip.escalated", {}, marked(`escalated to ${item.escalate_to.join(", ")}`)) : null,
  ];
}

function where(item) {
  const { agent, project, title, id } = item.run;
  return [
    agent ? el("span.chip.agent", {}, marked(agent)) : null,
    el("a", { href: `#/run/${encodeURIComponent(id)}`, title: "Everything this run has asked" }, marked(title || `run ${id.slice(0, 8)}`)),
    project ? el("span.project", { title: project }, " in ", el("code", {}, marked(project))) : null,
    item.cwd && item.cwd !== project ? el("span.project", { title: item.cwd }, project ? " now in " : " in ", el("code", {}, marked(item.cwd))) : null,
  ];
}
