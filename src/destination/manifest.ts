/**
 * The manifest lists an export's settings, intervals and data files. It is written once, after the whole time range has
 * been exported (E3). The manifests of different processes differ at most in `proof`.
 */
import { createHash } from 'node:crypto';
import { assert } from '../base/assert.ts';
import { sameValue } from '../base/canonical-text.ts';
import type { LogfleetError } from '../base/errors.ts';
import { type CommitRecord, commitRecord, readRecords, recordKey } from './commit-record.ts';
import type { Coverage } from './coverage.ts';
import { type DigestVerdict, readVerdicts } from './digest-verdict.ts';
import { type ExportLayout, isOwnDataFile } from './export-layout.ts';
import { type ExportIdentity, exportIdentity, fingerprintOf } from './fingerprint.ts';
import { type ProofRange, possibleProofs, proofRange, proofRangesOf } from './proof-range.ts';
import type { ListedFiles } from './recorded-files.ts';
import { type Destination, largestManifestBytes } from './store/destination.ts';
import { destinationError } from './store/destination-error.ts';
import { boolean, integer, list, object, type Stored, StoredKind, storedText } from './stored-json.ts';

const manifestTotals = object({
  intervals: integer(),
  files: integer(),
  /** Number of rows in all files of the export. */
  rows: integer(),
  received: integer(),
  outside: integer(),
  duplicates: integer(),
  bytes: integer(),
  encodedBytes: integer(),
  misfits: integer(),
});
export type ManifestTotals = Stored<typeof manifestTotals>;

/**
 * Stored form of a manifest. `manifest-check.ts` checks that its numbers are consistent, and `export-verification.ts`
 * compares it with the files.
 */
const exportManifest = object({
  fingerprint: storedText(/^[0-9a-f]{64}$/),
  export: exportIdentity,
  /** True if no interval is incomplete. */
  complete: boolean,
  totals: manifestTotals,
  /** Time ranges in chronological order and without gaps, each with the strongest check that it has passed (E6). */
  proof: list(proofRange),
  /** Intervals in chronological order, without gaps. */
  intervals: list(commitRecord),
});
export type Manifest = Stored<typeof exportManifest>;

/**
 * Advice for a damaged manifest. Users can safely remove the manifest, because the commit records contain the same
 * data.
 */
export const manifestAdvice =
  'restore the original export manifest, or remove it so that logfleet recreates it from the commit records';

export const manifestKind: StoredKind<Manifest> = new StoredKind({
  kind: 'logfleet.dev/export-manifest',
  form: exportManifest,
  advice: manifestAdvice,
  maxBytes: largestManifestBytes,
});

/** Creates the manifest of an export after the whole time range has been exported. */
export function manifestOf(
  identity: ExportIdentity,
  { intervals, remaining, strays }: Pick<Coverage, 'intervals' | 'remaining' | 'strays'>,
  verdicts: readonly DigestVerdict[] = [],
): Manifest {
  assert(remaining.length === 0 && strays.length === 0, 'commit records are missing or contradictory');
  const proof = proofRangesOf(intervals, verdicts);
  const { fromMs, toMs } = identity;
  assert(
    intervals[0]?.fromMs === fromMs && intervals.at(-1)?.toMs === toMs,
    'the intervals do not cover the whole time range of the export',
  );
  return {
    fingerprint: fingerprintOf(identity),
    export: identity,
    complete: isWhole(proof),
    totals: totalsOf(intervals),
    proof,
    intervals,
  };
}

/** Reports whether every time range is proven complete. */
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
 * Writes the manifest, or returns an existing manifest with the same commit records. Throws the error
 * `destination.damaged` if an existing manifest has other commit records.
 * @param content the encoded manifest, if the caller already has it
 */
export async function writeManifest(
  destination: Destination,
  layout: ExportLayout,
  manifest: Manifest,
  content = manifestKind.encode(manifest),
): Promise<Manifest> {
  const { length } = content;
  if (length > largestManifestBytes) throw tooManyIntervals(layout, manifest, length);
  const existing = await manifestKind.storeOnce(destination, layout.manifest, manifest, content);
  if (existing === manifest) return manifest;
  const proofs = possibleProofs(manifest.intervals, await readVerdicts(destination, layout));
  const isPossible = proofs.some((proof) => sameValue(existing, { ...manifest, complete: isWhole(proof), proof }));
  if (isPossible) return existing;
  throw manifestKind.damaged(layout.manifest, 'the export manifest contradicts the commit records of this export');
}

function tooManyIntervals({ manifest }: ExportLayout, { totals }: Manifest, bytes: number): LogfleetError {
  const tooLarge = `the export manifest ${manifest} would list ${totals.intervals} intervals and ${totals.files} files, and have ${bytes} bytes`;
  const advice =
    'divide the time range into several smaller exports, or create another export with a larger maxPartSize';
  return destinationError('tooMuch', `${tooLarge}, but the maximum is ${largestManifestBytes} bytes: ${advice}`);
}

/** Returns the SHA-256 of a manifest in hexadecimal. */
export function manifestSha256(content: Uint8Array): string {
  return createHash('sha256').update(content).digest('hex');
}

/** Reads the manifest of an export. Returns undefined if there is none. */
export function readManifest(destination: Destination, layout: ExportLayout): Promise<Manifest | undefined> {
  return manifestKind.read(destination, layout.manifest);
}

/**
 * Removes data files that no commit record lists, and returns the number of removed files. Call this only after the
 * whole time range has been exported.
 */
export async function removeStrays(
  destination: Destination,
  layout: ExportLayout,
  { intervals, voided }: Pick<Coverage, 'intervals' | 'voided'>,
  listed: ListedFiles,
): Promise<number> {
  const counted = new Set(intervals.flatMap(({ files }) => files.map(({ name }) => layout.within(name))));
  const strays = [...listed.keys()].filter((name) => !counted.has(name) && isOwnDataFile(name));
  if (strays.length > 0) await checkUnnamed(destination, layout, new Set(strays), voided);
  for (const name of strays) await destination.remove(name);
  return strays.length;
}

/** Throws the error `destination.damaged` if a commit record lists a file that is about to be removed. */
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
    if (file)
      throw manifestKind.damaged(
        layout.manifest,
        `the export manifest lacks ${file.name}, which the commit record ${layout.commit(segment, toMs)} lists`,
      );
  }
}
