import { Context, Schema } from "effect"

/** The server that answers; listening for as long as the layer lives. */
export class ApiServer extends Context.Tag("hermes/api/ApiServer")<
  ApiServer,
  {
    readonly host: string
    /** The port in use, also when 0 was asked for. */
    readonly port: number
    /** Where it answers, without a trailing slash. */
    readonly url: string
  }
>() {}

/** Another program listens there already. The gateway does not start (exit code 78). */
export class PortTaken extends Schema.TaggedError<PortTaken>()("PortTaken", {
  host: Schema.String,
  port: Schema.Number
}) {
  override get message(): string {
    return `port ${this.port} on ${this.host} is taken by another program: stop that one, or choose another port with --port or API_SERVER_PORT`
  }
}

/** The address cannot be listened on. The gateway does not start (exit code 78). */
export class AddressUnusable extends Schema.TaggedError<AddressUnusable>()("AddressUnusable", {
  host: Schema.String,
  port: Schema.Number,
  detail: Schema.String
}) {
  override get message(): string {
    return `cannot listen on ${this.host}:${this.port} (${this.detail}): set API_SERVER_HOST and API_SERVER_PORT to an address of this machine`
  }
}

/** An address beyond this machine without the names it may be asked by: any page on the web could reach it. The gateway does not start (exit code 78). */
export class HostsUnnamed extends Schema.TaggedError<HostsUnnamed>()("HostsUnnamed", { host: Schema.String }) {
  override get message(): string {
    return `listening on ${this.host} needs platforms.api_server.allowed_hosts: the host names that people reach this gateway by`
  }
}

export type ApiServerError = PortTaken | AddressUnusable | HostsUnnamed
