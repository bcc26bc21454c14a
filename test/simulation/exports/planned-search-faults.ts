/** Plans faults to inject into the requests from an export to the service. Each fault ends by a given time. */
import type { FaultScenario } from '../../../simulator/scenario/scenario.ts';
import type { Chance } from '../chance.ts';

export function planSearchFaults(chance: Chance, calmAtMs: number): Record<string, FaultScenario> {
  const probability = chance.one([0.02, 0.08, 0.25]);
  const creations = ['createJob'] as const;
  const statuses = ['getJob'] as const;
  const pages = ['listMessages', 'listRecords'] as const;
  const kinds: readonly FaultScenario[] = [
    { kind: 'reset' },
    { kind: 'reset', effect: true, operations: creations },
    { kind: 'reset', effect: true, operations: statuses },
    { kind: 'stall', effect: true, operations: statuses },
    { kind: 'stall', operations: pages },
    { kind: 'stall', effect: true, operations: creations },
    { kind: 'truncate', operations: statuses },
    { kind: 'truncate', operations: pages },
    { kind: 'html', operations: statuses },
    { kind: 'html' },
    { kind: 'empty' },
    { kind: 'wrongTypes', operations: statuses },
    { kind: 'status', status: 500 },
    { kind: 'status', status: 500, effect: true, operations: statuses },
    { kind: 'status', status: 502, body: 'html' },
    { kind: 'status', status: 503, retryAfter: 3 },
    { kind: 'status', status: 429, retryAfter: 2 },
    { kind: 'status', status: 404, code: 'jobid.invalid', operations: statuses },
    { kind: 'delay', delay: ['1s', '20s'] },
    { kind: 'delay', delay: ['3s', '30s'], operations: statuses },
    { kind: 'lag', lag: '5s' },
    { kind: 'pendingError', message: 'A shard is away.' },
    { kind: 'pendingWarning', message: 'The search was slow.' },
    { kind: 'unknownState', state: 'REHYDRATING RESULTS' },
    { kind: 'shortPage', rows: chance.whole(1, 5) },
    { kind: 'cancelJob' },
  ];
  const faults: Record<string, FaultScenario> = {};
  for (let fault = 0; fault < chance.whole(1, 4); fault++) {
    const from = chance.happens(0.7) ? 0 : chance.whole(0, calmAtMs / 2);
    const until = chance.happens(0.7) ? calmAtMs : chance.whole(from, calmAtMs);
    const kind = chance.one(kinds);
    faults[`fault-${fault}-${kind.kind}`] = { ...kind, probability, from: `${from}ms`, until: `${until}ms` };
  }
  return faults;
}
