/** Plans the faults to inject into the service and into the API server. Each fault ends by a given time. */
import type { FaultScenario } from '../../simulator/scenario/scenario.ts';
import type { Chance } from './chance.ts';

/** Fractions (0 to 1) of requests and of watch events that have a fault. */
export interface ApiFaultPlan {
  readonly untilMs: number;
  readonly requests: number;
  readonly watches: number;
}

export function planApiFaults(chance: Chance, calmAtMs: number): ApiFaultPlan {
  return { untilMs: calmAtMs, requests: chance.one([0, 0.03, 0.15]), watches: chance.one([0, 0.05, 0.3]) };
}

export function planServiceFaults(chance: Chance, calmAtMs: number): Record<string, FaultScenario> {
  const probability = chance.one([0.05, 0.15, 0.4]);
  const posts = ['createTask'] as const;
  const lists = ['listCollectors'] as const;
  const kinds: readonly FaultScenario[] = [
    { kind: 'reset', effect: false, operations: posts },
    { kind: 'reset', effect: true, operations: posts },
    { kind: 'reset' },
    { kind: 'truncate', operations: posts },
    { kind: 'truncate' },
    { kind: 'html', operations: posts },
    { kind: 'html' },
    { kind: 'empty' },
    { kind: 'status', status: 500, effect: true, operations: posts },
    { kind: 'status', status: 500 },
    { kind: 'status', status: 503, retryAfter: 3 },
    { kind: 'status', status: 502, body: 'html' },
    { kind: 'status', status: 429, retryAfter: 2 },
    { kind: 'status', status: 429 },
    { kind: 'status', status: 401 },
    { kind: 'stall', effect: true, operations: posts },
    { kind: 'stall' },
    { kind: 'delay', delay: ['1s', '20s'] },
    { kind: 'wrongTypes', operations: lists },
    { kind: 'lag', lag: '5s', operations: lists },
  ];
  const faults: Record<string, FaultScenario> = {};
  for (let fault = 0; fault < chance.whole(1, 3); fault++) {
    const from = chance.happens(0.5) ? 0 : chance.whole(0, calmAtMs / 2);
    const until = chance.happens(0.5) ? calmAtMs : chance.whole(from, calmAtMs);
    const kind = chance.one(kinds);
    faults[`fault-${fault}-${kind.kind}`] = {
      ...kind,
      probability,
      from: `${Math.floor(from)}ms`,
      until: `${Math.floor(until)}ms`,
    };
  }
  return faults;
}
