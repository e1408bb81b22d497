// The list of sessions with search, the state of the connection, and the theme switch.
import { h } from "./dom.js";
import { grouped, row } from "./rows.js";
import { t } from "./text.js";

const STATES = { open: t`Connected`, connecting: t`Connecting`, closed: t`No connection, trying again` };

const UNTITLED = t`New session`;
const NONE = t`Your sessions appear here.`;
const NO_ARCHIVED = t`No session is archived.`;
const NOT_FOUND = t`No session has these words.`;
const SEARCH_DELAY_MS = 200;

export class Sidebar extends HTMLElement {
  #nav = this.querySelector("nav");
  #search = this.querySelector("[type=search]");
  #new = this.querySelector(".new");
  #archive = this.querySelector(".archive");
  #sessions = null;
  #current = null;
  #drawn = "";
  #timer = 0;
  /** The name of the gateway's project; its sessions come first. */
  project = "";
  /** Whether the archived sessions are shown. */
  archived = false;

  connectedCallback() {
    this.#search.addEventListener("input", () => this.#searched());
    this.#search.addEventListener("keydown", (event) => {
      if (event.key === "Enter") this.#nav.querySelector("a")?.click();
      if (event.key === "Escape") this.#clearSearch();
    });
    this.#new.addEventListener("click", () => {
      this.menu(false);
      this.dispatchEvent(new CustomEvent("new"));
    });
    this.#archive.addEventListener("click", () => this.#toggleArchived());
    this.addEventListener("edited", () => this.#draw());
    this.querySelector(".theme").addEventListener("click", toggleTheme);
    this.querySelector(".leave").addEventListener("click", () => this.dispatchEvent(new CustomEvent("leave")));
    this.querySelector(".close-menu").addEventListener("click", () => this.menu(false));
    document.querySelector(".open-menu").addEventListener("click", () => this.menu(true));
    this.addEventListener("keydown", (event) => event.key === "Escape" && this.menu(false));
    document.addEventListener("click", (event) => event.target === document.body && this.menu(false));
    document.addEventListener("keydown", (event) => {
      if (event.key !== "k" || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      this.menu(true);
      this.#search.focus();
    });
  }

  /** Show or hide the list on small screens. */
  menu(open) {
    const button = document.querySelector(".open-menu");
    const was = document.body.classList.contains("menu-open");
    if (was === open || getComputedStyle(button).display === "none") return;
    document.body.classList.toggle("menu-open", open);
    document.getElementById("main").inert = open;
    button.setAttribute("aria-expanded", String(open));
    if (open) this.querySelector(".close-menu").focus();
    else button.focus();
  }

  state(state) {
    const place = this.querySelector(".link");
    place.dataset.state = state;
    place.textContent = STATES[state];
    this.#new.disabled = state !== "open";
  }

  /** The search words. */
  get words() {
    return this.#search.value.trim();
  }

  show(sessions) {
    this.#sessions = sessions;
    this.#archive.hidden = !this.archived && !sessions.some((one) => one.archived !== undefined);
    this.#draw();
  }

  select(id) {
    this.#current = id;
    for (const link of this.#nav.querySelectorAll("a")) {
      if (link.hash === `#/s/${id}`) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
  }

  /** Filter the loaded sessions at once; let the gateway search all others a little later. */
  #searched() {
    this.#draw();
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.dispatchEvent(new CustomEvent("search")), SEARCH_DELAY_MS);
  }

  #clearSearch() {
    this.#search.value = "";
    this.#searched();
  }

  #toggleArchived() {
    this.archived = !this.archived;
    this.#archive.lastElementChild.textContent = this.archived ? t`Back to the sessions` : t`Archived`;
    this.#sessions = null;
    this.#nav.replaceChildren();
    this.dispatchEvent(new CustomEvent("search"));
  }

  #found(words) {
    const title = (one) => (one.title || UNTITLED).toLowerCase();
    return this.#sessions.filter((one) => one.snippet || words.every((word) => title(one).includes(word)));
  }

  /** Draw the list if it changed; the focus stays where it was, and a title that is being edited stays as well. */
  #draw() {
    if (!this.#sessions || this.#nav.querySelector(".edit")) return;
    const words = this.words.toLowerCase().split(/\s+/).filter(Boolean);
    const found = this.#found(words);
    const now = JSON.stringify([found, words, this.project, new Date().getDate()]);
    if (now === this.#drawn && this.#nav.childElementCount) return this.select(this.#current);
    this.#drawn = now;
    const focused = this.#nav.contains(document.activeElement) ? document.activeElement.dataset.key : null;
    const rows = (sessions) => h("ul", {}, ...sessions.map((one) => row(one, words, this)));
    const part = ([name, sessions, kind]) => [h("h2", { class: kind }, name), rows(sessions)];
    this.#nav.replaceChildren(...grouped(found, this.project).flatMap(part));
    const none = this.archived ? NO_ARCHIVED : NONE;
    if (!found.length) this.#nav.append(h("p", { class: "none" }, words.length ? NOT_FOUND : none));
    if (focused) this.#nav.querySelector(`[data-key="${focused}"]`)?.focus();
    this.select(this.#current);
  }
}

function toggleTheme() {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  try {
    localStorage.setItem("toolgate.theme", root.dataset.theme);
  } catch {
    // No storage: the choice lasts until the page is closed.
  }
}
customElements.define("tg-sidebar", Sidebar);
