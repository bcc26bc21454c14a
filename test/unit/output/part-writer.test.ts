/** Tests the writer of a data file: compression, counts, hashes, back-pressure and failures. */
import { createHash } from 'node:crypto';
import { gunzipSync, zstdDecompressSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { readContent } from '../../../src/destination/file-reader.ts';
import { messageColumns } from '../../../src/output/columns.ts';
import type { Compression } from '../../../src/output/compression.ts';
import { NdjsonEncoder } from '../../../src/output/ndjson-encoder.ts';
import { fileForm } from '../../../src/output/output-format.ts';
import { ParquetEncoder, ParquetMemory } from '../../../src/output/parquet-encoder.ts';
import { PartSeries } from '../../../src/output/part-series.ts';
import { type PartOptions, type PartSink, PartWriter } from '../../../src/output/part-writer.ts';
import { KeepingSink, PassingRow, rowWith } from './rows.ts';

const unpacked: Readonly<Record<Compression['kind'], (bytes: Buffer) => Buffer>> = {
  none: (bytes) => bytes,
  gzip: gunzipSync,
  zstd: zstdDecompressSync,
};
const compressions: readonly Compression[] = [
  { kind: 'none' },
  { kind: 'gzip', level: 1 },
  { kind: 'gzip', level: 6 },
  { kind: 'zstd', level: 3 },
];

function optionsFor(sink: PartSink, options: Partial<PartOptions> = {}): PartOptions {
  return {
    encoder: (spool) => new NdjsonEncoder(spool),
    compression: { kind: 'none' },
    open: async () => sink,
    maxPartBytes: Number.POSITIVE_INFINITY,
    ...options,
  };
}

const maxOpenParts = 2;

function seriesOf(optionsOf: (index: number, partition: string) => PartOptions): PartSeries {
  return new PartSeries(optionsOf, maxOpenParts);
}

function text(number: number): string {
  return JSON.stringify({ _messageid: String(number), _raw: `${number} é\n"`.repeat(1 + (number % 300)) });
}

describe.each(compressions)('with $kind $level', (compression) => {
  test('the file has all rows in order, and its SHA-256 and numbers are correct', async () => {
    const sink = new KeepingSink();
    const part = new PartWriter(optionsFor(sink, { compression }));
    const passing = new PassingRow();
    const lines: string[] = [];
    for (let number = 0; number < 3_000; number++) {
      lines.push(`${text(number)}\n`);
      passing.hand(text(number), (row) => part.row(row));
      await part.drained();
    }
    const summary = await part.end();
    expect(unpacked[compression.kind](sink.bytes).equals(Buffer.from(lines.join('')))).toBe(true);
    expect(summary).toEqual({
      rows: 3_000,
      bytes: sink.bytes.length,
      encodedBytes: Buffer.byteLength(lines.join('')),
      sha256: createHash('sha256').update(sink.bytes).digest('hex'),
      misfits: 0,
    });
    expect(sink.calls.filter((call) => call !== 'write')).toEqual(['finish']);
  });

  test('a part without rows is an empty file', async () => {
    const sink = new KeepingSink();
    const { rows } = await new PartWriter(optionsFor(sink, { compression })).end();
    expect(rows).toBe(0);
    expect(unpacked[compression.kind](sink.bytes)).toHaveLength(0);
    expect(sink.calls.at(-1)).toBe('finish');
  });

  test('rows wait for a slow sink, so memory use is limited', async () => {
    const sink = new SlowSink();
    const part = new PartWriter(optionsFor(sink, { compression }));
    let taken = 0;
    // Random letters, which do not compress well.
    const letters = createHash('shake256', { outputLength: 48 * 1024 })
      .update('letters')
      .digest('base64');
    const row = rowWith({ _raw: letters });
    while (part.drained() === undefined) {
      part.row(row);
      taken += row.bytes.length;
      await Promise.resolve();
      expect(taken).toBeLessThan(8 * 2 ** 20);
    }
    const drained = part.drained();
    sink.release();
    await drained;
    await part.end();
    expect(sink.writtenBytes).toBeGreaterThan(0);
  });

  test('every call reports an error of the sink, and the sink is aborted', async () => {
    const sink = new KeepingSink();
    const full = new Error('disk full');
    sink.write = () => Promise.reject(full);
    const part = new PartWriter(optionsFor(sink, { compression }));
    const bring = async () => {
      for (;;) {
        part.row(rowWith({ _raw: createHash('sha512').update(String(part.rows)).digest('hex').repeat(20) }));
        await part.drained();
        await new Promise((resolve) => setImmediate(resolve));
      }
    };
    await expect(bring()).rejects.toBe(full);
    await expect(part.drained()).rejects.toBe(full);
    await expect(part.end()).rejects.toBe(full);
    expect(sink.calls).toEqual(['abort']);
  });

  test('an aborted part is not finished', async () => {
    const sink = new KeepingSink();
    const part = new PartWriter(optionsFor(sink, { compression }));
    for (let number = 0; number < 3_000; number++) part.row(rowWith({ _raw: text(number) }));
    await part.drained();
    await part.abort();
    expect(sink.calls).not.toContain('finish');
    expect(sink.calls.at(-1) ?? 'abort').toBe('abort');
    await expect(part.end()).rejects.toThrow('aborted');
  });

  test('an aborted part ends the wait for its sink, and writes nothing after the write in progress', async () => {
    const sink = new KeepingSink();
    const [begun, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let writes = 0;
    sink.write = () => {
      writes++;
      begun.resolve();
      return released.promise;
    };
    const part = new PartWriter(optionsFor(sink, { compression }));
    const letters = createHash('shake256', { outputLength: 48 * 1024 })
      .update('letters')
      .digest('base64');
    while (part.drained() === undefined) part.row(rowWith({ _raw: letters }));
    const drained = part.drained()?.catch(({ name }: Error) => name);
    await begun.promise;
    const aborted = part.abort();
    await new Promise((resolve) => setImmediate(resolve));
    expect(await Promise.race([drained, 'still waits'])).toBe('AbortError');
    // The sink is aborted only after its current write has ended.
    expect(sink.calls).toEqual([]);
    released.resolve();
    await aborted;
    expect([writes, sink.calls]).toEqual([1, ['abort']]);
  });
});

test('a part fails if its sink cannot be opened', async () => {
  const denied = new Error('access denied');
  const part = new PartWriter(optionsFor(new KeepingSink(), { open: () => Promise.reject(denied) }));
  part.row(rowWith({}));
  await expect(part.end()).rejects.toBe(denied);
});

async function rowsOf(parquet: Buffer): Promise<number> {
  async function* file() {
    yield parquet;
  }
  return (await readContent({ format: 'Parquet', compression: 'None' }, file())).rows;
}

describe('a series of parts', () => {
  test.each(compressions)(
    'with $kind $level begins another part between two rows when one is full',
    async (compression) => {
      const sinks: KeepingSink[] = [];
      const series = seriesOf((index) => {
        const sink = new KeepingSink();
        sinks[index] = sink;
        return optionsFor(sink, { compression, maxPartBytes: 300_000 });
      });
      const lines: string[] = [];
      for (let number = 0; number < 20_000; number++) {
        const row = rowWith({ _raw: createHash('sha512').update(String(number)).digest('base64') });
        lines.push(`${Buffer.from(row.bytes)}\n`);
        series.row(row);
        await series.drained();
      }
      const parts = await series.end();
      const files = sinks.map(({ bytes }) => unpacked[compression.kind](bytes));
      expect(Buffer.concat(files).equals(Buffer.from(lines.join('')))).toBe(true);
      expect(parts.map(({ bytes }) => bytes)).toEqual(sinks.map(({ bytes }) => bytes.length));
      expect(parts.length).toBeGreaterThan(2);
      for (const [index, file] of files.entries()) {
        expect(file.subarray(-1).toString()).toBe('\n');
        expect(parts[index]?.rows).toBe(file.toString().split('\n').length - 1);
      }
      for (const { bytes } of parts.slice(0, -1)) {
        // The size limit applies to an estimate, so a file can be larger than the limit.
        expect(bytes).toBeGreaterThan(150_000);
        expect(bytes).toBeLessThan(600_000);
      }
    },
  );

  test('without compression ends a part at the first row that fills it', async () => {
    const series = seriesOf(() => optionsFor(new KeepingSink(), { maxPartBytes: 10 }));
    for (let number = 0; number < 5; number++) series.row(rowWith({ a: number }));
    expect((await series.end()).map(({ rows, bytes }) => ({ rows, bytes }))).toEqual([
      { rows: 2, bytes: 16 },
      { rows: 2, bytes: 16 },
      { rows: 1, bytes: 8 },
    ]);
  });

  test('of Parquet counts held-back rows, so that no part exceeds its maximum size', async () => {
    const sinks: KeepingSink[] = [];
    const { encoder } = fileForm({ kind: 'parquet', columns: messageColumns([], []) }, { kind: 'none' });
    const series = seriesOf((index) => {
      const sink = new KeepingSink();
      sinks[index] = sink;
      return optionsFor(sink, { encoder, maxPartBytes: 100_000 });
    });
    for (let number = 0; number < 1_000; number++) series.row(rowWith({ _raw: `${number}`.repeat(200) }));
    const parts = await series.end();
    expect(parts.length).toBeGreaterThan(2);
    expect(parts.reduce((sum, { rows }) => sum + rows, 0)).toBe(1_000);
    for (const { bytes } of parts) expect(bytes).toBeLessThan(110_000);
    expect(sinks.map(({ bytes }) => bytes.length)).toEqual(parts.map(({ bytes }) => bytes));
  });

  test('of Parquet ends a part whose footer has become long', async () => {
    const sinks: KeepingSink[] = [];
    const memory = new ParquetMemory(messageColumns([], []));
    const series = seriesOf((index) => {
      sinks[index] = new KeepingSink();
      return {
        ...optionsFor(sinks[index]),
        encoder: (spool) =>
          new ParquetEncoder(spool, memory, { compression: { kind: 'none' }, groupBytes: 1_000, footerBytes: 20_000 }),
      };
    });
    for (let number = 0; number < 2_000; number++)
      series.row(rowWith({ _messageid: String(number), _raw: 'x'.repeat(90) }));
    const parts = await series.end();
    expect(parts.length).toBeGreaterThan(2);
    const rows = await Promise.all(sinks.map(({ bytes }) => rowsOf(bytes)));
    expect(rows).toEqual(parts.map((part) => part.rows));
    expect(rows.reduce((sum, some) => sum + some, 0)).toBe(2_000);
    for (const { bytes } of sinks.slice(0, -1)) expect(bytes.readUInt32LE(bytes.length - 8)).toBeLessThan(24_000);
  });

  test('writes rows of each partition to separate parts, numbered in the order of their first rows', async () => {
    const sinks: KeepingSink[] = [];
    const partitions: string[] = [];
    const series = seriesOf((index, partition) => {
      sinks[index] = new KeepingSink();
      partitions[index] = partition;
      return optionsFor(sinks[index], { compression: { kind: 'gzip', level: 1 }, maxPartBytes: 100_000 });
    });
    const written = new Map<string, string>();
    for (let number = 0; number < 9_000; number++) {
      const hour = `${Math.floor(number / 3_000) - (number % 10 === 0 ? 1 : 0)}`;
      const row = rowWith({ hour, _raw: createHash('sha512').update(String(number)).digest('base64') });
      written.set(hour, `${written.get(hour) ?? ''}${Buffer.from(row.bytes)}\n`);
      series.row(row, hour);
      await series.drained();
    }
    const parts = await series.end();
    expect(parts.length).toBeGreaterThan(4);
    for (const [hour, lines] of written) {
      const own = sinks.filter((_, index) => partitions[index] === hour);
      expect(own.map(({ bytes }) => gunzipSync(bytes).toString()).join('')).toBe(lines);
    }
    const rows = sinks.map(({ bytes }) => gunzipSync(bytes).toString().split('\n').length - 1);
    expect(parts.map((part) => part.rows)).toEqual(rows);
  });

  test('ends the part that has gone longest without a row when too many are open', async () => {
    const sinks: KeepingSink[] = [];
    const partitions: string[] = [];
    const series = seriesOf((index, partition) => {
      sinks[index] = new KeepingSink();
      partitions[index] = partition;
      return optionsFor(sinks[index]);
    });
    const isFinished = (index: number) => sinks[index]?.calls.includes('finish') ?? false;
    for (let hour = 0; hour < maxOpenParts; hour++) series.row(rowWith({ hour }), `${hour}`);
    series.row(rowWith({ hour: 0 }), '0');
    series.row(rowWith({ hour: 'new' }), 'new');
    await expect.poll(() => isFinished(1)).toBe(true);
    expect(sinks.map((_, index) => isFinished(index)).filter(Boolean)).toHaveLength(1);
    series.row(rowWith({ hour: 1 }), '1');
    expect((await series.end()).map(({ rows }) => rows)).toEqual([2, 1, 1, 1]);
    expect(partitions).toEqual(['0', '1', 'new', '1']);
  });

  test('without rows has no part', async () => {
    expect(await seriesOf(() => optionsFor(new KeepingSink())).end()).toEqual([]);
  });

  test('delays the rows of a third part until the first one is finished', async () => {
    const finish = Promise.withResolvers<void>();
    const sinks: KeepingSink[] = [];
    const series = seriesOf((index) => {
      const sink = new KeepingSink();
      if (index === 0) sink.finish = () => finish.promise;
      sinks[index] = sink;
      return optionsFor(sink, { maxPartBytes: 10 });
    });
    for (let number = 0; number < 3; number++) series.row(rowWith({ a: number }));
    expect(series.drained()).toBeUndefined();
    series.row(rowWith({ a: 3 }));
    const drained = series.drained();
    expect(drained).toBeInstanceOf(Promise);
    finish.resolve();
    await drained;
    expect(series.drained()).toBeUndefined();
    series.row(rowWith({ a: 4 }));
    expect((await series.end()).map(({ rows }) => rows)).toEqual([2, 2, 1]);
  });

  test('fails if one of its parts fails, and aborts the others', async () => {
    const broken = new Error('reset');
    const sinks = [new KeepingSink(), new KeepingSink()];
    if (sinks[0]) sinks[0].finish = () => Promise.reject(broken);
    const series = seriesOf((index) => optionsFor(sinks[index] as PartSink, { maxPartBytes: 10 }));
    for (let number = 0; number < 3; number++) series.row(rowWith({ a: number }));
    await expect(series.end()).rejects.toBe(broken);
    expect(sinks[0]?.calls).toEqual(['write', 'abort']);
  });
});

/** File that delays its first write until `release` is called. */
class SlowSink extends KeepingSink {
  writtenBytes = 0;
  readonly #released = Promise.withResolvers<void>();

  release(): void {
    this.#released.resolve();
  }

  override async write(chunk: Uint8Array): Promise<void> {
    await this.#released.promise;
    this.writtenBytes += chunk.length;
  }
}
