// Starts GraphiQL on the page that app/web/graphiql.py makes. No inline script: the page's policy allows none.
"use strict";

const EXAMPLES = [
  `# Who am I, and what may I do? Without a token only the schema answers: sign in under Headers, below, with
# { "Authorization": "Bearer …" }
query Viewer {
  viewer {
    subject
    groups
  }
}
`,
  `# Search everything that you may read. Content comes first, titles and descriptions fill the places left.
query Search($query: String!, $limit: Int! = 10) {
  retrieve(query: $query, limit: $limit) {
    hits {
      rank
      snippetSafe
      source {
        id
        title
      }
    }
    notice
  }
}
`,
  `# The knowledge bases, and how their indexes are.
query KnowledgeBases {
  knowledgeBases(first: 20) {
    edges {
      node {
        id
        name
        index {
          state
          progress
        }
      }
    }
  }
}
`,
];

const EXAMPLE_VARIABLES = { 1: JSON.stringify({ query: "handbook", limit: 5 }, null, 2) };

function start() {
  const place = document.getElementById("graphiql");
  const url = new URL(place.dataset.endpoint, location.href);
  const socket = new URL(url);
  socket.protocol = url.protocol === "https:" ? "wss:" : "ws:";

  const root = ReactDOM.createRoot(place);
  // A caller is a new GraphiQL (the key): it keeps the tabs' queries, and gives every tab the caller's header.
  const render = (token) =>
    root.render(
      React.createElement(GraphiQL, {
        key: token,
        fetcher: GraphiQL.createFetcher({ url: url.href, subscriptionUrl: socket.href }),
        defaultHeaders: token && JSON.stringify({ Authorization: `Bearer ${token}` }, null, 2),
        isHeadersEditorEnabled: true,
        shouldPersistHeaders: false,
        defaultEditorToolsVisibility: "headers",
        defaultTabs: EXAMPLES.map((query, n) => ({ query, variables: EXAMPLE_VARIABLES[n] })),
      }),
    );
  const callers = JSON.parse(place.dataset.tokens);
  render(callers[0]?.token);
  if (callers.length) place.before(picker(callers, render));
}

function picker(callers, render) {
  const bar = document.createElement("label");
  bar.id = "caller";
  bar.textContent = "Ask as";
  const select = document.createElement("select");
  select.append(...callers.map(({ label, token }) => new Option(label, token)));
  select.addEventListener("change", () => render(select.value));
  bar.append(select);
  return bar;
}

start();
