// Questions that need a yes, and short messages that pass.
import { announce, h } from "./dom.js";
import { t } from "./text.js";

const TOAST_MS = 6000;

/** Ask before something that cannot be undone; resolves to true or false. */
export function confirmed({ title, text, yes }) {
  return new Promise((resolve) => {
    const answer = (value) => {
      dialog.close();
      dialog.remove();
      resolve(value);
    };
    const no = h("button", { type: "button", onclick: () => answer(false) }, t`Keep it`);
    const dialog = h(
      "dialog",
      { class: "confirm", role: "alertdialog", "aria-labelledby": "confirm-title", "aria-describedby": "confirm-text" },
      h("h2", { id: "confirm-title" }, title),
      h("p", { id: "confirm-text" }, text),
      h(
        "div",
        { class: "choices" },
        h("button", { type: "button", class: "danger", onclick: () => answer(true) }, yes),
        no,
      ),
    );
    dialog.addEventListener("cancel", (event) => {
      event.preventDefault();
      answer(false);
    });
    document.body.append(dialog);
    dialog.showModal();
    no.focus();
  });
}

let shown = null;

/** Show a short message for some seconds, with at most one thing to do about it: `{label, act}`. */
export function toast(text, action = null) {
  shown?.remove();
  const close = () => toasted.remove();
  const act = () => {
    close();
    action.act();
  };
  const toasted = h("div", { class: "toast" }, h("span", {}, text));
  if (action) toasted.append(h("button", { type: "button", class: "quiet", onclick: act }, action.label));
  shown = toasted;
  document.body.append(toasted);
  announce(text);
  setTimeout(close, TOAST_MS);
}

/** Save a text as a file of the person's. */
export function download(name, content) {
  const address = URL.createObjectURL(new Blob([content], { type: "text/plain" }));
  h("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), TOAST_MS);
}
