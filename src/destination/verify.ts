/**
 * Reads an export's files again and proves them against its manifest: every byte, every row, every interval, and that nothing lies
 * beside them. What differs comes back as data; rendering it is for a command.
 *
 * Leans on the manifest's own words as little as it can: sums are added up anew, and rows are counted in the files.
 */
import { createHash } from 'node:crypto';
import { canonicalText, sameValue } from '../base/canonical-text.ts';
import { LogfleetError } from '../base/errors.ts';
import { type CommitRecord, type CommittedFile, readRecords, sumOfFigures } from './commit-record.ts';
import { coverageOf } from './coverage.ts';
import type { Destination } from './destination.ts';
import { destinationError } from './destination-error.ts';
import { type ComparableFigure, comparableFigures, readVerdicts } from './digest-verdict.ts';
import type { ExportLayout } from './export-layout.ts';
import { type FileFigures, figureReader } from './file-figures.ts';
import { type ExportOutput, fingerprintOf } from './fingerprint.ts';
import { isProofOf, isWhole, type Manifest, readManifest, totalsOf } from './manifest.ts';
import { readPlan } from './plan-object.ts';
import { possibleProofs } from './proof-range.ts';
import { countRows } from './row-count.ts';
import { joinSlices, sliceFigureNames, summaryOf } from './slice-figures.ts';

export type DifferenceKind =
  /** The fingerprint is not that of what the manifest says the export is. */
  | 'fingerprint'
  /** The first interval begins late or the last ends early, or between two nobody looked. */
  | 'gap'
  | 'overlap'
  /** A sum of the manifest's is not the sum of its intervals. */
  | 'total'
  /** `complete` says otherwise than the intervals. */
  | 'completeness'
  /** A record beside the manifest, which says otherwise. */
  | 'record'
  | 'missingFile'
  | 'bytes'
  | 'sha256'
  | 'rows'
  /** The bytes cannot be read as what they should be, or no file stands there at all; or something lies among the records that is none. */
  | 'unreadable'
  /** A file that the manifest does not know. */
  | 'strayFile'
  /** Two intervals name the same file. */
  | 'sharedFile'
  /** The messages in the files of an interval add up to something else than its record says. */
  | 'figures'
  /** The manifest's proof differs from the sums of its intervals, or contradicts the verdicts beside it (E6). */
  | 'proof';

export interface Difference {
  readonly kind: DifferenceKind;
  /** A file's name, a moment or an interval, for people. */
  readonly where: string;
  readonly expected?: string | number;
  readonly found?: string | number;
}

export interface Verification {
  readonly manifest: Manifest;
  /** Empty: every row is there, once. */
  readonly differences: readonly Difference[];
  /** Intervals that the manifest itself flags. */
  readonly incomplete: number;
  /** What was read, not what was promised. */
  readonly files: number;
  readonly rows: number;
  readonly bytes: number;
  /** Figures that were added up again from the files, and those whose column is not in them, or is not read. */
  readonly recomputed: readonly ComparableFigure[];
  readonly notRecomputed: readonly ComparableFigure[];
}

export interface VerifyProgress {
  readonly files: number;
  readonly bytes: number;
  readonly totalFiles: number;
  readonly totalBytes: number;
}

/** `destination.absent` when there is no manifest; `destination.damaged` when it is not of the form. */
export async function verifyExport(
  destination: Destination,
  layout: ExportLayout,
  onProgress: (progress: VerifyProgress) => void = () => {},
): Promise<Verification> {
  const manifest = await readManifest(destination, layout);
  if (!manifest) throw destinationError('absent', `there is no ${layout.manifest} in ${destination.url}`);
  const differences = [
    ...differencesWithin(manifest),
    ...(await recordDifferences(destination, layout, manifest)),
    ...(await proofDifferences(destination, layout, manifest)),
    ...(await strayFiles(destination, layout, manifest)),
  ];
  const found = new Map<string, FileFigures>();
  const files = manifest.intervals.flatMap(({ files, slices }) => {
    return files.map((file) => ({ file, sliceMs: slices?.lengthMs }));
  });
  const total = { totalFiles: files.length, totalBytes: files.reduce((sum, { file }) => sum + file.bytes, 0) };
  const read = { files: 0, rows: 0, bytes: 0 };
  for (const { file, sliceMs } of files) {
    const own = await readFile(destination, layout, file, { output: manifest.export.output, sliceMs });
    differences.push(...own.differences);
    if (own.figures) found.set(file.name, own.figures);
    read.files += own.exists ? 1 : 0;
    read.rows += own.rows;
    read.bytes += own.bytes;
    onProgress({ ...total, files: read.files, bytes: read.bytes });
  }
  const incomplete = manifest.intervals.filter((interval) => interval.incomplete !== undefined).length;
  const figures = figureDifferences(manifest, found);
  return { manifest, ...read, incomplete, ...figures, differences: [...differences, ...figures.differences] };
}

