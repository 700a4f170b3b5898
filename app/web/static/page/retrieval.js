// The Retrieval view: a question, its hits, and what helps where there are none.
import { address, back, go } from "./address.js";
import { ask } from "./api.js";
import { BASES, RETRIEVE } from "./documents.js";
import { announce, button, field, form, h, say } from "./dom.js";
import { hitItem, showPassage } from "./hits.js";
import { WORK, follow, indexFacts, request } from "./index-state.js";
import { count, empty, failure, fill, section } from "./parts.js";
import { chooser } from "./picker.js";
import { session } from "./session.js";
import { whySection } from "./why.js";

const PATH = "/retrieval";
const NOTICES = {
  NO_SEARCHABLE_WORDS:
    "The query has nothing to search for: stop words, symbols or emoji alone. Only a source with exactly this title can be found.",
};
// What makes a question; the rest of the address says what is open.
const QUESTION = ["kb", "query", "limit", "match", "sources"];

export function retrievalView({ parameters, signal }) {
  const view = new Retrieval(signal);
  view.update(parameters);
  return { title: "Retrieval", element: view.element, update: (given) => view.update(given) };
}

class Retrieval {
  constructor(signal) {
    this.signal = signal;
    this.parameters = null;
    this.hits = [];
    this.asked = 0;
    this.results = h("div", { class: "results-of-retrieval" });
    this.why = whySection(
      () => Object.fromEntries(this.parameters),
      (source) => this.open({ why: source }),
      signal,
    );
    this.element = h("div", {}, h("h1", {}, "Retrieval"), this.form(), this.results, this.why.element);
  }

  form() {
    this.query = h("input", { type: "search", name: "query", autocomplete: "off" });
    this.base = h("input", {
      name: "kb",
      autocomplete: "off",
      spellcheck: "false",
      placeholder: "none: the whole workspace",
    });
    this.bases = h("select", { name: "base" }, h("option", { value: "" }, "The whole workspace"));
    this.limit = h("input", { type: "number", name: "limit", min: 1, max: 50, step: 1, inputmode: "numeric" });
    this.match = h(
      "select",
      { name: "match" },
      h("option", { value: "ALL_WORDS" }, "All words"),
      h("option", { value: "ANY_WORD" }, "All words, then any"),
    );
    this.bases.addEventListener("change", () => (this.base.value = this.bases.value));
    this.base.addEventListener("input", () => this.showBase());
    const summary = h("summary", {}, "All sources");
    this.sources = chooser({
      label: "Only in these sources",
      signal: this.signal,
      onChange: (n) => summary.replaceChildren(n ? `Only in ${count(n, "source")}` : "All sources"),
    });
    this.listBases();
    return form(
      { class: "card question-form", role: "search" },
      () => this.ask(),
      field("Query", this.query, "A stretch in double quotes is a phrase. No other character is an operator."),
      h(
        "div",
        { class: "fields question" },
        field("Knowledge base", this.bases),
        field("Knowledge base ID", this.base),
        field("Limit", this.limit),
        field("Match", this.match),
      ),
      h("details", { class: "sources" }, summary, this.sources.element),
      h("div", { class: "row" }, h("button", { class: "primary" }, "Run retrieval")),
    );
  }

  async listBases() {
    let after = null;
    try {
      do {
        const { knowledgeBases } = await ask(BASES, { after }, { signal: this.signal });
        this.bases.append(...knowledgeBases.nodes.map(({ id, name }) => h("option", { value: id }, name)));
        after = knowledgeBases.pageInfo.hasNextPage ? knowledgeBases.pageInfo.endCursor : null;
      } while (after);
    } catch (error) {
      if (error.name !== "AbortError") announce("The knowledge bases could not be listed; an ID can be pasted.");
    }
    this.showBase();
  }

  /** The list shows the knowledge base whose ID is in the field; none that it knows: nothing. */
  showBase() {
    const id = this.base.value.trim();
    this.bases.value = id;
  }

  /** The question in the form, as the address has it. */
  question() {
    return {
      kb: this.base.value.trim(),
      query: this.query.value.trim(),
      limit: this.limit.value,
      match: this.match.value === "ANY_WORD" ? "ANY_WORD" : "",
      sources: this.sources.ids().join(","),
    };
  }

  ask() {
    this.parameters = null; // asked again even where the question is the same
    go(PATH, this.question());
  }

  /** The question that was asked, with what else is to be shown. */
  with(more) {
    return { ...Object.fromEntries(QUESTION.map((name) => [name, this.parameters?.get(name)])), ...more };
  }

  open(more) {
    go(PATH, this.with(more));
  }

