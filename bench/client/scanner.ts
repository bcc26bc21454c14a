/** Measures the page scanner's speed and memory use, and compares them with those of JSON parsers. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { FigureLine, FigureSection } from '../figures.ts';
import { compileCache } from '../process-figures.ts';
import type { ScanCase, ScanFigures } from './page-scan.ts';

const minMbPerSecond = 500;
const maxResidentMb = 80;

const page = { messages: 'line', pageBytes: 100e6, chunkBytes: 65_536 } as const;

const scanCases: readonly Omit<ScanCase, 'rounds'>[] = [
  { ...page, reader: 'rows' },
  { ...page, reader: 'rows', chunkBytes: 16_384 },
  { ...page, reader: 'rows', messages: 'event' },
  { ...page, reader: 'rows', messages: 'long' },
  { ...page, reader: 'parsedRows' },
  { ...page, reader: 'streamParser' },
  { ...page, reader: 'wholePage' },
];

const program = fileURLToPath(new URL('page-scan.ts', import.meta.url));
const run = promisify(execFile);

/** Runs the cases one at a time, so that they do not compete for CPU time. */
export async function measureScanner(quick: boolean): Promise<ScanFigures[]> {
  await scanApart({ ...page, reader: 'rows', pageBytes: 1e6, rounds: 0 });
  const figures: ScanFigures[] = [];
  for (const one of scanCases) {
    const rounds = one.reader === 'rows' ? 9 : 3;
    figures.push(await scanApart({ ...one, rounds: quick ? 3 : rounds }));
  }
  return figures;
}

async function scanApart(one: ScanCase): Promise<ScanFigures> {
  const env = { ...process.env, NODE_COMPILE_CACHE: compileCache };
  const { stdout } = await run(process.execPath, [program, JSON.stringify(one)], { env });
  return JSON.parse(stdout) as ScanFigures;
}

export function scannerSection(figures: readonly ScanFigures[]): FigureSection {
  return {
    title: 'Pages of 100 MB read into rows, one thread',
    lines: figures.flatMap(linesOf),
    notes: [
      'Median speed over several pages in one process, in elapsed time, so other load on the machine matters. The time to create and',
      'transfer the bytes is not included. The target is for row slices: the bytes, id and times of each message, as an export to',
      'NDJSON uses them. A line is a message of 0.9 KB from a web server, an event is a JSON message with an escape every',
      'few bytes, and a long message has 256 KB. Memory is the peak of the process, of which Node itself takes about 50 MB.',
    ],
  };
}

const readerNames: Readonly<Record<ScanCase['reader'], string>> = {
  rows: 'row slices',
  parsedRows: 'row slices, each parsed',
  streamParser: '@streamparser/json',
  wholePage: 'JSON.parse of the page',
};

const messageNames: Readonly<Record<ScanCase['messages'], string>> = {
  line: 'lines',
  event: 'events',
  long: 'long messages',
};

function linesOf({
  reader,
  messages,
  chunkBytes,
  rows,
  mbPerSecond,
  firstMbPerSecond,
  peakResidentMb,
}: ScanFigures): FigureLine[] {
  const what = `${readerNames[reader]}, ${messageNames[messages]}, chunks of ${chunkBytes / 1_024} KB`;
  const speed = `${mbPerSecond.toFixed(0)} MB/s (the first page ${firstMbPerSecond.toFixed(0)})`;
  const memory = `${peakResidentMb.toFixed(0)} MB`;
  if (reader !== 'rows') return [{ what, measured: `${speed}, ${memory}` }];
  return [
    { what, measured: speed, target: `>= ${minMbPerSecond} MB/s`, met: mbPerSecond >= minMbPerSecond && rows > 0 },
    {
      what: '  peak memory',
      measured: memory,
      target: `<= ${maxResidentMb} MB`,
      met: peakResidentMb <= maxResidentMb,
    },
  ];
}
