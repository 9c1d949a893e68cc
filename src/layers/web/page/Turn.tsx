import { Component, type VNode } from "preact"
import { useState } from "preact/hooks"
import type { TurnBlock } from "./blocks.js"
import { shown } from "../../../services/delivery/MediaText.js"
import type { SentFile } from "./gateway.js"
import { Markdown } from "./Markdown.js"
import { Mine } from "./Mine.js"
import { When } from "./When.js"
import { answerOf, type Helper, type Part, type Tool } from "./turns.js"

const marks = { running: "…", ok: "✓", failed: "✗", stopped: "–" } as const
const spoken = { running: "running", ok: "done", failed: "failed", stopped: "not done" } as const

const ToolRow = ({ asks, tool }: { readonly tool: Tool; readonly asks: boolean }): VNode => {
  // What nobody looks at need not be on the page: results can be long.
  const [open, setOpen] = useState(false)
  const waits = asks && tool.state === "running"
  return (
    <details class={`tool ${tool.state}`} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <span class="mark" aria-hidden="true">
          {waits ? "?" : marks[tool.state]}
        </span>
        <span class="name">{tool.tool === "" ? "tool" : tool.tool}</span>
        <span class="preview">{tool.preview}</span>
        <span class="unseen">, {waits ? "waiting for your answer" : spoken[tool.state]}</span>
      </summary>
      {!open ? null : tool.result === "" ? (
        <p class="quiet">
          {waits ? "It waits for your answer." : tool.state === "running" ? "No output yet." : "No output."}
        </p>
      ) : (
        <pre tabIndex={0} aria-label="Output">
          {tool.result}
        </pre>
      )}
    </details>
  )
}

/** The agent's work, or its question, and below it what the person said meanwhile. */
const ToolPart = ({ asks, tool }: { readonly tool: Tool; readonly asks: boolean }): VNode => {
  const answer = answerOf(tool)
  return (
    <>
      <ToolRow tool={tool} asks={asks} />
      {answer === null ? null : <Mine text={answer} at={null} />}
      {tool.told.map(({ at, text }, index) => (
        <Mine key={index} text={text} at={Date.parse(at)} />
      ))}
    </>
  )
}

const endings: { readonly [status: string]: string } = {
  working: "working …",
  completed: "done",
  interrupted: "stopped",
  error: "failed"
}

const HelperPart = ({ asks, helper }: { readonly helper: Helper; readonly asks: boolean }): VNode => (
  <section class="helper" aria-label={`Helper: ${helper.goal}`}>
    <p class="goal">
      <span class="name">Helper</span> {helper.goal}{" "}
      <span class="quiet">· {endings[helper.status] ?? helper.status}</span>
    </p>
    <Parts parts={helper.parts} asks={asks} />
  </section>
)

const size = (bytes: number): string =>
  bytes < 1024 * 1024 ? `${Math.ceil(bytes / 1024)} KB` : `${(bytes / 1024 / 1024).toFixed(1)} MB`

/** Pictures and sounds are there at once, anything else is a link. */
const FileView = ({ file }: { readonly file: SentFile }): VNode => {
  if (file.mimeType.startsWith("image/") && file.kind === "photo")
    return (
      <a href={file.url} target="_blank" rel="noreferrer noopener">
        <img class="sent" src={file.url} alt={file.name} loading="lazy" />
      </a>
    )
  if (file.mimeType.startsWith("audio/")) return <audio controls preload="none" src={file.url} aria-label={file.name} />
  return (
    <a class="sent file" href={file.url} download={file.name}>
      {file.name} <span class="quiet">{size(file.bytes)}</span>
    </a>
  )
}

const FilesPart = ({ files }: { readonly files: ReadonlyArray<SentFile> }): VNode => (
  <div class="files">
    {files.map((file) => (
      <FileView key={file.url} file={file} />
    ))}
  </div>
)

/** Beginnings do not move, so a part is known by its place where it has no name. */
const PartView = ({ asks, part }: { readonly part: Part; readonly asks: boolean }): VNode | null =>
  part.kind === "tool" ? (
    <ToolPart tool={part} asks={asks} />
  ) : part.kind === "helper" ? (
    <HelperPart helper={part} asks={asks} />
  ) : part.kind === "files" ? (
    <FilesPart files={part.files} />
  ) : shown(part.text).trim() === "" ? null : (
    <Markdown text={shown(part.text)} />
  )

const Parts = ({ asks, parts }: { readonly parts: ReadonlyArray<Part>; readonly asks: boolean }): VNode => (
  <>
    {parts.map((part, index) => (
      <PartView
        key={part.kind === "tool" ? part.callId : part.kind === "helper" ? part.delegationId : `${part.kind} ${index}`}
        part={part}
        asks={asks}
      />
    ))}
  </>
)

const outcomes: { readonly [outcome: string]: string } = {
  interrupted: "Stopped.",
  resumable: "Interrupted by a restart; it goes on after it."
}

const isSpeaking = (part: Part | undefined): boolean => part?.kind === "words" && part.text.trim() !== ""

interface TurnProps {
  readonly block: TurnBlock
  /** Does a question of this conversation wait for an answer? */
  readonly asks: boolean
}

/** A turn, while it runs and after. Not drawn again while it stays the same. */
export class Turn extends Component<TurnProps> {
  override shouldComponentUpdate({ asks, block }: TurnProps): boolean {
    const { at, parts, running, outcome } = this.props.block
    const isSame = block.parts === parts && block.running === running && block.outcome === outcome && block.at === at
    return !isSame || (running && asks !== this.props.asks)
  }

  override render(): VNode {
    const { at, parts, running, outcome } = this.props.block
    const ending = outcome === null ? undefined : outcomes[outcome]
    return (
      <>
        <article
          class="message assistant"
          aria-label={running ? "Hermes, still working" : "Hermes"}
          aria-busy={running}
        >
          <Parts parts={parts} asks={running && this.props.asks} />
          {running && !isSpeaking(parts.at(-1)) ? (
            <p class="quiet working">
              <span class="pulse" aria-hidden="true" />
              {this.props.asks ? "Waiting for your answer" : "Working"}
            </p>
          ) : null}
          {ending === undefined ? null : <p class="quiet">{ending}</p>}
        </article>
        <When at={at} />
      </>
    )
  }
}
