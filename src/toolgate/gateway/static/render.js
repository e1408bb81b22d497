// Text that the server renders on request: Markdown, and highlighted code. Without an answer it stays plain.
import { h, trusted } from "./dom.js";

const MAX_LENGTH = 128 * 1024;
let wire = null;

export function connect(connection) {
  wire = connection;
}

/** Return blocks or lines of HTML; null if plain text is to be shown. */
async function html(format, text, path = "") {
  if (!wire || !text || text.length > MAX_LENGTH) return null;
  const answer = await wire.optional("text.render", { format, text, path }).catch(() => null); // plain text is shown
  return answer?.html ?? null;
}

const waiting = new WeakMap();
const watcher = new IntersectionObserver(
  (entries) => {
    for (const { target, isIntersecting } of entries) {
      if (!isIntersecting) continue;
      watcher.unobserve(target);
      waiting.get(target)();
    }
  },
  { rootMargin: "400px" },
);

/** Do something when an element comes near the visible part of the page. */
function whenSeen(element, act) {
  waiting.set(element, act);
  watcher.observe(element);
}

/** Highlight the lines of `place` when they are seen: `rows[n]` gets the HTML of line n; null is left as it is. */
export function highlight(place, rows, format, text, path) {
  whenSeen(place, async () => {
    const lines = await html(format, text, path);
    if (lines?.length !== rows.length) return;
    rows.forEach((row, at) => row && lines[at] && trusted(row, lines[at]));
  });
}

/** Show Markdown. Until it is rendered, and without an answer, it is plain text. */
export function markdown(text, shown) {
  const place = h("div", { class: "markdown" }, h("p", { class: "plain" }, shown));
  html("markdown", text).then((blocks) => {
    if (!blocks) return;
    place.replaceChildren();
    for (const block of blocks) {
      const element = h("div", { class: "block", dir: "auto" });
      trusted(element, block);
      place.append(element);
    }
  });
  return place;
}
