// The files that the session changed: their differences, and taking them back.
import { confirmed, toast } from "./confirm.js";
import { diff } from "./diff.js";
import { h, icon } from "./dom.js";
import { visible } from "./text.js";

const NONE = "Nothing is changed yet. Files that this session writes, edits or deletes appear here.";
const KINDS = { created: "new", removed: "deleted" };

const plural = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;

function counts({ added, removed }) {
  return h(
    "span",
    { class: "counts" },
    h("ins", {}, `+${added}`, h("span", { class: "hidden" }, " lines added")),
    h("del", {}, `−${removed}`, h("span", { class: "hidden" }, " lines removed")),
  );
}

/** Show the changes of a session in `place`. */
export function view(place, wire, session_id, changed) {
  const problem = h("div", { class: "refused", role: "alert", hidden: true });
  let drawn = "";

  async function takeBack(what, words) {
    problem.hidden = true;
    try {
      const { restored, refused } = await wire.ask("changes.undo", { session_id, ...what });
      if (restored.length) toast(`Taken back: ${restored.length === 1 ? visible(restored[0]) : words}.`);
      refuse(refused.map(({ path, reason }) => [visible(path), visible(reason)]));
    } catch (error) {
      refuse([["Not taken back", error.message]]);
    }
    await changed();
  }

  function refuse(reasons) {
    problem.hidden = !reasons.length;
    problem.replaceChildren(...reasons.map(([path, reason]) => h("p", {}, h("strong", {}, path), ` ${reason}`)));
  }

  function button(label, act, words = null) {
    const properties = { type: "button", class: "quiet", "aria-label": label, title: label, onclick: act };
    return h("button", { ...properties, class: words ? "quiet" : "quiet square" }, icon("undo"), words);
  }

  async function all(files) {
    const title = `Take back all changes of this session?`;
    const text = `${plural(files, "file")} will be as before. What others changed since then is kept.`;
    if (await confirmed({ title, text, yes: "Take back" })) await takeBack({ all: true }, plural(files, "file"));
  }

  function call({ call_id, added, removed }, number, of) {
    const name = `Step ${number + 1} of ${of}`;
    const words = `Take back ${name.toLowerCase()}`;
    const back = button(words, () => takeBack({ call_id }, name));
    return h("li", {}, h("span", {}, name), counts({ added, removed }), back);
  }

  function steps({ path, calls = [] }) {
    if (calls.length < 2) return null;
    const rows = calls.map((each, place) => call(each, place, calls.length));
    return h("ol", { "aria-label": `Steps of ${visible(path)}` }, ...rows);
  }

  function file(one, open) {
    const { path, kind } = one;
    const [, folder, name] = path.match(/^(.*\/)?([^/]*)$/);
    return h(
      "details",
      { "data-path": path, open },
      h(
        "summary",
        { title: visible(path) },
        icon("chevron"),
        h("span", { class: "path" }, h("bdi", { class: "folder" }, visible(folder ?? "")), h("bdi", {}, visible(name))),
        KINDS[kind] && h("span", { class: "kind" }, KINDS[kind]),
        counts(one),
      ),
      diff(one.diff),
      h(
        "div",
        { class: "acts" },
        steps(one),
        button(`Take back ${visible(path)}`, () => takeBack({ path }, visible(path)), "Take back this file"),
      ),
    );
  }

  function show(found) {
    const now = JSON.stringify(found);
    if (now === drawn) return;
    drawn = now;
    const open = new Set([...place.querySelectorAll("details[open]")].map((one) => one.dataset.path));
    const files = found?.files ?? [];
    if (!files.length) return place.replaceChildren(problem, h("p", { class: "none" }, NONE));
    place.replaceChildren(
      h(
        "div",
        { class: "sum" },
        h("strong", {}, plural(files.length, "file")),
        counts(found),
        button("Take back all changes", () => all(files.length), "Take back all"),
      ),
      problem,
      ...files.map((one) => file(one, open.has(one.path))),
    );
  }

  return { show };
}
