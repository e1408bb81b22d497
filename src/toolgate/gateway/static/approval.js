// Approval requests, in the conversation: what will happen in one sentence, the command or diff once, and the keys.
import { announce, h, icon, pane } from "./dom.js";
import { detail, isDiff } from "./diff.js";
import { markdown } from "./render.js";
import { clock, visible } from "./text.js";

/** Milliseconds before keys work in a new request, so that nobody allows what they have not seen. */
const ARM_DELAY_MS = 500;
/** Milliseconds after the last keystroke in the message field before a request takes the focus. */
const TYPING_PAUSE_MS = 900;
const EDITABLE = "input, textarea, select, [contenteditable]";
const PLAN = "propose_plan";
const MODES = { ask: "Ask before every change", accept_edits: "Accept edits, ask about the rest" };
const SCOPES = { session: "In this session", project: "In this project, from now on" };
const RISKS = { low: "Low risk", medium: "Some risk", high: "High risk" };

const who = ({ agent }) => (agent ? `Sub-agent ${visible(agent)} asks` : "Permission needed");
const isPlan = ({ tool_name }) => tool_name === PLAN;

/** One sentence of what will happen; the command itself is shown below, once. */
function sentence(question) {
  if (isPlan(question)) return "The model proposes a plan";
  if (question.sentence) return visible(question.sentence);
  const shown = question.detail && !isDiff(question.detail);
  return shown && question.summary.startsWith("Run: ") ? "Run this command" : visible(question.summary);
}

/** Why approval is needed, as short labels. A tool that always asks needs no reason. */
function labels({ labels: given, reason = "", tool_name }) {
  if (given?.length) return given.map(visible);
  return !reason || reason === `${tool_name} needs permission` ? [] : visible(reason).split(/;\s+/);
}

/** The detail without its last line if that says a label again. */
function once(question) {
  const text = question.detail || question.summary;
  const [, rest, why] = text.match(/^([\s\S]*)\nbecause: (.*)\n?$/) ?? [];
  return why !== undefined && labels(question).join("; ") === visible(why) ? rest : text;
}

const key = (name) => h("kbd", { "aria-hidden": "true" }, name);

export class Approval extends HTMLElement {
  #queue = new Map();
  #aside = new Set();
  #shown = null;
  #block = null;
  #timer = 0;
  #ticker = 0;
  #typed = 0;
  #answering = false;

