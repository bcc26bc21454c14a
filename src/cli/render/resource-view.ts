/** Views of a resource of any kind: details, live view, and one line. */

import type { AnyResource } from '../../api/kinds.ts';
import { keyText } from '../../base/key-text.ts';
import { conditionOf, holds, renderBehind } from './condition-lines.ts';
import { renderFound } from './export-figures.ts';
import { renderExportLine, renderExportLive, waitMessage } from './export-live-view.ts';
import { renderExport } from './export-view.ts';
import { outageMessage, renderFleet, renderSummaryLine } from './fleet-view.ts';
import type { LiveMoment, LiveViewOptions } from './live-parts.ts';
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

export function renderLive(resource: AnyResource, moment: LiveMoment, options: LiveViewOptions): readonly string[] {
  const view = { ...moment, name: keyText(resource.metadata), behind: renderBehind(resource) };
  switch (resource.kind) {
    case 'CollectorVersionPolicy':
      return renderFleet({ ...view, status: resource.status }, options);
    case 'SearchExport':
      return renderExportLive({ ...view, status: resource.status }, options);
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
  const name = keyText(metadata);
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
  const name = keyText(metadata);
  return { name, message: printable([ready.message, found].filter((part) => part !== undefined).join(' ')) };
}
