// The person's sessions: loads the list, and renames, archives, exports and deletes.
import { confirmed, download, toast } from "./confirm.js";
import { t, visible } from "./text.js";

const LIMIT = 200;
const UNTITLED = t`New session`;

/** Events: `change` (the list was loaded), `deleted` (id), `failed` (error). */
export class Sessions extends EventTarget {
  #wire;
  #sidebar;
  #known = new Map();
  #listed = [];
  /** What the page knows of the session that is shown, before the list does: {id, status}. */
  #live = null;

  constructor(wire, sidebar) {
    super();
    this.#wire = wire;
    this.#sidebar = sidebar;
    const listen = (type, act) => {
      sidebar.addEventListener(type, ({ detail }) => act(detail).catch((error) => this.#tell("failed", error)));
    };
    listen("rename", ({ session, title }) => this.rename(session.id, title));
    listen("archive", ({ session, archived }) => this.archive(session.id, archived));
    listen("export", ({ session, format }) => this.save(session.id, format));
    listen("delete", ({ session }) => this.remove(session.id));
    sidebar.addEventListener("search", () => this.load().catch(() => {})); // the next search tries again
  }

  get(id) {
    return this.#known.get(id);
  }

  get all() {
    return this.#listed.map((one) => this.#now(one));
  }

  /** Load the list; with search words, what the gateway finds in contents too. */
  async load() {
    const { words, archived } = this.#sidebar;
    const wanted = { limit: LIMIT, search: words, ...(archived && { archived }) };
    const answer = await this.#wire.ask("session.list", wanted);
    if (words !== this.#sidebar.words || archived !== this.#sidebar.archived) return;
    const found = answer.sessions.map(({ session_id, ...rest }) => ({ id: session_id, ...rest }));
    for (const session of found) this.#known.set(session.id, session);
    if (!words && !archived) this.#listed = found;
    this.#found = found;
    this.#show();
  }

  #found = [];

  /** Show the state of the session on this page at once. */
  live(id, status) {
    if (this.#live?.id === id && this.#live?.status === status) return;
    this.#live = id ? { id, status } : null;
    this.#show();
  }

  #show() {
    this.#sidebar.show(this.#found.map((one) => this.#now(one)));
    this.#tell("change");
  }

  /** A session as the page knows it: the one that is shown is ahead of the list. */
  #now(session) {
    const { id, status } = this.#live ?? {};
    return session.id === id && status ? { ...session, status } : session;
  }

  async rename(session_id, title) {
    try {
      await this.#wire.ask("session.rename", { session_id, title });
    } finally {
      await this.load();
    }
  }

  async archive(session_id, archived) {
    await this.#wire.ask("session.archive", { session_id, archived });
    await this.load();
    const undo = () => this.archive(session_id, !archived).catch((error) => this.#tell("failed", error));
    toast(archived ? t`The session is archived.` : t`The session is back in the list.`, { label: t`Undo`, act: undo });
  }

  async save(session_id, format) {
    const { name, content } = await this.#wire.ask("session.export", { session_id, format });
    download(name, content);
  }

  /** Delete a session after asking; a running turn is stopped. */
  async remove(session_id) {
    const session = this.#known.get(session_id);
    const running = this.all.some(({ id, status }) => id === session_id && ["running", "waiting"].includes(status));
    const stops = running ? `${t`Its turn is running and will be stopped.`} ` : "";
    const text = stops + t`Its messages and outputs are deleted for good. Files of the project stay as they are.`;
    const title = t`Delete “${visible(session?.title || UNTITLED)}”?`;
    if (!(await confirmed({ title, text, yes: t`Delete` }))) return;
    await this.#wire.ask("session.delete", { session_id, ...(running && { cancel: true }) });
    this.#known.delete(session_id);
    this.#tell("deleted", session_id);
    await this.load();
  }

  #tell(type, detail) {
    this.dispatchEvent(new CustomEvent(type, { detail }));
  }
}
