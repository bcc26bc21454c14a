/** Checks that an export stays within its limits on rows, time and scanned bytes. */
import type { LiveSearch } from './live-data.ts';
import type { ExportHistoryRecord } from './record.ts';
import { countingRecords } from './stored-verdicts.ts';

const inFlightMs = 1_000;
const stoppedWithinMs = 1_000 + 2 * inFlightMs;

export function limitViolations(history: ExportHistoryRecord): string[] {
  // Skips all checks if two processes run the same export. Each process counts only its own searches, so the processes
  // together may exceed the limits.
  if (history.plan.actions.some(({ kind }) => kind === 'start')) return [];
  return [...rowLimitViolations(history), ...deadlineViolations(history), ...scanViolations(history)];
}

/** Checks that an export stops at `maxMessages`. Only the last search job may exceed the limit. */
function rowLimitViolations({
  plan,
  definition,
  store,
  records,
  startMs,
  unheardCalls,
}: ExportHistoryRecord): string[] {
  const { limits, scenario, calmAtMs } = plan;
  const { messageLimit } = scenario.search ?? {};
  // Skips the check if the service changes its row limit during the run, because the maximum number of rows is then
  // unknown.
  const isSteady = Object.keys(scenario.events ?? {}).length === 0;
  if (limits.maxMessages === undefined || messageLimit === undefined || !isSteady) return [];
  // A write of a commit record can return an error although the record is stored. The process then notices the record
  // only when it lists the records.
  const isUnheardOf = (name: string) => unheardCalls.some((call) => call.startsWith('create ') && call.endsWith(name));
  const early = records.filter(({ atMs }) => atMs - startMs < calmAtMs);
  const unheard = new Set(early.filter(({ name }) => isUnheardOf(name)).map(({ record }) => record));
  const largest = Math.max(messageLimit, ...early.map(({ record }) => record.written));
  const max = limits.maxMessages - 1 + largest;
  const rounds = countingRecords({ definition, store }, early);
  return rounds.flatMap((counting, round) => {
    const heard = counting.filter((record) => !unheard.has(record));
    const rows = heard.reduce((sum, { written }) => sum + written, 0);
    const limit = `the maximum is ${limits.maxMessages}`;
    return rows > max ? [`limits: after round ${round} of the proof, the export has ${rows} rows, but ${limit}`] : [];
  });
}

function deadlineViolations({ plan, journal, startMs, disturbances }: ExportHistoryRecord): string[] {
  const { limits, skewMs, calmAtMs } = plan;
  // Skips the check if a process was frozen, because it might send a request after the deadline, when it resumes.
  if (limits.deadlineAfterMs === undefined || disturbances.some((what) => what.startsWith('freeze'))) return [];
  const overMs = startMs + limits.deadlineAfterMs + skewMs + inFlightMs;
  const late = journal.filter(
    ({ operation, at }) => operation === 'createJob' && at > overMs && at < startMs + calmAtMs,
  );
  return late.map(({ at }) => `limits: a search started at ${at - startMs} ms, after the deadline`);
}

/** Checks that each process stays within the limit on scanned bytes. Each process counts only its own search jobs. */
function scanViolations({ plan, searches, startMs, starts, disturbances }: ExportHistoryRecord): string[] {
  const { limits, scenario, calmAtMs } = plan;
  const { maxBytesScanned } = limits;
  const kinds = Object.values(scenario.faults ?? {}).map(({ kind }) => kind);
  // Skips the check in two cases. If search jobs have invalid statuses, a process cannot read the number of scanned
  // bytes. If a process was frozen, it may send requests late, after it has resumed.
  const isUnsure = kinds.includes('wrongTypes') || disturbances.some((what) => what.startsWith('freeze'));
  if (maxBytesScanned === undefined || isUnsure) return [];
  return starts.flatMap((beginMs, index) => {
    const endMs = Math.min(starts[index + 1] ?? Number.POSITIVE_INFINITY, startMs + calmAtMs);
    const own = searches.filter(({ beganAtMs }) => beganAtMs >= beginMs && beganAtMs < endMs);
    const overMs = scannedOutAtMs(own, maxBytesScanned) + stoppedWithinMs;
    if (overMs >= endMs) return [];
    // Ignores count queries, because an export may send them even after it has reached its limit on scanned bytes.
    const finding = own.filter(({ query }) => query !== undefined && !query.endsWith('| count'));
    const isBegun = ({ beganAtMs }: LiveSearch) => beganAtMs > overMs;
    const goesOn = ({ heard, endedAtMs = Number.POSITIVE_INFINITY }: LiveSearch) =>
      endedAtMs > overMs && heard.some(({ atMs }) => atMs > overMs && atMs < endMs);
    return finding
      .filter((search) => isBegun(search) || goesOn(search))
      .map(({ beganAtMs }) => {
        const what = `a search that started at ${beganAtMs - startMs} ms started or continued too late`;
        return `limits: ${what}; the limit of scanned bytes was known to be reached at ${overMs - startMs} ms`;
      });
  });
}

/**
 * Returns the time in ms at which the statuses of all search jobs first showed a total of `max` scanned bytes. Returns
 * infinity if they never did.
 */
function scannedOutAtMs(searches: readonly LiveSearch[], max: number): number {
  const heard = searches.flatMap((search) => search.heard.map((status) => ({ ...status, search })));
  const scanned = new Map<LiveSearch, number>();
  let sum = 0;
  for (const { atMs, bytes, search } of heard.sort((left, right) => left.atMs - right.atMs)) {
    const before = scanned.get(search) ?? 0;
    scanned.set(search, Math.max(before, bytes));
    sum += Math.max(before, bytes) - before;
    if (sum >= max) return atMs;
  }
  return Number.POSITIVE_INFINITY;
}
