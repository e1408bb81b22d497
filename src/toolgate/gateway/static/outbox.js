// What a person sends to a session: each message once, a queue while a turn runs, and requests to go back.

export class Outbox {
  #wire;
  #session;
  #view;
  /** Requests whose answer is a turn, and the text that would be lost if they are refused. */
  #asked = new Map();
  /** The message that was sent and is not in the log yet: {content, request_id, id, lost}. */
  unsent = null;
  /** When it was sent. */
  sentAt = 0;
  /** Messages that wait for the end of the turn. */
  queue = [];

  constructor(wire, session, view) {
    [this.#wire, this.#session, this.#view] = [wire, session, view];
  }

  /** What people can do with their messages. */
  get actions() {
    return {
      retry: () => this.#again("chat.retry", {}),
      resend: (content) => this.#again("chat.resend", { content }),
      rewind: (seq, files, text) => this.#rewind(seq, files, text),
      fork: (seq) => this.#fork(seq),
    };
  }

  /** Send a message, or queue it while a turn runs; return false without a connection. */
  send(content) {
    if (this.#session.busy) {
      this.queue.push(content);
      this.#session.tell("queue");
      return true;
    }
    const request_id = crypto.randomUUID();
    const id = this.#wire.send("chat.send", { session_id: this.#session.id, content, request_id });
    if (id === null) return false;
    this.unsent = { content, request_id, id, lost: false };
    this.#view.user(content, true);
    this.sentAt = Date.now();
    this.#session.tell("turn");
    this.#session.work();
    return true;
  }

  /** Take a queued message back. */
  unqueue(at) {
    const [content] = this.queue.splice(at, 1);
    this.#session.tell("queue");
    return content;
  }

  /** Send the next queued message after a turn; after one that did not end well, the person decides. */
  next(status) {
    if (!this.queue.length) return;
    if (status === "done") this.send(this.queue.shift());
    else this.#session.tell("returned", this.queue.splice(0).join("\n\n"));
    this.#session.tell("queue");
  }

  /** The message is in the log. */
  arrived() {
    if (!this.unsent) return;
    this.unsent = null;
    this.#view.dropUnsent();
  }

  /** The connection broke: the message may be lost. */
  lost() {
    if (this.unsent) this.unsent.lost = true;
    this.sendAgain();
  }

  /** Repeat a message after the connection broke. The same request never starts a second turn. */
  sendAgain() {
    if (!this.unsent?.lost || this.#session.replaying) return;
    const { content, request_id, id } = this.unsent;
    Object.assign(this.unsent, { lost: false, again: true });
    this.#wire.send("chat.send", { session_id: this.#session.id, content, request_id }, id);
  }

  /** Handle an error; return true if it answers a request from here. */
  refuse({ id, data }) {
    if (this.unsent && id === this.unsent.id) this.#refused(data);
    else if (this.#asked.has(id)) this.#notAgain(id, data);
    else return false;
    return true;
  }

  #refused(error) {
    const { content, again } = this.unsent;
    if (again && error.code === "INVALID_PARAMS") return; // it had arrived after all
    this.arrived();
    this.#session.tell("refused", { content, error });
    this.#session.tell("turn");
  }

  #notAgain(id, error) {
    const content = this.#asked.get(id);
    this.#asked.delete(id);
    if (content) this.#session.tell("refused", { content, error });
    else this.#session.tell("failed", error);
  }

  /** Take the last turn again, with the same words or others. */
  #again(method, params) {
    const id = this.#wire.send(method, { session_id: this.#session.id, ...params });
    if (id !== null) this.#asked.set(id, params.content ?? "");
  }

  async #rewind(seq, files, text) {
    try {
      const answer = await this.#wire.ask("session.rewind", { session_id: this.#session.id, seq, files });
      this.#session.tell("rewound", { text, files: answer.files });
    } catch (error) {
      this.#session.tell("failed", error);
    }
  }

  async #fork(seq) {
    try {
      const answer = await this.#wire.ask("session.fork", { session_id: this.#session.id, seq });
      this.#session.tell("forked", answer.session_id);
    } catch (error) {
      this.#session.tell("failed", error);
    }
  }
}
