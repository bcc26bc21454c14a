/** Tests the text of a `validate` finding: file position, field, problem and remedy. */
import { expect, test } from 'vitest';
import {
  error,
  fileError,
  type PlacedFinding,
  placeFinding,
  renderFinding,
  warning,
} from '../../../src/api/finding.ts';

const document = { locate: () => ({ line: 3, column: 5 }) };

test.each<[PlacedFinding, string]>([
  [
    placeFinding(
      'a.yaml',
      document,
      error(['spec', 'query'], 'Required', { problem: 'is missing', remedy: 'add, for example, query: error' }),
    ),
    'a.yaml:3:5: spec.query: is missing; add, for example, query: error',
  ],
  [
    placeFinding(
      'a.yaml',
      document,
      warning(['spec', 'stages', 0], 'Risky', { problem: 'has no soak', remedy: 'use soakDuration', subject: 'key' }),
    ),
    'a.yaml:3:5: spec.stages[0]: warning: has no soak; use soakDuration',
  ],
  [fileError('a.yaml', 'Unreadable', 'the file is empty', 'delete it'), 'a.yaml:1:1: the file is empty; delete it'],
  [
    placeFinding(
      'a.yaml',
      document,
      error(['spec', 'a\n::warning::\u001b[2J'], 'Unknown', { problem: 'is\r\nunknown', remedy: '' }),
    ),
    'a.yaml:3:5: spec[a ::warning:: [2J]: is unknown',
  ],
  [fileError('a.yaml', 'Unreadable', 'cannot write', ''), 'a.yaml:1:1: cannot write'],
])('%j', (finding, text) => {
  expect(renderFinding(finding)).toBe(text);
});
