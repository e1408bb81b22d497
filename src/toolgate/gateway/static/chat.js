// The conversation: messages and calls in order, and a scroller that follows them.
import { failureNotice } from "./banner.js";
import { h } from "./dom.js";
import { isHidden, isQuiet } from "./call.js";
import { Card } from "./card.js";
import { Group } from "./group.js";
import { Message, answerActions, userMessage } from "./message.js";
import { t, visible } from "./text.js";
import { Working } from "./working.js";

const INTERRUPTED = t`The turn was interrupted. Everything that happened before is kept.`;
const UNSTORED =
  t`This text was on the screen when the turn was interrupted. It is not stored, and the model does not see it.`;

function folded(message) {
  return h("details", { class: "echo" }, h("summary", {}, t`What a model would read`), message);
}

/** The view of one session. */
export class Transcript extends HTMLElement {
  /** Whether the offline model answers. It repeats what a call returned, so its messages are folded. */
  static offline = false;
  #open = null;
  /** An incomplete message from before the connection was lost. */
  #stale = null;
  #working = new Working();
  /** The place in the log of what is added now. */
  seq = 0;
  /** What people can do with their messages: {copy, rewind, fork, retry, edit}; chat actions of the session. */
  actions = null;

  connectedCallback() {
    if (!this.#working.isConnected) super.append(this.#working);
  }

  append(...elements) {
    for (const element of elements) {
      element.seq = this.seq;
      this.insertBefore(element, this.#working.parentElement === this ? this.#working : null);
    }
  }

  get #last() {
    const last = this.lastElementChild;
    return last === this.#working ? last.previousElementSibling : last;
  }

  user(text, unsent, pictures = []) {
    this.querySelector(":scope > .user[data-last]")?.removeAttribute("data-last");
    this.append(userMessage({ text, pictures }, unsent, this.seq, this.actions));
  }

  dropUnsent() {
    this.querySelector(":scope > [data-unsent]")?.remove();
  }

  patch(patches) {
    if (!this.#open) {
      this.#dropStale();
      this.#open = new Message();
      this.#open.dataset.open = "";
      const repeats = Transcript.offline && (this.#last instanceof Card || this.#last instanceof Group);
      this.append(repeats ? folded(this.#open) : this.#open);
    }
    this.#open.patch(patches);
  }

  endText(quiet) {
    this.#open?.close(quiet);
    this.#open = null;
  }

  /** The connection was lost: the incomplete message is sent again from its start, or it is lost. */
  dropOpen() {
    this.#dropStale();
    this.#stale = this.#open?.closest(".echo") ?? this.#open;
    this.#open = null;
  }

  #dropStale() {
    this.#stale?.remove();
    this.#stale = null;
  }

  call(call) {
    this.endText(true);
    const card = new Card().show(call);
    if (isHidden(call)) {
      card.addEventListener("state", () => (card.hidden = !["error", "denied"].includes(card.dataset.state)));
      card.hidden = true;
    }
    if (!isQuiet(call)) this.append(card);
    else {
      const last = this.#lastVisible();
      const group = last instanceof Group ? last : new Group();
      if (group !== last) this.append(group);
      group.add(card);
    }
    return card;
  }

  #lastVisible() {
    let last = this.#last;
    while (last?.hidden) last = last.previousElementSibling;
    return last;
  }

  /** Remove a message and everything after it. */
  rewind(seq) {
    this.#open = this.#stale = null;
    for (const child of [...this.children]) if (child !== this.#working && child.seq >= seq) child.remove();
    [...this.querySelectorAll(":scope > .user")].at(-1)?.setAttribute("data-last", "");
  }

  /** Show what is going on; null if nothing is. */
  working(state) {
    this.#working.show(state);
  }

  notice(kind, text, more = null) {
    const words = h("p", { class: `notice ${kind}`, role: kind === "error" ? "alert" : "note" }, visible(text));
    this.append(more ? h("details", { class: "summary" }, h("summary", {}, words), more) : words);
  }

  ending(end) {
    if (this.#stale && end.status !== "done") {
      this.#stale.removeAttribute("data-open");
      this.#stale.after(h("p", { class: "notice unstored", role: "note" }, UNSTORED));
      this.#stale = null;
    }
    if (end.status === "cancelled") this.notice("info", t`Stopped.`);
    else if (end.status === "interrupted") this.notice("error", INTERRUPTED);
    else {
      const notice = failureNotice({ ...end, message: end.message || t`The turn failed.` });
      this.append(notice);
    }
  }

  /** The turn is over: how long it took, and what can be done with its answer. */
  took(ms) {
    this.#dropStale();
    const last = this.#last;
    if (last instanceof Message) last.after(Object.assign(answerActions(last, ms), { seq: this.seq }));
  }
}
customElements.define("tg-transcript", Transcript);
Card.transcript = () => new Transcript();

/** The scroller. It follows the end while the person is there. */
export class Chat extends HTMLElement {
  #stuck = true;
  #top = 0;
  #watcher = new ResizeObserver(() => this.#follow());
  #latest = document.querySelector(".latest");
  #asking = h("div", { class: "asking" });

  connectedCallback() {
    this.#watcher.observe(this.querySelector(".column"));
    this.#watcher.observe(this);
    this.addEventListener("scroll", () => this.#scrolled(), { passive: true });
    this.#latest.addEventListener("click", () => {
      this.toEnd();
      this.focus({ preventScroll: true });
    });
  }

  /** Where approval requests are shown. */
  get asking() {
    return this.#asking;
  }

  show(content) {
    this.firstElementChild.replaceChildren(content, this.#asking);
    this.toEnd();
  }

  toEnd() {
    this.#stuck = true;
    this.#follow();
  }

  #follow() {
    if (this.#stuck) this.scrollTop = this.scrollHeight;
    this.#top = this.scrollTop;
    this.#latest.hidden = this.#stuck;
    this.dataset.stuck = this.#stuck;
  }

  /** Only scrolling up leaves the end, because the page itself only scrolls down. */
  #scrolled() {
    const atEnd = this.scrollHeight - this.scrollTop - this.clientHeight < 40;
    const stuck = atEnd || (this.#stuck && this.scrollTop >= this.#top);
    this.#top = this.scrollTop;
    if (stuck === this.#stuck) return;
    this.#stuck = stuck;
    this.#follow();
  }
}
customElements.define("tg-chat", Chat);
