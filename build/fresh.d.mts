export type Part = "bin" | "page" | "library"
export declare const stale: (parts: ReadonlyArray<Part>) => ReadonlyArray<Part>
export declare const fresh: (...parts: ReadonlyArray<Part>) => Promise<void>
