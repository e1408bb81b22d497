// The message field: sends, queues, completes, takes files, keeps drafts, and says how the session asks.
import { listenForFiles, read } from "./attach.js";
import { Attachments, MOST } from "./attachments.js";
import { Commands, Completion } from "./complete.js";
import { toast } from "./confirm.js";
import { announce, h, icon } from "./dom.js";
import { mirror } from "./mirror.js";
import { ApprovalMode } from "./modes.js";
import { clipped, t, visible } from "./text.js";

const PLACEHOLDER = t`@ for files, / for commands`;

/** Storage that may be missing: without it, texts last until the page is closed. */
function stored(key, value) {
  try {
    if (value === undefined) return localStorage.getItem(key);
    if (value) localStorage.setItem(key, value);
    else localStorage.removeItem(key);
  } catch {
    return null;
  }
  return null;
}

export class Composer extends HTMLElement {
  #form = this.querySelector("form");
  #field = this.querySelector("textarea");
  #send = this.querySelector(".send");
  #stop = this.querySelector(".stop");
  #chips = h("ul", { class: "chips", "aria-label": t`Messages that wait for the end of this turn`, hidden: true });
  #picker = h("input", { type: "file", multiple: true, hidden: true, tabindex: "-1", "aria-label": t`Files to add` });
  #mode = new ApprovalMode();
  #running = false;
  #ready = false;
  #session = null;
  #commands = new Commands(null, null);
  #pictures = new Attachments(() => this.#update());

