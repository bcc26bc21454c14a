/** Details of a policy: collectors, stages, failures, upgrades, and former rollouts. */
import type {
  CollectorVersionPolicyStatus,
  ReasonCount,
  StageStatus,
  TaskSample,
} from '../../../api/generated/collector-version-policy.ts';
import type { CollectorVersionPolicy } from '../../../api/kinds.ts';
import { parseDuration, renderDuration } from '../../../base/duration.ts';
import { collectorStates } from '../../render/bars.ts';
import {
  renderAction,
  renderAnalysis,
  renderCounts,
  renderStageState,
  renderWindow,
} from '../../render/rollout-figures.ts';
import { renderTimeLeft } from '../../render/text.ts';
import { Legend, type Segment, StackedBar } from './charts.tsx';
import { useNow } from './clock.ts';
import { Ago, collectorSegments, Pairs, Section, TableSection } from './parts.tsx';

const shownVersions = 8;

/** Texts of the states that consist of several words. */
const stateTexts: Partial<Record<StageStatus['state'], string>> = { AwaitingApproval: 'Awaiting approval' };

export function PolicyDetail({ policy }: { policy: CollectorVersionPolicy }) {
  const { status = {}, spec } = policy;
  const { collectors, versions = [], stages = [], rollout, tasks = [] } = status;
  const segments = collectors && collectorSegments(collectorStates.map(({ member }) => collectors[member]));
  const mix = versionSegments(status);
  return (
    <>
      <RolloutFigures policy={policy} />
      {segments && (
        <Section title="Collectors by state">
          <StackedBar segments={segments} />
          <Legend segments={segments} />
        </Section>
      )}
      {versions.length > 0 && (
        <Section title="Collectors by version">
          <StackedBar segments={mix} />
          <Legend segments={mix} />
        </Section>
      )}
      {stages.length > 0 && (
        <Section title="Stages">
          <ol class="stages">
            {stages.map((stage) => (
              <Stage
                key={stage.name}
                stage={stage}
                isCurrent={stage.name === rollout?.stage}
                soak={spec.strategy.stages?.find(({ name }) => name === stage.name)?.soakDuration}
              />
            ))}
          </ol>
        </Section>
      )}
      <Reasons title="Failed upgrades" reasons={status.failureReasons} />
      <Reasons title="Skipped collectors" reasons={status.skippedReasons} />
      <Upgrades title="Upgrades in flight" tasks={tasks.filter(({ endTime }) => endTime === undefined)} />
      <Upgrades title="Upgrades that ended last" tasks={tasks.filter(({ endTime }) => endTime !== undefined)} />
      <Actions status={status} />
      <History status={status} />
    </>
  );
}

function RolloutFigures({ policy: { spec, status = {} } }: { policy: CollectorVersionPolicy }) {
  const nowMs = useNow();
  const { targetVersion = spec.target.version, rollout, summary, collectors } = status;
  return (
    <>
      <Pairs
        look="figures"
        pairs={[
          ['Target', targetVersion],
          ['Channel', spec.target.channel],
          ['Updated', summary?.updated],
          ['In progress', collectors && String(collectors.inProgress)],
          ['Failed', collectors && String(collectors.failed)],
          ['Remaining time', renderTimeLeft(rollout?.estimatedCompletionTime, nowMs)],
        ]}
      />
      {status.nextWindow && <p class="window muted">{sentence(renderWindow(status, nowMs))}</p>}
    </>
  );
}

function sentence(text: string | undefined): string {
  return text === undefined ? '' : `${text.replace(/^./, (letter) => letter.toUpperCase())}.`;
}

/** Returns the versions of the collectors, most frequent first. Combines rare versions. */
function versionSegments({ versions = [], targetVersion }: CollectorVersionPolicyStatus): readonly Segment[] {
  const rest = versions.slice(shownVersions).reduce((sum, { count }) => sum + count, 0);
  const former = versions.filter(({ version }) => version !== targetVersion);
  return [
    ...versions.slice(0, shownVersions).map(({ version, count }) => ({
      label: `${version || '(none)'}${version === targetVersion ? ' (target)' : ''}`,
      amount: count,
      look:
        version === targetVersion ? 'updated' : `version-${former.findIndex((each) => each.version === version) % 6}`,
    })),
    { label: 'other versions', amount: rest, look: 'pending' },
  ];
}

