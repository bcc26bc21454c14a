/**
 * Reads pages of messages over TLS in a separate process. The command `node transferred-pages.ts '{"baseURL": …}'
 * '{"totalMb": …}'` prints the results as a line of JSON.
 */
import type { SimulatorAddress } from '../../simulator/simulate.ts';
import { megabytesOf, peakResidentMiB, processorSeconds, residentMiB } from '../process-figures.ts';
import { connectTo } from './connected-client.ts';

export interface TransferCase {
  /** Total size of the measured pages, in MB. Warm-up pages are not measured. */
  readonly totalMb: number;
  /** Number of pages that are read at the same time. */
  readonly atOnce: number;
}

export interface TransferFigures extends TransferCase {
  readonly rows: number;
  readonly pages: number;
  readonly mbPerSecond: number;
  /** Speed in MB per second of CPU time. */
  readonly mbPerProcessorSecond: number;
  /**
   * Memory of the process before it reads the first page, in MB. `peakResidentMb` is the peak memory of the process.
   */
  readonly startResidentMb: number;
  readonly peakResidentMb: number;
}

export const day = { fromMs: Date.UTC(2026, 0, 1), toMs: Date.UTC(2026, 0, 2) };

async function transfer(simulator: SimulatorAddress, { totalMb, atOnce }: TransferCase): Promise<TransferFigures> {
  // The request limit is set so high that it has no effect, because the benchmark measures only the transfer.
  const client = connectTo(simulator, 1_000);
  const job = await client.jobs.open({ query: '*', ...day, requiresRawMessages: true });
  await job.whenFinished();
  const startResidentMb = megabytesOf(residentMiB(process.pid));
  let bytes = 0;
  let rows = 0;
  let pages = 0;
  const receiver = { row: () => void rows++ };
  const onPage = (page: { readonly bytes: number }) => {
    bytes += page.bytes;
    pages++;
  };
  const until = async (megabytes: number) => {
    while (bytes < megabytes * 1e6) await job.readMessagePage({ offset: 0, receiver, onPage });
  };
  await until(totalMb / 5);
  [bytes, rows, pages] = [0, 0, 0];
  const [startMs, startCpu] = [performance.now(), processorSeconds(process.pid)];
  await Promise.all(Array.from({ length: atOnce }, () => until(totalMb)));
  const seconds = (performance.now() - startMs) / 1_000;
  const cpu = processorSeconds(process.pid) - startCpu;
  await job.close();
  await client.close();
  return {
    totalMb,
    atOnce,
    rows,
    pages,
    mbPerSecond: bytes / 1e6 / seconds,
    mbPerProcessorSecond: bytes / 1e6 / cpu,
    startResidentMb,
    peakResidentMb: megabytesOf(peakResidentMiB(process.pid)),
  };
}

if (import.meta.main) {
  const [, , ready = '', one = ''] = process.argv;
  console.log(JSON.stringify(await transfer(JSON.parse(ready) as SimulatorAddress, JSON.parse(one) as TransferCase)));
  process.exit();
}
