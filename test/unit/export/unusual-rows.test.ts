/** Tests that an export of unusual rows can be verified, in each file format. */
import { describe, expect, test } from 'vitest';
import { verifyExport } from '../../../src/destination/export-verification.ts';
import { manifestOf, writeManifest } from '../../../src/destination/manifest.ts';
import { plainOutput } from '../../support/export-definition.ts';
import { hour, SearchWorld } from './search-world.ts';

const largest = String(Number.MAX_SAFE_INTEGER);

/** Exports one message for each set of additional fields, and verifies the files. */
async function verified(output: object, fields: readonly Record<string, string>[]) {
  const messages = fields.map((each, index) => ({ at: hour.fromMs + index, raw: 'message', fields: each }));
  const world = new SearchWorld({ messages, request: { output: { ...plainOutput, ...output } } });
  await world.committed();
  const { identity, layout } = world.definition;
  const intervals = await world.records();
  await writeManifest(world.destination, layout, manifestOf(identity, { intervals, remaining: [], strays: [] }));
  return verifyExport(world.destination, layout);
}

describe.each([
  { format: 'NDJSON' },
  { format: 'NDJSON', fields: ['_messagetime', '_size'] },
  { format: 'CSV', compression: 'Gzip' },
  { format: 'NDJSON', fields: ['_Size', '_messagetime', '_size'] },
  { format: 'CSV', fields: ['_messagetime', '_size'] },
  { format: 'CSV', fields: ['_size', '_messagetime', '_Size'] },
  { format: 'Parquet' },
  { format: 'Parquet', fields: ['_size', '_messagetime', '_Size'] },
  { format: 'Parquet', compression: 'Zstd', partitionBy: 'Hour' },
])('%j', (output) => {
  test('sizes whose sum is not exact have no sum', async () => {
    const { differences, recomputed, manifest } = await verified(output, [{ _size: largest }, { _size: largest }]);
    expect(differences).toEqual([]);
    expect(recomputed).toEqual(['oldestMs', 'newestMs']);
    expect(manifest.intervals[0]?.figures).not.toHaveProperty('bytes');
  });

  test('the last of two spellings of a field counts', async () => {
    const { differences, recomputed, manifest } = await verified(output, [
      { _size: '5', _Size: '70' },
      { _messageTime: String(hour.fromMs + 900) },
    ]);
    expect(differences).toEqual([]);
    expect(recomputed).toEqual(['bytes', 'oldestMs', 'newestMs']);
    expect(manifest.intervals[0]?.figures).toEqual({
      bytes: 70 + 'message'.length,
      oldestMs: hour.fromMs,
      newestMs: hour.fromMs + 900,
    });
  });
});
