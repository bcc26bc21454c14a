/**
 * Parked resources: the manifest was deleted, and the identity, status, ledger and requests are kept for `retentionDays`. A manifest with
 * the same name continues the resource (D4).
 */
import { join } from 'node:path';
import type { ResourceRecord } from './resource-records.ts';

/** Number of days for which the state of a resource without a manifest is kept. */
export const retentionDays = 30;
const dayMs = 24 * 3_600_000;

/** A resource was parked, or continued with a manifest again. */
export interface Notice {
  readonly kind: 'parked' | 'continued';
  /** The record in its parked form. */
  readonly record: ResourceRecord;
}

/** Wall time at which a parked record is discarded. */
export function keptUntil({ parkedSince = '' }: ResourceRecord): number {
  return Date.parse(parkedSince) + retentionDays * dayMs;
}

/** Renders a notice with its consequence and remedy. `forget` is the command that discards the state. */
export function renderNotice({ kind, record }: Notice, forget: string): string {
  const { directory, manifest, parkedSince, resource } = record;
  const name = `${resource.kind} ${resource.metadata.namespace}/${resource.metadata.name}`;
  const file = join(directory, manifest);
  if (kind === 'continued')
    return `${name} has a manifest again and continues where it was; it was parked since ${parkedSince}`;
  const until = new Date(keptUntil(record)).toISOString().slice(0, 10);
  return (
    `${name} is no longer in ${file}: it counts as deleted, and starts nothing more. Its state is kept until ${until}: restore the ` +
    `manifest to continue, or discard the state: ${forget}`
  );
}
