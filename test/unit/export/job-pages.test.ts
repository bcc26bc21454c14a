import { expect, test } from 'vitest';
import type { PageScenario } from '../../../simulator/scenario/search-scenario.ts';
import { InOrder } from '../../../src/export/search/duplicates.ts';
import { IntervalFiles } from '../../../src/export/search/interval-files.ts';
import { JobPages } from '../../../src/export/search/job-pages.ts';
import { RowFilter } from '../../../src/export/search/row-filter.ts';
import { hour, SearchWorld } from './search-world.ts';

async function readingsOf(readings: number, pages: PageScenario) {
  const world = new SearchWorld({ scenario: { search: { pages } } });
  const { simulated, tools, definition } = world;
  const job = await simulated.run(tools.jobs.open(definition.order(hour, false)));
  await simulated.run(job.whenFinished());
  const jobPages = new JobPages({ job, tools, signal: new AbortController().signal });
  const bounds: number[][] = [];
  for (let reading = 1; reading <= readings; reading++) {
    if (reading > 1) jobPages.beginAgain();
    bounds.push(await simulated.run(read(jobPages, world)));
  }
  await simulated.run(job.close());
  return bounds;
}

async function read(pages: JobPages, { tools }: SearchWorld): Promise<number[]> {
  const files = new IntervalFiles(tools, { segment: 0, ...hour }, []);
  const filter = new RowFilter({
    interval: hour,
    byReceiptTime: false,
    duplicates: new InOrder(),
    writtenFromMs: undefined,
    sliceMs: 1_000,
  });
  const ends: number[] = [];
  while (pages.offset < 600) {
    await pages.readTo(pages.offset + 1, filter, files.receiver(filter));
    ends.push(pages.offset);
  }
  expect(filter.figures()).toMatchObject({ received: 600, written: 600, overlapping: 0, duplicates: 0 });
  await files.giveUp();
  return ends;
}

test.each([
  ['whole', {}],
  ['short', { maxMessages: 250 }],
])('pages that are %s end at other rows in each reading (E9)', async (_name, pages) => {
  const readings = await readingsOf(3, pages);
  const seams = readings.flatMap((ends) => ends.slice(0, -1));
  expect(new Set(seams).size).toBe(seams.length);
});
