// Builds the page. Everything is text; only `trusted` inserts HTML, which the server has sanitised.

/** Create an element: `h("button", {class: "primary", onclick: go}, "Go")`. False and null properties are left out. */
export function h(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === false || value === null || value === undefined) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** Create a labelled area for long text that scrolls, also by keyboard. */
export function pane(label, properties, ...children) {
  return h("pre", { tabindex: "0", role: "group", "aria-label": label, ...properties }, ...children);
}

const SVG = "http://www.w3.org/2000/svg";

/** Create an icon from the sheet in index.html. */
export function icon(name) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  const use = document.createElementNS(SVG, "use");
  use.setAttribute("href", `#i-${name}`);
  svg.append(use);
  return svg;
}

const policy = globalThis.trustedTypes?.createPolicy("toolgate", { createHTML: (html) => html });

/** Insert HTML that the server has rendered and sanitised. */
export function trusted(element, html) {
  element.innerHTML = policy ? policy.createHTML(html) : html;
}

/** Return a function that runs `work` at most once per animation frame. */
export function eachFrame(work) {
  let asked = 0;
  return () => {
    asked ||= requestAnimationFrame(() => {
      asked = 0;
      work();
    });
  };
}

let last = "";

/** Announce a text to screen readers, politely. */
export function announce(text) {
  const log = document.getElementById("announcer");
  const words = text.trim().slice(0, 600);
  if (!words || words === last) return;
  last = words;
  log.append(h("p", {}, words));
  while (log.childElementCount > 20) log.firstElementChild.remove();
}
