// The permissions that were remembered: what each allows, where, and taking it back.
import { h, icon } from "./dom.js";
import { phrase, t, time, visible } from "./text.js";

const NONE = t`Nothing is remembered. When you answer a question with “Always”, the rule appears here.`;
const SCOPES = { session: t`for this session`, project: t`for this project` };

/** Show the rules that allow calls of a session without a question. */
export async function showPermissions(wire, session_id) {
  const { rules } = await wire.ask("permissions.list", { session_id });
  const problem = h("p", { class: "problem", role: "alert", hidden: true });
  const list = h("ul", { class: "rules" });
  const none = h("p", { class: "none" }, NONE);
  const close = () => dialog.close();

  const row = (rule) => {
    const label = phrase(visible(rule.label));
    const remove = h("button", { type: "button", "aria-label": t`Take back: ${label}` }, t`Take back`);
    const item = h(
      "li",
      {},
      h(
        "div",
        {},
        h("strong", {}, label),
        h("code", {}, visible(rule.rule)),
        h("span", {}, t`${SCOPES[rule.scope] ?? visible(rule.scope)}, since ${time(rule.created_at)}`),
      ),
      remove,
    );
    remove.addEventListener("click", async () => {
      problem.hidden = true;
      try {
        await wire.ask("permissions.remove", { session_id, id: rule.id });
        const next = item.nextElementSibling ?? item.previousElementSibling;
        item.remove();
        none.hidden = list.childElementCount > 0;
        (next?.querySelector("button") ?? dialog.querySelector("button")).focus();
      } catch (error) {
        problem.textContent = error.message;
        problem.hidden = false;
      }
    });
    return item;
  };

  list.append(...rules.map(row));
  none.hidden = rules.length > 0;
  const dialog = h(
    "dialog",
    { class: "permissions", "aria-labelledby": "permissions-title" },
    h(
      "div",
      { class: "top" },
      h("h2", { id: "permissions-title" }, t`Remembered permissions`),
      h("button", { type: "button", class: "quiet square", "aria-label": t`Close`, onclick: close }, icon("close")),
    ),
    h("p", { class: "lead" }, t`These calls run without a question. What policies deny stays denied.`),
    problem,
    list,
    none,
  );
  dialog.addEventListener("close", () => dialog.remove());
  dialog.addEventListener("click", (event) => event.target === dialog && close());
  document.body.append(dialog);
  dialog.showModal();
}
