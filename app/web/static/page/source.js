// One source: what it is called, its versions, who may read it.
import { go } from "./address.js";
import { ask, askPartly } from "./api.js";
import {
  ADD_VERSION,
  DELETE_SOURCE,
  DISCARD_FILE,
  SET_AVAILABILITY,
  SOURCE_BY_ID,
  UPDATE_SOURCE,
  VERSIONS,
} from "./documents.js";
import { announce, bdi, button, checkbox, confirmed, field, form, h } from "./dom.js";
import { dropZone, sendFile } from "./files.js";
import { grantsSection } from "./grants.js";
import { told } from "./library.js";
import { badge, bytes, failure, fill, paged, section, tried } from "./parts.js";

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

// versions

function versionsSection(source, manages, signal, reload) {
  const versions = h("div", {});
  fill(versions, () =>
    paged({
      label: "Versions",
      load: async (after) => (await ask(VERSIONS, { id: source.id, after }, { signal })).source.versions,
      item: (version) => versionItem(version, manages, reload),
    }),
  );
  return section("Versions", versions, manages && addVersion(source, reload));
}

function versionItem(version, manages, reload) {
  const discard = async () => {
    const sure = await confirmed(
      `Discard the file of version ${version.number}?`,
      "Its stored file is dropped for good, and no search finds this version any more.",
      "Discard",
    );
    if (!sure) return;
    await tried(item, async () => {
      await ask(DISCARD_FILE, { input: { sourceVersionId: version.id } });
      announce("The file was discarded.");
      reload();
    });
  };
  const item = h(
    "li",
    { class: "item" },
    h(
      "div",
      { class: "item-text" },
      h("p", { class: "item-title" }, `${version.number} · `, bdi(version.fileName)),
      h(
        "p",
        { class: "fine meta" },
        badge(version.status),
        !version.kept && badge("DISCARDED"),
        h("span", {}, bytes(version.size)),
        h("span", {}, version.mediaType),
        version.status !== "FAILED" && h("span", {}, told(version)),
      ),
      version.status === "FAILED" && h("p", { class: "reason" }, version.statusReason),
    ),
    manages &&
      version.kept &&
      button("Discard file", discard, {
        class: "quiet",
        "aria-label": `Discard the file of version ${version.number}`,
      }),
  );
  return item;
}

function addVersion(source, reload) {
  const place = h("div", {});
  const zone = dropZone({
    label: "Choose a file for a new version",
    multiple: false,
    async onFiles([file]) {
      const bar = h("progress", { max: 1, value: 0, "aria-label": `Sending ${file.name}` });
      place.replaceChildren(bar);
      try {
        await sendFile(ADD_VERSION, { sourceId: source.id }, file, (share) => (bar.value = share));
        announce(`${file.name} was added.`);
        reload();
      } catch (error) {
        place.replaceChildren(failure(error, { again: () => zone.take([file]) }));
      }
    },
  });
  return [zone, place];
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
