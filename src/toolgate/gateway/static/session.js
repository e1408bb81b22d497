// A watched session: handles each durable frame once, and updates a view.
import { Outbox } from "./outbox.js";
import { connect } from "./render.js";
import { FRAMES } from "./session_frames.js";
import { t } from "./text.js";

/** Updates its view from frames; `Transcript` in chat.js is a view. */
export class Session extends EventTarget {
  #wire;
  #children = new Map();
  #replayUntil = 0;
  #watching = false;
  /** Sub-agents whose steps are not loaded yet. */
  #unloaded = new Map();

  id;
  mode;
  view;
  outbox;
  seq = 0;
  /** The running turn: {id, at, since}, or null. */
  turn = null;
  /** The turn whose failure was shown before it was stored. */
  failed = null;
  /** The cards of the turn's calls. */
  calls = new Map();
  /** The cards that started sub-agents, by the ids of their tasks. */
  tasks = new Map();
  /** Unanswered approval requests, oldest first. */
  questions = new Map();
  todos = [];
  usage = { input_tokens: 0, output_tokens: 0 };
  /** What the model waits for: {text, until, kind}, or null. */
  retry = null;
  /** Whether the model is writing text. */
  writing = false;

  constructor(wire, id, view, parent = null) {
    super();
    this.#wire = wire;
    this.view = view;
    this.id = id;
    this.parent = parent;
    this.outbox = new Outbox(wire, this, view);
    if (parent) return;
    connect(wire);
    view.actions = this.outbox.actions;
  }

  get busy() {
    return Boolean(this.turn || this.unsent);
  }

  get root() {
    return this.parent?.root ?? this;
  }

  /** Whether the current frames are older than this page. */
  get replaying() {
    return this.seq < this.#replayUntil;
  }

  get unsent() {
    return this.outbox.unsent;
  }

  get queue() {
    return this.outbox.queue;
  }

  /** Subscribe to everything after `seq`; also after a reconnect. */
  async watch() {
    this.view.dropOpen();
    this.#watching = true;
    const answer = await this.#wire.ask("session.subscribe", {
      session_id: this.id,
      after_seq: this.seq,
      details: true,
      render: true,
    });
    this.mode = answer.mode ?? this.mode;
    this.#replayUntil = answer.seq ?? answer.last_seq ?? 0;
    this.tell("ready");
    for (const child of this.#children.values()) if (child.#watching) await child.watch();
    this.outbox.lost();
  }

  leave() {
    if (this.#watching) this.#wire.send("session.unsubscribe", { session_id: this.id });
    this.#watching = false;
    for (const child of this.#children.values()) child.leave();
  }

  /** Send a message, or queue it while a turn runs; return false without a connection. */
  send(content, pictures) {
    return this.outbox.send(content, pictures);
  }

  /** Take a queued message back. */
  unqueue(at) {
    return this.outbox.unqueue(at);
  }

  /** Say what is going on. */
  work() {
    if (this.parent) return;
    if (!this.busy) return this.view.working(null);
    const since = this.turn?.since ?? this.outbox.sentAt;
    const running = [...this.calls.values()].filter((card) => card.dataset.state === "running").at(-1);
    const state = { since, text: t`Thinking` };
    if (this.#wire.state !== "open") Object.assign(state, { text: t`Reconnecting`, kind: "waiting" });
    else if (this.questions.size) Object.assign(state, { text: this.#waitsFor, kind: "waiting" });
    else if (this.retry) Object.assign(state, this.retry);
    else if (!this.turn) state.text = t`Sending`;
    else if (running) state.text = running.activity;
    else if (this.writing) state.text = t`Writing`;
    this.view.working(state);
  }

  get #waitsFor() {
    const asks = [...this.questions.values()].every((each) => each.question);
    return asks ? t`Waiting for your answer` : t`Waiting for your approval`;
  }

  /** The connection changed. */
  connection() {
    this.work();
  }

  cancel() {
    return this.#wire.ask("chat.cancel", { session_id: this.id });
  }

  /** Answer an approval request; `more` is the rest: {remember, choice, scope, approval_mode, text}. */
  answer(id, allowed, message = "", more = {}) {
    return this.#wire.ask("approval.respond", { id, allowed, message, ...more });
  }

  /** Handle a frame; return true if it belongs to this session or a sub-agent's. */
  take(frame) {
    if (frame.session_id !== this.id) {
      if (frame.type === "error" && this.outbox.refuse(frame)) return true;
      return [...this.#children.values()].some((child) => child.take(frame));
    }
    if (frame.seq !== undefined) {
      if (frame.seq <= this.seq) return true;
      this.seq = frame.seq;
    }
    this.view.seq = frame.seq ?? this.seq;
    if (Object.hasOwn(FRAMES, frame.type)) FRAMES[frame.type](this, frame.data, frame);
    if (frame.type !== "tool_output" && !this.replaying) this.work();
    if (!this.replaying && this.#unloaded.size) this.#load();
    this.outbox.sendAgain();
    return true;
  }

  /** Show a sub-agent in the card of the call that started it. */
  nest(data) {
    const card = this.calls.get(data.call_id);
    if (!card) return;
    const known = this.#children.get(data.session_id);
    if (known) return card.adopt(known.view.closest("details"), !this.replaying);
    const view = card.nest(data, () => this.#loadChild(child), !this.replaying);
    const child = new Session(this.#wire, data.session_id, view, this);
    this.#children.set(data.session_id, child);
    if (this.replaying) this.#unloaded.set(data.session_id, card);
    else this.#loadChild(child);
  }

  /** Load the steps of sub-agents that still run; others when they are opened. */
  #load() {
    for (const [id, card] of this.#unloaded) {
      this.#unloaded.delete(id);
      if (card.busy) card.querySelector(".agent").open = true; // which loads them
    }
  }

  #loadChild(child) {
    if (child.#watching) return;
    child.watch().catch(() => {
      child.#watching = false;
      child.view.notice("error", t`This sub-agent's steps could not be loaded.`);
    });
  }

  /** Return the card of a call, here or in a sub-agent. */
  card(id) {
    return this.calls.get(id) ?? [...this.#children.values()].map((child) => child.card(id)).find(Boolean);
  }

  tell(type, detail) {
    this.dispatchEvent(new CustomEvent(type, { detail }));
  }
}