/** What the messages in files add up to, interval by interval. A file that differs has said so already. */
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
      const where = `${name} from ${moment(fromMs)} to ${moment(toMs)}`;
      differences.push({ kind: 'figures', where, expected: figures[name], found: sum[name] ?? '' });
    }
  }
  const inOrder = (names: ReadonlySet<ComparableFigure>) => comparableFigures.filter((name) => names.has(name));
  return { differences, recomputed: inOrder(recomputed), notRecomputed: inOrder(missing) };
}

/** Slices of an interval whose figures are others in its files. A figure that the files do not have is passed over. */
function sliceDifferences(
  { fromMs, toMs, slices: expected }: CommitRecord,
  own: readonly (FileFigures | undefined)[],
): readonly Difference[] {
  const lists = own.flatMap((figures) => (figures?.slices ? [figures.slices] : []));
  if (!expected || lists.length < own.length) return [];
  const { lengthMs } = expected;
  const found = summaryOf({ lengthMs, slices: joinSlices(lists) }, { fromMs, toMs });
  const differing = sliceFigureNames.filter((name) => {
    const isKnown = name !== 'bytes' || own.every((figures) => figures?.bytes !== undefined);
    const values = [expected, found].map(({ shared, whole }) => {
      return [whole[name], ...shared.map((slice) => [slice.fromMs, slice[name]])];
    });
    return isKnown && !sameValue(values[0], values[1]);
  });
  const where = (name: string) => `${name} of slices of ${lengthMs} ms from ${moment(fromMs)} to ${moment(toMs)}`;
  return differing.map((name) => ({ kind: 'figures', where: where(name) }));
}

/** Compares the manifest's proof with its intervals and with the verdicts, if any: a copy of an export may lack these. */
async function proofDifferences(
  destination: Destination,
  layout: ExportLayout,
  { proof, intervals }: Manifest,
): Promise<readonly Difference[]> {
  const verdicts = await readVerdicts(destination, layout);
  const isPossible =
    verdicts.length === 0 || possibleProofs(intervals, verdicts).some((each) => sameValue(each, proof));
  return isPossible && isProofOf(proof, intervals) ? [] : [{ kind: 'proof', where: 'manifest' }];
}

/** What the manifest's own figures contradict. */
function differencesWithin(manifest: Manifest): readonly Difference[] {
  const { intervals, totals, complete, fingerprint, export: identity } = manifest;
  const differences: Difference[] = [];
  const differ = (kind: DifferenceKind, where: string, expected: string | number, found: string | number) => {
    if (expected !== found) differences.push({ kind, where, expected, found });
  };
  differ('fingerprint', 'manifest', fingerprintOf(identity), fingerprint);
  let reachedMs = identity.fromMs;
  for (const { fromMs, toMs } of intervals) {
    if (fromMs !== reachedMs) {
      differ(fromMs > reachedMs ? 'gap' : 'overlap', `before ${moment(fromMs)}`, moment(reachedMs), moment(fromMs));
    }
    reachedMs = Math.max(reachedMs, toMs);
  }
  differ(reachedMs < identity.toMs ? 'gap' : 'overlap', 'at the end', moment(identity.toMs), moment(reachedMs));
  const sums = totalsOf(intervals);
  for (const [name, sum] of Object.entries(sums)) differ('total', name, sum, totals[name as keyof typeof totals]);
  differ('completeness', 'manifest', String(isWhole(manifest.proof)), String(complete));
  const seen = new Set<string>();
  for (const { name } of intervals.flatMap(({ files }) => files)) {
    if (seen.has(name)) differences.push({ kind: 'sharedFile', where: name });
    seen.add(name);
  }
  return differences;
}

