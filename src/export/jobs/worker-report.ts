/**
 * Report of a worker: the result of an export that ran in a Kubernetes Job. The worker writes it as the termination message of its
 * container, which the operator reads from the pod. Kubernetes keeps at most 4,096 bytes.
 */
import { isRecord } from '../../base/record.ts';

const maxBytes = 4_096;
const maxMessage = 1_024;
const shortMessage = 256;

export interface WorkerReport {
  /** How the export ended. `stalled` and `failed` need a person. */
  readonly end: 'complete' | 'failed' | 'stalled';
  /** Reason of the condition `Ready`. */
  readonly reason: string;
  readonly message: string;
  /** Members of the status that are known only to the worker, in the form of the status. */
  readonly status: Readonly<Record<string, unknown>>;
}

/** Members of an export's status that a report contains. The API server checks their form again when the operator writes them. */
const reportedMembers = ['timeRange', 'fingerprint', 'location', 'manifest', 'summary', 'progress'] as const;

/** Text of a report, with at most 4,096 bytes of UTF-8. A long message is cut, and members that are too long are left out. */
export function renderReport(report: WorkerReport): string {
  const known = Object.fromEntries(
    reportedMembers.flatMap((name) => (report.status[name] === undefined ? [] : [[name, report.status[name]]])),
  );
  // A schedule records a complete run by its manifest and its fingerprint.
  const { manifest, fingerprint } = known;
  const candidates = [
    { ...report, message: report.message.slice(0, maxMessage), status: known },
    { ...report, message: report.message.slice(0, shortMessage), status: known },
    { ...report, message: report.message.slice(0, shortMessage), status: { manifest, fingerprint } },
    { ...report, message: report.message.slice(0, shortMessage), status: {} },
  ];
  const texts = candidates.map((candidate) => JSON.stringify(candidate));
  return texts.find((text) => Buffer.byteLength(text) <= maxBytes) ?? '';
}

/** Reads the report in a termination message; undefined if the message is none. */
export function readReport(text: string | undefined): WorkerReport | undefined {
  const { end, reason, message, status } = parse(text);
  if (end !== 'complete' && end !== 'failed' && end !== 'stalled') return undefined;
  if (typeof reason !== 'string' || typeof message !== 'string' || !isRecord(status)) return undefined;
  return { end, reason, message, status };
}

function parse(text: string | undefined): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text ?? '');
    return isRecord(value) ? value : {};
  } catch {
    return {};
  }
}
