/**
 * Result of an export in a Kubernetes Job. The worker writes the result as its container's termination message, in at
 * most 4,096 bytes.
 */
import { isRecord, type JsonObject, recordOfJson } from '../../base/record.ts';

const maxBytes = 4_096;
const maxMessage = 1_024;
const shortMessage = 256;

export interface WorkerReport {
  /** Result of the export. After `stalled` or `failed`, a user must correct something. */
  readonly end: 'complete' | 'failed' | 'stalled';
  /** Reason of the export's `Ready` condition. */
  readonly reason: string;
  readonly message: string;
  /** Fields of the export's status that only the worker knows. */
  readonly status: JsonObject;
}

/** Names of the status fields, besides `incomplete`, that a report may contain. */
const reportedMembers = ['timeRange', 'fingerprint', 'location', 'manifest', 'summary', 'progress'] as const;
/**
 * Maximum numbers of incomplete intervals in a report. They are tried in this order until the report is small enough.
 */
const incompleteCounts = [20, 5, 1];

/** Encodes a report in at most 4,096 bytes. Shortens or omits fields that are too long. */
export function renderReport(report: WorkerReport): string {
  const known = Object.fromEntries(
    reportedMembers.flatMap((name) => (report.status[name] === undefined ? [] : [[name, report.status[name]]])),
  );
  const { incomplete } = report.status;
  const found = Array.isArray(incomplete) ? incomplete : [];
  const withIncomplete = found.length === 0 ? [] : incompleteCounts.map((count) => found.slice(0, count));
  // The manifest and the fingerprint are the last fields to be omitted, because a schedule needs them.
  const { manifest, fingerprint } = known;
  const candidates = [
    ...withIncomplete.map((some) => ({
      ...report,
      message: report.message.slice(0, maxMessage),
      status: { ...known, incomplete: some },
    })),
    { ...report, message: report.message.slice(0, maxMessage), status: known },
    { ...report, message: report.message.slice(0, shortMessage), status: known },
    { ...report, message: report.message.slice(0, shortMessage), status: { manifest, fingerprint } },
    { ...report, message: report.message.slice(0, shortMessage), status: {} },
  ];
  const texts = candidates.map((candidate) => JSON.stringify(candidate));
  return texts.find((text) => Buffer.byteLength(text) <= maxBytes) ?? '';
}

/** Reads the report in a termination message. Returns undefined if there is none. */
export function readReport(text: string | undefined): WorkerReport | undefined {
  const { end, reason, message, status } = recordOfJson(text ?? '') ?? {};
  if (end !== 'complete' && end !== 'failed' && end !== 'stalled') return undefined;
  if (typeof reason !== 'string' || typeof message !== 'string' || !isRecord(status)) return undefined;
  return { end, reason, message, status };
}
