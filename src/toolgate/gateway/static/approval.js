// Approval requests, in the conversation: one at a time, with keys, a deadline, and a way to put them aside.
import { isPlan, request, rules } from "./approval_request.js";
import { announce, h } from "./dom.js";
import { clock, t } from "./text.js";

/** Milliseconds before keys work in a new request, so that nobody allows what they have not seen. */
const ARM_DELAY_MS = 500;
/** Milliseconds after the last keystroke in the message field before a request takes the focus. */
const TYPING_PAUSE_MS = 900;
const EDITABLE = "input, textarea, select, [contenteditable]";

export class Approval extends HTMLElement {
  #queue = new Map();
  #aside = new Set();
  #shown = null;
  #block = null;
  #timer = 0;
  #ticker = 0;
  #typed = 0;
  #answering = false;
  /** What the buttons of a request do. */
  #acts = {
    answer: (allowed, message, more) => this.#answer(allowed, message, more),
    accept: () => this.#accept(),
    edit: () => this.#edit(),
    panel: (name) => this.#panel(name),
    escape: () => this.#escape(),
  };

  connectedCallback() {
    document.addEventListener("keydown", (event) => this.#key(event));
    document.addEventListener("input", () => (this.#typed = performance.now()), true);
  }

  /** Add an approval request; it is shown when its turn comes. */
  add(session, question) {
    this.#queue.set(question.id, { session, question });
    const { question: asked, summary } = question;
    announce(asked ? t`The model asks: ${asked.text}` : t`Permission needed: ${summary}`);
    this.#next();
  }

  /** Remove an approval request that was answered, here or elsewhere. */
  remove(id, answer) {
    this.#queue.delete(id);
    this.#aside.delete(id);
    if (this.#shown !== id) return this.#tell();
    if (answer && !this.#answering) announce(answer.allowed ? t`Allowed elsewhere` : t`Not allowed: ${answer.message}`);
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
    this.#block = request(question, this.#queue.size - 1, this.#acts);
    document.querySelector("tg-chat").asking.replaceChildren(this.#block);
    setTimeout(() => this.#shown === id && this.#block && (this.#block.dataset.armed = "true"), ARM_DELAY_MS);
    if (!question.deadline) return;
    this.#tick(question);
    this.#ticker = setInterval(() => this.#tick(question), 500);
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

  #edit() {
    const place = this.#block.querySelector(".plan");
    if (place.querySelector("textarea")) return;
    const field = h("textarea", { rows: 12, "aria-label": t`The plan` });
    field.value = this.#queue.get(this.#shown).question.detail;
    place.replaceChildren(field);
    field.focus();
  }

  #accept() {
    const text = this.#block.querySelector(".plan textarea")?.value.trim();
    const approval_mode = this.#block.querySelector(".then").value;
    this.#answer(true, "", { approval_mode, ...(text && { text }) });
  }

  #panel(name) {
    if (name === "rule" && !rules(this.#queue.get(this.#shown).question).length) return;
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
    const { question } = this.#queue.get(this.#shown);
    const plan = isPlan(question);
    const acts = {
      d: () => this.#panel("denial"),
      ...(!question.question && { a: () => (plan ? this.#accept() : this.#answer(true)) }),
      ...(plan ? { e: () => this.#edit() } : { w: () => this.#panel("rule") }),
    };
    question.question?.options.forEach((text, at) => (acts[at + 1] = () => this.#answer(true, "", { text })));
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

  #tick(asked) {
    const left = asked.deadline * 1000 - Date.now();
    const place = this.#block?.querySelector(".deadline");
    if (!place) return;
    const words = asked.question ? t`answer within ${clock(left)}` : t`denied in ${clock(left)}`;
    place.textContent = left > 0 ? words : t`the time is over`;
    place.dataset.urgent = String(left < 30_000);
  }
}
customElements.define("tg-approval", Approval);
