/** Renders plans of schedules for people and for programs. */
import { keyText } from '../../base/key-text.ts';
import { groupedText } from '../../base/number-text.ts';
import { renderFacts } from '../render/table.ts';
import { paintWith, renderBytes, renderCount, renderMoment } from '../render/text.ts';
import { dayOf, type ScheduleOutlook } from './schedule-planner.ts';

export function renderSchedulePlan(
  planned: ScheduleOutlook,
  { width, colour }: { readonly width: number; readonly colour: boolean },
): readonly string[] {
  const { resource, runs, span, outlook } = planned;
  const paint = paintWith(colour);
  const day = dayOf(planned);
  const perRun = outlook.kind === 'plan' ? outlook.plan.requests : undefined;
  const bytes = day?.bytesToScan;
  return [
    `${paint('bold', keyText(resource.metadata))}: ${renderCount(runs, 'run')} in the next 24 hours`,
    ...renderFacts(
      [
        ['Sample', `${renderMoment(span.fromMs)} to ${renderMoment(span.toMs)}, one run`],
        ['Rows', day && `about ${groupedText(day.rows)} in 24 hours`],
        ['Requests', day && `about ${groupedText(perRun ?? 0)} for a run, ${groupedText(day.requests)} in 24 hours`],
        ['Rate', day && `${renderShare(day.share)} of the allowed requests`],
        ['Scans', bytes === undefined ? undefined : `about ${renderBytes(bytes)} in 24 hours`],
      ],
      { width: width - 2, paint, margin: 2 },
    ),
    ...(day && day.share > 1
      ? [`  The schedule needs more requests than the limit allows for ${renderCount(runs, 'run')}.`]
      : []),
  ];
}

function renderShare(share: number): string {
  return share < 0.001 ? 'less than 0.1 %' : `${(100 * share).toFixed(1)} %`;
}

/** Returns the plan of a schedule as a document for programs. */
export function schedulePlanDocument(planned: ScheduleOutlook): object {
  const { resource, runs, span, outlook } = planned;
  const { namespace, name } = resource.metadata;
  const problem = outlook.kind === 'problem' ? { reason: outlook.reason, message: outlook.message } : undefined;
  const day = dayOf(planned);
  return {
    ...{ namespace, name, runsPerDay: runs },
    sample: {
      ...{ from: renderMoment(span.fromMs), to: renderMoment(span.toMs) },
      ...(outlook.kind === 'plan' ? { rows: outlook.plan.rows, requests: outlook.plan.requests } : {}),
    },
    ...(day && {
      requestsPerDay: day.requests,
      rowsPerDay: day.rows,
      bytesToScanPerDay: day.bytesToScan,
      requestShare: day.share,
    }),
    ...(problem && { problem }),
  };
}
