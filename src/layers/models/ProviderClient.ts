/** The HTTP client as every provider gets it. */
import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import * as HttpClient from "@effect/platform/HttpClient"
import { Effect } from "effect"

/**
 * No redirect is followed, which `OutgoingHttp` never does and `fetch` is told not to: so a key and a conversation never
 * reach another host than the configured one. And nothing of our traces is sent along.
 */
export const guarded = (client: HttpClient.HttpClient): HttpClient.HttpClient =>
  client.pipe(
    HttpClient.withTracerDisabledWhen(() => true),
    HttpClient.transformResponse(Effect.provideService(FetchHttpClient.RequestInit, { redirect: "manual" }))
  )

/** What to do about a redirect; null when the status is none. */
export const redirected = (status: number, location: string | undefined): string | null =>
  status < 300 || status > 399
    ? null
    : `The model's base URL answers with a redirect${location === undefined ? "" : ` to ${withoutSecrets(location)}`}, which is not followed. Set the base URL to the address itself.`

const withoutSecrets = (location: string): string => {
  try {
    const url = new URL(location)
    return `${url.origin}${url.pathname}`
  } catch {
    return "another path"
  }
}
