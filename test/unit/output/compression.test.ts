/**
 * Tests the compression of files whose data arrives in chunks. The same data must always be compressed to the same
 * bytes.
 */
import { createHook } from 'node:async_hooks';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import {
  constants,
  crc32,
  createInflateRaw,
  deflateRawSync,
  gunzipSync,
  gzipSync,
  zstdDecompressSync,
} from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { type Compression, packerOf } from '../../../src/output/compression.ts';

const levels = Array.from({ length: 9 }, (_, index): Compression => ({ kind: 'gzip', level: index + 1 }));
const compressions: readonly Compression[] = [...levels, { kind: 'zstd', level: 3 }, { kind: 'none' }];

/** Returns text that compresses as well as real logs, because words occur many times, and ids only once. */
function logText(bytes: number): Buffer {
  const lines: string[] = [];
  for (let [line, length] = [0, 0]; length < bytes; line++) {
    const id = createHash('md5').update(String(line)).digest('hex');
    lines.push(`2026-11-01T00:00:00Z host-${line % 7} GET /api/v1/items/${id} status=200 agent=Mozilla/5.0\n`);
    length += lines.at(-1)?.length ?? 0;
  }
  return Buffer.from(lines.join('')).subarray(0, bytes);
}

function chunksOf(content: Buffer, sizes: readonly number[]): Buffer[] {
  let at = 0;
  return sizes.map((size) => {
    at += size;
    return content.subarray(at - size, at);
  });
}

/**
 * Compresses the chunks into one file. Overwrites each chunk's memory after it has been compressed, as real callers
 * might.
 */
async function pack(compression: Compression, chunks: readonly Buffer[]): Promise<Buffer> {
  const packer = packerOf(compression);
  const running: Promise<readonly Uint8Array[]>[] = [];
  const packed: Uint8Array[] = [];
  for (const chunk of chunks) {
    const memory = Buffer.from(chunk);
    running.push(packer.pack(memory).then((bytes) => bytes.map((each) => Uint8Array.from(each))));
    void running.at(-1)?.then(() => memory.fill(0));
    if (running.length === packer.parallel) packed.push(...((await running.shift()) ?? []));
  }
  for (const bytes of running) packed.push(...(await bytes));
  packed.push(...(await packer.end()));
  packer.close();
  return Buffer.concat(packed);
}

function unpacked({ kind }: Compression, bytes: Buffer): Buffer {
  if (kind === 'none') return bytes;
  return kind === 'gzip' ? gunzipSync(bytes) : zstdDecompressSync(bytes);
}

const sizes = [512 * 1024, 700_000, 1, 100, 40_000, 512 * 1024, 3];
const content = logText(sizes.reduce((sum, size) => sum + size, 0));
const chunks = chunksOf(content, sizes);

describe.each(compressions)('$kind $level', (compression) => {
  test('keeps the content of chunks of any size', async () => {
    expect(unpacked(compression, await pack(compression, chunks)).equals(content)).toBe(true);
  });

  test('keeps the content of chunks that do not compress', async () => {
    const random = createHash('shake256', { outputLength: 1_500_000 }).update('random').digest();
    const pieces = chunksOf(random, [512 * 1024, 512 * 1024, 1_500_000 - 1024 * 1024]);
    const file = await pack(compression, pieces);
    expect(unpacked(compression, file).equals(random)).toBe(true);
    // Compressing another file in between must not change the compressed bytes of the first content.
    await pack(compression, chunks);
    expect((await pack(compression, pieces)).equals(file)).toBe(true);
  });

  test('makes a readable file without content', async () => {
    expect(unpacked(compression, await pack(compression, []))).toHaveLength(0);
  });

  test('makes the same bytes each time', async () => {
    expect((await pack(compression, chunks)).equals(await pack(compression, chunks))).toBe(true);
  });
});

describe.each(levels)('gzip $level', (compression) => {
  test('is a single member with the CRC and the length of the content', async () => {
    const file = await pack(compression, chunks);
    const inflate = createInflateRaw();
    const body = await new Promise<Buffer>((resolve, reject) => {
      const pieces: Buffer[] = [];
      inflate.on('data', (bytes: Buffer) => pieces.push(bytes)).on('error', reject);
      inflate.on('end', () => resolve(Buffer.concat(pieces))).end(file.subarray(10));
    });
    expect(body.equals(content)).toBe(true);
    expect(inflate.bytesWritten).toBe(file.length - 10 - 8);
    expect(file.readUInt32LE(file.length - 8)).toBe(crc32(content));
    expect(file.readUInt32LE(file.length - 4)).toBe(content.length);
  });

  test('is at most 2 % larger than a file that is compressed as a whole', async () => {
    const level = compression.kind === 'gzip' ? compression.level : 0;
    const usual = logText(2 * 1024 * 1024);
    const file = await pack(compression, chunksOf(usual, Array(4).fill(512 * 1024)));
    expect(file.length).toBeLessThan(1.02 * gzipSync(usual, { level, memLevel: constants.Z_MAX_MEMLEVEL }).length);
  });
});

// The test reads the memory size of its process from a file that exists only on Linux.
describe.runIf(process.platform === 'linux').each([9, 12, 15, 19])('zstd %i', (level) => {
  test('takes a few MiB of memory for each open file', async () => {
    const allocatedMiB = () => Number(/VmData:\s+(\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]) / 1024;
    const before = allocatedMiB();
    const packers = Array.from({ length: 8 }, () => packerOf({ kind: 'zstd', level }));
    for (const packer of packers) await packer.pack(Buffer.alloc(1));
    const perFile = (allocatedMiB() - before) / packers.length;
    for (const packer of packers) packer.close();
    expect(perFile).toBeLessThan(12);
  });
});

test('gzip starts to compress a chunk before the previous chunk is compressed', async () => {
  const packer = packerOf({ kind: 'gzip', level: 1 });
  const started: string[] = [];
  const hook = createHook({ init: (_id, type) => void started.push(type) }).enable();
  const running = chunksOf(content, [1_000, 1_000]).map((chunk) => packer.pack(chunk));
  hook.disable();
  expect([packer.parallel, started.filter((type) => type === 'ZLIB').length]).toEqual([2, 2]);
  await Promise.all(running);
});

test('gzip compresses a chunk to the same bytes, wherever an output buffer ends', async () => {
  const bufferBytes = 128 * 1024;
  const deflated = (bytes: Uint8Array, chunkSize: number) =>
    deflateRawSync(bytes, { level: 1, memLevel: 9, chunkSize, finishFlush: constants.Z_FULL_FLUSH });
  const data = createHash('shake256', { outputLength: bufferBytes }).update('a').digest();
  let repeated = 0;
  // Compression makes random data about 130 bytes longer, so these chunks end before, at and after the end of an output
  // buffer.
  for (let fewer = 0; fewer < 300; fewer += 3) {
    const chunk = data.subarray(fewer);
    const expected = deflated(chunk, 2 * bufferBytes);
    if (deflated(chunk, bufferBytes).length > expected.length) repeated++;
    const packer = packerOf({ kind: 'gzip', level: 1 });
    expect((await packer.pack(chunk)).at(-1)).toEqual(expected);
  }
  // The chunks must include some for which zlib itself writes a flush marker twice.
  expect(repeated).toBeGreaterThan(0);
});
