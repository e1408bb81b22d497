// The message field: sends, stops, and keeps text that could not be sent.
export class Composer extends HTMLElement {
  #form = this.querySelector("form");
  #field = this.querySelector("textarea");
  #send = this.querySelector(".send");
  #stop = this.querySelector(".stop");
  #running = false;
  #ready = false;

  connectedCallback() {
    this.#form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#submit();
    });
    this.#field.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      this.#submit();
    });
    this.#field.addEventListener("input", () => this.#update());
    this.#stop.addEventListener("click", () => this.dispatchEvent(new CustomEvent("stop")));
    this.#form.addEventListener("click", (event) => event.target === this.#form && this.#field.focus());
  }

  get value() {
    return this.#field.value;
  }

  /** Put text into the field. */
  fill(text) {
    this.#field.value = text;
    this.#update();
    this.#field.focus();
    this.#field.setSelectionRange(text.length, text.length);
  }

  clear() {
    this.#field.value = "";
    this.#update();
  }

  focus() {
    this.#field.focus();
  }

  /** `ready`: a message can be sent. `running`: a turn is running and can be stopped. */
  become({ ready, running }) {
    const had = document.activeElement;
    this.#ready = ready;
    this.#running = running;
    this.#stop.hidden = !running;
    this.#send.hidden = running;
    this.#update();
    if (had === this.#stop || had === this.#send) this.#field.focus();
  }

  #update() {
    this.#send.disabled = !this.#ready || this.#running || !this.#field.value.trim();
    if (!CSS.supports("field-sizing", "content")) {
      this.#field.rows = Math.min(10, this.#field.value.split("\n").length);
    }
  }

  #submit() {
    if (this.#send.disabled) return;
    this.dispatchEvent(new CustomEvent("send", { detail: this.#field.value }));
  }
}
customElements.define("tg-composer", Composer);
