/** Tool calls from their streamed pieces: by index where there is one, by id where there is none. */
import * as Nesting from "../../../services/operation/Nesting.js"

export interface CallDelta {
  readonly index?: number | null | undefined
  readonly id?: string | null | undefined
  readonly function?: { readonly name?: string | null | undefined; readonly arguments?: unknown } | null | undefined
}

export interface AssembledCall {
  /** Null when the server gave none. */
  readonly id: string | null
  readonly name: string
  /** The text as it came (decision 30). */
  readonly arguments: string
}

interface Slot {
  index: number | null
  id: string | null
  name: string
  arguments: Array<string>
}

export class ToolCallAssembler {
  private readonly slots: Array<Slot> = []

  get isEmpty(): boolean {
    return this.slots.length === 0
  }

  add(delta: CallDelta): void {
    const id = delta.id === undefined || delta.id === null || delta.id === "" ? null : delta.id
    const name = delta.function?.name ?? ""
    const slot = this.slotOf(delta.index ?? null, id, name)
    slot.id ??= id
    if (name !== "" && name !== slot.name) slot.name += name
    const args = delta.function?.arguments
    if (args !== undefined && args !== null) slot.arguments.push(typeof args === "string" ? args : Nesting.json(args))
  }

  all(): ReadonlyArray<AssembledCall> {
    return this.slots.map((slot) => ({ id: slot.id, name: slot.name, arguments: slot.arguments.join("") }))
  }

  /** A piece with another id than its slot's is a call of its own: some servers number every call 0. */
  private slotOf(index: number | null, id: string | null, name: string): Slot {
    const last = this.slots.at(-1)
    const found =
      index === null
        ? id === null
          ? name !== "" && last !== undefined && last.name !== "" && last.arguments.length > 0
            ? undefined
            : last
          : this.slots.find((slot) => slot.id === id)
        : this.slots.findLast((slot) => slot.index === index)
    if (found !== undefined && (id === null || found.id === null || found.id === id)) return found
    const slot: Slot = { index, id: null, name: "", arguments: [] }
    this.slots.push(slot)
    return slot
  }
}
