// Who holds what on a source, and giving and taking it.
import { ask } from "./api.js";
import { GRANT, GRANTS, REVOKE } from "./documents.js";
import { announce, bdi, button, field, form, h } from "./dom.js";
import { empty, fill, paged, section, tried, when } from "./parts.js";

const ACTIONS = {
  SOURCE_READ: "Read it, private or not",
  SOURCE_DETAILS: "See title, description and versions",
  SOURCE_CONTENT: "Read the content, together with details",
};

export function grantsSection(source, signal) {
  const place = h("div", {});
  const list = () =>
    fill(place, () =>
      paged({
        label: "Grants",
        load: async (after) => (await ask(GRANTS, { id: source.id, after }, { signal })).source.grants,
        item: (grant) => grantItem(source, grant, list),
        nothing: empty("No grants", `Nobody but ${source.owner}, who owns it, holds anything on this source itself.`),
      }),
    );
  list();
  return section("Access", place, grantForm(source, list));
}

function grantItem(source, { subject, action, expiresAt }, changed) {
  const revoke = () =>
    tried(item, async () => {
      await ask(REVOKE, { input: { subject, action, sourceId: source.id } });
      announce(`Taken away from ${subject}.`);
      await changed();
    });
  const item = h(
    "li",
    { class: "item" },
    h(
      "div",
      { class: "item-text" },
      h("p", { class: "item-title" }, bdi(subject)),
      h(
        "p",
        { class: "fine meta" },
        h("span", {}, ACTIONS[action] ?? action),
        expiresAt && h("span", {}, "until ", when(expiresAt)),
      ),
    ),
    button("Revoke", revoke, { class: "quiet", "aria-label": `Revoke ${ACTIONS[action] ?? action} from ${subject}` }),
  );
  return item;
}

function grantForm(source, changed) {
  const subject = h("input", { name: "subject", autocomplete: "off", spellcheck: "false", placeholder: "user:ada" });
  const action = h(
    "select",
    { name: "action" },
    Object.entries(ACTIONS).map(([value, label]) => h("option", { value }, label)),
  );
  const until = h("input", { type: "datetime-local", name: "until" });
  const element = form(
    { class: "card" },
    () =>
      tried(element, async () => {
        const expiresAt = until.value ? new Date(until.value).toISOString() : null;
        await ask(GRANT, {
          input: { subject: subject.value.trim(), action: action.value, sourceId: source.id, expiresAt },
        });
        announce(`Granted to ${subject.value.trim()}.`);
        subject.value = "";
        until.value = "";
        await changed();
      }),
    h("h3", {}, "Grant access"),
    h(
      "div",
      { class: "fields" },
      field("Subject", subject, "user:…, agent:… or group:…"),
      field("May", action),
      field("Until (optional)", until),
    ),
    h("div", { class: "row" }, h("button", {}, "Grant")),
  );
  return element;
}
