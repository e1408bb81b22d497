// The socket: requests and their answers, frames for whoever watches, and coming back when it breaks.

const FIRST_WAIT = 250;
const LONGEST_WAIT = 10_000;
/** The token was withdrawn, or the page's key has expired. */
export const SIGNED_OUT = 4401;

export class WireError extends Error {
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

/** One connection that outlives its sockets. Events: `state` (connecting, open, closed), `frame`. */
export class Wire extends EventTarget {
  #connect;
  #socket = null;
  #wait = FIRST_WAIT;
  #timer = 0;
  #number = 0;
  #pending = new Map();
  state = "connecting";

  /** `connect` makes a WebSocket, or throws. */
  constructor(connect) {
    super();
    this.#connect = connect;
    addEventListener("online", () => this.#retryNow());
    document.addEventListener("visibilitychange", () => document.hidden || this.#retryNow());
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

  /** Stop trying. */
  close() {
    clearTimeout(this.#timer);
    this.#timer = 0;
    this.#socket = null;
  }

  /** Ask, and wait for the answer; rejects with a `WireError`. */
  ask(method, params = {}) {
    return new Promise((resolve, reject) => {
      const id = this.send(method, params);
      if (id === null) reject(new WireError("OFFLINE", "There is no connection to the gateway."));
      else this.#pending.set(id, { resolve, reject });
    });
  }

  /** Send a request and return its id; null if there is no connection. With an `id` of before, the same once more. */
  send(method, params = {}, id = `p${++this.#number}`) {
    if (this.#socket?.readyState !== WebSocket.OPEN) return null;
    this.#socket.send(JSON.stringify({ type: "request", id, method, params }));
    return id;
  }

  #opened() {
    this.#wait = FIRST_WAIT;
    this.#tell("open");
  }

  #received(frame) {
    const waiting = this.#pending.get(frame.id);
    if (waiting && (frame.type === "response" || frame.type === "error")) {
      this.#pending.delete(frame.id);
      if (frame.type === "response") waiting.resolve(frame.data);
      else waiting.reject(new WireError(frame.data.code, frame.data.message));
      return;
    }
    this.dispatchEvent(new CustomEvent("frame", { detail: frame }));
  }

  #closed(event) {
    this.#socket = null;
    for (const { reject } of this.#pending.values()) reject(new WireError("OFFLINE", "The connection was lost."));
    this.#pending.clear();
    this.#tell("closed", event.code);
    if (event.code === SIGNED_OUT) return;
    // Spread out, so that a restarted gateway is not met by everybody at once.
    this.#timer = setTimeout(() => this.open(), this.#wait * (0.75 + Math.random() / 2));
    this.#wait = Math.min(this.#wait * 2, LONGEST_WAIT);
  }

  #retryNow() {
    if (this.#timer) this.open();
  }

  #tell(state, code = 0) {
    this.state = state;
    this.dispatchEvent(new CustomEvent("state", { detail: { state, code } }));
  }
}
