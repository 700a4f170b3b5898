// One source: what it is called, its versions, who may read it.
import { go } from "./address.js";
import { ask, askPartly } from "./api.js";
import { DELETE_SOURCE, SET_AVAILABILITY, SOURCE_BY_ID, UPDATE_SOURCE } from "./documents.js";
import { announce, bdi, button, checkbox, confirmed, field, form, h } from "./dom.js";
import { grantsSection } from "./grants.js";
import { badge, fill, section, tried } from "./parts.js";
import { textSection, versionsSection } from "./versions.js";

export function sourceView({ id, signal, setTitle }) {
  const element = h("div", {});
  const reload = () => fill(element, make);
  const make = async () => {
    // `grants` is answered to who may manage the source, and to nobody else: so the server says what to show
    const { data, errors } = await askPartly(SOURCE_BY_ID, { id }, { signal });
    if (!data.source) throw errors[0];
    const { source } = data;
    setTitle(source.title);
    const manages = source.grants !== null;
    return [
      heading(source),
      manages && detailsSection(source, reload),
      versionsSection(source, manages, signal, reload),
      source.latestVersion?.passageCount > 0 && textSection(source, signal),
      manages && grantsSection(source, signal),
      manages && searchSection(source, reload),
    ];
  };
  reload();
  return { title: "Source", element };
}

function heading({ title, description, owner, ...source }) {
  return h(
    "header",
    {},
    h("p", { class: "crumb" }, h("a", { href: "#/library" }, "Library")),
    h("h1", {}, bdi(title)),
    description && h("p", { class: "lead" }, bdi(description)),
    h(
      "p",
      { class: "fine meta" },
      source.private && badge("PRIVATE"),
      source.availability === "UNAVAILABLE" && badge("UNAVAILABLE"),
      h("span", {}, `Owner ${owner}`),
      h("code", {}, source.id),
    ),
  );
}

function detailsSection(source, reload) {
  const title = h("input", { name: "title", value: source.title, autocomplete: "off" });
  const description = h("textarea", { name: "description", rows: 3 }, source.description ?? "");
  const isPrivate = h("input", { type: "checkbox", name: "private", checked: source.private });
  const element = form(
    { class: "card" },
    () =>
      tried(element, async () => {
        const input = { id: source.id, title: title.value, description: description.value, private: isPrivate.checked };
        await ask(UPDATE_SOURCE, { input });
        announce("Saved. It counts from the next retrieval on.");
        reload();
      }),
    field("Title", title),
    field("Description", description),
    checkbox("Private: reading the workspace does not open it", isPrivate),
    h("div", { class: "row" }, h("button", { class: "primary" }, "Save")),
  );
  return section("Title and description", element);
}

// whether searches find it, and the end

function searchSection(source, reload) {
  const available = source.availability === "AVAILABLE";
  const place = h("div", {});
  const toggle = () =>
    tried(place, async () => {
      const availability = available ? "UNAVAILABLE" : "AVAILABLE";
      await ask(SET_AVAILABILITY, { input: { id: source.id, availability } });
      announce(available ? "No search finds it any more." : "Searches find it again.");
      reload();
    });
  const remove = async () => {
    const text = "No search finds it from now on. Its passages, versions and files are deleted for good.";
    if (!(await confirmed(`Delete “${source.title}”?`, text, "Delete"))) return;
    await tried(place, async () => {
      await ask(DELETE_SOURCE, { input: { id: source.id } });
      announce("The source was deleted.");
      go("/library", {}, { replace: true });
    });
  };
  place.append(
    h(
      "p",
      {},
      available
        ? "Searches find this source. Taken out, it keeps its versions and its places in knowledge bases."
        : "No search finds this source until it is let in again.",
    ),
    h(
      "div",
      { class: "row" },
      button(available ? "Take out of search" : "Let searches find it", toggle),
      button("Delete the source", remove, { class: "danger" }),
    ),
  );
  return section("Search", place);
}
