// Messages. A model's message arrives as patches of HTML that the server has rendered and sanitised.
import { announce, eachFrame, h, trusted } from "./dom.js";
import { visible } from "./text.js";

/** Maximum characters of code per element. */
const MAX_PIECE = 4_000;

/** A person's message, as plain text. */
export function userMessage(text, unsent) {
  return h(
    "article",
    { class: "user", "aria-label": "You", "data-unsent": unsent },
    h("p", { dir: "auto" }, visible(text)),
  );
}

/** A model's message as it grows. */
export class Message extends HTMLElement {
  #waiting = [];
  #write = eachFrame(() => this.#flush());
  #spoken = 0;

  connectedCallback() {
    this.setAttribute("role", "article");
    this.setAttribute("aria-label", "Answer");
  }

  patch(patches) {
    this.#waiting.push(...patches);
    this.#write();
  }

  /** End the message; `quiet` if it should not be announced. */
  close(quiet) {
    this.#flush();
    this.removeAttribute("data-open");
    if (!quiet) this.#speak(this.childElementCount);
    else this.#spoken = this.childElementCount;
    for (const code of this.querySelectorAll("pre:not(.raw)")) addCopy(code);
  }

  get text() {
    return this.textContent;
  }

  #flush() {
    const patches = this.#waiting;
    this.#waiting = [];
    for (const patch of patches) {
      if ("append" in patch) this.#append(patch.append);
      else this.#replace(patch.at, patch.html);
    }
  }

  #replace(at, html) {
    while (this.childElementCount > at) this.lastElementChild.remove();
    for (const block of html) {
      const element = h("div", { class: "block", dir: "auto" });
      trusted(element, block);
      this.append(element);
    }
    if (this.dataset.open !== undefined) this.#speak(at);
  }

  /** Append to code in pieces of whole lines, so that the browser does not lay out existing text again. */
  #append(text) {
    const code = this.lastElementChild?.querySelector("pre > code, pre.raw");
    if (!code) return;
    let piece = code.lastElementChild;
    if (!piece || (piece.textContent.endsWith("\n") && piece.textContent.length > MAX_PIECE)) {
      const whole = !piece && code.textContent.endsWith("\n");
      if (!piece && !whole) return code.append(text);
      piece = code.appendChild(h("span", { class: "piece" }, ""));
    }
    piece.firstChild.appendData(text);
  }

  /** Announce the blocks before `end` once. */
  #speak(end) {
    for (; this.#spoken < end; this.#spoken += 1) announce(this.children[this.#spoken]?.textContent ?? "");
  }
}

function addCopy(code) {
  if (code.parentElement.classList.contains("code")) return;
  const frame = h("div", { class: "code" });
  const button = h("button", { class: "quiet copy", type: "button" }, "Copy");
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(code.textContent);
    button.textContent = "Copied";
    setTimeout(() => (button.textContent = "Copy"), 1500);
  });
  code.replaceWith(frame);
  frame.append(code, button);
}

customElements.define("tg-message", Message);
