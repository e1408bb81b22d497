// Diffs and commands for the approval dialog.
import { h, pane } from "./dom.js";
import { clipped, visible } from "./text.js";

const MAX_LINES = 2_000;
const DIFF = /^--- .*\n\+\+\+ /;

/** Show what would happen: a coloured diff, or plain text. */
export function detail(text) {
  return isDiff(text) ? diff(text) : pane("What would run", { class: "command" }, visible(text));
}

export function isDiff(text) {
  return DIFF.test(text);
}

export function diff(text) {
  const lines = text.replace(/\n$/, "").split("\n");
  const file = visible(lines[1].slice(4).replace(/^b\//, ""));
  const rows = lines.slice(0, MAX_LINES).map(row());
  if (lines.length > MAX_LINES) rows.push(h("span", { class: "hunk" }, `… ${lines.length - MAX_LINES} more lines`));
  return pane(`Changes to ${file}`, { class: "diff" }, ...rows);
}

/** Classify lines. A hunk's header says how many lines follow, so that text cannot pose as a header. */
function row() {
  let before = 0;
  let after = 0;
  return (line) => {
    const hunk = !before && !after && line.match(/^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@/);
    if (hunk) {
      before = Number(hunk[1] ?? 1);
      after = Number(hunk[2] ?? 1);
      return h("span", { class: "hunk" }, `${visible(line)}\n`);
    }
    if (!before && !after) return h("span", { class: "file" }, `${visible(line)}\n`);
    const side = line[0] === "+" ? "added" : line[0] === "-" ? "removed" : "";
    if (line[0] !== "\\") {
      if (side !== "added") before -= 1;
      if (side !== "removed") after -= 1;
    }
    return h("span", { class: side }, `${clipped(visible(line), 2_000)}\n`);
  };
}
