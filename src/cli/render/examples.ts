/** Some examples of many in brackets: ` (web-1, web-2, …)`. */
export function renderExamples(examples: readonly string[], count: number): string {
  if (examples.length === 0) return '';
  return ` (${examples.join(', ')}${count > examples.length ? ', …' : ''})`;
}
