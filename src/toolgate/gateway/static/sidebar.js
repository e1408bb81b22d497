// The list of sessions with search, the state of the connection, and the theme switch.
import { h } from "./dom.js";
import { day, time, visible } from "./text.js";

const STATES = { open: "Connected", connecting: "Connecting", closed: "No connection, trying again" };

const UNTITLED = "New session";
const NONE = "Your sessions appear here.";
const NOT_FOUND = "No session has these words in its title.";
const SEARCH_DELAY_MS = 200;

export class Sidebar extends HTMLElement {
  #nav = this.querySelector("nav");
  #search = this.querySelector("[type=search]");
  #new = this.querySelector(".new");
  #choice = this.querySelector(".mode-choice");
  #sessions = null;
  #current = null;
  #timer = 0;

  connectedCallback() {
    this.#search.addEventListener("input", () => this.#searched());
    this.#search.addEventListener("keydown", (event) => {
      if (event.key === "Enter") this.#nav.querySelector("a")?.click();
      if (event.key === "Escape") this.#clearSearch();
    });
    this.#new.addEventListener("click", () => {
      this.menu(false);
      this.dispatchEvent(new CustomEvent("new", { detail: this.mode }));
    });
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

  /** The mode for the next session; null if there is no choice. */
  get mode() {
    return this.#choice.hidden ? null : this.#choice.querySelector(":checked").value;
  }

  /** The search words. */
  get words() {
    return this.#search.value.trim();
  }

  /** Show the choice of a mode if there is one. */
  modes(enabled) {
    this.#choice.hidden = !enabled;
  }

  show(sessions) {
    this.#sessions = sessions;
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

  #draw() {
    if (!this.#sessions) return;
    const words = this.words.toLowerCase().split(/\s+/).filter(Boolean);
    const title = (one) => (one.title || UNTITLED).toLowerCase();
    const found = this.#sessions.filter((one) => words.every((word) => title(one).includes(word)));
    const groups = Map.groupBy(found, (one) => day(one.updated_at));
    const rows = (sessions) => h("ul", {}, ...sessions.map((one) => this.#row(one)));
    this.#nav.replaceChildren(...[...groups].flatMap(([name, sessions]) => [h("h2", {}, name), rows(sessions)]));
    if (!found.length) this.#nav.append(h("p", { class: "none" }, words.length ? NOT_FOUND : NONE));
  }

  #row(session) {
    const current = session.id === this.#current && "page";
    return h(
      "li",
      {},
      h(
        "a",
        { href: `#/s/${session.id}`, "aria-current": current, onclick: () => this.menu(false) },
        h("span", { class: "name" }, visible(session.title || UNTITLED)),
        h("span", { class: "about" }, time(session.updated_at), h("span", { class: "tag" }, session.mode)),
      ),
    );
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
