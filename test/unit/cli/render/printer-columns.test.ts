import { describe, expect, it } from 'vitest';
import { readPrinterColumns, renderCell } from '../../../../src/cli/render/resource-table.ts';
import { nowMs, samplePolicy, stagedStatus } from '../sample-policy.ts';

const cell = (jsonPath: string, type = 'string') => renderCell({ name: 'Any', type, jsonPath }, samplePolicy(), nowMs);

describe('the columns of CollectorVersionPolicy', () => {
  it('are the columns of the CRD', () => {
    const columns = readPrinterColumns('CollectorVersionPolicy').filter(({ priority = 0 }) => priority === 0);
    expect(columns.map(({ name }) => name)).toEqual(['Target', 'Updated', 'In progress', 'Failed', 'State', 'Age']);
  });

  it('can all be read from a policy with a full status', () => {
    const columns = readPrinterColumns('CollectorVersionPolicy');
    const policy = samplePolicy({ status: stagedStatus });
    expect(columns.filter((column) => renderCell(column, policy, nowMs) === '')).toEqual([]);
  });
});

describe('a cell', () => {
  it('is found by fields and by a filter', () => {
    expect(cell('.status.collectors.inProgress', 'integer')).toBe('6');
    expect(cell('.status.conditions[?(@.type=="Ready")].reason')).toBe('RollingOut');
    expect(cell('.spec.paused', 'boolean')).toBe('false');
  });

  it('is an age where its column is a date', () => {
    expect(cell('.metadata.creationTimestamp', 'date')).toBe('125m');
  });

  it('is empty if a field of its path is missing', () => {
    expect(cell('.status.rollout.waitingFor')).toBe('');
    expect(cell('.status.conditions[?(@.type=="Stalled")].message')).toBe('');
    expect(cell('.status.summary.updated.deeper')).toBe('');
    expect(cell('.status.completionTime', 'date')).toBe('');
  });

  it('with an unknown path is a bug', () => {
    expect(() => cell('.status.tasks[0].id')).toThrow(expect.objectContaining({ code: 'bug.assertion' }));
  });
});
