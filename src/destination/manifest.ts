/**
 * The manifest: what an export is, its intervals with their figures, and the files that count. Written last and once (E3).
 *
 * Invariant: its bytes follow from the export and its records alone, whoever writes it and however often. Only files that a record
 * names are in it.
 */
import { assert } from '../base/assert.ts';
import { sameValue } from '../base/canonical-text.ts';
import type { LogfleetError } from '../base/errors.ts';
import { type CommitRecord, readRecordMembers, readRecords } from './commit-record.ts';
import type { Coverage } from './coverage.ts';
import { type Destination, largestManifestBytes } from './destination.ts';
import { destinationError, goneAgain } from './destination-error.ts';
import type { ExportLayout } from './export-layout.ts';
import { type ExportIdentity, fingerprintOf, plainIdentity, readIdentity } from './fingerprint.ts';
import { nameProblem } from './object-name.ts';
import type { ListedFiles } from './recorded-files.ts';
import { damaged, decodeStored, encodeStored } from './stored-json.ts';

export interface ManifestTotals {
  readonly intervals: number;
  readonly files: number;
  /** In the files. */
  readonly rows: number;
  readonly received: number;
  readonly outside: number;
  readonly duplicates: number;
  readonly bytes: number;
  readonly encodedBytes: number;
  readonly misfits: number;
}

export interface Manifest {
  readonly fingerprint: string;
  readonly export: ExportIdentity;
  /** False when an interval is flagged as incomplete. */
  readonly complete: boolean;
  readonly totals: ManifestTotals;
  /** In order of time; they cover the export's range without gaps. */
  readonly intervals: readonly CommitRecord[];
}

/** Of an export that is covered as a whole. */
export function manifestOf(identity: ExportIdentity, { intervals, rest, strays }: Coverage): Manifest {
  assert(rest.length === 0 && strays.length === 0, 'a manifest of an export that is not covered, or in disorder');
  const complete = intervals.every(({ incomplete }) => incomplete === undefined);
  const { fromMs, toMs } = identity;
  assert(intervals[0]?.fromMs === fromMs && intervals.at(-1)?.toMs === toMs, 'a manifest of another range');
  return {
    fingerprint: fingerprintOf(identity),
    export: plainIdentity(identity),
    complete,
    totals: totalsOf(intervals),
    intervals,
  };
}

export function totalsOf(intervals: readonly CommitRecord[]): ManifestTotals {
  const sum = (figure: (interval: CommitRecord) => number) =>
    intervals.reduce((total, interval) => total + figure(interval), 0);
  const sumOfFiles = (figure: 'bytes' | 'encodedBytes' | 'misfits') =>
    sum(({ files }) => files.reduce((total, file) => total + file[figure], 0));
  return {
    intervals: intervals.length,
    files: sum(({ files }) => files.length),
    rows: sum(({ written }) => written),
    received: sum(({ received }) => received),
    outside: sum(({ outside }) => outside),
    duplicates: sum(({ duplicates }) => duplicates),
    bytes: sumOfFiles('bytes'),
    encodedBytes: sumOfFiles('encodedBytes'),
    misfits: sumOfFiles('misfits'),
  };
}

/** Fine when it stands there already with the same content; `destination.damaged` when another does. */
export async function writeManifest(destination: Destination, layout: ExportLayout, manifest: Manifest): Promise<void> {
  const content = encodeManifest(manifest);
  if (content.length > largestManifestBytes) throw tooManyIntervals(layout, manifest, content.length);
  if ((await destination.create(layout.manifest, content, largestManifestBytes)) === 'created') return;
  const standing = await destination.read(layout.manifest, largestManifestBytes);
  if (!standing) throw goneAgain(layout.manifest, destination.url);
  if (Buffer.compare(standing, content) === 0) return;
  throw damagedManifest(layout, 'it is not what the records of this export say');
}

/** The records say all that it says. */
export const manifestAdvice = 'put back the one that stood there, or remove it: it is written anew from the records';

export function damagedManifest({ manifest }: ExportLayout, problem: string): LogfleetError {
  return damaged({ name: manifest, advice: manifestAdvice }, problem);
}

