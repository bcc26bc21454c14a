/**
 * Mutants (copies of the program with one rule broken) for the rules about digests, the aggregations that check
 * exported rows (E6).
 */
import { type Mutant, mutant } from '../mutant.ts';

export const digestMutants: readonly Mutant[] = [
  mutant(
    'E6',
    'no digest is requested',
    'digested',
    'export/work/export-work.ts',
    "wantsDigest: this.#limits.proof === 'Digest' && task.identity.results === 'Messages' && task.isSplittable,",
    'wantsDigest: false,',
    'E6: [',
  ),
  mutant(
    'E6',
    'a difference in the digest is ignored',
    'digested',
    'export/proof/digest.ts',
    'if (differing.length > 0) {',
    'if (counted.rows < 0) {',
    'E6: [',
  ),
  mutant(
    'E6',
    'rows that the service stores twice are not confirmed',
    'digestedTwice',
    'export/proof/proving.ts',
    "const repeated = comparison.kind === 'differs' ? repeatedOf(group) : undefined;",
    "const repeated = comparison.kind === 'same' ? repeatedOf(group) : undefined;",
    'end: incomplete for DigestDiffers',
  ),
  mutant(
    'E6',
    'slices are compared without removing rows that the service stores twice',
    'digestedTwice',
    'export/proof/digest.ts',
    'if (confirmed.every(({ rows }) => rows === 0)) return slices;',
    'if (confirmed.every(({ rows }) => rows >= 0)) return slices;',
    'end: incomplete for DigestDiffers',
  ),
  mutant(
    'E6',
    'intervals that share a slice are compared separately',
    'digestedCut',
    'export/proof/digest.ts',
    'const group = reachedMs > interval.fromMs ? groups.at(-1) : undefined;',
    'const group = reachedMs > Number.POSITIVE_INFINITY ? groups.at(-1) : undefined;',
    'end: incomplete for DigestDiffers',
  ),
  mutant(
    'E6',
    'a commit record lacks the slices that it shares with neighbours',
    'digestedCut',
    'destination/slice-figures.ts',
    'shared: slices.filter((each) => !isOwn(each)),',
    'shared: [],',
    'end: incomplete for DigestDiffers',
  ),
  mutant(
    'E6',
    'records of a voided round count',
    'digested',
    'destination/coverage.ts',
    'holes: joined(all.slice(round + 1).flat())',
    'holes: joined(all.slice(all.length + round).flat())',
    'E',
  ),
];
