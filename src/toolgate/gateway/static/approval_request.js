// What an approval request shows: one sentence, why it is asked, the command or diff once, and the answers.
import { detail, isDiff } from "./diff.js";
import { h, icon, pane } from "./dom.js";
import { markdown } from "./render.js";
import { phrase, t, visible } from "./text.js";

const PLAN = "propose_plan";
const MODES = { ask: t`Ask before every change`, accept_edits: t`Accept edits, ask about the rest` };
const SCOPES = { session: t`In this session`, project: t`In this project, from now on` };
const OWN_LINE = /^(because|asked every time|in): /;
const RISKS = { low: t`Low risk`, medium: t`Some risk`, high: t`High risk` };

export const isPlan = ({ tool_name }) => tool_name === PLAN;
const key = (name) => h("kbd", { "aria-hidden": "true" }, name);

function button(words, shortcut, classes, act) {
  const properties = { type: "button", class: classes, "aria-keyshortcuts": shortcut, onclick: act };
  return h("button", properties, words, key(shortcut));
}

function submit(words, classes) {
  return h("button", { type: "submit", class: classes }, words, key("Enter"));
}

const back = (acts) => button(t`Back`, "Esc", "quiet", acts.escape);

/** What may be remembered, in plain words. An older gateway offers only the exact call. */
export function rules({ choices, rule }) {
  if (choices) return choices;
  return rule ? [{ id: null, label: "this exact call", rule, scopes: ["session"] }] : [];
}

/** The buttons; `acts` is {answer, accept, edit, panel, escape}. What is risky is not the default. */
function choices(question, acts) {
  const deny = () => acts.panel("denial");
  const later = button(t`Later`, "Esc", "quiet later", acts.escape);
  if (isPlan(question)) {
    const modes = Object.entries(MODES).map(([value, words]) => h("option", { value }, words));
    return [
      button(t`Accept the plan`, "A", "primary allow", acts.accept),
      h("select", { class: "then", "aria-label": t`How to go on` }, ...modes),
      button(t`Edit`, "E", "edit", acts.edit),
      button(t`Refuse`, "D", "deny", deny),
      later,
    ];
  }
  if (question.question) return [button(t`Decline`, "D", "deny", deny), later];
  const risky = question.risk === "high";
  const allowing = button(t`Allow once`, "A", risky ? "allow" : "primary allow", () => acts.answer(true));
  const denying = button(t`Deny`, "D", risky ? "danger deny" : "deny", deny);
  return [
    ...(risky ? [denying, allowing] : [allowing, denying]),
    rules(question).length > 0 && button(t`Always…`, "W", "always", () => acts.panel("rule")),
    later,
  ];
}

/** The form for the reason of a denial. */
function denial(question, acts) {
  const placeholder = isPlan(question) ? t`What should be different?` : t`What should the model do instead?`;
  const words = isPlan(question) ? t`Refuse` : question.question ? t`Decline` : t`Deny`;
  const field = h("input", { id: "reason", maxlength: "2000", autocomplete: "off", placeholder });
  const form = h(
    "form",
    { class: "panel denial", hidden: true },
    h("label", { for: "reason" }, t`Reason (the model reads it)`),
    h("div", { class: "row" }, field, submit(words, "danger"), back(acts)),
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    acts.answer(false, field.value.trim());
  });
  return form;
}

/** The answers that the model offers, and the field for one in the person's own words. */
function answers({ options }, acts) {
  const offered = options.map((text, at) =>
    button(visible(text), `${at + 1}`, "allow", () => acts.answer(true, "", { text })),
  );
  return h("div", { class: "answers" }, ...offered, own(acts));
}

function own(acts) {
  const words = t`Your answer`;
  const field = h("input", { maxlength: "10000", autocomplete: "off", "aria-label": words, placeholder: words });
  const form = h("form", { class: "own row" }, field, submit(t`Answer`, "primary"));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (field.value.trim()) acts.answer(true, "", { text: field.value.trim() });
  });
  return form;
}

