// Making elements. Text only ever becomes text nodes: whatever a title or a passage says, it is shown and never run.

/**
 * An element. In `properties`, `on…` is a listener, true an attribute without a value; false, null and undefined are
 * left out. Children are nodes, strings, numbers and arrays of these; null, undefined and false are left out.
 */
export function h(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === false || value == null) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child != null && child !== false));
  return element;
}

/** Words that a person wrote: their direction is their own, and reaches no further than they do. */
export const bdi = (text, properties = {}) => h("bdi", properties, text);

let lastId = 0;
export const newId = (stem) => `${stem}-${++lastId}`;

/** A labelled control: `control` is an input, select or textarea; `hint` a line below it. */
export function field(label, control, hint) {
  control.id ||= newId("field");
  const note = hint && h("p", { class: "hint", id: `${control.id}-hint` }, hint);
  if (note) control.setAttribute("aria-describedby", note.id);
  return h("div", { class: "field" }, h("label", { for: control.id }, label), control, note);
}

export function checkbox(label, control) {
  return h("label", { class: "check" }, control, h("span", {}, label));
}

/** A button that is busy, and can't be pressed again, while what it does is under way. */
export function button(label, action, properties = {}) {
  const element = h("button", { type: "button", ...properties }, label);
  if (action) {
    element.addEventListener("click", (event) => busy(element, () => action(event)));
  }
  return element;
}

/** `action` runs with `element` marked as busy. aria-disabled, not disabled: the focus stays where it is. */
export async function busy(element, action) {
  if (element?.getAttribute("aria-disabled") === "true") return;
  element?.setAttribute("aria-disabled", "true");
  try {
    await action();
  } finally {
    element?.removeAttribute("aria-disabled");
  }
}

/** A form that asks for nothing by itself: `submit` gets the button that was pressed. */
export function form(properties, submit, ...children) {
  const onsubmit = (event) => {
    event.preventDefault();
    const pressed = event.submitter ?? event.target.querySelector("button:not([type=button])");
    busy(pressed, () => submit(event));
  };
  return h("form", { ...properties, novalidate: true, onsubmit }, ...children);
}

/** Shown for a while at the foot of the page, and said by screen readers. */
export function announce(text) {
  const status = document.getElementById("status");
  status.replaceChildren(text);
  clearTimeout(announce.timer);
  announce.timer = setTimeout(() => status.replaceChildren(), 6000);
}

/** Said by screen readers alone: the page shows it as it is. */
export function say(text) {
  document.getElementById("said").replaceChildren(text);
}

/** A question in a dialog; whether the answer was yes. */
export function confirmed(title, text, yes) {
  return new Promise((resolve) => {
    const heading = h("h2", { id: newId("title") }, title);
    const dialog = h(
      "dialog",
      { class: "question", "aria-labelledby": heading.id },
      heading,
      h("p", {}, text),
      h(
        "div",
        { class: "row end" },
        button("Cancel", () => dialog.close(), { autofocus: true }),
        button(yes, () => dialog.close("yes"), { class: "danger" }),
      ),
    );
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue === "yes");
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}
