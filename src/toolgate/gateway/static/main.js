// The page: signs in, connects, and shows the session in the URL.
import { announce, h } from "./dom.js";
import { Session } from "./session.js";
import * as signin from "./signin.js";
import { SIGNED_OUT, Wire } from "./wire.js";
import { Transcript, welcome } from "./chat.js";
import "./approval.js";
import "./composer.js";
import "./modes.js";
import "./sidebar.js";
import "./title.js";
import "./todos.js";

const find = (selector) => document.querySelector(selector);
const parts = {
  sidebar: find("tg-sidebar"),
  chat: find("tg-chat"),
  composer: find("tg-composer"),
  mode: find("tg-mode"),
  todos: find("tg-todos"),
  counters: find("tg-counters"),
  banner: find(".banner"),
  pending: find(".pending"),
  title: find("tg-title"),
  approval: h("tg-approval"),
};
document.body.append(parts.approval);

const wire = new Wire(() => {
  const address = new URL("/ws", location.href);
  address.protocol = address.protocol.replace("http", "ws");
  return new WebSocket(address, signin.protocols());
});
let current = null;
const sessions = new Map();
let wasOpen = false;
let retryTimer = 0;
/** Milliseconds before the next attempt when the gateway's database is unavailable. */
const RETRY_MS = 2000;

