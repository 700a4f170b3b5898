// The knowledge bases of the workspace, and making one.
import { go } from "./address.js";
import { ask } from "./api.js";
import { BASES, CREATE_BASE } from "./documents.js";
import { announce, bdi, checkbox, field, form, h } from "./dom.js";
import { badge, count, empty, fill, paged, section, tried } from "./parts.js";
import { chooser } from "./picker.js";
import { session } from "./session.js";

export function basesView({ signal }) {
  const list = h("div", {});
  fill(list, () =>
    paged({
      label: "Knowledge bases",
      load: async (after) => (await ask(BASES, { after }, { signal })).knowledgeBases,
      item: baseItem,
      nothing: empty(
        "No knowledge bases yet",
        "A knowledge base names some of the Library's sources and searches them.",
      ),
    }),
  );
  return {
    title: "Knowledge bases",
    element: h(
      "div",
      {},
      h("h1", {}, "Knowledge bases"),
      section("In this workspace", list),
      session.may("LIBRARY_MANAGE") && createSection(signal),
    ),
  };
}

function baseItem({ id, name, description, index }) {
  return h(
    "li",
    { class: "item" },
    h(
      "div",
      { class: "item-text" },
      h("a", { class: "item-title", href: `#/bases/${id}` }, bdi(name)),
      description && h("p", { class: "item-note" }, bdi(description)),
      h(
        "p",
        { class: "fine meta" },
        badge(index?.state ?? "NONE"),
        index?.memberCount != null && h("span", {}, count(index.memberCount, "source")),
        index?.passageCount != null && h("span", {}, count(index.passageCount, "passage")),
      ),
    ),
  );
}

function createSection(signal) {
  const name = h("input", { name: "name", autocomplete: "off" });
  const description = h("textarea", { name: "description", rows: 2 });
  const autoRefresh = h("input", { type: "checkbox", name: "autoRefresh", checked: true });
  const sources = chooser({ label: "Find sources", signal });
  const element = form(
    { class: "card" },
    () =>
      tried(element, async () => {
        const input = {
          name: name.value,
          description: description.value,
          autoRefresh: autoRefresh.checked,
          sourceIds: sources.ids(),
        };
        const { createKnowledgeBase } = await ask(CREATE_BASE, { input });
        announce(`${name.value} was made. Build its index to search it.`);
        go(`/bases/${createKnowledgeBase.knowledgeBase.id}`);
      }),
    field("Name", name),
    field("Description", description),
    sources.element,
    checkbox("Refresh the index by itself when sources change", autoRefresh),
    h("div", { class: "row" }, h("button", { class: "primary" }, "Make the knowledge base")),
  );
  return section("New knowledge base", element);
}
