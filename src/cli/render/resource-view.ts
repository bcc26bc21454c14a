/** Renders a resource of any kind, in full or in one line. */
import type { AnyResource, KindName, ResourceOf } from '../../api/kinds.ts';
import { keyText } from '../../base/key-text.ts';
import { conditionOf, holds } from './condition-lines.ts';
import { exportView } from './export-view.ts';
import { policyView } from './policy-view.ts';
import { scheduleView } from './schedule-view.ts';
import { printable } from './text.ts';
import type { KindView } from './view-layout.ts';

const views: { readonly [K in KindName]: KindView<ResourceOf<K>> } = {
  CollectorVersionPolicy: policyView,
  SearchExport: exportView,
  SearchExportSchedule: scheduleView,
};

export function viewOf({ kind }: AnyResource): KindView<AnyResource> {
  return views[kind] as KindView<AnyResource>;
}

interface StateLine {
  /**
   * Text that identifies the state and the progress. If the output is not a terminal, a new line is printed only when
   * this text changes.
   */
  readonly key: string;
  readonly line: string;
  /** Reason why the resource is waiting, to be shown at the end of the line. */
  readonly wait: string | undefined;
}

/** Renders the state of a resource in one line. Returns undefined if the resource has no status yet. */
export function renderLine(resource: AnyResource): StateLine | undefined {
  const { metadata, status } = resource;
  if (status === undefined) return undefined;
  const view = viewOf(resource);
  const state = status.summary?.state ?? 'Unknown';
  const figures = view.figuresOf(status);
  const details = figures === '' ? '' : `; ${figures}`;
  const line = printable(`${keyText(metadata)}: ${state}${details}`);
  const reason = view.waitOf(status);
  const wait = reason === undefined ? undefined : printable(reason);
  const key = `${state} ${view.keyOf?.(status) ?? figures}`;
  return { key, line: wait === undefined ? line : `${line}: ${wait}`, wait };
}

/** Returns the reason why a resource makes no progress. Returns undefined if it is ready or has upgrades in flight. */
export function renderReason(resource: AnyResource): string | undefined {
  const { status } = resource;
  const ready = conditionOf(status, 'Ready');
  if (!status || !ready || holds(status, 'Ready')) return undefined;
  const reason = holds(status, 'Reconciling') ? viewOf(resource).reasonOf(status) : ready.message;
  return reason === undefined ? undefined : printable(reason);
}
