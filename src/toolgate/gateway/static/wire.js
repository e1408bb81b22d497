// The socket: requests and responses, frames for watchers, and reconnecting.
import { t } from "./text.js";

const MIN_DELAY_MS = 250;
const MAX_DELAY_MS = 10_000;
/** Close code: the token was revoked, or the page's key has expired. */
export const SIGNED_OUT = 4401;

export class WireError extends Error {
  constructor(code, message, data = {}) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

/** A connection that reconnects. Events: `state` (connecting, open, closed), `frame`. */
export class Wire extends EventTarget {
  #connect;
  #socket = null;
  #wait = MIN_DELAY_MS;
  #timer = 0;
  #number = 0;
  #pending = new Map();
  /** Methods that this gateway does not have. */
  #unknown = new Set();
  state = "connecting";

  /** `connect` creates a WebSocket, or throws. */
  constructor(connect) {
    super();
    this.#connect = connect;
    addEventListener("online", () => this.retryNow());
    document.addEventListener("visibilitychange", () => document.hidden || this.retryNow());
  }

  open() {
    clearTimeout(this.#timer);
    this.#timer = 0;
    this.#tell("connecting");
    const socket = (this.#socket = this.#connect());
    socket.addEventListener("open", () => this.#opened());
    socket.addEventListener("message", (event) => this.#received(JSON.parse(event.data)));
    socket.addEventListener("close", (event) => socket === this.#socket && this.#closed(event));
  }

  /** Stop reconnecting. */
  close() {
    clearTimeout(this.#timer);
    this.#timer = 0;
    this.#socket = null;
  }

  /** Send a request and wait for the response; rejects with a `WireError`. */
  ask(method, params = {}) {
    return new Promise((resolve, reject) => {
      const id = this.send(method, params);
      if (id === null) reject(new WireError("OFFLINE", t`There is no connection to the gateway.`));
      else this.#pending.set(id, { resolve, reject });
    });
  }

  /** Like `ask`, but null if the gateway does not have the method. */
  async optional(method, params = {}) {
    if (this.#unknown.has(method)) return null;
    try {
      return await this.ask(method, params);
    } catch (error) {
      if (error.code !== "METHOD_NOT_FOUND") throw error;
      this.#unknown.add(method);
      return null;
    }
  }

  /** Send a request and return its id; null without a connection. An earlier `id` repeats that request. */
  send(method, params = {}, id = `p${++this.#number}`) {
    if (this.#socket?.readyState !== WebSocket.OPEN) return null;
    this.#socket.send(JSON.stringify({ type: "request", id, method, params }));
    return id;
  }

  #opened() {
    this.#unknown.clear(); // it may be another gateway
    this.#wait = MIN_DELAY_MS;
    this.#tell("open");
  }

  #received(frame) {
    const waiting = this.#pending.get(frame.id);
    if (waiting && (frame.type === "response" || frame.type === "error")) {
      this.#pending.delete(frame.id);
      if (frame.type === "response") waiting.resolve(frame.data);
      else waiting.reject(new WireError(frame.data.code, frame.data.message, frame.data));
      return;
    }
    this.dispatchEvent(new CustomEvent("frame", { detail: frame }));
  }

  #closed(event) {
    this.#socket = null;
    for (const { reject } of this.#pending.values()) reject(new WireError("OFFLINE", t`The connection was lost.`));
    this.#pending.clear();
    this.#tell("closed", event.code);
    if (event.code === SIGNED_OUT) return;
    // Random delays, so that not all pages reconnect to a restarted gateway at once.
    this.#timer = setTimeout(() => this.open(), this.#wait * (0.75 + Math.random() / 2));
    this.#wait = Math.min(this.#wait * 2, MAX_DELAY_MS);
  }

  /** Try to connect now instead of later. */
  retryNow() {
    if (this.#timer) this.open();
  }

  #tell(state, code = 0) {
    this.state = state;
    this.dispatchEvent(new CustomEvent("state", { detail: { state, code } }));
  }
}
