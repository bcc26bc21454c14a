/** Tests that docs/exports.md lists every condition reason for an export, and that the fields on the page exist. */
import { describe, expect, test } from 'vitest';
import { reasons } from '../../../src/api/conditions.ts';
import { exportHealth } from '../../../src/export/status/export-health.ts';
import { resourceWording } from '../../../src/export/status/export-wording.ts';
import { requestFailures, treatmentOf } from '../../../src/service/requests/request-failure.ts';
import { firstCells } from './page-table.ts';
import { readText } from './source-file.ts';

const page = readText('docs/exports.md');

describe('docs/exports.md', () => {
  test('has every reason that only exports can have, and no unknown reason', () => {
    const reported = firstCells(page, 'reason of `Ready`');
    const all = Object.values<string>(reasons);
    expect(reported.filter((reason) => !all.includes(reason))).toEqual([]);
    const ofExports = all.filter((reason) =>
      /^(?:Export|Destination|Max|Interval|Volume|Ambient|Deadline|WaitingToSettle)/.test(reason),
    );
    expect(ofExports.filter((reason) => !reported.includes(reason))).toEqual([]);
  });

  test('has every reason of a failed search, such as a wrong address or certificate', () => {
    const searching = ['createJob', 'getJob', 'listMessages', 'listRecords'] as const;
    const met = requestFailures.flatMap((outcome) =>
      searching.map((operation) => treatmentOf(operation, outcome).reason),
    );
    // Some reasons are not in docs/exports.md, because they concern only collectors or never appear in a condition.
    const { collectorRefused, callAborted, clientClosed, notLeading } = reasons;
    const others: readonly string[] = [collectorRefused, callAborted, clientClosed, notLeading];
    const reported = [...firstCells(page, 'reason of `Ready`'), ...others];
    expect([...new Set(met)].filter((reason) => !reported.includes(reason))).toEqual([]);
  });

  test('has the reason of an export that starts', () => {
    const { reason } = exportHealth({
      pausedBy: undefined,
      problem: undefined,
      view: undefined,
      limits: undefined,
      wording: resourceWording,
    });
    expect(firstCells(page, 'reason of `Ready`')).toContain(reason);
  });

  test('names existing fields of the spec', () => {
    const crd = readText('crds/search-export.yaml');
    const fields = firstCells(page, 'field').flatMap((field) => field.split('.').at(-1) ?? []);
    expect(fields.length).toBeGreaterThan(4);
    expect(fields.filter((field) => !new RegExp(`^ +${field}:`, 'm').test(crd))).toEqual([]);
  });
});
