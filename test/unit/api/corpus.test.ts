import { describe, expect, test } from 'vitest';
import { checkCredentialsSecret } from '../../../src/account/secret-check.ts';
import { renderExplanation } from '../../../src/api/finding.ts';
import { kindNames } from '../../../src/api/kinds.ts';
import { checkManifests } from '../../../src/api/manifest-set.ts';
import { schemas } from '../../../src/api/schemas.ts';
import type { StructuralSchema } from '../../../src/base/structural-schema.ts';
import { readCorpus } from '../../corpus/corpus.ts';

const render = (file: string, text: string) =>
  checkManifests([{ name: file, text }], checkCredentialsSecret).findings.map((finding) => {
    const { line, column, path, severity } = finding;
    return `${line}:${column} ${severity === 'warning' ? 'warning: ' : ''}${path ? `${path}: ` : ''}${renderExplanation(finding)}`;
  });

describe('good manifests of the corpus', () => {
  test.each(readCorpus('good'))('$file has exactly the expected findings', ({ file, text, expectations }) => {
    const expected = expectations.map(({ line, column, text: said }) =>
      expect.stringContaining(`${line}:${column} ${said}`),
    );
    expect(render(file, text)).toEqual(expected);
    expect(expectations.filter(({ text: said }) => !said.startsWith('warning: '))).toEqual([]);
  });
});

describe('bad manifests of the corpus', () => {
  test.each(readCorpus('bad'))('$file has the expected errors', ({ file, text, expectations }) => {
    expect(expectations).not.toEqual([]);
    const findings = render(file, text);
    expect(findings.filter((finding) => !finding.includes('warning: '))).toHaveLength(expectations.length);
    for (const { line, column, text: expected } of expectations) {
      expect(findings.filter((finding) => finding.startsWith(`${line}:${column} `))).toContainEqual(
        expect.stringContaining(expected),
      );
    }
  });

  test('every finding has a problem and a remedy', () => {
    const findings = readCorpus('bad').flatMap(
      ({ file, text }) => checkManifests([{ name: file, text }], checkCredentialsSecret).findings,
    );
    expect(findings.filter(({ problem }) => problem === '' || /\b(?:use|write)\b/.test(problem))).toEqual([]);
    const verbs =
      'use|set|also set|leave|add|create|define|did you mean|keep|make|move|put|reduce|remove|replace|split|write';
    const form = new RegExp(`^(?:${verbs}|the known keys are)\\b`);
    expect(findings.filter(({ remedy }) => !form.test(remedy))).toEqual([]);
  });

  test.each(kindNames)('the manifests contain an invalid value for every field of a %s', (kind) => {
    const refused = readCorpus('bad')
      .filter((manifest) => manifest.kind === kind)
      .flatMap(({ file, text }) =>
        checkManifests([{ name: file, text }], checkCredentialsSecret).findings.map(({ path }) =>
          path.replaceAll(/\[\d+\]/g, ''),
        ),
      );
    const { spec } = schemas[kind].properties ?? {};
    // Skips fields that repeat other fields: `exclude` has the fields of `selector`, and a template has the fields of
    // an export.
    const copied = /^spec\.(exclude|template\.spec)\./;
    const fields = fieldsOf(spec ?? {}, 'spec').filter((path) => !copied.test(path));
    expect(fields.length).toBeGreaterThan(10);
    expect(fields.filter((path) => !refused.includes(path))).toEqual([]);
  });
});

function fieldsOf(schema: StructuralSchema, path: string): string[] {
  if (schema.items) return [path, ...fieldsOf(schema.items, path).slice(1)];
  const members = Object.entries(schema.properties ?? {});
  return [path, ...members.flatMap(([name, member]) => fieldsOf(member, `${path}.${name}`))];
}
