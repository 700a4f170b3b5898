// The address says what is shown: #/view?parameter=…. It is in the fragment, so that no server's log has the questions.
export const HOME = "/retrieval";

/** The address of a view; parameters that are empty are left out. */
export function address(path, parameters = {}) {
  const given = Object.entries(parameters).filter(([, value]) => value != null && value !== "");
  return `#${path}${given.length ? `?${new URLSearchParams(given)}` : ""}`;
}

/** What the address names: `{path, parameters}`. */
export function asked() {
  const [path, query] = location.hash.slice(1).split(/\?(.*)/s, 2);
  return { path: path || HOME, parameters: new URLSearchParams(query) };
}

/** To another view, or another state of this one. `replace`: the one before it is no place to come back to. */
export function go(path, parameters, { replace = false } = {}) {
  const target = address(path, parameters);
  if (replace || target === location.hash) history.replaceState(history.state, "", target);
  else history.pushState({ opened: true }, "", target);
  dispatchEvent(new HashChangeEvent("hashchange"));
}

/** Back from a state that `go` opened; to `path` where the visitor came straight to it, by a link. */
export function back(path, parameters) {
  if (history.state?.opened) history.back();
  else go(path, parameters, { replace: true });
}
