// A tool call: quiet for reading, a diff for edits, `$ command` with its last lines, a sub-agent's answer.
import { announce, h, icon, pane } from "./dom.js";
import { counted, diff, isDiff } from "./diff.js";
import { Output } from "./output.js";
import { highlight, markdown } from "./render.js";
import { get } from "./signin.js";
import { brief, clipped, clock, duration, number, outline, tail, visible } from "./text.js";

const MAX_TEXT = 20_000;
const SHOWN_LINES = 12;
const SHOWN_DIFF = 40;
const WORDS = {
  proposed: "Checking",
  waiting: "Waiting for your permission",
  running: "Running",
  success: "Done",
  partial: "Partly done",
  error: "Failed",
  denied: "Denied",
  cancelled: "Stopped",
};
const ICONS = { proposed: "running", waiting: "waiting", running: "running" };
const REFUSALS = new Set(["APPROVAL_DENIED", "ACCESS_DENIED", "MODE_DENIED"]);
/** Tools that only look: consecutive calls are one quiet row. */
const QUIET = {
  read_file: (args) => ["Read", args.path],
  ls: (args) => ["Listed", args.path ?? "."],
  glob: (args) => ["Looked for", args.pattern],
  grep: (args) => ["Searched for", args.pattern],
  memory_search: (args) => ["Searched the notes for", args.query],
  current_time: (args) => ["Looked at the clock", args.timezone ?? ""],
};
const EDITS = { edit_file: "Edit", write_file: "Write" };

export const isQuiet = ({ tool_name, arguments: args }) => Object.hasOwn(QUIET, tool_name) && typeof args === "object";
export const isHidden = ({ tool_name }) => tool_name === "todo";

/** What a quiet call does: a verb and its object. */
export const doing = ({ tool_name, arguments: args }) =>
  QUIET[tool_name](args).map((word) => clipped(visible(word ?? ""), 80));

/** Format a match as grep prints it, or a note as it was stored. */
function match(one) {
  return one.file === undefined ? String(one.content ?? outline(one)) : `${one.file}:${one.line}: ${one.text}`;
}

export class Card extends HTMLElement {
  #call;
  #output = null;
  #since = 0;
  #ticker = 0;
  #nested = new Map();
  #parts;
  /** When the call started, by the gateway's clock. */
  #startedAt = 0;

  /** Build the card of a call. */
  show(call) {
    this.#call = call;
    const id = `card-${++Card.count}`;
    this.#parts = {
      state: h("span", { class: "state" }),
      time: h("span", { class: "time" }),
      mark: h("span", { class: "mark" }),
      toggle: null,
      body: h("div", { class: "body", id, hidden: true }),
      live: h("div", { class: "live" }),
      verdict: h("div", { class: "verdict" }),
      nested: h("div", { class: "nested" }),
      more: h("div", { class: "more" }),
    };
    const parts = this.#parts;
    const open = () => this.#open(parts.body.hidden);
    const about = { class: "head", type: "button", "aria-expanded": "false", "aria-controls": id, onclick: open };
    parts.toggle = h("button", about, parts.state, ...this.#words(), parts.mark, parts.time, icon("chevron"));
    this.setAttribute("role", "article");
    this.setAttribute("aria-label", `Tool call ${call.tool_name}`);
    this.dataset.kind = this.kind;
    this.append(parts.toggle, parts.verdict, parts.live, parts.nested, parts.body, parts.more);
    this.#become("proposed");
    return this;
  }

  get call() {
    return this.#call;
  }

