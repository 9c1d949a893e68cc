/** What a shell text would do, as commands and words; made of a tree by {@link ./ScriptReader.ts}. */

export type Piece =
  /** `escaped`: written in a way that hides its letters, as `$'\x72'` or `r\m`. */
  | { readonly _tag: "Text"; readonly text: string; readonly quoted: boolean; readonly escaped: boolean }
  | {
      readonly _tag: "Variable"
      readonly name: string
      readonly quoted: boolean
      /** `:-`, `:=` and the like; `[` an element; anything else changes the value in a way that is not followed. */
      readonly operator: string | null
      readonly argument: Word | null
    }
  | { readonly _tag: "Output"; readonly script: Script; readonly quoted: boolean }
  /** `writes`: it is a `>(…)`, which reads what the command writes into it. */
  | { readonly _tag: "Process"; readonly script: Script; readonly writes: boolean }
  | { readonly _tag: "Unknown"; readonly quoted: boolean; readonly scripts: ReadonlyArray<Script> }

export interface Word {
  readonly pieces: ReadonlyArray<Piece>
}

export interface Assignment {
  readonly name: string
  readonly appends: boolean
  readonly value: Word
  /** A loop's: what stands for file names is expanded once for all. */
  readonly expanded?: boolean
  /** The elements of `a=(…)`. */
  readonly elements: ReadonlyArray<Word> | null
}

export interface Redirect {
  readonly operator: string
  readonly descriptor: string | null
  readonly target: Word | null
  /** The text of a here-document or here-string. */
  readonly text: Word | null
}

export interface Simple {
  readonly _tag: "Simple"
  readonly assignments: ReadonlyArray<Assignment>
  readonly words: ReadonlyArray<Word>
  readonly redirects: ReadonlyArray<Redirect>
}

export type Statement =
  | Simple
  | { readonly _tag: "Pipeline"; readonly parts: ReadonlyArray<Statement> }
  | {
      readonly _tag: "Group"
      readonly script: Script
      /** Does a `cd` in it end with it? */
      readonly subshell: boolean
      readonly redirects: ReadonlyArray<Redirect>
    }
  | { readonly _tag: "Function"; readonly name: string; readonly script: Script }

export type Script = ReadonlyArray<Statement>

export interface ReadScript {
  readonly script: Script
  /** Why the text is not surely understood; empty when it is. */
  readonly problems: ReadonlyArray<string>
}
