/** Measures the CPU time and memory of exports to files, and compares them with those of a simple script. */
import type { Compression } from '../../src/output/compression.ts';
import type { FigureLine, FigureSection } from '../figures.ts';
import { FileBench, type FileRun, type FileRunFigures, type MessageCorpus, workSeconds } from './file-runs.ts';

/** Results of two exports of the same messages: one without partitions, and one with hourly partitions. */
export type PartitionFigures = readonly FileRunFigures[];

export interface LargeFigures {
  readonly large: readonly FileRunFigures[];
  readonly largePages: readonly FileRunFigures[];
}

const none: Compression = { kind: 'none' };
const gzip1: Compression = { kind: 'gzip', level: 1 };
const gzip6: Compression = { kind: 'gzip', level: 6 };
const zstd3: Compression = { kind: 'zstd', level: 3 };

const comparedRuns: readonly FileRun[] = [none, gzip1, gzip6, zstd3].flatMap((compression) => [
  { way: 'export', format: 'NDJSON', compression } as const,
  { way: 'plain', format: 'NDJSON', compression } as const,
]);
const largeRuns: readonly FileRun[] = [
  { way: 'export', format: 'NDJSON', compression: gzip6 },
  { way: 'export', format: 'NDJSON', compression: zstd3 },
  { way: 'export', format: 'CSV', compression: gzip6 },
  { way: 'export', format: 'Parquet', compression: zstd3 },
];
const largePageRuns: readonly FileRun[] = [
  { way: 'export', format: 'NDJSON', compression: none },
  { way: 'export', format: 'NDJSON', compression: gzip6 },
  { way: 'export', format: 'Parquet', compression: zstd3 },
];

const partitionRuns: readonly FileRun[] = [
  { way: 'export', format: 'NDJSON', compression: gzip1 },
  { way: 'export', format: 'NDJSON', compression: gzip1, partitionBy: 'Hour' },
  { way: 'export', format: 'Parquet', compression: zstd3 },
  { way: 'export', format: 'Parquet', compression: zstd3, partitionBy: 'Hour' },
];
/** Minimum speed of an export with partitions, as a fraction of the speed of an export without partitions. */
const minPartitionedRatio = 0.95;

/**
 * Messages to export. Their numbers are not round, because a round number of results can indicate a hidden limit of the
 * service. If a search finds exactly 100,000 messages, for example, the export searches again (E4).
 */
const compared: MessageCorpus = { messages: 1_000_017, kind: 'packedAsLogs' };
const lessCompared: MessageCorpus = { messages: 300_017, kind: 'packedAsLogs' };
const large: MessageCorpus = { messages: 10_000_017, kind: { madeUpBytes: 900 } };
const lessLarge: MessageCorpus = { messages: 300_017, kind: { madeUpBytes: 900 } };
/** Messages of 10 KB each. A page of ten thousand of them takes up 100 MB. */
const largePages: MessageCorpus = { messages: 100_017, kind: { madeUpBytes: 10_000 } };
const repetitions = 3;

/** Minimum speed of logfleet for each compression setting, as a multiple of the speed of a simple script. */
const minTimes = new Map<Compression, number>([
  [none, 4],
  [gzip1, 3],
  [gzip6, 1.7],
]);
const maxResidentMb = 150;

/** Compares logfleet's exports with a simple export script. The script runs immediately after each export. */
export function compareFiles(quick: boolean): Promise<readonly FileRunFigures[]> {
  return measure(quick ? lessCompared : compared, comparedRuns, quick ? 1 : repetitions);
}

export async function measureLarge(quick: boolean): Promise<LargeFigures> {
  return {
    large: await measure(quick ? lessLarge : large, largeRuns, 1),
    largePages: await measure(largePages, largePageRuns, 1),
  };
}

/** Measures exports with hourly partitions. */
export function measurePartitions(quick: boolean): Promise<PartitionFigures> {
  const messages = quick ? 300_017 : 1_000_017;
  return measure({ messages, kind: { madeUpBytes: 900 }, days: 3 }, partitionRuns, quick ? 1 : repetitions);
}

async function measure(corpus: MessageCorpus, runs: readonly FileRun[], times: number): Promise<FileRunFigures[]> {
  const bench = await FileBench.start(corpus);
  try {
    return await bench.best(runs, times);
  } finally {
    await bench.stop();
  }
}

