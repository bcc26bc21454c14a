/** Mutants (copies of the program with one rule broken) for the schedule rules (S1 to S6). */
import { type Mutant, mutant } from '../mutant.ts';

const decision = 'schedule/schedule-decision.ts';
const runtime = 'schedule/schedule-runtime.ts';
const status = 'schedule/schedule-status.ts';

function of(rule: string, name: string, file: string, find: string, replace: string, shows?: string): Mutant {
  return { ...mutant(rule, name, 'random', file, find, replace, shows) };
}

export const scheduleMutants: readonly Mutant[] = [
  of(
    'S1',
    'a run is created for covered time',
    decision,
    'union([...covered, ...[...gaps, ...present]',
    'union([...[...gaps, ...present]',
  ),
  of(
    'S1',
    'a run is created for the time of an existing run',
    decision,
    '...[...gaps, ...present].map',
    '...[...gaps].map',
  ),
  of('S1', 'records of earlier processes are ignored', runtime, 'if (span) spans.push(span);', ''),
  of('S1', 'covered time in the status is ignored', runtime, '?? []), ...shown]', '?? [])]'),
  of(
    'S1',
    'complete runs are not recorded',
    runtime,
    'await recordRun(destination, layout, runTimes(span), record);',
    '',
    'S2:',
  ),
  of(
    'S1',
    'lost records are not written again',
    runtime,
    'if (await restoreRecord(destination, layout, run, span)) spans.push(span);',
    'void restoreRecord;',
    'S1:',
  ),
  of(
    'S2',
    'the start is not stored',
    runtime,
    'await storeStartOnce(destination, layout, fallbackMs, isKnown)',
    'fallbackMs',
    'S',
  ),
  of(
    'S3',
    'active runs use no slot',
    decision,
    'Math.min(slots - active, maxGaps - gaps.length - active,',
    'Math.min(slots, maxGaps - gaps.length,',
  ),
  of('S5', 'gaps are forgotten', decision, 'const stored = isRetryRequested ? [] :', 'const stored = true ? [] :'),
  of('S5', 'a run is created for the time of a gap', decision, '...[...gaps, ...present].map', '...[...present].map'),
  of(
    'S6',
    'new runs are not announced',
    status,
    'const announced = create.map((span) => announcedRun(resource.metadata.name, span));',
    'const announced: Run[] = []; void create;',
    'S1:',
  ),
  of(
    'S6',
    'announced runs are not created again',
    runtime,
    'pausedBy === undefined ? this.#absent(runs) : []',
    '[]',
    'S1:',
  ),
];
