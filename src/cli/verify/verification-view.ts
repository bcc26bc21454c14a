/** Renders the result of `logfleet verify` as a table or as JSON. */
import { annotations } from '../../api/annotations.ts';
import { groupedText, wordFor } from '../../base/number-text.ts';
import { isoSeconds, isoText } from '../../base/time-text.ts';
import type { CommitRecord, CountSource } from '../../destination/commit-record.ts';
import { type ComparableFigure, comparableFigures } from '../../destination/digest-verdict.ts';
import { ExportLayout } from '../../destination/export-layout.ts';
import type { Verification } from '../../destination/export-verification.ts';
import { type Manifest, manifestAdvice } from '../../destination/manifest.ts';
import type { Difference, DifferenceKind } from '../../destination/manifest-check.ts';
import {
  type IncompleteRange,
  lowestLevel,
  type ProofLevel,
  type ProofRange,
  proofLevels,
} from '../../destination/proof-range.ts';
import { searchAgainAdvice } from '../../destination/recorded-files.ts';
import { differenceText } from '../../export/work/figure-text.ts';
import { invocation } from '../command/invocation.ts';
import { type Paint, paintWith } from '../render/paint.ts';
import { renderTable } from '../render/table.ts';
import { wrap, wrapIndented } from '../render/terminal-text.ts';
import { printable, renderBytes, renderCount } from '../render/text.ts';

interface VerificationViewOptions {
  readonly width: number;
  readonly colour: boolean;
}

/** Maximum number of differences that the text output lists. With `-o json`, all differences are listed. */
const maxListed = 20;

/** Renders the result for one export. `url` is the address of the export's manifest. */
export function renderVerification(
  url: string,
  verification: Verification,
  { width, colour }: VerificationViewOptions,
): readonly string[] {
  const paint = paintWith(colour);
  const { differences, incomplete } = verification;
  const checks = renderTable(
    ['Check', 'Result', 'What'],
    checksOf(verification).map(({ name, result, what }) => [name, result, what]),
  );
  return [
    paint('bold', printable(url)),
    ...checks.flatMap((line) => wrapIndented(line, width, checks[0]?.indexOf('WHAT'))),
    ...listed(
      differences.map((difference) => differenceTexts[difference.kind](difference)),
      width,
      'red',
      paint,
    ),
    ...listed(incomplete.map(renderIncomplete), width, 'yellow', paint),
    verdictOf(verification, paint),
    ...advice(verification).flatMap((text) => wrap(printable(text), Math.max(20, width))),
  ];
}

const layout = new ExportLayout('');

/** Returns sentences that tell the user how to fix the differences. */
function advice({ manifest: { intervals }, differences }: Verification): readonly string[] {
  const has = (...checks: readonly Check['name'][]) => differences.some(({ kind }) => checks.includes(against[kind]));
  const named = new Set(differences.map(({ where }) => where));
  const damaged = new Set(intervals.filter(({ files }) => files.some(({ name }) => named.has(name))));
  const searchAgain = () => searchAgainAdvice(layout, intervals, damaged, layout.manifest);
  const kinds = new Set(differences.map(({ kind }) => kind));
  const isFileWrong = has('files', 'checksums') && damaged.size > 0;
  // Changed files cause no differences of the kinds `figures` and `partition`. These differences therefore mean that
  // the manifest was changed.
  const isManifestWrong = has('range', 'proof', 'manifest', 'figures') || kinds.has('partition');
  const inRecords = kinds.has('record') || differences.some(({ where }) => where.startsWith(`${layout.commits}/`));
  return [
    ...(isFileWrong
      ? [`Remedy: restore the missing or changed files, or ${searchAgain()} when the export runs again.`]
      : []),
    ...(isManifestWrong ? [`Remedy for the manifest: ${manifestAdvice} when the export runs again.`] : []),
    ...(isFileWrong || isManifestWrong ? [runAgainAdvice()] : []),
    ...(inRecords
      ? [
          'Remedy for the commit records: restore the original commit records. If no other difference is listed, you can remove them instead, because a complete export does not need them.',
        ]
      : []),
    ...(kinds.has('strayFile')
      ? [
          'Remedy for files that are not in the manifest: remove them, or move them out of the folder. If the store locks them, wait until their retention ends. Until then, read only the files that the manifest lists.',
        ]
      : []),
  ];
}

