/** Some of many, named: ` (web-1, web-2, …)`. In brackets, since what stands before may end in any character. */
export function renderExamples(examples: readonly string[], count: number): string {
  if (examples.length === 0) return '';
  return ` (${examples.join(', ')}${count > examples.length ? ', …' : ''})`;
}
