// Types that say nothing, and comments that silence the compiler.
export const loose: any = 1 // expect: no-explicit-any
export const cast = 1 as any // expect: no-explicit-any
// expect-next: ban-ts-comment
// @ts-ignore
export const wrong: string = 1
// expect-next: ban-ts-comment
// @ts-expect-error
export const unexplained: string = 1