/** Returns sentences that tell the user how to make a complete export run again. */
function runAgainAdvice(): string {
  const [run, repeated] = [invocation('run DIR'), invocation('export')];
  return `To run the export again, set the annotation ${annotations.requestedAt} of its SearchExport to a new value. If no operator is running, then start ${run}. If ${repeated} wrote the files, repeat that command instead.`;
}

interface Check {
  readonly name: 'range' | 'proof' | 'counts' | 'figures' | 'files' | 'checksums' | 'manifest' | 'folder';
  /** Result of the check. `unknown`: there is no result, because files differ from the manifest. */
  readonly result: 'ok' | 'incomplete' | 'differs' | 'unknown';
  readonly what: string;
}

/** Maps each kind of difference to the check that fails because of it. */
const against: { readonly [K in DifferenceKind]: Check['name'] } = {
  gap: 'range',
  overlap: 'range',
  completeness: 'manifest',
  fingerprint: 'manifest',
  total: 'manifest',
  proof: 'proof',
  figures: 'figures',
  sharedFile: 'manifest',
  missingFile: 'files',
  rows: 'files',
  unreadable: 'files',
  bytes: 'checksums',
  sha256: 'checksums',
  record: 'folder',
  strayFile: 'folder',
  partition: 'folder',
};

function checksOf(verification: Verification): readonly Check[] {
  const { manifest, differences, files, rows, bytes } = verification;
  const { export: identity, intervals, totals } = manifest;
  const differing = new Set(differences.map(({ kind }) => against[kind]));
  /** Returns a row for the table of checks. The result is `ok` if the check is complete and found no differences. */
  const check = (name: Check['name'], proven: string, isIncomplete = false): Check => {
    const differs = differing.has(name);
    return {
      name,
      result: differs ? 'differs' : isIncomplete ? 'incomplete' : 'ok',
      what: differs ? 'see the differences below' : proven,
    };
  };
  const basis = identity.byReceiptTime ? ' by receipt time' : '';
  const range = `${isoSeconds(identity.fromMs)} to ${isoSeconds(identity.toMs)}${basis}`;
  const searched = check('range', 'no gap, no overlap');
  const named = intervals.reduce((sum, interval) => sum + interval.files.length, 0);
  const read = files < named ? `${groupedText(files)} of ${renderCount(named, 'file')}` : 'each file';
  const received = renderCount(totals.received, 'row');
  const notWritten = renderDropped(manifest) + renderLeft(intervals);
  const isUnproven = manifest.proof.some(({ level }) => level === 'None');
  const proof = check('proof', renderLevels(manifest), isUnproven);
  /** Returns the row of a check that has a result only if the files are unchanged since the export. */
  const ofFiles = (given: Check, what: string): Check =>
    given.result === 'ok' && (differing.has('files') || differing.has('checksums'))
      ? { ...given, result: 'unknown', what }
      : given;
  return [
    { ...searched, what: `${range}: ${renderCount(intervals.length, 'interval')}, ${searched.what}` },
    isUnproven
      ? { ...proof, result: 'incomplete' }
      : ofFiles(proof, `files differ; the manifest states: ${renderLevels(manifest)}`),
    ofFiles(check('figures', renderRecomputed(verification)), 'not recomputed, because files differ'),
    check(
      'counts',
      `${received} received, compared with the counts of the service (${renderSources(intervals)})${notWritten}`,
      intervals.some(({ incomplete }) => incomplete !== undefined),
    ),
    { ...check('files', ''), what: `${renderCount(files, 'file')} read, ${renderCount(rows, 'row')} in them` },
    {
      ...check('checksums', '', files < named),
      what: `size and SHA-256 of ${read} compared with the manifest, ${renderBytes(bytes)}`,
    },
    check('manifest', 'fingerprint and sums are correct'),
    check('folder', renderFolder(verification)),
  ];
}

const sourceNames: { readonly [S in CountSource]: string } = {
  Job: 'by the search job',
  Aggregate: 'by an aggregation',
  Histogram: 'by the histogram',
};

const levelTexts: { readonly [L in ProofLevel]: string } = {
  Digest: 'proven: same number, sizes and times as in the service (Digest)',
  Count: 'proven by their number in an aggregation (Count)',
  Search: 'counted only by their own searches (Search)',
  None: 'incomplete (None)',
};
const maxRanges = 5;

/**
 * Renders how each time range was checked. If there are more than `maxRanges` ranges, renders only the number of ranges
 * and rows for each kind of check.
 */
