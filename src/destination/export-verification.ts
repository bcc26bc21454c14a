/** Rereads an export's files, and compares their row counts, checksums and sums with the export's manifest. */

import { createHash } from 'node:crypto';
import { canonicalText, sameValue } from '../base/canonical-text.ts';
import { LogfleetError } from '../base/errors.ts';
import { isoText } from '../base/time-text.ts';
import { type CommitRecord, type CommittedFile, readRecords, sumOfFigures } from './commit-record.ts';
import { coverageOf } from './coverage.ts';
import { type ComparableFigure, comparableFigures, type DigestVerdict, readVerdicts } from './digest-verdict.ts';
import { type ExportLayout, partitionOf } from './export-layout.ts';
import type { FileFigures } from './file-figures.ts';
import { readContent } from './file-reader.ts';
import type { ExportOutput } from './fingerprint.ts';
import { type Manifest, readManifest } from './manifest.ts';
import { contradictionsIn, type Difference, type DifferenceKind, isProofOf } from './manifest-check.ts';
import { Partitions } from './partitions.ts';
import { readPlan } from './plan-object.ts';
import { type IncompleteRange, incompleteRanges, possibleProofs } from './proof-range.ts';
import { isSummable, joinSlices, recordedSlices, type SliceFigureName, sliceFigureNames } from './slice-figures.ts';
import type { Destination } from './store/destination.ts';
import { destinationError } from './store/destination-error.ts';

export interface Verification {
  readonly manifest: Manifest;
  /** Differences between the files and the manifest. */
  readonly differences: readonly Difference[];
  /** Time ranges that are not proven complete according to the manifest. */
  readonly incomplete: readonly IncompleteRange[];
  /** Number of data files that were read. */
  readonly files: number;
  readonly rows: number;
  readonly bytes: number;
  /**
   * Names of the values, such as sizes, that were recomputed from the files. `notRecomputed` names the values that
   * could not be recomputed, because the files have no column for them.
   */
  readonly recomputed: readonly ComparableFigure[];
  readonly notRecomputed: readonly ComparableFigure[];
}

export interface VerifyProgress {
  readonly files: number;
  readonly bytes: number;
  readonly totalFiles: number;
  readonly totalBytes: number;
}

/**
 * Verifies an export. Throws the error `destination.absent` if there is no manifest, and `destination.damaged` if the
 * manifest is invalid.
 */
export async function verifyExport(
  destination: Destination,
  layout: ExportLayout,
  onProgress: (progress: VerifyProgress) => void = () => {},
): Promise<Verification> {
  const manifest = await readManifest(destination, layout);
  if (!manifest)
    throw destinationError(
      'absent',
      `the export manifest ${layout.manifest} does not exist in ${destination.url}: use the folder of one export, such as …/NAME/FINGERPRINT`,
    );
  const verdicts = await readVerdicts(destination, layout);
  const differences = [
    ...contradictionsIn(manifest),
    ...(await recordDifferences(destination, layout, manifest, verdicts)),
    ...proofDifferences(manifest, verdicts),
    ...(await strayFiles(destination, layout, manifest, verdicts)),
  ];
  const found = new Map<string, FileFigures>();
  const files = manifest.intervals.flatMap(({ files, slices, sliceSums }) => {
    return files.map((file) => ({ file, sliceMs: (slices ?? sliceSums)?.lengthMs }));
  });
  const total = { totalFiles: files.length, totalBytes: files.reduce((sum, { file }) => sum + file.bytes, 0) };
  const read = { files: 0, rows: 0, bytes: 0 };
  for (const { file, sliceMs } of files) {
    const own = await readFile(destination, layout, file, { output: manifest.export.output, sliceMs });
    differences.push(...own.differences, ...partitionDifferences(manifest.export, file, own.figures));
    if (own.figures) found.set(file.name, own.figures);
    read.files += own.exists ? 1 : 0;
    read.rows += own.rows;
    read.bytes += own.bytes;
    onProgress({ ...total, files: read.files, bytes: read.bytes });
  }
  const incomplete = incompleteRanges(manifest.intervals, manifest.proof);
  const figures = figureDifferences(manifest, found);
  return { manifest, ...read, incomplete, ...figures, differences: [...differences, ...figures.differences] };
}

