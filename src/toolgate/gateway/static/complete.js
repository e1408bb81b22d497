// Completion in the message field: files after `@`, commands after `/`.
import { h } from "./dom.js";
import { visible } from "./text.js";

const DELAY_MS = 120;
const MAX_SHOWN = 8;

/** Offers completions above a field. `find(kind, words)` returns [{value, label, hint}]. */
export class Completion {
  #field;
  #find;
  #list = h("ul", {
    class: "completion",
    id: "completion",
    role: "listbox",
    "aria-label": "Suggestions",
    hidden: true,
  });
  #items = [];
  #at = 0;
  #range = null;
  #timer = 0;
  #asked = 0;

  constructor(field, place, find) {
    this.#field = field;
    this.#find = find;
    place.prepend(this.#list);
    field.setAttribute("aria-controls", "completion");
    field.addEventListener("input", () => this.#soon());
    field.addEventListener("blur", () => this.close());
    field.addEventListener("keydown", (event) => this.#key(event), true);
  }

  get open() {
    return !this.#list.hidden;
  }

  close() {
    clearTimeout(this.#timer);
    this.#asked += 1;
    this.#list.hidden = true;
    this.#field.removeAttribute("aria-activedescendant");
  }

  /** The word that is being typed, if it can be completed: {kind, words, start, end}. */
  #word() {
    const end = this.#field.selectionStart;
    const before = this.#field.value.slice(0, end);
    const file = before.match(/(?:^|\s)@([^\s@]*)$/);
    if (file) return { kind: "file", words: file[1], start: end - file[1].length, end };
    const command = before.match(/^\/([a-z-]*)$/);
    return command ? { kind: "command", words: command[1], start: 1, end } : null;
  }

  #soon() {
    clearTimeout(this.#timer);
    if (!this.#word()) return this.close();
    this.#timer = setTimeout(() => this.#load(), DELAY_MS);
  }

  async #load() {
    const word = this.#word();
    if (!word) return this.close();
    const asked = ++this.#asked;
    const found = await this.#find(word.kind, word.words);
    if (asked !== this.#asked) return;
    this.#range = word;
    this.#items = found.slice(0, MAX_SHOWN);
    this.#at = 0;
    this.#draw();
  }

  #draw() {
    this.#list.hidden = !this.#items.length;
    this.#list.replaceChildren(
      ...this.#items.map((item, at) => {
        const row = h(
          "li",
          { id: `completion-${at}`, role: "option", "aria-selected": String(at === this.#at) },
          h("span", { class: "value" }, visible(item.label)),
          item.hint && h("span", { class: "about" }, visible(item.hint)),
        );
        row.addEventListener("mousedown", (event) => {
          event.preventDefault();
          this.#take(at);
        });
        return row;
      }),
    );
    if (this.#items.length) this.#field.setAttribute("aria-activedescendant", `completion-${this.#at}`);
  }

  #take(at) {
    const { start, end } = this.#range;
    const { value } = this.#items[at];
    this.#field.setRangeText(value, start, end, "end");
    this.close();
    this.#field.dispatchEvent(new Event("input", { bubbles: true }));
  }

  #key(event) {
    if (!this.open || event.isComposing) return;
    const move = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (move) this.#at = (this.#at + move + this.#items.length) % this.#items.length;
    if (move) this.#draw();
    else if (event.key === "Enter" || event.key === "Tab") this.#take(this.#at);
    else if (event.key === "Escape") this.close();
    else return;
    event.preventDefault();
    event.stopImmediatePropagation();
  }
}
