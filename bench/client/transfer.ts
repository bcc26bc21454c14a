/** Measures how fast the client and the page scanner receive message pages over TLS. */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { FigureLine, FigureSection } from '../figures.ts';
import { startSimulator } from '../simulator-process.ts';
import { day, type TransferFigures } from './transferred-pages.ts';

/** Results for messages of one size. Each page has 10,000 messages. */
export interface TransferResult extends TransferFigures {
  readonly messageBytes: number;
}

const minMbPerSecond = 250;
const cases = [
  { messageBytes: 900, atOnce: 1 },
  { messageBytes: 900, atOnce: 4 },
  { messageBytes: 10_000, atOnce: 1 },
] as const;

const program = fileURLToPath(new URL('transferred-pages.ts', import.meta.url));
const run = promisify(execFile);

export async function measureTransfer(quick: boolean): Promise<TransferResult[]> {
  const results: TransferResult[] = [];
  for (const { messageBytes, atOnce } of cases) {
    const directory = mkdtempSync(path.join(tmpdir(), 'logfleet-bench-'));
    const {
      child: _child,
      stop,
      ...ready
    } = await startSimulator(directory, {
      limits: { requestsPerSecond: 0, concurrentRequests: 0 },
      search: { duration: '0s', messageLimit: 200_000 },
      logs: { messages: 100_000, from: day.fromMs, to: day.toMs, size: { typicalBytes: messageBytes } },
    });
    const one = { totalMb: quick ? 1_000 : 4_000, atOnce };
    const { stdout } = await run(process.execPath, [program, JSON.stringify(ready), JSON.stringify(one)]);
    results.push({ messageBytes, ...(JSON.parse(stdout) as TransferFigures) });
    await stop();
    rmSync(directory, { recursive: true });
  }
  return results;
}

export function transferSection(results: readonly TransferResult[]): FigureSection {
  return {
    title: 'Pages of 10,000 messages from the simulator over TLS, through the client and scanner, one thread',
    lines: results.flatMap(linesOf),
    notes: [
      'The simulator makes the pages in another process on the same machine. The first figure is in elapsed time, so both processes',
      'each need their own processor. The second figure is the speed at which a client with one processor could read. Rows are',
      'counted and discarded.',
    ],
  };
}

function linesOf({ messageBytes, atOnce, pages, rows, ...figures }: TransferResult): FigureLine[] {
  const size = (pages * 10_000 * messageBytes) / pages / 1e6;
  const what = `messages of ${messageBytes} bytes, pages of about ${size.toFixed(0)} MB, ${atOnce} at once`;
  const { mbPerSecond, mbPerProcessorSecond, startResidentMb, peakResidentMb } = figures;
  return [
    {
      what,
      measured: `${mbPerSecond.toFixed(0)} MB/s`,
      target: `>= ${minMbPerSecond} MB/s`,
      met: mbPerSecond >= minMbPerSecond && rows > 0,
    },
    {
      what: '  of the client',
      measured: `${mbPerProcessorSecond.toFixed(0)} MB per second of its CPU time`,
      target: `>= ${minMbPerSecond} MB`,
      met: mbPerProcessorSecond >= minMbPerSecond && rows > 0,
    },
    {
      what: '  peak memory of the client',
      measured: `${peakResidentMb.toFixed(0)} MB, of which ${(peakResidentMb - startResidentMb).toFixed(0)} MB for reading`,
    },
  ];
}
