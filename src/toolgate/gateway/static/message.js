// Messages. A model's message arrives as patches of HTML that the server has rendered and sanitised.
import { announce, eachFrame, h, trusted } from "./dom.js";
import { showMenu } from "./menu.js";
import { picture, thumbnail } from "./picture.js";
import { duration, t, visible } from "./text.js";

/** Maximum characters of code per element. */
const MAX_PIECE = 4_000;

const COPIED_MS = 1500;

/** Copy a text, and say so on the button. */
async function copy(button, text) {
  await navigator.clipboard.writeText(text);
  const before = button.textContent;
  button.textContent = t`Copied`;
  setTimeout(() => (button.textContent = before), COPIED_MS);
}

function action(label, act, title = label) {
  const button = h("button", { type: "button", class: "quiet", title }, label);
  button.addEventListener("click", () => act(button));
  return button;
}

/** A person's message: {text, pictures}. `actions` is what can be done with it: {rewind, fork, retry, edit}. */
export function userMessage(said, unsent, seq, actions) {
  const { text, pictures } = said;
  const article = h(
    "article",
    { class: "user", "aria-label": t`You`, "data-unsent": unsent, "data-last": !unsent },
    text.trim() ? h("p", { dir: "auto" }, visible(text)) : null,
  );
  const shown = pictures.map((one) => (one.blob ? thumbnail(one.blob, one.name) : picture(one)));
  if (shown.length) article.append(h("div", { class: "pictures" }, ...shown));
  if (unsent || !actions) return article;
  const row = h("div", { class: "acts", role: "group", "aria-label": t`What to do with this message` });
  row.append(
    action(t`Copy`, (button) => copy(button, text)),
    Object.assign(action(t`Edit`, () => edit(article, text, actions), t`Edit and send again`), {
      className: "quiet of-last",
    }),
    Object.assign(action(t`Retry`, () => actions.retry(), t`Take this turn again`), { className: "quiet of-last" }),
    action(t`Rewind`, (button) => rewind(button, seq, said, actions), t`Go back to before this message`),
    action(t`Fork`, () => actions.fork(seq), t`Continue from before this message in a new session`),
  );
  article.append(row);
  return article;
}

function rewind(button, seq, said, actions) {
  showMenu(button, t`Go back to before this message`, [
    { heading: t`This message and everything after it leave the conversation.` },
    { label: t`Go back, keep the files`, icon: "undo", act: () => actions.rewind(seq, false, said) },
    { label: t`Go back and take back the files`, icon: "undo", act: () => actions.rewind(seq, true, said) },
  ]);
}

/** Edit the last message where it stands. */
function edit(article, text, actions) {
  const field = h("textarea", { rows: Math.min(10, text.split("\n").length), "aria-label": t`Edit the message` });
  field.value = text;
  const send = h("button", { type: "submit", class: "primary" }, t`Send`);
  const form = h("form", { class: "edit" }, field, h("div", { class: "row" }, action(t`Cancel`, () => close()), send));
  const close = () => {
    form.remove();
    delete article.dataset.editing;
    article.querySelector(".acts button")?.focus();
  };
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (!field.value.trim() && !article.querySelector(".pictures")) return;
    close();
    actions.resend(field.value);
  });
  field.addEventListener("keydown", (event) => {
    if (event.isComposing) return;
    if (event.key === "Escape") {
      event.stopPropagation();
      close();
    } else if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      form.requestSubmit();
    }
  });
  article.dataset.editing = "";
  article.append(form);
  field.focus();
}

/** The line below an answer: how long its turn took, and copying. */
export function answerActions(message, ms) {
  const took = ms >= 100 ? h("span", { class: "took", title: t`Time of this turn` }, duration(ms)) : null;
  return h("div", { class: "acts answer" }, took, action(t`Copy`, (button) => copy(button, message.innerText)));
}

/** A model's message as it grows. */
export class Message extends HTMLElement {
  #waiting = [];
  #write = eachFrame(() => this.#flush());
  #spoken = 0;

  connectedCallback() {
    this.setAttribute("role", "article");
    this.setAttribute("aria-label", t`Answer`);
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
  const button = action(t`Copy`, () => copy(button, code.textContent));
  button.classList.add("copy");
  code.replaceWith(frame);
  frame.append(code, button);
}

customElements.define("tg-message", Message);
