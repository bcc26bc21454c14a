/** Details of a policy: collectors, stages, failures, upgrades, and previous rollouts. */
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
  isRolledBack,
  renderAction,
  renderAnalysis,
  renderCounts,
  renderStageState,
  renderWindow,
} from '../../render/rollout-figures.ts';
import { capitalised, renderTimeLeft } from '../../render/text.ts';
import { BarSection, type BarSegment, collectorSegments, StackedBar } from './charts.tsx';
import { Ago, Pairs, Section, TableSection, useNow } from './parts.tsx';

const shownVersions = 8;

/** Labels for the states whose names consist of several words. */
const stateTexts: Partial<Record<StageStatus['state'], string>> = { AwaitingApproval: 'Awaiting approval' };

const stageColours: Readonly<Record<StageStatus['state'], string>> = {
  Pending: 'var(--pending)',
  AwaitingApproval: 'var(--offline)',
  Progressing: 'var(--inProgress)',
  Soaking: 'var(--offline)',
  Failed: 'var(--failed)',
  Completed: 'var(--updated)',
  Stopped: 'var(--failed)',
};

export function PolicyDetail({ policy }: { policy: CollectorVersionPolicy }) {
  const { status = {}, spec } = policy;
  const { collectors, versions = [], stages = [], rollout, tasks = [] } = status;
  return (
    <>
      <RolloutFigures policy={policy} />
      {collectors && (
        <BarSection
          title="Collectors by state"
          segments={collectorSegments(collectorStates.map(({ member }) => collectors[member]))}
        />
      )}
      {versions.length > 0 && <BarSection title="Collectors by version" segments={versionSegments(status)} />}
      {stages.length > 0 && (
        <Section title="Stages">
          <ol class="stages">
            {stages.map((stage) => (
              <Stage
                key={stage.name}
                stage={stage}
                status={status}
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
      <TableSection
        title="Actions of people"
        rows={rollout?.actions?.toReversed()}
        columns={{ Time: ({ time }) => <Ago time={time} />, Action: renderAction }}
      />
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
        variant="figures"
        pairs={{
          Target: targetVersion,
          Channel: spec.target.channel,
          Updated: summary?.updated,
          'In progress': collectors?.inProgress,
          Failed: collectors?.failed,
          'Remaining time': renderTimeLeft(rollout?.estimatedCompletionTime, nowMs),
        }}
      />
      {status.nextWindow && <p class="window muted">{sentence(renderWindow(status, nowMs))}</p>}
    </>
  );
}

function sentence(text: string | undefined): string {
  return text === undefined ? '' : `${capitalised(text)}.`;
}

/**
 * Returns the segments of a bar of collector versions, most frequent first. Combines rare versions. Versions other than
 * the target have shades of one colour, so that colour-blind people can distinguish them.
 */
function versionSegments({ versions = [], targetVersion }: CollectorVersionPolicyStatus): readonly BarSegment[] {
  const former = versions.filter(({ version }) => version !== targetVersion);
  const shown = versions.slice(0, shownVersions).map(({ version, count: amount }) => {
    const label = version || '(none)';
    if (version === targetVersion) return { label: `${label} (target)`, amount, colour: 'var(--updated)' };
    const shade = 100 - 12 * former.findIndex((each) => each.version === version);
    return { label, amount, colour: `color-mix(in oklab, var(--version) ${shade}%, var(--panel))` };
  });
  const rest = versions.slice(shownVersions).reduce((sum, { count }) => sum + count, 0);
  return [...shown, { label: 'other versions', amount: rest, colour: 'var(--missing)' }];
}

interface StageProps {
  readonly stage: StageStatus;
  readonly status: CollectorVersionPolicyStatus;
  /** Duration of the stage's soak. */
  readonly soak: string | undefined;
}

function Stage({ stage, status, soak }: StageProps) {
  const nowMs = useNow();
  const isCurrent = stage.name === status.rollout?.stage;
  const { name, members, updated, inProgress = 0, failed, state, startTime } = stage;
  const segments: readonly BarSegment[] = [
    { label: 'updated', amount: updated, colour: 'var(--updated)' },
    { label: 'in progress', amount: inProgress, colour: 'var(--inProgress)' },
    { label: 'failed', amount: failed, colour: 'var(--failed)' },
    { label: 'not updated', amount: Math.max(0, members - updated - inProgress - failed), colour: 'var(--pending)' },
  ];
  return (
    <li class="stage" style={{ '--stage': stageColours[state] }} aria-current={isCurrent ? 'step' : undefined}>
      <p class="stage-name">{name}</p>
      <p class="stage-state">{renderStageState(stage, nowMs, stateTexts[state])}</p>
      <StackedBar segments={segments} />
      <p class="stage-counts">{renderCounts(stage, isRolledBack(status))}</p>
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

/** Progress bar of a soak. Shown only during the soak. */
function Soak({ stage, soak = '', nowMs }: { stage: StageStatus; soak: string | undefined; nowMs: number }) {
  const durationMs = parseDuration(soak) ?? 0;
  if (stage.state !== 'Soaking' || stage.soakedUntil === undefined || durationMs === 0) return null;
  const elapsedMs = durationMs - Math.max(0, Date.parse(stage.soakedUntil) - nowMs);
  return (
    <progress class="soak" max={durationMs} value={elapsedMs} aria-label={`Soak of stage ${stage.name}, ${soak}`} />
  );
}

function Reasons({ title, reasons }: { title: string; reasons: readonly ReasonCount[] | undefined }) {
  return (
    <TableSection
      title={title}
      rows={reasons}
      columns={{
        Collectors: 'count',
        Reason: 'reason',
        Examples: ({ count, examples = [] }) => [...examples, ...(count > examples.length ? ['…'] : [])].join(', '),
      }}
    />
  );
}

function Upgrades({ title, tasks }: { title: string; tasks: readonly TaskSample[] }) {
  return (
    <TableSection
      title={title}
      rows={tasks}
      columns={{
        Collector: 'collector',
        Versions: ({ from = '?', to }) => `${from} → ${to}`,
        State: 'state',
        Time: ({ startTime, endTime = startTime }) => <Ago time={endTime} />,
        Message: 'message',
      }}
    />
  );
}

function History({ status: { history } }: { status: CollectorVersionPolicyStatus }) {
  return (
    <TableSection
      title="Former rollouts"
      rows={history}
      columns={{
        Rollout: 'id',
        Result: 'outcome',
        Updated: 'updated',
        Failed: 'failed',
        Took: ({ startTime, completionTime }) =>
          renderDuration(Math.max(0, Date.parse(completionTime) - Date.parse(startTime))),
        Ended: ({ completionTime }) => <Ago time={completionTime} />,
      }}
    />
  );
}
