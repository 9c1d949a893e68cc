import type { ComponentChildren, VNode } from "preact"
import { ClipIcon } from "./Icons.js"
import type { SaidFile } from "./words.js"
import { When } from "./When.js"

const Files = ({ files }: { readonly files: ReadonlyArray<SaidFile> }): VNode => (
  <ul class="files" aria-label="Files">
    {files.map(({ name }, index) => (
      <li key={index} class="file">
        <ClipIcon /> {name}
      </li>
    ))}
  </ul>
)

/** What the person said, with the files that went with it, and when. */
export const Mine = (props: {
  readonly text: string
  readonly files?: ReadonlyArray<SaidFile>
  readonly at: number | null
  readonly waiting?: boolean
  /** How it went. */
  readonly children?: ComponentChildren
}): VNode => (
  <>
    <article class={props.waiting === true ? "message user waiting" : "message user"} aria-label="You">
      {props.text === "" ? null : <p class="said">{props.text}</p>}
      {props.files === undefined || props.files.length === 0 ? null : <Files files={props.files} />}
      {props.children}
    </article>
    <When at={props.at} mine />
  </>
)
