// Live output of a command, updated once per animation frame and limited to the last lines.
import { eachFrame, h, pane } from "./dom.js";
import { clipped, number, visible } from "./text.js";

const MAX_LINES = 1_000;
const LINES_PER_CHUNK = 100;
const MAX_LINE_LENGTH = 2_000;

/** Shows the last lines; the result has all of them. */
export class Output extends HTMLElement {
  #waiting = [];
  #partial = { stdout: "", stderr: "" };
  #chunks = [];
  #dropped = 0;
  #pane = pane("Output", {});
  #note = h("p", { class: "note", hidden: true });
  #write = eachFrame(() => this.#flush());

  connectedCallback() {
    if (!this.#pane.isConnected) this.append(this.#note, this.#pane);
  }

  add({ stream, text, dropped }) {
    if (dropped) this.#waiting.push({ stream, line: `… ${number(dropped)} characters were left out` });
    const lines = (this.#partial[stream] + text).split("\n");
    this.#partial[stream] = clipped(lines.pop(), MAX_LINE_LENGTH * 2);
    for (const line of lines) this.#waiting.push({ stream, line });
    // Drop lines that would not be shown.
    const extra = this.#waiting.length - MAX_LINES;
    if (extra > 0) {
      this.#waiting.splice(0, extra);
      this.#dropped += extra;
    }
    this.#write();
  }

  /** Show the last, incomplete line too. */
  close() {
    for (const stream of ["stdout", "stderr"]) {
      if (this.#partial[stream]) this.#waiting.push({ stream, line: this.#partial[stream] });
      this.#partial[stream] = "";
    }
    this.#flush();
  }

  #flush() {
    if (!this.#waiting.length) return;
    const stuck = this.#pane.scrollHeight - this.#pane.scrollTop - this.#pane.clientHeight < 40;
    for (const { stream, line } of this.#waiting) this.#append(stream, clipped(visible(line), MAX_LINE_LENGTH));
    this.#waiting = [];
    while (this.#chunks.length > MAX_LINES / LINES_PER_CHUNK) {
      const gone = this.#chunks.shift();
      this.#dropped += gone.lines;
      gone.element.remove();
    }
    this.#note.hidden = !this.#dropped;
    this.#note.textContent = `${number(this.#dropped)} earlier lines`;
    if (stuck) this.#pane.scrollTop = this.#pane.scrollHeight;
  }

  #append(stream, line) {
    let chunk = this.#chunks.at(-1);
    if (!chunk || chunk.lines >= LINES_PER_CHUNK || chunk.stream !== stream) {
      chunk = { stream, lines: 0, element: h("span", { class: `chunk ${stream}` }, "") };
      this.#chunks.push(chunk);
      this.#pane.append(chunk.element);
    }
    chunk.lines += 1;
    chunk.element.firstChild.appendData(`${line}\n`);
  }
}

customElements.define("tg-output", Output);