/** The choice of a rule. Its text is shown before it is saved. */
function always(question, acts) {
  const offered = rules(question);
  const text = pane(t`The rule`, {});
  const scopes = h("select", { "aria-label": t`Where it is allowed` });
  let chosen = null;
  const choose = (one) => {
    chosen = one;
    text.textContent = visible(one.rule);
    scopes.replaceChildren(...one.scopes.map((scope) => h("option", { value: scope }, SCOPES[scope])));
    scopes.hidden = one.scopes.length < 2;
  };
  const radio = (one, at) => {
    const input = h("input", { type: "radio", name: "choice", checked: at === 0 });
    input.addEventListener("change", () => choose(one));
    return h("label", {}, input, h("span", {}, phrase(visible(one.label))));
  };
  if (offered.length) choose(offered[0]);
  const form = h(
    "form",
    { class: "panel rule", hidden: true },
    h("fieldset", {}, h("legend", {}, t`Allow without asking`), ...(offered.length > 1 ? offered.map(radio) : [])),
    text,
    h("div", { class: "row" }, scopes, submit(t`Allow always`, "primary"), back(acts)),
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    acts.answer(true, "", { remember: true, ...(chosen.id && { choice: chosen.id, scope: scopes.value }) });
  });
  return form;
}

/** Whether it is about words: a question or a plan, which has no risk and needs no reasons. */
const isTalk = (question) => Boolean(question.question) || isPlan(question);

function who(question) {
  if (question.agent) return t`Sub-agent ${visible(question.agent)} asks`;
  return isTalk(question) ? t`The model asks` : t`Permission needed`;
}

/** One sentence of what will happen; the command itself is shown below, once. */
function sentence(question) {
  if (question.question) return visible(question.question.text);
  if (isPlan(question)) return t`The model proposes a plan`;
  if (question.sentence) return phrase(visible(question.sentence));
  const shown = question.detail && !isDiff(question.detail);
  return shown && question.summary.startsWith("Run: ") ? t`Run this command` : visible(question.summary);
}

/** Why approval is needed, as short labels. A tool that always asks needs no reason. */
function reasons(question) {
  const { labels: given, reason = "", tool_name } = question;
  if (isTalk(question)) return [];
  if (given?.length) return given.map(visible);
  return !reason || reason === `${tool_name} needs permission` ? [] : visible(reason).split(/;\s+/);
}

/** The same in the person's language. Of a label that is cut, the whole reason is translated. */
function labels(question) {
  const whole = visible(question.reason ?? "").split(/;\s+/);
  return reasons(question).map((label) => {
    const cut = label.endsWith("…") && whole.find((reason) => reason.startsWith(label.slice(0, -1)));
    return cut && phrase(cut) !== cut ? phrase(cut) : phrase(label);
  });
}

/** The detail with the gateway's own lines about a command in the person's language; the command stays as it is. */
function explained(text) {
  const [first, ...lines] = text.split("\n");
  return [first, ...lines.map((line) => (OWN_LINE.test(line) ? phrase(line) : line))].join("\n");
}

/** The detail without its last line if that says a label again. */
function once(question) {
  const text = question.detail || question.summary;
  const [, rest, why] = text.match(/^([\s\S]*)\nbecause: (.*)\n?$/) ?? [];
  return explained(why !== undefined && reasons(question).join("; ") === visible(why) ? rest : text);
}

function plan(question) {
  return h("div", { class: "plan" }, markdown(question.detail, visible(question.detail)));
}

/** The block of a request; `left`: how many others wait; `acts`: what its buttons do. */
export function request(question, left, acts) {
  const asked = question.question;
  const risk = question.risk && !isTalk(question) && h("span", { class: "risk" }, RISKS[question.risk]);
  return h(
    "section",
    {
      class: "approval",
      role: "group",
      "aria-labelledby": "approval-sentence",
      "data-risk": question.risk ?? "medium",
      "data-armed": "false",
    },
    h(
      "div",
      { class: "top" },
      icon("waiting"),
      h("p", { class: "who" }, who(question), left ? ` · ${t`${left} more waiting`}` : ""),
      h("p", { class: "deadline", role: "timer" }),
    ),
    h("h3", { id: "approval-sentence", tabindex: "-1" }, sentence(question)),
    h("p", { class: "labels" }, risk, ...labels(question).map((label) => h("span", {}, label))),
    asked ? answers(asked, acts) : isPlan(question) ? plan(question) : detail(once(question)),
    denial(question, acts),
    always(question, acts),
    h("p", { class: "problem", role: "alert", hidden: true }),
    h("div", { class: "choices", role: "group", "aria-label": t`Answer` }, ...choices(question, acts)),
  );
}
