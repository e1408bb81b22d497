// Building the page. Everything is text; the one way to insert HTML is `trusted`, for what the server has sanitised.

/** An element: `h("button", {class: "primary", onclick: go}, "Go")`. Properties that are false or null are left out. */
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

/** Text that may be longer than its place: it scrolls, by keyboard too, and has a name. */
export function pane(label, properties, ...children) {
  return h("pre", { tabindex: "0", role: "group", "aria-label": label, ...properties }, ...children);
}

const SVG = "http://www.w3.org/2000/svg";

/** An icon of the sheet in index.html. */
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

/** Put HTML that the server has rendered and sanitised into an element. */
export function trusted(element, html) {
  element.innerHTML = policy ? policy.createHTML(html) : html;
}

/** Run something with the next frame, once, however often it is asked for. */
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

/** Tell screen readers, politely. */
export function announce(text) {
  const log = document.getElementById("announcer");
  const words = text.trim().slice(0, 600);
  if (!words || words === last) return;
  last = words;
  log.append(h("p", {}, words));
  while (log.childElementCount > 20) log.firstElementChild.remove();
}
