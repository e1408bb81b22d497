// The title of the session, which can be edited.
import { h } from "./dom.js";
import { t } from "./text.js";

const UNTITLED = t`New session`;
const MAX_LENGTH = 200;

export class Title extends HTMLElement {
  #text = this.querySelector("h2");
  #button = this.querySelector("button");
  #field = null;
  #id = null;

  connectedCallback() {
    this.#button.addEventListener("click", () => this.edit());
    this.#text.addEventListener("dblclick", () => this.#id && this.edit());
  }

  /** Show the title of a session; null if there is none. */
  show(id, title) {
    if (id !== this.#id) this.#end();
    this.#id = id;
    this.#text.textContent = title || UNTITLED;
    this.#button.hidden = !id || this.#field !== null;
  }

  /** Let the person change the title. */
  edit() {
    const value = this.#text.textContent;
    this.#field = h("input", { type: "text", maxlength: MAX_LENGTH, value, "aria-label": t`Title of this session` });
    this.#field.addEventListener("keydown", (event) => {
      if (event.isComposing || (event.key !== "Enter" && event.key !== "Escape")) return;
      event.preventDefault(); // otherwise the key would press the button that reappears
      if (event.key === "Enter") this.#rename(value);
      else this.#end(true);
    });
    this.#field.addEventListener("blur", () => this.#end());
    this.#text.hidden = this.#button.hidden = true;
    this.prepend(this.#field);
    this.#field.select();
  }

  #rename(before) {
    const title = this.#field.value.split(/\s+/).filter(Boolean).join(" ");
    this.#end(true);
    if (!title || title === before) return;
    this.#text.textContent = title;
    this.dispatchEvent(new CustomEvent("rename", { detail: title }));
  }

  /** Restore the title; `stay` keeps the focus. */
  #end(stay = false) {
    const field = this.#field;
    this.#field = null; // removing the field blurs it
    field?.remove();
    this.#text.hidden = false;
    this.#button.hidden = !this.#id;
    if (field && stay) this.#button.focus();
  }
}
customElements.define("tg-title", Title);