  /** What the address names now. True: shown. */
  update(parameters) {
    const before = this.parameters;
    this.parameters = parameters;
    if (!before || QUESTION.some((name) => before.get(name) !== parameters.get(name))) this.start(parameters);
    else this.showOpened();
    return true;
  }

  async start(parameters) {
    this.query.value = parameters.get("query") ?? "";
    this.base.value = parameters.get("kb") ?? "";
    this.limit.value = parameters.get("limit") ?? "10";
    this.match.value = parameters.get("match") ?? "ALL_WORDS";
    this.showBase();
    const ids = (parameters.get("sources") ?? "").split(",").filter(Boolean);
    if (ids.join() !== this.sources.ids().join()) this.sources.set(ids).catch(() => {});
    this.why.element.hidden = !parameters.has("query");
    if (!parameters.has("query")) {
      this.results.replaceChildren(empty("Ask something", "What holds the words comes first, then what is called so."));
      return;
    }
    await fill(this.results, () => this.retrieve());
    this.showOpened();
  }

  async retrieve() {
    const variables = retrieveVariables(Object.fromEntries(this.parameters));
    const mine = ++this.asked;
    this.hits = [];
    try {
      const { retrieve } = await ask(RETRIEVE, variables, { signal: this.signal });
      if (mine === this.asked) this.hits = retrieve.hits;
      say(retrieve.hits.length ? `${count(retrieve.hits.length, "hit")}.` : "Nothing found.");
      return this.answer(retrieve);
    } catch (error) {
      if (error.name === "AbortError") throw error;
      return this.refused(error);
    }
  }

  answer({ hits, notice }) {
    const list = h(
      "ol",
      { class: "hits", "aria-label": "Hits" },
      hits.map((hit) => hitItem(hit, (more) => this.open(more))),
    );
    return [
      notice && h("p", { class: "note" }, NOTICES[notice] ?? notice),
      hits.length ? section(count(hits.length, "hit"), list) : this.nothing(),
    ];
  }

  nothing() {
    const { kb, match } = this.question();
    return empty(
      "Nothing found",
      `No passage, title or description that you may read has ${match ? "any" : "all"} of these words.`,
      h(
        "div",
        { class: "row" },
        !match && button("Look for any of the words", () => this.open({ match: "ANY_WORD" })),
        kb && button("Search the whole workspace", () => this.open({ kb: "" })),
      ),
    );
  }

  // an index that is not ready

  refused(error) {
    const again = () => this.ask();
    const baseId = this.parameters.get("kb");
    const place = h("div", {});
    const remedies = [];
    if (error.remedy === "WAIT")
      remedies.push(button("Wait for it", () => this.watch(place, baseId), { class: "primary" }));
    else if (error.remedy && session.may("LIBRARY_MANAGE")) {
      const label = error.indexState ? WORK[error.remedy].label : "Build the index";
      remedies.push(button(label, () => this.mend(place, baseId, error.remedy), { class: "primary" }));
    } else if (error.remedy) remedies.push(h("p", {}, "Someone who manages the Library can mend that."));
    if (error.remedy) remedies.push(h("a", { href: address(`/bases/${baseId}`) }, "Show the knowledge base"));
    place.append(failure(error, { again, remedies }));
    return place;
  }

  async mend(place, baseId, work) {
    try {
      const index = await request(work, baseId);
      await this.watch(place, baseId, index.generation);
    } catch (error) {
      if (error.name !== "AbortError") place.replaceChildren(failure(error, { again: () => this.ask() }));
    }
  }

  /** Shows how far the index is, and asks the question again when it is done. */
  async watch(place, baseId, generation) {
    const facts = h("div", { class: "card facts" });
    place.replaceChildren(facts);
    say("The index is being built.");
    await follow(baseId, (index) => facts.replaceChildren(...indexFacts(index)), this.signal, generation);
    this.ask();
  }

  // what is open beside the question

  showOpened() {
    const before = document.querySelector("dialog.passage");
    before?.close(); // the focus goes back to where it came from
    before?.remove();
    const hit = this.hits.find(({ chunkId }) => chunkId === this.parameters.get("passage"));
    if (hit) showPassage(hit, () => back(PATH, this.with({})), this.signal);
    this.why.show(this.parameters.get("why"));
  }
}

/** The arguments of `retrieve` for a question as the address has it. */
export function retrieveVariables({ kb, query, limit, match, sources }) {
  return {
    base: kb || null,
    query: query ?? "",
    limit: limit ? Number(limit) : undefined,
    match: match || undefined,
    sourceIds: sources ? sources.split(",") : undefined,
  };
}
