// What a person sends to a session: each message once, a queue while a turn runs, and requests to go back.
import { uploaded } from "./attachments.js";

export class Outbox {
  #wire;
  #session;
  #view;
  /** Requests whose answer is a turn, and the text that would be lost if they are refused. */
  #asked = new Map();
  /** The message that was sent and is not in the log yet: {content, pictures, images, request_id, id, lost}. */
  unsent = null;
  /** When it was sent. */
  sentAt = 0;
  /** Messages that wait for the end of the turn: {content, pictures}. */
  queue = [];

  constructor(wire, session, view) {
    [this.#wire, this.#session, this.#view] = [wire, session, view];
  }

  /** What people can do with their messages. */
  get actions() {
    return {
      retry: () => this.#again("chat.retry", {}),
      resend: (content) => this.#again("chat.resend", { content }),
      rewind: (seq, files, said) => this.#rewind(seq, files, said),
      fork: (seq) => this.#fork(seq),
    };
  }

  /** Send a message, or queue it while a turn runs; return false without a connection. */
  send(content, pictures = []) {
    if (this.#session.busy) {
      this.queue.push({ content, pictures });
      this.#session.tell("queue");
      return true;
    }
    if (this.#wire.state !== "open") return false;
    const message = { content, pictures, request_id: crypto.randomUUID(), lost: false };
    this.unsent = message;
    if (pictures.length) this.#upload(message);
    else this.#deliver(message);
    this.#view.user(content, true, pictures);
    this.sentAt = Date.now();
    this.#session.tell("turn");
    this.#session.work();
    return true;
  }

  async #upload(message) {
    try {
      message.images = await uploaded(this.#session.id, message.pictures);
      this.#deliver(message);
    } catch (error) {
      this.#refused({ message: error.message });
    }
  }

  #deliver(message) {
    const { content, images, request_id, id } = message;
    const params = { session_id: this.#session.id, content, request_id, ...(images && { images }) };
    message.id = this.#wire.send("chat.send", params, id) ?? undefined;
    message.lost = message.id === undefined;
  }

  /** Take a queued message back. */
  unqueue(at) {
    const [message] = this.queue.splice(at, 1);
    this.#session.tell("queue");
    return message;
  }

  /** Send the next queued message after a turn; after one that did not end well, the person decides. */
  next(status) {
    if (!this.queue.length) return;
    if (status === "done") {
      const { content, pictures } = this.queue.shift();
      this.send(content, pictures);
    } else {
      const waiting = this.queue.splice(0);
      const content = waiting.map((one) => one.content).join("\n\n");
      this.#session.tell("returned", { content, pictures: waiting.flatMap((one) => one.pictures) });
    }
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
    if (this.unsent?.id) this.unsent.lost = true;
    this.sendAgain();
  }

  /** Repeat a message after the connection broke. The same request never starts a second turn. */
  sendAgain() {
    if (!this.unsent?.lost || this.#session.replaying) return;
    this.unsent.again = this.unsent.id !== undefined;
    this.#deliver(this.unsent);
  }

  /** Handle an error; return true if it answers a request from here. */
  refuse({ id, data }) {
    if (this.unsent && id === this.unsent.id) this.#refused(data);
    else if (this.#asked.has(id)) this.#notAgain(id, data);
    else return false;
    return true;
  }

  #refused(error) {
    const { content, pictures, again } = this.unsent;
    if (again && error.code === "INVALID_PARAMS") return; // it had arrived after all
    this.arrived();
    this.#session.tell("refused", { content, pictures, error });
    this.#session.tell("turn");
  }

  #notAgain(id, error) {
    const content = this.#asked.get(id);
    this.#asked.delete(id);
    if (content) this.#session.tell("refused", { content, pictures: [], error });
    else this.#session.tell("failed", error);
  }

  /** Take the last turn again, with the same words or others. */
  #again(method, params) {
    const id = this.#wire.send(method, { session_id: this.#session.id, ...params });
    if (id !== null) this.#asked.set(id, params.content ?? "");
  }

  async #rewind(seq, files, said) {
    try {
      const answer = await this.#wire.ask("session.rewind", { session_id: this.#session.id, seq, files });
      this.#session.tell("rewound", { ...said, files: answer.files });
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
