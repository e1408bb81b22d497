// Shows workers and queues to a signed-in person.
import { h, trusted } from "./dom.js";
import { get } from "./signin.js";
import { t } from "./text.js";

const REFRESH_MS = 5_000;
const place = document.querySelector("main");

async function refresh() {
  const answer = await get("status").catch(() => null);
  if (answer?.ok) {
    const found = (await answer.text()).match(/<body>([\s\S]*)<\/body>/)?.[1] ?? "";
    trusted(place, found);
  } else {
    const why = answer === null ? t`The gateway does not answer.` : (await answer.json()).error;
    place.replaceChildren(h("p", {}, why), h("p", {}, h("a", { href: "./" }, t`Sign in`)));
  }
  setTimeout(refresh, REFRESH_MS);
}

await refresh();
