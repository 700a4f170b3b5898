// Typed documents from the committed schema, and their manifest by sha256 for `gctl documents register`.
import type { CodegenConfig } from "@graphql-codegen/cli";

const config: CodegenConfig = {
  schema: "schema.graphql",
  documents: "documents.graphql",
  generates: {
    "generated/": {
      preset: "client",
      presetConfig: { fragmentMasking: false, persistedDocuments: { hashAlgorithm: "sha256" } },
      config: {
        documentMode: "string",
        enumsAsTypes: true,
        strictScalars: true,
        scalars: { DateTime: "string", Upload: "Blob" },
        useTypeImports: true,
      },
    },
  },
};

export default config;
