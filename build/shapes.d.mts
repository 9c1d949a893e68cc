export declare const steady: (code: string) => string
