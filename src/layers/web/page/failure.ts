/** What failed, in words. */
export const told = (error: unknown): string => (error instanceof Error ? error.message : String(error))
