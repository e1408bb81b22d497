// The page before the first message: the project's name, the mode of the session, and suggestions that work.
import { h, icon } from "./dom.js";
import { MODES } from "./modes.js";
import { MARK, around, t, visible } from "./text.js";

const STORAGE_KEY = "toolgate.mode";
const ACT = t`Until then you act as the model: type a tool call. It passes the same gates as a model's call.`;
const SUGGESTIONS = {
  chat_safe: [t`What can you do in this mode?`, t`What time is it in Shanghai?`, t`Remember that we deploy on Fridays`],
  coding: [t`Explain how this project works`, t`Run the tests and explain what fails`, t`Review the last commit`],
};
const CALLS = {
  chat_safe: [
    ["current_time timezone=Asia/Shanghai", t`ask for the time`],
    ['memory_append content="We deploy on Fridays."', t`keep a note`],
    ["memory_search query=Fridays", t`find it again`],
  ],
  coding: [
    ["current_time timezone=Asia/Shanghai", t`ask for the time`],
    ["Bash ls -la", t`run a command in the sandbox`],
    ["glob pattern=**/*", t`list the project's files`],
  ],
};

function stored() {
  try {
    return localStorage.getItem(STORAGE_KEY);
  } catch {
    return null;
  }
}

/** Events: `fill` (text for the field), `setup`. */
export class Empty extends HTMLElement {
  #about = { project: null, coding: false, offline: false, canSetUp: false };
  #mode = null;

  /** The mode that the person chose; null if there is no choice. */
  get mode() {
    if (!this.#about.coding) return null;
    return this.#mode ?? (stored() === "chat_safe" ? "chat_safe" : "coding");
  }

  /** Show what the gateway says about the project and its model. */
  show(about) {
    this.#about = { ...this.#about, ...about };
    this.#draw();
  }

  #draw() {
    const { project, coding, offline } = this.#about;
    const name = project?.name;
    const strong = h("strong", {}, visible(name ?? ""));
    const rows = this.#suggestions().map((one) => this.#row(...one));
    this.replaceChildren(
      h("h2", {}, ...around(name ? t`What are we working on in ${MARK}?` : t`What are we working on?`, strong)),
      ...(coding ? [this.#choice()] : []),
      h("p", { class: "about" }, MODES[this.mode ?? "chat_safe"].about),
      ...(offline ? [this.#setup()] : []),
      h("ul", { class: "suggestions", "aria-label": t`Suggestions` }, ...rows),
    );
  }

  #choice() {
    const option = (mode) => {
      const input = h("input", { type: "radio", name: "mode", value: mode, checked: mode === this.mode });
      input.addEventListener("change", () => this.#choose(mode));
      return h("label", { title: mode }, input, h("span", {}, MODES[mode].name));
    };
    const legend = h("legend", {}, t`Mode of the new session`);
    return h("fieldset", { class: "mode-choice" }, legend, option("chat_safe"), option("coding"));
  }

  #choose(mode) {
    this.#mode = mode;
    try {
      localStorage.setItem(STORAGE_KEY, mode);
    } catch {
      // No storage: the choice lasts until the page is closed.
    }
    this.#draw();
    this.querySelector(`[value=${mode}]`).focus();
    this.dispatchEvent(new CustomEvent("mode"));
  }

  #setup() {
    const { canSetUp, problem } = this.#about;
    const go = () => this.dispatchEvent(new CustomEvent("setup"));
    const keys = ["OPENAI_API_KEY", "ANTHROPIC_API_KEY"].map((name) => h("code", {}, name));
    return h(
      "div",
      { class: "no-model" },
      h("p", {}, h("strong", {}, problem ? visible(problem) : t`No language model is set up.`), ` ${ACT}`),
      canSetUp
        ? h("button", { type: "button", class: "primary", onclick: go }, t`Set up a model`)
        : h("p", {}, ...around(t`For a model, set ${MARK} or ${MARK}.`, ...keys)),
    );
  }

  /** What works in this mode and with this model, as [text, why]. */
  #suggestions() {
    const mode = this.mode ?? "chat_safe";
    if (this.#about.offline) return CALLS[mode];
    const own = mode === "coding" ? (this.#about.project?.suggestions ?? []) : [];
    return (own.length ? own : SUGGESTIONS[mode]).slice(0, 3).map((text) => [text]);
  }

  #row(text, why) {
    const go = () => this.dispatchEvent(new CustomEvent("fill", { detail: text }));
    const said = visible(text);
    const words = why ? [h("code", {}, said), h("span", {}, why)] : [h("span", { class: "text" }, said)];
    return h("li", {}, h("button", { type: "button", onclick: go }, ...words, icon("chevron")));
  }
}
customElements.define("tg-empty", Empty);
