// Keeps the page connected: loads everything after connecting, and says what is wrong while it cannot.
import { announce } from "./dom.js";
import * as signin from "./signin.js";
import { SIGNED_OUT } from "./wire.js";
import { t } from "./text.js";

/** Milliseconds before the next attempt when the gateway's database is unavailable. */
const RETRY_MS = 2000;
const LOST = {
  cause: t`The connection is lost.`,
  advice: t`Running turns continue; this page catches up after it reconnects.`,
};

export class Online {
  #wire;
  #banner;
  #load;
  #signedOut;
  #wasOpen = false;
  #timer = 0;

  /** `load()` loads everything; `state(state)` hears every change; `signedOut()` follows an invalid key. */
  constructor(wire, banner, { load, state, signedOut }) {
    [this.#wire, this.#banner, this.#load, this.#signedOut] = [wire, banner, load, signedOut];
    wire.addEventListener("state", ({ detail }) => {
      state(detail.state);
      if (detail.state === "open") this.#opened();
      else if (detail.state === "closed") this.#closed(detail.code);
    });
  }

  /** Show a failure, and load everything again a little later. */
  later(error) {
    this.#banner.show({ message: error.message, ...error.data });
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#banner.show(null);
      this.#arrive();
    }, RETRY_MS);
  }

  async #arrive() {
    clearTimeout(this.#timer);
    try {
      await this.#load();
    } catch (error) {
      if (error.code !== "OFFLINE") this.later(error); // without a connection, the next one starts over
    }
  }

  async #opened() {
    if (this.#wasOpen) announce(t`Connected again`);
    this.#wasOpen = true;
    this.#banner.show(null);
    signin.renew();
    await this.#arrive();
  }

  async #closed(code) {
    const known = await signin.known();
    if (known === false) return this.#signedOut();
    if (code === SIGNED_OUT) return this.#wire.open(); // this connection's key expired, and there is a newer one
    if (!this.#wasOpen || this.#wire.state === "open") return;
    this.#banner.show(LOST, [{ label: t`Reconnect now`, act: () => this.#wire.retryNow() }]);
  }
}
