// Who is there: a one-time code or a token is exchanged for a cookie that scripts cannot read.
import { h, icon } from "./dom.js";

/** Exchange what was given; whether it worked. */
async function exchange(given) {
  const answer = await fetch("/auth", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(given),
  });
  return answer.ok;
}

/** Whether the gateway knows this browser: true, false, or null if it does not answer. */
export async function known() {
  try {
    return (await fetch("/auth", { cache: "no-store" })).ok;
  } catch {
    return null;
  }
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
