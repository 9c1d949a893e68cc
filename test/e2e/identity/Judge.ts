/** Looks at everything where it is consumed, and writes down what is not as its token says. */
import { Deferred, Effect, FiberId } from "effect"
import * as Cast from "./Cast.js"
import * as Environment from "./Environment.js"
import * as Heard from "./Heard.js"
import * as Plan from "./Plan.js"
import * as Token from "./Token.js"

/** A message as the platform got it, or as it stands after an edit. */
export interface Arrived {
  readonly chatId: string
  readonly threadId: string | null
  /** The message that it answers. */
  readonly anchor: string | null
  readonly text: string
}

export interface Counts {
  rounds: number
  modelCalls: number
  /** Child processes and sent messages by depth: 0 for a person's turn, 1 for its delegates … */
  readonly environments: Array<number>
  readonly sends: Array<number>
  replies: number
  /** Messages and edits that showed a part of what became longer. */
  partial: number
}

export interface Judge {
  readonly counts: Readonly<Counts>
  /** The first of what went wrong; empty when nothing did. */
  readonly misses: () => ReadonlyArray<string>
  readonly miss: (what: string) => void
  /** A member's message has this id: what comes of the round answers it. */
  readonly spoke: (member: Cast.Member, round: number, messageId: string) => void
  /** Judges what a model was told. Null when it cannot be known for whom. */
  readonly asked: (request: string, heard: ReadonlyArray<Heard.Heard>) => Heard.Place | null
  readonly arrived: (message: Arrived) => void
  /** Waits for the answer to a round, and judges whether everything that belongs to it came. */
  readonly answered: (token: Token.Token) => Effect.Effect<void>
  /** Waits for the word that a new conversation began. */
  readonly renewed: (member: Cast.Member, messageId: string) => Effect.Effect<void>
}

const toldMisses = 40
const patience = "5 minutes"
const renewal = /^A new conversation\./

