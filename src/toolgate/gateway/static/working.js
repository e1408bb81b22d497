// The line that says what is going on, from sending to the end of a turn.
import { h, icon } from "./dom.js";
import { MARK, around, clock, t } from "./text.js";

export class Working extends HTMLElement {
  #words = h("span", { class: "words" });
  #time = h("span", { class: "elapsed", role: "timer", "aria-label": t`Time of this turn` });
  #ticker = 0;
  #state = null;

  connectedCallback() {
    const keys = () => h("span", { class: "keys" }, ...around(t`${MARK} stops`, h("kbd", {}, "Esc")));
    if (!this.childElementCount) this.append(icon("running"), this.#words, this.#time, keys());
    this.#draw();
  }

  disconnectedCallback() {
    clearInterval(this.#ticker);
    this.#ticker = 0;
  }

  /** Show `{text, since, until, kind}`; null hides the line. `{s}` in the text is the seconds until `until`. */
  show(state) {
    this.#state = state;
    this.#draw();
  }

  #draw() {
    const state = this.#state;
    this.hidden = !state;
    clearInterval(this.#ticker);
    this.#ticker = 0;
    if (!state || !this.isConnected) return;
    this.dataset.kind = state.kind ?? "";
    const tick = () => {
      const left = Math.max(0, Math.ceil(((state.until ?? 0) - Date.now()) / 1000));
      const text = state.text.replace("{s}", t`${left} s`);
      if (this.#words.textContent !== text) this.#words.textContent = text;
      this.#time.textContent = clock(Date.now() - state.since);
    };
    tick();
    this.#ticker = setInterval(tick, 500);
  }
}
customElements.define("tg-working", Working);
