"""Every setting, read once from the environment. Nothing else in the project reads the environment.

docs/settings.md has a heading for each; a test checks it.
"""

import re
from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal, Self

import platformdirs
from pydantic import (
    AliasChoices,
    Field,
    HttpUrl,
    NonNegativeFloat,
    PositiveFloat,
    PositiveInt,
    SecretStr,
    field_validator,
    model_validator,
)
from pydantic_settings import BaseSettings, SettingsConfigDict


def _data_dir() -> Path:
    return platformdirs.user_data_path("gctl")


def _addresses(urls: SecretStr | None) -> list[str]:
    return [] if urls is None else [url for url in re.split(r"[,\s]+", urls.get_secret_value()) if url]


class Settings(BaseSettings):
    """Frozen after it was read. Names in the environment are `GCTL_` and the field's name, but for `DATABASE_…`."""

    model_config = SettingsConfigDict(
        env_prefix="GCTL_", frozen=True, extra="ignore", env_ignore_empty=True, hide_input_in_errors=True
    )

    # where the data is
    database_url: Annotated[SecretStr | None, Field(validation_alias=AliasChoices("DATABASE_URL", "database_url"))] = (
        None
    )
    database_replica_urls: Annotated[
        SecretStr | None, Field(validation_alias=AliasChoices("DATABASE_REPLICA_URLS", "database_replica_urls"))
    ] = None
    replica_lag_seconds: NonNegativeFloat = 0.0
    data_dir: Path = Field(default_factory=_data_dir)
    database_pool_size: PositiveInt = 10
    statement_timeout_ms: PositiveInt = 5_000

    # the server
    host: str = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65_535)] = 8400
    workers: PositiveInt = 1
    public_url: HttpUrl | None = None
    shutdown_seconds: PositiveInt = 20
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    log_format: Literal["json", "console"] = "json"

    # who is asking
    jwt_secret: SecretStr | None = None
    jwks_url: HttpUrl | None = None
    jwt_issuer: str | None = None
    jwt_audience: str | None = None
    anonymous_introspection: bool = True

    # who decides
    authzen_url: HttpUrl | None = None
    authzen_token: SecretStr | None = None
    authzen_timeout_seconds: PositiveFloat = 2.0
    authzen_attempts: PositiveInt = 2
    authzen_batch_size: PositiveInt = 50
    authzen_subject_properties: dict[str, object] = Field(default_factory=dict)
    authzen_resource_properties: dict[str, object] = Field(default_factory=dict)

    # files and their text
    file_store_url: str | None = None
    max_file_bytes: Annotated[int, Field(ge=1, le=2_147_483_647)] = 100_000_000
    max_text_characters: PositiveInt = 20_000_000
    extraction_seconds: PositiveInt = 60
    extraction_memory_bytes: PositiveInt = 1_000_000_000

    # what one operation may cost
    max_body_bytes: PositiveInt = 1_000_000
    max_query_tokens: PositiveInt = 2_000
    max_query_depth: PositiveInt = 15
    max_query_aliases: PositiveInt = 30
    max_query_cost: PositiveInt = 10_000
    operation_seconds: PositiveFloat = 10.0
    max_concurrent_operations: PositiveInt = 100
    trusted_documents: Literal["off", "register", "only"] = "register"
    fast_execution: bool = True
    graphiql: bool = True
    sample: bool = False

    # the worker
    worker_in_server: bool = True
    job_lease_seconds: PositiveInt = 30
    job_poll_seconds: PositiveFloat = 2.0

    @model_validator(mode="after")
    def _one_way_to_sign(self) -> Self:
        if self.jwks_url is not None and self.jwt_secret is not None:
            raise ValueError("GCTL_JWT_SECRET and GCTL_JWKS_URL are both set; tokens are signed one way or the other.")
        return self

    @field_validator("database_replica_urls")
    @classmethod
    def _are_addresses(cls, urls: SecretStr | None) -> SecretStr | None:
        for number, url in enumerate(_addresses(urls), 1):
            if not url.startswith(("postgresql://", "postgres://")):
                raise ValueError(f"address {number} does not begin with postgresql://. A comma in a password is %2C.")
        return urls

    @property
    def embedded(self) -> bool:
        """Whether the embedded PostgreSQL is used: when no DATABASE_URL is set."""
        return self.database_url is None

    @property
    def replica_urls(self) -> list[str]:
        """The replicas' addresses. They hold passwords: never log them."""
        return _addresses(self.database_replica_urls)

    @cached_property
    def files_location(self) -> str:
        """The file store's address: `file_store_url`, or a folder below the data folder."""
        return self.file_store_url or (self.data_dir / "files").resolve().as_uri()