const named = () => location.hash.match(/^#\/s\/([\w-]+)$/)?.[1] ?? null;

function banner(text) {
  parts.banner.hidden = !text;
  parts.banner.textContent = text ?? "";
}

function update() {
  const running = Boolean(current && (current.turn || current.unsent));
  parts.composer.become({ ready: wire.state === "open", running });
  parts.counters.turn(current?.turn ?? null, current?.replaying);
}

async function refresh() {
  const answer = await wire.ask("session.list", { limit: 200, search: parts.sidebar.words });
  const found = answer.sessions.map(({ session_id, ...rest }) => ({ id: session_id, ...rest }));
  for (const session of found) sessions.set(session.id, session);
  parts.sidebar.show(found);
  parts.title.show(current?.id ?? null, about(current?.id)?.title);
}

const about = (id) => sessions.get(id);

function beginning(mode) {
  return welcome({ offline: Transcript.offline, mode, onExample: (text) => parts.composer.fill(text) });
}

/** Show a session, or the start page. */
async function show(id) {
  if (current?.id === id && id !== null) return;
  current?.leave();
  parts.approval.clear();
  parts.counters.clear();
  parts.todos.show([]);
  parts.sidebar.select(id);
  parts.title.show(id, about(id)?.title);
  current = null;
  if (id === null) {
    parts.mode.show(null);
    parts.chat.show(beginning(parts.sidebar.mode));
    return update();
  }
  const view = new Transcript();
  const session = new Session(wire, id, view);
  current = session;
  listen(session, view);
  parts.mode.show(about(id)?.mode ?? null);
  parts.chat.show(view);
  update();
  try {
    await session.watch();
  } catch (error) {
    if (error.code === "OFFLINE" || current !== session) return;
    if (error.code !== "INVALID_PARAMS") return later(error);
    current = null;
    history.replaceState(null, "", "#/");
    await show(null);
    banner("That session does not exist, or is not yours.");
  }
}

function listen(session, view) {
  const mine = (act) => (event) => current === session && act(event.detail);
  session.addEventListener("ready", mine(() => ready(session, view)));
  session.addEventListener("turn", mine(update));
  session.addEventListener("usage", mine(() => parts.counters.usage(session.usage)));
  session.addEventListener("todos", mine(() => parts.todos.show(session.todos)));
  session.addEventListener("said", mine(() => {
    view.querySelector(".welcome")?.remove();
    if (!about(session.id)?.title) refresh().catch(() => {});
  }));
  session.addEventListener("question", mine(({ session: asking, question }) => parts.approval.add(asking, question)));
  session.addEventListener("resolved", mine(({ id, answer }) => parts.approval.remove(id, answer)));
  session.addEventListener("refused", mine(({ content, error }) => {
    parts.composer.fill(content);
    banner(error.message);
  }));
}

function ready(session, view) {
  parts.mode.show(session.mode);
  if (!view.childElementCount && !session.replaying) {
    view.append(beginning(session.mode));
  }
  update();
}

/** Create a session and show it. */
async function begin(mode) {
  const answer = await wire.ask("session.create", mode ? { mode } : {});
  await refresh();
  history.pushState(null, "", `#/s/${answer.session_id}`);
  await show(answer.session_id);
  parts.composer.focus();
}

/** Rename the current session. */
async function rename(title) {
  try {
    await wire.ask("session.rename", { session_id: current.id, title });
  } finally {
    await refresh();
  }
}

async function send(content) {
  banner(null);
  try {
    if (!current) await begin(parts.sidebar.mode);
    if (current.send(content)) {
      parts.composer.clear();
      parts.chat.toEnd();
    }
  } catch (error) {
    banner(error.message);
  }
}

async function connected() {
  const [tools] = await Promise.all([wire.ask("tools.list"), refresh()]);
  parts.mode.tools(tools.tools, tools.enabled_modes);
  parts.sidebar.modes(tools.enabled_modes.includes("coding"));
  Transcript.offline = tools.model === "offline";
  if (!current) await show(named());
  else await current.watch();
  update();
  performance.mark("ready");
}

/** Load everything after connecting; retry if the gateway cannot answer now. */
async function arrive() {
  clearTimeout(retryTimer);
  try {
    await connected();
  } catch (error) {
    if (error.code !== "OFFLINE") later(error); // without a connection, the next one starts over
  }
}

function later(error) {
  banner(error.message);
  clearTimeout(retryTimer);
  retryTimer = setTimeout(async () => {
    banner(null);
    await arrive();
  }, RETRY_MS);
}

wire.addEventListener("frame", (event) => {
  const frame = event.detail;
  if (current?.take(frame)) return;
  if (frame.type === "error") banner(frame.data.message);
});
wire.addEventListener("state", async ({ detail: { state, code } }) => {
  parts.sidebar.state(state);
  update();
  if (state === "open") {
    if (wasOpen) announce("Connected again");
    wasOpen = true;
    banner(null);
    signin.renew();
    await arrive();
  } else if (state === "closed") {
    const known = await signin.known();
    if (known === false) return signedOut();
    if (code === SIGNED_OUT) return wire.open(); // this connection's key expired, and there is a newer one
    if (wasOpen) banner("The connection is lost. Running turns continue; this page catches up after it reconnects.");
  }
});

function signedOut() {
  wire.close();
  parts.approval.remove();
  signin.ask();
}

parts.sidebar.addEventListener("new", (event) => begin(event.detail).catch((error) => banner(error.message)));
parts.title.addEventListener("rename", ({ detail: title }) => rename(title).catch((error) => banner(error.message)));
parts.sidebar.addEventListener("leave", () => {
  signin.leave().then(signedOut, () => banner("The gateway does not answer. You are still signed in."));
});
parts.sidebar.addEventListener("search", () => refresh().catch(() => {}));
parts.composer.addEventListener("send", (event) => send(event.detail));
parts.composer.addEventListener("stop", () => current?.cancel().catch((error) => banner(error.message)));
parts.approval.addEventListener("aside", ({ detail: ids }) => {
  parts.pending.hidden = !ids.length;
  const words = ids.length > 1 ? `${ids.length} questions wait` : "A question waits";
  parts.pending.lastElementChild.textContent = `${words} for your answer`;
  parts.pending.onclick = () => parts.approval.review(ids[0]);
});
document.addEventListener("review", (event) => parts.approval.review(event.detail));
addEventListener("hashchange", () => show(named()));

await signin.enter();
wire.open();
