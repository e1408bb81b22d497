// What surrounds the conversation: project, model and context in the header, the panel, menus and dialogs.
import { toast } from "./confirm.js";
import { showMenu } from "./menu.js";
import { t } from "./text.js";

/** Frames after which files may have changed. */
const CHANGING = new Set(["tool_result", "rewound", "turn_finished"]);
const CHANGES_DELAY_MS = 250;
const SANDBOX_MS = 1500;

/** Events: `failed` (error). */
export class Workplace extends EventTarget {
  #wire;
  #parts;
  #models;
  #sessions;
  #notifier;
  #session = null;
  #project = null;
  #coding = false;
  /** Whether the gateway lists remembered permissions. */
  #permitted = false;
  #timer = 0;

  constructor({ wire, parts, models, sessions, notifier }) {
    super();
    Object.assign(this, { failed: (error) => this.dispatchEvent(new CustomEvent("failed", { detail: error })) });
    [this.#wire, this.#parts, this.#models, this.#sessions, this.#notifier] = [wire, parts, models, sessions, notifier];
    const { header, panel, empty } = parts;
    header.addEventListener("model", ({ detail }) => this.#pickModel(detail));
    header.addEventListener("context", ({ detail }) => this.#contextMenu(detail));
    header.addEventListener("panel", () => panel.toggle());
    header.addEventListener("menu", ({ detail }) => this.#menu(detail));
    panel.addEventListener("change", () => this.#drawChanges());
    panel.connect(wire);
    empty.addEventListener("setup", () => this.setUp());
    models.addEventListener("change", () => this.#drawModel());
    document.addEventListener("changemodel", ({ detail }) => this.#pickModel(detail ?? header.querySelector(".model")));
  }

  get project() {
    return this.#project;
  }

  /** Load what the gateway says about its project and its models. */
  async load({ name, coding }) {
    this.#coding = coding;
    this.#models.load(name).catch(this.failed); // providers may be slow, and the page does not wait for them
    const project = await this.#wire.optional("project.info").catch(() => null); // the page works without it
    this.#drawProject(project);
    if (project?.coding_enabled && !project.sandbox) setTimeout(() => this.#lookAgain(), SANDBOX_MS);
  }

  /** The gateway was still finding out what confines commands. */
  async #lookAgain() {
    const project = await this.#wire.optional("project.info").catch(() => null);
    if (project) this.#drawProject(project);
  }

  /** Make room for a session that is about to be shown; null for the start page. */
  expect(id, mode) {
    this.#session = null;
    this.#models.of(null);
    this.#parts.header.context(null);
    this.#parts.panel.show(id && mode === "coding" ? id : null);
    this.#drawChanges();
  }

  /** Show a session in the header and in the panel. */
  show(session) {
    this.#session = session;
    this.#parts.panel.show(session.mode === "coding" ? session.id : null);
    this.#drawChanges();
    this.refresh();
  }

  /** Load what a turn may have changed: the branch, the model, the context, the files. */
  async refresh() {
    const session = this.#session;
    if (!session) return;
    try {
      const [about, project, permissions] = await Promise.all([
        this.#wire.ask("session.get", { session_id: session.id }),
        this.#wire.optional("project.info").catch(() => this.#project),
        this.#wire.optional("permissions.list", { session_id: session.id }).catch(() => null), // then there is no item
      ]);
      if (this.#session !== session) return;
      this.#permitted = permissions !== null;
      this.#drawProject(project);
      this.#models.of(about.model || null);
      this.#parts.header.context(about.context ?? null, about.usage);
    } catch (error) {
      if (error.code !== "OFFLINE") this.failed(error);
    }
  }

  /** Look at a frame of the session that is shown. */
  take(frame) {
    if (!this.#session || frame.session_id !== this.#session.id) return;
    if (frame.type === "model_changed") this.#models.of(frame.data.model || null);
    if (!CHANGING.has(frame.type) || this.#session.replaying) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#parts.panel.reload(), CHANGES_DELAY_MS);
  }

  /** Repeat the turn that failed. */
  tryAgain(send) {
    const session = this.#session;
    if (!session) return;
    this.#wire.ask("chat.retry", { session_id: session.id }).catch((error) => {
      if (error.code !== "METHOD_NOT_FOUND") return this.failed(error);
      const said = [...document.querySelectorAll("tg-chat .user p")].at(-1);
      if (said) send(said.textContent);
    });
  }

  /** Open the dialog that sets up a model. */
  async setUp() {
    const { setUpModel } = await import("./setup.js");
    setUpModel(this.#wire, async (list, model) => {
      const id = this.#models.configured(list, model);
      if (this.#session) await this.#models.choose(this.#session.id, id).catch(this.failed);
      toast(t`${this.#models.label} is ready.`);
    });
  }

  #drawProject(project) {
    this.#project = project;
    this.#parts.header.project(project);
    this.#parts.sidebar.project = project?.root_label ?? "";
    this.#drawEmpty();
  }

  #drawModel() {
    const { label, offline, choice, canSetUp } = this.#models;
    this.#parts.header.model(label, { choice: offline ? canSetUp : choice, missing: offline });
    this.#drawEmpty();
  }

  #drawEmpty() {
    const { offline, problem, canSetUp } = this.#models;
    this.#parts.empty.show({ project: this.#project, coding: this.#coding, offline, problem, canSetUp });
  }

  #drawChanges() {
    const { header, panel } = this.#parts;
    header.changes(panel.found, panel.isOpen);
  }

  #pickModel(button) {
    if (this.#models.offline) return this.setUp();
    const choose = (id) => this.#models.choose(this.#session?.id ?? null, id).catch(this.failed);
    this.#models.pick(button, { choose, setUp: () => this.setUp() });
  }

  #contextMenu(button) {
    const lines = this.#parts.header.usage.map((heading) => ({ heading }));
    const compact = () =>
      this.#wire.ask("session.compact", { session_id: this.#session.id }).catch(this.failed);
    showMenu(button, t`Context`, [...lines, null, { label: t`Summarise older steps now`, icon: "fold", act: compact }]);
  }

  #menu(button) {
    const id = this.#session?.id;
    const known = this.#sessions.get(id);
    const about = (act) => () => act().catch(this.failed);
    const permissions = { label: t`Remembered permissions…`, icon: "key", act: about(() => this.#permissions(id)) };
    const rename = { label: t`Rename`, icon: "pencil", act: () => this.#parts.title.edit() };
    const own = this.#permitted ? [rename, permissions] : [rename];
    const more = [
      { label: t`Export as Markdown`, icon: "download", act: about(() => this.#sessions.save(id, "markdown")) },
      { label: t`Export as JSON`, icon: "download", act: about(() => this.#sessions.save(id, "json")) },
      { label: t`Archive`, icon: "archive", act: about(() => this.#sessions.archive(id, true)) },
      { label: t`Delete…`, icon: "trash", danger: true, act: about(() => this.#sessions.remove(id)) },
    ];
    const { on, possible } = this.#notifier;
    const notify = () => this.#notifier.toggle().then((text) => toast(text));
    const page = [
      { label: t`Desktop notifications`, checked: on, act: notify, disabled: !possible },
      { label: t`State of the gateway`, icon: "pulse", act: () => open("status", "_blank", "noopener") },
    ];
    const session = id ? [...own, ...(known?.archived === undefined ? [] : more), null] : [];
    showMenu(button, t`Menu`, [...session, ...page]);
  }

  async #permissions(id) {
    const { showPermissions } = await import("./permissions.js");
    await showPermissions(this.#wire, id);
  }
}
