// Every operation that the page asks of the API. Each is a whole document.

const SOURCE = `fragment SourceFields on Source {
  id title description private owner availability
  latestVersion { ...VersionFields }
}`;

const VERSION = `fragment VersionFields on SourceVersion {
  id number fileName mediaType size kept status statusReason passageCount
}`;

const INDEX = `fragment IndexFields on Index {
  id state generation progress builtAt memberCount passageCount done total failureReason
}`;

const BASE = `fragment BaseFields on KnowledgeBase {
  id name description autoRefresh
  index { ...IndexFields }
}`;

export const VIEWER = `query Viewer { viewer { subject groups workspace actions } }`;

// the Library

export const SOURCES = `query Sources($query: String, $after: String, $first: Int! = 20) {
  sources(query: $query, first: $first, after: $after) {
    nodes { ...SourceFields }
    pageInfo { hasNextPage endCursor }
  }
} ${SOURCE} ${VERSION}`;

export const SOURCE_TITLE = `query SourceTitle($id: ID!) { source(id: $id) { id title } }`;

export const SOURCE_BY_ID = `query Source($id: ID!) {
  source(id: $id) {
    ...SourceFields
    grants(first: 1) { nodes { subject } }
  }
} ${SOURCE} ${VERSION}`;

export const VERSIONS = `query Versions($id: ID!, $after: String) {
  source(id: $id) {
    versions(first: 20, after: $after) {
      nodes { ...VersionFields }
      pageInfo { hasNextPage endCursor }
    }
  }
} ${VERSION}`;

export const PASSAGES = `query Passages($id: ID!, $after: String) {
  source(id: $id) {
    latestVersion {
      passages(first: 20, after: $after) {
        nodes { ordinal text }
        pageInfo { hasNextPage endCursor }
      }
    }
  }
}`;

export const GRANTS = `query Grants($id: ID!, $after: String) {
  source(id: $id) {
    grants(first: 50, after: $after) {
      nodes { subject action expiresAt }
      pageInfo { hasNextPage endCursor }
    }
  }
}`;

export const ADD_SOURCE = `mutation AddSource($input: AddSourceInput!) {
  addSource(input: $input) { source { id title } version { ...VersionFields } }
} ${VERSION}`;

export const ADD_VERSION = `mutation AddVersion($input: AddSourceVersionInput!) {
  addSourceVersion(input: $input) { source { id title } version { ...VersionFields } }
} ${VERSION}`;

export const UPDATE_SOURCE = `mutation UpdateSource($input: UpdateSourceInput!) {
  updateSource(input: $input) { source { id } }
}`;

export const SET_AVAILABILITY = `mutation SetAvailability($input: SetSourceAvailabilityInput!) {
  setSourceAvailability(input: $input) { source { id } }
}`;

export const DELETE_SOURCE = `mutation DeleteSource($input: DeleteSourceInput!) { deleteSource(input: $input) { id } }`;

export const DISCARD_FILE = `mutation DiscardFile($input: DiscardStoredFileInput!) {
  discardStoredFile(input: $input) { version { id } }
}`;

export const GRANT = `mutation Grant($input: GrantAccessInput!) { grantAccess(input: $input) { subject action } }`;

export const REVOKE = `mutation Revoke($input: RevokeAccessInput!) { revokeAccess(input: $input) { subject action } }`;

// knowledge bases

export const BASES = `query KnowledgeBases($after: String) {
  knowledgeBases(first: 100, after: $after) {
    nodes { ...BaseFields }
    pageInfo { hasNextPage endCursor }
  }
} ${BASE} ${INDEX}`;

export const BASE_BY_ID = `query KnowledgeBase($id: ID!) { knowledgeBase(id: $id) { ...BaseFields } } ${BASE} ${INDEX}`;

export const MEMBERS = `query Members($id: ID!, $after: String) {
  knowledgeBase(id: $id) {
    sources(first: 20, after: $after) {
      nodes { ...SourceFields }
      pageInfo { hasNextPage endCursor }
    }
  }
} ${SOURCE} ${VERSION}`;

export const FAILURES = `query Failures($id: ID!, $after: String) {
  knowledgeBase(id: $id) {
    index {
      failures(first: 20, after: $after) {
        nodes { reason source { id title } }
        pageInfo { hasNextPage endCursor }
      }
    }
  }
}`;

export const INDEX_PROGRESS = `subscription IndexProgress($id: ID!) {
  indexProgress(knowledgeBaseId: $id) { ...IndexFields }
} ${INDEX}`;

export const CREATE_BASE = `mutation CreateBase($input: CreateKnowledgeBaseInput!) {
  createKnowledgeBase(input: $input) { knowledgeBase { id } }
}`;

export const UPDATE_BASE = `mutation UpdateBase($input: UpdateKnowledgeBaseInput!) {
  updateKnowledgeBase(input: $input) { knowledgeBase { id } }
}`;

export const DELETE_BASE = `mutation DeleteBase($input: DeleteKnowledgeBaseInput!) {
  deleteKnowledgeBase(input: $input) { id }
}`;

export const ADD_MEMBERS = `mutation AddMembers($input: AddKnowledgeBaseSourcesInput!) {
  addKnowledgeBaseSources(input: $input) { knowledgeBase { id } }
}`;

export const REMOVE_MEMBERS = `mutation RemoveMembers($input: RemoveKnowledgeBaseSourcesInput!) {
  removeKnowledgeBaseSources(input: $input) { knowledgeBase { id } }
}`;

export const REFRESH = `mutation Refresh($input: RefreshIndexInput!) {
  refreshIndex(input: $input) { index { ...IndexFields } }
} ${INDEX}`;

export const REBUILD = `mutation Rebuild($input: RebuildIndexInput!) {
  rebuildIndex(input: $input) { index { ...IndexFields } }
} ${INDEX}`;

export const REPAIR = `mutation Repair($input: RepairIndexInput!) {
  repairIndex(input: $input) { index { ...IndexFields } }
} ${INDEX}`;

// retrieval

export const RETRIEVE = `query Retrieve(
  $base: ID, $query: String!, $limit: Int! = 10, $sourceIds: [ID!], $match: MatchMode! = ALL_WORDS
) {
  retrieve(knowledgeBaseId: $base, query: $query, limit: $limit, sourceIds: $sourceIds, match: $match) {
    notice
    index { generation builtAt }
    hits {
      chunkId resourceId resourceVersionId ordinal textHash rank text
      highlights { start end }
      snippet { text highlights { start end } }
      source { title private }
      version { number }
    }
  }
}`;

export const PASSAGE_CONTEXT = `query PassageContext($id: ID!, $limit: Int!) {
  passage(id: $id) { context(limit: $limit) { id ordinal text } }
}`;

export const EXPLAIN = `query Explain(
  $base: ID, $query: String!, $source: ID!, $limit: Int! = 10, $sourceIds: [ID!], $match: MatchMode! = ALL_WORDS
) {
  explainRetrieval(
    knowledgeBaseId: $base, query: $query, sourceId: $source, limit: $limit, sourceIds: $sourceIds, match: $match
  ) {
    found summary smallestLimit
    gates { name outcome sentence remedy }
  }
}`;
