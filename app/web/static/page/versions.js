// The versions of a source: their files, how far they are read, and their text.
import { ask, pause } from "./api.js";
import { ADD_VERSION, DISCARD_FILE, PASSAGES, VERSIONS } from "./documents.js";
import { announce, bdi, button, confirmed, h } from "./dom.js";
import { dropZone, sendFile } from "./files.js";
import { told } from "./library.js";
import { badge, bytes, empty, failure, fill, paged, passage, section, tried } from "./parts.js";

const POLL_MILLISECONDS = 1500;

/** `reload` shows the source anew: what was done changes it. */
export function versionsSection(source, manages, signal, reload) {
  const versions = h("div", {});
  let isPending = false;
  const show = async () => {
    await fill(versions, () =>
      paged({
        label: "Versions",
        load: async (after) => {
          const { nodes, pageInfo } = (await ask(VERSIONS, { id: source.id, after }, { signal })).source.versions;
          isPending = nodes.some(({ status }) => status === "PENDING");
          return { nodes, pageInfo };
        },
        item: (version) => versionItem(version, manages, reload),
      }),
    );
    if (!isPending) return;
    await pause(POLL_MILLISECONDS, signal);
    await show();
  };
  show().catch(() => {}); // the view was left
  return section("Versions", versions, manages && addVersion(source, reload));
}

/** The newest version's text, for who wants to read it. */
export function textSection(source, signal) {
  const place = h("div", { class: "passage-text" });
  const show = () =>
    fill(place, () =>
      paged({
        label: "Passages",
        load: async (after) =>
          (await ask(PASSAGES, { id: source.id, after }, { signal })).source.latestVersion.passages,
        item: ({ ordinal, text }) => h("li", {}, passage(ordinal, text)),
        nothing: empty("No text", "None that you may read, at least."),
      }),
    );
  const ontoggle = ({ target }) => target.open && !place.childElementCount && show();
  return h("details", { ontoggle }, h("summary", {}, `Read the text of version ${source.latestVersion.number}`), place);
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
