/** Events about the progress of a rollout and its stages. */
import { counted, wordFor } from '../../base/number-text.ts';
import { analysisVerdict, quietText } from '../analysis/message-analysis.ts';
import { comparedAfterRollback } from '../analysis/recovery.ts';
import type { AnalysisOutcome, LedgerHeader, StageAnalysis } from '../ledger/ledger.ts';

/** Returns the Event that is published when a rollout begins. */
export function rolloutStarted({ rolloutId, target }: LedgerHeader) {
  const message = `Rollout ${rolloutId} begins: it upgrades the selected collectors to ${target}.`;
  return { type: 'Normal', reason: 'RolloutStarted', message } as const;
}

/** Returns the Events for stages that have started or ended. */
export function stageEvents({ stages: before = [], rolloutId }: LedgerHeader, { stages: after = [] }: LedgerHeader) {
  const event = (reason: string, message: string) => ({ type: 'Normal', reason, message }) as const;
  return after.flatMap(({ name, endedAtMs, analysis }) => {
    const known = before.find((stage) => stage.name === name);
    const hasEnded = endedAtMs !== undefined && known?.endedAtMs === undefined;
    const isAnalyzed = analysis?.outcome !== undefined && known?.analysis?.outcome === undefined;
    const isChecked = analysis?.recovery?.recovered !== known?.analysis?.recovery?.recovered;
    return [
      ...(known ? [] : [event('StageStarted', `Stage ${name} of rollout ${rolloutId} begins.`)]),
      ...(isAnalyzed ? [analyzed(name, analysis, analysis.outcome)] : []),
      ...(isChecked && analysis ? recoveryEvents(name, analysis) : []),
      ...(hasEnded ? [event('StageCompleted', `Stage ${name} of rollout ${rolloutId} has ended.`)] : []),
    ];
  });
}

/** Returns the Event that reports the outcome of a stage's message analysis. */
function analyzed(stage: string, analysis: StageAnalysis, outcome: AnalysisOutcome) {
  const { judged, unjudged } = outcome;
  const collectors = counted(judged, 'compared collector');
  const left =
    unjudged === 0 ? '' : ` ${counted(unjudged, 'collector')} could not be compared with the time before the upgrade.`;
  switch (analysisVerdict(outcome)) {
    case 'Failed': {
      const message = `Stage ${stage}: of ${collectors}, ${quietText(analysis)}.${left}`;
      return { type: 'Warning', reason: 'StageAnalysisFailed', message } as const;
    }
    case 'Inconclusive': {
      const message = `Stage ${stage}: the message analysis has no result, because each collector either sent too few messages before the stage, or was upgraded too late to be compared.`;
      return { type: 'Warning', reason: 'StageAnalyzed', message } as const;
    }
    case 'Passed': {
      const message = `Stage ${stage}: ${collectors} sent enough messages after the upgrade.${left}`;
      return { type: 'Normal', reason: 'StageAnalyzed', message } as const;
    }
  }
}

/** Returns the Event that says whether collectors are sending enough messages again after a rollback. */
function recoveryEvents(stage: string, { outcome, recovery: { recovered } = { fromMs: 0 } }: StageAnalysis) {
  if (recovered === undefined || !outcome) return [];
  const compared = comparedAfterRollback(outcome.quietest);
  const shipping = `${recovered} of ${counted(compared, 'collector')} in status.stages[].analysis.quietest ${wordFor(recovered, 'is', 'are')} sending enough messages again after the rollback`;
  const message = `Stage ${stage}: ${compared === 0 ? 'all collectors in status.stages[].analysis.quietest were deleted' : shipping}.`;
  return recovered === compared
    ? [{ type: 'Normal', reason: 'CollectorsRecovered', message } as const]
    : [{ type: 'Warning', reason: 'CollectorsStillQuiet', message } as const];
}
