// The API, with the visitor's own token. The page has no rule of its own: what it shows is what /graphql answers.
import { session } from "./session.js";

const ENDPOINT = "/graphql";
const ACCEPT = "application/graphql-response+json, application/json;q=0.9";
const POLL_MILLISECONDS = 1500;

/** What the server refused, or that it could not be reached: `code`, `retryable`, `remedy` … as the API names them. */
export class ApiError extends Error {
  constructor({ message, extensions = {} }, requestId) {
    super(message);
    this.code = extensions.code ?? "INTERNAL";
    this.retryable = extensions.retryable ?? false;
    this.remedy = extensions.remedy;
    this.indexState = extensions.indexState;
    this.requestId = extensions.requestId ?? requestId;
  }
}

/** The data of one operation. Raises ApiError for the first error, whatever else was answered. */
export async function ask(document, variables = {}, options = {}) {
  const { data, errors } = await askPartly(document, variables, options);
  if (errors.length) throw errors[0];
  return data;
}

/** `{data, errors}` of one operation: fields that were refused are null in `data`. Raises where nothing came back. */
export async function askPartly(document, variables = {}, { signal, token = session.token } = {}) {
  const sent = headers(token, { "content-type": "application/json" });
  const response = await reached(() =>
    fetch(ENDPOINT, {
      method: "POST",
      headers: sent,
      body: JSON.stringify({ query: document, variables }),
      signal,
    }),
  );
  return read(token, await response.text(), response.status, response.headers.get("x-request-id"));
}

/** As `ask`, for a form with a file: `onProgress` gets the share of it that was sent, from 0 to 1. */
export async function send(form, onProgress) {
  const { token } = session;
  const request = new XMLHttpRequest(); // fetch can't tell how far an upload is
  request.open("POST", ENDPOINT);
  // a header that no other site's form can carry: uploads are refused without it
  for (const [name, value] of Object.entries(headers(token, { "graphql-require-preflight": "true" }))) {
    request.setRequestHeader(name, value);
  }
  request.upload.addEventListener("progress", ({ lengthComputable, loaded, total }) => {
    if (lengthComputable) onProgress(loaded / total);
  });
  await reached(
    () =>
      new Promise((resolve, reject) => {
        request.addEventListener("load", resolve);
        request.addEventListener("error", reject);
        request.send(form);
      }),
  );
  const { data, errors } = read(token, request.responseText, request.status, request.getResponseHeader("x-request-id"));
  if (errors.length) throw errors[0];
  return data;
}

function headers(token, more) {
  if (token && !/^[!-~]+$/.test(token)) {
    const message = "This is no token: it has characters that no token has.";
    throw new ApiError({ message, extensions: { code: "UNAUTHENTICATED" } });
  }
  return { accept: ACCEPT, ...(token && { authorization: `Bearer ${token}` }), ...more };
}

async function reached(request) {
  try {
    return await request();
  } catch (error) {
    if (error.name === "AbortError") throw error;
    const message = "The server can't be reached. Check the connection and try again.";
    throw new ApiError({ message, extensions: { code: "UNREACHABLE", retryable: true } });
  }
}

function read(token, text, status, requestId) {
  let answer;
  try {
    answer = JSON.parse(text);
  } catch {
    const message = `The server answered ${status} and nothing that this page can read.`;
    throw new ApiError({ message, extensions: { code: "UNREADABLE", retryable: status >= 500 } }, requestId);
  }
  const errors = (answer.errors ?? []).map((error) => new ApiError(error, requestId));
  const signedOut = errors.find((error) => error.code === "UNAUTHENTICATED");
  if (signedOut && token === session.token) session.end(signedOut.message);
  if (signedOut || !answer.data) throw signedOut ?? errors[0];
  return { data: answer.data, errors };
}

/**
 * Calls `onIndex` with a knowledge base's index until it is not being built: over a websocket as it changes
 * (graphql-transport-ws), and where that fails by asking again and again. Ends with `signal`. Raises as `ask`.
 */
export async function watchIndex({ subscription, query, pick }, variables, onIndex, signal) {
  try {
    await subscribe(subscription, variables, (data) => onIndex(data.indexProgress), signal);
  } catch (error) {
    if (error instanceof ApiError || signal.aborted) throw error;
    for (;;) {
      const index = pick(await ask(query, variables, { signal }));
      onIndex(index);
      if (index?.state !== "BUILDING") return;
      await pause(POLL_MILLISECONDS, signal);
    }
  }
}

/** One subscription on a websocket of its own. Ends when the server completes it; raises when the connection breaks. */
function subscribe(query, variables, onData, signal) {
  return new Promise((resolve, reject) => {
    const address = new URL(ENDPOINT, location.href);
    address.protocol = location.protocol === "https:" ? "wss:" : "ws:";
    const socket = new WebSocket(address, "graphql-transport-ws");
    const tell = (message) => socket.send(JSON.stringify(message));
    const end = (settle, value) => {
      settle(value);
      socket.close();
    };
    signal.addEventListener("abort", () => end(reject, signal.reason), { once: true });
    socket.addEventListener("open", () =>
      tell({ type: "connection_init", payload: { Authorization: `Bearer ${session.token}` } }),
    );
    socket.addEventListener("close", () => reject(new Error("The connection was closed")));
    socket.addEventListener("message", ({ data }) => {
      const { type, payload } = JSON.parse(data);
      if (type === "connection_ack") tell({ type: "subscribe", id: "1", payload: { query, variables } });
      else if (type === "ping") tell({ type: "pong" });
      else if (type === "error") end(reject, new ApiError(payload[0]));
      else if (type === "next" && payload.errors) end(reject, new ApiError(payload.errors[0]));
      else if (type === "next") onData(payload.data);
      else if (type === "complete") end(resolve);
    });
  });
}

export function pause(milliseconds, signal) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, milliseconds);
    signal.addEventListener("abort", () => (clearTimeout(timer), reject(signal.reason)), { once: true });
  });
}
