export declare const bans: ReadonlyMap<string, ReadonlyMap<string, { readonly rule: string; readonly reason: string }>>
export declare const turnPlaces: ReadonlyArray<RegExp>
