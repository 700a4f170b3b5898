// The page's frame: who is signed in, which view the address names, where the focus goes.
import { HOME, asked } from "./address.js";
import { ask } from "./api.js";
import { baseView } from "./base.js";
import { basesView } from "./bases.js";
import { VIEWER } from "./documents.js";
import { button, h } from "./dom.js";
import { libraryView } from "./library.js";
import { failure } from "./parts.js";
import { retrievalView } from "./retrieval.js";
import { session } from "./session.js";
import { signInView } from "./sign-in.js";
import { sourceView } from "./source.js";

const VIEWS = [
  [/^\/retrieval$/, retrievalView],
  [/^\/library$/, libraryView],
  [/^\/library\/([^/]+)$/, sourceView],
  [/^\/bases$/, basesView],
  [/^\/bases\/([^/]+)$/, baseView],
];
const NAVIGATION = [
  ["/retrieval", "Retrieval"],
  ["/library", "Library"],
  ["/bases", "Knowledge bases"],
];
const MAY = {
  LIBRARY_MANAGE: "manages the Library: sources, knowledge bases, access",
  LIBRARY_READ: "reads every source that is not private",
  WORKSPACE_READ: "reads every source that is not private",
};

const main = document.getElementById("main");
let shown = null; // {path, update, controller}

function show() {
  const { path, parameters } = asked();
  if (!session.token) return signIn();
  if (shown?.path === path && shown.update?.(parameters)) return;
  const [view, id] = viewOf(path);
  const isFirst = shown === null;
  shown?.controller.abort();
  const controller = new AbortController();
  for (const dialog of document.querySelectorAll("dialog")) dialog.remove();
  const { element, title, update } = view({ id, parameters, signal: controller.signal, setTitle });
  shown = { path, update, controller };
  drawTop(path);
  main.replaceChildren(element);
  setTitle(title);
  if (isFirst) return;
  scrollTo(0, 0);
  main.focus({ preventScroll: true });
}

function viewOf(path) {
  for (const [pattern, view] of VIEWS) {
    const match = pattern.exec(path);
    if (match) return [view, match[1] && decodeURIComponent(match[1])];
  }
  return [missingView];
}

const missingView = () => ({
  title: "Not found",
  element: h("div", {}, h("h1", {}, "There is no such view"), h("p", {}, h("a", { href: `#${HOME}` }, "To the start"))),
});

function setTitle(title) {
  document.title = `${title} · gctl`;
}

function signIn(reason) {
  shown?.controller.abort();
  shown = null;
  for (const dialog of document.querySelectorAll("dialog")) dialog.remove();
  drawTop(null);
  main.replaceChildren(signInView(reason, begin));
  setTitle("Sign in");
}

function begin() {
  show();
  main.focus();
}

// the top

function drawTop(path) {
  const links = NAVIGATION.map(([target, label]) =>
    h("a", { href: `#${target}`, "aria-current": path?.startsWith(target) && "page" }, label),
  );
  document
    .getElementById("top")
    .replaceChildren(
      h("a", { class: "brand", href: `#${HOME}` }, "gctl"),
      ...(session.viewer ? [h("nav", { "aria-label": "Views" }, links), ...who(session.viewer)] : []),
    );
}

function who({ subject, groups, workspace, actions }) {
  const may = [...new Set(actions.map((action) => MAY[action] ?? action))];
  return [
    h("button", { type: "button", class: "who", popovertarget: "who" }, subject),
    h(
      "div",
      { id: "who", popover: true },
      h(
        "dl",
        {},
        h("div", {}, h("dt", {}, "Signed in as"), h("dd", {}, subject)),
        h("div", {}, h("dt", {}, "Groups"), h("dd", {}, groups.join(", ") || "none")),
        h("div", {}, h("dt", {}, "Workspace"), h("dd", {}, workspace)),
        h(
          "div",
          {},
          h("dt", {}, "In the workspace"),
          may.length
            ? may.map((line) => h("dd", {}, line))
            : h("dd", {}, "sees only what was granted source by source"),
        ),
      ),
      button("Sign out", () => session.end()),
    ),
  ];
}

// the start

async function start() {
  session.onEnd = (reason) => {
    signIn(reason);
    main.focus();
  };
  document.querySelector(".skip").addEventListener("click", (event) => {
    event.preventDefault(); // the address names the view
    main.focus();
  });
  for (const type of ["dragover", "drop"]) addEventListener(type, (event) => event.preventDefault());
  addEventListener("hashchange", show);
  if (!session.token) return signIn();
  try {
    session.viewer = (await ask(VIEWER)).viewer;
    show();
  } catch (error) {
    if (session.token) main.replaceChildren(failure(error, { again: start }));
  }
}

start();
