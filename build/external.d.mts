/** What no bundle takes in: native, or asked for only where it is installed. */
export declare const external: Array<string>
