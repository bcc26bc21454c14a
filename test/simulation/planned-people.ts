/** Plans user actions during a rollout: approvals, retries, aborts and the kill switch. */
import type { Chance } from './chance.ts';
import type { PolicySpec } from './planned-policies.ts';

export type PlannedPersonAction =
  /** A user who approves waiting stages every `everyMs`, starting at `atMs`. */
  | { readonly kind: 'approver'; readonly atMs: number; readonly name: string; readonly everyMs: number }
  | { readonly kind: 'retry' | 'abort'; readonly atMs: number; readonly name: string; readonly mark: string }
  /** A user changes the ConfigMap `logfleet-settings`, which contains the kill switch. */
  | { readonly kind: 'settings'; readonly atMs: number; readonly paused: boolean };

export function planPeople(chance: Chance, policies: readonly PolicySpec[], calmAtMs: number): PlannedPersonAction[] {
  const actions: PlannedPersonAction[] = [];
  for (const { name } of policies) {
    if (chance.happens(0.8)) {
      const everyMs = chance.one([5_000, 20_000, 60_000]);
      actions.push({ kind: 'approver', atMs: chance.whole(0, calmAtMs), name, everyMs });
    }
    for (let time = 0; chance.happens(0.4) && time < 3; time++) {
      const kind = chance.one(['retry', 'retry', 'abort'] as const);
      actions.push({ kind, atMs: chance.whole(1_000, calmAtMs), name, mark: `mark-${time}` });
    }
  }
  if (chance.happens(0.25)) {
    const atMs = chance.whole(500, calmAtMs - 1);
    actions.push({ kind: 'settings', atMs, paused: true });
    if (chance.happens(0.9)) actions.push({ kind: 'settings', atMs: chance.whole(atMs, calmAtMs), paused: false });
  }
  return actions;
}
