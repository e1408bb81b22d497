// The conversation: messages and cards in order, and a scroller that follows them.
import { h, icon } from "./dom.js";
import { failureNotice } from "./banner.js";
import { Card } from "./card.js";
import { Message, userMessage } from "./message.js";
import { visible } from "./text.js";

const ENDINGS = {
  failed: ["error", "The turn failed."],
  cancelled: ["info", "Stopped."],
  interrupted: ["error", "The turn was interrupted. Everything that happened before is kept."],
};

function folded(message) {
  return h("details", { class: "echo" }, h("summary", {}, "What a model would read"), message);
}

/** The view of one session. */
export class Transcript extends HTMLElement {
  /** Whether the offline model answers. It repeats what a call returned, so its messages are folded. */
  static offline = false;
  #open = null;

  user(text, unsent) {
    this.append(userMessage(text, unsent));
  }

  dropUnsent() {
    this.querySelector(":scope > [data-unsent]")?.remove();
  }

  patch(patches) {
    if (!this.#open) {
      this.#open = new Message();
      this.#open.dataset.open = "";
      const repeats = Transcript.offline && this.lastElementChild instanceof Card;
      this.append(repeats ? folded(this.#open) : this.#open);
    }
    this.#open.patch(patches);
  }

  endText(quiet) {
    this.#open?.close(quiet);
    this.#open = null;
  }

  /** Remove the incomplete message: it is sent again from its start. */
  dropOpen() {
    (this.#open?.closest(".echo") ?? this.#open)?.remove();
    this.#open = null;
  }

  call(call) {
    this.endText(true);
    const card = new Card().show(call);
    this.append(card);
    return card;
  }

  notice(kind, text) {
    this.append(h("p", { class: `notice ${kind}`, role: kind === "error" ? "alert" : "note" }, visible(text)));
  }

  ending({ status, message, ...failure }) {
    if (status === "failed") return this.append(failureNotice({ message: message || ENDINGS.failed[1], ...failure }));
    const [kind, words] = ENDINGS[status] ?? ENDINGS.failed;
    this.notice(kind, kind === "error" && message ? `${words} ${message}` : words);
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

  connectedCallback() {
    this.#watcher.observe(this.querySelector(".column"));
    this.#watcher.observe(this);
    this.addEventListener("scroll", () => this.#scrolled(), { passive: true });
    this.#latest.addEventListener("click", () => {
      this.toEnd();
      this.focus({ preventScroll: true });
    });
  }

  show(content) {
    this.firstElementChild.replaceChildren(content);
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

const OFFLINE =
  "No language model is set up, so you act as the model: type a tool call. It passes the same gates as a model's call.";
const ONLINE =
  "Ask for something. The model uses the tools that the mode allows, and you are asked before anything risky happens.";
const code = (text) => h("code", {}, text);

/** Content of an empty session: what it can do, with examples. */
export function welcome({ offline, mode, onExample }) {
  const examples = [
    ["current_time timezone=Asia/Shanghai", "ask for the time"],
    ['memory_append content="We deploy on Fridays."', "keep a note"],
    ["Bash ls -la", mode === "coding" ? "run a command in the sandbox" : "see what a denial looks like"],
    mode === "coding" ? ["read_file path=README.md", "read a file"] : ["memory_search query=Fridays", "find it again"],
  ];
  return h(
    "section",
    { class: "welcome" },
    icon("gate"),
    h("h2", {}, "What are we working on?"),
    h("p", {}, offline ? OFFLINE : ONLINE),
    h(
      "ul",
      { class: "examples", "aria-label": "Examples" },
      ...examples.map(([text, why]) =>
        h("li", {}, h("button", { type: "button", onclick: () => onExample(text) }, code(text), h("span", {}, why))),
      ),
    ),
    offline &&
      h("p", { class: "setup" }, "For a model, set ", code("OPENAI_API_KEY"), " or ", code("ANTHROPIC_API_KEY"), "."),
  );
}