function Stage({ stage, isCurrent, soak }: { stage: StageStatus; isCurrent: boolean; soak: string | undefined }) {
  const nowMs = useNow();
  const { name, members, updated, inProgress = 0, failed, state, startTime } = stage;
  const segments: readonly Segment[] = [
    { label: 'updated', amount: updated, look: 'updated' },
    { label: 'in progress', amount: inProgress, look: 'inProgress' },
    { label: 'failed', amount: failed, look: 'failed' },
    { label: 'not updated', amount: Math.max(0, members - updated - inProgress - failed), look: 'pending' },
  ];
  return (
    <li class="stage" data-state={state} aria-current={isCurrent ? 'step' : undefined}>
      <p class="stage-name">{name}</p>
      <p class="stage-state">{renderStageState(stage, nowMs, stateTexts[state])}</p>
      <StackedBar segments={segments} />
      <p class="stage-counts">{renderCounts(stage)}</p>
      <Soak stage={stage} soak={soak} nowMs={nowMs} />
      {renderAnalysis(stage).map((line) => (
        <p key={line} class="stage-note">
          {line}
        </p>
      ))}
      {startTime !== undefined && (
        <p class="stage-note muted">
          started <Ago time={startTime} />
        </p>
      )}
    </li>
  );
}

/** Elapsed part of a soak. Shown only during the soak. */
function Soak({ stage, soak = '', nowMs }: { stage: StageStatus; soak: string | undefined; nowMs: number }) {
  const durationMs = parseDuration(soak) ?? 0;
  if (stage.state !== 'Soaking' || stage.soakedUntil === undefined || durationMs === 0) return null;
  const elapsedMs = durationMs - Math.max(0, Date.parse(stage.soakedUntil) - nowMs);
  return (
    <progress class="soak" max={durationMs} value={elapsedMs} aria-label={`Soak of stage ${stage.name}, ${soak}`} />
  );
}

function Reasons({ title, reasons = [] }: { title: string; reasons: readonly ReasonCount[] | undefined }) {
  return (
    <TableSection
      title={title}
      headings={['Collectors', 'Reason', 'Examples']}
      rows={reasons.map(({ reason, count, examples = [] }) => [
        count.toLocaleString('en-US'),
        reason,
        [...examples, ...(count > examples.length ? ['…'] : [])].join(', '),
      ])}
    />
  );
}

function Upgrades({ title, tasks }: { title: string; tasks: readonly TaskSample[] }) {
  return (
    <TableSection
      title={title}
      headings={['Collector', 'Versions', 'State', 'Time', 'Message']}
      rows={tasks.map(({ collector, from = '?', to, state, startTime, endTime, message = '' }) => [
        collector,
        `${from} → ${to}`,
        state,
        <Ago key={collector} time={endTime ?? startTime} />,
        message,
      ])}
    />
  );
}

function Actions({ status: { rollout } }: { status: CollectorVersionPolicyStatus }) {
  const { actions = [] } = rollout ?? {};
  return (
    <TableSection
      title="Actions of people"
      headings={['Time', 'Action']}
      rows={[...actions]
        .reverse()
        .map((action) => [<Ago key={action.time} time={action.time} />, renderAction(action)])}
    />
  );
}

function History({ status: { history = [] } }: { status: CollectorVersionPolicyStatus }) {
  return (
    <TableSection
      title="Former rollouts"
      headings={['Rollout', 'Result', 'Updated', 'Failed', 'Took', 'Ended']}
      rows={history.map(({ id, outcome, updated, failed, startTime, completionTime }) => [
        id,
        outcome,
        updated.toLocaleString('en-US'),
        failed.toLocaleString('en-US'),
        renderDuration(Math.max(0, Date.parse(completionTime) - Date.parse(startTime))),
        <Ago key={id} time={completionTime} />,
      ])}
    />
  );
}
