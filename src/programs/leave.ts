/** The end of a process that has answered something. */
import process from "node:process"

/**
 * Ends the process once its answer has left: of what is written to a pipe Node hands over 64 KB and keeps the rest until
 * somebody reads. A reader may take its time (`| less`); one that closes the pipe ends the wait. Nobody waits for stderr:
 * a gateway whose log is not read has to end all the same.
 */
export const leave = (code: number): void => {
  const end = (): void => process.exit(code)
  if (process.stdout.writableLength === 0) return end()
  process.stdout.on("error", end).write("", end)
}
