/**
 * Measures the CPU time and memory needed to convert message pages, and compares them with those of a simple script.
 */
import { execFile } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Compression } from '../../src/output/compression.ts';
import type { FigureLine, FigureSection } from '../figures.ts';
import type { PageKind } from '../log-page.ts';
import { compileCache } from '../process-figures.ts';
import type { EncodeCase, EncodeFigures } from './encode-case.ts';

const maxResidentMb = 150;
/** Target: minimum speed on two processors, as a multiple of the speed on one. */
const minProcessorTimes = 1.7;

/** Results of one conversion on one processor and on all processors. */
export interface ProcessorFigures {
  readonly single: EncodeFigures;
  readonly all: EncodeFigures;
}

const none: Compression = { kind: 'none' };
const gzip1: Compression = { kind: 'gzip', level: 1 };
const gzip5: Compression = { kind: 'gzip', level: 5 };
const gzip6: Compression = { kind: 'gzip', level: 6 };
const zstd3: Compression = { kind: 'zstd', level: 3 };
const messages: PageKind = { lines: 1 };
const ndjson = { format: 'ndjson', fields: [], messages } as const;
const parquet = { format: 'parquet', fields: [], messages } as const;

/**
 * Conversions to measure. Each conversion by logfleet (`export`) to NDJSON or Parquet is followed by the same conversion
 * by a simple script (`plain`), for comparison.
 */
const encodeCases: readonly Omit<EncodeCase, 'pages'>[] = [
  ...[none, gzip1, gzip6, zstd3].flatMap((compression) => [
    { ...ndjson, way: 'export', compression } as const,
    { ...ndjson, way: 'plain', compression } as const,
  ]),
  { way: 'export', format: 'ndjson', fields: ['_messagetime', '_sourceHost', '_raw'], messages, compression: none },
  { way: 'export', format: 'csv', fields: [], messages, compression: none },
  { way: 'export', format: 'csv', fields: [], messages, compression: gzip1 },
  ...[none, gzip6, zstd3].flatMap((compression) => [
    { ...parquet, way: 'export', compression } as const,
    { ...parquet, way: 'plain', compression } as const,
  ]),
];

const levels = [1, 2, 3, 4, 5, 6, 7, 8, 9] as const;
const levelMessages: Readonly<Record<string, PageKind>> = {
  '0.9 KB of a web server': messages,
  '10 KB of a web server': { lines: 20 },
  '0.9 KB, made up': { madeUpBytes: 900 },
  '10 KB, made up': { madeUpBytes: 10_000 },
};
/** Cases in which logfleet converts each kind of message with each compression level. */
const levelCases: readonly Omit<EncodeCase, 'pages'>[] = Object.values(levelMessages).flatMap((kindOfMessages) =>
  (['gzip', 'zstd'] as const).flatMap((kind) =>
    levels.map(
      (level) => ({ ...ndjson, way: 'export', compression: { kind, level }, messages: kindOfMessages }) as const,
    ),
  ),
);

const program = fileURLToPath(new URL('encode-case.ts', import.meta.url));
const run = promisify(execFile);

/** Runs the cases one at a time, so that they do not compete for CPU time. */
export function measureEncoding(quick: boolean): Promise<EncodeFigures[]> {
  return measureCases(encodeCases, quick ? 10 : 60);
}

/** Measures the speed and compression ratio of each compression level. */
export function measureLevels(quick: boolean): Promise<EncodeFigures[]> {
  return measureCases(levelCases, quick ? 3 : 10);
}

/**
 * Measures how fast pages are converted to files with each compression setting, on one processor and on all processors.
 */
export async function measureProcessors(quick: boolean): Promise<ProcessorFigures[]> {
  const figures: ProcessorFigures[] = [];
  for (const compression of [gzip5, gzip6]) {
    const one: EncodeCase = { ...ndjson, messages: { lines: 20 }, way: 'export', compression, pages: quick ? 15 : 60 };
    const single = await encodeApart(one, ['taskset', '--cpu-list', '0', process.execPath]);
    figures.push({ single, all: await encodeApart(one) });
  }
  return figures;
}