function renderLevels({ proof, export: { results } }: Manifest): string {
  if (proof.length === 0) return 'nothing';
  // Records of an aggregation have no sizes or times. For such records, the text does not mention that these values
  // were not compared.
  const others = results === 'Records' ? () => '' : renderNotCompared;
  if (proof.length <= maxRanges)
    return proof.map((range) => `${renderRange(range, proof.length === 1)}${others([range])}`).join('; ');
  return proofLevels
    .map((level) => ({ level, own: proof.filter((range) => range.level === level) }))
    .filter(({ own }) => own.length > 0)
    .map(({ level, own }) => {
      const rows = own.reduce((sum, { figures }) => sum + figures.rows, 0);
      return `${renderCount(rows, 'row')} in ${renderCount(own.length, 'time range')} ${levelTexts[level]}${others(own)}`;
    })
    .join('; ');
}

function renderRange({ fromMs, toMs, level, figures, repeated, wholeIntervals }: ProofRange, isOnly: boolean): string {
  const range = isOnly ? '' : `${isoSeconds(fromMs)} to ${isoSeconds(toMs)}: `;
  const twice = repeated ? `; the service stores ${groupedText(repeated.rows)} of these rows twice` : '';
  const coarse = wholeIntervals ? ', for whole intervals only' : '';
  return `${range}${renderCount(figures.rows, 'row')} ${levelTexts[level]}${coarse}${twice}`;
}

const figureNames: { readonly [F in ComparableFigure]: string } = {
  bytes: 'bytes (_size)',
  oldestMs: 'oldest time (_messagetime)',
  newestMs: 'newest time (_messagetime)',
};

/** Lists the values, such as sizes, that were compared with the service in only some of the time ranges, or in none. */
function renderNotCompared(ranges: readonly ProofRange[]): string {
  const proven = ranges.filter(({ level }) => level !== 'None');
  const others = comparableFigures.filter((figure) => proven.some(({ compared }) => !compared.includes(figure)));
  return others.length === 0 ? '' : `, not compared with the service: ${namesOf(others)}`;
}

function namesOf(figures: readonly ComparableFigure[]): string {
  return figures.map((figure) => figureNames[figure]).join(', ');
}

function renderRecomputed({ recomputed, notRecomputed }: Verification): string {
  const again = recomputed.length === 0 ? 'nothing recomputed' : `${namesOf(recomputed)} recomputed from the files`;
  const others = notRecomputed.length === 0 ? '' : `; not in the files: ${namesOf(notRecomputed)}`;
  return `${again}${others}`;
}

/**
 * Renders what was checked in the export's folder. The folders of partitions are compared with message times, so they
 * can be checked only if the files contain these times.
 */
function renderFolder({ manifest, notRecomputed }: Verification): string {
  const { byReceiptTime, output } = manifest.export;
  const isUnchecked = output.partitionBy !== undefined && (byReceiptTime || notRecomputed.includes('oldestMs'));
  return `no other files, all records agree${isUnchecked ? '; folders of partitions not checked' : ''}`;
}

/**
 * Renders the number of intervals for each source of row counts, such as `12 intervals by the search job, 2 by the
 * histogram`.
 */
function renderSources(intervals: readonly CommitRecord[]): string {
  return [...Map.groupBy(intervals, ({ count }) => count.source)]
    .map(([source, { length }], index) => {
      const intervalCount = index === 0 ? renderCount(length, 'interval') : groupedText(length);
      return `${intervalCount} ${sourceNames[source]}`;
    })
    .join(', ');
}

function renderDropped({ totals: { duplicates, outside } }: Manifest): string {
  const parts = [
    ...(duplicates > 0 ? [`${groupedText(duplicates)} of them twice`] : []),
    ...(outside > 0 ? [`${groupedText(outside)} outside the searched time`] : []),
  ];
  return parts.length === 0 ? '' : `; ${parts.join(' and ')}, which were dropped`;
}

/**
 * Renders the number of rows that were received for one interval, but are in the files of a neighbouring interval (E4).
 */
function renderLeft(intervals: readonly CommitRecord[]): string {
  const left = intervals.reduce((sum, interval) => sum + interval.left, 0);
  return left === 0 ? '' : `; ${groupedText(left)} rows belong to the files of another interval`;
}