  get kind() {
    const { tool_name, arguments: args } = this.#call;
    if (typeof args !== "object") return "other";
    if (tool_name === "Bash") return "command";
    if (Object.hasOwn(EDITS, tool_name)) return "edit";
    if (tool_name === "task") return "agent";
    return isQuiet(this.#call) ? "quiet" : "other";
  }

  /** What the working line says while this call runs. */
  get activity() {
    const { tool_name, arguments: args } = this.#call;
    if (this.kind === "command") return `Running ${clipped(visible(args.command ?? "").split("\n")[0], 60)}`;
    if (this.kind === "edit") return `Writing ${clipped(visible(args.path ?? ""), 60)}`;
    if (this.kind === "agent") return `Sub-agent ${visible(args.agent ?? "")} is working`;
    if (this.kind === "quiet") {
      return doing(this.#call).join(" ").replace("Read ", "Reading ").replace("Searched", "Searching");
    }
    return `Running ${visible(tool_name)}`;
  }

  /** The head's words: the tool's name is there for screen readers where other words say it better. */
  #words() {
    const { tool_name, arguments: args } = this.#call;
    const name = (hidden) => h("span", { class: hidden ? "tool hidden" : "tool" }, visible(tool_name));
    if (this.kind === "command") {
      const dollar = h("span", { class: "dollar", "aria-hidden": "true" }, "$");
      return [name(true), dollar, h("code", { class: "brief" }, brief(args))];
    }
    if (this.kind === "edit") {
      const verb = h("span", { class: "verb" }, EDITS[tool_name]);
      return [name(true), verb, h("code", { class: "brief" }, visible(args.path ?? ""))];
    }
    if (this.kind === "quiet") {
      const [verb, what] = doing(this.#call);
      return [name(true), h("span", { class: "verb" }, verb), h("code", { class: "brief" }, what)];
    }
    if (this.kind === "agent") {
      const verb = h("span", { class: "verb" }, `Sub-agent ${visible(args.agent ?? "")}`);
      return [name(true), verb, h("span", { class: "brief" }, visible(args.description ?? ""))];
    }
    return [name(false), h("code", { class: "brief" }, brief(args))];
  }

  asked(question) {
    this.#become("waiting");
    const onclick = () => this.dispatchEvent(new CustomEvent("review", { bubbles: true, detail: question.id }));
    const button = h("button", { class: "review", type: "button", onclick }, icon("waiting"), "Review");
    this.#parts.verdict.replaceChildren(button);
  }

  answered(answer) {
    this.#parts.verdict.replaceChildren();
    if (answer.allowed) this.#become("proposed");
  }

  /** `at`: when, in seconds by the gateway's clock; `quiet` if that is in the past. */
  started(at, quiet) {
    this.#startedAt = at ?? 0;
    this.#become("running");
    if (quiet) return;
    this.#since = performance.now();
    const tick = () => (this.#parts.time.textContent = clock(performance.now() - this.#since));
    this.#ticker = setInterval(tick, 1000);
  }

  output(piece) {
    if (!this.#output) {
      this.#output = new Output();
      this.#parts.live.append(this.#output);
    }
    this.#output.add(piece);
  }

  result(result, quiet, at) {
    const cancelled = result.code === "CANCELLED";
    const refused = REFUSALS.has(result.code);
    // From its start on: the time that a person took to answer is not the call's.
    const ms = at && this.#startedAt ? Math.max(0, at - this.#startedAt) * 1000 : result.time_ms;
    this.#finish(cancelled ? "cancelled" : refused ? "denied" : result.status, ms);
    if (result.status === "error") this.#explain(result.message, "");
    this.#produce(result);
    for (const steps of this.#parts.nested.children) steps.open = false; // its answer is what counts now
    if (!quiet) announce(`${this.#call.tool_name}: ${WORDS[this.dataset.state]}`);
  }

  denied(denial, quiet) {
    this.#finish("denied");
    this.#explain(denial.message, denial.next_action);
    this.#details();
    if (!quiet) announce(`${this.#call.tool_name}: denied. ${denial.message}`);
  }

  /** The turn ended before the call did. */
  abandoned() {
    if (this.busy) this.#finish("cancelled");
  }

  get busy() {
    return ["proposed", "waiting", "running"].includes(this.dataset.state);
  }

  /** Return the view of the sub-agent that this call started; `onOpen` runs when its steps are opened. */
  nest({ session_id, agent, description }, onOpen, open = false) {
    let view = this.#nested.get(session_id);
    if (!view) {
      view = Card.transcript();
      this.#nested.set(session_id, view);
      const whose = ` of sub-agent ${visible(agent)}: ${visible(description)}`;
      const summary = h("summary", {}, "Steps", h("span", { class: "hidden" }, whose));
      const steps = h("details", { class: "agent", open }, summary, view);
      steps.addEventListener("toggle", () => steps.open && onOpen?.());
      this.#parts.nested.append(steps);
    }
    return view;
  }

  #become(state) {
    this.dataset.state = state;
    this.#parts.state.replaceChildren(icon(ICONS[state] ?? state), h("span", { class: "hidden" }, `${WORDS[state]}: `));
    this.dispatchEvent(new CustomEvent("state", { bubbles: true }));
  }

  #open(open) {
    const { body, toggle } = this.#parts;
    if (open && !body.childElementCount) this.#details();
    body.hidden = !open;
    toggle.setAttribute("aria-expanded", String(open));
  }

  #finish(state, ms = this.#since ? performance.now() - this.#since : 0) {
    clearInterval(this.#ticker);
    this.#parts.verdict.replaceChildren();
    this.#output?.close();
    this.#become(state);
    if (ms >= 1000 || (ms && this.kind === "command")) this.#parts.time.textContent = duration(ms);
    else this.#parts.time.textContent = "";
  }

  #explain(message, next) {
    this.#parts.verdict.replaceChildren(
      h("p", {}, h("strong", {}, `${WORDS[this.dataset.state]}. `), clipped(visible(message), 2_000)),
      ...(next ? [h("p", { class: "next" }, visible(next))] : []),
    );
  }

