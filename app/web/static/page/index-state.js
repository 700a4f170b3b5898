// An index: its state, work on it, and watching that work until it is done.
import { ask, pause, watchIndex } from "./api.js";
import { BASE_BY_ID, INDEX_PROGRESS, REBUILD, REFRESH, REPAIR } from "./documents.js";
import { h } from "./dom.js";
import { badge, count, indexProgress, when } from "./parts.js";

const POLL_MILLISECONDS = 1500;

/** The API's remedies and what their buttons say. */
export const WORK = {
  REFRESH: { document: REFRESH, field: "refreshIndex", label: "Refresh the index" },
  REBUILD: { document: REBUILD, field: "rebuildIndex", label: "Rebuild the index" },
  REPAIR: { document: REPAIR, field: "repairIndex", label: "Repair the index" },
};

/** Asks for the work; the index that does it, which may be a successor of the one that is searched. */
export async function request(work, baseId) {
  const { document, field } = WORK[work];
  return (await ask(document, { input: { knowledgeBaseId: baseId } }))[field].index;
}

/**
 * Calls `onIndex` with the index that is worked on, else the one that is searched, until nothing is being built; gives
 * the last. `wanted`: the generation that was asked for. Without a websocket a successor of a ready index is not seen
 * until it takes its place: then it is waited for.
 */
export async function follow(baseId, onIndex, signal, wanted = 0) {
  const pick = (data) => data.knowledgeBase.index;
  for (;;) {
    let index = null;
    const seen = (current) => onIndex((index = current));
    await watchIndex({ subscription: INDEX_PROGRESS, query: BASE_BY_ID, pick }, { id: baseId }, seen, signal);
    if (!index || index.generation >= wanted) return index;
    await pause(POLL_MILLISECONDS, signal);
  }
}

/** What can be told of an index, and of the `successor` that is being built beside it. */
export function indexFacts(index, successor) {
  if (!index) return [h("p", { class: "meta" }, badge("NONE"), h("span", {}, "It can be searched once it is built."))];
  return [
    h(
      "p",
      { class: "meta" },
      badge(index.state),
      h("span", {}, `Generation ${index.generation}`),
      index.builtAt && h("span", {}, "built ", when(index.builtAt)),
      index.memberCount != null && h("span", {}, count(index.memberCount, "source")),
      index.passageCount != null && h("span", {}, count(index.passageCount, "passage")),
    ),
    index.state === "BUILDING" && indexProgress(index),
    index.state === "STALE" && h("p", {}, "Its sources changed since it was built. Refresh it to search it again."),
    index.failureReason && h("p", { class: "reason" }, index.failureReason),
    successor && h("p", {}, `Generation ${successor.generation} is being built. Until then this one goes on serving.`),
    successor && indexProgress(successor),
  ].filter(Boolean);
}
