/** What an export may take at most, until a person asks for more: rows, time, and bytes that the service scans for it. */
import type { LiveSearch } from './live-data.ts';
import type { ExportHistoryRecord } from './record.ts';
import { countingRecords } from './standing-verdicts.ts';

/** A request that set out in time arrives later. */
const underWayMs = 1_000;
/** News of what was scanned waits for others a second at most, and what is stopped then may be about to send something. */
const stoppedWithinMs = 1_000 + 2 * underWayMs;

export function limitViolations(history: ExportHistoryRecord): string[] {
  // Another process knows of no search that it did not begin itself.
  if (history.plan.actions.some(({ kind }) => kind === 'start')) return [];
  return [...rowLimitViolations(history), ...deadlineViolations(history), ...scanViolations(history)];
}

/** A running search is read to its end: it may exceed the limit by its own rows, or by those of a dense millisecond. */
function rowLimitViolations({ plan, task, store, records, startMs, unheardCalls }: ExportHistoryRecord): string[] {
  const { limits, scenario, calmAtMs } = plan;
  const { messageLimit } = scenario.search ?? {};
  // Nobody knows beforehand of a limit that grows.
  const isSteady = Object.keys(scenario.events ?? {}).length === 0;
  if (limits.maxMessages === undefined || messageLimit === undefined || !isSteady) return [];
  // Such a record is known once records are listed again.
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
  // Who was stopped may send what it had begun to send.
  if (limits.deadlineAfterMs === undefined || disturbances.some((what) => what.startsWith('freeze'))) return [];
  const overMs = startMs + limits.deadlineAfterMs + skewMs + underWayMs;
  const late = journal.filter(
    ({ operation, at }) => operation === 'createJob' && at > overMs && at < startMs + calmAtMs,
  );
  return late.map(({ at }) => `limits: a search was begun ${at - startMs} ms after the begin, when time was over`);
}

/** Each process by itself: it knows what it heard of searches that it began. */
function scanViolations({ plan, searches, startMs, starts, disturbances }: ExportHistoryRecord): string[] {
  const { limits, scenario, calmAtMs } = plan;
  const { maxBytesScanned } = limits;
  const kinds = Object.values(scenario.faults ?? {}).map(({ kind }) => kind);
  // Who reads a status that cannot be one heard nothing of it, and who was stopped begins later what was decided before.
  const isUnsure = kinds.includes('wrongTypes') || disturbances.some((what) => what.startsWith('freeze'));
  if (maxBytesScanned === undefined || isUnsure) return [];
  return starts.flatMap((beginMs, index) => {
    const endMs = Math.min(starts[index + 1] ?? Number.POSITIVE_INFINITY, startMs + calmAtMs);
    const own = searches.filter(({ beganAtMs }) => beganAtMs >= beginMs && beganAtMs < endMs);
    const overMs = scannedOutAtMs(own, maxBytesScanned) + stoppedWithinMs;
    if (overMs >= endMs) return [];
    // What is read already is counted all the same.
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

/** When statuses had told of so many bytes; never where they did not. */
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
