/** What a year of made-up messages with 200 open jobs takes: each job of the simulator is polled, and read from. */
import { setTimeout as sleep } from 'node:timers/promises';
import { peakResidentMiB, processorSeconds, residentMiB } from '../process-figures.ts';
import type { Section } from '../rollout/figures.ts';
import { startSimulator } from '../simulator-process.ts';
import { perSecond, Reader, scenarioWith, year } from './reader.ts';

export interface OpenJobsFigures {
  readonly jobs: number;
  /** Million bytes. */
  readonly startResidentMb: number;
  readonly endResidentMb: number;
  readonly peakResidentMb: number;
  /** By all jobs together. */
  readonly messagesFound: number;
  readonly seconds: number;
  readonly processorSeconds: number;
}

const jobs = 200;
/** Of the last job: it has to look at each message by itself. */
const slowQuery = '_messageid=*7';
const mostResidentMb = 200;
const queries = ['*', 'error', '_sourceCategory=prod/*', '* | count by _sourceHost', 'timeout OR connection'];

/** `directory` takes the scenario and certificates. */
export async function measureOpenJobs(directory: string): Promise<OpenJobsFigures> {
  const simulator = await startSimulator(directory, scenarioWith({}));
  const { pid } = simulator;
  const reader = new Reader(simulator);
  const startResidentMb = megabytes(residentMiB(pid));
  const [startMs, startCpu] = [performance.now(), processorSeconds(pid)];
  let messagesFound = 0;
  for (let index = 0; index < jobs; index++) {
    const query = index === jobs - 1 ? slowQuery : (queries[index % queries.length] as string);
    // Ends of their own, so that no job finds what another one has.
    const id = await reader.createJob(query, year.from, year.to - index * 3_600_000);
    messagesFound += await settledCount(reader, id);
    if (!query.includes('|')) await reader.page(id, 0, 1_000);
  }
  const figures: OpenJobsFigures = {
    jobs,
    startResidentMb,
    endResidentMb: megabytes(residentMiB(pid)),
    peakResidentMb: megabytes(peakResidentMiB(pid)),
    messagesFound,
    seconds: (performance.now() - startMs) / 1000,
    processorSeconds: processorSeconds(pid) - startCpu,
  };
  await reader.close();
  await simulator.stop();
  return figures;
}

/** Messages of a job, once it finds no more. */
async function settledCount(reader: Reader, id: string): Promise<number> {
  for (;;) {
    const { state, messageCount } = await reader.status(id);
    if (state !== 'GATHERING RESULTS') return messageCount as number;
    await sleep(10);
  }
}

function megabytes(mebibytes: number): number {
  return (mebibytes * 1024 * 1024) / 1e6;
}

export function openJobsSection(figures: OpenJobsFigures): Section {
  const { startResidentMb, endResidentMb, peakResidentMb } = figures;
  return {
    title: `The simulator with a year of made-up messages and ${figures.jobs} open jobs, in a process of its own`,
    lines: [
      {
        what: 'memory, at most',
        measured: `${peakResidentMb.toFixed(0)} MB (${startResidentMb.toFixed(0)} at the start, ${endResidentMb.toFixed(0)} at the end)`,
        target: `<= ${mostResidentMb} MB`,
        met: peakResidentMb <= mostResidentMb,
      },
      {
        what: 'found by all jobs together',
        measured: `${figures.messagesFound.toExponential(2)} messages in ${figures.seconds.toFixed(1)} s, ${figures.processorSeconds.toFixed(1)} s of processor time`,
      },
    ],
    notes: [`Of ${perSecond} messages a second; one of the jobs, ${slowQuery}, has to look at each message.`],
  };
}
