import { describe, expect, it } from 'vitest';
import { renderAge, renderAgeSince } from '../../../../src/cli/render/text.ts';

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;
const year = 365 * day;

describe('renderAge formats ages like kubectl', () => {
  it.each([
    [-2 * second, '<invalid>'],
    [-1 * second, '0s'],
    [0, '0s'],
    [999, '0s'],
    [119 * second, '119s'],
    [2 * minute, '2m'],
    [3 * minute + 20 * second, '3m20s'],
    [10 * minute + 20 * second, '10m'],
    [179 * minute, '179m'],
    [3 * hour, '3h'],
    [7 * hour + 59 * minute, '7h59m'],
    [8 * hour + 59 * minute, '8h'],
    [47 * hour, '47h'],
    [2 * day, '2d'],
    [6 * day + 3 * hour, '6d3h'],
    [8 * day + 3 * hour, '8d'],
    [729 * day, '729d'],
    [2 * year + 10 * day, '2y10d'],
    [3 * year, '3y'],
    [9 * year + 10 * day, '9y'],
  ])('%d ms: %s', (ageMs, text) => {
    expect(renderAge(ageMs)).toBe(text);
  });

  it('shows the age of a time, or <unknown>', () => {
    expect(renderAgeSince('2026-11-02T11:59:00Z', Date.UTC(2026, 10, 2, 12))).toBe('60s');
    expect(renderAgeSince(undefined, 0)).toBe('<unknown>');
    expect(renderAgeSince('yesterday', 0)).toBe('<unknown>');
  });
});
