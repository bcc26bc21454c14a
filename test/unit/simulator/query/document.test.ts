/** docs/query-language.md: its examples are queries, and its mistakes are told as it says. */
import { describe, expect, test } from 'vitest';
import { functionNames } from '../../../../src/simulator/query/accumulators.ts';
import { parseQuery } from '../../../../src/simulator/query/query.ts';
import { readText } from '../../house/source-file.ts';

const page = readText('docs/query-language.md');

const examples = [...page.matchAll(/^```query\n([\s\S]*?)^```$/gm)].flatMap(([, block = '']) =>
  block.trim().split('\n'),
);

/** Rows of tables whose cells are code. */
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
  test('shows mistakes', () => {
    expect(mistakes.length).toBeGreaterThan(3);
  });

  test.each(mistakes)('%s is told as %s', (query, message) => {
    expect(() => parseQuery(query)).toThrow(expect.objectContaining({ message }));
  });
});
