/** Views of a resource of any kind: details, live view, and one line. */

import type { AnyResource } from '../../api/kinds.ts';
import { conditionOf, holds, renderBehind } from './condition-lines.ts';
import { renderFound } from './export-figures.ts';
import { renderExportLine, renderExportLive, waitMessage } from './export-live-view.ts';
import { renderExport } from './export-view.ts';
import { outageMessage, renderFleet, renderSummaryLine } from './fleet-view.ts';
import type { LiveEvent, LiveViewOptions } from './live-parts.ts';
import type { NextSteps } from './next-steps.ts';
import { renderPolicy, type ViewOptions } from './policy-view.ts';
import { printable } from './text.ts';

/** Details for `get KIND NAME`. */
export function renderResource(resource: AnyResource, options: ViewOptions): readonly string[] {
  switch (resource.kind) {
    case 'CollectorVersionPolicy':
      return renderPolicy(resource, options);
    case 'SearchExport':
      return renderExport(resource, options);
  }
}

/** Data of a live view beside the resource. */
interface LiveMoment {
  readonly nowMs: number;
  /** Time since the start of the run, in ms. Undefined for `get --watch`. */
  readonly elapsedMs?: number;
  /** For policies. Undefined until there is something to count. */
  readonly updatedPerMinute: number | undefined;
  /** Over the last whole seconds. Undefined until the first request. */
  readonly requestsPerSecond?: number | undefined;
  /** Oldest first. */
  readonly events: readonly LiveEvent[];
  readonly steps: NextSteps;
}

export function renderLive(resource: AnyResource, moment: LiveMoment, options: LiveViewOptions): readonly string[] {
  const { nowMs, events, steps, elapsedMs, updatedPerMinute, requestsPerSecond } = moment;
  const common = {
    name: `${resource.metadata.namespace}/${resource.metadata.name}`,
    nowMs,
    events,
    steps,
    behind: renderBehind(resource),
    ...(elapsedMs === undefined ? {} : { elapsedMs }),
    ...(requestsPerSecond === undefined ? {} : { requestsPerSecond }),
  };
  switch (resource.kind) {
    case 'CollectorVersionPolicy': {
      const pace = updatedPerMinute === undefined ? {} : { updatedPerMinute };
      return renderFleet({ ...common, ...pace, status: resource.status }, options);
    }
    case 'SearchExport':
      return renderExportLive({ ...common, status: resource.status }, options);
  }
}

interface StateLine {
  readonly key: string;
  readonly line: string;
  /** Message of `Ready` that the line ends with. */
  readonly message: string | undefined;
}

/** Undefined without status. A line with the same `key` is not repeated. */
export function renderLine(resource: AnyResource): StateLine | undefined {
  const { kind, metadata, status } = resource;
  if (status === undefined) return undefined;
  const name = `${metadata.namespace}/${metadata.name}`;
  switch (kind) {
    case 'CollectorVersionPolicy': {
      const line = renderSummaryLine(name, status);
      return { key: line, line, message: cleaned(outageMessage(status)) };
    }
    case 'SearchExport': {
      const { state, progress } = status.summary ?? {};
      return {
        key: `${state} ${progress}`,
        line: renderExportLine(name, status),
        message: cleaned(waitMessage(status)),
      };
    }
  }
}

function cleaned(message: string | undefined): string | undefined {
  return message === undefined ? undefined : printable(message);
}

/**
 * Reason of a standstill or a long state, for outputs without a terminal. Undefined if the resource is ready, or if it is a policy at work
 * without an outage, whose counts are enough.
 */
export function renderReason({
  kind,
  metadata,
  status,
}: AnyResource): { readonly name: string; readonly message: string } | undefined {
  const ready = conditionOf(status, 'Ready');
  if (!ready || holds(status, 'Ready')) return undefined;
  const isAtWork = holds(status, 'Reconciling');
  if (isAtWork && kind !== 'SearchExport' && status?.outageStartTime === undefined) return undefined;
  const found = isAtWork && kind === 'SearchExport' ? renderFound(status?.jobs) : undefined;
  const name = `${metadata.namespace}/${metadata.name}`;
  return { name, message: printable([ready.message, found].filter((part) => part !== undefined).join(' ')) };
}
