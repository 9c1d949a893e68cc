import type { PlatformError } from "@effect/platform/Error"
import { Effect } from "effect"
import * as PlainFile from "../node/PlainFile.js"

/** Lines of a file, from one on. */
export interface Page {
  readonly lines: ReadonlyArray<string>
  /** Lines that were cut because they are too long. */
  readonly cut: number
  /** The number of the line after the last one given; null at the end of the file. */
  readonly next: number | null
  /** Some bytes are no text; they stand as U+FFFD. */
  readonly damaged: boolean
}

export interface PageRequest {
  /** First line, from 1. */
  readonly from: number
  readonly lines: number
  /** UTF-16 units of all lines together, and of one. */
  readonly characters: number
  readonly lineCharacters: number
}

/** It holds a NUL among its first bytes, so it is no text. */
export type Read = { readonly _tag: "Page"; readonly page: Page } | { readonly _tag: "Binary" }

const sniffBytes = 8_192

/**
 * Reads a page in memory that does not depend on the size of the file, nor on the length of its lines. It stops where
 * the page ends.
 */
export const read = (file: string, request: PageRequest): Effect.Effect<Read, PlatformError> =>
  Effect.scoped(
    Effect.gen(function* () {
      const { next } = yield* PlainFile.open(file)
      const decoder = new TextDecoder("utf-8")
      const collect = collector(request)
      for (let first = true; ; first = false) {
        const chunk = yield* next
        if (chunk === null) {
          collect.push(decoder.decode())
          return { _tag: "Page", page: collect.end() } as const
        }
        if (first && chunk.subarray(0, sniffBytes).includes(0)) return { _tag: "Binary" } as const
        if (collect.push(decoder.decode(chunk, { stream: true }))) return { _tag: "Page", page: collect.end() } as const
      }
    })
  )

/** Takes text piece by piece. `push` answers true when the page is full. */
const collector = (request: PageRequest) => {
  const lines: Array<string> = []
  let number = 1
  let line = ""
  let isCut = false
  let cut = 0
  let used = 0
  let next: number | null = null
  let damaged = false
  let sawText = false

  const isWanted = (): boolean => number >= request.from

  /** False when there is no room for this line: it begins the next page. */
  const finish = (): boolean => {
    const text = line.replace(isCut ? /[\uD800-\uDBFF]$/ : /\r$/, "")
    if (isWanted()) {
      if (lines.length >= request.lines || (lines.length > 0 && used + text.length > request.characters)) {
        next = number
        return false
      }
      lines.push(text)
      used += text.length + 1
      if (isCut) cut += 1
    }
    number += 1
    line = ""
    isCut = false
    sawText = false
    return true
  }

  const add = (piece: string): void => {
    if (piece !== "") sawText = true
    if (!isWanted()) return
    if (piece.includes("\ufffd")) damaged = true
    const room = request.lineCharacters - line.length
    if (piece.length > room) isCut = true
    line += piece.slice(0, Math.max(0, room))
  }

  return {
    push: (text: string): boolean => {
      if (next !== null) return true
      for (let at = 0; at < text.length;) {
        const end = text.indexOf("\n", at)
        add(end < 0 ? text.slice(at) : text.slice(at, end))
        if (end < 0) return false
        if (!finish()) return true
        at = end + 1
      }
      return false
    },
    end: (): Page => {
      if (next === null && sawText) finish()
      return { lines, cut, next, damaged }
    }
  }
}