export const make = (members: ReadonlyArray<Cast.Member>, strays: ReadonlyArray<string> = []): Judge => {
  const counts: Counts = { rounds: 0, modelCalls: 0, environments: [], sends: [], replies: 0, partial: 0 }
  const misses: Array<string> = []
  let missed = 0
  const byChat = new Map(members.map((member) => [member.chat, member]))
  const foreign = new Map(members.map((member) => [member.chat, [...Cast.foreignMarks(member, members), ...strays]]))
  /** Message ids of what was said, by member and round. */
  const anchors = new Map<string, string>()
  /** Texts that came, and how often. */
  const texts = new Map<string, number>()
  /** Child processes of a turn or delegate that printed what they must. */
  const printed = new Map<string, number>()
  /** Who a session belongs to: one conversation, or one delegate. */
  const sessions = new Map<string, string>()
  const waiting = new Map<string, Deferred.Deferred<void>>()

  const miss = (what: string): void => {
    missed += 1
    if (misses.length < toldMisses) misses.push(what)
  }

  /** What is waited for, or was there before anybody waited. */
  const arrival = (what: string): Deferred.Deferred<void> => {
    const known = waiting.get(what) ?? Deferred.unsafeMake<void>(FiberId.none)
    waiting.set(what, known)
    return known
  }

  const anchorOf = ({ chat, round }: Pick<Token.Token, "chat" | "round">): string | undefined =>
    anchors.get(`${chat}/${round}`)

  const placeOf = ({ chatId, threadId }: Pick<Cast.Member, "chatId" | "threadId">): string =>
    threadId === null ? chatId : `${chatId}/${threadId}`

  const environment = (token: Token.Token, member: Cast.Member, output: string): void => {
    const name = Token.write(token)
    const depth = Token.depth(token)
    const names = Environment.parse(output)
    if (names.get("TOKEN") !== name) return miss(`${name} was given another's result: ${output.slice(0, 300)}`)
    const expected = depth === 0 ? Environment.ofTurn(member, anchorOf(token) ?? "unknown") : Environment.ofDelegate
    for (const difference of Environment.differences(names, expected)) miss(`a child process of ${name}: ${difference}`)
    for (const mark of foreign.get(token.chat) ?? [])
      if (output.includes(mark)) miss(`a child process of ${name} was told of ${mark}`)
    const id = names.get("HERMES_SESSION_ID") ?? ""
    const owner = depth === 0 ? token.chat : name
    if (id === "") miss(`a child process of ${name} has no session id`)
    if ((sessions.get(id) ?? owner) !== owner) miss(`${name} has the session of ${sessions.get(id)}`)
    sessions.set(id, owner)
    if (depth > 0 && !/^delegate:./.test(names.get("HERMES_SESSION_KEY") ?? ""))
      miss(`a child process of ${name} has the session key ${names.get("HERMES_SESSION_KEY")}`)
    counts.environments[depth] = (counts.environments[depth] ?? 0) + 1
    printed.set(name, (printed.get(name) ?? 0) + 1)
  }

  const result = (token: Token.Token, member: Cast.Member, act: Plan.Act, text: string): void => {
    switch (act._tag) {
      case "Environment":
        return environment(token, member, text)
      case "Send":
        if (!text.includes('"success":true')) miss(`${Token.write(token)} could not send: ${text.slice(0, 300)}`)
        return
      case "Delegate":
        for (const child of act.children)
          if (!text.includes(`done ${Token.write(child)}"`))
            miss(`${Token.write(token)} has no report of ${Token.write(child)}: ${text.slice(0, 300)}`)
    }
  }

  return {
    counts,
    misses: () => (missed > misses.length ? [...misses, `and ${missed - misses.length} more`] : misses),
    miss,
    spoke: (member, round, messageId) => void anchors.set(`${member.chat}/${round}`, messageId),
    asked: (request, heard) => {
      counts.modelCalls += 1
      const place = Heard.place(heard)
      if (place === null) {
        miss(`the model was asked by nobody: ${request.slice(-300)}`)
        return null
      }
      const { token } = place
      const member = byChat.get(token.chat)
      if (member === undefined) {
        miss(`the model was asked by the unknown ${token.chat}`)
        return null
      }
      for (const chat of Token.chats(request))
        if (chat !== token.chat) miss(`the model of ${Token.write(token)} was told of ${chat}`)
      for (const mark of foreign.get(token.chat) ?? [])
        if (request.includes(mark)) miss(`the model of ${Token.write(token)} was told of ${mark}`)
      const addressed = member.threadId === null ? `with: "${member.userName}"` : "several people talk here"
      if (Token.depth(token) === 0 && !request.includes(JSON.stringify(addressed).slice(1, -1)))
        miss(`the model of ${Token.write(token)} was not told whom it talks with`)
      for (const { act, text } of place.results) result(token, member, act, text)
      return place
    },
    arrived: (message) => {
      const { anchor, text } = message
      const at = placeOf(message)
      if (renewal.test(text)) {
        const what = `renewed ${at} ${anchor ?? ""}`
        return void Deferred.unsafeDone(arrival(what), Effect.void)
      }
      // A reply that grows begins with a word that says nothing yet; its end is judged like every other.
      if (text === "done") return void (counts.partial += 1)
      const chats = [...Token.chats(text)]
      const member = byChat.get(chats[0] ?? "")
      if (member === undefined || chats.length > 1)
        return miss(`nobody's words arrived in ${at}: ${text.slice(0, 200)}`)
      if (at !== placeOf(member)) miss(`words of ${member.chat} arrived in ${at}: ${text.slice(0, 200)}`)
      const token = Token.read(text)
      if (token === null) return void (counts.partial += 1)
      if (anchor !== anchorOf(token)) miss(`words of ${Token.write(token)} answer ${anchor}: ${text.slice(0, 200)}`)
      if (text.startsWith("looking ")) return void (counts.partial += 1)
      const times = (texts.get(text) ?? 0) + 1
      texts.set(text, times)
      if (times > 1) miss(`came ${times} times: ${text}`)
      if (text.startsWith("sent ")) {
        const depth = Token.depth(token)
        counts.sends[depth] = (counts.sends[depth] ?? 0) + 1
      } else if (text === `done ${Token.write(token)}`) {
        counts.replies += 1
        Deferred.unsafeDone(arrival(`done ${Token.write(token)}`), Effect.void)
      } else miss(`unexpected words in ${at}: ${text.slice(0, 200)}`)
    },
    answered: (token) =>
      Effect.gen(function* () {
        const reply = `done ${Token.write(token)}`
        const came = yield* Effect.timeoutOption(Deferred.await(arrival(reply)), patience)
        if (came._tag === "None") return miss(`${Token.write(token)} was not answered in ${patience}`)
        for (const outcome of Plan.outcomes(token)) {
          const name = Token.write(outcome.token)
          const environments = printed.get(name) ?? 0
          if (environments !== outcome.environments)
            miss(`${name} printed ${environments} of ${outcome.environments} environments`)
          for (const text of outcome.sends) if (!texts.has(text)) miss(`never arrived: ${text}`)
          printed.delete(name)
        }
        waiting.delete(reply)
        counts.rounds = Math.max(counts.rounds, token.round)
      }),
    renewed: (member, messageId) =>
      Effect.gen(function* () {
        const what = `renewed ${placeOf(member)} ${messageId}`
        const came = yield* Effect.timeoutOption(Deferred.await(arrival(what)), patience)
        if (came._tag === "None") miss(`${member.chat} was not given a new conversation in ${patience}`)
        waiting.delete(what)
      })
  }
}
