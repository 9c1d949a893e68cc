import { Clock, Effect, Layer, Schema } from "effect"
import { Address } from "../../fibers/DeliveryOrigin.js"
import {
  type PairedUser,
  Pairing,
  type PairingOffer,
  PairingRefused,
  type Revoked
} from "../../services/conversation/Pairing.js"
import { Millis } from "../../services/operation/Instant.js"
import { Database, type Step, Transaction } from "../../services/state/Database.js"
import * as PairingCode from "./PairingCode.js"
import * as Rows from "./Rows.js"

/** gateway.md 3.2 */
const validMillis = 60 * 60_000
const betweenRequestsMillis = 10 * 60_000
const pendingPerPlatform = 3
const wrongApprovals = 5
const lockoutMillis = 60 * 60_000

const Request = Schema.Struct({
  platform: Schema.String,
  userId: Schema.String,
  userName: Schema.NullOr(Schema.String),
  requestedAt: Millis,
  expiresAt: Millis
})
const StoredAddress = Schema.parseJson(Address)
const encodeAddress = Schema.encode(StoredAddress)
const Secret = Schema.Struct({
  ...Request.fields,
  salt: Schema.String,
  hash: Schema.String,
  address: Schema.NullOr(StoredAddress)
})
const User = Schema.Struct({
  platform: Schema.String,
  userId: Schema.String,
  userName: Schema.NullOr(Schema.String),
  approvedAt: Millis
})
const Attempts = Schema.Struct({ failures: Schema.Number, lockedUntil: Schema.NullOr(Millis) })

const requests = Rows.all(Request, "pairing_requests")
const request = Rows.first(Request)
const secrets = Rows.all(Secret, "pairing_requests")
const users = Rows.all(User, "paired_users")
const attempts = Rows.first(Attempts)

const requestColumns = `platform, user_id AS userId, user_name AS userName, requested_at AS requestedAt,
  expires_at AS expiresAt`

/** Told at most once in ten minutes that there is no new code: a stranger's hundred messages get one answer. */
const limited = (platform: string, userId: string, now: number) =>
  Effect.gen(function* () {
    const sql = yield* Transaction
    yield* sql`DELETE FROM pairing_notices WHERE told_at <= ${now - betweenRequestsMillis}`
    const told =
      yield* sql`INSERT INTO pairing_notices (platform, user_id, told_at) VALUES (${platform}, ${userId}, ${now})
      ON CONFLICT DO NOTHING RETURNING told_at`
    const offer: PairingOffer = { _tag: "Limited", tell: told.length > 0 }
    return offer
  })

const offerInStep = (
  address: Address,
  userId: string,
  userName: string | null,
  secret: { readonly code: string; readonly salt: string; readonly hash: string }
) =>
  Effect.gen(function* () {
    const sql = yield* Transaction
    const { platform } = address
    const now = yield* Clock.currentTimeMillis
    yield* sql`DELETE FROM pairing_requests WHERE platform = ${platform} AND expires_at <= ${now}`
    const own = yield* request(sql`SELECT ${sql.literal(requestColumns)} FROM pairing_requests
      WHERE platform = ${platform} AND user_id = ${userId}`)
    if (own !== null && now - own.requestedAt < betweenRequestsMillis) return yield* limited(platform, userId, now)
    const others = yield* Rows.count(sql`SELECT count(*) AS count FROM pairing_requests
      WHERE platform = ${platform} AND user_id <> ${userId}`)
    if (others >= pendingPerPlatform) return yield* limited(platform, userId, now)
    const expiresAt = now + validMillis
    yield* sql`INSERT INTO pairing_requests (platform, user_id, user_name, salt, hash, requested_at, expires_at, address)
      VALUES (${platform}, ${userId}, ${userName}, ${secret.salt}, ${secret.hash}, ${now}, ${expiresAt},
        ${yield* encodeAddress(address)})
      ON CONFLICT (platform, user_id) DO UPDATE SET user_name = excluded.user_name, salt = excluded.salt,
        hash = excluded.hash, requested_at = excluded.requested_at, expires_at = excluded.expires_at,
        address = excluded.address`
    const offer: PairingOffer = { _tag: "Offered", code: secret.code, expiresAt }
    return offer
  })

const refuseLocked = (platform: string) =>
  Effect.gen(function* () {
    const sql = yield* Transaction
    const now = yield* Clock.currentTimeMillis
    const before = yield* attempts(sql`SELECT failures, locked_until AS lockedUntil FROM pairing_attempts
      WHERE platform = ${platform}`)
    if (before !== null && before.lockedUntil !== null && before.lockedUntil > now)
      return yield* new PairingRefused({
        detail: `too many wrong codes for ${platform}: approval is locked for another ${Math.ceil((before.lockedUntil - now) / 60_000)} min`
      })
    return before?.failures ?? 0
  })

