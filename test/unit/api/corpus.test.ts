import { describe, expect, test } from 'vitest';
import { checkManifests } from '../../../src/api/manifest-set.ts';
import { readCorpus } from '../../corpus/corpus.ts';

const render = (file: string, text: string) =>
  checkManifests([{ name: file, text }]).findings.map(
    ({ position, path, severity, message }) =>
      `${position.line}:${position.column} ${severity === 'warning' ? 'warning: ' : ''}${path ? `${path}: ` : ''}${message}`,
  );

describe('good manifests of the corpus', () => {
  test.each(readCorpus('good'))('$file has nothing against it', ({ file, text }) => {
    expect(render(file, text)).toEqual([]);
  });
});

describe('bad manifests of the corpus', () => {
  test.each(readCorpus('bad'))('$file is refused where and as it says', ({ file, text, expectations }) => {
    expect(expectations).not.toEqual([]);
    const findings = render(file, text);
    expect(findings.filter((finding) => !finding.includes('warning: '))).toHaveLength(expectations.length);
    for (const { line, column, text: expected } of expectations) {
      expect(findings.filter((finding) => finding.startsWith(`${line}:${column} `))).toContainEqual(
        expect.stringContaining(expected),
      );
    }
  });

  test('every message says what to write', () => {
    const messages = readCorpus('bad').flatMap(({ file, text }) => render(file, text));
    expect(messages.filter((message) => !/write|did you mean|leave/.test(message))).toEqual([]);
  });
});
