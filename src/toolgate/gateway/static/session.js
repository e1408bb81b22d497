// A watched session: handles each durable frame once, and updates a view.
import { markdown, connect } from "./render.js";
import { number, visible } from "./text.js";

/** Return when an id was created, in milliseconds: a UUIDv7 starts with its timestamp. */
function madeAt(id) {
  return Number.parseInt(String(id).replaceAll("-", "").slice(0, 12), 16) || Date.now();
}

/** Updates its view from frames; `Transcript` in chat.js is a view. */
export class Session extends EventTarget {
  #wire;
  #view;
  #calls = new Map();
  #children = new Map();
  #replayUntil = 0;
  #watching = false;
  /** The turn whose failure was shown before it was stored. */
  #failed = null;

  id;
  mode;
  seq = 0;
  /** The running turn: {id, since}, or null. */
  turn = null;
  /** Unanswered approval requests, oldest first. */
  questions = new Map();
  todos = [];
  usage = { input_tokens: 0, output_tokens: 0 };
  /** The message that was sent and is not in the log yet: {content, request_id, id, lost}. */
  unsent = null;
  /** Messages that wait for the end of the turn. */
  queue = [];
  #retry = null;
  #writing = false;
  /** Sub-agents whose steps are not loaded yet. */
  #unloaded = new Map();

  constructor(wire, id, view, parent = null) {
    super();
    this.#wire = wire;
    this.#view = view;
    this.id = id;
    this.parent = parent;
    if (parent) return;
    connect(wire);
    view.actions = {
      retry: () => this.#again("chat.retry", {}),
      resend: (content) => this.#again("chat.resend", { content }),
      rewind: (seq, files, text) => this.#rewind(seq, files, text),
      fork: (seq) => this.#fork(seq),
    };
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

  /** Subscribe to everything after `seq`; also after a reconnect. */
  async watch() {
    this.#view.dropOpen();
    this.#watching = true;
    const answer = await this.#wire.ask("session.subscribe", {
      session_id: this.id,
      after_seq: this.seq,
      details: true,
      render: true,
    });
    this.mode = answer.mode ?? this.mode;
    this.#replayUntil = answer.seq ?? answer.last_seq ?? 0;
    this.#tell("ready");
    for (const child of this.#children.values()) if (child.#watching) await child.watch();
    if (this.unsent) this.unsent.lost = true;
    this.#sendAgain();
  }

  leave() {
    if (this.#watching) this.#wire.send("session.unsubscribe", { session_id: this.id });
    this.#watching = false;
    for (const child of this.#children.values()) child.leave();
  }

  /** Send a message, or queue it while a turn runs; return false without a connection. */
  send(content) {
    if (this.busy) {
      this.queue.push(content);
      this.#tell("queue");
      return true;
    }
    const request_id = crypto.randomUUID();
    const id = this.#wire.send("chat.send", { session_id: this.id, content, request_id });
    if (id === null) return false;
    this.unsent = { content, request_id, id, lost: false };
    this.#view.user(content, true);
    this.#sentAt = Date.now();
    this.#tell("turn");
    this.#work();
    return true;
  }

  #sentAt = 0;

  /** Take a queued message back. */
  unqueue(at) {
    const [content] = this.queue.splice(at, 1);
    this.#tell("queue");
    return content;
  }

  /** Send the next queued message after a turn; after one that did not end well, the person decides. */
  #next(status) {
    if (!this.queue.length) return;
    if (status === "done") this.send(this.queue.shift());
    else this.#tell("returned", this.queue.splice(0).join("\n\n"));
    this.#tell("queue");
  }

  /** Take the last turn again, with the same words or others. */
  #again(method, params) {
    const id = this.#wire.send(method, { session_id: this.id, ...params });
    if (id !== null) this.#asked.set(id, params.content ?? "");
  }

  /** Requests whose answer is a turn, and the text that would be lost if they are refused. */
  #asked = new Map();

