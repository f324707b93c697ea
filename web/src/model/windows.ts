// How many tokens a model takes, where its maker says so and sessions do not: a measure for the eye, no more.
const KNOWN: [RegExp, number][] = [
  [/\[1m\]/, 1_000_000],
  [/claude-/, 200_000],
  [/gpt-5/, 400_000],
  [/gpt-4\.1/, 1_047_576],
  [/gpt-4o/, 128_000],
  [/\bo[34](-|$)/, 200_000],
  [/gemini-(2|3)/, 1_048_576],
];

// null if it is not known, or if more than that was sent: then it is another kind of the model.
export function usualWindow(model: string | null | undefined, used: number): number | null {
  const limit = model ? (KNOWN.find(([name]) => name.test(model))?.[1] ?? null) : null;
  return limit !== null && used <= limit ? limit : null;
}
