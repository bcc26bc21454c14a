/** Sample export that covers four hours in two segments, with its commit records. */
import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { hourMs } from '../../../src/base/time-units.ts';
import type { CommitRecord } from '../../../src/destination/commit-record.ts';
import { dataFileName } from '../../../src/destination/export-layout.ts';
import type { ExportPlan } from '../../../src/destination/plan-object.ts';
import { definitionOf, plainOutput } from '../../support/export-definition.ts';
import type { MemoryDestination } from '../../support/memory-destination.ts';

export const startMs = Date.UTC(2026, 10, 1);

export const { identity, layout } = definitionOf(
  {
    query: '_sourceCategory=prod/* error',
    timeRange: { from: String(startMs), to: String(startMs + 4 * hourMs) },
    output: { ...plainOutput, compression: 'Gzip', maxPartBytes: 268_435_456 },
  },
  'service.example.com',
);
export const plan: ExportPlan = { boundariesMs: [startMs, startMs + 2 * hourMs, startMs + 4 * hourMs] };

/** Returns a token of a writer, which is part of the names of its files. */
export function tokenOf(pid: number): string {
  return `w0123abcd-${pid}-1-00112233aabbccdd`;
}

/** Returns the commit record of an interval. If the interval has no rows, the record lists no file. */
export function recordOf(
  segment: number,
  fromMs: number,
  toMs: number,
  rows: number,
  writerToken = tokenOf(1),
): { readonly record: CommitRecord; readonly content: Uint8Array | undefined } {
  const text = Array.from({ length: rows }, (_, row) => `{"row":${fromMs + row}}\n`).join('');
  const content = rows === 0 ? undefined : gzipSync(text);
  const files = content && [
    {
      name: dataFileName({ segment, toMs, part: 1, writerToken }, identity.output),
      rows,
      bytes: content.length,
      encodedBytes: text.length,
      misfits: 0,
      sha256: createHash('sha256').update(content).digest('hex'),
    },
  ];
  const figures = { received: rows + 3, written: rows, outside: 0, duplicates: 2, left: 1 };
  return {
    content,
    record: { segment, fromMs, toMs, ...figures, count: { rows: rows + 3, source: 'Job' }, files: files ?? [] },
  };
}

export async function store(
  destination: MemoryDestination,
  { record, content }: ReturnType<typeof recordOf>,
): Promise<CommitRecord> {
  for (const { name } of record.files) destination.objects.set(layout.within(name), content ?? new Uint8Array());
  return record;
}
