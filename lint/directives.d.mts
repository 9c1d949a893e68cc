export interface Finding {
  readonly file: string
  readonly line: number
  readonly problem: string
}
export declare const directives: (folders: ReadonlyArray<string>) => ReadonlyArray<Finding>
