// The mode of the session. A click shows which tools each mode allows.
import { h, icon } from "./dom.js";
import { visible } from "./text.js";

/** The modes' names for people, and what a session in them can do. */
export const MODES = {
  chat_safe: { name: "Chat only", about: "Talk, notes and the time. No files, no commands." },
  coding: {
    name: "Work on files",
    about: "Files and commands of the project, confined to it. You are asked before anything risky.",
  },
};
const named = (mode) => MODES[mode]?.name ?? mode;

export class Mode extends HTMLElement {
  #button = this.querySelector("button");
  #dialog = h("dialog", { class: "matrix", "aria-labelledby": "matrix-title" });
  #mode = null;
  #tools = [];
  #enabled = [];

  connectedCallback() {
    document.body.append(this.#dialog);
    this.#button.addEventListener("click", () => this.#open());
    this.#dialog.addEventListener("click", (event) => event.target === this.#dialog && this.#dialog.close());
  }

  tools(tools, enabled) {
    this.#tools = tools;
    this.#enabled = enabled;
  }

  show(mode) {
    this.#mode = mode;
    this.#button.hidden = !mode;
    this.#button.dataset.mode = mode;
    this.#button.textContent = mode ? named(mode) : "";
    this.#button.title = mode ?? "";
    this.#button.setAttribute("aria-label", `Mode: ${named(mode)}. See what it allows`);
  }

  #open() {
    const modes = [...new Set(["chat_safe", "coding", ...this.#tools.flatMap((tool) => tool.modes ?? [])])];
    const close = () => this.#dialog.close();
    const note = (mode) => (this.#enabled.includes(mode) ? null : h("span", { class: "closed" }, "not enabled here"));
    const now = (mode) => mode === this.#mode && "now";
    const head = (mode) => h("th", { scope: "col", class: now(mode), title: mode }, named(mode), note(mode));
    this.#dialog.replaceChildren(
      h(
        "div",
        { class: "top" },
        h("h2", { id: "matrix-title" }, "What this session may do"),
        h("button", { type: "button", class: "quiet square", "aria-label": "Close", onclick: close }, icon("close")),
      ),
      h(
        "p",
        {},
        h("strong", {}, named(this.#mode)),
        " (",
        h("code", {}, this.#mode),
        `). ${MODES[this.#mode]?.about ?? ""} The mode of a session never changes.`,
      ),
      h(
        "div",
        { class: "table", tabindex: "0", role: "group", "aria-label": "Tools and modes" },
        h(
          "table",
          {},
          h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Tool"), ...modes.map(head))),
          h("tbody", {}, ...this.#tools.map((tool) => this.#row(tool, modes))),
        ),
      ),
    );
    this.#dialog.showModal();
  }

  #row(tool, modes) {
    const about = visible(tool.description ?? "").split(/(?<=\.)\s/)[0].slice(0, 140);
    return h(
      "tr",
      {},
      h("th", { scope: "row" }, h("code", {}, visible(tool.name)), h("span", {}, about)),
      ...modes.map((mode) => {
        const yes = (tool.modes ?? []).includes(mode);
        const asks = yes && tool.asks;
        return h(
          "td",
          { class: [yes ? "yes" : "no", mode === this.#mode ? "now" : ""].join(" ") },
          yes ? icon("success") : h("span", { "aria-hidden": "true" }, "–"),
          h("span", { class: "hidden" }, yes ? "allowed" : "not allowed"),
          asks && h("span", { class: "asks" }, "asks"),
        );
      }),
    );
  }
}
customElements.define("tg-mode", Mode);
