/** Measures how many page bytes are converted per second of CPU time, and the memory, compared with simple user code. */

import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Compression } from '../../src/output/compression.ts';
import type { Line, Section } from '../figures.ts';
import { compileCache } from '../process-figures.ts';
import type { EncodeCase, EncodeFigures } from './encode-case.ts';

const mostResidentMb = 150;

const none: Compression = { kind: 'none' };
const gzip1: Compression = { kind: 'gzip', level: 1 };
const gzip6: Compression = { kind: 'gzip', level: 6 };
const zstd3: Compression = { kind: 'zstd', level: 3 };
const ndjson = { format: 'ndjson', fields: [] } as const;

/** Benchmark cases. Each case of simple user code comes directly after the case with which it is compared. */
const encodeCases: readonly Omit<EncodeCase, 'pages'>[] = [
  ...[none, gzip1, gzip6, zstd3].flatMap((compression) => [
    { ...ndjson, way: 'export', compression } as const,
    { ...ndjson, way: 'plain', compression } as const,
  ]),
  { way: 'export', format: 'ndjson', fields: ['_messagetime', '_sourceHost', '_raw'], compression: none },
  { way: 'export', format: 'csv', fields: [], compression: none },
  { way: 'export', format: 'csv', fields: [], compression: gzip1 },
  { way: 'export', format: 'parquet', fields: [], compression: none },
  { way: 'export', format: 'parquet', fields: [], compression: zstd3 },
];

const levels = [1, 2, 3, 4, 5, 6, 7, 8, 9] as const;
/** Cases of messages of 0.9 KB and 10 KB with each level of gzip, and with the lower levels of zstd. */
const levelCases: readonly Omit<EncodeCase, 'pages'>[] = [1, 20].flatMap((linesOfMessage) =>
  (['gzip', 'zstd'] as const).flatMap((kind) =>
    levels.map((level) => ({ ...ndjson, way: 'export', compression: { kind, level }, linesOfMessage }) as const),
  ),
);

const program = fileURLToPath(new URL('encode-case.ts', import.meta.url));
const run = promisify(execFile);

/** Runs the benchmark cases one after the other, so that they do not compete for CPU time. */
export function measureEncoding(quick: boolean): Promise<EncodeFigures[]> {
  return measureCases(encodeCases, quick ? 10 : 60);
}

/** Measures the speed and the ratio of each level of compression. */
export function measureLevels(quick: boolean): Promise<EncodeFigures[]> {
  return measureCases(levelCases, quick ? 3 : 10);
}

async function measureCases(cases: readonly Omit<EncodeCase, 'pages'>[], pages: number): Promise<EncodeFigures[]> {
  const figures: EncodeFigures[] = [];
  for (const one of cases) {
    // The first process only fills the compile cache.
    if (figures.length === 0) await encodeApart({ ...one, pages: 1 });
    figures.push(await encodeApart({ ...one, pages }));
  }
  return figures;
}

async function encodeApart(one: EncodeCase): Promise<EncodeFigures> {
  const env = { ...process.env, NODE_COMPILE_CACHE: compileCache };
  const { stdout } = await run(process.execPath, [program, JSON.stringify(one)], { env });
  return JSON.parse(stdout) as EncodeFigures;
}

export function encodingSection(figures: readonly EncodeFigures[]): Section {
  return {
    title: 'Conversion of pages of messages into the bytes of files, in memory',
    lines: figures.flatMap((one, index) => linesOf(one, figures[index - 1])),
    notes: [
      'MB of pages per second of processor time, all threads; in brackets MB per second. A page has 10,000 messages of 0.9 KB. The',
      'process holds one page (9 MB). Only scanner, encoder, compression and SHA-256 are measured, without connection and disk.',
      'Simple user code is JSON.parse of the page, JSON.stringify of each message and a stream of node:zlib, without a checksum.',
    ],
  };
}

export function levelsSection(figures: readonly EncodeFigures[]): Section {
  return {
    title: 'Levels of compression of NDJSON, in memory',
    lines: figures.map((one) => ({
      what: `${one.linesOfMessage === 1 ? '0.9' : '10'} KB, ${nameOf(one)}`,
      measured: `${one.mbPerProcessorSecond.toFixed(0)} MB, files of ${(100 * one.share).toFixed(1)} % of the pages`,
    })),
    notes: ['MB of pages per second of processor time, all threads.'],
  };
}

function linesOf(one: EncodeFigures, before: EncodeFigures | undefined): Line[] {
  const { way, mbPerSecond, mbPerProcessorSecond, peakResidentMb } = one;
  const speed = `${mbPerProcessorSecond.toFixed(0)} MB (${mbPerSecond.toFixed(0)})`;
  const memory = `${peakResidentMb.toFixed(0)} MB of memory`;
  if (way === 'plain') {
    const times = ((before?.mbPerProcessorSecond ?? Number.NaN) / mbPerProcessorSecond).toFixed(1);
    return [{ what: '  simple user code', measured: `${speed}, ${memory}: the export has ${times} times as many` }];
  }
  return [
    {
      what: nameOf(one),
      measured: `${speed}, ${memory}`,
      target: `<= ${mostResidentMb} MB`,
      met: peakResidentMb <= mostResidentMb,
    },
  ];
}

const formatNames: Readonly<Record<EncodeCase['format'], string>> = {
  ndjson: 'NDJSON',
  csv: 'CSV',
  parquet: 'Parquet',
};

function nameOf({ format, fields, compression }: EncodeCase): string {
  const chosen = fields.length > 0 ? ` of ${fields.length} fields` : '';
  const packed = compression.kind === 'none' ? '' : `, ${compression.kind} level ${compression.level}`;
  return `${formatNames[format]}${chosen}${packed}`;
}
