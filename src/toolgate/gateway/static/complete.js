// Files after `@` and commands after `/` in the message field: completing them, and running a command.
import { toast } from "./confirm.js";
import { h } from "./dom.js";
import { t, visible } from "./text.js";

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
    "aria-label": t`Suggestions`,
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

/** What can be completed in a session, and what its commands do. */
export class Commands {
  #session;
  #wire;
  #known = null;

  constructor(session, wire) {
    [this.#session, this.#wire] = [session, wire];
  }

  /** Run a command that the page has a control for; return whether it has one. */
  run(name) {
    const press = (selector) => () => document.querySelector(selector)?.click();
    const last = (words) => () => {
      const buttons = [...document.querySelectorAll("tg-transcript > .user[data-last] .acts button")];
      buttons.find((one) => one.textContent === words)?.click();
    };
    const compact = () => this.#wire.ask("session.compact", { session_id: this.#session.id });
    const acts = {
      rewind: last(t`Rewind`),
      fork: last(t`Fork`),
      retry: last(t`Retry`),
      diff: press(".bar .changes"),
      undo: press(".bar .changes"),
      model: press(".bar .model"),
      rename: press(".bar .rename"),
      compact: () => compact().catch((error) => toast(error.message)),
    };
    const known = this.#known?.some((one) => one.name === name && !one.own);
    const act = acts[name] ?? (known ? press(".bar .session-menu") : null);
    act?.();
    return Boolean(act);
  }

  /** Return what fits the words after `@` (kind "file") or `/`: [{value, label, hint}]. */
  async complete(kind, words) {
    if (!this.#session || !this.#wire) return [];
    const session_id = this.#session.id;
    try {
      if (kind === "file") {
        const found = await this.#wire.optional("files.complete", { session_id, query: words });
        return (found?.paths ?? []).map((path) => ({ value: path.endsWith("/") ? path : `${path} `, label: path }));
      }
      this.#known ??= (await this.#wire.optional("commands.list", { session_id }))?.commands ?? [];
      const fits = this.#known.filter(({ name }) => name.startsWith(words));
      return fits.map(({ name, description }) => ({ value: name, label: `/${name}`, hint: description }));
    } catch {
      return []; // nothing to offer without an answer
    }
  }
}