  async #rewind(seq, files, text) {
    try {
      const answer = await this.#wire.ask("session.rewind", { session_id: this.id, seq, files });
      this.#tell("rewound", { text, files: answer.files });
    } catch (error) {
      this.#tell("failed", error);
    }
  }

  async #fork(seq) {
    try {
      const answer = await this.#wire.ask("session.fork", { session_id: this.id, seq });
      this.#tell("forked", answer.session_id);
    } catch (error) {
      this.#tell("failed", error);
    }
  }

  /** Say what is going on. */
  #work() {
    if (this.parent) return;
    if (!this.busy) return this.#view.working(null);
    const since = this.turn?.since ?? this.#sentAt;
    const running = [...this.#calls.values()].filter((card) => card.dataset.state === "running").at(-1);
    const state = { since, text: "Thinking" };
    if (this.#wire.state !== "open") Object.assign(state, { text: "Reconnecting", kind: "waiting" });
    else if (this.questions.size) Object.assign(state, { text: "Waiting for your approval", kind: "waiting" });
    else if (this.#retry) Object.assign(state, this.#retry);
    else if (!this.turn) state.text = "Sending";
    else if (running) state.text = running.activity;
    else if (this.#writing) state.text = "Writing";
    this.#view.working(state);
  }

  /** The connection changed. */
  connection() {
    this.#work();
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
      if (frame.type === "error" && this.unsent && frame.id === this.unsent.id) return this.#refused(frame.data);
      if (frame.type === "error" && this.#asked.has(frame.id)) return this.#notAgain(frame);
      return [...this.#children.values()].some((child) => child.take(frame));
    }
    if (frame.seq !== undefined) {
      if (frame.seq <= this.seq) return true;
      this.seq = frame.seq;
    }
    this.#view.seq = frame.seq ?? this.seq;
    this[`_${frame.type}`]?.(frame.data, frame);
    if (frame.type !== "tool_output" && !this.replaying) this.#work();
    if (!this.replaying && this.#unloaded.size) this.#load();
    this.#sendAgain();
    return true;
  }

  #notAgain(frame) {
    const content = this.#asked.get(frame.id);
    this.#asked.delete(frame.id);
    if (content) this.#tell("refused", { content, error: frame.data });
    else this.#tell("failed", frame.data);
    return true;
  }

  /** Load the steps of sub-agents that still run; others when they are opened. */
  #load() {
    for (const [id, { child, card }] of this.#unloaded) {
      this.#unloaded.delete(id);
      if (card.busy) card.querySelector(".agent").open = true; // which loads them
    }
  }

  #loadChild(child, card) {
    if (child.#watching) return;
    child.watch().catch(() => {
      child.#watching = false;
      child.#view.notice("error", "This sub-agent's steps could not be loaded.");
    });
  }

  /** Return the card of a call, here or in a sub-agent. */
  #card(id) {
    return this.#calls.get(id) ?? [...this.#children.values()].map((child) => child.#card(id)).find(Boolean);
  }

  #tell(type, detail) {
    this.dispatchEvent(new CustomEvent(type, { detail }));
  }

  #refused(error) {
    const { content, again } = this.unsent;
    if (again && error.code === "INVALID_PARAMS") return true; // it had arrived after all
    this.unsent = null;
    this.#view.dropUnsent();
    this.#tell("refused", { content, error });
    this.#tell("turn");
    return true;
  }

  /** Repeat a message after the connection broke. The same request never starts a second turn. */
  #sendAgain() {
    if (!this.unsent?.lost || this.replaying) return;
    const { content, request_id, id } = this.unsent;
    Object.assign(this.unsent, { lost: false, again: true });
    this.#wire.send("chat.send", { session_id: this.id, content, request_id }, id);
  }

  _turn_started(_data, frame) {
    const at = frame.at ? frame.at * 1000 : madeAt(frame.turn_id);
    this.turn = { id: frame.turn_id, at, since: this.replaying ? Math.min(Date.now(), at) : Date.now() };
    this.#writing = false;
    this.#tell("turn");
  }

  _user_message(data) {
    if (this.unsent) {
      this.unsent = null;
      this.#view.dropUnsent();
    }
    this.#view.user(data.content, false);
    this.#tell("said", data.content);
  }

  _markdown(data) {
    this.#writing = true;
    this.#retry = null;
    this.#view.patch(data.patches);
  }

  _text_end() {
    this.#writing = false;
    this.#view.endText(this.replaying);
  }

  _stream_chunk(data, frame) {
    if (data.done && frame.turn_id === this.turn?.id) this.#ended();
  }

  /** Show the failure of a turn whose end is not stored yet; otherwise `turn_finished` has shown it. */
  _error(data, frame) {
    if (!this.turn || frame.turn_id !== this.turn.id) return;
    this.#failed = this.turn.id;
    this.#view.endText(this.replaying);
    this.#view.ending({ ...data, status: "failed" });
  }

  _tool_call(data, frame) {
    const card = this.#view.call(data);
    this.#calls.set(data.call_id, card);
    for (const question of this.root.questions.values()) {
      if (this.parent && question.agent && question.call_id === data.call_id) card.asked(question);
    }
    if (!this.turn && frame.turn_id) this._turn_started({}, frame);
  }

  _tool_started(data, frame) {
    this.#calls.get(data.call_id)?.started(frame.at, this.replaying);
  }

  _model_retry({ attempt, of, seconds, code, message }) {
    const why = /rate|429|limit/i.test(`${code} ${message}`) ? "Rate-limited" : "The model did not answer";
    const text = `${why}, retrying in {s} (${attempt} of ${of})`;
    this.#retry = { text, until: Date.now() + seconds * 1000, kind: "waiting" };
  }

  _activity({ text }) {
    this.#retry = text ? { text: visible(text) } : null;
  }

  _rewound({ to_seq }) {
    this.#view.rewind(to_seq);
    this.#calls.clear();
    this.questions.clear();
  }

  _approval_mode(data) {
    this.#tell("approval_mode", data.approval_mode);
  }

  _tool_output(data) {
    this.#calls.get(data.call_id)?.output(data);
  }

  _tool_result(data, frame) {
    this.#calls.get(data.call_id)?.result(data, this.replaying, frame.at);
  }

  _tool_denied(data) {
    this.#calls.get(data.call_id)?.denied(data, this.replaying);
  }

  _approval_request(data) {
    this.questions.set(data.id, data);
    this.#card(data.call_id)?.asked(data);
    this.root.#tell("question", { session: this, question: data });
  }

  _approval_resolved(data) {
    const question = this.questions.get(data.id);
    this.questions.delete(data.id);
    if (question) this.#card(question.call_id)?.answered(data);
    this.root.#tell("resolved", { id: data.id, answer: data });
  }

  _todos(data) {
    this.todos = data.items;
    this.#tell("todos");
  }

  _compacted(data) {
    const saved = number(data.before_tokens - data.after_tokens);
    const byModel = data.by === "model";
    const words = byModel ? "Older steps were summarised" : "Older steps were removed from the model's context";
    const more = data.summary ? markdown(data.summary, visible(data.summary)) : null;
    this.#view.notice("info", `${words} (about ${saved} tokens).`, more);
  }

  _agent_started(data) {
    const card = this.#calls.get(data.call_id);
    if (!card || this.#children.has(data.session_id)) return;
    const view = card.nest(data, () => this.#loadChild(child, card), !this.replaying);
    const child = new Session(this.#wire, data.session_id, view, this);
    this.#children.set(data.session_id, child);
    if (this.replaying) this.#unloaded.set(data.session_id, { child, card });
    else this.#loadChild(child, card);
  }

  _turn_finished(data, frame) {
    this.usage.input_tokens += data.usage.input_tokens;
    this.usage.output_tokens += data.usage.output_tokens;
    this.#view.endText(this.replaying);
    if (data.status !== "done" && this.#failed !== frame.turn_id) this.#view.ending(data);
    else if (this.turn && frame.at) this.#view.took(frame.at * 1000 - this.turn.at);
    const over = this.turn !== null;
    this.#ended();
    this.#tell("usage");
    if (over && !this.replaying) this.#next(data.status);
  }

  #ended() {
    if (!this.turn) return;
    this.turn = this.#retry = null;
    this.#writing = false;
    for (const card of this.#calls.values()) card.abandoned();
    this.#calls.clear();
    this.#tell("turn");
  }
}
