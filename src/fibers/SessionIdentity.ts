/**
 * Who a piece of work is for: every field of gateway.md 1.2, each unset, cleared or a value.
 *
 * The FiberRef that holds it is private to `src/fibers`; an identity is bound by entering a turn and in no other way.
 */
import { Data, Hash, ParseResult, Schema } from "effect"
import * as Field from "./Field.js"

/** Field → the name under which a child process and the ambient reader know it (gateway.md 1.2, in binding order). */
export const environmentNames = {
  platform: "HERMES_SESSION_PLATFORM",
  source: "HERMES_SESSION_SOURCE",
  chatId: "HERMES_SESSION_CHAT_ID",
  chatType: "HERMES_SESSION_CHAT_TYPE",
  chatName: "HERMES_SESSION_CHAT_NAME",
  threadId: "HERMES_SESSION_THREAD_ID",
  userId: "HERMES_SESSION_USER_ID",
  userIdAlt: "HERMES_SESSION_USER_ID_ALT",
  userName: "HERMES_SESSION_USER_NAME",
  scopeId: "HERMES_SESSION_SCOPE_ID",
  sessionKey: "HERMES_SESSION_KEY",
  sessionId: "HERMES_SESSION_ID",
  uiSessionId: "HERMES_UI_SESSION_ID",
  messageId: "HERMES_SESSION_MESSAGE_ID",
  profile: "HERMES_SESSION_PROFILE",
  browserControlPrincipal: "HERMES_BROWSER_CONTROL_PRINCIPAL",
  browserControlTransportFamily: "HERMES_BROWSER_CONTROL_TRANSPORT_FAMILY",
  parentChatId: "HERMES_SESSION_PARENT_CHAT_ID"
} as const

export type FieldName = keyof typeof environmentNames

type Fields = { readonly [Name in FieldName]: Field.Field }

const fieldNames = Object.keys(environmentNames) as ReadonlyArray<FieldName>

const fill = (make: (name: FieldName) => Field.Field): Fields =>
  Object.fromEntries(fieldNames.map((name) => [name, make(name)])) as Fields

export class SessionIdentity extends Data.Class<Fields> {
  /** Of its conversation alone: each binding compares it with the one before, and all fields take longer than the rest of that. */
  [Hash.symbol](): number {
    return Hash.string(`${Field.encode(this.sessionKey)} ${Field.encode(this.sessionId)}`)
  }

  /** The same identity with one field moved; only `Turn.withSessionId` has a use for it. */
  with(name: FieldName, field: Field.Field): SessionIdentity {
    return new SessionIdentity({ ...this, [name]: field })
  }
}

export { fieldNames }

/** Never bound: what a worker and a fresh root hold. */
export const unset: SessionIdentity = new SessionIdentity(fill(() => Field.unset))

/** Explicitly nobody: what a finished handler leaves for whoever runs late. */
export const cleared: SessionIdentity = new SessionIdentity(fill(() => Field.cleared))

/** Binds every field: those not given, or given as null, are cleared and never inherited (gateway.md 1.4, `bind`). */
export const bind = (values: { readonly [Name in FieldName]?: string | null | undefined }): SessionIdentity =>
  new SessionIdentity(fill((name) => Field.bound(values[name])))

/** What is written down: an object of the fields that are not unset; "" is cleared. */
export const encode = (identity: SessionIdentity): { readonly [name: string]: string } => {
  const written: { [name: string]: string } = {}
  for (const name of fieldNames) {
    const encoded = Field.encode(identity[name])
    if (encoded !== undefined) written[name] = encoded
  }
  return written
}

const Encoded = Schema.Record({ key: Schema.String, value: Schema.String })

const Declared = Schema.declare((input): input is SessionIdentity => input instanceof SessionIdentity, {
  identifier: "SessionIdentity"
})

/** Written as {@link encode} does. */
export const schema: Schema.Schema<SessionIdentity, { readonly [name: string]: string }> = Schema.transformOrFail(
  Encoded,
  Declared,
  {
    strict: true,
    decode: (encoded, _options, ast) => {
      const unknown = Object.keys(encoded).filter((name) => !Object.hasOwn(environmentNames, name))
      return unknown.length === 0
        ? ParseResult.succeed(new SessionIdentity(fill((name) => Field.decode(encoded[name]))))
        : ParseResult.fail(new ParseResult.Type(ast, encoded, `unknown identity fields: ${unknown.join(", ")}`))
    },
    encode: (identity) => ParseResult.succeed(encode(identity))
  }
)
