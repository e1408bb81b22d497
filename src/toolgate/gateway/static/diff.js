// Differences and commands, as the person who decides should see them.
import { h } from "./dom.js";
import { clipped, visible } from "./text.js";

const MOST_LINES = 2_000;
const DIFF = /^--- .*\n\+\+\+ /;

/** What would happen: a coloured difference, or the text as it is. */
export function detail(text) {
  return DIFF.test(text) ? diff(text) : h("pre", { class: "command", tabindex: "0", role: "group", "aria-label": "What would run" }, visible(text));
}

export function isDiff(text) {
  return DIFF.test(text);
}

export function diff(text) {
  const lines = text.replace(/\n$/, "").split("\n");
  const files = lines.filter((line) => line.startsWith("+++ ")).map((line) => visible(line.slice(4).replace(/^b\//, "")));
  const rows = lines.slice(0, MOST_LINES).map(row());
  if (lines.length > MOST_LINES) rows.push(h("span", { class: "hunk" }, `… ${lines.length - MOST_LINES} more lines`));
  return h("pre", { class: "diff", tabindex: "0", role: "group", "aria-label": `Changes to ${files.join(", ")}` }, ...rows);
}

/** Which side a line is on; a hunk's header says how many lines follow, so that text cannot pose as one. */
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
