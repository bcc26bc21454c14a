/** Code shared by exports that run in the operator's process and in Kubernetes Jobs. */
import type { Account, Accounts } from '../../account/accounts.ts';
import { reasons } from '../../api/conditions.ts';
import { renderExplanation } from '../../api/finding.ts';
import type { DestinationSpec } from '../../api/generated/search-export.ts';
import type { SearchExport } from '../../api/kinds.ts';
import type { Clock } from '../../base/clock.ts';
import { failure } from '../../base/errors.ts';
import { keyText } from '../../base/key-text.ts';
import type { Logger } from '../../base/log.ts';
import { pauseOf } from '../../controller/pauses.ts';
import { type Result, requeue } from '../../controller/reconciler.ts';
import { unconfirmedRequest } from '../../controller/status-text.ts';
import type { Host, ResourceKey } from '../../host/host.ts';
import { type ExportDefinition, exportDefinition } from '../search/export-definition.ts';
import type { ExportSettings } from './export-settings.ts';
import { requestOf } from './export-spec.ts';

export interface RuntimeOptions {
  readonly host: Host;
  readonly accounts: Accounts;
  readonly clock: Clock;
  readonly log: Logger;
  readonly settings: ExportSettings;
  readonly enqueue: (key: ResourceKey, isActive?: boolean) => void;
  /** True if this process is shutting down. */
  readonly draining: () => boolean;
}

/** Returns the key of the Secret with the credentials for the log service. */
export function secretOf({ metadata: { namespace }, spec }: SearchExport): ResourceKey {
  return { namespace, name: spec.credentialsSecretRef.name };
}

/** Returns the name of the Secret with the object store's credentials. */
export function storeSecretName({ s3, azureBlob, gcs }: DestinationSpec): string | undefined {
  return (s3 ?? azureBlob ?? gcs)?.credentialsSecretRef?.name;
}

/** Returns the names of all Secrets that a spec refers to. */
export function secretNames({ spec }: Pick<SearchExport, 'spec'>): readonly string[] {
  const ofStore = storeSecretName(spec.destination);
  return [...new Set([spec.credentialsSecretRef.name, ...(ofStore === undefined ? [] : [ofStore])])];
}

/** Returns the keys of all Secrets that an export refers to. */
export function secretsOf(resource: SearchExport): readonly ResourceKey[] {
  const { namespace } = resource.metadata;
  return secretNames(resource).map((name) => ({ namespace, name }));
}

/** Reads the account and the settings of an export. Throws an error with advice for the user. */
export async function resolveDefinition(
  resource: SearchExport,
  accounts: Accounts,
): Promise<{ readonly account: Account; readonly definition: ExportDefinition }> {
  const account = await accounts.resolve(secretOf(resource));
  const definition = exportDefinition(requestOf(resource), new URL(account.serviceId).host);
  if (!('problem' in definition)) return { account, definition };
  const message = `spec.${definition.member}: ${renderExplanation(definition)}`;
  throw failure('stall', 'export.spec', message, { reason: reasons.invalidSpec });
}

/** Returns the user's request for a check that the status does not confirm yet. During a pause, requests wait. */
export function checkRequestOf(resource: SearchExport, host: Pick<Host, 'settings'>): string | undefined {
  return pauseOf(resource, host) === undefined ? unconfirmedRequest(resource) : undefined;
}

/** Returns the name under which an export waits for changes to its Secrets. */
export function waiterOf(key: ResourceKey): string {
  return `SearchExport ${keyText(key)}`;
}

/**
 * Removes the export if `ttlSecondsAfterFinished` has passed. Otherwise, schedules a reconcile for the time when it
 * will have passed.
 */
export async function untilRemoval(
  resource: SearchExport,
  { host, clock, log }: Pick<RuntimeOptions, 'host' | 'clock' | 'log'>,
  delayMs: number,
  isFinished: boolean,
): Promise<Result> {
  const { ttlSecondsAfterFinished: ttl } = resource.spec;
  const endedAt = resource.status?.completionTime;
  if (ttl === undefined || endedAt === undefined || !host.canRemove(resource)) return requeue(delayMs, isFinished);
  const leftMs = Date.parse(endedAt) + ttl * 1_000 - clock.now();
  if (leftMs > 0) return requeue(Math.min(delayMs, leftMs), isFinished);
  log.info('removing the export, because ttlSecondsAfterFinished has passed; its files are kept', { ttlSeconds: ttl });
  await host.remove(resource);
  return requeue(delayMs, isFinished);
}
