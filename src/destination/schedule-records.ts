/**
 * Stores a schedule's records. `start.json` contains the time from which the schedule exports (S2). A file such as
 * `runs/20261122t120000z-130000z.json` shows that the time range in its name was exported (S1). Records are never
 * removed.
 */
import { hasCode } from '../base/errors.ts';
import type { Destination } from './store/destination.ts';
import { destinationError } from './store/destination-error.ts';
import { folderSegments } from './store/object-name.ts';
import { boolean, integer, moment, object, type Stored, StoredKind, storedText } from './stored-json.ts';

const sha256 = storedText(/^[0-9a-f]{64}$/);

const runRecord = object({
  /** Name of the run's SearchExport. */
  run: storedText(),
  fromMs: moment,
  toMs: moment,
  /** Fingerprint of the export's settings. It is part of the name of the export's folder. */
  fingerprint: sha256,
  /** SHA-256 of the manifest in hexadecimal. */
  manifestSha256: sha256,
  rows: integer(),
  bytes: integer(),
  /** False if part of the time range is incomplete. */
  complete: boolean,
});
export type RunRecord = Stored<typeof runRecord>;

const advice = 'restore the original object';
const runKind = new StoredKind({ kind: 'logfleet.dev/schedule-run', form: runRecord, advice });
const startKind = new StoredKind({ kind: 'logfleet.dev/schedule-start', form: object({ fromMs: moment }), advice });

/** Names of a schedule's records. */
export class ScheduleLayout {
  readonly folder: string;

  static of(schedule: string): ScheduleLayout {
    return new ScheduleLayout(folderSegments(`${schedule}/schedule`).join('/'));
  }

  constructor(folder: string) {
    this.folder = folder;
  }

  get start(): string {
    return `${this.folder}/start.json`;
  }

  get runs(): string {
    return `${this.folder}/runs`;
  }

  /** Returns the name of a run's record. `times` is a time range such as `20261122t120000z-130000z`. */
  run(times: string): string {
    return `${this.runs}/${times}.json`;
  }
}

/**
 * Stores the time from which a schedule exports, unless a time is already stored. Returns the stored time. If `isKnown`
 * is true and the file cannot be read because the store has archived it, returns `fromMs`.
 * @param isKnown true if `fromMs` is known to be the stored time
 */
export async function storeStartOnce(
  destination: Destination,
  layout: ScheduleLayout,
  fromMs: number,
  isKnown: boolean,
): Promise<number> {
  try {
    return (await startKind.storeOnce(destination, layout.start, { fromMs })).fromMs;
  } catch (error) {
    if (isKnown && hasCode(error, 'destination.frozen')) return fromMs;
    throw error;
  }
}

/** Stores the time from which a schedule exports, unless a time is already stored. */
export async function recordStart(destination: Destination, layout: ScheduleLayout, fromMs: number): Promise<void> {
  await destination.create(layout.start, startKind.encode({ fromMs }));
}

/**
 * Reads the time from which a schedule exports. Returns undefined if none is stored. Throws the error
 * `destination.damaged` if the stored object is invalid.
 */
export async function readStart(destination: Destination, layout: ScheduleLayout): Promise<number | undefined> {
  return (await startKind.read(destination, layout.start))?.fromMs;
}

/**
 * Writes the record of a completed run. Throws the error `destination.invalid` if another export has already been
 * recorded for this time range.
 */
export async function recordRun(
  destination: Destination,
  layout: ScheduleLayout,
  times: string,
  record: RunRecord,
): Promise<void> {
  const name = layout.run(times);
  const stored = await runKind.storeOnce(destination, name, record);
  if (stored.fingerprint === record.fingerprint && stored.manifestSha256 === record.manifestSha256) return;
  throw destinationError(
    'invalid',
    `another schedule writes to this folder: ${name} records another export of the same time range; ` +
      'delete one of the two schedules, and create it again with another prefix; if there is no other schedule, remove this record',
  );
}

/** Lists the time ranges of all recorded runs. */
export async function* listRecordedRuns(destination: Destination, layout: ScheduleLayout): AsyncGenerator<string> {
  for await (const { name } of destination.list(layout.runs)) {
    if (name.endsWith('.json')) yield name.slice(layout.runs.length + 1, -'.json'.length);
  }
}

/**
 * Reads the record of a run. Returns undefined if there is none. Throws the error `destination.damaged` if it is
 * invalid.
 */
export function readRunRecord(
  destination: Destination,
  layout: ScheduleLayout,
  times: string,
): Promise<RunRecord | undefined> {
  return runKind.read(destination, layout.run(times));
}
