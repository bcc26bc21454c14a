/** Explains `updated 100/107`, which leaves out collectors that cannot be upgraded now. */
import type { CollectorVersionPolicyStatus } from '../../api/generated/collector-version-policy.ts';

const leftOut = ['offline', 'skipped', 'foreign'] as const;

/** `8 offline and 5 skipped of 120 do not count`. Undefined if all collectors count, or if the figures do not fit together. */
export function explainUpdated({ summary, collectors }: CollectorVersionPolicyStatus): string | undefined {
  const total = Number(summary?.updated?.split('/')[1]);
  if (!collectors || total === collectors.matched) return undefined;
  const present = leftOut.filter((state) => collectors[state] > 0);
  const sum = present.reduce((count, state) => count + collectors[state], 0);
  // Some skipped collectors count: those that a person has to look at.
  if (total + sum !== collectors.matched) return undefined;
  const named = present.map((state) => `${collectors[state]} ${state}`);
  const list = [named.slice(0, -1).join(', '), ...named.slice(-1)].filter((part) => part !== '').join(' and ');
  return `${list} of ${collectors.matched} ${sum === 1 ? 'does' : 'do'} not count`;
}
