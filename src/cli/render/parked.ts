/** Parked resources as text: why each one is missing, until when its state is kept, and what to do. */
import { kinds } from '../../api/kinds.ts';
import type { TargetOptions } from '../options.ts';
import type { ParkedResource } from '../resources/resource-reader.ts';
import { targetFlags } from '../resources/target-flags.ts';
import { renderMinute } from './moment.ts';
import { renderTable } from './table.ts';

/** A table with a title and possible commands. Empty without parked resources. `options` are the flags of the directory. */
export function renderParked(
  parked: readonly ParkedResource[],
  { namespace: _, ...place }: TargetOptions,
): readonly string[] {
  if (parked.length === 0) return [];
  const rows = parked.map(({ kind, key, file, sinceMs, untilMs }) => [
    key.namespace,
    referenceOf({ kind, key }),
    file,
    renderMinute(sinceMs),
    renderMinute(untilMs),
  ]);
  return [
    'Parked: the manifest is missing, and the state is kept',
    ...renderTable(['Namespace', 'Resource', 'Manifest', 'Missing since', 'Kept until'], rows),
    `Restore the manifest to continue, or discard the state: logfleet forget KIND/NAME -n NAMESPACE${targetFlags(place)}`,
  ];
}

/** Sentence about one parked resource, for a command that looks for it. */
export function parkedText(parked: ParkedResource, options: TargetOptions): string {
  const { key, file, sinceMs, untilMs } = parked;
  const forget = `logfleet forget ${referenceOf(parked)}${targetFlags({ ...options, namespace: key.namespace })}`;
  return (
    `${referenceOf(parked)} in namespace ${key.namespace} is parked: its manifest in ${file} is missing since ` +
    `${renderMinute(sinceMs)}. Its state is kept until ${renderMinute(untilMs)}. Restore the manifest to continue, or discard ` +
    `the state: ${forget}`
  );
}

function referenceOf({ kind, key }: Pick<ParkedResource, 'kind' | 'key'>): string {
  return `${kinds[kind].shortNames[0]}/${key.name}`;
}