export function comparedSection(figures: readonly FileRunFigures[]): FigureSection {
  return {
    title: `${titleOf(figures)} to files, compared with a simple script`,
    lines: figures.map((one, index) => comparedLine(one, figures[index + 1])),
    notes: [
      'MB of pages per second of CPU time (user and system, all threads, without the CPU time of an export that finds no',
      'messages); MB per second in brackets. The simulator is another process on the same machine. The simple script is fetch, JSON.parse',
      'of the page, JSON.stringify of each message and a node:zlib stream, without counts or a checksum. Best of a few runs.',
    ],
  };
}

export function largeSections(figures: LargeFigures): FigureSection[] {
  return [
    { title: `${titleOf(figures.large)} to files`, lines: figures.large.flatMap(memoryLines), notes: [] },
    {
      title: `${titleOf(figures.largePages)}, in pages of 100 MB, to files`,
      lines: figures.largePages.flatMap(memoryLines),
      notes: ['Memory is the peak of the process, with one memory pool for all threads, as in the image.'],
    },
  ];
}

export function partitionsSection(figures: PartitionFigures): FigureSection {
  const before = (one: FileRunFigures, index: number) => (one.partitionBy ? figures[index - 1] : undefined);
  return {
    title: `${titleOf(figures)} from three days to files, by hour and without partitions`,
    lines: figures.map((one, index) => partitionLine(one, before(one, index))),
    notes: ['MB of pages per second of CPU time; MB per second in brackets. Best of a few runs.'],
  };
}

function partitionLine(one: FileRunFigures, whole: FileRunFigures | undefined): FigureLine {
  const measured = `${speedOf(one)}, files of ${one.filesMb.toFixed(0)} MB, ${one.peakResidentMb.toFixed(0)} MB of memory`;
  if (!whole) return { what: nameOf(one), measured };
  const ratio = workSeconds(whole) / workSeconds(one);
  const what = `${nameOf(one)}, by hour`;
  const target = `>= ${minPartitionedRatio} times`;
  return { what, measured: `${measured}: ${ratio.toFixed(2)} times`, target, met: ratio >= minPartitionedRatio };
}

function titleOf([one]: readonly FileRunFigures[]): string {
  const kilobytes = ((one?.pagesMb ?? 0) * 1e3) / (one?.messages ?? 1);
  return `${one?.messages.toLocaleString('en')} messages of ${kilobytes.toFixed(1)} KB`;
}

function comparedLine(one: FileRunFigures, plain: FileRunFigures | undefined): FigureLine {
  if (one.way === 'plain') {
    return { what: '  simple script', measured: `${speedOf(one)}, ${one.peakResidentMb.toFixed(0)} MB of memory` };
  }
  const times = plain ? workSeconds(plain) / workSeconds(one) : Number.NaN;
  const min = [...minTimes].find(([compression]) => isSame(compression, one.compression))?.[1];
  const measured = `${speedOf(one)}, ${one.peakResidentMb.toFixed(0)} MB of memory: ${times.toFixed(2)} times the simple script`;
  if (min === undefined) return { what: nameOf(one), measured };
  return { what: nameOf(one), measured, target: `>= ${min} times`, met: times >= min };
}

function memoryLines(one: FileRunFigures): FigureLine[] {
  return [
    { what: nameOf(one), measured: `${speedOf(one)}, files of ${one.filesMb.toFixed(0)} MB` },
    {
      what: '  memory',
      measured: `${one.peakResidentMb.toFixed(0)} MB`,
      target: `<= ${maxResidentMb} MB`,
      met: one.peakResidentMb <= maxResidentMb,
    },
  ];
}

function speedOf(one: FileRunFigures): string {
  const { pagesMb, seconds } = one;
  return `${(pagesMb / workSeconds(one)).toFixed(0)} MB (${(pagesMb / seconds).toFixed(0)})`;
}

function nameOf({ format, compression }: FileRunFigures): string {
  const packed = compression.kind === 'none' ? '' : `, ${compression.kind} level ${compression.level}`;
  return `${format}${packed}`;
}

/** Reports whether two compression settings are equal. */
function isSame(left: Compression, right: Compression): boolean {
  return JSON.stringify(left) === JSON.stringify(right);
}