  connectedCallback() {
    document.addEventListener("keydown", (event) => this.#key(event));
    document.addEventListener("input", () => (this.#typed = performance.now()), true);
  }

  /** Add an approval request; it is shown when its turn comes. */
  add(session, question) {
    this.#queue.set(question.id, { session, question });
    announce(`Permission needed: ${question.summary}`);
    this.#next();
  }

  /** Remove an approval request that was answered, here or elsewhere. */
  remove(id, answer) {
    this.#queue.delete(id);
    this.#aside.delete(id);
    if (this.#shown !== id) return this.#tell();
    if (answer && !this.#answering) announce(answer.allowed ? "Allowed elsewhere" : `Not allowed: ${answer.message}`);
    this.#close();
    this.#next();
  }

  /** Remove everything, because another session is shown. */
  clear() {
    this.#queue.clear();
    this.#aside.clear();
    this.#close();
    this.#tell();
  }

  /** Show a request that was put aside. */
  review(id) {
    this.#aside.delete(id);
    if (this.#shown === null && this.#queue.has(id)) this.#open(id);
    if (this.#shown === id) this.#focus();
    this.#tell();
  }

  #tell() {
    this.dispatchEvent(new CustomEvent("aside", { detail: [...this.#aside] }));
  }

  #next() {
    this.#tell();
    if (this.#shown !== null) return;
    const id = [...this.#queue.keys()].find((each) => !this.#aside.has(each));
    if (id === undefined) return;
    this.#open(id);
    this.#focusLater();
  }

  /** Take the focus when nobody is typing. A field with text in it keeps its keys; Escape leads here from there. */
  #focusLater() {
    clearTimeout(this.#timer);
    const at = document.activeElement;
    const wait = this.#typed ? this.#typed + TYPING_PAUSE_MS - performance.now() : 0;
    if (this.#shown === null || at?.closest("dialog[open]") || (at?.matches(EDITABLE) && at.value)) return;
    if (wait > 0) this.#timer = setTimeout(() => this.#focusLater(), wait);
    else this.#focus();
  }

  #focus() {
    this.#block?.querySelector("h3").focus({ preventScroll: true });
    this.#block?.scrollIntoView({ block: "nearest" });
  }

  #open(id) {
    const { question } = this.#queue.get(id);
    this.#shown = id;
    this.#answering = false;
    this.#block = h(
      "section",
      {
        class: "approval",
        role: "group",
        "aria-labelledby": "approval-sentence",
        "data-risk": question.risk ?? "medium",
        "data-armed": "false",
      },
      ...this.#content(question),
    );
    document.querySelector("tg-chat").asking.replaceChildren(this.#block);
    setTimeout(() => this.#shown === id && this.#block && (this.#block.dataset.armed = "true"), ARM_DELAY_MS);
    if (!question.deadline) return;
    this.#tick(question.deadline);
    this.#ticker = setInterval(() => this.#tick(question.deadline), 500);
  }

  #close() {
    clearInterval(this.#ticker);
    clearTimeout(this.#timer);
    const had = this.#block?.contains(document.activeElement);
    this.#shown = null;
    this.#block?.remove();
    this.#block = null;
    if (had) document.getElementById("prompt")?.focus({ preventScroll: true });
  }

  #content(question) {
    const left = this.#queue.size - 1;
    const risk = question.risk && h("span", { class: "risk" }, RISKS[question.risk]);
    return [
      h(
        "div",
        { class: "top" },
        icon("waiting"),
        h("p", { class: "who" }, who(question), left ? ` · ${left} more waiting` : ""),
        h("p", { class: "deadline", role: "timer" }),
      ),
      h("h3", { id: "approval-sentence", tabindex: "-1" }, sentence(question)),
      h("p", { class: "labels" }, risk, ...labels(question).map((label) => h("span", {}, label))),
      isPlan(question) ? this.#plan(question) : detail(once(question)),
      this.#denial(question),
      this.#always(question),
      h("p", { class: "problem", role: "alert", hidden: true }),
      h("div", { class: "choices", role: "group", "aria-label": "Answer" }, ...this.#choices(question)),
    ];
  }

  /** The buttons. What is risky is not the default. */
  #choices(question) {
    const risky = question.risk === "high";
    if (isPlan(question)) {
      const modes = Object.entries(MODES).map(([value, words]) => h("option", { value }, words));
      return [
        this.#button("Accept the plan", "A", "primary allow", () => this.#accept()),
        h("select", { class: "then", "aria-label": "How to go on" }, ...modes),
        this.#button("Edit", "E", "edit", () => this.#edit()),
        this.#button("Refuse", "D", "deny", () => this.#panel("denial")),
        this.#button("Later", "Esc", "quiet later", () => this.#escape()),
      ];
    }
    const allow = this.#button("Allow once", "A", risky ? "allow" : "primary allow", () => this.#answer(true));
    const deny = this.#button("Deny", "D", risky ? "danger deny" : "deny", () => this.#panel("denial"));
    return [
      ...(risky ? [deny, allow] : [allow, deny]),
      this.#rules(question).length > 0 && this.#button("Always…", "W", "always", () => this.#panel("rule")),
      this.#button("Later", "Esc", "quiet later", () => this.#escape()),
    ];
  }

  #button(words, shortcut, classes, act) {
    const properties = { type: "button", class: classes, "aria-keyshortcuts": shortcut, onclick: act };
    return h("button", properties, words, key(shortcut));
  }

  #submit(words, classes) {
    return h("button", { type: "submit", class: classes }, words, key("Enter"));
  }

  #back() {
    return this.#button("Back", "Esc", "quiet", () => this.#escape());
  }

  #plan(question) {
    return h("div", { class: "plan" }, markdown(question.detail, visible(question.detail)));
  }

  #edit() {
    const place = this.#block.querySelector(".plan");
    if (place.querySelector("textarea")) return;
    const field = h("textarea", { rows: 12, "aria-label": "The plan" });
    field.value = this.#queue.get(this.#shown).question.detail;
    place.replaceChildren(field);
    field.focus();
  }

  #accept() {
    const text = this.#block.querySelector(".plan textarea")?.value.trim();
    const approval_mode = this.#block.querySelector(".then").value;
    this.#answer(true, "", { approval_mode, ...(text && { text }) });
  }

  #denial(question) {
    const placeholder = isPlan(question) ? "What should be different?" : "What should the model do instead?";
    const field = h("input", { id: "reason", maxlength: "2000", autocomplete: "off", placeholder });
    const form = h(
      "form",
      { class: "panel denial", hidden: true },
      h("label", { for: "reason" }, "Reason (the model reads it)"),
      h("div", { class: "row" }, field, this.#submit(isPlan(question) ? "Refuse" : "Deny", "danger"), this.#back()),
    );
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#answer(false, field.value.trim());
    });
    return form;
  }

  /** What may be remembered, in plain words. An older gateway offers only the exact call. */
  #rules({ choices, rule }) {
    if (choices) return choices;
    return rule ? [{ id: null, label: "this exact call", rule, scopes: ["session"] }] : [];
  }

  /** The choice of a rule. Its text is shown before it is saved. */
  #always(question) {
    const rules = this.#rules(question);
    const text = pane("The rule", {});
    const scopes = h("select", { "aria-label": "Where it is allowed" });
    let chosen = null;
    const choose = (one) => {
      chosen = one;
      text.textContent = visible(one.rule);
      scopes.replaceChildren(...one.scopes.map((scope) => h("option", { value: scope }, SCOPES[scope])));
      scopes.hidden = one.scopes.length < 2;
    };
    const radio = (one, at) => {
      const input = h("input", { type: "radio", name: "choice", checked: at === 0 });
      input.addEventListener("change", () => choose(one));
      return h("label", {}, input, h("span", {}, visible(one.label)));
    };
    if (rules.length) choose(rules[0]);
    const form = h(
      "form",
      { class: "panel rule", hidden: true },
      h("fieldset", {}, h("legend", {}, "Allow without asking"), ...(rules.length > 1 ? rules.map(radio) : [])),
      text,
      h("div", { class: "row" }, scopes, this.#submit("Allow always", "primary"), this.#back()),
    );
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#answer(true, "", { remember: true, ...(chosen.id && { choice: chosen.id, scope: scopes.value }) });
    });
    return form;
  }

