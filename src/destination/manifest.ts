/**
 * The manifest: what an export is, its intervals with their figures, and the files that count. Written last and once (E3).
 *
 * Invariant: its bytes follow from the export, its records and its verdicts alone, whoever writes it and however often. Only files that a
 * record names are in it.
 */
import { assert } from '../base/assert.ts';
import { sameValue } from '../base/canonical-text.ts';
import type { LogfleetError } from '../base/errors.ts';
import { type CommitRecord, readRecordMembers, readRecords, recordKey } from './commit-record.ts';
import type { Coverage } from './coverage.ts';
import { type Destination, largestManifestBytes } from './destination.ts';
import { destinationError, goneAgain } from './destination-error.ts';
import { type DigestVerdict, figuresOf, readVerdicts } from './digest-verdict.ts';
import type { ExportLayout } from './export-layout.ts';
import { type ExportIdentity, fingerprintOf, plainIdentity, readIdentity } from './fingerprint.ts';
import { nameProblem } from './object-name.ts';
import { type ProofRange, possibleProofs, proofRangesOf, readProofRange } from './proof-range.ts';
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
  /** How well each range is proven (E6), in order of time, without gaps. */
  readonly proof: readonly ProofRange[];
  /** In order of time; they cover the export's range without gaps. */
  readonly intervals: readonly CommitRecord[];
}

/** Of an export that is covered as a whole. */
export function manifestOf(
  identity: ExportIdentity,
  { intervals, rest, strays }: Pick<Coverage, 'intervals' | 'rest' | 'strays'>,
  verdicts: readonly DigestVerdict[] = [],
): Manifest {
  assert(rest.length === 0 && strays.length === 0, 'a manifest of an export that is not covered, or in disorder');
  const proof = proofRangesOf(intervals, verdicts);
  const { fromMs, toMs } = identity;
  assert(intervals[0]?.fromMs === fromMs && intervals.at(-1)?.toMs === toMs, 'a manifest of another range');
  return {
    fingerprint: fingerprintOf(identity),
    export: plainIdentity(identity),
    complete: isWhole(proof),
    totals: totalsOf(intervals),
    proof,
    intervals,
  };
}

/** Whether no range is flagged as incomplete. */
export function isWhole(proof: readonly ProofRange[]): boolean {
  return proof.every(({ level }) => level !== 'None');
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

/**
 * Writes the manifest unless one stands there, and returns the one that counts. A manifest that stands there counts when it follows from
 * the same records, even if its writer knew other verdicts (see `possibleProofs`). Any other one is `destination.damaged`.
 */
export async function writeManifest(
  destination: Destination,
  layout: ExportLayout,
  manifest: Manifest,
): Promise<Manifest> {
  const content = encodeManifest(manifest);
  if (content.length > largestManifestBytes) throw tooManyIntervals(layout, manifest, content.length);
  if ((await destination.create(layout.manifest, content, largestManifestBytes)) === 'created') return manifest;
  const standing = await destination.read(layout.manifest, largestManifestBytes);
  if (!standing) throw goneAgain(layout.manifest, destination.url);
  if (Buffer.compare(standing, content) === 0) return manifest;
  const proofs = possibleProofs(manifest.intervals, await readVerdicts(destination, layout));
  const possible = proofs.map((proof): Manifest => ({ ...manifest, complete: isWhole(proof), proof }));
  const counting = possible.find((each) => Buffer.compare(standing, encodeManifest(each)) === 0);
  if (counting) return counting;
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
  const { fingerprint, export: described, complete, totals, proof, intervals } = manifest;
  const own = manifestOf(identity, { intervals, rest: [], strays: [] });
  if (fingerprint !== own.fingerprint) throw damagedManifest(layout, `it is of another export, ${fingerprint}`);
  if (!sameValue(described, own.export))
    throw damagedManifest(layout, 'it describes another export than its fingerprint');
  if (!sameValue(totals, own.totals)) throw damagedManifest(layout, 'its totals are not those of its intervals');
  if (complete === isWhole(proof) && isProofOf(proof, intervals)) return;
  throw damagedManifest(layout, 'its proof is not one of its intervals');
}

/** Whether the ranges follow each other from the first interval to the last, and each has what the records in it add up to. */
export function isProofOf(proof: readonly ProofRange[], intervals: readonly CommitRecord[]): boolean {
  let next = 0;
  for (const { fromMs, toMs, level, figures } of proof) {
    const first = next;
    while (next < intervals.length && (intervals[next]?.toMs ?? 0) <= toMs) next++;
    const inside = intervals.slice(first, next);
    if (inside[0]?.fromMs !== fromMs || inside.at(-1)?.toMs !== toMs) return false;
    if (!sameValue(figuresOf(inside), figures)) return false;
    if (level !== 'None' && inside.some(({ incomplete }) => incomplete !== undefined)) return false;
  }
  return next === intervals.length;
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
      proof: members.objects('proof', readProofRange),
      intervals: members.objects('intervals', readRecordMembers),
    };
  });
}

/**
 * Removes those of the listed files that no record names, or a void one, and says how many. Right only when all is covered: then whoever
 * writes another finds its interval taken. `destination.damaged` where a record that is not void names a file that the coverage lacks.
 */
export async function removeStrays(
  destination: Destination,
  layout: ExportLayout,
  { intervals, voided }: Pick<Coverage, 'intervals' | 'voided'>,
  listed: ListedFiles,
): Promise<number> {
  const counted = new Set(intervals.flatMap(({ files }) => files.map(({ name }) => layout.within(name))));
  // What no name of ours can be is somebody else's, and no destination would look at it: `verify` tells of it.
  const strays = [...listed.keys()].filter((name) => !counted.has(name) && nameProblem(name) === undefined);
  if (strays.length > 0) await checkUnnamed(destination, layout, new Set(strays), voided);
  for (const name of strays) await destination.remove(name);
  return strays.length;
}

/** A manifest that somebody changed, or put back from before, may lack what records name. */
async function checkUnnamed(
  destination: Destination,
  layout: ExportLayout,
  names: ReadonlySet<string>,
  voided: readonly CommitRecord[],
): Promise<void> {
  const areVoid = new Set(voided.map((record) => recordKey(record)));
  for (const record of await readRecords(destination, layout)) {
    const { segment, toMs, files } = record;
    if (areVoid.has(recordKey(record))) continue;
    const file = files.find(({ name }) => names.has(layout.within(name)));
    if (file) throw damagedManifest(layout, `it lacks ${file.name}, which ${layout.commit(segment, toMs)} names`);
  }
}
