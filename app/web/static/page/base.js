// One knowledge base: its index and the work on it, its sources, its name.
import { address, go } from "./address.js";
import { ask } from "./api.js";
import { ADD_MEMBERS, BASE_BY_ID, DELETE_BASE, FAILURES, MEMBERS, REMOVE_MEMBERS, UPDATE_BASE } from "./documents.js";
import { announce, bdi, button, checkbox, confirmed, field, form, h } from "./dom.js";
import { WORK, follow, indexFacts, request } from "./index-state.js";
import { empty, fill, paged, section, sourceItem, tried } from "./parts.js";
import { picker } from "./picker.js";
import { session } from "./session.js";

const SAID = {
  READY: "The index is ready.",
  FAILED: "The index failed. See which sources could not be read.",
  STALE: "The index is stale.",
};

export function baseView({ id, signal, setTitle }) {
  const element = h("div", {});
  const reload = () => fill(element, make);
  const make = async () => {
    const { knowledgeBase: base } = await ask(BASE_BY_ID, { id }, { signal });
    setTitle(base.name);
    const manages = session.may("LIBRARY_MANAGE");
    const index = indexSection(base, manages, signal);
    return [
      heading(base),
      index.element,
      membersSection(base, manages, signal, index.changed),
      manages && settingsSection(base, reload),
    ];
  };
  reload();
  return { title: "Knowledge base", element };
}

function heading({ id, name, description }) {
  return h(
    "header",
    {},
    h("p", { class: "crumb" }, h("a", { href: "#/bases" }, "Knowledge bases")),
    h("h1", {}, bdi(name)),
    description && h("p", { class: "lead" }, bdi(description)),
    h(
      "p",
      { class: "meta" },
      h("a", { href: address("/retrieval", { kb: id }) }, "Retrieve from it"),
      h("code", { class: "fine" }, id),
    ),
  );
}

// the index

/** `changed()` looks at the index anew: the set of sources is another. */
function indexSection(base, manages, signal) {
  const facts = h("div", { class: "facts" });
  const failures = h("div", {});
  const actions = h("div", { class: "row" });
  const place = h("div", { class: "card" }, facts, failures, actions);

  let serving = base.index; // what is searched: it stays while its successor is built
  const draw = (seen) => {
    const successor = seen?.state === "BUILDING" && serving?.state === "READY" && seen.id !== serving.id ? seen : null;
    if (!successor) serving = seen;
    facts.replaceChildren(...indexFacts(serving, successor));
    failures.replaceChildren();
    if (serving?.state === "FAILED" && manages) failed(failures, base.id, signal);
    actions.replaceChildren(...(manages && seen?.state !== "BUILDING" ? workButtons(serving, act) : []));
  };
  const watch = async (generation) => {
    const index = await follow(base.id, draw, signal, generation);
    if (index) announce(SAID[index.state]);
  };
  const act = (work) =>
    tried(place, async () => {
      const asked = await request(work, base.id);
      draw(asked);
      if (asked.state === "BUILDING") await watch(asked.generation);
      place.querySelector("button")?.focus();
    });
  const changed = () =>
    tried(place, async () => {
      const { knowledgeBase } = await ask(BASE_BY_ID, { id: base.id }, { signal });
      draw(knowledgeBase.index);
      if (knowledgeBase.index?.state === "BUILDING") await watch();
    });
  draw(base.index);
  if (base.index?.state === "BUILDING") tried(place, () => watch());
  else if (base.index) tried(place, () => follow(base.id, draw, signal)); // a successor may be on its way
  return { element: section("Index", place), changed };
}

function workButtons(index, act) {
  if (!index) return [button("Build the index", () => act("REBUILD"), { class: "primary" })];
  const remedy = { STALE: "REFRESH", FAILED: "REPAIR" }[index.state];
  return [
    remedy && button(WORK[remedy].label, () => act(remedy), { class: "primary" }),
    button(WORK.REBUILD.label, () => act("REBUILD")),
  ].filter(Boolean);
}

function failed(place, id, signal) {
  return fill(place, () =>
    paged({
      label: "Sources that could not be read",
      load: async (after) => (await ask(FAILURES, { id, after }, { signal })).knowledgeBase.index.failures,
      item: ({ source, reason }) =>
        h(
          "li",
          { class: "item" },
          h(
            "div",
            { class: "item-text" },
            h("a", { class: "item-title", href: `#/library/${source.id}` }, bdi(source.title)),
            h("p", { class: "reason" }, reason),
          ),
        ),
      nothing: h("p", {}, "Of the sources that could not be read you may see none."),
    }),
  );
}

// its sources

function membersSection(base, manages, signal, changed) {
  const place = h("div", {});
  const list = () =>
    fill(place, () =>
      paged({
        label: "Sources of the knowledge base",
        load: async (after) => (await ask(MEMBERS, { id: base.id, after }, { signal })).knowledgeBase.sources,
        item: memberItem,
        nothing: empty("No sources", "None that you may see, at least."),
      }),
    );
  const change = async (document, source, said) => {
    await ask(document, { input: { knowledgeBaseId: base.id, sourceIds: [source.id] } });
    announce(said);
    await list();
    changed();
  };
  const memberItem = (source) => {
    const remove = () => tried(item, () => change(REMOVE_MEMBERS, source, `${source.title} was taken out.`));
    const item = sourceItem(
      source,
      manages && button("Take out", remove, { class: "quiet", "aria-label": `Take out ${source.title}` }),
    );
    return item;
  };
  list();
  const trouble = h("div", {});
  const add = (source) => tried(trouble, () => change(ADD_MEMBERS, source, `${source.title} was added.`));
  return section(
    "Sources",
    place,
    manages &&
      h("div", { class: "card" }, picker({ label: "Add a source", verb: "Add", onPick: add, signal }), trouble),
  );
}

// its name, and its end

function settingsSection(base, reload) {
  const name = h("input", { name: "name", value: base.name, autocomplete: "off" });
  const description = h("textarea", { name: "description", rows: 2 }, base.description ?? "");
  const autoRefresh = h("input", { type: "checkbox", name: "autoRefresh", checked: base.autoRefresh });
  const save = () =>
    tried(element, async () => {
      const input = { id: base.id, name: name.value, description: description.value, autoRefresh: autoRefresh.checked };
      await ask(UPDATE_BASE, { input });
      announce("Saved.");
      await reload();
    });
  const remove = async () => {
    const sure = await confirmed(
      `Delete “${base.name}”?`,
      "Its sources stay in the Library. Its index is gone.",
      "Delete",
    );
    if (!sure) return;
    await tried(element, async () => {
      await ask(DELETE_BASE, { input: { id: base.id } });
      announce("The knowledge base was deleted.");
      go("/bases", {}, { replace: true });
    });
  };
  const element = form(
    { class: "card" },
    save,
    field("Name", name),
    field("Description", description),
    checkbox("Refresh the index by itself when sources change", autoRefresh),
    h(
      "div",
      { class: "row between" },
      h("button", { class: "primary" }, "Save"),
      button("Delete the knowledge base", remove, { class: "danger" }),
    ),
  );
  return section("Name and description", element);
}
