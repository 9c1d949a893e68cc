/** The difference of two texts, line by line, as people read it (`-` gone, `+` new). Pure, and bounded whatever the texts. */

const context = 3
const mostCells = 400_000

type Line = readonly [sign: " " | "-" | "+", text: string]

/** The longest common lines where that takes reasonable time, else all of the old for all of the new. */
const middle = (before: ReadonlyArray<string>, after: ReadonlyArray<string>): ReadonlyArray<Line> => {
  const gone = before.map((text): Line => ["-", text])
  const come = after.map((text): Line => ["+", text])
  if (before.length * after.length > mostCells) return [...gone, ...come]
  const width = after.length + 1
  const lengths = new Uint32Array((before.length + 1) * width)
  for (let a = before.length - 1; a >= 0; a--)
    for (let b = after.length - 1; b >= 0; b--)
      lengths[a * width + b] =
        before[a] === after[b]
          ? (lengths[(a + 1) * width + b + 1] ?? 0) + 1
          : Math.max(lengths[(a + 1) * width + b] ?? 0, lengths[a * width + b + 1] ?? 0)
  const lines: Array<Line> = []
  let a = 0
  let b = 0
  while (a < before.length && b < after.length) {
    if (before[a] === after[b]) {
      lines.push([" ", before[a] ?? ""])
      a++
      b++
    } else if ((lengths[(a + 1) * width + b] ?? 0) >= (lengths[a * width + b + 1] ?? 0))
      lines.push(["-", before[a++] ?? ""])
    else lines.push(["+", after[b++] ?? ""])
  }
  return [...lines, ...gone.slice(a), ...come.slice(b)]
}

/** Unchanged lines far from a change are left out; at most `longest` characters. */
export const between = (before: string, after: string, longest: number): string => {
  const old = before.split("\n")
  const now = after.split("\n")
  let head = 0
  while (head < old.length && head < now.length && old[head] === now[head]) head++
  let tail = 0
  while (tail < old.length - head && tail < now.length - head && old.at(-1 - tail) === now.at(-1 - tail)) tail++
  const lines: ReadonlyArray<Line> = [
    ...old.slice(Math.max(0, head - context), head).map((text): Line => [" ", text]),
    ...middle(old.slice(head, old.length - tail), now.slice(head, now.length - tail)),
    ...old.slice(old.length - tail, old.length - tail + context).map((text): Line => [" ", text])
  ]
  const near = (at: number): boolean =>
    lines.slice(Math.max(0, at - context), at + context + 1).some(([sign]) => sign !== " ")
  let text = ""
  let skipped = false
  for (const [at, [sign, line]] of lines.entries()) {
    if (!near(at)) {
      skipped = true
      continue
    }
    const next = `${skipped ? "@@\n" : ""}${sign}${line}\n`
    skipped = false
    if (text.length + next.length > longest) return `${text}[… more]`
    text += next
  }
  return text.replace(/\n$/, "")
}
