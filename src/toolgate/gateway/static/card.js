// A tool call as a card: its arguments, live output, result, and the complete envelope.
import { announce, h, icon, pane } from "./dom.js";
import { diff, isDiff } from "./diff.js";
import { Output } from "./output.js";
import { get } from "./signin.js";
import { brief, clipped, clock, duration, visible } from "./text.js";

const MAX_TEXT = 20_000;
/** Milliseconds for which the copy of a complete output is kept for the tab that shows it. */
const KEEP_MS = 600_000;
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

/** Format a match as grep prints it, or a note as it was stored. */
function match(one) {
  return one.file === undefined ? String(one.content ?? JSON.stringify(one)) : `${one.file}:${one.line}: ${one.text}`;
}

function section(name, text) {
  return h("section", {}, h("h4", {}, name), pane(name, {}, clipped(visible(text), MAX_TEXT)));
}

export class Card extends HTMLElement {
  #call;
  #output = null;
  #since = 0;
  #ticker = 0;
  #nested = new Map();
  #parts;

  /** Build the card of a call. */
  show(call) {
    this.#call = call;
    const id = `card-${++Card.count}`;
    this.#parts = {
      state: h("span", { class: "state" }),
      time: h("span", { class: "time" }),
      toggle: null,
      body: h("div", { class: "body", id, hidden: true }),
      live: h("div", { class: "live" }),
      verdict: h("div", { class: "verdict" }),
      nested: h("div", { class: "nested" }),
      more: h("div", { class: "more" }),
    };
    const parts = this.#parts;
    const open = () => this.#open(parts.body.hidden);
    parts.toggle = h(
      "button",
      { class: "head", type: "button", "aria-expanded": "false", "aria-controls": id, onclick: open },
      parts.state,
      h("span", { class: "tool" }, visible(call.tool_name)),
      h("span", { class: "brief" }, brief(call.arguments)),
      parts.time,
      icon("chevron"),
    );
    parts.body.append(this.#arguments());
    this.setAttribute("role", "article");
    this.setAttribute("aria-label", `Tool call ${call.tool_name}`);
    this.append(parts.toggle, parts.verdict, parts.nested, parts.live, parts.body, parts.more);
    this.#become("proposed");
    return this;
  }

  asked(question) {
    this.#become("waiting");
    const onclick = () => this.dispatchEvent(new CustomEvent("review", { bubbles: true, detail: question.id }));
    const review = h("button", { class: "review", type: "button", onclick }, icon("waiting"), "Review");
    this.#parts.verdict.replaceChildren(h("p", {}, visible(question.summary)), review);
  }

  answered(answer) {
    this.#parts.verdict.replaceChildren();
    if (answer.allowed) this.#become("proposed");
  }

  started() {
    this.#since = performance.now();
    this.#become("running");
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

  result(result, quiet) {
    const cancelled = result.code === "CANCELLED";
    const refused = REFUSALS.has(result.code);
    this.#finish(cancelled ? "cancelled" : refused ? "denied" : result.status, result.time_ms);
    if (result.status === "error") this.#explain(result.message, "");
    this.#produce(result);
    if (quiet) for (const agent of this.#parts.nested.children) agent.open = false;
    this.#envelope(result);
    if (!quiet) announce(`${this.#call.tool_name}: ${WORDS[this.dataset.state]}`);
  }

  denied(denial, quiet) {
    this.#finish("denied");
    this.#explain(denial.message, denial.next_action);
    this.#envelope(denial);
    if (!quiet) announce(`${this.#call.tool_name}: denied. ${denial.message}`);
  }

  /** The turn ended before the call did. */
  abandoned() {
    if (["proposed", "waiting", "running"].includes(this.dataset.state)) this.#finish("cancelled");
  }

  /** Return the view of the sub-agent that this call started. */
  nest({ session_id, agent, description }) {
    let view = this.#nested.get(session_id);
    if (!view) {
      view = Card.transcript();
      this.#nested.set(session_id, view);
      const summary = h("summary", {}, `Sub-agent ${visible(agent)}`, h("span", {}, visible(description)));
      this.#parts.nested.append(h("details", { class: "agent", open: true }, summary, view));
    }
    return view;
  }

  #become(state) {
    this.dataset.state = state;
    this.#parts.state.replaceChildren(icon(ICONS[state] ?? state), h("span", { class: "hidden" }, `${WORDS[state]}: `));
  }

  #open(open) {
    this.#parts.body.hidden = !open;
    this.#parts.toggle.setAttribute("aria-expanded", String(open));
  }

  #finish(state, ms = this.#since ? performance.now() - this.#since : 0) {
    clearInterval(this.#ticker);
    this.#parts.verdict.replaceChildren();
    this.#output?.close();
    this.#become(state);
    if (ms) this.#parts.time.textContent = duration(ms);
  }

  #explain(message, next) {
    this.#parts.verdict.replaceChildren(
      h("p", {}, h("strong", {}, `${WORDS[this.dataset.state]}. `), clipped(visible(message), 2_000)),
      next && h("p", { class: "next" }, visible(next)),
    );
  }

  /** Show the result in the format that suits it. */
  #produce(result) {
    const data = result.data ?? {};
    if (typeof data.diff === "string" && isDiff(data.diff)) this.#parts.live.replaceChildren(diff(data.diff));
    else if (!this.#output) {
      const shown = this.#shown(data, result).filter(([, text]) => text);
      const spans = shown.map(([kind, text]) => h("span", { class: kind }, clipped(visible(text), MAX_TEXT)));
      if (spans.length) this.#parts.live.replaceChildren(pane("Output", {}, ...spans));
    }
    if (result.full_output) {
      const address = new URL(result.full_output, location.href);
      if (address.origin === location.origin) {
        const open = (event) => this.#openOutput(event, address);
        const about = { href: address.href, target: "_blank", onclick: open, onauxclick: open };
        this.#parts.more.append(h("a", about, "Whole output"));
      }
    }
  }

  /** Show the complete output in a new tab. It is fetched here, because a tab cannot send the page's key. */
  async #openOutput(event, address) {
    event.preventDefault();
    const tab = open("", "_blank");
    const answer = await get(address).catch(() => null);
    const said = answer?.ok ? await answer.blob() : ((await answer?.json())?.error ?? "The gateway does not answer.");
    const copy = URL.createObjectURL(new Blob([said], { type: "text/plain;charset=utf-8" }));
    if (tab) tab.location.replace(copy);
    setTimeout(() => URL.revokeObjectURL(copy), KEEP_MS);
  }

  /** Return pairs of a class and a text. */
  #shown(data, result) {
    if (result.status === "error" || Array.isArray(data.items) || this.#nested.size) return [];
    if (typeof data.preview === "string") return [["", data.preview]];
    if (typeof data.stdout === "string") return [["stdout", data.stdout], ["stderr", data.stderr]];
    if (Array.isArray(data.matches)) return [["", data.matches.map(match).join("\n") || result.text]];
    if (Array.isArray(data.entries ?? data.paths)) {
      return [["", (data.paths ?? data.entries.map((entry) => entry.path)).join("\n") || result.text]];
    }
    return [["", typeof data.content === "string" ? data.content : result.text]];
  }

  #arguments() {
    const args = this.#call.arguments;
    return section("Arguments", typeof args === "string" ? args : JSON.stringify(args, null, 2));
  }

  #envelope(envelope) {
    this.#parts.body.append(section("Envelope", JSON.stringify(envelope, null, 2)));
  }
}

Card.count = 0;
/** Creates the view of a sub-agent; chat.js sets it. */
Card.transcript = null;
customElements.define("tg-card", Card);
