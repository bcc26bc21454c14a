/** Tests which messages collectors send after an upgrade, after losing contact, and after a change to the scenario. */
import { describe, expect, test } from 'vitest';
import type { Scenario } from '../scenario/scenario.ts';
import { scenarioProblems } from '../scenario-check.ts';
import { SearchingService } from './searching-service.ts';
import { builds, first, minute, oldVersion, startMs, target } from './simulated-service.ts';

const web = { count: 20, version: oldVersion, messagesPerMinute: 60 };
const fleet = (scenario: Scenario = {}): Scenario => ({ builds, groups: { web }, ...scenario });

/**
 * Returns the number of messages from each collector in a time range, which is given in minutes since the start of the
 * service.
 */
function counts(service: SearchingService, fromMinute: number, toMinute: number, query = '*'): Map<string, number> {
  const range = { from: startMs + fromMinute * minute, to: startMs + toMinute * minute, byReceiptTime: true };
  const job = service.job({ query: `${query} | count by _collectorid`, ...range });
  service.after(service.elapsedMs + minute);
  const { records } = job.records().json;
  return new Map(
    records.map(({ map }: { map: Record<string, string> }) => [map['_collectorid'], Number(map['_count'])]),
  );
}

function upgraded(scenario: Scenario): SearchingService {
  const service = new SearchingService(scenario);
  for (let index = 0; index < web.count; index++) service.accepted(first + index, target);
  return service.after(60 * minute);
}

describe('collectors that send messages', () => {
  test('send them at their rate, even before the start of the service', () => {
    const service = new SearchingService(fleet());
    for (const day of [-1, -7]) {
      const found = counts(service, day * 24 * 60, day * 24 * 60 + 30);
      expect(found.size).toBe(20);
      expect([...found.values()].every((count) => Math.abs(count - 1_800) < 60)).toBe(true);
    }
  });

  test('send nothing in the future', () => {
    const service = new SearchingService(fleet()).after(10 * minute);
    expect(counts(service, 10, 20).size).toBe(0);
  });

  test('are partly silent on a build that stops some collectors from sending messages', () => {
    const service = upgraded(fleet({ builds: [oldVersion, { version: target, stopsShipping: 0.3 }] }));
    expect(counts(service, -30, 0).size).toBe(20);
    const shipping = counts(service, 30, 60).size;
    expect(shipping).toBeGreaterThan(8);
    expect(shipping).toBeLessThan(19);
  });

  test('lose some of their messages on a build that drops them', () => {
    const service = upgraded(fleet({ builds: [oldVersion, { version: target, drops: 0.8 }] }));
    const found = [...counts(service, 30, 60).values()];
    expect(found).toHaveLength(20);
    expect(found.every((count) => Math.abs(count - 360) < 20)).toBe(true);
  });

  test('send messages again after a rollback', () => {
    const service = upgraded(fleet({ builds: [oldVersion, { version: target, stopsShipping: 1 }] }));
    expect(counts(service, 30, 60).size).toBe(0);
    for (let index = 0; index < web.count; index++) service.accepted(first + index, oldVersion);
    service.after(180 * minute);
    expect(counts(service, 120, 150).size).toBe(20);
  });

  test.each([{ running: false }, { absent: true }])('send nothing while they are %j', (patch) => {
    const service = new SearchingService(fleet()).after(30 * minute);
    service.patch({ groups: { web: patch } });
    service.after(60 * minute);
    expect(counts(service, 0, 30).size).toBe(20);
    expect(counts(service, 31, 60).size).toBe(0);
  });

  test('follow a changed rate, and a changed build', () => {
    const service = new SearchingService(fleet()).after(30 * minute);
    service.patch({ groups: { web: { messagesPerMinute: 6 } } });
    service.after(60 * minute);
    expect([...counts(service, 31, 60).values()].every((count) => Math.abs(count - 174) < 15)).toBe(true);
    service.patch({ builds: [{ version: oldVersion, stopsShipping: 1 }] });
    service.after(120 * minute);
    expect(counts(service, 70, 120).size).toBe(0);
  });

  test('have categories, by which searches can select them', () => {
    const groups = { web: { ...web, sourceCategory: 'prod/web' }, lab: { ...web, sourceCategory: 'dev/lab' } };
    const service = new SearchingService(fleet({ groups }));
    expect(counts(service, -30, 0).size).toBe(40);
    expect(counts(service, -30, 0, '_sourceCategory=prod/*').size).toBe(20);
  });

  test('send messages that a search can count by time slices', () => {
    const service = new SearchingService(fleet());
    const query = '* | timeslice 10m | count by _timeslice';
    const job = service.job({ query, from: startMs - 30 * minute, to: startMs });
    service.after(minute);
    const found = job.records().json.records.map(({ map }: { map: Record<string, string> }) => Number(map['_count']));
    expect(found).toHaveLength(3);
    expect(found.every((count: number) => Math.abs(count - 12_000) < 200)).toBe(true);
  });

  test('have messages that a search returns with their fields', () => {
    const service = new SearchingService(fleet());
    const job = service.job({ query: '_collector=web-0003', from: startMs - minute, to: startMs });
    service.after(minute);
    const { messages } = job.page().json;
    expect(messages.length).toBeGreaterThan(50);
    for (const { map } of messages) {
      expect(map).toMatchObject({ _collector: 'web-0003', _sourceHost: 'web-0003.example.internal' });
      expect(map._collectorId).toBe(String(first + 2));
    }
  });
});

test('a scenario cannot have both log data and collectors that send messages', () => {
  expect(scenarioProblems(fleet({ logs: {} }))).toEqual([
    { path: ['logs'], text: "cannot be combined with a collector's messagesPerMinute; remove one of the two" },
  ]);
});
