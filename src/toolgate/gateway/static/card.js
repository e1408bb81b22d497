// A tool call: its head, its state while it runs, its live output, its sub-agents, and its result.
import { MAX_TEXT, activity, headWords, kindOf, showResult } from "./call.js";
import { announce, h, icon, pane } from "./dom.js";
import { Output } from "./output.js";
import { clipped, clock, duration, outline, t, visible } from "./text.js";

const WORDS = {
  proposed: t`Checking`,
  waiting: t`Waiting for your permission`,
  running: t`Running`,
  success: t`Done`,
  partial: t`Partly done`,
  error: t`Failed`,
  denied: t`Denied`,
  cancelled: t`Stopped`,
};
const QUESTION_WORDS = { waiting: t`Waiting for your answer`, success: t`Answered`, denied: t`Not answered` };
const ICONS = { proposed: "running", waiting: "waiting", running: "running" };
const REFUSALS = new Set(["APPROVAL_DENIED", "ACCESS_DENIED", "MODE_DENIED"]);

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
    parts.toggle = h("button", about, parts.state, ...headWords(this.#call), parts.mark, parts.time, icon("chevron"));
    this.setAttribute("role", "article");
    this.setAttribute("aria-label", t`Tool call ${call.tool_name}`);
    this.dataset.kind = this.kind;
    this.append(parts.toggle, parts.verdict, parts.live, parts.nested, parts.body, parts.more);
    this.#become("proposed");
    return this;
  }

  get call() {
    return this.#call;
  }

  get kind() {
    return kindOf(this.#call);
  }

  /** What the working line says while this call runs. */
  get activity() {
    return activity(this.#call);
  }

  asked(question) {
    this.#become("waiting");
    const onclick = () => this.dispatchEvent(new CustomEvent("review", { bubbles: true, detail: question.id }));
    const button = h("button", { class: "review", type: "button", onclick }, icon("waiting"), t`Review`);
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

  /** The call is answered, and what it started goes on in the background. */
  goesOn(result) {
    showResult(this.#call, result, this.#parts);
  }

  /** What the call started in the background has ended. */
  ended(result, at) {
    if (!this.busy) return;
    const ms = at && this.#startedAt ? Math.max(0, at - this.#startedAt) * 1000 : undefined;
    this.#finish(result.status, ms);
    this.#fold();
  }

  result(result, quiet, at) {
    const cancelled = result.code === "CANCELLED";
    const refused = REFUSALS.has(result.code);
    // From its start on: the time that a person took to answer is not the call's.
    const ms = at && this.#startedAt ? Math.max(0, at - this.#startedAt) * 1000 : result.time_ms;
    this.#finish(cancelled ? "cancelled" : refused ? "denied" : result.status, ms);
    if (result.status === "error") this.#explain(result.message, "");
    showResult(this.#call, result, this.#parts);
    this.#fold();
    if (!quiet) announce(`${this.#call.tool_name}: ${this.#word}`);
  }

  denied(denial, quiet) {
    this.#finish("denied");
    this.#explain(denial.message, denial.next_action);
    this.#details();
    if (!quiet) announce(`${this.#call.tool_name}: ${WORDS.denied}. ${denial.message}`);
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
      const whose = ` ${t`of sub-agent ${visible(agent)}: ${visible(description)}`}`;
      const summary = h("summary", {}, t`Steps`, h("span", { class: "hidden" }, whose));
      const steps = h("details", { class: "agent", open }, summary, view);
      steps.addEventListener("toggle", () => steps.open && onOpen?.());
      this.#parts.nested.append(steps);
    }
    return view;
  }

  /** Show the steps of a sub-agent that goes on for this call: `steps` is what `nest` made for an earlier one. */
  adopt(steps, open) {
    this.#parts.nested.append(steps);
    steps.open = open;
  }

  /** Close the steps: the answer is what counts now. */
  #fold() {
    for (const steps of this.#parts.nested.children) steps.open = false;
  }

  /** The state in words. A question is neither allowed nor denied. */
  get #word() {
    const { state } = this.dataset;
    return (this.kind === "question" && QUESTION_WORDS[state]) || WORDS[state];
  }

  #become(state) {
    this.dataset.state = state;
    this.#parts.state.replaceChildren(icon(ICONS[state] ?? state), h("span", { class: "hidden" }, `${this.#word}: `));
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
      h("p", {}, h("strong", {}, `${this.#word}. `), clipped(visible(message), 2_000)),
      ...(next ? [h("p", { class: "next" }, visible(next))] : []),
    );
  }

  /** The call's arguments by name. */
  #details() {
    const args = this.#call.arguments;
    if (this.kind === "quiet" && this.#parts.body.childElementCount) return;
    const text = typeof args === "string" ? args : outline(args);
    const shown = clipped(visible(text), MAX_TEXT);
    this.#parts.body.replaceChildren(h("h4", {}, t`Called with`), pane(t`Arguments`, {}, shown));
  }
}

Card.count = 0;
/** Creates the view of a sub-agent; chat.js sets it. */
Card.transcript = null;
customElements.define("tg-card", Card);
