/** Renders the result of `logfleet verify --schedule` as a table or as JSON. */
import { counted, groupedText } from '../../base/number-text.ts';
import { shellWord } from '../../base/shell-word.ts';
import type { TimeRange } from '../../base/time-range.ts';
import { isoSeconds } from '../../base/time-text.ts';
import type { RunProblem, RunProblemKind, ScheduleVerification } from '../../schedule/schedule-verification.ts';
import { invocation } from '../command/invocation.ts';
import { paintWith } from '../render/paint.ts';
import { renderTable } from '../render/table.ts';
import { wrap, wrapIndented } from '../render/terminal-text.ts';
import { printable, renderBytes, renderCount } from '../render/text.ts';
import { listed, verificationDocument } from './verification-view.ts';

export interface ScheduleResult {
  /** Address of the schedule's folder. */
  readonly url: string;
  /** Address of the folder that contains the schedule's folder and the folders of the runs. */
  readonly root: string;
  readonly manifestsOnly: boolean;
  /** Flags that make another command read the same store. Each flag is preceded by a space. */
  readonly storeFlags: string;
  readonly verification: ScheduleVerification;
}

/** Reports whether the runs cover the range without gaps or overlaps, and whether all their checks succeeded. */
export function isProven({ runs, gaps, overlaps, problems }: ScheduleVerification): boolean {
  return runs > 0 && gaps.length === 0 && overlaps.length === 0 && problems.length === 0;
}

export function renderScheduleVerification(
  result: ScheduleResult,
  { width, colour }: { readonly width: number; readonly colour: boolean },
): readonly string[] {
  const { url, verification } = result;
  const paint = paintWith(colour);
  const checks = renderTable(['Check', 'Result', 'What'], checksOf(result));
  const { newestRunEndMs } = verification;
  const texts = [
    ...(newestRunEndMs === undefined
      ? []
      : [
          `the time range to verify contains no complete run that has a record; the newest run with a record ends at ${isoSeconds(newestRunEndMs)}`,
        ]),
    ...verification.gaps.map((gap) => `no record covers ${span(gap)}`),
    ...verification.overlaps.map(({ runs, ...time }) => `${runs.join(' and ')} both cover ${span(time)}`),
    ...verification.problems.map((problem) => renderProblem(problem, result)),
  ];
  return [
    paint('bold', printable(url)),
    ...checks.flatMap((line) => wrapIndented(line, width, checks[0]?.indexOf('WHAT'))),
    ...listed(texts, width, 'red', paint),
    ...wrap(verdictOf(result), Math.max(20, width)).map((line) =>
      paint(isProven(verification) ? 'green' : 'red', line),
    ),
    ...adviceOf(verification).flatMap((text) => wrap(text, Math.max(20, width))),
  ];
}

/** Kinds of problems that mean that a run's manifest is missing or changed. */
const brokenManifests: readonly RunProblemKind[] = [
  'missingManifest',
  'damagedManifest',
  'changedManifest',
  'contradictoryManifest',
];

function checksOf({ verification, manifestsOnly }: ScheduleResult): readonly (readonly string[])[] {
  const { gaps, overlaps, runs, rows, bytes, problems, manifests, filesRead, queries, byReceiptTime } = verification;
  const has = (...kinds: readonly RunProblemKind[]) => problems.some(({ kind }) => kinds.includes(kind));
  const check = (name: string, differs: boolean, what: string) => [name, differs ? 'differs' : 'ok', what];
  const isCovered = runs > 0 && gaps.length === 0 && overlaps.length === 0;
  const coverage = `${renderCount(gaps.length, 'gap')}, ${renderCount(overlaps.length, 'overlap')}`;
  return [
    check('range', !isCovered, `${span(verification)}: ${renderCount(runs, 'run')}, ${coverage}`),
    check(
      'records',
      has('damagedRecord', 'misnamedRecord'),
      `${renderCount(runs, 'schedule record')} of complete runs, with ${renderCount(rows, 'row')} and ${renderBytes(bytes)}`,
    ),
    check(
      'manifests',
      has(...brokenManifests, 'incomplete'),
      `${groupedText(manifests)} of ${renderCount(runs, 'export manifest')} match the SHA-256 and time range in the schedule record`,
    ),
    manifestsOnly
      ? ['files', 'not read', 'left out by --manifests-only']
      : check('files', has('differentFiles'), `all data files of ${renderCount(filesRead, 'run')} were read`),
    ...(manifests === 0
      ? []
      : [['rows by', '-', `${axisOf(manifests, byReceiptTime)}, with ${counted(queries, 'query', 'queries')}`]]),
  ];
}

/**
 * Returns a text that says whether the runs select rows by message time or by receipt time. If only some runs use
 * receipt time, the text gives the numbers of runs.
 */
