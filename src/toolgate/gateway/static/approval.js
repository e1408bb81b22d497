// The approval dialog: shows exactly what would happen, and can be answered by keyboard.
import { announce, h, icon, pane } from "./dom.js";
import { detail } from "./diff.js";
import { clock, visible } from "./text.js";

/** Milliseconds before keys work in a new dialog, so that nobody allows what they have not seen. */
const ARM_DELAY_MS = 500;
/** Milliseconds after the last keystroke in the message field before a dialog opens. */
const TYPING_PAUSE_MS = 900;

const who = ({ agent }) => (agent ? `Sub-agent ${visible(agent)} asks` : "Permission needed");

/** Why approval is needed, unless the tool always needs it. */
function reason({ reason = "", tool_name }) {
  return reason === `${tool_name} needs permission` ? null : visible(reason);
}

export class Approval extends HTMLElement {
  #queue = new Map();
  #aside = new Set();
  #shown = null;
  #dialog = h("dialog", { class: "approval", "aria-labelledby": "approval-summary" });
  #timer = 0;
  #ticker = 0;
  #typed = 0;

  connectedCallback() {
    this.append(this.#dialog);
    this.#dialog.addEventListener("keydown", (event) => this.#key(event));
    this.#dialog.addEventListener("cancel", (event) => {
      event.preventDefault();
      this.#escape();
    });
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
    if (this.#shown !== id) return this.#title();
    if (answer && !this.#answering) announce(answer.allowed ? "Allowed elsewhere" : `Not allowed: ${answer.message}`);
    this.#close();
    this.#next();
  }

  /** Remove everything, because another session is shown. */
  clear() {
    this.#queue.clear();
    this.#aside.clear();
    this.#close();
    this.#title();
  }

  /** Show a request that was put aside. */
  review(id) {
    this.#aside.delete(id);
    if (this.#shown === null && this.#queue.has(id)) this.#open(id);
    this.#title();
  }

  #answering = false;

  #next() {
    this.#title();
    clearTimeout(this.#timer);
    if (this.#shown !== null) return;
    const id = [...this.#queue.keys()].find((key) => !this.#aside.has(key));
    if (id === undefined) return;
    const wait = this.#typed + TYPING_PAUSE_MS - performance.now();
    if (this.#typed && wait > 0) this.#timer = setTimeout(() => this.#next(), wait);
    else if (document.querySelector("dialog[open]")) this.#timer = setTimeout(() => this.#next(), TYPING_PAUSE_MS);
    else this.#open(id);
  }

  #title() {
    this.dispatchEvent(new CustomEvent("aside", { detail: [...this.#aside] }));
  }

  #open(id) {
    const { session, question } = this.#queue.get(id);
    this.#shown = id;
    this.#answering = false;
    this.#dialog.replaceChildren(...this.#content(session, question));
    this.#dialog.dataset.armed = "false";
    this.#dialog.showModal();
    this.#dialog.querySelector("h2").focus();
    setTimeout(() => this.#shown === id && (this.#dialog.dataset.armed = "true"), ARM_DELAY_MS);
    if (question.deadline) {
      this.#tick(question.deadline);
      this.#ticker = setInterval(() => this.#tick(question.deadline), 500);
    }
  }

  #close() {
    clearInterval(this.#ticker);
    clearTimeout(this.#timer);
    this.#shown = null;
    delete this.#dialog.dataset.armed;
    if (this.#dialog.open) this.#dialog.close();
  }

  #content(session, question) {
    const left = this.#queue.size - 1;
    return [
      h(
        "div",
        { class: "top" },
        icon("waiting"),
        h("p", { class: "who" }, who(question), left ? ` · ${left} more waiting` : ""),
        h("p", { class: "deadline", role: "timer" }),
      ),
      h("h2", { id: "approval-summary", tabindex: "-1" }, visible(question.summary)),
      h("p", { class: "tool" }, h("code", {}, visible(question.tool_name)), reason(question)),
      detail(question.detail || question.summary),
      this.#denial(),
      this.#always(question.rule ?? ""),
      h("p", { class: "problem", role: "alert", hidden: true }),
      h(
        "div",
        { class: "choices", role: "group", "aria-label": "Answer" },
        this.#button("Allow once", "A", "primary allow", () => this.#answer(true)),
        this.#button("Deny", "D", "deny", () => this.#panel("denial")),
        question.rule && this.#button("Always…", "W", "always", () => this.#panel("rule")),
        this.#button("Later", "Esc", "quiet later", () => this.#escape()),
      ),
    ];
  }

  #button(words, key, classes, act) {
    const properties = { type: "button", class: classes, "aria-keyshortcuts": key, onclick: act };
    return h("button", properties, words, h("kbd", { "aria-hidden": "true" }, key));
  }

  #submit(words, classes) {
    return h("button", { type: "submit", class: classes }, words, h("kbd", { "aria-hidden": "true" }, "Enter"));
  }

  #back() {
    return this.#button("Back", "Esc", "quiet", () => this.#escape());
  }

  #denial() {
    const placeholder = "What should the model do instead?";
    const field = h("input", { id: "reason", maxlength: "2000", autocomplete: "off", placeholder });
    const form = h(
      "form",
      { class: "panel denial", hidden: true },
      h("label", { for: "reason" }, "Reason (the model reads it)"),
      h("div", { class: "row" }, field, this.#submit("Deny", "danger"), this.#back()),
    );
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#answer(false, field.value.trim());
    });
    return form;
  }

  #always(rule) {
    const form = h(
      "form",
      { class: "panel rule", hidden: true },
      h("p", {}, "For the rest of this session, this is allowed without asking:"),
      pane("The rule", {}, visible(rule)),
      h("div", { class: "row" }, this.#submit("Allow always", "primary"), this.#back()),
    );
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#answer(true, "", true);
    });
    return form;
  }

  #panel(name) {
    if (name === "rule" && !this.#queue.get(this.#shown).question.rule) return;
    this.#dialog.querySelector(".choices").hidden = true;
    for (const panel of this.#dialog.querySelectorAll(".panel")) panel.hidden = !panel.classList.contains(name);
    this.#dialog.querySelector(`.${name} :is(input, button)`).focus();
  }

  #escape() {
    const open = this.#dialog.querySelector(".panel:not([hidden])");
    if (open) {
      open.hidden = true;
      this.#dialog.querySelector(".choices").hidden = false;
      this.#dialog.querySelector("h2").focus();
      return;
    }
    const id = this.#shown;
    this.#aside.add(id);
    this.#close();
    this.#next();
  }

  #key(event) {
    if (event.key === "Escape") {
      event.preventDefault();
      event.stopPropagation();
      this.#escape();
      return;
    }
    const plain = !(event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.repeat);
    if (!plain || this.#dialog.dataset.armed !== "true" || event.target.matches("input")) return;
    const acts = { a: () => this.#answer(true), d: () => this.#panel("denial"), w: () => this.#panel("rule") };
    const act = acts[event.key.toLowerCase()];
    if (!act) return;
    event.preventDefault();
    act();
  }

  async #answer(allowed, message = "", remember = false) {
    if (this.#shown === null || this.#answering) return;
    const id = this.#shown;
    this.#answering = true;
    try {
      await this.#queue.get(id).session.answer(id, allowed, message, remember);
      this.remove(id);
    } catch (error) {
      this.#answering = false;
      if (this.#shown !== id) return;
      const problem = this.#dialog.querySelector(".problem");
      problem.textContent = error.message;
      problem.hidden = false;
    }
  }

  #tick(deadline) {
    const left = deadline * 1000 - Date.now();
    const place = this.#dialog.querySelector(".deadline");
    if (!place) return;
    place.textContent = left > 0 ? `denied in ${clock(left)}` : "the time is over";
    place.dataset.urgent = String(left < 30_000);
  }
}
customElements.define("tg-approval", Approval);
