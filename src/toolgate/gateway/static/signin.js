// Sign-in: exchanges a one-time code or a token for a key. The key is kept in this origin's storage, which no other
// port of the same host can read; a cookie would be sent to all of them.
import { h, icon } from "./dom.js";
import { MARK, around, t } from "./text.js";

const STORAGE_KEY = "toolgate.key";
const HOUR_MS = 3_600_000;
/** The key if the browser stores nothing for this page. */
let unstored = null;

function stored() {
  try {
    return JSON.parse(localStorage.getItem(STORAGE_KEY)) ?? unstored;
  } catch {
    return unstored;
  }
}

function store(found) {
  unstored = found;
  try {
    if (found) localStorage.setItem(STORAGE_KEY, JSON.stringify(found));
    else localStorage.removeItem(STORAGE_KEY);
  } catch {
    // No storage: the key lasts until the page is closed.
  }
}

/** The headers with the key. */
function authHeaders() {
  const key = stored()?.key;
  return key ? { authorization: `Bearer ${key}` } : {};
}

/** The subprotocol with the key, for the socket. */
export function protocols() {
  const key = stored()?.key;
  return key ? [`toolgate.bearer.${key}`] : [];
}

/** Fetch something from the gateway with the key. */
export function get(address) {
  return fetch(address, { cache: "no-store", headers: authHeaders() });
}

/** Send a picture to a session; return what the gateway stored. Throws an error with words for a person. */
export async function upload(session_id, name, blob) {
  const address = `sessions/${session_id}/pictures?name=${encodeURIComponent(name)}`;
  let answer;
  try {
    answer = await fetch(address, { method: "POST", headers: authHeaders(), body: blob });
  } catch {
    throw new Error(t`The gateway does not answer.`);
  }
  const data = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Error(data.error ?? t`${name} could not be sent (${answer.status}).`);
  return data;
}

/** Exchange a code or token for a key; return whether it worked. */
async function exchange(given) {
  const answer = await fetch("auth", {
    method: "POST",
    headers: { "content-type": "application/json", ...authHeaders() },
    body: JSON.stringify(given),
  });
  if (answer.ok) {
    const { key, until } = await answer.json();
    store({ key, until: until * 1000, from: Date.now() });
  }
  return answer.ok;
}

/** Renew the key after half of its lifetime. Without a response the old key stays. */
export async function renew() {
  const found = stored();
  if (found && Date.now() > (found.from + found.until) / 2) await exchange({}).catch(() => false);
}
setInterval(renew, HOUR_MS);

/** Whether the gateway accepts this browser: true, false, or null if it does not answer. */
export async function known() {
  try {
    return (await get("auth")).ok;
  } catch {
    return null;
  }
}

/** Sign out: the key becomes invalid everywhere. */
export async function leave() {
  await fetch("auth", { method: "DELETE", headers: authHeaders() });
  store(null);
}

/** Whether the code of the URL was refused: it was used already, or is too old. */
let refused = false;

/** Remove the code from the URL, so that it stays in no history, and use it. */
export async function enter() {
  const code = location.hash.match(/^#([\w-]{16,})$/)?.[1];
  if (!code) return;
  history.replaceState(null, "", location.pathname);
  refused = !(await exchange({ code }).catch(() => true));
}

/** Show the sign-in form instead of the page. */
export function ask() {
  const about = { type: "password", id: "token", autocomplete: "current-password", placeholder: t`Token` };
  const field = h("input", { ...about, required: true });
  const problem = h("p", { class: "problem", role: "alert", hidden: true });
  const complain = (...words) => {
    problem.replaceChildren(...words);
    problem.hidden = false;
  };
  const used = () => {
    const link = h("code", {}, "toolgate link");
    complain(...around(t`This address was used already, or is too old. ${MARK} prints another one.`, link));
  };
  const label = h("label", { class: "hidden", for: "token" }, t`Token`);
  const form = h("form", {}, label, field, h("button", { class: "primary", type: "submit" }, t`Sign in`));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const worked = await exchange({ token: field.value.trim() }).catch(() => null);
    if (worked) return location.reload();
    complain(worked === null ? t`The gateway does not answer.` : t`That token does not work.`);
    field.select();
  });
  // The printed URL, opened in this tab, differs only in its hash, so nothing is loaded again.
  addEventListener("hashchange", () => enter().then(() => (refused ? used() : location.reload())));
  for (const element of document.querySelectorAll("tg-sidebar, main, .skip")) element.remove();
  const command = h("code", {}, "toolgate serve");
  document.body.append(
    h(
      "main",
      { class: "signin" },
      icon("gate"),
      h("h1", {}, "Toolgate"),
      h("p", {}, ...around(t`Open the URL that ${MARK} printed. It signs you in and works once.`, command)),
      h("p", {}, t`Or enter the gateway's token.`),
      form,
      problem,
    ),
  );
  if (refused) used();
  field.focus();
}
