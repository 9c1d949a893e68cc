export type Part = "bin" | "page" | "library"
export declare const fresh: (...parts: ReadonlyArray<Part>) => Promise<void>
