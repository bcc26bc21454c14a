/** The views of one resource, whatever its kind: in full, while it moves, and in a line. */
import type { AnyResource } from '../resource-access.ts';
import { conditionOf, holds, renderBehind } from './condition-lines.ts';
import { renderFound } from './export-figures.ts';
import { renderExportLine, renderExportLive } from './export-live-view.ts';
import { renderExport } from './export-view.ts';
import { renderFleet, renderSummaryLine } from './fleet-view.ts';
import type { LiveEvent, LiveViewOptions } from './live-parts.ts';
import { printable } from './palette.ts';
import { renderPolicy, type ViewOptions } from './policy-view.ts';

/** For `get KIND NAME`. */
export function renderResource(resource: AnyResource, options: ViewOptions): readonly string[] {
  switch (resource.kind) {
    case 'CollectorVersionPolicy':
      return renderPolicy(resource, options);
    case 'SearchExport':
      return renderExport(resource, options);
  }
}

/** What a view of something that moves needs beside the resource. */
export interface LiveMoment {
  readonly nowMs: number;
  /** Since the run began; undefined for who only watches. */
  readonly elapsedMs?: number;
  /** Of a policy; undefined before there is anything to count. */
  readonly updatedPerMinute: number | undefined;
  /** Over the last whole seconds; undefined before the first. */
  readonly requestsPerSecond?: number | undefined;
  /** Oldest first. */
  readonly events: readonly LiveEvent[];
  readonly wayOn: string | undefined;
  readonly approve: string | undefined;
}

export function renderLive(resource: AnyResource, moment: LiveMoment, options: LiveViewOptions): readonly string[] {
  const { nowMs, events, wayOn, approve, elapsedMs, updatedPerMinute, requestsPerSecond } = moment;
  const common = {
    name: `${resource.metadata.namespace}/${resource.metadata.name}`,
    nowMs,
    events,
    wayOn,
    behind: renderBehind(resource),
    ...(elapsedMs === undefined ? {} : { elapsedMs }),
    ...(requestsPerSecond === undefined ? {} : { requestsPerSecond }),
  };
  switch (resource.kind) {
    case 'CollectorVersionPolicy': {
      const pace = updatedPerMinute === undefined ? {} : { updatedPerMinute };
      return renderFleet({ ...common, ...pace, status: resource.status, approve }, options);
    }
    case 'SearchExport':
      return renderExportLive({ ...common, status: resource.status }, options);
  }
}

/** Undefined as long as nothing is known. `key` changes when the line is worth saying again. */
export function renderLine(resource: AnyResource): { readonly key: string; readonly line: string } | undefined {
  const { kind, metadata, status } = resource;
  if (status === undefined) return undefined;
  const name = `${metadata.namespace}/${metadata.name}`;
  switch (kind) {
    case 'CollectorVersionPolicy': {
      const line = renderSummaryLine(name, status);
      return { key: line, line };
    }
    case 'SearchExport': {
      const { state, progress } = status.summary ?? {};
      return { key: `${state} ${progress}`, line: renderExportLine(name, status) };
    }
  }
}

/**
 * Why it stands, or what it is at, for whoever has heard nothing for a while; undefined where there is nothing to add: it is ready, or
 * a policy at work without an outage, whose counts say it.
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
