/** Who may ask from where: the `Host` and `Origin` of a request, against DNS rebinding and other pages (contract §4). */
import { type ApiError, badRequest, forbidden } from "../../services/api/ApiError.js"

const loopback = /^(?:localhost|127\.\d{1,3}\.\d{1,3}\.\d{1,3}|\[::1\])$/

/** Does this address reach this machine only? */
export const isLoopback = (host: string): boolean => loopback.test(host) || host === "::1"

export interface HostAndPort {
  readonly name: string
  /** Null when it is the scheme's own. */
  readonly port: string | null
}

const hostPattern = /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::(\d{1,5}))?$/

/** A `Host` header's value; null when it is none. */
export const parseHost = (header: string): HostAndPort | null => {
  const match = hostPattern.exec(header.trim().toLowerCase())
  if (match === null || match[1] === undefined) return null
  return { name: match[1], port: match[2] ?? null }
}

const defaultPorts: { readonly [scheme: string]: string } = { "http:": "80", "https:": "443" }

const parseOrigin = (origin: string): (HostAndPort & { readonly scheme: string }) | null => {
  if (!URL.canParse(origin)) return null
  const url = new URL(origin)
  return url.hostname === "" ? null : { name: url.hostname, port: url.port || null, scheme: url.protocol }
}

export interface Guard {
  /** Why the request is refused, or null. */
  readonly check: (headers: {
    readonly host?: string | undefined
    readonly origin?: string | undefined
  }) => ApiError | null
}

/** `allowedHosts`: names, with or without a port, by which others may reach this server. */
export const make = (bound: string, allowedHosts: ReadonlyArray<string>): Guard => {
  const named = new Set(allowedHosts.map((host) => host.trim().toLowerCase()))
  const self = bound.includes(":") ? `[${bound}]` : bound
  const isAllowed = ({ name, port }: HostAndPort): boolean =>
    isLoopback(name) ||
    (name === self && name !== "0.0.0.0" && name !== "[::]") ||
    named.has(name) ||
    (port !== null && named.has(`${name}:${port}`))

  return {
    check: ({ host, origin }) => {
      if (host === undefined) return badRequest("host_missing", "the request has no Host header")
      const asked = parseHost(host)
      if (asked === null || !isAllowed(asked))
        return forbidden(
          "host_not_allowed",
          `this gateway does not answer as "${host.slice(0, 100)}": name it in platforms.api_server.allowed_hosts if it is yours`
        )
      if (origin === undefined) return null
      const from = parseOrigin(origin)
      const same =
        from !== null &&
        from.name === asked.name &&
        (from.port ?? defaultPorts[from.scheme]) === (asked.port ?? defaultPorts[from.scheme])
      return same ? null : forbidden("origin_not_allowed", `pages of ${origin.slice(0, 100)} may not use this gateway`)
    }
  }
}
