/** Details of the selected resource: state, commands, conditions and spec. */
import { useEffect, useRef } from 'preact/hooks';
import { type AnyResource, kinds } from '../../../api/kinds.ts';
import { renderCount } from '../../render/text.ts';
import type { ResourceDetail } from '../page-data.ts';
import { ExportDetail } from './export-detail.tsx';
import { Ago, Command, Section, StateChip, TableSection } from './parts.tsx';
import { PolicyDetail } from './policy-detail.tsx';
import { ScheduleDetail } from './schedule-detail.tsx';
import type { ShownDetail } from './server-data.ts';

interface PaneProps {
  readonly id: string;
  readonly detail: ShownDetail;
  /** Number of resources in the list. */
  readonly total: number;
}

export function DetailPane({ id, detail, total }: PaneProps) {
  if (id === '') return <p class="nothing">{renderCount(total, 'resource')}. Select one to see its details.</p>;
  if (detail === undefined) return <p class="nothing">Reading {id} …</p>;
  return (
    <article>
      <p class="back">
        <a href="/#">‹ All resources</a>
      </p>
      {detail === null ? <p class="nothing">{id} does not exist any more.</p> : <Detail key={id} detail={detail} />}
    </article>
  );
}

function Detail({ detail }: { detail: ResourceDetail }) {
  const { resource, commands } = detail;
  return (
    <>
      <Head detail={detail} />
      <Callout detail={detail} />
      <KindDetail resource={resource} />
      <Section title="Commands">
        <Commands commands={commands.filter(({ isAwaited }) => !isAwaited)} />
      </Section>
      <TableSection
        title="Conditions"
        rows={resource.status?.conditions}
        columns={{
          Type: 'type',
          Status: 'status',
          Reason: 'reason',
          Since: ({ lastTransitionTime }) => <Ago time={lastTransitionTime} />,
          Message: 'message',
        }}
      />
      <Section title="Spec">
        <details>
          <summary>Generation {resource.metadata.generation} as JSON</summary>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable with the keyboard. */}
          <pre tabIndex={0}>{JSON.stringify(resource.spec, undefined, 2)}</pre>
        </details>
      </Section>
    </>
  );
}

function KindDetail({ resource }: { resource: AnyResource }) {
  switch (resource.kind) {
    case 'CollectorVersionPolicy':
      return <PolicyDetail policy={resource} />;
    case 'SearchExport':
      return <ExportDetail resource={resource} />;
    case 'SearchExportSchedule':
      return <ScheduleDetail schedule={resource} />;
  }
}

function Head({ detail }: { detail: ResourceDetail }) {
  const heading = useRef<HTMLHeadingElement>(null);
  // Moves the focus to the details in a narrow window, because the list is hidden there.
  useEffect(() => {
    if (matchMedia('(max-width: 760px)').matches) heading.current?.focus();
  }, []);
  const { kind, namespace, name, resource } = detail;
  const { owner } = resource.metadata;
  return (
    <div class="head">
      <p class="muted">
        {kind} in namespace {namespace}
        {owner && (
          <>
            , created by <a href={`#${kinds[owner.kind].shortName}/${namespace}/${owner.name}`}>{owner.name}</a>
          </>
        )}
      </p>
      <h2 ref={heading} tabIndex={-1}>
        {name} <StateChip state={detail.state} tone={detail.tone} />
      </h2>
    </div>
  );
}

/** State of the resource, what it is waiting for, and commands. */
function Callout({ detail: { tone, resource, messages, commands } }: { detail: ResourceDetail }) {
  const conditions = resource.status?.conditions ?? [];
  const ready = conditions.find(({ type }) => type === 'Ready')?.message;
  const others = conditions.filter(({ type }) => problems.includes(type)).map(({ message }) => message);
  const texts = [...new Set([ready ?? '', ...messages, ...others])].filter((text) => text !== '');
  return (
    <div class="callout" data-tone={tone}>
      {texts.map((text) => (
        <p key={text}>{text}</p>
      ))}
      <Commands commands={commands.filter(({ isAwaited }) => isAwaited)} />
    </div>
  );
}

/** Conditions that report a problem in addition to the state. */
const problems: readonly string[] = ['Outage', 'Overlapping', 'OtherOperator', 'Failed'];

function Commands({ commands }: Pick<ResourceDetail, 'commands'>) {
  return commands.map(({ purpose, command }) => <Command key={command} purpose={purpose} command={command} />);
}
