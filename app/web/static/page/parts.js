// What several views show: errors with their remedies, states, lists that go on, texts with highlighted words.
import { bdi, button, busy, h, newId } from "./dom.js";

const fillings = new WeakMap(); // of each place the latest

/**
 * Puts what `make` gives into `place`, or why it could not be had, with another try. What stood there stays until then;
 * a place that held the focus has it again. Of several at once the latest counts.
 */
export async function fill(place, make) {
  const mine = {};
  fillings.set(place, mine);
  if (!place.childElementCount) place.replaceChildren(h("p", { class: "loading" }, "Loading …"));
  place.setAttribute("aria-busy", "true");
  let made;
  try {
    made = [await make()].flat();
  } catch (error) {
    if (error.name === "AbortError") return;
    made = [failure(error, { again: () => fill(place, make) })];
  }
  if (fillings.get(place) !== mine) return;
  const hadFocus = place.contains(document.activeElement);
  place.removeAttribute("aria-busy");
  place.replaceChildren(...made.filter(Boolean));
  if (!hadFocus) return;
  place.tabIndex = -1;
  place.focus({ preventScroll: true });
}

/** An error as the server told it. `again` tries once more where that can help; `remedies` are further buttons. */
export function failure(error, { again, remedies = [] } = {}) {
  if (!error.code) console.error(error); // a fault of this page
  const retry = again && error.retryable && button("Try again", again);
  return h(
    "div",
    { class: "note error", role: "alert" },
    h("p", {}, error.code ? error.message : "This page has a fault. Reload it, and report what you did."),
    error.code && h("p", { class: "fine" }, error.code, error.requestId && ` · request ${error.requestId}`),
    (retry || remedies.length > 0) && h("div", { class: "row" }, retry, remedies),
  );
}

/** Runs `action` for a form; its error goes into the form's end, and an older one away. */
export async function tried(place, action) {
  place.querySelector(":scope > .note.error")?.remove();
  try {
    await action();
  } catch (error) {
    if (error.name !== "AbortError") place.append(failure(error));
  }
}

export function empty(title, text, ...more) {
  return h("div", { class: "empty" }, h("p", { class: "empty-title" }, title), text && h("p", {}, text), ...more);
}

export function section(title, ...children) {
  const heading = h("h2", { id: newId("section") }, title);
  return h("section", { "aria-labelledby": heading.id }, heading, ...children);
}

/**
 * A list that may go on: `load(after)` gives a connection, `item(node)` a list item. What is behind "Show more" is
 * appended, and the focus goes to its first item.
 */
export async function paged({ label, load, item, nothing }) {
  const list = h("ul", { class: "list", "aria-label": label });
  let after = null;
  const add = async () => {
    const { nodes, pageInfo } = await load(after);
    const items = nodes.map(item);
    list.append(...items);
    after = pageInfo.endCursor;
    more.hidden = !pageInfo.hasNextPage;
    return items[0];
  };
  const more = h("button", { type: "button", class: "more" }, "Show more");
  more.addEventListener("click", () =>
    busy(more, () =>
      tried(more.parentElement, async () => {
        const first = await add();
        first?.querySelector("a, button")?.focus();
      }),
    ),
  );
  await add();
  return list.childElementCount ? [list, more] : [nothing];
}

// texts

/** `text` with its highlights, which are ranges in code points (not in JavaScript's UTF-16), as text nodes and <mark>. */
export function marked(text, highlights) {
  const points = Array.from(text);
  const parts = [];
  let from = 0;
  for (const { start, end } of highlights) {
    parts.push(points.slice(from, start).join(""), h("mark", {}, points.slice(start, end).join("")));
    from = end;
  }
  return [...parts, points.slice(from).join("")].filter((part) => part !== "");
}

/** One passage of a text. `text` is a string or nodes; `isHit`: it is the one that was looked for. */
export function passage(ordinal, text, isHit = false) {
  return h(
    "section",
    { "aria-current": isHit && "true", "aria-label": `Passage ${ordinal}`, dir: "auto" },
    h("span", { class: "ordinal", "aria-hidden": "true" }, ordinal),
    text,
  );
}

export function bytes(size) {
  const units = ["bytes", "kB", "MB", "GB"];
  const power = Math.min(Math.floor(Math.log10(Math.max(size, 1)) / 3), 3);
  return `${(size / 1000 ** power).toLocaleString("en", { maximumFractionDigits: power ? 1 : 0 })} ${units[power]}`;
}

export function when(moment) {
  const format = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeStyle: "short" });
  return h("time", { datetime: moment }, format.format(new Date(moment)));
}

export const count = (n, one, many = `${one}s`) => `${n.toLocaleString("en")} ${n === 1 ? one : many}`;

// states: a word and a shape, never a colour alone

const STATES = {
  READY: ["good", "Ready"],
  BUILDING: ["busy", "Building"],
  STALE: ["warn", "Stale"],
  FAILED: ["bad", "Failed"],
  NONE: ["idle", "Never built"],
  PENDING: ["busy", "Being read"],
  INDEXED: ["good", "Indexed"],
  UNAVAILABLE: ["warn", "Unavailable"],
  PRIVATE: ["idle", "Private"],
  DISCARDED: ["idle", "File discarded"],
};

export function badge(state) {
  const [tone, word] = STATES[state] ?? ["idle", state];
  return h("span", { class: `badge ${tone}` }, word);
}

/** How far an index is, while it is being built. */
export function indexProgress(index) {
  const known = index.total != null && index.total > 0;
  const label = known ? `${index.done} of ${count(index.total, "source")}` : `${Math.round(index.progress * 100)} %`;
  return h(
    "div",
    { class: "progress" },
    h("progress", { max: 1, value: index.progress, "aria-label": "Building the index" }),
    h("span", { class: "fine" }, label),
  );
}

/** One source in a list: its title leads to it. */
export function sourceItem(source, ...more) {
  const version = source.latestVersion;
  return h(
    "li",
    { class: "item" },
    h(
      "div",
      { class: "item-text" },
      h("a", { class: "item-title", href: `#/library/${source.id}` }, bdi(source.title)),
      source.description && h("p", { class: "item-note" }, bdi(source.description)),
      h(
        "p",
        { class: "fine meta" },
        source.private && badge("PRIVATE"),
        source.availability === "UNAVAILABLE" && badge("UNAVAILABLE"),
        version && version.status !== "INDEXED" && badge(version.status),
        version && !version.kept && badge("DISCARDED"),
        h("span", {}, source.owner),
        version && h("span", {}, `version ${version.number}`),
        version?.status === "INDEXED" && h("span", {}, count(version.passageCount, "passage")),
      ),
      version?.status === "FAILED" && h("p", { class: "reason" }, version.statusReason),
    ),
    ...more,
  );
}
