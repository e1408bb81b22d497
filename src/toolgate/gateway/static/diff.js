// Diffs and commands: line numbers, signs and highlighted code. Nothing of a text is left out unless it is counted.
import { h, pane } from "./dom.js";
import { highlight } from "./render.js";
import { clipped, number, t, visible } from "./text.js";

const MAX_LINES = 2_000;
const MAX_LINE = 2_000;
const DIFF = /^--- .*\n\+\+\+ /;

/** Show what would happen: a coloured diff, or plain text. */
export function detail(text) {
  return isDiff(text) ? diff(text) : pane(t`What would run`, { class: "command" }, visible(text));
}

export function isDiff(text) {
  return DIFF.test(text);
}

const lines = (text) => text.replace(/\n$/, "").split("\n");

/** The path of the file that a diff changes. */
export function pathOf(text) {
  const [before, after] = lines(text).map((line) => line.slice(4));
  return (after === "/dev/null" ? before : after).replace(/^[ab]\//, "");
}

/** Count added and removed lines. */
export function counted(text) {
  const kinds = lines(text).map(reader());
  const count = (kind) => kinds.filter((row) => row.kind === kind).length;
  return { added: count("added"), removed: count("removed") };
}

/** Show a diff; with `fold`, only so many lines until a button is pressed. */
export function diff(text, fold = MAX_LINES) {
  const all = lines(text);
  const path = pathOf(text);
  const read = all.map(reader());
  const place = pane(t`Changes to ${visible(path)}`, { class: "diff" });
  const codes = [];
  const show = (from, to) => {
    for (let at = from; at < to; at += 1) {
      const row = rowOf(read[at], at);
      codes[at] = row.code;
      if (row.element) place.append(row.element);
    }
  };
  const limit = all.length <= fold + 4 ? all.length : fold;
  show(0, limit);
  if (limit < all.length) {
    const more = h("button", { type: "button", class: "show-all" }, t`Show all ${number(all.length)} lines`);
    more.addEventListener("click", () => {
      more.remove();
      show(limit, all.length);
      paint();
    });
    place.append(more);
  }
  const paint = () => highlight(place, Array.from(all, (_, at) => codes[at] ?? null), "diff", all.join("\n"), path);
  paint();
  return place;
}

function rowOf({ kind, line, before, after }, at) {
  if (kind === "file" && at < 2) return { element: null, code: null };
  if (kind === "hunk") {
    const words = at === 2 ? "" : "⋯";
    return { element: words ? h("span", { class: "hunk", "aria-hidden": "true" }, `${words}\n`) : null, code: null };
  }
  if (kind === "file" || kind === "note") {
    return { element: h("span", { class: "hunk" }, `${visible(line)}\n`), code: null };
  }
  const long = line.length > MAX_LINE;
  const code = h("span", { class: "line" }, clipped(visible(line.slice(1)), MAX_LINE));
  const sign = h("span", { class: "sign" }, line[0] ?? " ");
  const element = h("span", { class: kind, "data-n": kind === "removed" ? before : after }, sign, code, "\n");
  return { element, code: long ? null : code };
}

/** Classify lines. A hunk's header says how many lines follow, so that text cannot pose as a header. */
function reader() {
  let [left, right, before, after] = [0, 0, 0, 0];
  return (line) => {
    const hunk = left <= 0 && right <= 0 && line.match(/^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/);
    if (hunk) {
      [before, left, after, right] = [Number(hunk[1]), Number(hunk[2] ?? 1), Number(hunk[3]), Number(hunk[4] ?? 1)];
      return { kind: "hunk", line };
    }
    if (left <= 0 && right <= 0) return { kind: "file", line };
    if (line[0] === "\\") return { kind: "note", line };
    const kind = line[0] === "+" ? "added" : line[0] === "-" ? "removed" : "same";
    const row = { kind, line, before, after };
    if (kind !== "added") [left, before] = [left - 1, before + 1];
    if (kind !== "removed") [right, after] = [right - 1, after + 1];
    return row;
  };
}
