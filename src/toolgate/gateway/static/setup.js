// The dialog that sets up a model: choose a provider, test the key, pick a model.
import { h, icon } from "./dom.js";
import { t, visible } from "./text.js";
import { words } from "./banner.js";

const LEAD = t`The key is stored on the gateway's machine, readable only by you, and never shown again.`;
const KEYS = { openai: "sk-…", anthropic: "sk-ant-…" };
const ABOUT = {
  openai: t`GPT models, with a key from OpenAI.`,
  anthropic: t`Claude models, with a key from Anthropic.`,
  openai_compatible: t`Any server with OpenAI's API: Ollama, llama.cpp, vLLM, a company's gateway.`,
};

class Setup {
  #wire;
  #done;
  #chosen = null;
  /** Increases with every choice, so that a late answer to an earlier one is ignored. */
  #attempt = 0;
  #dialog = h("dialog", { class: "setup", "aria-labelledby": "setup-title" });
  #choices = h("div", { class: "providers", role: "radiogroup", "aria-label": t`Provider` });
  #form = h("form", { class: "fields", hidden: true, novalidate: true });
  #outcome = h("div", { class: "outcome", role: "status", "aria-live": "polite" });

  constructor(wire, done) {
    this.#wire = wire;
    this.#done = done;
  }

  async open() {
    const close = () => this.#dialog.close();
    this.#dialog.append(
      h(
        "div",
        { class: "top" },
        h("h2", { id: "setup-title" }, t`Set up a model`),
        h("button", { type: "button", class: "quiet square", "aria-label": t`Close`, onclick: close }, icon("close")),
      ),
      h("p", { class: "lead" }, LEAD),
      h("div", { class: "scroll" }, this.#choices, this.#form, this.#outcome),
    );
    this.#form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#test();
    });
    this.#dialog.addEventListener("close", () => this.#dialog.remove());
    document.body.append(this.#dialog);
    this.#dialog.showModal();
    try {
      this.#offer(await this.#wire.ask("model.providers"));
    } catch (error) {
      this.#problem(error);
    }
  }

  /** Show the providers, the servers that were found on this machine first. */
  #offer({ providers, found }) {
    const option = (value, label, about) => {
      const input = h("input", { type: "radio", name: "provider" });
      input.addEventListener("change", () => this.#choose(value));
      const words = h("span", {}, h("strong", {}, visible(label)), h("span", {}, visible(about)));
      return h("label", {}, input, words);
    };
    const models = (count) => (count === 1 ? t`1 model` : t`${count} models`);
    const local = found.map((one) => {
      const about = t`Found on this machine: ${one.base_url}, ${models(one.models.length)}`;
      return option({ id: "openai_compatible", base_url: one.base_url, found: one.models }, one.label, about);
    });
    const known = providers.map((one) => option(one, one.label, ABOUT[one.id] ?? ""));
    this.#choices.replaceChildren(...local, ...known);
    this.#choices.querySelector("input").focus();
  }

  #choose(provider) {
    this.#attempt += 1;
    this.#chosen = provider;
    this.#outcome.replaceChildren();
    const compatible = provider.id === "openai_compatible";
    const about = { autocomplete: "off", spellcheck: "false" };
    const address = { ...about, id: "setup-address", type: "url", placeholder: "http://127.0.0.1:8000/v1" };
    const placeholder = KEYS[provider.id] ?? t`empty if it needs none`;
    const key = { ...about, id: "setup-key", type: "password", placeholder };
    const field = (label, properties) =>
      h("div", { class: "field" }, h("label", { for: properties.id }, label), h("input", properties));
    this.#form.replaceChildren(
      ...(compatible ? [field(t`Address`, { ...address, value: provider.base_url ?? "" })] : []),
      field(compatible ? t`Key, if it needs one` : t`Key`, key),
      h("button", { type: "submit", class: "primary test" }, t`Test and list models`),
    );
    this.#form.hidden = false;
    if (provider.found) return this.#test();
  }

  #value(name) {
    return this.#form.querySelector(`#setup-${name}`)?.value.trim() || null;
  }

  /** The provider as the person wrote it. */
  #given() {
    const [base_url, api_key] = [this.#value("address"), this.#value("key")];
    return { provider: this.#chosen.id, ...(base_url && { base_url }), ...(api_key && { api_key }) };
  }

  async #test() {
    const given = this.#given();
    const attempt = (this.#attempt += 1);
    if (this.#chosen.needs_key && !given.api_key) {
      this.#form.querySelector("#setup-key").focus();
      return this.#problem({ message: t`A key is needed. Paste the one that you got from the provider.` });
    }
    this.#busy(t`Testing…`);
    try {
      const answer = await this.#wire.ask("model.test", given);
      if (attempt !== this.#attempt) return;
      if (answer.ok) this.#pick(given, answer.models);
      else this.#problem(answer);
    } catch (error) {
      if (attempt === this.#attempt) this.#problem(error);
    }
  }

  /** Let the person pick one of the models. */
  #pick(given, models) {
    if (!models.length) return this.#problem({ message: t`It works, but lists no model. Load a model there first.` });
    const select = h("select", { id: "setup-model" }, ...models.map((id) => h("option", { value: id }, visible(id))));
    const use = h("button", { type: "button", class: "primary" }, t`Use this model`);
    use.addEventListener("click", () => this.#store(given, select.value));
    this.#outcome.replaceChildren(
      h("p", { class: "works" }, icon("success"), t`It works. Which model?`),
      h("div", { class: "row" }, h("label", { class: "hidden", for: "setup-model" }, t`Model`), select, use),
    );
    select.focus();
  }

  async #store(given, model) {
    this.#busy(t`Storing…`);
    try {
      const list = await this.#wire.ask("model.configure", { ...given, model });
      this.#dialog.close();
      await this.#done(list, model);
    } catch (error) {
      this.#problem(error);
    }
  }

  #busy(text) {
    this.#outcome.replaceChildren(h("p", { class: "busy" }, icon("running"), text));
  }

  #problem(error) {
    const { cause, advice } = words({ message: error.message, ...error.data });
    this.#outcome.replaceChildren(h("p", { class: "problem" }, h("strong", {}, cause), advice ? ` ${advice}` : ""));
  }
}

/** Open the dialog; `done(list, model)` is called when a model is stored. */
export function setUpModel(wire, done) {
  return new Setup(wire, done).open();
}