function tooManyIntervals({ manifest }: ExportLayout, { totals }: Manifest, bytes: number): LogfleetError {
  const what = `${manifest} would have ${totals.intervals} intervals and ${totals.files} files in ${bytes} bytes`;
  const advice = 'export its range in pieces, or with a larger spec.output.maxPartSize';
  return destinationError('tooMuch', `${what}, and ${largestManifestBytes} are the most: ${advice}`);
}

/** Throws where the manifest is not of the whole range: somebody has changed it. */
export function checkWhole({ intervals }: Manifest, { fromMs, toMs }: ExportIdentity, layout: ExportLayout): void {
  let reachedMs = fromMs;
  for (const interval of intervals) {
    if (interval.fromMs !== reachedMs) break;
    reachedMs = interval.toMs;
  }
  if (reachedMs === toMs) return;
  throw damagedManifest(layout, `its intervals do not follow each other from ${new Date(reachedMs).toISOString()} on`);
}

/** Throws where it says of the export, or of its intervals as a whole, what they are not: somebody has changed it. */
export function checkDescription(manifest: Manifest, identity: ExportIdentity, layout: ExportLayout): void {
  const { fingerprint, export: described, complete, totals, intervals } = manifest;
  const own = manifestOf(identity, { intervals, rest: [], strays: [] });
  if (fingerprint !== own.fingerprint) throw damagedManifest(layout, `it is of another export, ${fingerprint}`);
  if (!sameValue(described, own.export))
    throw damagedManifest(layout, 'it describes another export than its fingerprint');
  if (complete === own.complete && sameValue(totals, own.totals)) return;
  throw damagedManifest(layout, 'its totals are not those of its intervals');
}

/** Undefined when there is none. */
export async function readManifest(destination: Destination, layout: ExportLayout): Promise<Manifest | undefined> {
  const content = await destination.read(layout.manifest, largestManifestBytes);
  return content && decodeManifest(layout.manifest, content);
}

export function encodeManifest(manifest: Manifest): Uint8Array {
  return encodeStored({ kind: 'logfleet.dev/export-manifest', version: 1, ...manifest });
}

/** Holds the form alone; whether the figures fit each other and the files is for `verify.ts`. */
export function decodeManifest(name: string, content: Uint8Array): Manifest {
  return decodeStored({ name, advice: manifestAdvice }, content, (members) => {
    members.form('logfleet.dev/export-manifest');
    return {
      fingerprint: members.text('fingerprint', /^[0-9a-f]{64}$/),
      export: members.object('export', readIdentity),
      complete: members.boolean('complete'),
      totals: members.object('totals', (totals) => ({
        intervals: totals.integer('intervals'),
        files: totals.integer('files'),
        rows: totals.integer('rows'),
        received: totals.integer('received'),
        outside: totals.integer('outside'),
        duplicates: totals.integer('duplicates'),
        bytes: totals.integer('bytes'),
        encodedBytes: totals.integer('encodedBytes'),
        misfits: totals.integer('misfits'),
      })),
      intervals: members.objects('intervals', readRecordMembers),
    };
  });
}

/**
 * Removes those of the listed files that no record names, and says how many. Right only when all is covered: then whoever writes another
 * finds its interval taken. `destination.damaged` where a record names a file that the coverage lacks.
 */
export async function removeStrays(
  destination: Destination,
  layout: ExportLayout,
  coverage: Coverage,
  listed: ListedFiles,
): Promise<number> {
  assert(coverage.rest.length === 0, 'files of an export that is not covered may still be committed');
  const counted = new Set(coverage.intervals.flatMap(({ files }) => files.map(({ name }) => layout.within(name))));
  // What no name of ours can be is somebody else's, and no destination would look at it: `verify` tells of it.
  const strays = [...listed.keys()].filter((name) => !counted.has(name) && nameProblem(name) === undefined);
  if (strays.length > 0) await checkUnnamed(destination, layout, new Set(strays));
  for (const name of strays) await destination.remove(name);
  return strays.length;
}

/** A manifest that somebody changed, or put back from before, may lack what records name. */
async function checkUnnamed(destination: Destination, layout: ExportLayout, names: ReadonlySet<string>): Promise<void> {
  for (const { segment, toMs, files } of await readRecords(destination, layout)) {
    const file = files.find(({ name }) => names.has(layout.within(name)));
    if (file) throw damagedManifest(layout, `it lacks ${file.name}, which ${layout.commit(segment, toMs)} names`);
  }
}
