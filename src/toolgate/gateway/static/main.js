// The page: signs in, connects, and shows the session in the URL.
import { h } from "./dom.js";
import { Session } from "./session.js";
import * as signin from "./signin.js";
import { Wire } from "./wire.js";
import { Transcript } from "./chat.js";
import { Models } from "./models.js";
import { Notifier } from "./notify.js";
import { Online } from "./online.js";
import { Sessions } from "./sessions.js";
import { Workplace } from "./workplace.js";
import "./approval.js";
import "./banner.js";
import "./composer.js";
import "./empty.js";
import "./header.js";
import "./modes.js";
import "./panel.js";
import "./sidebar.js";
import "./title.js";
import "./todos.js";
import { t } from "./text.js";

const find = (selector) => document.querySelector(selector);
const parts = {
  sidebar: find("tg-sidebar"),
  header: find("tg-header"),
  chat: find("tg-chat"),
  composer: find("tg-composer"),
  mode: find("tg-mode"),
  todos: find("tg-todos"),
  counters: find("tg-counters"),
  banner: find("tg-banner"),
  pending: find(".pending"),
  title: find("tg-title"),
  panel: find("tg-panel"),
  approval: h("tg-approval"),
  empty: h("tg-empty"),
};
document.body.append(parts.approval);

const wire = new Wire(() => {
  const address = new URL("ws", location.href);
  address.protocol = address.protocol.replace("http", "ws");
  return new WebSocket(address, signin.protocols());
});
const models = new Models(wire);
const sessions = new Sessions(wire, parts.sidebar);
const notifier = new Notifier((id) => (location.hash = `#/s/${id}`));
const workplace = new Workplace({ wire, parts, models, sessions, notifier });
let current = null;
/** Whether a session is being created for a message. */
let beginning = false;
let refreshTimer = 0;
/** Milliseconds between two looks at the other sessions' states. */
const POLL_MS = 5000;
const named = () => location.hash.match(/^#\/s\/([\w-]+)$/)?.[1] ?? null;
const failed = (error) => parts.banner.show({ message: error.message, ...error.data });

function update() {
  const running = beginning || Boolean(current && (current.turn || current.unsent));
  parts.composer.become({ ready: wire.state === "open", running });
  parts.counters.turn(current?.turn ?? null, current?.replaying);
  const status = current?.questions.size ? "waiting" : running ? "running" : null;
  sessions.live(current?.id ?? null, status);
}

/** Load the list again soon: once for everything that happens at the same time. */
function refreshSoon() {
  clearTimeout(refreshTimer);
  refreshTimer = setTimeout(() => sessions.load().catch(() => {}), 300); // the next poll tries again
}

/** Show a session, or the start page. */
async function show(id) {
  if (current?.id === id && id !== null) return;
  current?.leave();
  parts.approval.clear();
  parts.counters.clear();
  parts.todos.show([]);
  parts.sidebar.select(id);
  parts.title.show(id, sessions.get(id)?.title);
  current = null;
  workplace.expect(id, sessions.get(id)?.mode);
  if (id === null) {
    parts.composer.attach(null, wire, workplace.project?.name);
    parts.mode.show(null);
    parts.chat.show(parts.empty);
    return update();
  }
  const view = new Transcript();
  const session = new Session(wire, id, view);
  current = session;
  listen(session, view);
  parts.composer.attach(session, wire, workplace.project?.name);
  parts.mode.show(sessions.get(id)?.mode ?? null);
  parts.chat.show(view);
  update();
  try {
    await session.watch();
  } catch (error) {
    if (error.code === "OFFLINE" || current !== session) return;
    if (error.code !== "INVALID_PARAMS") return online.later(error);
    await home();
    parts.banner.show(t`That session does not exist, or is not yours.`);
  }
}

/** Show the start page; no session is created before the first message. */
async function home() {
  current?.leave();
  current = null;
  if (named()) history.pushState(null, "", "#/");
  await show(null);
}

function listen(session, view) {
  const mine = (act) => (event) => current === session && act(event.detail);
  session.addEventListener("ready", mine(() => {
    parts.mode.show(session.mode);
    workplace.show(session);
    update();
  }));
  session.addEventListener("turn", mine(() => {
    update();
    refreshSoon();
    if (!session.turn && !session.replaying) workplace.refresh();
  }));
  session.addEventListener("usage", mine(() => parts.counters.usage(session.usage)));
  session.addEventListener("todos", mine(() => parts.todos.show(session.todos)));
  session.addEventListener("said", mine(() => sessions.get(session.id)?.title || refreshSoon()));
  session.addEventListener("question", mine(({ session: asking, question }) => {
    parts.approval.add(asking, question);
    update();
  }));
  session.addEventListener("resolved", mine(({ id, answer }) => {
    parts.approval.remove(id, answer);
    update();
  }));
  session.addEventListener("refused", ({ detail: { content, pictures, error } }) => {
    if (current === session) parts.composer.fill(content, pictures);
    else parts.composer.keep(session.id, content, pictures);
    parts.banner.show(error);
  });
}

/** Create a session and show it. */
async function begin() {
  beginning = true;
  update();
  const { mode } = parts.empty;
  const wanted = { ...(mode && { mode }), ...(models.next && { model: models.next }), ...parts.composer.wanted };
  const answer = await wire.ask("session.create", wanted);
  history.pushState(null, "", `#/s/${answer.session_id}`);
  await show(answer.session_id);
}

async function send(content, pictures = []) {
  if (beginning) return;
  parts.banner.show(null);
  try {
    if (!current) await begin();
    if (current.send(content, pictures)) {
      parts.composer.clear();
      parts.chat.toEnd();
    } else parts.composer.fill(content, pictures);
  } catch (error) {
    failed(error);
  } finally {
    beginning = false;
    update();
  }
}

async function connected() {
  const [tools] = await Promise.all([wire.ask("tools.list"), sessions.load()]);
  const coding = tools.enabled_modes.includes("coding");
  parts.mode.tools(tools.tools, tools.enabled_modes);
  await workplace.load({ name: tools.model, coding });
  if (!current) await show(named());
  else await current.watch();
  update();
  performance.mark("ready");
}

wire.addEventListener("frame", (event) => {
  const frame = event.detail;
  workplace.take(frame);
  if (current?.take(frame)) return;
  if (frame.type === "error") parts.banner.show(frame.data);
});
function signedOut() {
  wire.close();
  parts.approval.remove();
  signin.ask();
}

const online = new Online(wire, parts.banner, {
  load: connected,
  signedOut,
  state(state) {
    parts.sidebar.state(state);
    update();
  },
});
parts.sidebar.addEventListener("new", () => home().then(() => parts.composer.focus()));
parts.title.addEventListener("rename", ({ detail: title }) => sessions.rename(current.id, title).catch(failed));
parts.sidebar.addEventListener("leave", () => {
  signin.leave().then(signedOut, () => parts.banner.show(t`The gateway does not answer. You are still signed in.`));
});
sessions.addEventListener("failed", ({ detail }) => failed(detail));
sessions.addEventListener("deleted", ({ detail: id }) => current?.id === id && home());
sessions.addEventListener("change", () => {
  parts.title.show(current?.id ?? null, sessions.get(current?.id)?.title);
  notifier.update(sessions.all, sessions.get(current?.id)?.title, current?.questions.size);
});
models.addEventListener("change", () => {
  Transcript.offline = models.offline;
  parts.composer.model({ sees: models.sees, name: models.label });
});
workplace.addEventListener("failed", ({ detail }) => failed(detail));
parts.composer.addEventListener("send", ({ detail: { content, pictures } }) => send(content, pictures));
parts.composer.addEventListener("stop", () => current?.cancel().catch(failed));
parts.empty.addEventListener("fill", ({ detail }) => parts.composer.fill(detail));
parts.approval.addEventListener("aside", ({ detail: ids }) => {
  parts.pending.hidden = !ids.length;
  const words = ids.length > 1 ? t`${ids.length} questions wait for your answer` : t`A question waits for your answer`;
  parts.pending.lastElementChild.textContent = words;
  parts.pending.onclick = () => parts.approval.review(ids[0]);
});
document.addEventListener("review", (event) => parts.approval.review(event.detail));
document.addEventListener("tryagain", () => workplace.tryAgain(send));
addEventListener("hashchange", () => show(named()));
setInterval(() => {
  if (wire.state === "open" && (!document.hidden || notifier.on)) refreshSoon();
}, POLL_MS);

await signin.enter();
wire.open();
