/** Measures the throughput of message pages over TLS, per CPU core of the simulator. */
import type { LogScenario } from '../../simulator/scenario/log-scenario.ts';
import { renderSections } from '../figures.ts';
import { processorSeconds, residentMiB } from '../process-figures.ts';
import { SimulatorReader, scenarioWith, year } from '../reader.ts';
import { startSimulator } from '../simulator-process.ts';
import { measureOpenJobs, openJobsSection } from './open-jobs.ts';

interface PageCase {
  readonly name: string;
  readonly logs: LogScenario;
  readonly pageRows: number;
  readonly megabytes: number;
}

const cases: readonly PageCase[] = [
  { name: 'pages of 10,000 small messages', logs: {}, pageRows: 10_000, megabytes: 2_000 },
  { name: 'pages of 100 MB', logs: { size: { typicalBytes: 10_000 } }, pageRows: 10_000, megabytes: 2_000 },
  {
    name: 'pages with messages of 256 KB',
    logs: { size: { largeShare: 0.03 } },
    pageRows: 10_000,
    megabytes: 2_000,
  },
];

/** Reads message pages until their total size reaches `megabytes`. Up to `atOnce` pages are read concurrently. */
async function readPages(reader: SimulatorReader, id: string, pageRows: number, megabytes: number, atOnce: number) {
  let offset = 0;
  let bytes = 0;
  const worker = async () => {
    while (bytes < megabytes * 1e6) {
      const start = offset;
      offset = (offset + pageRows) % 100_000;
      const pageBytes = await reader.page(id, start, pageRows);
      bytes += pageBytes;
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  return bytes;
}

async function benchCase({ name, logs, pageRows, megabytes }: PageCase, directory: string): Promise<void> {
  const simulator = await startSimulator(directory, scenarioWith(logs));
  const reader = new SimulatorReader(simulator);
  const id = await reader.createJob('*', year.from, year.to);
  await readPages(reader, id, pageRows, megabytes / 10, 1);
  for (const atOnce of [1, 4]) {
    const [startMs, startCpu] = [performance.now(), processorSeconds(simulator.pid)];
    const bytes = await readPages(reader, id, pageRows, megabytes, atOnce);
    const seconds = (performance.now() - startMs) / 1000;
    const cpu = processorSeconds(simulator.pid) - startCpu;
    console.log(
      `${name}, ${atOnce} at once`.padEnd(42) +
        `${(bytes / 1e6 / seconds).toFixed(0).padStart(5)} MB/s, ` +
        `${(bytes / 1e6 / cpu).toFixed(0).padStart(5)} MB per second of CPU time, ` +
        `${residentMiB(simulator.pid).toFixed(0)} MiB`,
    );
  }
  await reader.close();
  await simulator.stop();
}

export async function benchPages(directory: string): Promise<void> {
  for (const one of cases) await benchCase(one, directory);
  console.log(renderSections([openJobsSection(await measureOpenJobs(directory))]));
}
