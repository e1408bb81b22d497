// Live output of a command, updated once per animation frame: the last lines are shown, more of them are kept.
import { eachFrame, h, pane } from "./dom.js";
import { clipped, earlier, number, t, visible } from "./text.js";

const MAX_LINES = 1_000;
const SHOWN_LINES = 12;
const MAX_LINE_LENGTH = 2_000;

/** Shows the last lines; `text` has the last thousand, and the result has all of them. */
export class Output extends HTMLElement {
  #lines = [];
  #partial = { stdout: "", stderr: "" };
  #dropped = 0;
  #pane = pane(t`Output`, {});
  #note = h("p", { class: "note", hidden: true });
  #write = eachFrame(() => this.#flush());

  connectedCallback() {
    if (!this.#pane.isConnected) this.append(this.#note, this.#pane);
  }

  add({ stream, text, dropped }) {
    if (dropped) this.#lines.push({ stream, line: t`… ${number(dropped)} characters were left out` });
    const lines = (this.#partial[stream] + text).split("\n");
    this.#partial[stream] = clipped(lines.pop(), MAX_LINE_LENGTH * 2);
    for (const line of lines) this.#lines.push({ stream, line });
    const extra = this.#lines.length - MAX_LINES;
    if (extra > 0) {
      this.#lines.splice(0, extra);
      this.#dropped += extra;
    }
    this.#write();
  }

  /** Show the last, incomplete line too. */
  close() {
    for (const stream of ["stdout", "stderr"]) {
      if (this.#partial[stream]) this.#lines.push({ stream, line: this.#partial[stream] });
      this.#partial[stream] = "";
    }
    this.#flush();
  }

  get text() {
    return this.#lines.map(({ line }) => visible(line)).join("\n");
  }

  #flush() {
    const shown = this.#lines.slice(-SHOWN_LINES);
    const left = this.#dropped + this.#lines.length - shown.length;
    const row = ({ stream, line }) => h("span", { class: stream }, `${clipped(visible(line), MAX_LINE_LENGTH)}\n`);
    this.#pane.replaceChildren(...shown.map(row));
    this.#note.hidden = !left;
    this.#note.textContent = earlier(left);
  }
}

customElements.define("tg-output", Output);
