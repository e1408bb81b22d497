// Consecutive reads and searches as one quiet row, which opens.
import { doing } from "./call.js";
import { h, icon } from "./dom.js";
import { t } from "./text.js";

/** "Read fetch.py and 2 more, searched for “x”." */
function summary(cards) {
  const verbs = Map.groupBy(cards.map(({ call }) => doing(call)), ([verb]) => verb);
  const words = [...verbs].map(([verb, calls]) => {
    const names = [...new Set(calls.map(([, name]) => name).filter(Boolean))];
    const shown = names.slice(0, 2).join(", ");
    const more = names.length - 2;
    const all = more === 1 ? t`${shown} and one more` : more > 1 ? t`${shown} and ${more} more` : shown;
    return `${verb} ${all}`.trim();
  });
  return words.map((text, at) => (at ? text[0].toLowerCase() + text.slice(1) : text)).join(", ");
}

export class Group extends HTMLElement {
  #list = h("div", { class: "calls" });
  #words = h("span", { class: "words" });
  #failed = h("span", { class: "failed" });
  #state = h("span", { class: "state" });
  #details = h("details", {}, h("summary", {}, this.#state, this.#words, this.#failed, icon("chevron")), this.#list);

  connectedCallback() {
    if (this.childElementCount) return;
    this.append(this.#details);
    this.addEventListener("state", (event) => this.#changed(event.target));
  }

  add(card) {
    this.#list.append(card);
    this.#draw();
  }

  /** A denied call leaves the row: denials are to be seen. */
  #changed(card) {
    if (card.dataset.state === "denied" && card.parentElement === this.#list) {
      this.after(card);
      if (!this.#list.childElementCount) return this.remove();
    }
    this.#draw();
  }

  #draw() {
    const cards = [...this.#list.children];
    const busy = cards.some((card) => card.busy);
    const failed = cards.filter((card) => card.dataset.state === "error").length;
    this.dataset.state = busy ? "running" : failed ? "failed" : "done";
    this.#words.textContent = summary(cards);
    this.#failed.textContent = failed ? cards.length === 1 ? t`failed` : t`${failed} failed` : "";
    this.#state.replaceChildren(icon(busy ? "running" : "search"));
  }
}
customElements.define("tg-group", Group);
