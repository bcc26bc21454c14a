/** Tests that `logfleet verify` reports damaged data files. */
import { gzipSync, zstdCompressSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readContent } from '../../../src/destination/file-reader.ts';

async function* inChunks(file: Uint8Array): AsyncIterable<Uint8Array> {
  for (let start = 0; start < file.length; start += 1_000) yield file.subarray(start, start + 1_000);
}

async function parquetRows(file: Uint8Array): Promise<number> {
  return (await readContent({ format: 'Parquet', compression: 'None' }, inChunks(file))).rows;
}

/** Returns the size in bytes of the heap and of all buffers. */
function usedMemory(): number {
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

describe('a damaged file is reported', () => {
  const text = '{"row":"0123456789"}\n'.repeat(5_000);

  test.each([
    ['gzip that ends early', 'Gzip', gzipSync(text).subarray(0, -9)],
    ['a file that is not gzip', 'Gzip', Buffer.from(text)],
    ['a file that is not zstd', 'Zstd', Buffer.from(text)],
    ['zstd that ends early', 'Zstd', zstdCompressSync(text).subarray(0, -3)],
  ] as const)('%s', async (_, compression, content) => {
    await expect(readContent({ format: 'NDJSON', compression }, inChunks(content))).rejects.toThrow();
  });

  test('CSV that ends inside quotes', async () => {
    const content = inChunks(Buffer.from('a\r\n"b'));
    await expect(readContent({ format: 'CSV', compression: 'None' }, content)).rejects.toThrow('inside of quotes');
  });

  test.each(['NDJSON', 'CSV'] as const)('%s with an endless row, which is not kept in more memory', async (format) => {
    const usedAtStart = usedMemory();
    let used = 0;
    async function* endless() {
      for (const chunk = Buffer.alloc(2 ** 22, 'a'); ; used = Math.max(used, usedMemory())) yield chunk;
    }
    await expect(readContent({ format, compression: 'None' }, endless())).rejects.toThrow(
      'a row has more than 134217728 bytes',
    );
    expect(used - usedAtStart).toBeLessThan(5 * 2 ** 27);
  });

  test.each([
    ['', 'does not end like a Parquet file'],
    ['PAR1', 'does not end like a Parquet file'],
    ['\xff\xff\xff\xffPAR1', 'footer is too large'],
    ['\x00\x00\x00\x00PAR1', 'is damaged'],
    ['\x00\x01\x00\x00\x00PAR1', 'is damaged'],
    ['\x1f\x01\x00\x00\x00PAR1', 'is damaged'],
  ])('Parquet that ends as %j', async (end, problem) => {
    await expect(parquetRows(Buffer.from(end, 'latin1'))).rejects.toThrow(problem);
  });
});

test('reading a Parquet footer of random bytes ends with a number or an error', async () => {
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ maxLength: 200 }), async (footer) => {
      const length = Buffer.alloc(4);
      length.writeUInt32LE(footer.length);
      let outcome: unknown;
      try {
        outcome = await parquetRows(Buffer.concat([footer, length, Buffer.from('PAR1')]));
      } catch (error) {
        outcome = (error as Error).message;
      }
      expect(['number', 'string']).toContain(typeof outcome);
    }),
    { numRuns: 2_000 },
  );
});
