/** Finding, keeping and moving sessions: what the API and the owner's desk do beside conversation. */
import { Clock, Effect } from "effect"
import { type SearchParameters, searchHitView } from "../../services/api/SessionSearch.js"
import { Search } from "../../services/session/Search.js"
import type { SessionId } from "../../services/session/Session.js"
import { SessionArchive } from "../../services/session/SessionArchive.js"
import { SessionStore } from "../../services/session/SessionStore.js"
import { Database } from "../../services/state/Database.js"

const dayMillis = 86_400_000
const pruneAtOnce = 200

export const make = Effect.gen(function* () {
  const search = yield* Search
  const archive = yield* SessionArchive
  const sessions = yield* SessionStore
  const database = yield* Database

  return {
    search: ({ q, limit, sort, session, source, role, after, before }: typeof SearchParameters.Type) =>
      Effect.map(
        search.search({
          text: q,
          limit,
          sort,
          owner: null,
          ...(session === undefined ? {} : { sessionId: session }),
          ...(source === undefined ? {} : { source }),
          ...(role === undefined ? {} : { roles: [role] }),
          ...(after === undefined ? {} : { after }),
          ...(before === undefined ? {} : { before })
        }),
        (hits) => hits.map(searchHitView)
      ),
    export: archive.read,
    import: archive.write,
    /** In portions, so that nobody waits for one large transaction. */
    prune: (olderThanDays: number, dryRun: boolean) =>
      Effect.gen(function* () {
        const before = (yield* Clock.currentTimeMillis) - olderThanDays * dayMillis
        if (dryRun) return yield* sessions.prune({ before, limit: 10_000, dryRun })
        const ids: Array<string> = []
        for (;;) {
          const some = yield* sessions.prune({ before, limit: pruneAtOnce })
          ids.push(...some)
          if (some.length < pruneAtOnce) return ids
        }
      }),
    update: (
      id: SessionId,
      {
        archived,
        pinned,
        unread
      }: {
        readonly archived?: boolean | undefined
        readonly pinned?: boolean | undefined
        readonly unread?: boolean | undefined
      }
    ) =>
      archived === undefined && pinned === undefined && unread === undefined
        ? Effect.void
        : database.write(
            "session.update",
            Effect.gen(function* () {
              if (unread !== undefined) yield* sessions.setUnread(id, unread)
              if (archived !== undefined) yield* sessions.setArchived(id, archived)
              if (pinned !== undefined) yield* sessions.setPinned(id, pinned)
            })
          )
  }
})
