/** Random facts and turns. */
import { FastCheck as fc } from "effect"
import * as CronMarker from "../../../src/fibers/CronMarker.js"
import * as DeliveryOrigin from "../../../src/fibers/DeliveryOrigin.js"
import * as Field from "../../../src/fibers/Field.js"
import * as Presence from "../../../src/fibers/Presence.js"
import * as SessionIdentity from "../../../src/fibers/SessionIdentity.js"
import * as Turn from "../../../src/fibers/Turn.js"

/** Texts that an id or a name may be, some of them nasty. */
const text = fc.oneof(
  { weight: 6, arbitrary: fc.string({ minLength: 1, maxLength: 8 }) },
  { weight: 1, arbitrary: fc.constantFrom("-100123", "agent:main:telegram:dm:1", "Zoë 🦊", 'a"b', "a\nb", "0", "null") }
)

const optionalText = fc.option(text, { nil: null })

export const field: fc.Arbitrary<Field.Field> = fc.oneof(
  { weight: 1, arbitrary: fc.constant(Field.unset) },
  { weight: 2, arbitrary: fc.constant(Field.cleared) },
  { weight: 4, arbitrary: text.map(Field.of) }
)

export const identity: fc.Arbitrary<SessionIdentity.SessionIdentity> = fc
  .tuple(...SessionIdentity.fieldNames.map((name) => fc.tuple(fc.constant(name), field)))
  .map((fields) => fields.reduce((made, [name, value]) => made.with(name, value), SessionIdentity.cleared))

export const marker: fc.Arbitrary<CronMarker.CronMarker> = fc.oneof(
  fc.constant(CronMarker.unset),
  fc.constant(CronMarker.notCron),
  fc
    .record({
      job: optionalText,
      run: optionalText,
      createdBy: fc.option(fc.record({ platform: text, userId: text }), { nil: null })
    })
    .map(CronMarker.cron)
)

export const address: fc.Arbitrary<DeliveryOrigin.Address> = fc
  .record({
    platform: fc.constantFrom("telegram", "slack", "web"),
    chatId: text,
    threadId: optionalText,
    anchor: optionalText,
    scopeId: optionalText
  })
  .map(DeliveryOrigin.address)

export const origin: fc.Arbitrary<DeliveryOrigin.DeliveryOrigin> = fc.oneof(
  fc.constant(DeliveryOrigin.unset),
  fc.constant(DeliveryOrigin.cleared),
  address.map(DeliveryOrigin.live),
  address.map(DeliveryOrigin.routing),
  fc.array(address, { minLength: 1, maxLength: 3 }).map(DeliveryOrigin.targets)
)

const presence: fc.Arbitrary<Presence.Presence> = fc.oneof(
  text.map(Presence.human),
  fc.constantFrom("cron" as const, "single_query" as const, "unattended" as const).map(Presence.nobody)
)

const turnId = fc.uuid().map((id) => Turn.TurnId.make(id))

/** Any turn that a row could hold. */
export const turn: fc.Arbitrary<Turn.Turn> = fc
  .record({
    id: turnId,
    parent: fc.option(turnId, { nil: null }),
    depth: fc.nat({ max: 3 }),
    identity,
    marker,
    origin,
    presence,
    asyncDelivery: fc.option(fc.boolean(), { nil: null }),
    workingDirectory: fc.option(fc.constant("/work"), { nil: null })
  })
  .map((fields) => new Turn.Turn(fields))
