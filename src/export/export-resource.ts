/** Code for exports that run in the operator's process and for exports that run in a Kubernetes Job. */
import type { SearchExport } from '../api/kinds.ts';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import { type Result, requeue } from '../controller/reconciler.ts';
import type { Host, ResourceKey } from '../host/host.ts';

/** Secret with the credentials of the log service. */
export function secretOf({ metadata: { namespace }, spec }: SearchExport): ResourceKey {
  return { namespace, name: spec.credentialsSecretRef.name };
}

/** Name by which an export is woken when one of its Secrets changes. */
export function waiterOf({ namespace, name }: ResourceKey): string {
  return `SearchExport ${namespace}/${name}`;
}

/** Ends a reconcile. Removes an export that finished longer than `ttlSecondsAfterFinished` ago, or requests a reconcile for that time. */
export async function untilRemoval(
  resource: SearchExport,
  { host, clock, log }: { readonly host: Host; readonly clock: Clock; readonly log: Logger },
  delayMs: number,
  isSettled: boolean,
): Promise<Result> {
  const { ttlSecondsAfterFinished: ttl } = resource.spec;
  const endedAt = resource.status?.completionTime;
  if (ttl === undefined || endedAt === undefined || !host.canRemove(resource)) return requeue(delayMs, isSettled);
  const leftMs = Date.parse(endedAt) + ttl * 1_000 - clock.now();
  if (leftMs > 0) return requeue(Math.min(delayMs, leftMs), isSettled);
  log.info('the export is removed after ttlSecondsAfterFinished; its files stay', { ttlSeconds: ttl });
  await host.remove(resource);
  return requeue(delayMs, isSettled);
}
