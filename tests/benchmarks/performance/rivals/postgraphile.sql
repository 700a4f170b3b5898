-- What PostGraphile exposes: one function with the product's statements in it, and its admission.
-- `statement` is the search as the product's own code writes it, with its placeholders in this function's order.
DROP SCHEMA IF EXISTS rival CASCADE;
CREATE SCHEMA rival;
CREATE TYPE rival.hit AS (
  chunk_id uuid, resource_id uuid, resource_version_id uuid, ordinal int, text_hash text, text text,
  rank float8, source_title text
);
