// The pictures of the message that is being written. They stay in this browser until the message is sent.
import { h, icon } from "./dom.js";
import { picture, thumbnail } from "./picture.js";
import { upload } from "./signin.js";
import { t, visible } from "./text.js";

const STORE = "pictures";
export const MOST = 10;

/** The browser's database of drafts; without it, pictures last until the page is closed. */
function open() {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open("toolgate.drafts", 1);
    request.addEventListener("upgradeneeded", () => request.result.createObjectStore(STORE));
    request.addEventListener("success", () => resolve(request.result));
    request.addEventListener("error", () => reject(request.error));
  });
}

async function stored(key, pictures) {
  try {
    const database = await open();
    const transaction = database.transaction(STORE, pictures ? "readwrite" : "readonly");
    const store = transaction.objectStore(STORE);
    const request = !pictures ? store.get(key) : pictures.length ? store.put(pictures, key) : store.delete(key);
    return await new Promise((resolve, reject) => {
      transaction.addEventListener("complete", () => resolve(request.result ?? []));
      transaction.addEventListener("abort", () => reject(transaction.error));
    }).finally(() => database.close());
  } catch {
    return [];
  }
}

/** Send pictures to their session; return them as `chat.send` names them. Throws an error with words for a person. */
export async function uploaded(session_id, pictures) {
  const images = [];
  for (const { name, blob, sha256 } of pictures) {
    if (sha256) images.push({ sha256, name });
    else images.push({ sha256: (await upload(session_id, name, blob)).sha256, name });
  }
  return images;
}

/** The row of pictures above the field. Each is {name, blob}, or {name, sha256, url, width, height} if it is stored. */
export class Attachments {
  #pictures = [];
  #key = "";
  #changed;
  #sees = true;
  #note = h("p", { class: "note", role: "status", hidden: true });
  #list = h("ul", { class: "attached", "aria-label": t`Pictures of this message`, hidden: true });

  constructor(changed) {
    this.#changed = changed;
  }

  get elements() {
    return [this.#list, this.#note];
  }

  get pictures() {
    return [...this.#pictures];
  }

  /** Show the pictures of a draft. Those that are added while it is read stay. */
  async show(key) {
    if (this.#key === key) return;
    this.#key = key;
    this.#pictures = [];
    this.#list.removeAttribute("aria-busy");
    this.#draw();
    const found = await stored(key);
    if (this.#key !== key || !found.length) return;
    const all = [...found, ...this.#pictures].slice(0, MOST);
    if (this.#pictures.length) return this.#set(all);
    this.#pictures = all;
    this.#draw();
  }

  /** Add pictures; return how many did not fit. */
  add(pictures) {
    const all = [...this.#pictures, ...pictures];
    this.#set(all.slice(0, MOST));
    return all.length - this.#pictures.length;
  }

  clear(...keys) {
    for (const key of keys) stored(key, []);
    this.#set([]);
  }

  /** Keep pictures for the draft of another session. */
  keep(key, pictures) {
    stored(key, pictures);
  }

  /** Say it if the model takes only text. */
  model({ sees, name }) {
    this.#sees = sees;
    this.#note.textContent = t`${visible(name)} takes no pictures: it reads only their names.`;
    this.#note.hidden = sees || !this.#pictures.length;
  }

  /** Show pictures and store them. The list is busy until a reload would find them again. */
  async #set(pictures) {
    this.#pictures = pictures;
    this.#list.setAttribute("aria-busy", "true");
    this.#draw();
    await stored(this.#key, pictures);
    if (this.#pictures === pictures) this.#list.removeAttribute("aria-busy");
  }

  #draw() {
    this.#list.hidden = !this.#pictures.length;
    this.#note.hidden = this.#sees || !this.#pictures.length;
    this.#list.replaceChildren(...this.#pictures.map((one) => this.#item(one)));
    this.#changed();
  }

  #item(one) {
    const name = visible(one.name);
    const remove = h("button", { type: "button", class: "quiet", "aria-label": t`Remove ${name}` }, icon("close"));
    remove.addEventListener("click", () => {
      this.#set(this.#pictures.filter((other) => other !== one));
      document.getElementById("prompt").focus();
    });
    const shown = one.blob ? thumbnail(one.blob, one.name) : picture(one);
    return h("li", { title: name }, shown, h("span", {}, name), remove);
  }
}