  connectedCallback() {
    this.#build();
    this.#form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#submit();
    });
    this.#field.addEventListener("keydown", (event) => this.#key(event));
    this.#field.addEventListener("input", () => {
      stored(this.#draft, this.#field.value);
      this.#update();
    });
    this.#stop.addEventListener("click", () => this.dispatchEvent(new CustomEvent("stop")));
    this.#form.addEventListener("click", (event) => event.target === this.#form && this.#field.focus());
    listenForFiles({ picker: this.#picker, field: this.#field, form: this.#form }, (files) => this.#add(files));
  }

  #build() {
    const about = { "aria-label": t`Add files`, title: t`Add pictures or text files` };
    const add = h("button", { type: "button", class: "quiet square add", ...about }, icon("plus"));
    add.addEventListener("click", () => this.#picker.click());
    const model = mirror(".bar .model", "pick model-pick", t`Change the model`, (button) =>
      document.dispatchEvent(new CustomEvent("changemodel", { detail: button })),
    );
    const mode = mirror("tg-mode button", "pick mode-pick", t`What this session may do`, () =>
      document.querySelector("tg-mode button").click(),
    );
    const gap = h("span", { class: "gap" });
    this.#form.append(
      h("div", { class: "foot" }, add, this.#mode.button, mode, model, gap, this.#stop, this.#send, this.#picker),
    );
    this.#form.before(this.#chips);
    this.#form.prepend(...this.#pictures.elements);
    new Completion(this.#field, this.#form, (kind, words) => this.#commands.complete(kind, words));
    this.#field.placeholder = t`Ask, ${PLACEHOLDER}`;
    this.#pictures.show(this.#draft); // something may be pasted before the first session is shown
  }

  /** Show the field of a session, or of the session that the next message creates (null). */
  attach(session, wire, project = null) {
    this.#session = session;
    this.#commands = new Commands(session, wire);
    this.#field.placeholder = project ? t`Ask about ${visible(project)}, ${PLACEHOLDER}` : t`Ask, ${PLACEHOLDER}`;
    this.#field.value = stored(this.#draft) ?? "";
    this.#pictures.show(this.#draft);
    this.#drawChips();
    this.#mode.attach(session, wire);
    if (!session) return;
    const mine = (act) => (event) => this.#session === session && act(event.detail);
    session.addEventListener("queue", mine(() => this.#drawChips()));
    const joined = (text) => [this.#field.value, text].filter((one) => one.trim()).join("\n\n");
    session.addEventListener("returned", mine(({ content, pictures }) => this.fill(joined(content), pictures)));
    session.addEventListener("approval_mode", mine((mode) => this.#mode.show(mode)));
    session.addEventListener("failed", mine((error) => toast(error.message)));
    session.addEventListener("rewound", mine((said) => this.#rewound(said)));
    session.addEventListener("forked", mine((id) => (location.hash = `#/s/${id}`)));
  }

  /** What the person chose for a new session. */
  get wanted() {
    return this.#mode.wanted;
  }

  get #draft() {
    return `toolgate.draft.${this.#session?.id ?? "new"}`;
  }

  get value() {
    return this.#field.value;
  }

  /** Whether the model takes pictures, and its name. */
  model(about) {
    this.#pictures.model(about);
  }

  /** Keep a message that was refused as the draft of its session, which is not shown. */
  keep(session_id, content, pictures) {
    const key = `toolgate.draft.${session_id}`;
    stored(key, content);
    this.#pictures.keep(key, pictures);
  }

  get pictures() {
    return this.#pictures.pictures;
  }

  /** Put text into the field, and add pictures. */
  fill(text, pictures = []) {
    if (pictures.length) this.#pictures.add(pictures);
    this.#field.value = text;
    stored(this.#draft, text);
    this.#update();
    this.#field.focus();
    this.#field.setSelectionRange(text.length, text.length);
  }

  clear() {
    const keys = [this.#draft, "toolgate.draft.new"];
    for (const key of keys) stored(key, "");
    this.#field.value = "";
    this.#pictures.clear(...keys);
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
    this.#update();
    this.#session?.connection();
    if (had === this.#stop && !running) this.#field.focus();
  }

  #update() {
    const empty = !this.#field.value.trim() && !this.#pictures.pictures.length;
    this.#send.disabled = !this.#ready || empty || (this.#running && !this.#session);
    this.#send.hidden = this.#running && empty;
    this.#send.setAttribute("aria-label", this.#running ? t`Send after this turn` : t`Send`);
    if (!CSS.supports("field-sizing", "content")) {
      this.#field.rows = Math.min(10, this.#field.value.split("\n").length);
    }
  }

  #key(event) {
    if (event.isComposing) return;
    if (event.key === "Escape") return this.#escape(event);
    if (event.key === "ArrowUp" && !this.#field.value && this.#session?.queue.length) {
      event.preventDefault();
      const { content, pictures } = this.#session.unqueue(this.#session.queue.length - 1);
      return this.fill(content, pictures);
    }
    if (event.key !== "Enter" || event.shiftKey) return;
    event.preventDefault();
    this.#submit();
  }

  /** Escape leads to a question that waits; else it stops the turn. */
  #escape(event) {
    const question = document.querySelector(".approval h3");
    if (question) {
      event.stopPropagation();
      question.focus();
    } else if (this.#running) this.dispatchEvent(new CustomEvent("stop"));
  }

  #submit() {
    if (this.#send.disabled) return;
    const text = this.#field.value;
    const command = text.match(/^\/([a-z-]+)\s*$/)?.[1];
    if (command && this.#session && this.#commands.run(command)) return this.clear();
    this.dispatchEvent(new CustomEvent("send", { detail: { content: text, pictures: this.pictures } }));
  }

  #drawChips() {
    const queue = this.#session?.queue ?? [];
    this.#chips.hidden = !queue.length;
    const chip = ({ content: text, pictures }, at) => {
      const names = pictures.map(({ name }) => `▣ ${name}`).join(" ");
      const words = clipped(visible(`${text} ${names}`).trim().replace(/\s+/g, " "), 60);
      const about = { type: "button", class: "quiet", "aria-label": t`Take back: ${words}`, title: t`Take back` };
      const back = h("button", about, icon("close"));
      back.addEventListener("click", () => {
        const { content, pictures } = this.#session.unqueue(at);
        this.fill(this.#field.value.trim() ? this.#field.value : content, pictures);
      });
      return h("li", {}, h("span", {}, words), back);
    };
    this.#chips.replaceChildren(...queue.map(chip));
    if (queue.length) announce(t`${queue.length} waiting for the end of this turn`);
  }

  #rewound({ text, pictures, files }) {
    if (!this.#field.value.trim() && !this.pictures.length) this.fill(text, pictures);
    const refused = files?.refused ?? [];
    const restored = files?.restored?.length ?? 0;
    const parts = restored ? [restored === 1 ? t`1 file was taken back.` : t`${restored} files were taken back.`] : [];
    for (const { path, reason } of refused) parts.push(t`${visible(path)} was not: ${visible(reason)}`);
    toast([t`The conversation is as before this message.`, ...parts].join(" "));
  }

  async #add(files) {
    const { texts, pictures, problems } = await read(files);
    if (this.#pictures.add(pictures)) problems.push(t`A message takes at most ${MOST} pictures.`);
    if (texts.length) this.fill([this.#field.value.trimEnd(), ...texts].filter(Boolean).join("\n\n"));
    if (problems.length) toast(problems.join(" "));
    else if (!files.length) toast(t`That is not a file.`);
  }
}

customElements.define("tg-composer", Composer);
