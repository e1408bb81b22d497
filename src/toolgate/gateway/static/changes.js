// The files that the session changed: their differences, and taking them back.
import { confirmed, toast } from "./confirm.js";
import { diff } from "./diff.js";
import { h, icon } from "./dom.js";
import { t, visible } from "./text.js";

const NONE = t`Nothing is changed yet. Files that this session writes, edits or deletes appear here.`;
const KINDS = { created: "new", removed: "deleted" };

const some = (count) => (count === 1 ? t`1 file` : t`${count} files`);

function counts({ added, removed }) {
  return h(
    "span",
    { class: "counts" },
    h("ins", {}, `+${added}`, h("span", { class: "hidden" }, ` ${t`lines added`}`)),
    h("del", {}, `−${removed}`, h("span", { class: "hidden" }, ` ${t`lines removed`}`)),
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
      if (restored.length) toast(t`Taken back: ${restored.length === 1 ? visible(restored[0]) : words}.`);
      refuse(refused.map(({ path, reason }) => [visible(path), visible(reason)]));
    } catch (error) {
      refuse([[t`Not taken back`, error.message]]);
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
    const title = t`Take back all changes of this session?`;
    const text = t`${some(files)} will be as before. What others changed since then is kept.`;
    if (await confirmed({ title, text, yes: t`Take back` })) await takeBack({ all: true }, some(files));
  }

  function call({ call_id, added, removed }, number, of) {
    const name = t`Step ${number + 1} of ${of}`;
    const words = t`Take back step ${number + 1} of ${of}`;
    const back = button(words, () => takeBack({ call_id }, name));
    return h("li", {}, h("span", {}, name), counts({ added, removed }), back);
  }

  function steps({ path, calls = [] }) {
    if (calls.length < 2) return null;
    const rows = calls.map((each, place) => call(each, place, calls.length));
    return h("ol", { "aria-label": t`Steps of ${visible(path)}` }, ...rows);
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
        button(t`Take back ${visible(path)}`, () => takeBack({ path }, visible(path)), t`Take back this file`),
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
        h("strong", {}, some(files.length)),
        counts(found),
        button(t`Take back all changes`, () => all(files.length), t`Take back all`),
      ),
      problem,
      ...files.map((one) => file(one, open.has(one.path))),
    );
  }

  return { show };
}
