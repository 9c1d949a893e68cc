export interface Gateway {
  readonly url: string
  readonly health: unknown
  readonly ready: number
  readonly stop: () => Promise<number | string>
}
export declare const plainEnvironment: () => Record<string, string>
export declare const startGateway: (command: string, home: string, stdio: "ignore" | "inherit") => Promise<Gateway>
