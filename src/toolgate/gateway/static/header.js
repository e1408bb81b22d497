// The header: where the session works, with which model, and how full the model's context is.
import { h } from "./dom.js";
import { number, t, visible } from "./text.js";

const NEARLY_FULL = 0.8;
/** Circumference of the ring in index.html. */
const RING = 50.27;

/** 128000 as 128k. */
export const short = (tokens) => (tokens >= 1000 ? `${Math.round(tokens / 1000)}k` : String(tokens));

export class Header extends HTMLElement {
  #project = this.querySelector(".project");
  #branch = this.querySelector(".branch");
  #model = this.querySelector(".model");
  #sandbox = this.querySelector(".sandbox");
  #ring = this.querySelector(".context");
  #changes = this.querySelector(".changes");
  #usage = null;

  connectedCallback() {
    for (const button of [this.#model, this.#ring, this.#changes, this.querySelector(".session-menu")]) {
      const tell = () => this.dispatchEvent(new CustomEvent(button.dataset.event, { detail: button }));
      button.addEventListener("click", tell);
    }
  }

  /** Show the project: `{name, root_label, branch, sandbox}`; null if the gateway does not tell. */
  project(info) {
    const place = visible(info?.root_label || info?.name || "");
    this.#write(this.#project, place, t`Project: ${place}`);
    const name = place.lastIndexOf("/") + 1;
    this.#project.replaceChildren(h("span", {}, place.slice(0, name)), place.slice(name));
    const branch = visible(info?.branch || "");
    this.#write(this.#branch, branch, t`Branch: ${branch}`);
    const layer = info?.sandbox ? visible(info.sandbox) : null;
    const on = layer !== "off" && layer !== "unavailable";
    this.#write(this.#sandbox, layer && (on ? t`sandbox on` : t`sandbox ${layer}`), t`Sandbox: ${layer}`);
    this.#sandbox.dataset.on = String(on);
  }

  /** Show the model; `choice` if the person can change it, `missing` if none is set up. */
  model(label, { choice = false, missing = false } = {}) {
    const words = missing ? t`No model` : visible(label || "");
    this.#model.hidden = !words;
    this.#model.firstElementChild.textContent = words;
    this.#model.disabled = !choice;
    this.#model.dataset.missing = String(missing);
    this.#model.setAttribute("aria-label", missing ? t`Set up a model` : t`Model: ${words}`);
  }

  /** Show how much of the model's context is used: `{used, limit}`, or null. */
  context(context, usage) {
    this.#usage = { context, usage };
    const known = Boolean(context?.limit);
    this.#ring.hidden = !known;
    if (!known) return;
    const part = Math.min(1, context.used / context.limit);
    this.#ring.querySelector(".used").setAttribute("stroke-dasharray", `${part * RING} ${RING}`);
    this.#ring.dataset.full = String(part >= NEARLY_FULL);
    const words = t`Context: ${Math.round(part * 100)} % used`;
    this.#ring.setAttribute("aria-label", words);
    this.#ring.title = `${words} (${t`${number(context.used)} of ${number(context.limit)} tokens`})`;
  }

  /** The words of the context's menu. */
  get usage() {
    const { context, usage } = this.#usage ?? {};
    const lines = context ? [t`${number(context.used)} of ${number(context.limit)} tokens in the model's context`] : [];
    if (usage) lines.push(t`${number(usage.input_tokens)} tokens read, ${number(usage.output_tokens)} written`);
    return lines;
  }

  /** Show the changed lines; `panel` says whether the panel is open. */
  changes(found, panel) {
    this.#changes.hidden = found === null;
    this.#changes.setAttribute("aria-expanded", String(panel));
    if (found === null) return;
    const any = found.added || found.removed;
    const counts = any ? [h("ins", {}, `+${found.added}`), h("del", {}, `−${found.removed}`)] : [];
    this.#changes.lastElementChild.replaceChildren(...counts);
    const words = any ? t`Changes: ${found.added} lines added, ${found.removed} removed` : t`Changes and files`;
    this.#changes.setAttribute("aria-label", words);
  }

  #write(place, text, about) {
    place.hidden = !text;
    place.textContent = text ?? "";
    place.title = about ? String(about) : "";
  }
}
customElements.define("tg-header", Header);
