// What each kind of frame changes in a session and its view.
import { markdown } from "./render.js";
import { number, t, visible } from "./text.js";

/** Return when an id was created, in milliseconds: a UUIDv7 starts with its timestamp. */
function madeAt(id) {
  return Number.parseInt(String(id).replaceAll("-", "").slice(0, 12), 16) || Date.now();
}

function ended(session) {
  if (!session.turn) return;
  session.turn = session.retry = null;
  session.writing = false;
  for (const card of session.calls.values()) card.abandoned();
  session.calls.clear();
  session.tell("turn");
}

const DOING = {
  compacting: t`Summarising the earlier part of the conversation`,
  waiting: t`Waiting for sub-agents in the background`,
};

/** Handlers by the frame's type: (session, data, frame). */
export const FRAMES = {
  turn_started(session, _data, frame) {
    const at = frame.at ? frame.at * 1000 : madeAt(frame.turn_id);
    const since = session.replaying ? Math.min(Date.now(), at) : Date.now();
    session.turn = { id: frame.turn_id, at, since };
    session.writing = false;
    session.tell("turn");
  },

  user_message(session, data) {
    session.outbox.arrived();
    session.view.user(data.content, false, data.images);
    session.tell("said", data.content);
  },

  markdown(session, data) {
    session.writing = true;
    session.retry = null;
    session.view.patch(data.patches);
  },

  text_end(session) {
    session.writing = false;
    session.view.endText(session.replaying);
  },

  stream_chunk(session, data, frame) {
    if (data.done && frame.turn_id === session.turn?.id) ended(session);
  },

  /** Show the failure of a turn whose end is not stored yet; otherwise `turn_finished` has shown it. */
  error(session, data, frame) {
    if (!session.turn || frame.turn_id !== session.turn.id) return;
    session.failed = session.turn.id;
    session.view.endText(session.replaying);
    session.view.ending({ ...data, status: "failed" });
  },

  tool_call(session, data, frame) {
    session.retry = null;
    const earlier = session.tasks.get(data.arguments?.id)?.call;
    const card = session.view.call({ ...data, task: earlier?.task ?? earlier?.arguments });
    session.calls.set(data.call_id, card);
    for (const question of session.root.questions.values()) {
      if (session.parent && question.agent && question.call_id === data.call_id) card.asked(question);
    }
    if (!session.turn && frame.turn_id) FRAMES.turn_started(session, {}, frame);
  },

  tool_started(session, data, frame) {
    session.calls.get(data.call_id)?.started(frame.at, session.replaying);
  },

  tool_output(session, data) {
    session.calls.get(data.call_id)?.output(data);
  },

  tool_result(session, data, frame) {
    const card = session.calls.get(data.call_id);
    if (card?.kind !== "agent") return card?.result(data, session.replaying, frame.at);
    const { background, id, prompt } = card.call.arguments;
    const task = data.data?.task_id ?? id;
    if (background && data.data?.running === true) {
      session.tasks.set(task, card);
      return card.goesOn(data);
    }
    card.result(data, session.replaying, frame.at);
    // The call that tells of the end has only the id; one with a prompt that fails has changed nothing.
    const hasEnded = data.data?.running !== true && !(data.status === "error" && prompt);
    if (hasEnded) session.tasks.get(task)?.ended(data, frame.at);
    if (data.data?.task_id && !session.tasks.has(task)) session.tasks.set(task, card);
  },

  tool_denied(session, data) {
    session.calls.get(data.call_id)?.denied(data, session.replaying);
  },

  model_retry(session, { attempt, of, seconds, code, message }) {
    const why = /rate|429|limit/i.test(`${code} ${message}`) ? t`Rate-limited` : t`The model did not answer`;
    const text = t`${why}, retrying in {s} (${attempt} of ${of})`;
    session.retry = { text, until: Date.now() + seconds * 1000, kind: "waiting" };
  },

  activity(session, { what, text }) {
    session.retry = text ? { text: DOING[what] ?? visible(text) } : null;
  },

  rewound(session, { to_seq }) {
    session.view.rewind(to_seq);
    session.calls.clear();
    session.questions.clear();
  },

  approval_mode(session, data) {
    session.tell("approval_mode", data.approval_mode);
  },

  approval_request(session, data) {
    session.questions.set(data.id, data);
    session.card(data.call_id)?.asked(data);
    session.root.tell("question", { session, question: data });
  },

  approval_resolved(session, data) {
    const question = session.questions.get(data.id);
    session.questions.delete(data.id);
    if (question) session.card(question.call_id)?.answered(data);
    session.root.tell("resolved", { id: data.id, answer: data });
  },

  todos(session, data) {
    session.todos = data.items;
    session.tell("todos");
  },

  compacted(session, data) {
    const saved = number(data.before_tokens - data.after_tokens);
    const byModel = data.by === "model";
    const words = byModel ? t`Older steps were summarised` : t`Older steps were removed from the model's context`;
    const more = data.summary ? markdown(data.summary, visible(data.summary)) : null;
    session.view.notice("info", `${words} (${t`about ${saved} tokens`}).`, more);
  },

  agent_started(session, data) {
    session.nest(data);
  },

  turn_finished(session, data, frame) {
    session.usage.input_tokens += data.usage.input_tokens;
    session.usage.output_tokens += data.usage.output_tokens;
    session.view.endText(session.replaying);
    if (data.status !== "done" && session.failed !== frame.turn_id) session.view.ending(data);
    else if (session.turn && frame.at) session.view.took(frame.at * 1000 - session.turn.at);
    const over = session.turn !== null;
    ended(session);
    session.tell("usage");
    if (over && !session.replaying) session.outbox.next(data.status);
  },
};
