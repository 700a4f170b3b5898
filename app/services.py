"""What a server, a worker and an operator's command share: the database, the files, the worker, who decides."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from app.access.authorizers import Authorizer, DatabaseAuthorizer
from app.access.authzen import AuthZenAuthorizer
from app.database import Database
from app.embedded import running
from app.jobs.worker import Worker
from app.knowledge_bases.service import KnowledgeBases
from app.library.files import FileStore
from app.library.service import Library
from app.migrating import migrate
from app.replicas import Replicas, watched
from app.retrieval.service import Retrieval
from app.settings import Settings


def database_url(settings: Settings) -> str:
    """The address of a server of one's own. It holds a password: never log it."""
    assert settings.database_url is not None
    return settings.database_url.get_secret_value()


@dataclass(frozen=True)
class Services:
    """They live as long as the process, or the command."""

    settings: Settings
    database: Database
    replicas: Replicas
    files: FileStore
    library: Library
    knowledge_bases: KnowledgeBases
    retrieval: Retrieval
    authorizer: Authorizer
    worker: Worker


@asynccontextmanager
async def open_services(
    settings: Settings, authorizer: Authorizer | None = None, *, use_replicas: bool = False
) -> AsyncIterator[Services]:
    """The services of these settings, on a database that has all migrations; the embedded one is started if need be.

    `authorizer` decides in place of the one that the settings name; whoever made it closes it. `use_replicas` is for
    who answers questions: a worker or a command has no use for connections to replicas.
    """
    async with AsyncExitStack() as stack:
        url = stack.enter_context(running(settings.data_dir)) if settings.embedded else database_url(settings)
        await migrate(url)
        database = Database(url, settings)
        stack.push_async_callback(database.close)
        replica_urls = settings.replica_urls if use_replicas else []
        replicas = await stack.enter_async_context(watched(replica_urls, database, settings))
        files = FileStore.from_settings(settings)
        decides = authorizer or _authorizer(settings, database, stack)
        worker = Worker(database, files, settings)
        stack.callback(worker.close)
        yield Services(
            settings=settings,
            database=database,
            replicas=replicas,
            files=files,
            library=Library(database, files),
            knowledge_bases=KnowledgeBases(database),
            retrieval=Retrieval(database, replicas, narrowed=not isinstance(decides, DatabaseAuthorizer)),
            authorizer=decides,
            worker=worker,
        )


def _authorizer(settings: Settings, database: Database, stack: AsyncExitStack) -> Authorizer:
    if settings.authzen_url is None:
        return DatabaseAuthorizer(database)
    service = AuthZenAuthorizer(settings)
    stack.push_async_callback(service.aclose)
    return service
