/**
 * Measures one way to read message pages, in a separate process. The command `node page-scan.ts '{"reader": …}'` prints
 * the results as a line of JSON.
 */
import { PageScanner } from '../../src/service/pages/page-scanner.ts';
import { megabytesOf, peakResidentMiB } from '../process-figures.ts';
import { GeneratedPage, type GeneratedPageSize } from './message-page.ts';

/**
 * How a page is read:
 * - `rows`: by the operator's page scanner
 * - `parsedRows`: by the page scanner and a JSON parser for each row
 * - `wholePage`: by a JSON parser for the whole page
 * - `streamParser`: by a streaming JSON parser
 */
export type PageReader = 'rows' | 'parsedRows' | 'wholePage' | 'streamParser';

export interface ScanCase extends GeneratedPageSize {
  readonly reader: PageReader;
  /** Number of measured reads, not counting the first read. */
  readonly rounds: number;
}

export interface ScanFigures extends ScanCase {
  readonly rows: number;
  /** Median speed of all reads after the first, in MB/s. `firstMbPerSecond` is the speed of the first read. */
  readonly mbPerSecond: number;
  readonly firstMbPerSecond: number;
  /** Peak memory of the process, in MB. */
  readonly peakResidentMb: number;
}

const readers: Readonly<Record<PageReader, (page: GeneratedPage) => number | Promise<number>>> = {
  rows: (page) => readRows(page, () => {}),
  parsedRows: (page) => readRows(page, (bytes) => JSON.parse(textOf(bytes))),
  wholePage: (page) => JSON.parse(Buffer.concat([...page.chunks()]).toString('utf8')).messages.length,
  streamParser: readStream,
};

function readRows(page: GeneratedPage, take: (bytes: Uint8Array) => void): number {
  const scanner = new PageScanner({ row: ({ bytes }) => take(bytes) });
  for (const chunk of page.chunks()) scanner.write(chunk);
  return scanner.end().rows;
}

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
}

/**
 * Reads a page with a streaming parser. The parser is imported here, so that its memory is not included in the results
 * of the other readers.
 */
async function readStream(page: GeneratedPage): Promise<number> {
  const { JSONParser } = await import('@streamparser/json');
  let rows = 0;
  const parser = new JSONParser({ paths: ['$.messages.*'], keepStack: false });
  parser.onValue = () => {
    rows++;
  };
  for (const chunk of page.chunks()) parser.write(chunk);
  return rows;
}

async function measure(one: ScanCase): Promise<ScanFigures> {
  const page = new GeneratedPage(one);
  let rows = 0;
  const speeds: number[] = [];
  for (let round = 0; round <= one.rounds; round++) {
    const startMs = performance.now();
    rows = await readers[one.reader](page);
    speeds.push(page.bytes / 1_000 / (performance.now() - startMs));
  }
  const [firstMbPerSecond = 0, ...later] = speeds;
  const mbPerSecond = later.sort((left, right) => left - right)[Math.floor(later.length / 2)] ?? firstMbPerSecond;
  return { ...one, rows, mbPerSecond, firstMbPerSecond, peakResidentMb: megabytesOf(peakResidentMiB(process.pid)) };
}

if (import.meta.main) console.log(JSON.stringify(await measure(JSON.parse(process.argv[2] ?? '') as ScanCase)));
