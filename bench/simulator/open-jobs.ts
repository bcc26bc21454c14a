/**
 * Measures the simulator's memory and CPU time for 200 open search jobs. Most of the jobs search a whole year of
 * generated messages.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { FigureSection } from '../figures.ts';
import { megabytesOf, peakResidentMiB, processorSeconds, residentMiB } from '../process-figures.ts';
import { perSecond, SimulatorReader, scenarioWith, year } from '../reader.ts';
import { startSimulator } from '../simulator-process.ts';

export interface OpenJobsFigures {
  readonly jobs: number;
  /** Memory of the simulator at the start, in MB. */
  readonly startResidentMb: number;
  readonly endResidentMb: number;
  readonly peakResidentMb: number;
  /** Total number of messages found by all jobs. */
  readonly messagesFound: number;
  readonly recordsKept: number;
  /** Number of search jobs that lost their results because of the simulator's memory limit. */
  readonly givenUp: number;
  readonly seconds: number;
  readonly processorSeconds: number;
}

const jobs = 200;
/** Query that every fifth search job runs. Its results exceed the simulator's memory limit. */
const heavyQuery = '* | count by _messageid';
const heavyRangeMs = 90_000;
const slowQuery = '_messageid=*7';
const maxResidentMb = 200;
const queries = ['*', 'error', '_sourceCategory=prod/*', '* | count by _sourceHost', heavyQuery];

/**
 * @param directory folder to which the simulator's scenario and certificates are written
 */
export async function measureOpenJobs(directory: string): Promise<OpenJobsFigures> {
  const simulator = await startSimulator(directory, scenarioWith({}));
  const { pid } = simulator;
  const reader = new SimulatorReader(simulator);
  const startResidentMb = megabytesOf(residentMiB(pid));
  const [startMs, startCpu] = [performance.now(), processorSeconds(pid)];
  let messagesFound = 0;
  let [recordsKept, givenUp] = [0, 0];
  for (let index = 0; index < jobs; index++) {
    const query = index === jobs - 1 ? slowQuery : (queries[index % queries.length] as string);
    // Each job has a different time range, so that the simulator cannot use the results of one job for another.
    const to = year.to - index * 3_600_000;
    const id = await reader.createJob(query, query === heavyQuery ? to - heavyRangeMs : year.from, to);
    const { messageCount, recordCount, isGivenUp } = await settled(reader, id);
    messagesFound += messageCount;
    recordsKept += recordCount;
    givenUp += isGivenUp ? 1 : 0;
    if (!query.includes('|')) await reader.page(id, 0, 1_000);
  }
  const figures: OpenJobsFigures = {
    jobs,
    startResidentMb,
    endResidentMb: megabytesOf(residentMiB(pid)),
    peakResidentMb: megabytesOf(peakResidentMiB(pid)),
    messagesFound,
    recordsKept,
    givenUp,
    seconds: (performance.now() - startMs) / 1000,
    processorSeconds: processorSeconds(pid) - startCpu,
  };
  await reader.close();
  await simulator.stop();
  return figures;
}

interface Settled {
  readonly messageCount: number;
  readonly recordCount: number;
  /** True if the search job lost its results because the simulator's memory limit was exceeded. */
  readonly isGivenUp: boolean;
}

/** Requests the status of a search job until the job has finished. */
async function settled(reader: SimulatorReader, id: string): Promise<Settled> {
  for (let isGivenUp = false; ; ) {
    const { state, messageCount, recordCount, pendingErrors } = await reader.status(id);
    isGivenUp ||= (pendingErrors as readonly string[]).length > 0;
    if (state !== 'GATHERING RESULTS') {
      return { messageCount: messageCount as number, recordCount: recordCount as number, isGivenUp };
    }
    await sleep(10);
  }
}

export function openJobsSection(figures: OpenJobsFigures): FigureSection {
  const { startResidentMb, endResidentMb, peakResidentMb } = figures;
  return {
    title: `The simulator with a year of generated messages and ${figures.jobs} open jobs, in a separate process`,
    lines: [
      {
        what: 'peak memory',
        measured: `${peakResidentMb.toFixed(0)} MB (${startResidentMb.toFixed(0)} at the start, ${endResidentMb.toFixed(0)} at the end)`,
        target: `<= ${maxResidentMb} MB`,
        met: peakResidentMb <= maxResidentMb,
      },
      {
        what: 'found by all jobs together',
        measured: `${figures.messagesFound.toExponential(2)} messages in ${figures.seconds.toFixed(1)} s, ${figures.processorSeconds.toFixed(1)} s of CPU time`,
      },
    ],
    notes: [
      `${perSecond} messages per second. One job, ${slowQuery}, must examine each message. Every fifth job,`,
      `${heavyQuery}, finds about ${(heavyRangeMs / 1_000) * perSecond} groups: ${figures.givenUp} of these jobs exceeded the memory limit, and ${figures.recordsKept} records are stored.`,
    ],
  };
}
