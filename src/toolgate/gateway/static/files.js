// The project's files, read-only: a tree that loads its folders, and a viewer.
import { h, icon, trusted } from "./dom.js";
import { t, visible } from "./text.js";

/** The path of an entry inside a folder. */
const inside = (folder, name) => (folder === "." ? name : `${folder}/${name}`);
const isFolder = ({ kind }) => kind === "dir";
/** Characters of a part of a file that the gateway highlights. */
const HIGHLIGHTED = 12_000;

/** Show a file in a dialog; more of it is loaded when the person asks. */
async function showFile(wire, session_id, path) {
  const close = () => dialog.close();
  const body = h("div", { class: "lines", tabindex: "0", role: "group", "aria-label": visible(path) });
  const dialog = h(
    "dialog",
    { class: "file-viewer", "aria-labelledby": "file-title" },
    h(
      "div",
      { class: "top" },
      h("h2", { id: "file-title" }, visible(path)),
      h("button", { type: "button", class: "quiet square", "aria-label": t`Close`, onclick: close }, icon("close")),
    ),
    body,
  );
  dialog.addEventListener("close", () => dialog.remove());
  dialog.addEventListener("click", (event) => event.target === dialog && close());
  document.body.append(dialog);
  dialog.showModal();
  await addLines(wire, { session_id, path }, body, 1);
  body.focus();
}

/** Add the file from a line on. */
async function addLines(wire, file, body, start) {
  let part;
  try {
    part = await wire.ask("files.read", { ...file, ...(start > 1 && { start_line: start }) });
  } catch (error) {
    return body.append(h("p", { class: "problem", role: "alert" }, error.message));
  }
  const text = part.content.replace(/\n$/, "");
  const numbers = Array.from({ length: part.lines }, (_, place) => start + place).join("\n");
  const code = h("code", {}, visible(text));
  const rows = h("pre", { class: "numbered" }, h("span", { class: "numbers", "aria-hidden": "true" }, numbers), code);
  if (!part.lines) return body.append(h("p", { class: "none" }, start > 1 ? t`That is all.` : t`This file is empty.`));
  body.append(rows);
  await highlight(wire, code, text, file.path);
  const next = start + part.lines;
  if (!part.truncated || next > part.total_lines) return;
  const more = h("button", { type: "button" }, t`Show more`);
  more.addEventListener("click", async () => {
    more.remove();
    await addLines(wire, file, body, next);
  });
  body.append(more);
}

/** Colour code that is short enough, if the gateway can. */
async function highlight(wire, code, text, path) {
  if (text.length > HIGHLIGHTED) return;
  const answer = await wire.optional("text.render", { text, format: "code", path }).catch(() => null); // plain is fine
  if (answer?.html) trusted(code, [answer.html].flat().join("\n"));
}

/** Show the tree of a session's files in `place`. */
export function view(place, wire, session_id) {
  let shown = false;

  async function children(path, group, level) {
    try {
      const { entries, truncated } = await wire.ask("files.list", { session_id, path });
      const sorted = entries.toSorted((a, b) => isFolder(b) - isFolder(a) || a.name.localeCompare(b.name));
      group.replaceChildren(...sorted.map((entry) => item(entry, path, level)));
      if (!entries.length) group.append(h("li", { class: "none", role: "none" }, t`This folder is empty.`));
      if (truncated) group.append(h("li", { class: "none", role: "none" }, t`There are more files than these.`));
    } catch (error) {
      group.replaceChildren(h("li", { class: "problem", role: "none" }, error.message));
    }
  }

  function item(entry, folder, level) {
    const path = entry.path ?? inside(folder, entry.name);
    const nested = isFolder(entry);
    const node = h("li", { role: "treeitem", "aria-level": level, "aria-expanded": nested && "false", tabindex: "-1" });
    const picture = nested ? icon("folder") : icon("file");
    const label = h("div", { class: "node", title: visible(path) }, picture, visible(entry.name));
    label.addEventListener("click", () => press(node));
    node.append(label);
    Object.assign(node, { path, nested, level });
    return node;
  }

  /** Open a file, or a folder; the second press closes the folder. */
  async function press(node, open = node.getAttribute("aria-expanded") !== "true") {
    focus(node);
    if (!node.nested) return showFile(wire, session_id, node.path);
    node.setAttribute("aria-expanded", String(open));
    node.querySelector("ul")?.remove();
    if (!open) return;
    const group = h("ul", { role: "group" });
    node.append(group);
    await children(node.path, group, node.level + 1);
  }

  function focus(node) {
    for (const other of place.querySelectorAll("[role=treeitem][tabindex='0']")) other.tabIndex = -1;
    node.tabIndex = 0;
    node.focus();
  }

  function key(event) {
    const node = event.target.closest("[role=treeitem]");
    const all = [...place.querySelectorAll("[role=treeitem]")];
    const at = all.indexOf(node);
    const open = node?.getAttribute("aria-expanded") === "true";
    const parent = () => focus(node.parentElement.closest("[role=treeitem]") ?? node);
    const acts = {
      ArrowDown: () => focus(all[at + 1] ?? node),
      ArrowUp: () => focus(all[at - 1] ?? node),
      Home: () => focus(all[0]),
      End: () => focus(all.at(-1)),
      Enter: () => press(node),
      " ": () => press(node),
      ArrowRight: () => (node.nested && !open ? press(node, true) : focus(all[at + 1] ?? node)),
      ArrowLeft: () => (open ? press(node, false) : parent()),
    };
    if (!node || !acts[event.key]) return;
    event.preventDefault();
    acts[event.key]();
  }

  async function show() {
    if (shown) return;
    shown = true;
    const tree = h("ul", { class: "tree", role: "tree", "aria-label": t`Files of the project` });
    tree.addEventListener("keydown", key);
    const again = h("button", { type: "button", class: "quiet" }, t`Load again`);
    again.addEventListener("click", () => children(".", tree, 1));
    place.replaceChildren(tree, again);
    await children(".", tree, 1);
    const first = tree.querySelector("[role=treeitem]");
    if (first) first.tabIndex = 0;
  }

  return { show };
}
