import { Context, type Effect, Schema } from "effect"
import type { SkillSummary } from "./Skill.js"

/** It was not read or changed, and why; what can be done instead stands in it. */
export class SkillRefused extends Schema.TaggedError<SkillRefused>()("SkillRefused", { detail: Schema.String }) {
  override get message(): string {
    return this.detail
  }
}

export interface SkillView {
  readonly summary: SkillSummary
  readonly text: string
  /** The skill's files, below its folder. */
  readonly files: ReadonlyArray<string>
  /** It speaks like somebody who gives orders; for whoever reads it. */
  readonly warning: string | null
}

export type SkillChange =
  | { readonly _tag: "Create"; readonly name: string; readonly category: string | null; readonly text: string }
  | { readonly _tag: "Edit"; readonly name: string; readonly text: string }
  | {
      readonly _tag: "Patch"
      readonly name: string
      /** Null is the `SKILL.md`. */
      readonly file: string | null
      readonly before: string
      readonly after: string
      readonly everywhere: boolean
    }
  | { readonly _tag: "Delete"; readonly name: string }
  | { readonly _tag: "WriteFile"; readonly name: string; readonly file: string; readonly text: string }
  | { readonly _tag: "RemoveFile"; readonly name: string; readonly file: string }

/**
 * How things are done, written down: folders below the home's `skills`. A name that could mean two is refused; nothing
 * outside the root, nor outside a skill's own folder, is read or written through here.
 */
export class Skills extends Context.Tag("hermes/agent/Skills")<
  Skills,
  {
    /** In the order of their names, without those that are switched off or made for another system. */
    readonly list: Effect.Effect<ReadonlyArray<SkillSummary>>
    /** By name, folder, or absolute path below the root. */
    readonly view: (reference: string) => Effect.Effect<SkillView, SkillRefused>
    readonly file: (reference: string, file: string) => Effect.Effect<string, SkillRefused>
    /** Answers what was done. */
    readonly change: (change: SkillChange) => Effect.Effect<string, SkillRefused>
  }
>() {}
