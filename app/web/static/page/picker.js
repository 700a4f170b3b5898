// Choosing sources: by words of their title, or by an id.
import { ask } from "./api.js";
import { SOURCES, SOURCE_TITLE } from "./documents.js";
import { bdi, button, field, h, newId } from "./dom.js";
import { failure } from "./parts.js";

const ID = /^\s*[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\s*$/i;
const TYPING_MILLISECONDS = 250;

/**
 * A search field with what it finds as buttons. Each choice goes to `onPick({id, title})`; `verb` is on the buttons.
 * The element has the search field as `input`.
 */
export function picker({ label, verb, onPick, signal }) {
  const input = h("input", { type: "search", autocomplete: "off" });
  const results = h("ul", { class: "results", "aria-label": `${label}: what was found` });
  const said = h("p", { class: "fine", role: "status" });
  let timer;
  let asked = 0;

  const search = async () => {
    const mine = ++asked;
    const words = input.value.trim();
    if (!words) {
      results.replaceChildren();
      said.replaceChildren();
      return;
    }
    try {
      const found = await find(words, signal);
      if (mine !== asked) return; // a later question has been asked
      results.replaceChildren(...found.map(choice));
      said.replaceChildren(found.length ? "" : "No source that you may see has these words in title or description.");
    } catch (error) {
      if (mine === asked && error.name !== "AbortError") said.replaceChildren(failure(error, { again: search }));
    }
  };
  const choice = (source) =>
    h(
      "li",
      {},
      button(
        [h("span", { class: "verb" }, verb, " "), bdi(source.title)],
        async () => {
          await onPick(source);
          input.value = "";
          results.replaceChildren();
          input.focus();
        },
        { class: "choice" },
      ),
    );
  input.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(search, TYPING_MILLISECONDS);
  });
  input.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault(); // the form around it has a button of its own
    clearTimeout(timer);
    search();
  });
  return h(
    "div",
    { class: "picker" },
    field(label, input, "Words of its title or description, or its id."),
    said,
    results,
  );
}

async function find(words, signal) {
  if (!ID.test(words)) return (await ask(SOURCES, { query: words, first: 8 }, { signal })).sources.nodes;
  const title = await titleOf(words.trim(), signal);
  return title === null ? [] : [{ id: words.trim(), title }];
}

/** The title of a source; null for one that is not there, or not to be seen. */
export async function titleOf(id, signal) {
  try {
    return (await ask(SOURCE_TITLE, { id }, { signal })).source.title;
  } catch (error) {
    if (error.code === "NOT_FOUND" || error.code === "INVALID_INPUT") return null;
    throw error;
  }
}

/** A picker that keeps what was chosen: `ids()` are theirs, `set(ids)` chooses anew. */
export function chooser({ label, signal, onChange = () => {} }) {
  const chosen = new Map();
  const list = h("ul", { class: "chosen", id: newId("chosen"), "aria-label": "Chosen sources" });
  const draw = () => {
    list.replaceChildren(
      ...[...chosen].map(([id, title]) =>
        h(
          "li",
          {},
          bdi(title),
          button(
            h("span", { "aria-hidden": "true" }, "×"),
            () => {
              chosen.delete(id);
              draw();
              search.querySelector("input").focus();
            },
            { class: "remove", "aria-label": `Remove ${title}` },
          ),
        ),
      ),
    );
    onChange(chosen.size);
  };
  const add = (source) => {
    chosen.set(source.id, source.title);
    draw();
  };
  const search = picker({ label, verb: "Choose", onPick: add, signal });
  return {
    element: h("div", { class: "chooser" }, search, list),
    ids: () => [...chosen.keys()],
    async set(ids) {
      chosen.clear();
      for (const id of ids) chosen.set(id, id);
      draw();
      for (const id of ids) chosen.set(id, (await titleOf(id, signal)) ?? id);
      draw();
    },
  };
}
