// Files that people add to a message by paste, drop or button: text goes into the message, in a frame.
import { t, visible } from "./text.js";

const MAX_BYTES = 64 * 1024;
const MAX_FILES = 10;
const PICTURES = t`Pictures cannot be sent to the model yet. Save it in the project and name its path.`;

/** Return the text of a file in a frame; throws an error with words for a person. */
async function framed(file) {
  const name = visible(file.name || t`pasted text`);
  if (file.type.startsWith("image/")) throw new Error(PICTURES);
  if (file.size > MAX_BYTES) {
    const size = Math.ceil(file.size / 1024);
    const most = t`at most ${MAX_BYTES / 1024} kB fit into a message`;
    throw new Error(t`${name} has ${size} kB; ${most}. Put it in the project and name its path.`);
  }
  let text;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
  } catch (error) {
    const isBinary = error instanceof TypeError;
    throw new Error(isBinary ? t`${name} is not a text file, so it cannot be sent.` : t`${name} cannot be read.`);
  }
  if (text.includes("\u0000")) throw new Error(t`${name} is not a text file, so it cannot be sent.`);
  const ticks = "`".repeat(Math.max(3, ...[...text.matchAll(/`+/g)].map(([run]) => run.length + 1)));
  const language = name.match(/\.([a-z0-9]{1,8})$/i)?.[1] ?? "";
  return `${name}:\n${ticks}${language}\n${text.replace(/\n$/, "")}\n${ticks}\n`;
}

/** Return the texts of files, and what is wrong with the others: {texts, problems}. */
export async function read(files) {
  const texts = [];
  const problems = files.length > MAX_FILES ? [t`Only the first ${MAX_FILES} files were taken.`] : [];
  for (const file of [...files].slice(0, MAX_FILES)) {
    try {
      texts.push(await framed(file));
    } catch (error) {
      problems.push(error.message);
    }
  }
  return { texts, problems };
}

/** Call `take` with the files that people pick, paste into the field, or drop on the page. */
export function listenForFiles({ picker, field, form }, take) {
  picker.addEventListener("change", () => {
    take([...picker.files]);
    picker.value = "";
  });
  field.addEventListener("paste", (event) => {
    if (!event.clipboardData.files.length) return;
    event.preventDefault();
    take([...event.clipboardData.files]);
  });
  const main = document.getElementById("main");
  const brings = (event) => event.dataTransfer.types.includes("Files");
  main.addEventListener("dragover", (event) => {
    if (!brings(event)) return;
    event.preventDefault();
    form.dataset.dropping = "";
  });
  main.addEventListener("dragleave", () => delete form.dataset.dropping);
  main.addEventListener("drop", (event) => {
    delete form.dataset.dropping;
    if (!brings(event)) return;
    event.preventDefault();
    take([...event.dataTransfer.files]);
  });
}
