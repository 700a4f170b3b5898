// A hit in the list, and its passage whole.
import { ask } from "./api.js";
import { PASSAGE_CONTEXT } from "./documents.js";
import { bdi, button, h, newId } from "./dom.js";
import { badge, marked, passage, tried } from "./parts.js";

const AROUND = [3, 9, 21]; // how many passages in all; the last is the most that the API gives

const rankOf = (rank) => rank.toPrecision(3);

/** One hit. `open` puts what is to be shown beside the list into the address. */
export function hitItem(hit, open) {
  const title = hit.source.title;
  return h(
    "li",
    { class: "hit" },
    h("h3", {}, h("a", { href: `#/library/${hit.resourceId}` }, bdi(title))),
    h("p", { class: "snippet", dir: "auto" }, marked(hit.snippet.text, hit.snippet.highlights)),
    h(
      "div",
      { class: "hit-foot" },
      h(
        "p",
        { class: "fine meta" },
        hit.source.private && badge("PRIVATE"),
        h("span", {}, `Passage ${hit.ordinal}`),
        hit.version.number > 1 && h("span", {}, `version ${hit.version.number}`),
        h("span", {}, `rank ${rankOf(hit.rank)}`),
      ),
      h(
        "div",
        { class: "row" },
        button("Read the passage", () => open({ passage: hit.chunkId }), {
          class: "quiet",
          "aria-label": `Read passage ${hit.ordinal} of ${title}`,
        }),
        button("Why is it here?", () => open({ why: hit.resourceId }), {
          class: "quiet",
          "aria-label": `Why is ${title} here?`,
        }),
      ),
    ),
  );
}

/** The passage in a dialog, with what stands around it; `closed` is called when it was closed. */
export function showPassage(hit, closed, signal) {
  const heading = h("h2", { id: newId("title") }, bdi(hit.source.title));
  const text = h("div", {
    class: "passage-text",
    tabindex: 0,
    role: "region",
    "aria-label": "The passage in its context",
  });
  const here = () => passage(hit.ordinal, marked(hit.text, hit.highlights), true);
  let step = 0;
  const show = async () => {
    const { passage: found } = await ask(PASSAGE_CONTEXT, { id: hit.chunkId, limit: AROUND[step] }, { signal });
    const all = found?.context ?? [];
    text.replaceChildren(...all.map((each) => (each.id === hit.chunkId ? here() : passage(each.ordinal, each.text))));
    if (!all.length) text.append(here());
    text.querySelector("[aria-current]").scrollIntoView({ block: "nearest" });
    more.hidden = ++step === AROUND.length || all.length < AROUND[step - 1];
  };
  const more = button("Show more around it", () => tried(dialog, show));
  more.hidden = true;
  const dialog = h(
    "dialog",
    { class: "passage", "aria-labelledby": heading.id },
    h("header", {}, heading, h("p", { class: "fine" }, `Passage ${hit.ordinal} of version ${hit.version.number}`)),
    text,
    h("details", {}, h("summary", {}, "Ids and hash"), idList(hit)),
    h(
      "div",
      { class: "row end" },
      more,
      h("a", { href: `#/library/${hit.resourceId}` }, "Show the source"),
      button("Close", () => dialog.close(), { autofocus: true }),
    ),
  );
  text.append(here());
  dialog.addEventListener("close", () => {
    if (!dialog.isConnected) return; // the address has moved on already
    dialog.remove();
    closed();
  });
  document.body.append(dialog);
  dialog.showModal();
  tried(dialog, show);
}

function idList(hit) {
  const names = {
    chunkId: "Passage",
    resourceId: "Source",
    resourceVersionId: "Version",
    textHash: "sha256 of the text",
  };
  return h(
    "dl",
    { class: "ids" },
    Object.entries(names).map(([name, label]) =>
      h("div", {}, h("dt", {}, label), h("dd", {}, h("code", {}, hit[name]))),
    ),
  );
}
