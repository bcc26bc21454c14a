/** What an export may take at most, until a person asks for more: rows, and time. */
import type { ExportHistoryRecord } from './record.ts';

/** A request that set out in time arrives later. */
const underWayMs = 1_000;

export function limitViolations(history: ExportHistoryRecord): string[] {
  // Another process knows of no search that it did not begin itself.
  if (history.plan.actions.some(({ kind }) => kind === 'start')) return [];
  return [...rowLimitViolations(history), ...deadlineViolations(history)];
}

/** What runs is read to its end: the rows of one search may be too many, or those of a dense millisecond. */
function rowLimitViolations({ plan, records, startMs, unheardCalls }: ExportHistoryRecord): string[] {
  const { limits, scenario, calmAtMs } = plan;
  const { messageLimit } = scenario.search ?? {};
  // Nobody knows beforehand of a limit that grows.
  const isSteady = Object.keys(scenario.events ?? {}).length === 0;
  if (limits.maxMessages === undefined || messageLimit === undefined || !isSteady) return [];
  // Such a record is known once records are listed again.
  const isUnheardOf = (name: string) => unheardCalls.some((call) => call.startsWith('create ') && call.endsWith(name));
  const early = records.filter(({ atMs, name }) => atMs - startMs < calmAtMs && !isUnheardOf(name));
  const rows = early.reduce((sum, { record }) => sum + record.written, 0);
  const largest = Math.max(messageLimit, ...early.map(({ record }) => record.written));
  const most = limits.maxMessages - 1 + largest;
  return rows > most ? [`limits: ${rows} rows were written, and ${limits.maxMessages} were asked for at most`] : [];
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
