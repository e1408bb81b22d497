// The models: which there are, which one a session uses, and which one the next session gets.
import { short } from "./header.js";
import { showMenu } from "./menu.js";
import { t, visible } from "./text.js";

const STORAGE_KEY = "toolgate.model";
const OFFLINE = "offline";

/** The gateway's models. Events: `change` (after loading or choosing). */
export class Models extends EventTarget {
  #wire;
  #list = null;
  #name = "";
  /** The model of the current session, or null. */
  #session = null;
  /** The model that the person wants for new sessions. */
  #wanted = null;

  constructor(wire) {
    super();
    this.#wire = wire;
    try {
      this.#wanted = localStorage.getItem(STORAGE_KEY);
    } catch {
      // No storage: the choice lasts until the page is closed.
    }
  }

  /** Load the models; `name` is the gateway's own, which is shown until the providers have answered. */
  async load(name) {
    this.#name = name;
    this.#tell();
    this.#list = await this.#wire.optional("model.list");
    this.#tell();
  }

  /** Whether no model is set up, so that the person acts as the model. */
  get offline() {
    return this.#list ? !this.#list.configured : this.#name === OFFLINE;
  }

  /** Whether people can set up a model here. */
  get canSetUp() {
    return this.#list?.setup ?? false;
  }

  get choice() {
    return this.#list !== null;
  }

  /** Why the configured model cannot be used, if so. */
  get problem() {
    return this.#list?.problem ?? null;
  }

  /** The model for a new session: what the person chose, if the gateway still has it. */
  get next() {
    return this.#list?.models.some(({ id }) => id === this.#wanted) ? this.#wanted : null;
  }

  get current() {
    return this.#session ?? this.next ?? this.#list?.default ?? this.#name;
  }

  get label() {
    return this.#list?.models.find(({ id }) => id === this.current)?.label ?? this.current;
  }

  /** Whether the model takes pictures; unknown models may. */
  get sees() {
    return this.#list?.models.find(({ id }) => id === this.current)?.vision ?? !this.offline;
  }

  /** Show another session's model, or null for the next session. */
  of(model) {
    this.#session = model;
    this.#tell();
  }

  /** Take what `model.configure` answered; return the id of the model. */
  configured(list, model) {
    this.#list = list;
    const known = list.models.find(({ id }) => id === model || id.endsWith(`:${model}`));
    this.#remember(known?.id ?? list.default);
    this.#tell();
    return this.#wanted;
  }

  /** Open the picker at a button; `choose(id)` and `setUp()` are what follows. */
  pick(button, { choose, setUp }) {
    const models = this.#list?.models ?? [];
    const groups = Map.groupBy(models, ({ provider }) => provider);
    const item = (model) => ({
      label: visible(model.label || model.id),
      checked: model.id === this.current,
      hint: model.context_tokens ? short(model.context_tokens) : null,
      title: model.id,
      act: () => choose(model.id),
    });
    const items = [...groups].flatMap(([name, some]) => [{ heading: visible(name ?? t`Models`) }, ...some.map(item)]);
    const more = this.canSetUp ? [null, { label: t`Set up a model…`, icon: "plus", act: setUp }] : [];
    showMenu(button, t`Model`, [...items, ...(items.length ? more : more.slice(1))]);
  }

  /** Use a model from the next turn on: in the session, and in new ones. */
  async choose(session_id, model) {
    if (session_id) await this.#wire.ask("session.model", { session_id, model });
    if (session_id) this.#session = model;
    this.#remember(model);
    this.#tell();
  }

  #remember(model) {
    this.#wanted = model;
    try {
      localStorage.setItem(STORAGE_KEY, model);
    } catch {
      // No storage: the choice lasts until the page is closed.
    }
  }

  #tell() {
    this.dispatchEvent(new CustomEvent("change"));
  }
}
