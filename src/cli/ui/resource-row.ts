/** Builds the data that the page of `logfleet ui` shows about a resource: its row in the list, and its details. */
import { type AnyResource, kinds, referenceOf } from '../../api/kinds.ts';
import { keyText } from '../../base/key-text.ts';
import type { TargetOptions } from '../command/options.ts';
import { collectorStates } from '../render/bars.ts';
import { conditionOf, renderBehind, toneOf } from '../render/condition-lines.ts';
import { resumeStep } from '../render/next-steps.ts';
import { withoutOldFigures } from '../render/policy-view.ts';
import { viewOf } from '../render/resource-view.ts';
import { capitalised } from '../render/text.ts';
import { noOperator } from '../render/view-layout.ts';
import type { ListRow, ResourceDetail } from './page-data.ts';
import { resourceCommands } from './resource-commands.ts';

export function idOf({ kind, metadata }: AnyResource): string {
  return `${kinds[kind].shortName}/${keyText(metadata)}`;
}

export function rowOf(resource: AnyResource): ListRow {
  const { kind, metadata, status } = resource;
  const tone = toneOf(resource);
  return {
    id: idOf(resource),
    kind,
    namespace: metadata.namespace,
    name: metadata.name,
    state: status?.summary?.state ?? 'Unknown',
    tone,
    ...figuresOf(resource),
    note: noteOf(resource, tone === 'stalled' || tone === 'waiting'),
  };
}

/**
 * Returns the numbers in the row of a resource: the progress, the lag of a schedule, and the lengths of the progress
 * bar.
 */
function figuresOf(resource: AnyResource): Pick<ListRow, 'figure' | 'lagSince' | 'bar'> {
  switch (resource.kind) {
    case 'CollectorVersionPolicy': {
      const { summary, collectors } = withoutOldFigures(resource.status);
      return {
        ...(summary?.updated === undefined ? {} : { figure: summary.updated }),
        ...(collectors && { bar: collectorStates.map(({ member }) => collectors[member]) }),
      };
    }
    case 'SearchExport': {
      const { progress } = resource.status ?? {};
      if (!progress) return {};
      const { coveredPercent } = progress;
      return { figure: `${coveredPercent}%`, bar: [coveredPercent, 100 - coveredPercent] };
    }
    case 'SearchExportSchedule': {
      const lagSince = resource.status?.summary?.lagSince;
      return lagSince === undefined ? {} : { lagSince };
    }
  }
}

function noteOf(resource: AnyResource, isStopped: boolean): string {
  const { status } = resource;
  if (!status) return noOperator;
  const message = conditionOf(status, 'Ready')?.message ?? '';
  return isStopped ? message : viewOf(resource).figuresOf(status) || message;
}

/** Returns the details of a resource for the page. `options` select the cluster or the directory. */
export function detailOf(resource: AnyResource, options: TargetOptions): ResourceDetail {
  return {
    ...rowOf(resource),
    resource: shownResource(resource),
    messages: messagesOf(resource),
    commands: resourceCommands(resource, options),
  };
}

/** Removes labels, annotations and outdated numbers. */
function shownResource(resource: AnyResource): AnyResource {
  const { name, namespace, uid, generation, resourceVersion, creationTimestamp, owner } = resource.metadata;
  const identity = { name, namespace, uid, generation, resourceVersion, creationTimestamp };
  const metadata = { ...identity, annotations: {}, ...(owner && { owner }) };
  if (resource.kind !== 'CollectorVersionPolicy' || !resource.status) return { ...resource, metadata };
  return { ...resource, metadata, status: withoutOldFigures(resource.status) };
}

function messagesOf(resource: AnyResource): readonly string[] {
  const { spec, status, kind, metadata } = resource;
  const behind = renderBehind(resource);
  const byManifest = spec.paused
    ? resumeStep({ ...resource, metadata: { ...metadata, annotations: {} } }, {})
    : undefined;
  return [
    ...(status ? [] : [noOperator]),
    ...(behind === undefined ? [] : [`${capitalised(behind)}.`]),
    ...(byManifest === undefined ? [] : [`To resume ${referenceOf(kind, metadata)}, ${byManifest}.`]),
  ];
}
