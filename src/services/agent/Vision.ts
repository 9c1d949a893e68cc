/** Which models see, by their names; whoever knows better sets `media.vision`. Pure. */

const seeing: ReadonlyArray<RegExp> = [
  /claude-(?:3|[a-z]+-[4-9]|[4-9])/,
  /gpt-(?:4o|4\.1|4-turbo|4-vision|[5-9])/,
  /(?:^|[/:])o[134](?:-|$)/,
  /gemini/,
  /llava|bakllava|moondream|pixtral|minicpm-v|internvl|molmo/,
  /qwen[\d.]*-?vl/,
  /llama-?(?:3\.2|4)[^/]*(?:vision|scout|maverick)/,
  /gemma-?3(?!.*1b)/,
  /mistral-(?:small-3|medium-3)/,
  /grok-(?:2-vision|4)|-vision/
]

export const isKnownToSee = (model: string): boolean => {
  const name = model.toLowerCase()
  return seeing.some((pattern) => pattern.test(name)) && !/o1-mini|o3-mini|claude-3-5-haiku/.test(name)
}
