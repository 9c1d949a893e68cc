/** The doors of a turn without its entrance: what `hermes-effect/fibers` shows of `Turn`. */
export {
  cleared,
  current,
  currentOption,
  CurrentTurn,
  delegate,
  detach,
  engaged,
  exit,
  fork,
  forkApart,
  forkIn,
  forkCertain,
  forkWorker,
  interrupt,
  interruptSoon,
  peek,
  peekIn,
  result,
  runner,
  TurnId,
  TurnMismatch,
  warnOnKeyMismatch,
  withSessionId,
  workerRunner
} from "../Turn.js"
export type { Delegate, Facts, Runner, Turn, TurnFiber } from "../Turn.js"
