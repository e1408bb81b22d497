// A tool call in words, and its result in the form that suits it: a diff, last lines, a file, an answer.
import { counted, diff, isDiff } from "./diff.js";
import { h, pane } from "./dom.js";
import { picture } from "./picture.js";
import { highlight, markdown } from "./render.js";
import { get } from "./signin.js";
import { brief, clipped, earlier, number, outline, t, tail, visible } from "./text.js";

export const MAX_TEXT = 20_000;
const SHOWN_LINES = 12;
const SHOWN_DIFF = 40;
const FOLDED_LINES = 400;
/** Tools that only look: consecutive calls are one quiet row. */
const QUIET = {
  read_file: (args) => [t`Read`, args.path],
  ls: (args) => [t`Listed`, args.path ?? "."],
  glob: (args) => [t`Looked for`, args.pattern],
  grep: (args) => [t`Searched for`, args.pattern],
  memory_search: (args) => [t`Searched the notes for`, args.query],
  current_time: (args) => [t`Looked at the clock`, args.timezone ?? ""],
};
const EDITS = { edit_file: t`Edit`, edit_notebook: t`Edit`, write_file: t`Write` };

export const isQuiet = ({ tool_name, arguments: args }) => Object.hasOwn(QUIET, tool_name) && typeof args === "object";
export const isHidden = ({ tool_name }) => tool_name === "todo";

/** What a quiet call does: a verb and its object. */
export const doing = ({ tool_name, arguments: args }) =>
  QUIET[tool_name](args).map((word) => clipped(visible(word ?? ""), 80));

/** How a call is shown: command, edit, agent, plan, question, quiet or other. */
export function kindOf(call) {
  const { tool_name, arguments: args } = call;
  if (typeof args !== "object") return "other";
  if (tool_name === "Bash") return "command";
  if (Object.hasOwn(EDITS, tool_name)) return "edit";
  if (tool_name === "task") return "agent";
  if (tool_name === "propose_plan") return "plan";
  if (tool_name === "ask_user") return "question";
  return isQuiet(call) ? "quiet" : "other";
}

/** Who does what: as the call says, or the one that started the task that it names. */
const aboutTask = ({ arguments: args, task }) => (args.agent ? args : (task ?? args));

/** What the working line says while a call runs. */
export function activity(call) {
  const { tool_name, arguments: args } = call;
  const kind = kindOf(call);
  if (kind === "command") return t`Running ${clipped(visible(args.command ?? "").split("\n")[0], 60)}`;
  if (kind === "edit") return t`Writing ${clipped(visible(args.path ?? ""), 60)}`;
  if (kind === "agent") return t`Sub-agent ${visible(aboutTask(call).agent ?? "")} is working`;
  if (kind === "plan") return t`Planning`;
  if (kind === "quiet") return doing(call).join(" ").replace("Read ", "Reading ").replace("Searched", "Searching");
  return t`Running ${visible(tool_name)}`;
}

/** The head's words: the tool's name is there for screen readers where other words say it better. */
export function headWords(call) {
  const { tool_name, arguments: args } = call;
  const kind = kindOf(call);
  const name = h("span", { class: kind === "other" ? "tool" : "tool hidden" }, visible(tool_name));
  const verb = (words) => h("span", { class: "verb" }, words);
  const code = (words) => h("code", { class: "brief" }, words);
  if (kind === "command") return [name, h("span", { class: "dollar", "aria-hidden": "true" }, "$"), code(brief(args))];
  if (kind === "edit") return [name, verb(EDITS[tool_name]), code(visible(args.path ?? ""))];
  if (kind === "plan") return [name, verb(t`Proposes a plan`)];
  if (kind === "question") {
    return [name, verb(t`Question`), h("span", { class: "brief" }, clipped(visible(args.question ?? ""), 200))];
  }
  if (kind === "quiet") {
    const [does, what] = doing(call);
    return [name, verb(does), code(what)];
  }
  if (kind === "agent") {
    const { agent, description } = aboutTask(call);
    const about = h("span", { class: "brief" }, visible(description ?? ""));
    return [name, verb(t`Sub-agent ${visible(agent ?? "")}`), about];
  }
  return [name, code(brief(args))];
}

/** Show a result in the parts of its card: {toggle, mark, live, body, more}. */
export function showResult(call, result, parts) {
  const data = result.data ?? {};
  const kind = kindOf(call);
  if (typeof data.diff === "string" && isDiff(data.diff)) changed(data, parts);
  else if (kind === "command") ran(call, data, result, parts);
  else if (kind === "agent" && typeof data.result === "string") {
    parts.live.replaceChildren(markdown(data.result, clipped(visible(data.result), MAX_TEXT)));
  } else if (kind === "agent" && data.running === true) {
    parts.live.replaceChildren(); // its steps say how it goes on
  } else if (kind === "question" && typeof data.answer === "string") {
    parts.live.replaceChildren(h("p", { class: "answer" }, clipped(visible(data.answer), MAX_TEXT)));
  } else looked(call, data, result, parts);
  parts.live.append(...(result.images ?? []).map(picture));
}

/** The problems that checkers found after a change. */
function problems({ diagnostics }) {
  if (!Array.isArray(diagnostics) || !diagnostics.length) return [];
  const line = ({ path, line, message, checker }) => h("li", {}, visible(`${path}:${line}: ${message} (${checker})`));
  const title = h("p", {}, t`New problems: ${diagnostics.length}`);
  return [h("div", { class: "problems" }, title, h("ul", {}, ...diagnostics.map(line)))];
}