/** Compares the message sizes and times in the files with those in the commit records. */
function figureDifferences({ intervals }: Manifest, found: ReadonlyMap<string, FileFigures>) {
  const differences: Difference[] = [];
  const recomputed = new Set<ComparableFigure>();
  const missing = new Set<ComparableFigure>();
  for (const interval of intervals) {
    const { fromMs, toMs, files, figures = {} } = interval;
    const own = files.map(({ name }) => found.get(name));
    differences.push(...sliceDifferences(interval, own));
    const sum = sumOfFigures(own.filter((each) => each !== undefined));
    for (const name of comparableFigures) {
      if (figures[name] === undefined || files.length === 0) continue;
      const isKnown = own.every((each) => each?.[name] !== undefined);
      (isKnown ? recomputed : missing).add(name);
      if (!isKnown || sum[name] === figures[name]) continue;
      const where = `${name} from ${isoText(fromMs)} to ${isoText(toMs)}`;
      differences.push({ kind: 'figures', where, expected: figures[name], found: sum[name] ?? '' });
    }
  }
  const inOrder = (names: ReadonlySet<ComparableFigure>) => comparableFigures.filter((name) => names.has(name));
  return { differences, recomputed: inOrder(recomputed), notRecomputed: inOrder(missing) };
}

/** Compares the time slices of an interval's files with those in the interval's commit record. */
function sliceDifferences(record: CommitRecord, own: readonly (FileFigures | undefined)[]): readonly Difference[] {
  const lists = own.flatMap((figures) => (figures?.slices ? [figures.slices] : []));
  const { fromMs, toMs, slices, sliceSums } = record;
  const lengthMs = (slices ?? sliceSums)?.lengthMs;
  if (lengthMs === undefined || lists.length < own.length) return [];
  const found = recordedSlices({ lengthMs, slices: joinSlices(lists) }, record, sliceSums !== undefined);
  const differing = sliceFigureNames.filter((name) => {
    const isInFiles = name !== 'bytes' || own.every((figures) => figures?.bytes !== undefined);
    const expected = recordedValues(record, name);
    return isInFiles && expected !== undefined && !sameValue(expected, recordedValues(found, name));
  });
  const where = (name: string) => `${name} in periods of ${lengthMs} ms from ${isoText(fromMs)} to ${isoText(toMs)}`;
  return differing.map((name) => ({ kind: 'figures', where: where(name) }));
}

/** Returns the values of one kind, such as message sizes, from a commit record. */
function recordedValues(
  { slices, sliceSums }: Pick<CommitRecord, 'slices' | 'sliceSums'>,
  name: SliceFigureName,
): unknown {
  if (sliceSums) return isSummable(name) ? sliceSums[name] : undefined;
  if (slices?.whole[name] === undefined) return undefined;
  return [slices.whole[name], ...slices.shared.map((slice) => [slice.fromMs, slice[name]])];
}

/** Compares the manifest's field `proof` with its intervals and the stored comparison results. */
function proofDifferences({ proof, intervals }: Manifest, verdicts: readonly DigestVerdict[]): readonly Difference[] {
  const isPossible =
    verdicts.length === 0 || possibleProofs(intervals, verdicts).some((each) => sameValue(each, proof));
  return isPossible && isProofOf(proof, intervals) ? [] : [{ kind: 'proof', where: 'manifest' }];
}

/**
 * Compares the commit records with the manifest. Missing commit records are not reported, because a copy of an export
 * may lack them.
 */
async function recordDifferences(
  destination: Destination,
  layout: ExportLayout,
  { intervals }: Manifest,
  verdicts: readonly DigestVerdict[],
): Promise<readonly Difference[]> {
  const known: ReadonlyMap<string, string> = new Map(
    intervals.map((each) => [layout.commit(each.segment, each.toMs), canonicalText(each)]),
  );
  const unreadable: Difference[] = [];
  const records = await readRecords(destination, layout, [], (name, { message }) => {
    unreadable.push({ kind: 'unreadable', where: layout.relative(name), found: message });
  });
  const plan = verdicts.length === 0 ? undefined : await readPlan(destination, layout);
  const voided = new Set(plan ? coverageOf(plan, records, verdicts).voided : []);
  const differing = records
    .filter((record) => !voided.has(record))
    .map((record) => ({ name: layout.commit(record.segment, record.toMs), text: canonicalText(record) }))
    .filter(({ name, text }) => known.get(name) !== text)
    .map(({ name }): Difference => ({ kind: 'record', where: layout.relative(name) }));
  return [...differing, ...unreadable];
}

async function strayFiles(
  destination: Destination,
  layout: ExportLayout,
  { intervals }: Manifest,
  verdicts: readonly DigestVerdict[],
): Promise<readonly Difference[]> {
  const known = new Set([
    layout.plan,
    layout.manifest,
    ...intervals.flatMap(({ files }) => files.map(({ name }) => layout.within(name))),
    ...verdicts.map(({ round }) => layout.verdict(round)),
  ]);
  const strays: Difference[] = [];
  for await (const { name } of destination.list(layout.folder)) {
    if (known.has(name) || name.startsWith(`${layout.commits}/`)) continue;
    strays.push({ kind: 'strayFile', where: layout.relative(name) });
  }
  return strays;
}

