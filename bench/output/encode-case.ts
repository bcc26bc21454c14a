/**
 * Measures one conversion of message pages to a file, without a disk or network. CPU time covers all threads. The
 * command `node encode-case.ts '{"way": …}'` prints the results as a line of JSON.
 */
import { Writable } from 'node:stream';
import { keepHeapSmall } from '../../src/base/heap.ts';
import { messageColumns } from '../../src/output/columns.ts';
import type { Compression } from '../../src/output/compression.ts';
import { fileForm, type OutputFormat } from '../../src/output/output-format.ts';
import { type PartSink, PartWriter } from '../../src/output/part-writer.ts';
import { PageScanner } from '../../src/service/pages/page-scanner.ts';
import { PlainExport } from '../export/plain-export.ts';
import { LogPage, type PageKind } from '../log-page.ts';
import { megabytesOf, peakResidentMiB } from '../process-figures.ts';
import { writePlainParquet } from './plain-parquet.ts';

export interface EncodeCase {
  /**
   * Program that converts the messages: the operator's code, or a simple script (`plain`), which supports only NDJSON
   * and Parquet.
   */
  readonly way: 'export' | 'plain';
  readonly format: OutputFormat['kind'];
  /** Names of the exported message fields. If the list is empty, all fields are exported. */
  readonly fields: readonly string[];
  readonly compression: Compression;
  readonly messages: PageKind;
  /** Number of measured pages. One more page is converted first, as a warm-up. */
  readonly pages: number;
}

export interface EncodeFigures extends EncodeCase {
  /**
   * Conversion speed, in MB of pages per second of real time. `mbPerProcessorSecond` is the speed per second of CPU
   * time.
   */
  readonly mbPerSecond: number;
  readonly mbPerProcessorSecond: number;
  /** Size of the file, as a fraction of the size of the pages. */
  readonly share: number;
  /** Peak memory of the process in MB, including 9 MB for the page. */
  readonly peakResidentMb: number;
}

/** Converts all pages. Resolves to the size of the file. */
type EncodePages = (pages: Iterable<LogPage>, one: EncodeCase) => Promise<number>;

const nowhere: PartSink = {
  write: () => Promise.resolve(),
  finish: () => Promise.resolve(),
  abort: () => Promise.resolve(),
};

const writeAsExports: EncodePages = async (pages, { format, fields, compression }) => {
  const columns = messageColumns(fields, []);
  const form = fileForm({ kind: format, fields, columns, formulaGuard: true }, compression);
  const part = new PartWriter({ ...form, open: async () => nowhere, maxPartBytes: Number.POSITIVE_INFINITY });
  for (const page of pages) {
    const scanner = new PageScanner({ row: (row) => part.row(row) });
    for (const chunk of page.chunks()) {
      scanner.write(chunk);
      await part.drained();
    }
    scanner.end();
  }
  return (await part.end()).bytes;
};

const writePlainly: EncodePages = async (pages, { format, compression }) => {
  if (format === 'parquet') return writePlainParquet(textsOf(pages), compression);
  let bytes = 0;
  const file = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      bytes += chunk.length;
      done();
    },
  });
  const writer = new PlainExport(file, compression);
  for (const text of textsOf(pages)) await writer.page(text);
  await writer.end();
  return bytes;
};

function* textsOf(pages: Iterable<LogPage>): Generator<string> {
  for (const page of pages) yield Buffer.concat([...page.chunks()]).toString('utf8');
}

async function measure(one: EncodeCase): Promise<EncodeFigures> {
  if (one.way === 'export') keepHeapSmall();
  const way = one.way === 'export' ? writeAsExports : writePlainly;
  const page = new LogPage(one.messages);
  await way([page], one);
  const before = process.cpuUsage();
  const startMs = performance.now();
  const fileBytes = await way(Array(one.pages).fill(page), one);
  const elapsedMs = performance.now() - startMs;
  const { user, system } = process.cpuUsage(before);
  const bytes = one.pages * page.bytes;
  return {
    ...one,
    mbPerSecond: bytes / 1_000 / elapsedMs,
    mbPerProcessorSecond: bytes / (user + system),
    share: fileBytes / bytes,
    peakResidentMb: megabytesOf(peakResidentMiB(process.pid)),
  };
}

if (import.meta.main) console.log(JSON.stringify(await measure(JSON.parse(process.argv[2] ?? '') as EncodeCase)));
