// Why a source is, or is not, among the hits: each gate in order, as the API explains it.
import { ask } from "./api.js";
import { EXPLAIN } from "./documents.js";
import { bdi, h, say } from "./dom.js";
import { fill, section } from "./parts.js";
import { picker, titleOf } from "./picker.js";

const GATES = {
  INDEX_READY: "Index ready",
  MEMBER: "Member",
  LIFECYCLE: "Not being deleted",
  AVAILABILITY: "Available",
  FILE_KEPT: "File kept",
  TEXT: "Has text",
  SOURCE_LIST: "In the source list",
  READABLE: "Readable by you",
  CONTENT_MATCH: "Text matches",
  TITLE_MATCH: "Title or description matches",
  ANY_WORD_MATCH: "Any word matches",
  WITHIN_LIMIT: "Within the limit",
};
const OUTCOMES = { PASSED: "passed", FAILED: "failed", NOT_REACHED: "not asked" };

/** `question()` is the one that was asked, `choose(id)` puts a source into the address, `show(id)` explains it. */
export function whySection(question, choose, signal) {
  const place = h("div", { class: "explanation" });
  const search = picker({
    label: "Why isn’t it here?",
    verb: "Explain",
    onPick: ({ id }) => choose(id),
    signal,
  });
  const element = section("Missing something?", search, place);
  let shown = null;
  return {
    element,
    async show(id) {
      if (!id) {
        shown = null;
        place.replaceChildren();
        return;
      }
      const asked = JSON.stringify([id, question()]);
      if (asked === shown) return;
      shown = asked;
      await fill(place, () => explanation(id, question(), signal));
      if (shown === asked) place.scrollIntoView({ block: "nearest" });
    },
  };
}

async function explanation(id, { kb, query, limit, match, sources }, signal) {
  const variables = {
    base: kb || null,
    query,
    source: id,
    limit: limit ? Number(limit) : undefined,
    match: match || undefined,
    sourceIds: sources ? sources.split(",") : undefined,
  };
  const [{ explainRetrieval }, title] = await Promise.all([ask(EXPLAIN, variables, { signal }), titleOf(id, signal)]);
  const { summary, gates } = explainRetrieval;
  say(summary);
  return h(
    "div",
    { class: "card" },
    h("h3", {}, bdi(title ?? id)),
    h("p", { class: "lead" }, summary),
    h(
      "ol",
      { class: "gates", "aria-label": "Gates, in the order in which they are asked" },
      gates.map(({ name, outcome, sentence }) =>
        h(
          "li",
          { class: outcome.toLowerCase().replace("_", "-") },
          h(
            "span",
            { class: "gate" },
            GATES[name] ?? name,
            h("span", { class: "visually-hidden" }, `: ${OUTCOMES[outcome]}`),
          ),
          h("span", { class: "sentence" }, sentence),
        ),
      ),
    ),
  );
}
