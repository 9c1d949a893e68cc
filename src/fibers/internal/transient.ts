/**
 * A set of what is under way, whose members come and go. V8 links each table that a Set outgrows to the next one, also
 * when deletions have filled it. A table that once came into the old generation then keeps alive all that follow it with
 * whatever was in them, each fiber with all that it holds, until the next full collection. So this begins a new Set, to
 * which nothing leads, about as often as V8 would begin a new table.
 */
export interface Transient<A> extends Iterable<A> {
  readonly add: (member: A) => void
  readonly delete: (member: A) => void
}

/** V8's smallest table has room for so many. */
const leastRoom = 4

export const make = <A>(): Transient<A> => {
  let members = new Set<A>()
  let room = leastRoom
  return {
    add: (member) => {
      if (room === 0) {
        members = new Set(members)
        room = Math.max(leastRoom, members.size)
      }
      room -= 1
      members.add(member)
    },
    delete: (member) => void members.delete(member),
    // Whoever is met may add to it or end others, and the set may be a new one by then.
    *[Symbol.iterator]() {
      for (const member of [...members]) if (members.has(member)) yield member
    }
  }
}
