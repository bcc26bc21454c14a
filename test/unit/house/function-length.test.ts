/**
 * Tests that the functions in `src` are short: none may have more than 50 lines. Biome's rule
 * `noExcessiveLinesPerFunction` would miss some functions, because it does not count lines that begin with a brace, or
 * the lines of a template literal.
 */
import { expect, test } from 'vitest';
import { type ParsedSourceFile, parseSource, pathsBelow, readText, type SyntaxNode } from './source-file.ts';

/** Maximum number of lines in a function, from its first line to its last. */
const maxLines = 50;
/** Maximum median and 90th percentile of the number of lines per function. */
const shortLines = { median: 6, ninetiethPercentile: 17 };
const functionTypes = new Set(['FunctionDeclaration', 'FunctionExpression', 'ArrowFunctionExpression']);
/** Types of syntax tree nodes that contain a function and its name. The lines with the name are counted, too. */
const namingTypes = new Set(['MethodDefinition', 'Property']);

interface MeasuredFunction {
  /** File and first line, such as `src/base/clock.ts:12`. */
  readonly place: string;
  readonly lines: number;
}

/** Returns all functions, methods, accessors and arrow functions in a file, each with its length in lines. */
function functionsOf(source: ParsedSourceFile): readonly MeasuredFunction[] {
  const found: MeasuredFunction[] = [];
  source.walk((node, ancestors) => {
    if (!functionTypes.has(node.type)) return;
    const parent = ancestors.at(-1);
    const whole = parent && namingTypes.has(parent.type) ? parent : node;
    found.push({ place: `${source.path}:${source.lineOf(whole)}`, lines: linesOf(source, whole) });
  });
  return found;
}

function linesOf({ text }: ParsedSourceFile, { start, end }: SyntaxNode): number {
  return text.slice(start, Number(end)).split('\n').length;
}

test('counts the lines of functions, methods and arrow functions', () => {
  const text = `function first() {
  return [1].map(
    (n) => n,
  );
}
class Second {
  third(
    n: number,
  ) {
    return n;
  }
}
`;
  expect(functionsOf(parseSource('example.ts', text))).toEqual([
    { place: 'example.ts:1', lines: 5 },
    { place: 'example.ts:3', lines: 1 },
    { place: 'example.ts:7', lines: 5 },
  ]);
});

const paths = [...pathsBelow('src', '.ts'), ...pathsBelow('src', '.tsx')].filter((p) => !p.includes('/generated/'));
const functions = paths.flatMap((path) => functionsOf(parseSource(path, readText(path))));

test(`no function has more than ${maxLines} lines`, () => {
  expect(functions.length).toBeGreaterThan(1_000);
  expect(functions.filter(({ lines }) => lines > maxLines)).toEqual([]);
});

test('most functions are short', () => {
  const lines = functions.map((measured) => measured.lines).sort((a, b) => a - b);
  const quantile = (ratio: number) => lines[Math.floor(lines.length * ratio)];
  expect(quantile(0.5)).toBeLessThanOrEqual(shortLines.median);
  expect(quantile(0.9)).toBeLessThanOrEqual(shortLines.ninetiethPercentile);
});
