// Files on their way to the Library: chosen or dropped, read, sent.
import { ApiError, send } from "./api.js";
import { h, newId } from "./dom.js";
import { bytes } from "./parts.js";

/** A place to drop files on, which opens the browser's own dialog too. `onFiles` gets an array of File. */
export function dropZone({ label, multiple, onFiles }) {
  const input = h("input", { type: "file", id: newId("files"), multiple, class: "visually-hidden" });
  const zone = h(
    "div",
    { class: "drop" },
    input,
    h("label", { for: input.id }, h("strong", {}, label), h("span", { class: "fine" }, "or drop here")),
  );
  const take = (files) => {
    if (files.length) onFiles(multiple ? [...files] : [files[0]]);
    input.value = "";
  };
  input.addEventListener("change", () => take(input.files));
  for (const type of ["dragenter", "dragover"]) zone.addEventListener(type, () => zone.classList.add("over"));
  for (const type of ["dragleave", "drop"]) zone.addEventListener(type, () => zone.classList.remove("over"));
  zone.addEventListener("drop", (event) => take(event.dataTransfer.files));
  zone.take = take;
  return zone;
}

/**
 * Sends a mutation whose `input.file` is this File, beside the operation
 * (https://github.com/jaydenseric/graphql-multipart-request-spec). `onProgress` gets a share from 0 to 1. Raises ApiError.
 */
export function sendFile(mutation, input, file, onProgress) {
  const most = Number(document.body.dataset.maxFileBytes);
  if (file.size > most) throw tooLarge(file, most); // the server would break off, and its answer might not arrive
  const described = { name: file.name, mediaType: file.type || "application/octet-stream", upload: null };
  const body = new FormData();
  body.append("operations", JSON.stringify({ query: mutation, variables: { input: { ...input, file: described } } }));
  body.append("map", JSON.stringify({ file: ["variables.input.file.upload"] }));
  body.append("file", file);
  return send(body, onProgress);
}

function tooLarge(file, most) {
  const message = `${file.name} has ${bytes(file.size)}, and a file may have ${bytes(most)}.`;
  return new ApiError({ message, extensions: { code: "INVALID_INPUT" } });
}
