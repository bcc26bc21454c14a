import { expect, test } from 'vitest';
import type { CommitRecord } from '../../../src/destination/commit-record.ts';
import { figuresOf } from '../../../src/destination/digest-verdict.ts';
import { isProofOf } from '../../../src/destination/manifest-check.ts';
import type { ProofRange } from '../../../src/destination/proof-range.ts';

function record(fromMs: number, toMs: number, incomplete?: CommitRecord['incomplete']): CommitRecord {
  const figures = { received: 0, written: 0, outside: 0, duplicates: 0, left: 0 };
  const count = { rows: 0, source: 'Job' } as const;
  return { segment: 0, fromMs, toMs, ...figures, count, files: [], ...(incomplete && { incomplete }) };
}

function proofOf(level: ProofRange['level'], ...records: readonly CommitRecord[]): ProofRange {
  const [first, last] = [records[0] as CommitRecord, records.at(-1) as CommitRecord];
  return { fromMs: first.fromMs, toMs: last.toMs, level, figures: figuresOf(records), compared: [] };
}

const [older, newer] = [record(0, 100), record(100, 200)];
const incomplete = record(100, 200, { reason: 'CountDiffers' });

test.each<[string, readonly ProofRange[], readonly CommitRecord[], boolean]>([
  ['covers all intervals', [proofOf('Search', older, newer)], [older, newer], true],
  ['lacks the last interval', [proofOf('Search', older)], [older, newer], false],
  ['calls an incomplete interval complete', [proofOf('Search', older, incomplete)], [older, incomplete], false],
  ['shows an incomplete interval', [proofOf('Search', older), proofOf('None', incomplete)], [older, incomplete], true],
])('compares a proof that %s with the intervals of the manifest', (_, proof, intervals, isValid) => {
  expect(isProofOf(proof, intervals)).toBe(isValid);
});
