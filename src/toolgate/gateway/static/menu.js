// Menus that open at a button: arrow keys move, Enter chooses, Escape closes and returns the focus.
import { h, icon } from "./dom.js";

const GAP = 6;
const MARGIN = 8;

let open = null;

/** Create an entry: `{label, about, icon, hint, checked, danger, disabled, act}`, `{heading}`, or null for a line. */
function entry(item, close) {
  if (item === null) return h("hr", { role: "separator" });
  if (item.heading) return h("p", { class: "heading", role: "presentation" }, item.heading);
  const choice = item.checked !== undefined;
  const act = () => {
    close();
    item.act();
  };
  return h(
    "button",
    {
      type: "button",
      role: choice ? "menuitemradio" : "menuitem",
      "aria-checked": choice && String(Boolean(item.checked)),
      class: item.danger && "danger-item",
      disabled: item.disabled,
      title: item.title,
      tabindex: "-1",
      onclick: act,
    },
    choice ? h("span", { class: "check" }, item.checked ? icon("success") : "") : item.icon && icon(item.icon),
    h("span", { class: "label" }, item.label, item.about && h("small", {}, item.about)),
    item.hint && h("span", { class: "item-hint" }, item.hint),
  );
}

/** Put the menu below its button, or above it if there is more room; never outside the window. */
function place(menu, anchor) {
  const at = anchor.getBoundingClientRect();
  const { offsetWidth: width, offsetHeight: height } = menu;
  const below = at.bottom + GAP;
  const top = below + height > innerHeight - MARGIN ? Math.max(MARGIN, at.top - GAP - height) : below;
  const wanted = at.left + width > innerWidth - MARGIN ? at.right - width : at.left;
  menu.style.top = `${top}px`;
  menu.style.left = `${Math.max(MARGIN, Math.min(wanted, innerWidth - MARGIN - width))}px`;
}

function moveFocus(menu, key) {
  const all = [...menu.querySelectorAll("button:not(:disabled)")];
  const at = all.indexOf(document.activeElement);
  const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: -1 }[key];
  all.at(to >= all.length ? 0 : to)?.focus();
}

/** Open a menu at a button. A second press on the button closes it. */
export function showMenu(anchor, label, items) {
  const again = open?.anchor === anchor;
  open?.close(false);
  if (again) return;
  const menu = h("div", { class: "menu", role: "menu", "aria-label": label, popover: "manual" });
  const controller = new AbortController();
  const close = (focus = true) => {
    controller.abort();
    open = null;
    menu.remove();
    anchor.setAttribute("aria-expanded", "false");
    if (focus && anchor.isConnected) anchor.focus();
  };
  open = { anchor, close };
  menu.append(...items.map((item) => entry(item, close)));
  menu.addEventListener("keydown", (event) => {
    if (event.key === "Escape" || event.key === "Tab") close();
    else if (["ArrowDown", "ArrowUp", "Home", "End"].includes(event.key)) moveFocus(menu, event.key);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  const outside = (event) => menu.contains(event.target) || anchor.contains(event.target) || close(false);
  document.addEventListener("pointerdown", outside, { signal: controller.signal, capture: true });
  addEventListener("resize", () => close(false), { signal: controller.signal });
  (anchor.closest("dialog") ?? document.body).append(menu);
  menu.showPopover();
  place(menu, anchor);
  anchor.setAttribute("aria-expanded", "true");
  (menu.querySelector("[aria-checked=true]") ?? menu.querySelector("button:not(:disabled)"))?.focus();
}