function axisOf(runs: number, byReceiptTime: number): string {
  if (byReceiptTime === 0) return 'message time';
  if (byReceiptTime === runs) return 'receipt time';
  const others = runs - byReceiptTime;
  return `receipt time in ${renderCount(byReceiptTime, 'run')} and message time in ${renderCount(others, 'run')}; at a boundary between the two kinds of runs, a row can be missing or exported twice`;
}

/** Texts that follow the name of an object. The explanation of a damaged object already contains its name. */
const problemTexts: { readonly [K in Exclude<RunProblemKind, 'damagedRecord' | 'damagedManifest'>]: string } = {
  misnamedRecord: 'contradicts its name',
  missingManifest: 'is missing',
  changedManifest: 'is not the recorded manifest',
  contradictoryManifest: 'contradicts its record',
  incomplete: 'marks part of the time range as incomplete',
  differentFiles: 'differs from the files',
};

function renderProblem(
  { kind, where, message, verification }: RunProblem,
  { root, storeFlags }: ScheduleResult,
): string {
  if (kind === 'damagedRecord' || kind === 'damagedManifest') return message;
  const explanation = message === '' ? '' : `: ${message}`;
  const differences = verification ? `: ${renderCount(verification.differences.length, 'difference')}` : '';
  const hasCommand = kind === 'differentFiles' || kind === 'incomplete';
  const command = hasCommand
    ? `; to see them: ${invocation('verify')} ${shellWord(`${root}/${where}`)}${storeFlags}`
    : '';
  return `${where} ${problemTexts[kind]}${explanation}${differences}${command}`;
}

function verdictOf({ verification, manifestsOnly }: ScheduleResult): string {
  const { runs, rows, bytes, gaps, overlaps, problems } = verification;
  if (isProven(verification)) {
    const [runCount, rowCount, size] = [renderCount(runs, 'run'), renderCount(rows, 'row'), renderBytes(bytes)];
    const files = manifestsOnly ? ' The files of the runs were not read.' : '';
    return `Proven: ${runCount} with ${rowCount} and ${size} cover ${span(verification)} without gaps or overlaps.${files}`;
  }
  const counts = [
    renderCount(gaps.length, 'gap'),
    renderCount(overlaps.length, 'overlap'),
    renderCount(problems.length, 'problem'),
  ];
  return `Not proven: ${counts.join(', ')}.`;
}

function adviceOf({ gaps, overlaps, problems }: ScheduleVerification): readonly string[] {
  return [
    ...(gaps.length > 0
      ? [
          `Remedy for a gap: run ${invocation('retry')} for the schedule. This repeats failed runs and writes missing schedule records again. If the records of older runs are still missing, restore them from a backup. To verify only a part of the time range, add --from and --to.`,
        ]
      : []),
    ...(overlaps.length > 0
      ? [
          'Remedy for an overlap between two runs: if the other runs cover the whole time range of one of them, remove the schedule record and the folder of this run. Otherwise, keep both, because each has rows that the other lacks.',
        ]
      : []),
    ...(problems.some(({ kind }) => kind === 'incomplete')
      ? [
          'Remedy for an incomplete run: export its time range with another SearchExport. The schedule does not export the time range again, and the record of the run stays.',
        ]
      : []),
    ...(problems.some(isDamage)
      ? [
          'Remedy for a run with missing or changed files: restore the files from a backup. Without a backup, export the run again, as described in the documentation of schedules under "A run lost files".',
        ]
      : []),
  ];
}

/** Returns true if files of a run are missing or changed. Additional files do not count as damage. */
function isDamage({ kind, verification }: RunProblem): boolean {
  if (kind === 'differentFiles') return !verification?.differences.every((each) => each.kind === 'strayFile');
  return brokenManifests.includes(kind);
}

function span({ fromMs, toMs }: TimeRange): string {
  return `${isoSeconds(fromMs)} to ${isoSeconds(toMs)}`;
}

/** Returns the result as JSON data. */
export function scheduleDocument({ url, root, manifestsOnly, verification }: ScheduleResult): object {
  const { gaps, overlaps, problems, runs, rows, bytes, manifests, filesRead, queries, byReceiptTime } = verification;
  const times = ({ fromMs, toMs }: TimeRange) => ({ from: isoSeconds(fromMs), to: isoSeconds(toMs) });
  return {
    schedule: url,
    proven: isProven(verification),
    ...times(verification),
    ...{ runs, rows, bytes },
    gaps: gaps.map(times),
    overlaps: overlaps.map((overlap) => ({ ...times(overlap), runs: overlap.runs })),
    ...{ manifests, manifestsOnly, filesRead, queries, byReceiptTime },
    problems: problems.map(({ kind, where, message, verification: own }) => {
      const files = own && { verification: verificationDocument(`${root}/${where}`, own) };
      return { kind, where, ...(message === '' ? {} : { message }), ...files };
    }),
  };
}
