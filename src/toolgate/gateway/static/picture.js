// Pictures: those of messages and results are fetched with the key, because an <img> sends none.
import { h } from "./dom.js";
import { get } from "./signin.js";
import { t, visible } from "./text.js";

const THUMB = 96;
const seen = new IntersectionObserver((entries) => {
  for (const { isIntersecting, target } of entries) {
    if (!isIntersecting) continue;
    seen.unobserve(target);
    load(target);
  }
});

function asAddress(blob) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener("load", () => resolve(reader.result));
    reader.addEventListener("error", () => reject(reader.error));
    reader.readAsDataURL(blob);
  });
}

async function load(image) {
  try {
    const answer = await get(image.dataset.url);
    if (!answer.ok) throw new Error(answer.status);
    image.src = await asAddress(await answer.blob());
  } catch {
    image.replaceWith(h("span", { class: "note" }, t`${image.alt} could not be loaded.`));
  }
}

/** A stored picture: {url, width, height, name}. It is small until somebody clicks it. */
export function picture({ url, width, height, name }) {
  const words = visible(name) || t`Picture`;
  const image = h("img", { "data-url": url.slice(1), width, height, alt: words });
  const button = h("button", { type: "button", class: "picture", title: words, "aria-expanded": "false" }, image);
  button.addEventListener("click", () => {
    const large = button.getAttribute("aria-expanded") === "false";
    button.setAttribute("aria-expanded", large);
  });
  seen.observe(image);
  return button;
}

/** A small view of a picture that is only in this browser. */
export function thumbnail(blob, name) {
  const canvas = h("canvas", { width: THUMB, height: THUMB, role: "img", "aria-label": visible(name) });
  createImageBitmap(blob).then(
    (bitmap) => {
      const scale = Math.max(THUMB / bitmap.width, THUMB / bitmap.height);
      const [width, height] = [bitmap.width * scale, bitmap.height * scale];
      canvas.getContext("2d").drawImage(bitmap, (THUMB - width) / 2, (THUMB - height) / 2, width, height);
      bitmap.close();
    },
    () => canvas.remove(),
  );
  return canvas;
}
