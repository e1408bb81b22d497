// A watched session: handles each durable frame once, and updates a view.

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

  constructor(wire, id, view, parent = null) {
    super();
    this.#wire = wire;
    this.#view = view;
    this.id = id;
    this.parent = parent;
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
    for (const child of this.#children.values()) await child.watch();
    if (this.unsent) this.unsent.lost = true;
    this.#sendAgain();
  }

  leave() {
    if (this.#watching) this.#wire.send("session.unsubscribe", { session_id: this.id });
    this.#watching = false;
    for (const child of this.#children.values()) child.leave();
  }

  /** Send a message; return false without a connection. */
  send(content) {
    const request_id = crypto.randomUUID();
    const id = this.#wire.send("chat.send", { session_id: this.id, content, request_id });
    if (id === null) return false;
    this.unsent = { content, request_id, id, lost: false };
    this.#view.user(content, true);
    this.#tell("turn");
    return true;
  }

  cancel() {
    return this.#wire.ask("chat.cancel", { session_id: this.id });
  }

  answer(id, allowed, message = "", remember = false) {
    return this.#wire.ask("approval.respond", { id, allowed, message, remember });
  }

  /** Handle a frame; return true if it belongs to this session or a sub-agent's. */
  take(frame) {
    if (frame.session_id !== this.id) {
      if (frame.type === "error" && this.unsent && frame.id === this.unsent.id) return this.#refused(frame.data);
      return [...this.#children.values()].some((child) => child.take(frame));
    }
    if (frame.seq !== undefined) {
      if (frame.seq <= this.seq) return true;
      this.seq = frame.seq;
    }
    this[`_${frame.type}`]?.(frame.data, frame);
    this.#sendAgain();
    return true;
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
    this.turn = { id: frame.turn_id, since: Math.min(Date.now(), madeAt(frame.turn_id)) };
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
    this.#view.patch(data.patches);
  }

  _text_end() {
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
    this.#view.ending({ status: "failed", message: data.message });
  }

  _tool_call(data, frame) {
    const card = this.#view.call(data);
    this.#calls.set(data.call_id, card);
    for (const question of this.root.questions.values()) {
      if (this.parent && question.agent && question.call_id === data.call_id) card.asked(question);
    }
    if (!this.turn && frame.turn_id) this._turn_started({}, frame);
  }

  _tool_started(data) {
    this.#calls.get(data.call_id)?.started();
  }

  _tool_output(data) {
    this.#calls.get(data.call_id)?.output(data);
  }

  _tool_result(data) {
    this.#calls.get(data.call_id)?.result(data, this.replaying);
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
    const saved = data.before_tokens - data.after_tokens;
    this.#view.notice("info", `Older steps were removed from the model's context (about ${saved} tokens).`);
  }

  _agent_started(data) {
    const card = this.#calls.get(data.call_id);
    if (!card || this.#children.has(data.session_id)) return;
    const child = new Session(this.#wire, data.session_id, card.nest(data), this);
    this.#children.set(data.session_id, child);
    child.watch().catch(() => card.nest(data).notice("error", "This sub-agent's steps could not be loaded."));
  }

  _turn_finished(data, frame) {
    this.usage.input_tokens += data.usage.input_tokens;
    this.usage.output_tokens += data.usage.output_tokens;
    this.#view.endText(this.replaying);
    if (data.status !== "done" && this.#failed !== frame.turn_id) this.#view.ending(data);
    this.#ended();
    this.#tell("usage");
  }

  #ended() {
    if (!this.turn) return;
    this.turn = null;
    for (const card of this.#calls.values()) card.abandoned();
    this.#calls.clear();
    this.#tell("turn");
  }
}
