// A client of generated types: what it may ask, and what comes back, is checked by the compiler.
// usage: node client.js ADDRESS TOKEN KNOWLEDGE_BASE_ID, with a word to find on each line of standard input. Prints JSON.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { createClient } from "graphql-ws";
import {
  RetrieveDocument,
  type RetrieveQuery,
  type TypedDocumentString,
  WatchDocument,
  type WatchSubscription,
} from "./generated/graphql.js";

const [address, token, knowledgeBaseId] = process.argv.slice(2) as [string, string, string];

type Answer<Result> = { data?: Result; errors?: { message: string; extensions: { code: string } }[] };

async function post<Result>(body: object): Promise<Answer<Result>> {
  const headers = { "content-type": "application/json", authorization: `Bearer ${token}` };
  const response = await fetch(`${address}/graphql`, { method: "POST", headers, body: JSON.stringify(body) });
  return response.json();
}

/** Sends the hash alone, and the document with it where the server does not know that yet: Apollo's protocol. */
async function ask<Result, Variables>(
  document: TypedDocumentString<Result, Variables>,
  variables: Variables,
): Promise<{ data: Result; requests: number }> {
  const query = document.toString();
  const sha256Hash = createHash("sha256").update(query).digest("hex");
  const extensions = { persistedQuery: { version: 1, sha256Hash } };
  let requests = 1;
  let { data, errors } = await post<Result>({ extensions, variables });
  if (errors?.[0]?.extensions.code === "PERSISTED_QUERY_NOT_FOUND") {
    requests += 1;
    ({ data, errors } = await post<Result>({ extensions, variables, query }));
  }
  if (!data || errors) throw new Error(JSON.stringify(errors));
  return { data, requests };
}

/** A document of the manifest that the operator registered is known from the start. */
async function askTrusted(query: string): Promise<number> {
  const sha256Hash = RetrieveDocument.__meta__?.["hash"];
  const extensions = { persistedQuery: { version: 1, sha256Hash } };
  const { data } = await post<RetrieveQuery>({ extensions, variables: { knowledgeBaseId, query } });
  return data?.retrieve?.hits.length ?? -1;
}

async function retrieve(query: string): Promise<{ titles: string[]; marked: string[]; requests: number }> {
  const { data, requests } = await ask(RetrieveDocument, { knowledgeBaseId, query });
  const hits = data.retrieve?.hits ?? [];
  return {
    requests,
    titles: hits.map((hit) => hit.source.title),
    marked: hits.flatMap(({ snippet }) => snippet.highlights.map(({ start, end }) => snippet.text.slice(start, end))),
  };
}

async function watch(): Promise<WatchSubscription["indexProgress"][]> {
  const url = `${address.replace(/^http/, "ws")}/graphql`;
  const client = createClient({ url, connectionParams: { authorization: `Bearer ${token}` }, retryAttempts: 0 });
  const seen: WatchSubscription["indexProgress"][] = [];
  const payload = { query: WatchDocument.toString(), variables: { knowledgeBaseId } };
  for await (const { data, errors } of client.iterate<WatchSubscription>(payload)) {
    if (!data) throw new Error(JSON.stringify(errors));
    seen.push(data.indexProgress);
  }
  await client.dispose();
  return seen;
}

const words = readFileSync(0, "utf8").trim().split("\n");
const found = [];
for (const word of words) found.push(await retrieve(word));
const trusted = await askTrusted(words[0] ?? "");
console.log(JSON.stringify({ found, trusted, progress: await watch() }));