function changed(data, { toggle, mark, live }) {
  const text = data.diff;
  const { added, removed } = counted(text);
  const word = (text) => h("span", { class: "hidden" }, ` ${text}`);
  const [more, less] = [word(t`lines added`), word(t`lines removed`)];
  mark.replaceChildren(h("ins", {}, `+${added}`, more), " ", h("del", {}, `−${removed}`, less));
  if (text.startsWith("--- /dev/null")) toggle.querySelector(".verb")?.replaceChildren(t`Create`);
  live.replaceChildren(diff(text, SHOWN_DIFF), ...problems(data));
}

/** The last lines of a command, its exit code, and a way to all of it. */
function ran(call, data, result, parts) {
  if (data.exit_code !== undefined && data.exit_code !== null) {
    parts.mark.replaceChildren(h("span", { class: data.exit_code ? "exit bad" : "exit" }, t`exit ${data.exit_code}`));
  }
  // A shortened output ends with the sentence for the model; the exit code is in the head.
  const preview = data.preview?.replace(/\n?\[Exit code \d+\.[^\n]*\]\s*$/, "");
  const whole = [preview ?? data.stdout ?? "", data.stderr ?? ""].map((text) => visible(text));
  if (whole.some(Boolean)) {
    // What was live may have gaps; the result is what a reload shows too.
    const shown = whole.map((text) => tail(text, SHOWN_LINES));
    const span = (kind, { shown: text }) => text && h("span", { class: kind }, `${clipped(text, MAX_TEXT)}\n`);
    const left = shown[0].left + shown[1].left;
    const note = left ? [h("p", { class: "note" }, earlier(left))] : [];
    parts.live.replaceChildren(...note, pane(t`Output`, {}, span("stdout", shown[0]), span("stderr", shown[1])));
  }
  const lines = whole.join("\n").split("\n").length;
  if (result.full_output || lines > SHOWN_LINES + 1) {
    offerWhole(call, result.full_output, whole.filter(Boolean).join("\n"), parts);
  }
}

function looked(call, data, result, parts) {
  if (result.status === "error") return;
  const text = textOf(data, result);
  if (!text) return;
  const place = kindOf(call) === "quiet" ? parts.body : parts.live;
  const shown = clipped(visible(text), MAX_TEXT);
  const isFile = typeof data.content === "string" && call.tool_name === "read_file";
  place.replaceChildren(isFile ? fileLines(call, shown) : pane(t`Output`, {}, ...folded(shown)));
  if (result.full_output) offerWhole(call, result.full_output, text, parts);
}

function folded(text) {
  const lines = text.split("\n");
  const left = lines.length - FOLDED_LINES;
  return left > 0 ? [lines.slice(0, FOLDED_LINES).join("\n"), `\n${t`… ${number(left)} more lines`}`] : [text];
}

/** A file's lines, numbered and highlighted. */
function fileLines(call, text) {
  const rows = [];
  const place = pane(t`Output`, { class: "code-lines" });
  const code = text.split("\n").map((line) => {
    const [, n, rest] = line.match(/^ *(\d+)\t(.*)$/) ?? [null, "", line];
    const row = h("span", { class: "line" }, rest);
    rows.push(row);
    place.append(h("span", { "data-n": n }, row, "\n"));
    return rest;
  });
  highlight(place, rows, "code", code.join("\n"), String(call.arguments.path ?? ""));
  return place;
}

/** Format a match as grep prints it, or a note as it was stored. */
function match(one) {
  return one.file === undefined ? String(one.content ?? outline(one)) : `${one.file}:${one.line}: ${one.text}`;
}

function textOf(data, result) {
  if (typeof data.preview === "string") return data.preview;
  if (Array.isArray(data.matches)) return data.matches.map(match).join("\n") || result.text;
  if (Array.isArray(data.entries ?? data.paths)) {
    return (data.paths ?? data.entries.map((entry) => entry.path)).join("\n") || result.text;
  }
  // What a function returned: the text only says that it did.
  if (Object.keys(data).length === 1 && "result" in data) return outline(data.result);
  return typeof data.content === "string" ? data.content : result.text;
}

/** Offer the whole text in a viewer: from the gateway if it was cut, else what is here. */
function offerWhole(call, link, text, { more }) {
  const address = link ? new URL(`.${link}`, location.href) : null;
  if (address && address.origin !== location.origin) return;
  const open = async () => {
    const { openViewer } = await import("./viewer.js");
    const load = async () => (address ? loadWhole(address) : text);
    openViewer({ title: brief(call.arguments) || t`Output`, name: "output.txt", load });
  };
  more.replaceChildren(h("button", { type: "button", class: "quiet", onclick: open }, t`Whole output`));
}

async function loadWhole(address) {
  const answer = await get(address).catch(() => null);
  if (!answer) throw new Error(t`The gateway does not answer. Try again when it is connected.`);
  if (!answer.ok) throw new Error((await answer.json().catch(() => ({}))).error ?? t`This output cannot be loaded.`);
  const text = await answer.text();
  if (!answer.headers.get("content-type")?.includes("json")) return text;
  try {
    const found = JSON.parse(text);
    const data = found.data ?? found;
    if (typeof data.stdout === "string") return [data.stdout, data.stderr].filter(Boolean).join("\n");
    return textOf(data, { text: outline(data) });
  } catch {
    return text; // not what its type says
  }
}
