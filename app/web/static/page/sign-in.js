// Signing in: with a token, or as one of the sample library's people.
import { ask } from "./api.js";
import { VIEWER } from "./documents.js";
import { button, field, form, h } from "./dom.js";
import { failure, tried } from "./parts.js";
import { session } from "./session.js";

/** `reason`: why one has to sign in again. `done` is called with the session begun. */
export function signInView(reason, done) {
  const enter = async (token) => {
    const { viewer } = await ask(VIEWER, {}, { token });
    session.begin(token, viewer);
    done();
  };
  const people = JSON.parse(document.body.dataset.people);
  return h(
    "div",
    { class: "sign-in" },
    h("h1", {}, "Sign in"),
    reason && failure({ message: reason, code: "UNAUTHENTICATED" }),
    people.length > 0 && peopleList(people, enter),
    tokenForm(enter, people.length > 0),
  );
}

function peopleList(people, enter) {
  const place = h("div", {});
  const list = h(
    "ul",
    { class: "people" },
    people.map(({ subject, label, token }) =>
      h(
        "li",
        {},
        button([h("strong", {}, subject), h("span", {}, label.slice(subject.length).replace(/^:\s*/, ""))], () =>
          tried(place, () => enter(token)),
        ),
      ),
    ),
  );
  place.append(h("p", {}, "This server shows the sample library. Choose whose eyes to see it with:"), list);
  return place;
}

function tokenForm(enter, isSecond) {
  const token = h("input", {
    type: "password",
    name: "token",
    autocomplete: "off",
    spellcheck: "false",
  });
  const element = form(
    { class: "card" },
    () => tried(element, () => enter(token.value.trim().replace(/^bearer\s+/i, ""))),
    h("h2", {}, isSecond ? "Or with a token" : "With a token"),
    field("Token", token, "It stays in this tab, and is forgotten when the tab is closed or you sign out."),
    h("div", { class: "row" }, h("button", { class: "primary" }, "Sign in")),
  );
  return element;
}
