/** Renders a resource of any kind, either completely or in one line. */
import type { AnyResource } from '../../api/kinds.ts';
import { keyText } from '../../base/key-text.ts';
import { conditionOf, holds } from './condition-lines.ts';
import { exportWait, renderExport, renderExportLine, renderFound } from './export-view.ts';
import { policyWait, renderPolicy, renderSummaryLine } from './policy-view.ts';
import { printable } from './text.ts';
import type { Moment, ViewOptions } from './view-layout.ts';

/** Renders the state and the figures of a resource. Without a maximum height, all details are shown. */
export function renderResource(resource: AnyResource, moment: Moment, options: ViewOptions): readonly string[] {
  switch (resource.kind) {
    case 'CollectorVersionPolicy':
      return renderPolicy(resource, moment, options);
    case 'SearchExport':
      return renderExport(resource, moment, options);
  }
}

interface StateLine {
  /** Key that changes with the state and the figures. A line is printed only if its key differs from that of the line before. */
  readonly key: string;
  readonly line: string;
  /** Reason for waiting at the end of the line. */
  readonly wait: string | undefined;
}

/** Renders the state of a resource in one line, with the reason for waiting. Undefined if the resource has no status. */
export function renderLine({ kind, metadata, status }: AnyResource): StateLine | undefined {
  if (status === undefined) return undefined;
  const name = keyText(metadata);
  const isPolicy = kind === 'CollectorVersionPolicy';
  const [figures, reason] = isPolicy
    ? [renderSummaryLine(name, status), policyWait(status)]
    : [renderExportLine(name, status), exportWait(status)];
  const wait = reason === undefined ? undefined : printable(reason);
  // The number of rows of an export changes all the time, so only its state and its progress are part of the key.
  const key = isPolicy ? figures : `${status.summary?.state} ${status.summary?.progress}`;
  return { key, line: wait === undefined ? figures : `${figures}: ${wait}`, wait };
}

/**
 * Returns why nothing happens on a resource, or why a state lasts long, for outputs without a terminal. Undefined if the resource is ready.
 * Also undefined for a policy with upgrades in flight.
 */
export function renderReason({ kind, status }: AnyResource): string | undefined {
  const ready = conditionOf(status, 'Ready');
  if (!ready || holds(status, 'Ready')) return undefined;
  if (!holds(status, 'Reconciling')) return printable(ready.message);
  if (kind === 'CollectorVersionPolicy') {
    const wait = policyWait(status ?? {});
    return wait === undefined ? undefined : printable(wait);
  }
  return printable([ready.message, renderFound(status?.jobs)].filter((part) => part !== undefined).join(' '));
}
