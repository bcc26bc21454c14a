/** Renders a resource of any kind: its details, its live view, or one line. */

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

/** Lines with all details of a resource, for `get KIND NAME`. */
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
  /** Message of the `Ready` condition at the end of the line. */
  readonly message: string | undefined;
}

/**
 * State of a resource in one line. Undefined without status. A line with the same `key` as the line before need not be
 * printed again.
 */
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
 * Reason why nothing happens on a resource, or why a state lasts long, for outputs without a terminal. Undefined if the
 * resource is ready. Also undefined for a policy that is working without an outage, because its changing counts are
 * enough.
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
