// Controls of the header, once more beside the send button.
import { h } from "./dom.js";

/** A button beside the send button that says what a control of the header says, and does the same. */
export function mirror(selector, classes, label, act) {
  const button = h("button", { type: "button", class: `quiet ${classes}`, hidden: true });
  const original = document.querySelector(selector);
  if (!original) return button;
  const update = () => {
    button.hidden = original.hidden || original.disabled;
    button.textContent = original.textContent;
    button.title = original.title;
    button.setAttribute("aria-label", `${label}: ${original.textContent}`);
  };
  const changes = { attributes: true, childList: true, characterData: true, subtree: true };
  new MutationObserver(update).observe(original, changes);
  button.addEventListener("click", () => act(button));
  update();
  return button;
}