  #panel(name) {
    if (name === "rule" && !this.#rules(this.#queue.get(this.#shown).question).length) return;
    this.#block.querySelector(".choices").hidden = true;
    for (const panel of this.#block.querySelectorAll(".panel")) panel.hidden = !panel.classList.contains(name);
    const place = this.#block.querySelector(`.panel.${name}`);
    (place.querySelector("input[type=radio]") ?? place.querySelector("input, button")).focus();
    place.scrollIntoView({ block: "nearest" });
  }

  #escape() {
    const open = this.#block.querySelector(".panel:not([hidden])");
    if (open) {
      open.hidden = true;
      this.#block.querySelector(".choices").hidden = false;
      this.#focus();
      return;
    }
    this.#aside.add(this.#shown);
    this.#close();
    this.#next();
  }

  /** Keys count in the request, and where nothing else takes them; never before it could be read. */
  #key(event) {
    if (!this.#block || document.querySelector("dialog[open], .menu")) return;
    const inside = this.#block.contains(event.target);
    const nowhere = event.target === document.body || event.target.matches?.("tg-chat");
    if (!inside && !nowhere) return;
    if (event.key === "Escape") {
      event.preventDefault();
      this.#escape();
      return;
    }
    const plain = !(event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.repeat);
    const writing = event.target.matches(EDITABLE) && event.target.type !== "radio";
    if (!plain || this.#block.dataset.armed !== "true" || writing) return;
    const plan = isPlan(this.#queue.get(this.#shown).question);
    const acts = {
      a: () => (plan ? this.#accept() : this.#answer(true)),
      d: () => this.#panel("denial"),
      ...(plan ? { e: () => this.#edit() } : { w: () => this.#panel("rule") }),
    };
    const act = acts[event.key.toLowerCase()];
    if (!act || this.#block.querySelector(".panel:not([hidden])")) return;
    event.preventDefault();
    if (this.#isSeen()) act();
    else this.#focus();
  }

  /** Whether the sentence or the answers are in view: what is not seen is not answered by a key. */
  #isSeen() {
    const view = document.querySelector("tg-chat").getBoundingClientRect();
    return [".choices", "h3"].some((part) => {
      const box = this.#block.querySelector(part).getBoundingClientRect();
      return box.bottom > view.top && box.top < view.bottom;
    });
  }

  async #answer(allowed, message = "", more = {}) {
    if (this.#shown === null || this.#answering) return;
    const id = this.#shown;
    this.#answering = true;
    try {
      await this.#queue.get(id).session.answer(id, allowed, message, more);
      this.remove(id);
    } catch (error) {
      this.#answering = false;
      if (this.#shown !== id) return;
      const problem = this.#block.querySelector(".problem");
      problem.textContent = error.message;
      problem.hidden = false;
    }
  }

  #tick(deadline) {
    const left = deadline * 1000 - Date.now();
    const place = this.#block?.querySelector(".deadline");
    if (!place) return;
    place.textContent = left > 0 ? `denied in ${clock(left)}` : "the time is over";
    place.dataset.urgent = String(left < 30_000);
  }
}
customElements.define("tg-approval", Approval);
