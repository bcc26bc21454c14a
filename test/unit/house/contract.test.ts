/** Tests that the contract suite covers all client-visible behaviour in docs/service.md. */
import { describe, expect, test } from 'vitest';
import { contractCitations, contractLines, uncitedLines } from './contract-lines.ts';
import { parseSource, readText, sourcesBelow } from './source-file.ts';

/** Sections of docs/service.md that the contract tests do not cover, each with the reason. */
const unseen = {
  '5.6': 'unspecified',
  '6': 'there are no events',
  '9.4': 'unspecified',
};

describe('the contract suite', () => {
  const lines = contractLines(readText('docs/service.md'));
  const suites = sourcesBelow('test/contract').filter(({ path }) => path.endsWith('.test.ts'));
  const fields = sourcesBelow('test/contract').filter(({ path }) => path.endsWith('/page-fields.ts'));
  const citations = contractCitations([...suites, ...fields]);

  test('reads the lines of the contract', () => {
    expect(lines.sections).toEqual(expect.arrayContaining(['1', '2.3', '4.10', '5.3', '7.5', '8', '9.2']));
    expect(lines.sections).not.toContain('4');
    expect(lines.sections).not.toContain('10.1');
    expect(lines.names).toEqual(expect.arrayContaining(['_messageid', 'FORCE PAUSED', 'byReceiptTime', 'osArch']));
    expect(lines.errors).toEqual(expect.arrayContaining(['moved', 'no.query', 'limit.zero', 'collector.not.alive']));
    expect(lines.errors.length).toBeGreaterThanOrEqual(30);
    expect(lines.limits).toContain('request rate');
    expect(lines.limits).toHaveLength(12);
  });

  test('cites each section, member, state, error and limit', () => {
    expect(uncitedLines(lines, citations, Object.keys(unseen))).toEqual([]);
  });

  test('cites no section without observable behaviour', () => {
    expect(Object.keys(unseen).filter((section) => citations.sections.has(section))).toEqual([]);
  });

  test('reports a line that no test cites', () => {
    const page = [
      '## 4 Operations\n\n### 4.1 Create\n\n| member | type |\n| --- | --- |\n| `query` | string |\n',
      '## 5 Authentication\n\n- **5.1** Keys.\n- **5.2** HTTPS.\n',
      '## 7 Errors\n\n| status | identifier |\n| --- | --- |\n| 400 | `no.query` |\n| 400 | `parse.error` |\n',
      '## 8 Limits\n\n| what | figure |\n| --- | --- |\n| rate | 4 |\n| jobs | 200 |\n',
    ].join('\n');
    const suite = parseSource(
      'test/contract/made-up.test.ts',
      "describe('4.1 create', () => { test.each([['no.query']])('400 %s', run); });\n" +
        "testSimulated('rate: the fifth is 429 (5.1, 8)', {}, run); // 5.2, parse.error, query, jobs: 200",
    );
    expect(uncitedLines(contractLines(page), contractCitations([suite]), [])).toEqual([
      'no test cites the section 5.2',
      'no test cites the section 7',
      'no test cites the name query',
      'no test cites the error parse.error',
      'no test cites the limit jobs',
    ]);
  });
});
