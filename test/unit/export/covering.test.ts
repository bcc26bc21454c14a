import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { seededRandom } from '../../../src/base/random.ts';
import type { ExportPlan } from '../../../src/destination/plan-object.ts';
import { randomRuns } from '../../support/random-runs.ts';
import { type MinimalDestination, MinimalOperator } from './minimal-operator.ts';
import { countMinimal, type MinimalRow, type MinimalWorld, makeRows, timeOf } from './minimal-service.ts';

/** Maximum number of steps that an export may take. A test fails if its export needs more. */
const maxSteps = 20_000;

interface CoveredExport {
  readonly destination: MinimalDestination;
  readonly operators: readonly MinimalOperator[];
}

function exportAll(world: MinimalWorld, plan: ExportPlan, seed: number, operatorCount: number): CoveredExport {
  const destination: MinimalDestination = new Map();
  const random = seededRandom(seed);
  const operators = Array.from({ length: operatorCount }, () => new MinimalOperator(world, plan, destination, random));
  for (let steps = 0; steps < maxSteps; steps++) {
    const operator = operators[Math.floor(random.next() * operators.length)];
    if (!operator?.step()) return { destination, operators };
  }
  throw new Error('the export does not end');
}

const name = ({ bytes }: MinimalRow) => Buffer.from(bytes).toString();

function complaints(world: MinimalWorld, plan: ExportPlan, { destination, operators }: CoveredExport): string[] {
  const { coverage, isCovered } = (operators[0] as MinimalOperator).decide();
  const found: string[] = isCovered ? [] : ['not covered'];
  let fromMs = plan.boundariesMs[0] ?? 0;
  for (const record of coverage.intervals) {
    if (record.fromMs !== fromMs) found.push(`a gap at ${fromMs}`);
    fromMs = record.toMs;
    const { rows = [] } = destination.get(`${record.segment} ${record.toMs}`) ?? {};
    const corpus = world.rows.filter((row) => timeOf(world, row) >= record.fromMs && timeOf(world, row) < record.toMs);
    const there = new Set(corpus.map(name));
    if (new Set(rows.map(name)).size < rows.length) found.push(`a row twice in ${JSON.stringify(record)}`);
    if (rows.some((row) => !there.has(name(row)))) found.push(`a foreign row in ${JSON.stringify(record)}`);
    if (rows.length !== record.written) found.push(`other rows than counted in ${JSON.stringify(record)}`);
    const isDense = record.incomplete?.reason === 'MillisecondTooDense';
    const isRightly = isDense && record.toMs - record.fromMs === 1 && countMinimal(world, record) > world.limit;
    if (isDense ? !isRightly : rows.length < corpus.length) found.push(`rows missing in ${JSON.stringify(record)}`);
  }
  if (fromMs !== plan.boundariesMs.at(-1)) found.push(`nothing from ${fromMs} on`);
  return found;
}

describe('an export has every row of its range once', () => {
  test('with any rows, limits and failures (E3 to E10)', () => {
    const kinds = fc.subarray(['forcePaused', 'warning', 'silent'] as const, { minLength: 1 });
    const worlds = fc.record({
      seed: fc.nat(),
      rowCount: fc.integer({ min: 0, max: 120 }),
      spanMs: fc.integer({ min: 3, max: 200 }),
      segments: fc.integer({ min: 1, max: 3 }),
      operatorCount: fc.integer({ min: 1, max: 2 }),
      byReceiptTime: fc.boolean(),
      limit: fc.integer({ min: 1, max: 40 }),
      cutKinds: kinds,
      hasInclusiveEnds: fc.boolean(),
      hasHistogram: fc.boolean(),
      trouble: fc.constantFrom(0, 0.1, 0.5),
    });
    fc.assert(
      fc.property(worlds, ({ seed, rowCount, spanMs, segments, operatorCount, ...rest }) => {
        const world = { ...rest, rows: makeRows(seededRandom(seed), rowCount, spanMs) };
        const steps = Array.from({ length: segments + 1 }, (_, index) => Math.floor((index * spanMs) / segments));
        const plan = { boundariesMs: steps.map((stepMs, index) => (index === 0 ? 1 : stepMs)) };
        if (plan.boundariesMs[1] === 1) plan.boundariesMs.splice(1, 1);
        expect(complaints(world, plan, exportAll(world, plan, seed, operatorCount))).toEqual([]);
      }),
      { numRuns: randomRuns(60) },
    );
  });

  const world = (rows: readonly MinimalRow[], more: Partial<MinimalWorld>): MinimalWorld => {
    const usual = { byReceiptTime: false, cutKinds: ['forcePaused' as const], hasInclusiveEnds: false };
    return { rows, limit: 10, hasHistogram: false, trouble: 0, ...usual, ...more };
  };
  const spread = (count: number) => {
    return makeRows(seededRandom(1), count, 1).map((row, index) => ({
      ...row,
      messageTimeMs: index,
      bytes: Buffer.from(`${index}`),
    }));
  };

  test('with the smallest number of jobs, if each millisecond has one row', () => {
    const one = world(spread(100), {});
    const plan = { boundariesMs: [0, 100] };
    const outcome = exportAll(one, plan, 1, 1);
    expect(complaints(one, plan, outcome)).toEqual([]);
    expect(outcome.operators[0]?.jobs).toBe(12);
  });

  test('if only round numbers of rows reveal the limit (E4)', () => {
    const one = world(spread(25_000), { limit: 10_000, cutKinds: [undefined as never] });
    const plan = { boundariesMs: [0, 25_000] };
    const outcome = exportAll(one, plan, 1, 1);
    expect(complaints(one, plan, outcome)).toEqual([]);
    expect(outcome.operators[0]?.jobs).toBe(3);
  });

  test('except the rows of a millisecond beyond the limit, which is reported', () => {
    const rows = makeRows(seededRandom(1), 30, 1).map((row) => ({ ...row, messageTimeMs: 5 }));
    const one = world(rows, {});
    const plan = { boundariesMs: [0, 10] };
    const outcome = exportAll(one, plan, 1, 1);
    expect(complaints(one, plan, outcome)).toEqual([]);
    const [dense] = [...outcome.destination.values()].filter(({ record }) => record.incomplete);
    expect(dense?.record).toMatchObject({ fromMs: 5, toMs: 6, written: 10, count: { rows: 30, source: 'Aggregate' } });
  });
});
