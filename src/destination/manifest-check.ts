/** Checks that a manifest belongs to an export, and that the numbers in the manifest are consistent. */

import { sameValue } from '../base/canonical-text.ts';
import { isoText } from '../base/time-text.ts';
import type { CommitRecord } from './commit-record.ts';
import { figuresOf } from './digest-verdict.ts';
import type { ExportLayout } from './export-layout.ts';
import { type ExportIdentity, fingerprintOf } from './fingerprint.ts';
import { isWhole, type Manifest, manifestKind, totalsOf } from './manifest.ts';
import type { ProofRange } from './proof-range.ts';

export type DifferenceKind =
  /** The manifest belongs to another export. */
  | 'fingerprint'
  /** The intervals do not cover the whole time range. */
  | 'gap'
  | 'overlap'
  /** A total differs from the sum over all intervals. */
  | 'total'
  /** The `complete` flag contradicts the intervals. */
  | 'completeness'
  /** A commit record contradicts the manifest. */
  | 'record'
  | 'missingFile'
  | 'bytes'
  | 'sha256'
  | 'rows'
  /** A file cannot be read. */
  | 'unreadable'
  /** A file in the export's folder is not listed in the manifest. */
  | 'strayFile'
  /** Two intervals in the manifest list the same file. */
  | 'sharedFile'
  /** Message sizes or times computed from the files differ from the commit record. */
  | 'figures'
  /** A data file is in the wrong day or hour folder. */
  | 'partition'
  /** The manifest's field `proof` contradicts the intervals or the stored comparisons with the service (E6). */
  | 'proof';

export interface Difference {
  readonly kind: DifferenceKind;
  /** Where the difference is: a file name, a time or an interval. */
  readonly where: string;
  readonly expected?: string | number;
  readonly found?: string | number;
}

/** Throws if the manifest belongs to another export or contradicts itself. */
export function checkManifest(manifest: Manifest, identity: ExportIdentity, { manifest: name }: ExportLayout): void {
  const { fingerprint, proof, intervals } = manifest;
  if (fingerprint !== fingerprintOf(identity))
    throw manifestKind.damaged(
      name,
      `the export manifest belongs to another export, with the fingerprint ${fingerprint}`,
    );
  const [first] = contradictionsIn(manifest);
  if (first) {
    const { kind, where, expected, found } = first;
    throw manifestKind.damaged(
      name,
      `the export manifest contradicts itself (${kind}, ${where}): it contains ${found} instead of ${expected}`,
    );
  }
  if (!isProofOf(proof, intervals))
    throw manifestKind.damaged(name, 'the proof in the export manifest does not match its intervals');
}

/** Returns the contradictions within a manifest, such as a wrong total. */
export function contradictionsIn(manifest: Manifest): readonly Difference[] {
  const { intervals, totals, complete, fingerprint, export: identity } = manifest;
  const differences: Difference[] = [];
  const differ = (kind: DifferenceKind, where: string, expected: string | number, found: string | number) => {
    if (expected !== found) differences.push({ kind, where, expected, found });
  };
  differ('fingerprint', 'manifest', fingerprintOf(identity), fingerprint);
  let reachedMs = identity.fromMs;
  for (const { fromMs, toMs } of intervals) {
    if (fromMs !== reachedMs) {
      differ(fromMs > reachedMs ? 'gap' : 'overlap', `before ${isoText(fromMs)}`, isoText(reachedMs), isoText(fromMs));
    }
    reachedMs = Math.max(reachedMs, toMs);
  }
  differ(reachedMs < identity.toMs ? 'gap' : 'overlap', 'at the end', isoText(identity.toMs), isoText(reachedMs));
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

/**
 * Returns true if the manifest's field `proof` agrees with the manifest's intervals. Each range must consist of whole
 * intervals, and have their totals. A range with an incomplete interval must not count as proven.
 */
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
