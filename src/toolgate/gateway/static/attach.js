// Files that people add to a message by paste, drop or button: pictures, and text that goes into the message.
import { t, visible } from "./text.js";

const MAX_BYTES = 64 * 1024;
const MAX_FILES = 10;
const MAX_PICTURE = 20 * 1024 * 1024;
const MAX_PIXELS = 40_000_000;
const PICTURES = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/** Return a picture, checked as well as a browser can; throws an error with words for a person. */
async function checked(file) {
  const name = visible(file.name || t`pasted picture`);
  if (!PICTURES.includes(file.type)) {
    throw new Error(t`${name} is a kind of picture that models do not take. Save it as PNG or JPEG.`);
  }
  if (file.size > MAX_PICTURE) {
    const size = Math.ceil(file.size / 1024 / 1024);
    throw new Error(t`${name} has ${size} MB; pictures are taken up to ${MAX_PICTURE / 1024 / 1024} MB.`);
  }
  let bitmap;
  try {
    bitmap = await createImageBitmap(file);
  } catch {
    throw new Error(t`${name} is broken, or no picture.`);
  }
  const { width, height } = bitmap;
  bitmap.close();
  if (width * height > MAX_PIXELS) throw new Error(t`${name} has too many pixels (${width} × ${height}).`);
  return { name, blob: file };
}

/** Return the text of a file in a frame; throws an error with words for a person. */
async function framed(file) {
  const name = visible(file.name || t`pasted text`);
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
    throw new Error(isBinary ? binary(name) : t`${name} cannot be read.`);
  }
  if (text.includes("\u0000")) throw new Error(binary(name));
  const ticks = "`".repeat(Math.max(3, ...[...text.matchAll(/`+/g)].map(([run]) => run.length + 1)));
  const language = name.match(/\.([a-z0-9]{1,8})$/i)?.[1] ?? "";
  return `${name}:\n${ticks}${language}\n${text.replace(/\n$/, "")}\n${ticks}\n`;
}

function binary(name) {
  return t`${name} is neither text nor a picture. Put it in the project and name its path.`;
}

/** Return the texts and the pictures of files, and what is wrong with the others: {texts, pictures, problems}. */
export async function read(files) {
  const texts = [];
  const pictures = [];
  const problems = files.length > MAX_FILES ? [t`Only the first ${MAX_FILES} files were taken.`] : [];
  for (const file of [...files].slice(0, MAX_FILES)) {
    try {
      if (file.isFolder) throw new Error(t`${visible(file.name)} is a folder. Add its files, or name its path.`);
      const isPicture = file.type.startsWith("image/") && file.type !== "image/svg+xml";
      if (isPicture) pictures.push(await checked(file));
      else texts.push(await framed(file));
    } catch (error) {
      problems.push(error.message);
    }
  }
  return { texts, pictures, problems };
}

/** What was dropped: files, and folders, which a browser offers as files that cannot be read. */
function dropped(data) {
  return [...data.items].flatMap((item) => {
    if (item.kind !== "file") return [];
    const entry = item.webkitGetAsEntry?.();
    if (entry?.isDirectory) return [{ name: entry.name, isFolder: true }];
    return item.getAsFile() ?? [];
  });
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
    take(dropped(event.dataTransfer));
  });
}
