/**
 * Checks whether thirty search jobs stay alive for ten minutes of virtual time while a client reads their result pages.
 */
import type { SearchJob } from '../../src/service/jobs/search-job.ts';
import { ClientWorld } from '../../test/support/client-world.ts';
import type { FigureSection } from '../figures.ts';

export interface JobsAliveFigures {
  readonly jobs: number;
  readonly minutes: number;
  readonly lost: number;
  readonly requests: number;
  /** Rate of page requests, as a fraction of the four requests per second that the service allows. */
  readonly pageShare: number;
  /** Rate of all requests, as a fraction of the four requests per second that the service allows. */
  readonly rateShare: number;
  readonly refused429: number;
  readonly maxPerSecond: number;
}

const jobCount = 30;
const readers = 6;
const minutes = 10;
const minPageShare = 0.5;
const wholeBudget = minutes * 60 * 4;

export async function keepJobsAlive(): Promise<JobsAliveFigures> {
  const { clock, journal, model, jobs, order } = new ClientWorld({
    // Minimum time without requests after which the service may cancel a job (section 3.1 of docs/service.md).
    search: { duration: '1s', keepAlive: '20s', pages: { maxMessages: 10 } },
    logs: { messages: 2_000, from: '-1h', to: '-0s' },
  });
  const opened: SearchJob[] = [];
  for (let job = 0; job < jobCount; job++) {
    void jobs.open(order).then(async (one) => {
      await one.whenFinished();
      opened.push(one);
    });
  }
  await clock.run(() => opened.length === jobCount);
  const first = journal.length;
  for (const job of opened.slice(0, readers)) void readOn(job);
  await clock.advance(minutes * 60_000);
  const requests = journal.slice(first);
  const pages = requests.filter(({ operation }) => operation === 'listMessages').length;
  const { jobsLostToSilence, rejected429, maxPerSecond } = model.counters();
  return {
    jobs: jobCount,
    minutes,
    lost: jobsLostToSilence + opened.filter(({ end }) => end !== undefined).length,
    requests: requests.length,
    pageShare: pages / wholeBudget,
    rateShare: requests.length / wholeBudget,
    refused429: rejected429,
    maxPerSecond: maxPerSecond,
  };
}

async function readOn(job: SearchJob): Promise<void> {
  while (!job.end) await job.readMessagePage({ offset: 0, receiver: { row() {} } });
}

export function jobsAliveSection(figures: JobsAliveFigures): FigureSection {
  const { lost, pageShare, rateShare, refused429, maxPerSecond } = figures;
  return {
    title: `${figures.jobs} jobs kept alive for ${figures.minutes} minutes while pages of ${readers} of them are read, virtual time`,
    lines: [
      { what: 'jobs lost', measured: String(lost), target: '0', met: lost === 0 },
      {
        what: 'page requests, as a share of the whole budget',
        measured: `${(100 * pageShare).toFixed(1)} %`,
        target: `>= ${100 * minPageShare} %`,
        met: pageShare >= minPageShare,
      },
      {
        what: 'requests',
        measured: `${figures.requests}, ${(100 * rateShare).toFixed(1)} % of 4 per second, at most ${maxPerSecond} in one second, ${refused429} 429 responses`,
      },
    ],
    notes: ['The service cancels a job after 20 s without requests, the minimum in its specification.'],
  };
}
