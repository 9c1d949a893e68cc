import type { ComponentChildren, VNode } from "preact"
import { useState } from "preact/hooks"
import { ClipIcon } from "./Icons.js"
import type { SaidFile } from "./words.js"
import { When } from "./When.js"

/** What a browser shows of a person's own; anything else is named. */
const isPicture = ({ mimeType }: SaidFile): boolean => /^image\/(?:png|jpeg|webp|gif)$/.test(mimeType)

const FileItem = ({ file }: { readonly file: SaidFile }): VNode => {
  // It is kept for a while, and not for ever.
  const [isGone, setGone] = useState(false)
  return file.url !== null && isPicture(file) && !isGone ? (
    <li>
      <a href={file.url} target="_blank" rel="noreferrer noopener">
        <img class="mine" src={file.url} alt={file.name} onError={() => setGone(true)} />
      </a>
    </li>
  ) : (
    <li class="file">
      <ClipIcon /> {file.name}
    </li>
  )
}

const Files = ({ files }: { readonly files: ReadonlyArray<SaidFile> }): VNode => (
  <ul class="files" aria-label="Files">
    {files.map((file, index) => (
      <FileItem key={index} file={file} />
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
