-- Where what PostGraphile exposes stands: a hit as its function answers it.
DROP SCHEMA IF EXISTS rival CASCADE;
CREATE SCHEMA rival;
CREATE TYPE rival.hit AS (
  chunk_id uuid, resource_id uuid, resource_version_id uuid, ordinal int, text_hash text, text text,
  rank float8, source_title text
);