  /** Show the result in the form that suits it. */
  #produce(result) {
    const data = result.data ?? {};
    if (typeof data.diff === "string" && isDiff(data.diff)) this.#changed(data.diff);
    else if (this.kind === "command") this.#ran(data, result);
    else if (this.kind === "agent" && typeof data.result === "string") {
      this.#parts.live.replaceChildren(markdown(data.result, clipped(visible(data.result), MAX_TEXT)));
    } else this.#looked(data, result);
  }

  #changed(text) {
    const { added, removed } = counted(text);
    const word = (name) => h("span", { class: "hidden" }, ` lines ${name}`);
    this.#parts.mark.replaceChildren(
      h("ins", {}, `+${added}`, word("added")),
      " ",
      h("del", {}, `−${removed}`, word("removed")),
    );
    if (text.startsWith("--- /dev/null")) this.querySelector(".verb")?.replaceChildren("Create");
    this.#parts.live.replaceChildren(diff(text, SHOWN_DIFF));
  }

  /** The last lines of a command, its exit code, and a way to all of it. */
  #ran(data, result) {
    const { mark, live } = this.#parts;
    if (data.exit_code !== undefined && data.exit_code !== null) {
      mark.replaceChildren(h("span", { class: data.exit_code ? "exit bad" : "exit" }, `exit ${data.exit_code}`));
    }
    // A shortened output ends with the sentence for the model; the exit code is in the head.
    const preview = data.preview?.replace(/\n?\[Exit code \d+\.[^\n]*\]\s*$/, "");
    const whole = [preview ?? data.stdout ?? "", data.stderr ?? ""].map((text) => visible(text));
    if (whole.some(Boolean)) {
      // What was live may have gaps; the result is what a reload shows too.
      const shown = whole.map((text) => tail(text, SHOWN_LINES));
      const span = (kind, { shown: text }) => text && h("span", { class: kind }, `${clipped(text, MAX_TEXT)}\n`);
      const left = shown[0].left + shown[1].left;
      const note = left ? [h("p", { class: "note" }, `${number(left)} earlier lines`)] : [];
      live.replaceChildren(...note, pane("Output", {}, span("stdout", shown[0]), span("stderr", shown[1])));
    }
    const lines = whole.join("\n").split("\n").length;
    if (result.full_output || lines > SHOWN_LINES + 1) {
      this.#viewer("Output", result.full_output, whole.filter(Boolean).join("\n"));
    }
  }

  #looked(data, result) {
    if (result.status === "error") return;
    const text = this.#shown(data, result);
    if (!text) return;
    const place = this.kind === "quiet" ? this.#parts.body : this.#parts.live;
    const shown = clipped(visible(text), MAX_TEXT);
    const isFile = typeof data.content === "string" && this.#call.tool_name === "read_file";
    place.replaceChildren(isFile ? this.#code(shown) : pane("Output", {}, ...this.#folded(shown)));
    if (result.full_output) this.#viewer("Output", result.full_output, text);
  }

  #folded(text) {
    const lines = text.split("\n");
    if (lines.length <= 400) return [text];
    return [lines.slice(0, 400).join("\n"), `\n… ${number(lines.length - 400)} more lines`];
  }

  /** A file's lines, numbered and highlighted. */
  #code(text) {
    const rows = [];
    const place = pane("Output", { class: "code-lines" });
    const code = text.split("\n").map((line) => {
      const [, n, rest] = line.match(/^ *(\d+)\t(.*)$/) ?? [null, "", line];
      const row = h("span", { class: "line" }, rest);
      rows.push(row);
      place.append(h("span", { "data-n": n }, row, "\n"));
      return rest;
    });
    highlight(place, rows, "code", code.join("\n"), String(this.#call.arguments.path ?? ""));
    return place;
  }

  #shown(data, result) {
    if (typeof data.preview === "string") return data.preview;
    if (Array.isArray(data.matches)) return data.matches.map(match).join("\n") || result.text;
    if (Array.isArray(data.entries ?? data.paths)) {
      return (data.paths ?? data.entries.map((entry) => entry.path)).join("\n") || result.text;
    }
    return typeof data.content === "string" ? data.content : result.text;
  }

  /** Offer the whole text in a viewer: from the gateway if it was cut, else what is here. */
  #viewer(title, link, text) {
    const address = link ? new URL(link, location.href) : null;
    if (address && address.origin !== location.origin) return;
    const open = async () => {
      const { openViewer } = await import("./viewer.js");
      const load = async () => (address ? this.#whole(address) : text || this.#output?.text || "");
      openViewer({ title: brief(this.#call.arguments) || title, name: "output.txt", load });
    };
    this.#parts.more.replaceChildren(h("button", { type: "button", class: "quiet", onclick: open }, "Whole output"));
  }

  async #whole(address) {
    const answer = await get(address).catch(() => null);
    if (!answer) throw new Error("The gateway does not answer. Try again when it is connected.");
    if (!answer.ok) throw new Error((await answer.json().catch(() => ({}))).error ?? "This output cannot be loaded.");
    const text = await answer.text();
    if (!answer.headers.get("content-type")?.includes("json")) return text;
    try {
      const found = JSON.parse(text);
      const data = found.data ?? found;
      if (typeof data.stdout === "string") return [data.stdout, data.stderr].filter(Boolean).join("\n");
      return this.#shown(data, { text: outline(data) });
    } catch {
      return text; // not what its type says
    }
  }

  /** The call's arguments by name. */
  #details() {
    const args = this.#call.arguments;
    if (this.kind === "quiet" && this.#parts.body.childElementCount) return;
    const text = typeof args === "string" ? args : outline(args);
    const shown = clipped(visible(text), MAX_TEXT);
    this.#parts.body.replaceChildren(h("h4", {}, "Called with"), pane("Arguments", {}, shown));
  }
}

Card.count = 0;
/** Creates the view of a sub-agent; chat.js sets it. */
Card.transcript = null;
customElements.define("tg-card", Card);