async function measureCases(cases: readonly Omit<EncodeCase, 'pages'>[], pages: number): Promise<EncodeFigures[]> {
  const figures: EncodeFigures[] = [];
  for (const one of cases) {
    // The first process is not measured, because it also compiles the code and caches it for the processes after it.
    if (figures.length === 0) await encodeApart({ ...one, pages: 1 });
    figures.push(await encodeApart({ ...one, pages }));
  }
  return figures;
}

async function encodeApart(
  one: EncodeCase,
  [command = '', ...options]: readonly string[] = [process.execPath],
): Promise<EncodeFigures> {
  const env = { ...process.env, NODE_COMPILE_CACHE: compileCache };
  const { stdout } = await run(command, [...options, program, JSON.stringify(one)], { env });
  return JSON.parse(stdout) as EncodeFigures;
}

export function encodingSection(figures: readonly EncodeFigures[]): FigureSection {
  return {
    title: 'Conversion of message pages to the bytes of files, in memory',
    lines: figures.flatMap((one, index) => linesOf(one, figures[index - 1])),
    notes: [
      'MB of pages per second of CPU time, all threads; MB per second in brackets. A page has 10,000 messages of 0.9 KB. The',
      'process holds one page (9 MB). Only the scanner, encoder, compression and SHA-256 are measured, without a connection or disk.',
      'The simple script is JSON.parse of the page, JSON.stringify of each message and a node:zlib stream, without a checksum;',
      'for Parquet, it is JSON.parse of the page and hyparquet-writer, with a row group for each page.',
    ],
  };
}

export function levelsSection(figures: readonly EncodeFigures[]): FigureSection {
  return {
    title: 'Compression levels for NDJSON, in memory',
    lines: figures.map((one, index) => ({
      what: `${Object.keys(levelMessages)[Math.floor((index * Object.keys(levelMessages).length) / figures.length)]}, ${nameOf(one)}`,
      measured: `${one.mbPerProcessorSecond.toFixed(0)} MB, files of ${(100 * one.share).toFixed(1)} % of the pages`,
    })),
    notes: ['MB of pages per second of CPU time, all threads.'],
  };
}

export function processorsSection(figures: readonly ProcessorFigures[]): FigureSection {
  return {
    title: `Messages of 10 KB, with one processor and with ${availableParallelism()}`,
    lines: figures.map(({ single, all }) => {
      const times = all.mbPerSecond / single.mbPerSecond;
      const measured = `${single.mbPerSecond.toFixed(0)} MB/s and ${all.mbPerSecond.toFixed(0)} MB/s: ${times.toFixed(2)} times`;
      return {
        what: nameOf(single),
        measured,
        target: `>= ${minProcessorTimes} times`,
        met: times >= minProcessorTimes,
      };
    }),
    notes: ['MB of pages per second, in memory. The figures need an idle machine.'],
  };
}

function linesOf(one: EncodeFigures, before: EncodeFigures | undefined): FigureLine[] {
  const { way, mbPerSecond, mbPerProcessorSecond, peakResidentMb } = one;
  const speed = `${mbPerProcessorSecond.toFixed(0)} MB (${mbPerSecond.toFixed(0)})`;
  const memory = `${peakResidentMb.toFixed(0)} MB of memory`;
  if (way === 'plain') {
    const times = ((before?.mbPerProcessorSecond ?? Number.NaN) / mbPerProcessorSecond).toFixed(1);
    return [{ what: '  simple script', measured: `${speed}, ${memory}: logfleet is ${times} times as fast` }];
  }
  return [
    {
      what: nameOf(one),
      measured: `${speed}, ${memory}`,
      target: `<= ${maxResidentMb} MB`,
      met: peakResidentMb <= maxResidentMb,
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
