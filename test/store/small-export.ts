/** Small export of generated rows, which stops at each step until the test continues it. */
import { createHash } from 'node:crypto';
import { LogfleetError } from '../../src/base/errors.ts';
import { minuteMs } from '../../src/base/time-units.ts';
import { type CommitRecord, commit, readRecords } from '../../src/destination/commit-record.ts';
import { type Coverage, coverageOf } from '../../src/destination/coverage.ts';
import { dataFileName } from '../../src/destination/export-layout.ts';
import { manifestOf, removeStrays, writeManifest } from '../../src/destination/manifest.ts';
import { Partitions } from '../../src/destination/partitions.ts';
import { type Segment, storePlanOnce } from '../../src/destination/plan-object.ts';
import { listFiles } from '../../src/destination/recorded-files.ts';
import type { Destination } from '../../src/destination/store/destination.ts';
import type { Writer } from '../../src/destination/store/writer.ts';
import { definitionOf, plainOutput } from '../support/export-definition.ts';

const startMs = Date.UTC(2026, 10, 1);
export const rowsOfFile = 12_000;
/**
 * Text of a message. The messages make each exported file 6 MB in size, so that it is uploaded in more than one part.
 */
const text = 'x'.repeat(480);

export const { identity, layout } = definitionOf({
  name: 'small',
  query: 'error',
  timeRange: { from: String(startMs), to: String(startMs + 60 * minuteMs) },
  output: { ...plainOutput, partitionBy: 'Hour' },
});

export const boundaries = [
  'planned',
  'opened',
  'written',
  'finished',
  'committed',
  'covered',
  'tidied',
  'done',
] as const;
export type Boundary = (typeof boundaries)[number];

export async function runSmallExport(
  destination: Destination,
  writer: Writer,
  at: (boundary: Boundary) => Promise<void>,
): Promise<void> {
  await destination.abortLeftovers(layout.folder, 'endedProcesses');
  const ours = { boundariesMs: [startMs, startMs + 30 * minuteMs, identity.toMs] };
  const plan = await storePlanOnce(destination, layout, ours);
  await at('planned');
  for (let isComplete = false; !isComplete; ) {
    const coverage = coverageOf(plan, await readRecords(destination, layout));
    const [segment] = coverage.remaining;
    const step = segment ? exportInterval(destination, writer, at, segment) : complete(destination, at, coverage);
    isComplete = await step.catch(unlessItMayPass);
  }
  await at('done');
}

async function complete(
  destination: Destination,
  at: (boundary: Boundary) => Promise<void>,
  coverage: Coverage,
): Promise<true> {
  await at('covered');
  await destination.abortLeftovers(layout.folder, 'all');
  await removeStrays(destination, layout, coverage, await listFiles(destination, layout));
  await at('tidied');
  await writeManifest(destination, layout, manifestOf(identity, coverage));
  return true;
}

/**
 * Returns false for an error after which the process can try again, for example if another process removed the
 * unfinished file. Rethrows all other errors.
 */
function unlessItMayPass(error: unknown): false {
  if (!(error instanceof LogfleetError) || error.handling.kind !== 'backoff') throw error;
  return false;
}

async function exportInterval(
  destination: Destination,
  writer: Writer,
  at: (boundary: Boundary) => Promise<void>,
  { index, fromMs: segmentFromMs, toMs }: Segment,
): Promise<false> {
  const fromMs = Math.max(segmentFromMs, toMs - 20 * minuteMs);
  const partition = new Partitions('Hour', identity.timeZone).folderOf(fromMs);
  const file = { segment: index, toMs, part: 1, writerToken: writer.newToken(), partition };
  const name = dataFileName(file, identity.output);
  const content = Buffer.from(
    Array.from({ length: rowsOfFile }, (_, row) => `{"row":${row + fromMs},"text":"${text}"}\n`).join(''),
  );
  const upload = await destination.open(layout.within(name));
  try {
    await at('opened');
    await upload.write(content);
    await at('written');
    await upload.finish();
  } finally {
    await upload.abort();
  }
  await at('finished');
  const sha256 = createHash('sha256').update(content).digest('hex');
  const committed = { name, rows: rowsOfFile, bytes: content.length, encodedBytes: content.length, misfits: 0, sha256 };
  const figures = { received: rowsOfFile, written: rowsOfFile, outside: 0, duplicates: 0, left: 0 };
  const count = { rows: rowsOfFile, source: 'Job' as const };
  const record: CommitRecord = { segment: index, fromMs, toMs, ...figures, count, files: [committed] };
  await commit(destination, layout, record);
  await at('committed');
  return false;
}
