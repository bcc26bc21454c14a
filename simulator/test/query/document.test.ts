/** Tests that docs/query-language.md shows valid queries and correct error messages. */
import { describe, expect, test } from 'vitest';
import { readText } from '../../../test/unit/house/source-file.ts';
import { functionNames } from '../../query/accumulators.ts';
import { parseQuery } from '../../query/query.ts';

const page = readText('docs/query-language.md');

const examples = [...page.matchAll(/^```query\n([\s\S]*?)^```$/gm)].flatMap(([, block = '']) =>
  block.trim().split('\n'),
);

/** Returns the rows of the page's two-column tables. Rows with a cell that contains more than code are omitted. */
function codeRows(): readonly (readonly [string, string])[] {
  const rows = page.matchAll(/^\| `((?:[^`|]|\\\|)+)` \| `((?:[^`|]|\\\|)+)` \|$/gm);
  return [...rows].map(([, left = '', right = '']) => [left.replaceAll('\\|', '|'), right.replaceAll('\\|', '|')]);
}

describe('docs/query-language.md', () => {
  test('has examples of every operator and function', () => {
    expect(examples.length).toBeGreaterThan(15);
    const all = examples.join('\n');
    const operators = ['where', 'parse regex', 'json auto', 'timeslice', 'fields', 'fields -', 'limit', 'sort', 'by'];
    const functions = functionNames.filter((name) => name !== 'min');
    expect([...operators, ...functions].filter((name) => !all.includes(name))).toEqual([]);
  });

  test.each(examples)('%s', (example) => {
    const query = parseQuery(example);
    expect(query.filter.reads).toBeInstanceOf(Set);
  });

  const mistakes = codeRows().filter(([, message]) => /^\d+:\d+: /.test(message));
  test('shows errors', () => {
    expect(mistakes.length).toBeGreaterThan(3);
  });

  test.each(mistakes)('%s has the message %s', (query, message) => {
    expect(() => parseQuery(query)).toThrow(expect.objectContaining({ message }));
  });
});
