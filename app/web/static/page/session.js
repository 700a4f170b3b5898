// Who is signed in. The token stays in this tab: in sessionStorage, never in the address, never in a cookie.
const KEY = "gctl.token";

export const session = {
  token: sessionStorage.getItem(KEY),
  /** Viewer as the API answers; null until it has. */
  viewer: null,
  /** Set by main.js: shows the sign-in view, with a reason where there is one. */
  onEnd: () => {},

  begin(token, viewer) {
    this.token = token;
    this.viewer = viewer;
    sessionStorage.setItem(KEY, token);
  },

  end(reason) {
    this.token = null;
    this.viewer = null;
    sessionStorage.removeItem(KEY);
    this.onEnd(reason);
  },

  may(action) {
    return this.viewer?.actions.includes(action) ?? false;
  },
};
