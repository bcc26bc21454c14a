/** Tests how message sizes and times are computed from the columns of a Parquet file. */
import { expect, test } from 'vitest';
import { readContent } from '../../../src/destination/file-reader.ts';
import { messageColumns } from '../../../src/output/columns.ts';
import type { Compression } from '../../../src/output/compression.ts';
import { ParquetEncoder, ParquetMemory } from '../../../src/output/parquet-encoder.ts';
import { encoded } from '../output/rows.ts';

const startMs = 1_788_000_000_000;
const count = 3_000;

function parquet(compression: Compression, names: readonly string[]): Buffer {
  const rows = Array.from({ length: count }, (_, row) =>
    JSON.stringify({ _messagetime: String(startMs + row), _size: String(row % 7), _raw: `message ${row}`.repeat(20) }),
  );
  const set = messageColumns(names, []);
  return encoded(
    (spool) => new ParquetEncoder(spool, new ParquetMemory(set), { compression, groupBytes: 2 ** 16 }),
    rows,
  );
}

async function figuresOf(content: Buffer, sliceMs = Number.POSITIVE_INFINITY) {
  async function* stream() {
    for (let at = 0; at < content.length; at += 10_000) yield content.subarray(at, at + 10_000);
  }
  const { rows, figures } = await readContent({ format: 'Parquet', compression: 'None' }, stream(), sliceMs);
  expect(rows).toBe(count);
  return figures(stream);
}

test.each<Compression>([{ kind: 'none' }, { kind: 'gzip', level: 6 }, { kind: 'zstd', level: 3 }])(
  'figures are computed from all row groups, compressed with $kind',
  async (compression) => {
    const figures = await figuresOf(parquet(compression, []), 1_000);
    expect(figures).toMatchObject({ bytes: 8_994, oldestMs: startMs, newestMs: startMs + count - 1 });
    expect(figures.slices?.map(({ rows }) => rows)).toEqual([1_000, 1_000, 1_000]);
  },
);

test('figures are absent for columns that the file does not have', async () => {
  expect(await figuresOf(parquet({ kind: 'none' }, ['_raw', '_size']))).toEqual({ bytes: 8_994 });
  expect(await figuresOf(parquet({ kind: 'none' }, ['_raw']))).toEqual({});
});

test('reading the figures of a damaged file fails', async () => {
  const file = parquet({ kind: 'zstd', level: 3 }, []);
  await expect(figuresOf(Buffer.concat([Buffer.alloc(5_000), file.subarray(5_000)]))).rejects.toThrow();
});
