// The session's todo list, and its counters.
import { h, icon } from "./dom.js";
import { clock, number, t, visible } from "./text.js";

const WORDS = { pending: t`to do`, in_progress: t`in progress`, completed: t`done` };

export class Todos extends HTMLElement {
  show(items) {
    this.hidden = !items.length;
    if (!items.length) return this.replaceChildren();
    const open = this.querySelector("details")?.open ?? false;
    const done = items.filter((item) => item.status === "completed").length;
    const now = items.find((item) => item.status === "in_progress") ?? items.find((item) => item.status === "pending");
    this.replaceChildren(
      h(
        "details",
        { open },
        h(
          "summary",
          {},
          icon("list"),
          h("span", { class: "now" }, now ? visible(now.content) : t`All done`),
          h("span", { class: "count" }, t`${done} of ${items.length}`),
        ),
        h("ol", { "aria-label": t`Todo list` }, ...items.map((item) => this.#row(item))),
      ),
    );
  }

  #row({ content, status }) {
    const state = h("span", { class: "hidden" }, `${WORDS[status] ?? status}: `);
    return h("li", { "data-status": status }, state, visible(content));
  }
}
customElements.define("tg-todos", Todos);

/** Tokens of the session, and the duration of the running turn. */
export class Counters extends HTMLElement {
  #time = h("span", { class: "elapsed",  "aria-hidden": "true" });
  #tokens = h("span", { class: "tokens" });
  #ticker = 0;

  connectedCallback() {
    this.append(this.#time, this.#tokens);
  }

  usage({ input_tokens, output_tokens }) {
    const any = input_tokens || output_tokens;
    this.#tokens.textContent = any ? t`${number(input_tokens)} in · ${number(output_tokens)} out` : "";
    this.#tokens.title = any ? t`Tokens of this session, as the model's provider counted them` : "";
  }

  /** Show the running turn, or null. How long it took is said below its answer. */
  turn(turn) {
    clearInterval(this.#ticker);
    if (!turn) {
      this.#time.textContent = "";
      delete this.#time.dataset.running;
      return;
    }
    this.#time.dataset.running = "";
    const tick = () => (this.#time.textContent = clock(Date.now() - turn.since));
    tick();
    this.#ticker = setInterval(tick, 1000);
  }

  clear() {
    this.turn(null);
    this.#time.textContent = this.#tokens.textContent = "";
  }
}
customElements.define("tg-counters", Counters);
