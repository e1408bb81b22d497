// The rows of the list of sessions: their groups, their states, and their menus.
import { h, icon } from "./dom.js";
import { showMenu } from "./menu.js";
import { day, t, time, visible } from "./text.js";

const UNTITLED = t`New session`;
const STATES = { running: t`Running`, waiting: t`Waiting for you`, failed: t`Failed` };

/** Sort sessions into [heading, sessions, class]: those that wait for the person, then by project, or by day. */
export function grouped(sessions, project) {
  const waiting = sessions.filter((one) => one.status === "waiting");
  const others = sessions.filter((one) => one.status !== "waiting");
  const projects = Map.groupBy(others, (one) => one.project || project);
  const first = waiting.length ? [[t`Waiting for you`, waiting, "waiting"]] : [];
  const days = [...Map.groupBy(others, (one) => day(one.updated_at))];
  if (projects.size < 2) return [...first, ...days.map(([name, found]) => [name, found, "day"])];
  const order = [...projects.keys()].sort((a, b) => Number(b === project) - Number(a === project));
  return [...first, ...order.map((name) => [visible(name.split("/").at(-1) || name), projects.get(name), "project"])];
}

/** Mark the search words in a text. */
function marked(text, words) {
  const shown = visible(text);
  if (!words.length) return [shown];
  const escaped = words.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  const parts = shown.split(new RegExp(`(${escaped.join("|")})`, "i"));
  return parts.map((part, place) => (place % 2 ? h("mark", {}, part) : part));
}

function sessionMenu(session, list) {
  const tell = (type, more = {}) => {
    return () => list.dispatchEvent(new CustomEvent(type, { detail: { session, ...more } }));
  };
  const { archived } = session;
  const archive = archived ? t`Take out of the archive` : t`Archive`;
  const items = [
    { label: t`Rename`, icon: "pencil", act: () => edit(session, list) },
    { label: t`Export as Markdown`, icon: "download", act: tell("export", { format: "markdown" }) },
    { label: t`Export as JSON`, icon: "download", act: tell("export", { format: "json" }) },
    { label: archive, icon: "archive", act: tell("archive", { archived: !archived }) },
    null,
    { label: t`Delete…`, icon: "trash", danger: true, act: tell("delete") },
  ];
  return archived === undefined ? items.slice(0, 1) : items;
}

/** Let the person change the title where it stands. The list may have been drawn again since its menu was opened. */
function edit(session, list) {
  const link = list.querySelector(`a[data-key="${session.id}"]`);
  if (!link) return; // it was deleted elsewhere
  const field = h("input", { class: "edit", maxlength: 200, value: session.title ?? "", "aria-label": t`New title` });
  let over = false;
  const done = (title) => {
    if (over) return; // removing the field blurs it
    over = true;
    field.replaceWith(link);
    link.focus();
    list.dispatchEvent(new CustomEvent("edited"));
    if (title && title !== session.title) {
      list.dispatchEvent(new CustomEvent("rename", { detail: { session, title } }));
    }
  };
  field.addEventListener("keydown", (event) => {
    if (event.isComposing || (event.key !== "Enter" && event.key !== "Escape")) return;
    event.preventDefault();
    event.stopPropagation();
    done(event.key === "Enter" ? field.value.split(/\s+/).filter(Boolean).join(" ") : null);
  });
  field.addEventListener("blur", () => done(null));
  link.replaceWith(field);
  field.select();
}

/** Create a session's row; `list` is told what the person chose from its menu. */
export function row(session, words, list) {
  const title = session.title || UNTITLED;
  const state = STATES[session.status];
  const link = h(
    "a",
    { href: `#/s/${session.id}`, "data-key": session.id, title: visible(title), onclick: () => list.menu(false) },
    h("span", { class: "dot", "data-status": state ? session.status : false }),
    h("span", { class: "name" }, ...marked(title, words)),
    state && h("span", { class: "hidden" }, state),
    h("time", {}, time(session.updated_at)),
    session.snippet && h("span", { class: "snippet" }, ...marked(session.snippet, words)),
  );
  const more = h("button", {
    type: "button",
    class: "quiet square more",
    "data-key": `menu-${session.id}`,
    "aria-label": t`Menu of ${visible(title)}`,
    "aria-haspopup": "menu",
    "aria-expanded": "false",
    onclick: () => showMenu(more, t`Session`, sessionMenu(session, list)),
  });
  more.append(icon("more"));
  return h("li", {}, link, more);
}
