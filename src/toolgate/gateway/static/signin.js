// Who is there: a one-time code or a token is exchanged for a key. The key is kept in this origin's storage, which no
// other port of the same host can read; a cookie would be sent to all of them.
import { h, icon } from "./dom.js";

const PLACE = "toolgate.key";
const AN_HOUR = 3_600_000;
/** What is shown if the browser keeps nothing for this page. */
let unstored = null;

function stored() {
  try {
    return JSON.parse(localStorage.getItem(PLACE)) ?? unstored;
  } catch {
    return unstored;
  }
}

function store(found) {
  unstored = found;
  try {
    if (found) localStorage.setItem(PLACE, JSON.stringify(found));
    else localStorage.removeItem(PLACE);
  } catch {
    // No storage: the key lasts as long as the page.
  }
}

/** The headers that show the key. */
function shown() {
  const key = stored()?.key;
  return key ? { authorization: `Bearer ${key}` } : {};
}

/** The subprotocol that shows the key to the socket. */
export function protocols() {
  const key = stored()?.key;
  return key ? [`toolgate.bearer.${key}`] : [];
}

/** Ask the gateway for something of its own, signed in. */
export function get(address) {
  return fetch(address, { cache: "no-store", headers: shown() });
}

/** Exchange what was given for a key; whether it worked. */
async function exchange(given) {
  const answer = await fetch("/auth", {
    method: "POST",
    headers: { "content-type": "application/json", ...shown() },
    body: JSON.stringify(given),
  });
  if (answer.ok) {
    const { key, until } = await answer.json();
    store({ key, until: until * 1000, from: Date.now() });
  }
  return answer.ok;
}

/** Get a later key once half of this one's life is over. Without an answer the old one stays. */
export async function renew() {
  const found = stored();
  if (found && Date.now() > (found.from + found.until) / 2) await exchange({}).catch(() => false);
}
setInterval(renew, AN_HOUR);

/** Whether the gateway knows this browser: true, false, or null if it does not answer. */
export async function known() {
  try {
    return (await get("/auth")).ok;
  } catch {
    return null;
  }
}

/** Sign out: the key works nowhere any more. */
export async function leave() {
  await fetch("/auth", { method: "DELETE", headers: shown() });
  store(null);
}

/** Take the code out of the address, so that it stays in no history, and use it. Without one there is nothing to do. */
export async function enter() {
  const code = location.hash.match(/^#([\w-]{16,})$/)?.[1];
  if (!code) return;
  history.replaceState(null, "", location.pathname);
  await exchange({ code }).catch(() => false);
}

/** Ask for a token, in place of everything else. */
export function ask() {
  const about = { type: "password", id: "token", autocomplete: "current-password", placeholder: "Token" };
  const field = h("input", { ...about, required: true });
  const problem = h("p", { class: "problem", role: "alert", hidden: true });
  const label = h("label", { class: "hidden", for: "token" }, "Token");
  const form = h("form", {}, label, field, h("button", { class: "primary", type: "submit" }, "Sign in"));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const worked = await exchange({ token: field.value.trim() }).catch(() => null);
    if (worked) return location.reload();
    problem.textContent = worked === null ? "The gateway does not answer." : "That token does not work.";
    problem.hidden = false;
    field.select();
  });
  // the printed address, opened in this tab: it differs in its hash only, so nothing is loaded anew
  addEventListener("hashchange", () => enter().then(() => location.reload()));
  for (const element of document.querySelectorAll("tg-sidebar, main, .skip")) element.remove();
  document.body.append(
    h(
      "main",
      { class: "signin" },
      icon("gate"),
      h("h1", {}, "Toolgate"),
      h("p", {}, "Open the address that ", h("code", {}, "toolgate serve"), " printed: it signs you in, once."),
      h("p", {}, "Or enter the gateway's token."),
      form,
      problem,
    ),
  );
  field.focus();
}
