// A whole text in a window of its own: search, wrap, copy, download.
import { download } from "./confirm.js";
import { h, icon } from "./dom.js";
import { number, t, visible } from "./text.js";

const MAX_SHOWN = 1_500_000;
const LINES_PER_PIECE = 200;
const MAX_FOUND = 5_000;

/** Show a text; `load` returns it, or throws an error with words for a person. */
export async function openViewer({ title, name, load }) {
  const body = h("pre", { class: "text", tabindex: "0", role: "group", "aria-label": t`Text` }, t`Loading…`);
  const find = h("input", {
    type: "search",
    placeholder: t`Search`,
    "aria-label": t`Search in this text`,
    autocomplete: "off",
  });
  const count = h("span", { class: "count", role: "status" });
  const dialog = h("dialog", { class: "viewer", "aria-labelledby": "viewer-title" });
  const state = { text: "", found: [], at: -1 };
  const close = () => dialog.close();
  const wrap = h("button", { type: "button", "aria-pressed": "true" }, t`Wrap`);
  wrap.addEventListener("click", () => {
    const on = wrap.getAttribute("aria-pressed") !== "true";
    wrap.setAttribute("aria-pressed", String(on));
    body.classList.toggle("nowrap", !on);
  });
  const copy = h("button", { type: "button" }, t`Copy`);
  copy.addEventListener("click", async () => {
    await navigator.clipboard.writeText(state.text);
    copy.textContent = t`Copied`;
    setTimeout(() => (copy.textContent = t`Copy`), 1500);
  });
  const saving = () => download(name, state.text);
  const save = h("button", { type: "button", onclick: saving }, icon("download"), t`Download`);
  dialog.append(
    h(
      "div",
      { class: "top" },
      h("h2", { id: "viewer-title" }, title),
      h("button", { type: "button", class: "quiet square", "aria-label": t`Close`, onclick: close }, icon("close")),
    ),
    h("div", { class: "tools" }, h("label", { class: "find" }, icon("search"), find, count), wrap, copy, save),
    body,
  );
  find.addEventListener("input", () => search(body, find.value, count, state));
  find.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    step(state, count, event.shiftKey ? -1 : 1);
  });
  dialog.addEventListener("click", (event) => event.target === dialog && close());
  dialog.addEventListener("close", () => {
    CSS.highlights?.delete("found");
    CSS.highlights?.delete("found-now");
    dialog.remove();
  });
  document.body.append(dialog);
  dialog.showModal();
  try {
    state.text = visible(await load());
    fill(body, state.text);
  } catch (error) {
    body.replaceChildren(error.message);
  }
  find.focus();
}

/** Write the text in pieces, so that the browser lays out only those that are seen. */
function fill(body, text) {
  const shown = text.length > MAX_SHOWN ? text.slice(0, MAX_SHOWN) : text;
  const lines = shown.split("\n");
  const pieces = [];
  for (let at = 0; at < lines.length; at += LINES_PER_PIECE) {
    const piece = lines.slice(at, at + LINES_PER_PIECE).join("\n");
    pieces.push(h("span", { class: "piece" }, at + LINES_PER_PIECE < lines.length ? `${piece}\n` : piece));
  }
  if (shown.length < text.length) {
    const left = number(text.length - shown.length);
    pieces.push(h("span", { class: "note" }, t`… ${left} more characters: download the text to read them.`));
  }
  body.replaceChildren(...pieces);
}

function search(body, words, count, state) {
  state.found = [];
  state.at = -1;
  const wanted = words.toLowerCase();
  for (const piece of wanted ? body.querySelectorAll(".piece") : []) {
    const text = piece.firstChild.data.toLowerCase();
    let at = text.indexOf(wanted);
    for (; at >= 0 && state.found.length < MAX_FOUND; at = text.indexOf(wanted, at + wanted.length)) {
      const range = new Range();
      range.setStart(piece.firstChild, at);
      range.setEnd(piece.firstChild, at + wanted.length);
      state.found.push(range);
    }
  }
  CSS.highlights?.set("found", new Highlight(...state.found));
  CSS.highlights?.delete("found-now");
  count.textContent = !wanted ? "" : state.found.length ? number(state.found.length) : t`Nothing found`;
  if (state.found.length) step(state, count, 1);
}

function step(state, count, by) {
  if (!state.found.length) return;
  state.at = (state.at + by + state.found.length) % state.found.length;
  const range = state.found[state.at];
  CSS.highlights?.set("found-now", new Highlight(range));
  count.textContent = t`${number(state.at + 1)} of ${number(state.found.length)}`;
  range.startContainer.parentElement.scrollIntoView({ block: "nearest" });
  const box = range.getBoundingClientRect();
  const pane = range.startContainer.parentElement.parentElement;
  const inside = pane.getBoundingClientRect();
  if (box.top < inside.top || box.bottom > inside.bottom) pane.scrollTop += box.top - inside.top - inside.height / 2;
}
