/** Chooses when processes fail and what users do in a simulated export. */
import type { Chance } from '../chance.ts';

export type Seat = 'first' | 'second';

export type ExportAction =
  /** Starts a second process while the first one is still running. */
  | { readonly kind: 'start'; readonly atMs: number; readonly seat: Seat }
  | { readonly kind: 'kill' | 'stop'; readonly atMs: number; readonly seat: Seat; readonly againAfterMs: number }
  /**
   * Kills a process right before or right after one of its calls. `effect` is the number of the call, counted from
   * `atMs`. If `named` is set, only calls whose name contains `named` are counted.
   */
  | {
      readonly kind: 'killAtEffect';
      readonly atMs: number;
      readonly seat: Seat;
      readonly effect: number;
      readonly named?: string;
      readonly when: 'before' | 'after';
      readonly againAfterMs: number;
    }
  | { readonly kind: 'freeze'; readonly atMs: number; readonly seat: Seat; readonly forMs: number }
  | { readonly kind: 'pause'; readonly atMs: number; readonly isPaused: boolean }
  /** A user requests a check of the whole export. */
  | { readonly kind: 'again'; readonly atMs: number };

export function planActions(chance: Chance, calmAtMs: number): ExportAction[] {
  const actions: ExportAction[] = [];
  const soon = () => (chance.happens(0.6) ? chance.whole(0, Math.min(calmAtMs, 60_000)) : chance.whole(0, calmAtMs));
  const hasSecond = chance.happens(0.3);
  const seat = (): Seat => (hasSecond ? chance.one(['first', 'second'] as const) : 'first');
  const againAfterMs = () => chance.one([1_500, 5_000, 40_000]);
  if (hasSecond) actions.push({ kind: 'start', atMs: chance.one([0, 0, soon()]), seat: 'second' });
  const deaths = chance.one([0, 0, 1, 2, 5]);
  for (let death = 0; death < deaths; death++) {
    const kind = chance.one(['kill', 'stop', 'killAtEffect', 'killAtEffect', 'killAtEffect'] as const);
    const common = { atMs: soon(), seat: seat(), againAfterMs: againAfterMs() };
    if (kind === 'killAtEffect') {
      actions.push({ ...common, kind, effect: chance.whole(1, 60), when: chance.one(['before', 'after'] as const) });
    } else actions.push({ ...common, kind });
  }
  if (chance.happens(0.15)) {
    actions.push({ kind: 'freeze', atMs: soon(), seat: seat(), forMs: chance.one([3_000, 25_000, 90_000]) });
  }
  if (chance.happens(0.15)) {
    const atMs = soon();
    actions.push({ kind: 'pause', atMs, isPaused: true });
    actions.push({ kind: 'pause', atMs: chance.whole(atMs, calmAtMs), isPaused: false });
  }
  if (chance.happens(0.2)) actions.push({ kind: 'again', atMs: soon() });
  return actions;
}