/** Only those that are there: files and manifest may have been taken elsewhere without them. */
async function recordDifferences(
  destination: Destination,
  layout: ExportLayout,
  { intervals }: Manifest,
): Promise<readonly Difference[]> {
  const known: ReadonlyMap<string, string> = new Map(
    intervals.map((each) => [layout.commit(each.segment, each.toMs), canonicalText(each)]),
  );
  const unreadable: Difference[] = [];
  const records = await readRecords(destination, layout, [], (name, { message }) => {
    unreadable.push({ kind: 'unreadable', where: layout.relative(name), found: message });
  });
  const verdicts = await readVerdicts(destination, layout);
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
): Promise<readonly Difference[]> {
  const known = new Set([
    layout.plan,
    layout.manifest,
    ...intervals.flatMap(({ files }) => files.map(({ name }) => layout.within(name))),
  ]);
  const rounds = (await readVerdicts(destination, layout)).map(({ round }) => layout.verdict(round));
  const verdicts = new Set(rounds);
  const strays: Difference[] = [];
  for await (const { name } of destination.list(layout.folder)) {
    if (known.has(name) || name.startsWith(`${layout.commits}/`) || verdicts.has(name)) continue;
    strays.push({ kind: 'strayFile', where: layout.relative(name) });
  }
  return strays;
}

interface ReadFile {
  readonly exists: boolean;
  readonly rows: number;
  readonly bytes: number;
  readonly differences: readonly Difference[];
  /** Undefined where they are not read, or could not be. */
  readonly figures?: FileFigures | undefined;
}

/** Goes on reading for the sum of the bytes when the rows cannot be counted. */
async function readFile(
  destination: Destination,
  layout: ExportLayout,
  file: CommittedFile,
  { output, sliceMs }: { readonly output: ExportOutput; readonly sliceMs: number | undefined },
): Promise<ReadFile> {
  const hash = createHash('sha256');
  const reader = figureReader(output, sliceMs);
  const counter = countRows(output, reader);
  let bytes = 0;
  let unreadable: string | undefined;
  const counting = async <T>(act: () => Promise<T>): Promise<T | undefined> => {
    if (unreadable !== undefined) return undefined;
    return act().catch((error: Error) => {
      unreadable = error.message;
      return undefined;
    });
  };
  try {
    for await (const piece of destination.stream(layout.within(file.name))) {
      hash.update(piece);
      bytes += piece.length;
      await counting(() => counter.write(piece));
    }
  } catch (error) {
    const difference = error instanceof LogfleetError ? differenceOf(file, error) : undefined;
    if (!difference) throw error;
    return { exists: false, rows: 0, bytes: 0, differences: [difference] };
  }
  const rows = (await counting(() => counter.end())) ?? 0;
  const differences: Difference[] = [];
  const differ = (kind: DifferenceKind, expected: string | number, found: string | number) => {
    if (expected !== found) differences.push({ kind, where: file.name, expected, found });
  };
  differ('bytes', file.bytes, bytes);
  differ('sha256', file.sha256, hash.digest('hex'));
  if (unreadable === undefined) differ('rows', file.rows, rows);
  else differences.push({ kind: 'unreadable', where: file.name, found: unreadable });
  const figures = differences.length === 0 ? reader?.end() : undefined;
  return { exists: true, rows, bytes, differences, figures };
}

/** Of a file that is not there, or in whose place something else is; undefined where only the way there is in trouble. */
function differenceOf({ name }: CommittedFile, { code, message }: LogfleetError): Difference | undefined {
  if (code === 'destination.absent') return { kind: 'missingFile', where: name };
  const isAnother = code === 'destination.damaged' || code === 'destination.outside';
  return isAnother ? { kind: 'unreadable', where: name, found: message } : undefined;
}

function moment(timeMs: number): string {
  return new Date(timeMs).toISOString();
}
