/** What a program is besides its name: what a link leads to, and what the line itself gives it (`ln -s /bin/rm x; ./x -rf y`). */
import { type Invocation, nameOf, textsOf } from "./Invocation.js"
import * as Marked from "./Marked.js"
import * as Tails from "./Tails.js"

export class OtherNames {
  /** What a line made a link to or a copy of, by the absolute path of that. */
  readonly #given = new Map<string, string>()
  readonly #follow: (file: string) => string
  readonly #absolute: (file: string) => string | null

  /** `absolute`: null when it is not known where a file lies. */
  constructor(follow: (file: string) => string, absolute: (file: string) => string | null) {
    this.#follow = follow
    this.#absolute = absolute
  }

  /** Of a program that is named by its path, those that destroy or start others. */
  of(program: string): ReadonlyArray<string> {
    const file = program.includes("/") && Marked.isKnown(program) ? this.#absolute(program) : null
    if (file === null) return []
    const others = [this.#given.get(file) ?? file, this.#follow(file)]
    return others.filter((other) => Tails.isHead(other) && nameOf(other) !== nameOf(file))
  }

  learn(invocation: Invocation): void {
    if (!/^(?:ln|cp|mv|install)$/.test(invocation.name)) return
    const [from, into, ...more] = textsOf(invocation).filter((text) => !text.startsWith("-"))
    if (from === undefined || into === undefined || more.length > 0 || !Marked.isKnown(into)) return
    for (const place of [into, `${into}/${from.split("/").at(-1) ?? ""}`]) {
      const file = this.#absolute(place)
      if (file !== null) this.#given.set(file, from)
    }
  }
}