/** Checks that a data file is in the folder for the day or hour of its rows. */
function partitionDifferences(
  { output, timeZone, byReceiptTime }: Manifest['export'],
  { name }: CommittedFile,
  figures: FileFigures | undefined,
): readonly Difference[] {
  const { partitionBy } = output;
  const partition = partitionOf(name);
  if (partitionBy === undefined) return partition === '' ? [] : [{ kind: 'partition', where: name }];
  const { oldestMs, newestMs } = figures ?? {};
  const timesMs = byReceiptTime ? [] : [oldestMs, newestMs].filter((timeMs) => timeMs !== undefined);
  const partitions = new Partitions(partitionBy, timeZone);
  const other = timesMs.map((timeMs) => partitions.folderOf(timeMs)).find((folder) => folder !== partition);
  return other === undefined ? [] : [{ kind: 'partition', where: name, expected: other, found: partition }];
}

interface ReadFile {
  readonly exists: boolean;
  readonly rows: number;
  readonly bytes: number;
  readonly differences: readonly Difference[];
  /** Message sizes and times in the file. Undefined if the file is unreadable. */
  readonly figures?: FileFigures | undefined;
}

/** Reads one data file and compares it with its commit record. */
async function readFile(
  destination: Destination,
  layout: ExportLayout,
  file: CommittedFile,
  form: { readonly output: ExportOutput; readonly sliceMs: number | undefined },
): Promise<ReadFile> {
  try {
    return await compareFile(file, () => destination.stream(layout.within(file.name)), form);
  } catch (error) {
    const difference = error instanceof LogfleetError ? differenceOf(file, error) : undefined;
    if (!difference) throw error;
    return { exists: false, rows: 0, bytes: 0, differences: [difference] };
  }
}

async function compareFile(
  file: CommittedFile,
  open: () => AsyncIterable<Uint8Array>,
  { output, sliceMs }: { readonly output: ExportOutput; readonly sliceMs: number | undefined },
): Promise<ReadFile> {
  const differences: Difference[] = [];
  const unreadable: Difference[] = [];
  const differ = (kind: DifferenceKind, expected: string | number, found: string | number) => {
    if (expected !== found) differences.push({ kind, where: file.name, expected, found });
  };
  const unlessUnreadable = async <T>(reading: Promise<T>): Promise<T | undefined> => {
    try {
      return await reading;
    } catch (error) {
      if (error instanceof LogfleetError) throw error;
      unreadable.push({ kind: 'unreadable', where: file.name, found: (error as Error).message });
      return undefined;
    }
  };
  let checksum = new Checksum();
  const content = await unlessUnreadable(readContent(output, checksum.of(open()), sliceMs));
  if (!content) {
    // An invalid row has ended the first read. The file is read again to its end, because the checksum covers the whole
    // file.
    checksum = new Checksum();
    for await (const _ of checksum.of(open()));
  }
  const { bytes } = checksum;
  const rows = content?.rows ?? 0;
  differ('bytes', file.bytes, bytes);
  differ('sha256', file.sha256, checksum.sha256);
  if (content) differ('rows', file.rows, rows);
  // A Parquet file that differs from its commit record is not read a second time. A wrong footer could make the reader
  // load very large byte ranges into memory.
  const figures = content && differences.length === 0 ? await unlessUnreadable(content.figures(open)) : undefined;
  return { exists: true, rows, bytes, differences: [...differences, ...unreadable], figures };
}

/** Computes the size and the SHA-256 of a stream of chunks. */
class Checksum {
  bytes = 0;
  readonly #hash = createHash('sha256');

  async *of(chunks: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
    for await (const chunk of chunks) {
      this.#hash.update(chunk);
      this.bytes += chunk.length;
      yield chunk;
    }
  }

  get sha256(): string {
    return this.#hash.digest('hex');
  }
}

/**
 * Returns the difference to report for an unreadable file. Returns undefined if only the connection failed, because the
 * file may then be intact.
 */
function differenceOf({ name }: CommittedFile, { code, message }: LogfleetError): Difference | undefined {
  if (code === 'destination.absent') return { kind: 'missingFile', where: name };
  const isAnother = code === 'destination.damaged' || code === 'destination.outside';
  return isAnother ? { kind: 'unreadable', where: name, found: message } : undefined;
}
