/** The end of a process that has said something. */
import process from "node:process"

/**
 * Ends the process once what it said has left: of what is written to a pipe Node hands over 64 KB and keeps the rest until
 * somebody reads. A reader may take its time (`| less`); one that closes the pipe ends the wait.
 */
export const leave = (code: number): void => {
  const end = (): void => process.exit(code)
  const unread = [process.stdout, process.stderr].filter(({ writableLength }) => writableLength > 0)
  if (unread.length === 0) return end()
  let left = unread.length
  const gone = (): void => {
    left -= 1
    if (left === 0) end()
  }
  for (const stream of unread) stream.on("error", end).write("", gone)
}
