/** Renders the reasons why upgrades and stages wait. Each text follows "waiting for" in a message. */
import { renderDuration } from '../../base/duration.ts';
import { keyText } from '../../base/key-text.ts';
import { counted } from '../../base/number-text.ts';
import { minuteMs } from '../../base/time-units.ts';
import { quietText } from '../analysis/message-analysis.ts';
import type { WaitCause } from '../rollout/wait-cause.ts';

type Cause<Kind> = Extract<WaitCause, { readonly kind: Kind }>;

/** Text for each kind of cause. If a kind has fields, a function inserts them into the text. */
const texts: { readonly [Kind in WaitCause['kind']]: string | ((cause: Cause<Kind>) => string) } = {
  unusableManifest: 'a user to correct or delete the unusable manifest',
  pausedForAll: ({ by }) => `a user to resume all policies, which are paused by ${by}`,
  paused: ({ by }) => `the policy to be resumed (paused by ${by})`,
  deletion: 'the deletion of the policy to finish',
  observeMode: 'spec.mode to be Enforce',
  stopped: 'a user to run `logfleet retry` or to set another target, because the rollout is stopped',
  notOffered: 'the service to offer the target build',
  shutdown: 'the next start of logfleet, which is shutting down',
  claims: ({ policy }) => `policy ${keyText(policy)} to report which collectors it selects`,
  buildList: 'a new list of builds, because the service refused the requested build',
  listRead: "a successful read of the service's lists, because the last read failed",
  requestBackOff: 'the back-off after a failed request to the service',
  ledgerFull: 'free space in the ledger',
  calendarProblem: ({ problem }) => `a correction of spec.maintenance: ${problem}`,
  exclusion: ({ name }) => `the end of maintenance exclusion ${JSON.stringify(name)}`,
  window: 'the next maintenance window',
  noWindow: ({ cutoffMs }) =>
    `a maintenance window, but no future window is longer than the cutoff of ${renderDuration(cutoffMs)}`,
  timeZone: 'the collector to report a valid time zone',
  backOff: 'the back-off after a failed upgrade',
  versionAfterFailure: 'a new list of collectors that shows the version after the failed upgrade',
  secondListing: 'a second list of collectors, to confirm that the collector left the target version',
  newerListing: 'a newer list of collectors, because the last list may show an outdated version',
  stageLimit: ({ stage, max }) => limitText(`stage ${stage} allows at most ${counted(max, 'upgrade')} at once`),
  policyLimit: ({ max }) => limitText(`strategy.maxInProgress allows at most ${counted(max, 'upgrade')} at once`),
  openLimit: ({ max }) => limitText(`a policy may have at most ${counted(max, 'upgrade')} in progress`),
  stageEnd: ({ stage, offline }) => {
    const awaited = offline === 0 ? '' : `, of which ${counted(offline, 'collector')} must come back online`;
    return `the end of stage ${stage}${awaited}`;
  },
  soak: ({ stage, soakMs }) => {
    const short = soakMs < deathSeenAfterMs ? ' (the service can take 35m to show that a collector is offline)' : '';
    return `the end of the soak of stage ${stage}${short}`;
  },
  soakListing: ({ stage }) => `a new list of collectors after the soak of stage ${stage}`,
  analysis: ({ stage, error }) =>
    `the message analysis of stage ${stage}${error === undefined ? '' : `: ${error.replace(/\.$/, '')}`}`,
  failures: failuresText,
  approval: ({ stage }) => `the approval of stage ${stage}`,
  emptyStage: ({ stage }) =>
    `a collector that stage ${stage} can upgrade: to skip this empty stage, approve it or remove it from the policy`,
  stageCollector: ({ stage }) => `a collector for stage ${stage}`,
  anyCollector: 'a collector that can be upgraded',
  online: ({ collectors }) => `${counted(collectors, 'collector')} to come back online`,
};

/**
 * Maximum time in ms until a listing shows that a collector is offline. The service reports a collector as offline
 * about half an hour after the last contact (section 10.4 of docs/service.md).
 */
const deathSeenAfterMs = 35 * minuteMs;

/** Returns the text that follows "waiting for" in a message. */
export function waitText(cause: WaitCause): string {
  const text = texts[cause.kind] as string | ((cause: WaitCause) => string);
  return typeof text === 'string' ? text : text(cause);
}

function limitText(limit: string): string {
  return `a running upgrade to end, because ${limit}`;
}

function failuresText({ stage, failed, analysis }: Cause<'failures'>): string {
  const quiet = analysis && quietText(analysis);
  const what =
    failed > 0 ? `${counted(failed, 'collector')} that failed or went offline in stage ${stage}` : `stage ${stage}`;
  const why = quiet === undefined ? '' : `, in which ${quiet}`;
  return `a user to examine ${what}${why}, because the policy sets no maxFailures`;
}
