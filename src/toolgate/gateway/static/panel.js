// The panel at the right: what the session changed, and the project's files. Its parts are loaded when it opens.
import { h, icon } from "./dom.js";
import { t } from "./text.js";

const WIDE = matchMedia("(min-width: 75rem)");
const STORAGE_KEY = "toolgate.panel";
/** Until the gateway has answered. */
const NOTHING = { files: [], added: 0, removed: 0 };
const TABS = { changes: t`Changes`, files: t`Files` };
const LOAD = { changes: () => import("./changes.js"), files: () => import("./files.js") };

function stored() {
  try {
    return localStorage.getItem(STORAGE_KEY);
  } catch {
    return null;
  }
}

/** Events: `change` (what was found, or whether it is open). */
export class Panel extends HTMLElement {
  #wire = null;
  #id = null;
  #tab = "changes";
  #views = {};
  #open = false;
  /** Where the focus was when it opened over the page. */
  #before = null;
  /** The changes of the session; null if there are none to show. */
  found = null;

  connectedCallback() {
    const about = { type: "button", class: "quiet square", "aria-label": t`Close the panel` };
    const close = h("button", { ...about, onclick: () => this.toggle(false) }, icon("close"));
    const tab = (name) => {
      const names = { type: "button", role: "tab", id: `tab-${name}`, "aria-controls": `view-${name}` };
      return h("button", { ...names, onclick: () => this.select(name) }, TABS[name]);
    };
    const list = h("div", { role: "tablist", "aria-label": t`Panel` }, ...Object.keys(TABS).map(tab));
    list.addEventListener("keydown", (event) => {
      if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
      this.select(this.#tab === "files" ? "changes" : "files");
      this.querySelector("[aria-selected=true]").focus();
    });
    const view = (name) => {
      const names = { id: `view-${name}`, "aria-labelledby": `tab-${name}` };
      return h("div", { role: "tabpanel", class: "view", tabindex: "0", ...names });
    };
    this.append(h("div", { class: "top" }, list, close), view("changes"), view("files"));
    this.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && !WIDE.matches && !event.defaultPrevented) this.toggle(false);
    });
    WIDE.addEventListener("change", () => {
      this.#open = WIDE.matches && stored() !== "closed"; // a window that became narrow shows the conversation
      this.#draw();
      this.#fill();
    });
  }

  connect(wire) {
    this.#wire = wire;
  }

  get isOpen() {
    return this.#open && this.#id !== null && this.found !== null;
  }

  /** Show the panel of a session that works on files; null if there is none. */
  async show(id) {
    delete document.documentElement.dataset.panel; // theme.js kept the room for it
    if (id === this.#id) return;
    this.#id = id;
    this.found = id === null ? null : NOTHING;
    for (const view of this.querySelectorAll(".view")) view.replaceChildren();
    this.#views = {};
    this.#open = WIDE.matches && stored() !== "closed";
    this.#draw();
    if (id) await this.reload();
  }

  /** Load the changes again, and the files if they are shown. */
  async reload() {
    const id = this.#id;
    if (!id) return;
    const found = await this.#wire.optional("changes.list", { session_id: id }).catch(() => this.found);
    if (this.#id !== id) return;
    this.found = found;
    this.#draw();
    await this.#fill();
  }

  toggle(open = !this.isOpen) {
    this.#open = open;
    try {
      if (WIDE.matches) localStorage.setItem(STORAGE_KEY, open ? "open" : "closed");
    } catch {
      // No storage: the choice lasts until the page is closed.
    }
    if (open) this.#before = document.activeElement;
    this.#draw();
    if (open) this.#fill();
    if (open && !WIDE.matches) this.querySelector("[aria-selected=true]").focus();
    if (!open) this.#before?.focus?.();
  }

  select(tab) {
    this.#tab = tab;
    this.#draw();
    this.#fill();
  }

  #draw() {
    this.hidden = !this.isOpen;
    document.body.classList.toggle("panel-open", this.isOpen);
    document.getElementById("main").inert = this.isOpen && !WIDE.matches;
    for (const name of Object.keys(TABS)) {
      const chosen = name === this.#tab;
      const tab = this.querySelector(`#tab-${name}`);
      tab.setAttribute("aria-selected", String(chosen));
      tab.tabIndex = chosen ? 0 : -1;
      this.querySelector(`#view-${name}`).hidden = !chosen;
    }
    this.dispatchEvent(new CustomEvent("change"));
  }

  /** Load the part that is shown, and let it show what there is. */
  async #fill() {
    if (!this.isOpen) return;
    const [id, tab] = [this.#id, this.#tab];
    const { view } = await LOAD[tab]();
    if (this.#id !== id) return;
    this.#views[tab] ??= view(this.querySelector(`#view-${tab}`), this.#wire, id, () => this.reload());
    await this.#views[tab].show(this.found);
  }
}
customElements.define("tg-panel", Panel);
