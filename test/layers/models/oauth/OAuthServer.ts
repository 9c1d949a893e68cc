/**
 * A server of logins on loopback. A refresh token is good once; whoever shows one again ends its whole family, as a good
 * server does, because one of the two who have it is a thief.
 */
import { Effect, type Scope } from "effect"
import * as http from "node:http"

export interface Answer {
  readonly status: number
  readonly body: unknown
  readonly headers?: { readonly [name: string]: string }
}

export interface OAuthServer {
  readonly origin: string
  readonly deviceUrl: string
  readonly tokenUrl: string
  readonly revokeUrl: string
  /** A login that somebody has made before. */
  readonly grant: () => Issued
  /** Is a model asked with it answered? */
  readonly isGood: (accessToken: string) => boolean
  /** Ends an access token before its time, as a person does who changes a password. */
  readonly spoil: (accessToken: string) => void
  /** Tokens that were good when they were shown to be renewed. */
  readonly renewals: () => number
  /** Tokens that were shown again after they were spent. */
  readonly reuses: () => number
  /** Questions of any kind to the address of tokens. */
  readonly asked: () => number
  /** The fields of the last question. */
  readonly last: () => { readonly [name: string]: string }
  /** What the person does in the browser. */
  readonly approve: () => void
  readonly decline: () => void
}

export interface Issued {
  readonly access: string
  readonly refresh: string
}

export interface Options {
  /** Before a renewal is answered. Milliseconds. */
  readonly delay?: number
  readonly expiresIn?: number
  /** Said instead of what the server would say; null lets it. `spent` tells whether the token was just spent. */
  readonly instead?: (fields: { readonly [name: string]: string }, asked: number) => Answer | "drop" | null
  /** After a token was spent and before the answer leaves. */
  readonly spent?: () => Promise<void>
  readonly interval?: number
  /** Of the code that a person is shown. Seconds. */
  readonly codeLives?: number
}

interface Family {
  live: boolean
  refresh: string
  readonly spent: Set<string>
  readonly access: Set<string>
}

const refusal = (error: string, words = "said the server"): Answer => ({
  status: 400,
  body: { error, error_description: words }
})

export const make = (options: Options = {}): Effect.Effect<OAuthServer, never, Scope.Scope> =>
  Effect.gen(function* () {
    const families: Array<Family> = []
    let [made, renewals, reuses, asked] = [0, 0, 0, 0]
    let last: { readonly [name: string]: string } = {}
    let consent: "pending" | "yes" | "no" = "pending"

    const fresh = (kind: string) => `${kind}-${String((made += 1)).padStart(6, "0")}-of-the-loopback-login`
    const issue = (family: Family): Issued => {
      family.refresh = fresh("refresh")
      const access = fresh("access")
      family.access.add(access)
      return { access, refresh: family.refresh }
    }
    const grant = (): Issued => {
      const family: Family = { live: true, refresh: "", spent: new Set(), access: new Set() }
      families.push(family)
      return issue(family)
    }
    const tokens = ({ access, refresh }: Issued): Answer => ({
      status: 200,
      body: {
        access_token: access,
        refresh_token: refresh,
        token_type: "Bearer",
        expires_in: options.expiresIn ?? 3_600
      }
    })

    const renew = async (shown: string): Promise<Answer> => {
      const family = families.find((one) => one.refresh === shown || one.spent.has(shown))
      if (family === undefined) return refusal("invalid_grant", `never heard of ${shown}`)
      if (family.spent.has(shown)) {
        reuses += 1
        family.live = false
        return refusal("invalid_grant", `${shown} was used before`)
      }
      if (!family.live) return refusal("invalid_grant", "revoked")
      renewals += 1
      family.spent.add(shown)
      const issued = issue(family)
      await options.spent?.()
      return tokens(issued)
    }

    const answerTo = async (path: string, fields: { readonly [name: string]: string }): Promise<Answer | "drop"> => {
      if (path === "/device")
        return {
          status: 200,
          body: {
            device_code: "the-device-code-of-loopback",
            user_code: "WDJB-MJHT",
            verification_uri: "http://127.0.0.1/say-yes",
            verification_uri_complete: "http://127.0.0.1/say-yes?code=WDJB-MJHT",
            expires_in: options.codeLives ?? 600,
            interval: options.interval ?? 0
          }
        }
      if (path === "/revoke") {
        for (const family of families)
          if (family.refresh === fields["token"] || family.access.has(fields["token"] ?? "")) family.live = false
        return { status: 200, body: "" }
      }
      asked += 1
      last = fields
      const instead = options.instead?.(fields, asked) ?? null
      if (instead !== null) return instead
      if (fields["grant_type"] === "refresh_token") return renew(fields["refresh_token"] ?? "")
      if (consent === "no") return refusal("access_denied")
      return consent === "yes" ? tokens(grant()) : refusal("authorization_pending")
    }

    const server = http.createServer((request, response) => {
      let text = ""
      request.on("data", (chunk: Buffer) => (text += chunk.toString()))
      request.on("end", () => {
        void answerTo(request.url ?? "", Object.fromEntries(new URLSearchParams(text))).then((answer) => {
          setTimeout(() => {
            if (answer === "drop") return void request.socket.destroy()
            response.writeHead(answer.status, { "content-type": "application/json", ...answer.headers })
            response.end(typeof answer.body === "string" ? answer.body : JSON.stringify(answer.body))
          }, options.delay ?? 0)
        })
      })
    })
    yield* Effect.acquireRelease(
      Effect.async<void>((resume) => void server.listen(0, "127.0.0.1", () => resume(Effect.void))),
      () =>
        Effect.async<void>((resume) => {
          server.close(() => resume(Effect.void))
          server.closeAllConnections()
        })
    )
    const address = server.address()
    const origin = `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`
    return {
      origin,
      deviceUrl: `${origin}/device`,
      tokenUrl: `${origin}/token`,
      revokeUrl: `${origin}/revoke`,
      grant,
      isGood: (access) => families.some((one) => one.live && one.access.has(access)),
      spoil: (access) => families.forEach((one) => one.access.delete(access)),
      renewals: () => renewals,
      reuses: () => reuses,
      asked: () => asked,
      last: () => last,
      approve: () => (consent = "yes"),
      decline: () => (consent = "no")
    }
  })
