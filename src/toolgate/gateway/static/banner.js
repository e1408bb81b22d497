// The line above the conversation: what is wrong in bold, what to do, and buttons for it.
import { h } from "./dom.js";
import { t, visible } from "./text.js";

/** Split a message into its first sentence, the cause, and the rest, the advice. */
export function sentences(message) {
  const text = visible(message);
  const [, cause, advice] = text.match(/^([\s\S]+?(?:[.!?:;](?=\s)|。))\s*(\S[\s\S]*)$/) ?? [null, text, ""];
  return { cause: cause.replace(/[:;]$/, "."), advice };
}

/** What people read about a failure: `{cause, advice}` of the gateway, or the parts of its message. */
export function words({ cause, advice, message = "" }) {
  return cause ? { cause: visible(cause), advice: visible(advice ?? "") } : sentences(message);
}

export class Banner extends HTMLElement {
  /** Show a failure with buttons `{label, act}`; without a failure, hide. */
  show(failure, buttons = []) {
    this.hidden = !failure;
    if (!failure) return this.replaceChildren();
    const { cause, advice } = words(typeof failure === "string" ? { message: failure } : failure);
    const button = ({ label, act }) => h("button", { type: "button", onclick: act }, label);
    this.replaceChildren(
      h("p", {}, h("strong", {}, cause), advice ? ` ${advice}` : ""),
      ...buttons.map(button),
      h("button", { type: "button", class: "quiet", onclick: () => this.show(null) }, t`Hide`),
    );
  }
}
customElements.define("tg-banner", Banner);

/** Create the notice of a turn that failed. Its buttons tell the page, by events that bubble. */
export function failureNotice({ retryable = true, ...failure }) {
  const { cause, advice } = words(failure);
  const [again, change] = retryable ? ["primary", null] : [null, "primary"];
  const tell = (type) => (event) => event.target.dispatchEvent(new CustomEvent(type, { bubbles: true }));
  return h(
    "div",
    { class: "failure", role: "alert" },
    h("p", {}, h("strong", {}, cause)),
    advice && h("p", {}, advice),
    h(
      "div",
      { class: "row" },
      h("button", { type: "button", class: again, onclick: tell("tryagain") }, t`Try again`),
      h("button", { type: "button", class: change, onclick: tell("changemodel") }, t`Change model`),
    ),
  );
}
