// The Library: its sources, found by words of title and description, and new ones.
import { address, go } from "./address.js";
import { ask, pause } from "./api.js";
import { ADD_SOURCE, SOURCES, VERSIONS } from "./documents.js";
import { announce, bdi, busy, button, checkbox, field, form, h } from "./dom.js";
import { dropZone, sendFile } from "./files.js";
import { badge, count, empty, failure, fill, section, sourceItem } from "./parts.js";
import { session } from "./session.js";

const POLL_MILLISECONDS = 1000;

export function libraryView({ parameters, signal }) {
  const query = parameters.get("query") ?? "";
  const after = parameters.get("after");
  const sources = h("div", {});
  const show = () => fill(sources, () => page(query, after, signal));
  show();
  const words = h("input", { type: "search", name: "query", value: query, autocomplete: "off" });
  return {
    title: "Library",
    element: h(
      "div",
      {},
      h("h1", {}, "Library"),
      session.may("LIBRARY_MANAGE") && addSources(show, signal),
      section(
        "Sources",
        form(
          { role: "search", class: "inline" },
          () => go("/library", { query: words.value.trim() }),
          field("Words of title or description", words),
          h("button", {}, "Search"),
        ),
        sources,
      ),
    ),
  };
}

async function page(query, after, signal) {
  const { sources } = await ask(SOURCES, { query: query || null, after }, { signal });
  if (!sources.nodes.length) {
    return query
      ? empty("Nothing found", "No source that you may see has all these words in its title or description.")
      : empty("No sources yet", "What you may see of this Library will be listed here.");
  }
  const { hasNextPage, endCursor } = sources.pageInfo;
  return [
    h(
      "ul",
      { class: "list", "aria-label": "Sources" },
      sources.nodes.map((source) => sourceItem(source)),
    ),
    (after || hasNextPage) &&
      h(
        "nav",
        { class: "row", "aria-label": "Pages" },
        after && h("a", { href: address("/library", { query }) }, "First page"),
        hasNextPage && h("a", { href: address("/library", { query, after: endCursor }) }, "Next page"),
      ),
  ];
}

// adding

/** `added` is called when something was. */
function addSources(added, signal) {
  const drafts = h("ul", { class: "drafts", "aria-label": "Files to add" });
  const add = h("button", { class: "primary" }, "Add to the Library");
  const actions = h("div", { class: "row", hidden: true }, add);
  const show = () => {
    const waiting = drafts.querySelectorAll("li.waiting").length;
    actions.hidden = waiting === 0;
    add.textContent = waiting > 1 ? `Add ${waiting} sources` : "Add to the Library";
  };
  const zone = dropZone({
    label: "Choose files",
    multiple: true,
    onFiles(files) {
      const items = files.map((file) => draft(file, signal, show));
      drafts.append(...items);
      show();
      items[0].querySelector("input").focus();
    },
  });
  const submit = async () => {
    for (const item of drafts.querySelectorAll("li.waiting")) await item.add(); // one after the other: each may be large
    show();
    await added();
  };
  return section("Add sources", form({}, submit, zone, drafts, actions));
}

/** A file with its title to be; its `add()` sends it and shows what became of it. */
function draft(file, signal, onChange) {
  const title = h("input", { name: "title", value: file.name.replace(/\.[^.]+$/, ""), autocomplete: "off" });
  const description = h("textarea", { name: "description", rows: 2 });
  const isPrivate = h("input", { type: "checkbox", name: "private" });
  const outcome = h("div", { class: "outcome" });
  const remove = button("Leave out", () => (item.remove(), onChange()), { class: "quiet" });
  const fields = h(
    "fieldset",
    {},
    h("legend", {}, bdi(file.name)),
    field("Title", title),
    field("Description", description, "People find the source by these words too."),
    h("div", { class: "row between" }, checkbox("Private: reading the workspace does not open it", isPrivate), remove),
  );
  const item = h("li", { class: "card waiting" }, fields, outcome);
  item.add = async () => {
    const bar = h("progress", { max: 1, value: 0, "aria-label": `Sending ${file.name}` });
    outcome.replaceChildren(bar);
    const input = { title: title.value, description: description.value, private: isPrivate.checked };
    try {
      const { addSource } = await sendFile(ADD_SOURCE, input, file, (share) => (bar.value = share));
      item.classList.remove("waiting");
      fields.remove();
      await showVersion(outcome, addSource, signal);
    } catch (error) {
      outcome.replaceChildren(failure(error, { again: () => busy(item, item.add) }));
    }
  };
  return item;
}

/** What became of a file: looked at again until it has been read. */
async function showVersion(outcome, { source, version }, signal) {
  const link = h("a", { href: `#/library/${source.id}` }, bdi(source.title));
  let current = version;
  for (;;) {
    outcome.replaceChildren(h("p", { class: "meta" }, link, badge(current.status), h("span", {}, told(current))));
    if (current.status !== "PENDING") break;
    await pause(POLL_MILLISECONDS, signal);
    const { nodes } = (await ask(VERSIONS, { id: source.id }, { signal })).source.versions;
    current = nodes.find(({ id }) => id === version.id) ?? current;
  }
  announce(`${source.title}: ${current.status === "INDEXED" ? "added" : "added, but its file could not be read"}.`);
}

export function told(version) {
  if (version.status === "PENDING") return "Its text is being extracted.";
  return version.statusReason ?? count(version.passageCount, "passage");
}
