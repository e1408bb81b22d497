// Tells people who look elsewhere: the tab's title, and desktop notifications if they want them.
import { t, visible } from "./text.js";

const STORAGE_KEY = "toolgate.notify";
const UNTITLED = t`New session`;
const WORDS = { waiting: t`needs your permission`, failed: t`failed`, idle: t`is done` };

function stored() {
  try {
    return localStorage.getItem(STORAGE_KEY) === "on";
  } catch {
    return false;
  }
}

export class Notifier {
  #before = new Map();
  #asked = stored();
  /** Opens a session: `open(id)`. */
  #open;

  constructor(open) {
    this.#open = open;
  }

  /** Whether desktop notifications can be shown at all. */
  get possible() {
    return "Notification" in globalThis;
  }

  get on() {
    return this.#asked && this.possible && Notification.permission === "granted";
  }

  /** Switch notifications on or off; return what to tell the person. */
  async toggle() {
    const wanted = !this.on;
    if (wanted && (await Notification.requestPermission()) !== "granted") {
      return t`The browser does not allow notifications for this page. Allow them in its settings for this site.`;
    }
    this.#asked = wanted;
    try {
      localStorage.setItem(STORAGE_KEY, wanted ? "on" : "off");
    } catch {
      // No storage: the choice lasts until the page is closed.
    }
    return wanted ? t`You are notified when a session needs you or ends.` : t`Notifications are off.`;
  }

  /** Compare the sessions' states with those before; `title` is that of the session that is shown. */
  update(sessions, title, questions) {
    const waiting = sessions.filter(({ status }) => status === "waiting").length;
    const count = Math.max(waiting, questions ? 1 : 0);
    const running = sessions.some(({ status }) => status === "running");
    const name = title ? `${visible(title)} · Toolgate` : "Toolgate";
    document.title = count ? `(${count}) ${t`Permission needed`} · Toolgate` : running ? `● ${name}` : name;
    for (const session of sessions) {
      const before = this.#before.get(session.id);
      this.#before.set(session.id, session.status);
      const news = session.status !== "idle" || before === "running";
      if (before && before !== session.status && news) this.#say(session);
    }
  }

  #say({ id, title, status }) {
    if (!this.on || !document.hidden || !WORDS[status]) return;
    const said = new Notification("Toolgate", {
      body: `${visible(title || UNTITLED)} ${WORDS[status]}`,
      tag: id,
      icon: "static/icon.svg",
    });
    said.addEventListener("click", () => {
      focus();
      said.close();
      this.#open(id);
    });
  }
}
