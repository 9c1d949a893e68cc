export declare const ascii: (code: string) => string
export declare const wrapped: (code: string) => string
