// The modes of the session: which tools it has, and when it asks for approval.
import { toast } from "./confirm.js";
import { announce, h, icon } from "./dom.js";
import { showMenu } from "./menu.js";
import { t, visible } from "./text.js";

/** The modes' names for people, and what a session in them can do. */
export const MODES = {
  chat_safe: { name: t`Chat only`, about: t`Talk, notes and the time. No files, no commands.` },
  coding: {
    name: t`Work on files`,
    about: t`Files and commands of the project, confined to it. You are asked before anything risky.`,
  },
};
const named = (mode) => MODES[mode]?.name ?? mode;

/** A click shows which tools each mode allows. */
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
    this.#button.setAttribute("aria-label", t`Mode: ${named(mode)}. See what it allows`);
  }

  #open() {
    const modes = [...new Set(["chat_safe", "coding", ...this.#tools.flatMap((tool) => tool.modes ?? [])])];
    const close = () => this.#dialog.close();
    const note = (mode) => (this.#enabled.includes(mode) ? null : h("span", { class: "closed" }, t`not enabled here`));
    const now = (mode) => mode === this.#mode && "now";
    const head = (mode) => h("th", { scope: "col", class: now(mode), title: mode }, named(mode), note(mode));
    this.#dialog.replaceChildren(
      h(
        "div",
        { class: "top" },
        h("h2", { id: "matrix-title" }, t`What this session may do`),
        h("button", { type: "button", class: "quiet square", "aria-label": t`Close`, onclick: close }, icon("close")),
      ),
      h(
        "p",
        {},
        h("strong", {}, named(this.#mode)),
        " (",
        h("code", {}, this.#mode),
        `). ${MODES[this.#mode]?.about ?? ""} ${t`The mode of a session never changes.`}`,
      ),
      h(
        "div",
        { class: "table", tabindex: "0", role: "group", "aria-label": t`Tools and modes` },
        h(
          "table",
          {},
          h("thead", {}, h("tr", {}, h("th", { scope: "col" }, t`Tool`), ...modes.map(head))),
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
          h("span", { class: "hidden" }, yes ? t`allowed` : t`not allowed`),
          asks && h("span", { class: "asks" }, t`asks`),
        );
      }),
    );
  }
}
customElements.define("tg-mode", Mode);

const APPROVAL_MODES = {
  ask: [t`Ask first`, t`You are asked before files change and commands run`],
  accept_edits: [t`Accept edits`, t`Edits that can be taken back run without asking; everything else asks`],
  plan: [t`Plan first`, t`Nothing changes; the model proposes a plan`],
};

/** The button that says when a session asks for approval, and changes it. */
export class ApprovalMode {
  #session = null;
  #wire = null;
  /** What the person chose for a new session. */
  #next = null;

  button = h(
    "button",
    { type: "button", class: "quiet pick approval-mode", "aria-haspopup": "menu", hidden: true },
    h("span", {}),
    icon("chevron"),
  );

  constructor() {
    this.button.addEventListener("click", () => this.#pick());
  }

  /** What a new session is created with. */
  get wanted() {
    return this.#next && this.#next !== "ask" ? { approval_mode: this.#next } : {};
  }

  /** Show the mode of a session, or of the session that the next message creates (null). */
  async attach(session, wire) {
    this.#session = session;
    this.#wire = wire;
    let mode = this.#next ?? "ask";
    try {
      if (session) mode = (await wire.ask("session.get", { session_id: session.id })).approval_mode ?? null;
      else mode = (await this.#exists()) ? mode : null;
    } catch {
      mode = null; // it is asked again with the next session
    }
    if (this.#session === session) this.show(mode);
  }

  /** Whether the gateway has approval modes: it then refuses a session that does not exist. */
  async #exists() {
    if (this.#wire?.state !== "open") return false;
    const probe = { session_id: "none", approval_mode: "ask" };
    const asked = this.#wire.optional("session.approval_mode", probe);
    return (await asked.catch((error) => error.code === "INVALID_PARAMS")) !== null;
  }

  show(mode) {
    if (!this.#session) this.#next = mode;
    this.button.hidden = !mode;
    if (!mode) return;
    this.button.dataset.mode = mode;
    this.button.firstElementChild.textContent = APPROVAL_MODES[mode][0];
    this.button.setAttribute("aria-label", t`Approval: ${APPROVAL_MODES[mode][0]}`);
    this.button.title = APPROVAL_MODES[mode][1];
  }

  #pick() {
    const now = this.button.dataset.mode;
    const items = Object.entries(APPROVAL_MODES).map(([mode, [label, about]]) => ({
      label,
      about,
      checked: mode === now,
      act: () => this.#choose(mode),
    }));
    showMenu(this.button, t`When you are asked`, items);
  }

  async #choose(mode) {
    const session = this.#session;
    if (!session) return this.show(mode);
    try {
      // The frame shows it, not this answer: another browser may have switched in between.
      await this.#wire.ask("session.approval_mode", { session_id: session.id, approval_mode: mode });
      announce(t`Approval: ${APPROVAL_MODES[mode][0]}`);
    } catch (error) {
      toast(error.message);
    }
  }
}