function renderIncomplete({ fromMs, toMs, reason, received, counted, differing }: IncompleteRange): string {
  const numbers = differing
    ? differenceText(differing)
    : `${renderCount(received, 'row')} received, ${groupedText(counted)} counted`;
  return `incomplete interval: ${isoText(fromMs)} to ${isoText(toMs)}: ${reason} (${numbers})`;
}

const differenceTexts: { readonly [K in DifferenceKind]: (difference: Difference) => string } = {
  fingerprint: ({ expected, found }) =>
    `the manifest has the fingerprint ${found}, but the fingerprint of its export settings is ${expected}`,
  gap: (difference) => `no interval of the manifest covers ${spanOf(difference)}`,
  overlap: (difference) =>
    `${spanOf(difference)} is in more than one interval of the manifest, or is outside the time range of the export`,
  total: ({ where: total, expected, found }) =>
    `the manifest has ${total} = ${found}, but the sum over its intervals is ${expected}`,
  completeness: ({ expected, found }) =>
    `the manifest has complete = ${found}, but according to its proof, complete must be ${expected}`,
  record: ({ where }) => `${where} contradicts the manifest`,
  missingFile: ({ where }) => `${where} is missing`,
  bytes: ({ where: file, expected, found }) => `file ${file} has ${found} bytes instead of ${expected}`,
  sha256: ({ where: file, expected, found }) => `file ${file} has the SHA-256 ${found} instead of ${expected}`,
  rows: ({ where, expected, found }) => `${where} has ${found} rows instead of ${expected}`,
  unreadable: ({ where, found }) => `${where} cannot be read: ${found}`,
  partition: ({ where, expected }) =>
    `${where} contains messages that belong to ${expected ? `the partition ${expected}` : 'no partition'}`,
  strayFile: ({ where }) => `${where} is not in the manifest`,
  figures: ({ where: figure, expected, found }) =>
    found === undefined
      ? `the files and the commit record give different values for ${figure}`
      : `the files give ${found} as the value of ${figure}, but the commit record gives ${expected}`,
  proof: () =>
    'the proof in the manifest contradicts the intervals in the manifest, or the stored results of digest comparisons',
  sharedFile: ({ where }) => `${where} belongs to more than one interval`,
};

/** Renders the time range of a gap or an overlap. */
function spanOf({ expected, found }: Difference): string {
  return [`${expected}`, `${found}`].sort().join(' to ');
}

export function listed(
  texts: readonly string[],
  width: number,
  colour: 'red' | 'yellow',
  paint: Paint,
): readonly string[] {
  const lines = texts
    .slice(0, maxListed)
    .flatMap((text) => wrap(printable(text), Math.max(20, width)))
    .map((line) => paint(colour, line));
  const more = texts.length - maxListed;
  return more > 0 ? [...lines, `and ${groupedText(more)} more problems; -o json lists all of them`] : lines;
}

/** Last line of the report about a complete export, indexed by the level of its proof. */
const verdictTexts: { readonly [L in Exclude<ProofLevel, 'None'>]: (rows: string) => string } = {
  Digest: (rows) => `Proven: ${rows}, each of them once.`,
  Count: (rows) => `Proven by counts: ${rows}, as many as the service counted.`,
  Search: (rows) => `Complete: ${rows}, as many rows as the searches reported.`,
};

function verdictOf({ manifest, differences, incomplete }: Verification, paint: Paint): string {
  if (differences.length > 0) return paint('red', `Different: ${renderCount(differences.length, 'difference')}.`);
  const rows = renderCount(manifest.totals.rows, 'row');
  const level = lowestLevel(manifest.proof);
  if (level !== 'None') return paint('green', verdictTexts[level](rows));
  const ranges = incomplete.length;
  const flagged = `${renderCount(ranges, 'interval')} ${wordFor(ranges, 'is', 'are')} marked as incomplete`;
  return paint('yellow', `Incomplete: ${rows}, and ${flagged}.`);
}

/** Returns the result for one export as JSON data. */
export function verificationDocument(url: string, verification: Verification): object {
  const { manifest, differences, files, rows, bytes } = verification;
  return {
    manifest: url,
    proven: differences.length === 0 && manifest.complete,
    complete: manifest.complete,
    fingerprint: manifest.fingerprint,
    export: manifest.export,
    read: { files, rows, bytes },
    totals: manifest.totals,
    proof: manifest.proof,
    recomputed: verification.recomputed,
    notRecomputed: verification.notRecomputed,
    incomplete: verification.incomplete,
    differences,
  };
}
