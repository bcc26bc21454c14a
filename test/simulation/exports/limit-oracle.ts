/** Checks (oracle) that an export keeps its limits on rows, time and scanned bytes until a user raises them. */
import type { LiveSearch } from './live-data.ts';
import type { ExportHistoryRecord } from './record.ts';
import { countingRecords } from './standing-verdicts.ts';

/** Maximum time in ms between the sending of a request and its arrival at the service. */
const underWayMs = 1_000;
/**
 * Maximum time in ms after a limit is reached until all searches stop. The process notices within a second that the limit is
 * reached, and may send one further request before that.
 */
const stoppedWithinMs = 1_000 + 2 * underWayMs;

export function limitViolations(history: ExportHistoryRecord): string[] {
  // A second process does not know the searches of the first process, so it cannot keep limits that apply to both together. Such
  // histories are not checked.
  if (history.plan.actions.some(({ kind }) => kind === 'start')) return [];
  return [...rowLimitViolations(history), ...deadlineViolations(history), ...scanViolations(history)];
}

/**
 * Checks that an export stops at its row limit, `maxMessages`. The program reads a running search job to the end, so the export may exceed
 * the limit by the rows of one search job or of one dense millisecond.
 */
function rowLimitViolations({ plan, task, store, records, startMs, unheardCalls }: ExportHistoryRecord): string[] {
  const { limits, scenario, calmAtMs } = plan;
  const { messageLimit } = scenario.search ?? {};
  // When the service raises its limit of rows per search during the history, the program cannot know in advance how many rows a search
  // returns. Such histories are not checked.
  const isSteady = Object.keys(scenario.events ?? {}).length === 0;
  if (limits.maxMessages === undefined || messageLimit === undefined || !isSteady) return [];
  // A record (commit file of an interval) does not count yet if its write succeeded but was answered with an error. The process
  // learns of such a record only when it lists the records again.
  const isUnheardOf = (name: string) => unheardCalls.some((call) => call.startsWith('create ') && call.endsWith(name));
  const early = records.filter(({ atMs }) => atMs - startMs < calmAtMs);
  const unheard = new Set(early.filter(({ name }) => isUnheardOf(name)).map(({ record }) => record));
  const largest = Math.max(messageLimit, ...early.map(({ record }) => record.written));
  const most = limits.maxMessages - 1 + largest;
  const rounds = countingRecords({ task, store }, early);
  return rounds.flatMap((counting, round) => {
    const heard = counting.filter((record) => !unheard.has(record));
    const rows = heard.reduce((sum, { written }) => sum + written, 0);
    const limit = `${limits.maxMessages} were asked for at most`;
    return rows > most ? [`limits: ${rows} rows count after round ${round} of the proof, and ${limit}`] : [];
  });
}

function deadlineViolations({ plan, journal, startMs, disturbances }: ExportHistoryRecord): string[] {
  const { limits, skewMs, calmAtMs } = plan;
  // A process that was frozen may still send a request that it prepared before the deadline. Such histories are not checked.
  if (limits.deadlineAfterMs === undefined || disturbances.some((what) => what.startsWith('freeze'))) return [];
  const overMs = startMs + limits.deadlineAfterMs + skewMs + underWayMs;
  const late = journal.filter(
    ({ operation, at }) => operation === 'createJob' && at > overMs && at < startMs + calmAtMs,
  );
  return late.map(({ at }) => `limits: a search was begun ${at - startMs} ms after the begin, when time was over`);
}

/**
 * Checks the limit of scanned bytes. Each process is checked separately, because a process knows only the search jobs that it
 * created itself.
 */
function scanViolations({ plan, searches, startMs, starts, disturbances }: ExportHistoryRecord): string[] {
  const { limits, scenario, calmAtMs } = plan;
  const { maxBytesScanned } = limits;
  const kinds = Object.values(scenario.faults ?? {}).map(({ kind }) => kind);
  // Two kinds of faults make this check impossible: a process cannot read the scanned bytes of an invalid status, and a frozen
  // process sends late the requests on which it decided earlier.
  const isUnsure = kinds.includes('wrongTypes') || disturbances.some((what) => what.startsWith('freeze'));
  if (maxBytesScanned === undefined || isUnsure) return [];
  return starts.flatMap((beginMs, index) => {
    const endMs = Math.min(starts[index + 1] ?? Number.POSITIVE_INFINITY, startMs + calmAtMs);
    const own = searches.filter(({ beganAtMs }) => beganAtMs >= beginMs && beganAtMs < endMs);
    const overMs = scannedOutAtMs(own, maxBytesScanned) + stoppedWithinMs;
    if (overMs >= endMs) return [];
    // Count queries are left out, because the export may still run them after the limit of scanned bytes is reached.
    const finding = own.filter(({ query }) => query !== undefined && !query.endsWith('| count'));
    const isBegun = ({ beganAtMs }: LiveSearch) => beganAtMs > overMs;
    const goesOn = ({ heard, endedAtMs = Number.POSITIVE_INFINITY }: LiveSearch) =>
      endedAtMs > overMs && heard.some(({ atMs }) => atMs > overMs && atMs < endMs);
    return finding
      .filter((search) => isBegun(search) || goesOn(search))
      .map(({ beganAtMs }) => {
        const what = `a search was begun ${beganAtMs - startMs} ms after the begin, or went on`;
        return `limits: ${what}, when it was known by ${overMs - startMs} that enough was scanned`;
      });
  });
}

/**
 * Time at which the statuses of all search jobs together had reported at least this number of scanned bytes; infinite if they
 * never did.
 */
function scannedOutAtMs(searches: readonly LiveSearch[], most: number): number {
  const heard = searches.flatMap((search) => search.heard.map((status) => ({ ...status, search })));
  const scanned = new Map<LiveSearch, number>();
  let sum = 0;
  for (const { atMs, bytes, search } of heard.sort((left, right) => left.atMs - right.atMs)) {
    const before = scanned.get(search) ?? 0;
    scanned.set(search, Math.max(before, bytes));
    sum += Math.max(before, bytes) - before;
    if (sum >= most) return atMs;
  }
  return Number.POSITIVE_INFINITY;
}