/** Not a failure of its step, which has to be kept: the count is what protects the codes. */
const countFailure = (platform: string) =>
  Effect.gen(function* () {
    const sql = yield* Transaction
    const failures = (yield* refuseLocked(platform)) + 1
    const lockedUntil = failures >= wrongApprovals ? (yield* Clock.currentTimeMillis) + lockoutMillis : null
    yield* sql`INSERT INTO pairing_attempts (platform, failures, locked_until)
      VALUES (${platform}, ${lockedUntil === null ? failures : 0}, ${lockedUntil})
      ON CONFLICT (platform) DO UPDATE SET failures = excluded.failures, locked_until = excluded.locked_until`
    return new PairingRefused({
      detail:
        lockedUntil === null
          ? `no open request on ${platform} has that code; ${wrongApprovals - failures} more wrong ones lock approval for an hour`
          : `no open request on ${platform} has that code; approval is locked for an hour`
    })
  })

/** Null when the request was answered or replaced since its code was compared. */
const letIn = (secret: typeof Secret.Type, along: Step<void>) =>
  Effect.gen(function* () {
    const sql = yield* Transaction
    yield* refuseLocked(secret.platform)
    const { platform, userId, userName } = secret
    const taken = yield* sql`DELETE FROM pairing_requests
      WHERE platform = ${platform} AND user_id = ${userId} AND hash = ${secret.hash} RETURNING user_id`
    if (taken.length === 0) return null
    const approvedAt = yield* Clock.currentTimeMillis
    yield* sql`INSERT INTO paired_users (platform, user_id, user_name, approved_at)
      VALUES (${platform}, ${userId}, ${userName}, ${approvedAt})
      ON CONFLICT (platform, user_id) DO UPDATE SET user_name = excluded.user_name, approved_at = excluded.approved_at`
    yield* sql`DELETE FROM pairing_attempts WHERE platform = ${platform}`
    yield* along
    const user: PairedUser = { platform, userId, userName, approvedAt }
    return user
  })

const make = Effect.gen(function* () {
  const database = yield* Database
  const listeners: Array<(person: Revoked) => Effect.Effect<void>> = []

  const offer = Effect.fn("Pairing.offer")(function* (address: Address, userId: string, userName: string | null) {
    const code = yield* PairingCode.make
    const salt = yield* PairingCode.makeSalt
    const hash = yield* PairingCode.hash(code, salt)
    return yield* database.write("pairing.offer", offerInStep(address, userId, userName, { code, salt, hash }))
  })

  const open = (platform: string, now: number) =>
    database.read("pairing.open", (sql) =>
      secrets(sql`SELECT ${sql.literal(requestColumns)}, salt, hash, address FROM pairing_requests
        WHERE platform = ${platform} AND expires_at > ${now}`)
    )

  const approve = Effect.fn("Pairing.approve")(function* (
    platform: string,
    typed: string,
    along?: (address: Address) => Effect.Effect<Step<void>>
  ) {
    yield* database.write("pairing.locked", refuseLocked(platform))
    const code = PairingCode.normalize(typed)
    const pending = yield* open(platform, yield* Clock.currentTimeMillis)
    // Where there is nothing to guess, a wrong name or an old code is no guess.
    if (pending.length === 0)
      return yield* new PairingRefused({
        detail: `no open request on ${platform} has that code: nobody waits there to be let in; \`hermes pairing list\` shows who does`
      })
    const hashed = yield* Effect.forEach(pending, (secret) => PairingCode.hash(code, secret.salt))
    const match = pending.find((secret, index) => PairingCode.same(secret.hash, hashed[index] ?? ""))
    if (match !== undefined) {
      const step = along === undefined || match.address === null ? Effect.void : yield* along(match.address)
      const user = yield* database.write("pairing.approve", letIn(match, step))
      if (user !== null) return user
    }
    return yield* yield* database.write("pairing.wrong", countFailure(platform))
  })

  return Pairing.of({
    offer,
    approve,
    isPaired: (platform: string, userId: string) =>
      Effect.map(
        database.read(
          "pairing.isPaired",
          (sql) => sql`SELECT 1 FROM paired_users WHERE platform = ${platform} AND user_id = ${userId}`
        ),
        (rows) => rows.length > 0
      ),
    revoke: Effect.fn("Pairing.revoke")(function* (platform: string, userId: string) {
      const revoked = yield* database.write(
        "pairing.revoke",
        Effect.gen(function* () {
          const sql = yield* Transaction
          const gone = yield* sql`DELETE FROM paired_users WHERE platform = ${platform} AND user_id = ${userId}
            RETURNING user_id`
          return gone.length > 0
        })
      )
      if (revoked) yield* Effect.forEach(listeners, (told) => told({ platform, userId }), { discard: true })
      return revoked
    }),
    whenRevoked: (told) => Effect.sync(() => void listeners.push(told)),
    list: Effect.gen(function* () {
      const now = yield* Clock.currentTimeMillis
      return yield* database.read("pairing.list", (sql) =>
        Effect.all({
          pending: requests(sql`SELECT ${sql.literal(requestColumns)} FROM pairing_requests WHERE expires_at > ${now}
            ORDER BY requested_at`),
          paired: users(sql`SELECT platform, user_id AS userId, user_name AS userName, approved_at AS approvedAt
            FROM paired_users ORDER BY platform, approved_at`)
        })
      )
    })
  })
})

/** Pairing in SQLite: codes are shown once and stored salted and hashed. */
export const layer = Layer.effect(Pairing, make)
