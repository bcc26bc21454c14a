/** Renders the report of the demo: why the first rollout stopped, both rollouts, versions, and requests. */
import type { JournalEntry } from '../simulator/requests/journal.ts';
import type { SimulatorState } from '../simulator/snapshot.ts';
import type {
  CollectorCounts,
  CollectorVersionPolicyStatus,
  ReasonCount,
} from '../src/api/generated/collector-version-policy.ts';
import type { CollectorVersionPolicy } from '../src/api/kinds.ts';
import { compareBuildVersions, parseBuildVersion } from '../src/base/build-version.ts';
import { renderDuration } from '../src/base/duration.ts';
import { listText } from '../src/base/list-text.ts';
import { wordFor } from '../src/base/number-text.ts';
import { collectorStates } from '../src/cli/render/bars.ts';
import type { Paint } from '../src/cli/render/paint.ts';
import { renderTable } from '../src/cli/render/table.ts';
import { widthOf, wrap } from '../src/cli/render/terminal-text.ts';
import { renderExamples } from '../src/cli/render/text.ts';

export interface DemoFindings {
  readonly before: SimulatorState;
  readonly after: SimulatorState;
  /** Requests that the simulated log service received during the demo. */
  readonly requests: readonly JournalEntry[];
  readonly policy: CollectorVersionPolicy;
}

/** Returns the text before the first rollout. */
export function renderIntroduction({ collectors }: SimulatorState, scenario: string): readonly string[] {
  return [
    `A log service with ${collectors.length} collectors (${scenario}), simulated on this machine.`,
    'logfleet upgrades them to the version in demo/manifests/policy.yaml, a canary first:',
  ];
}

/** Renders the reason why the rollout stopped, and the user's next step. */
export function renderStop(
  { policy, state }: { readonly policy: CollectorVersionPolicy; readonly state: SimulatorState },
  nextVersion: string,
  paint: Paint,
): readonly string[] {
  const { stages = [], targetVersion } = policy.status ?? {};
  const names = (stages[0]?.analysis?.quietest ?? []).map(({ name }) => name);
  // Sorts the names, because their order in the status, quietest first, can differ between two runs of the demo.
  const quiet = names.toSorted().join(' and ');
  const touched = state.collectors.filter(({ tasksAccepted }) => tasksAccepted > 0).length;
  return [
    `The canary stopped it: all ${touched} upgrades succeeded, but ${quiet} no longer ship messages.`,
    `The other ${state.collectors.length - touched} collectors were not changed.`,
    `The manifest now names ${nextVersion} instead of ${targetVersion}, as after a commit:`,
  ].map((line) => paint('bold', line));
}

/** Returns the text before the export. */
export function renderExportIntroduction(manifest: string, paint: Paint): readonly string[] {
  return [
    'Next: export 15 minutes of messages from all collectors to files. One search returns at most 100,000:',
    `$ npx logfleet export ${manifest} --volume exports=DIR`,
  ].map((line) => paint('bold', line));
}

/** Returns the report, at most `width` columns wide. */
export function renderReport(found: DemoFindings, width: number, paint: Paint): readonly string[] {
  const columns = width - margin.length;
  return [
    paint('bold', 'What happened'),
    '',
    ...indent(renderRollouts(found)),
    '',
    ...indent(renderVersions(found)),
    '',
    ...indent(renderStates(found, columns, paint)),
    '',
    ...indent(renderRequests(found).flatMap((line) => wrap(line, columns))),
  ];
}

/** Returns a table of the rollouts, oldest first. */
function renderRollouts({ policy }: DemoFindings): readonly string[] {
  const rows = (policy.status?.history ?? [])
    .toReversed()
    .map((record) => [
      record.id,
      record.outcome,
      String(record.updated).padStart('at its target'.length),
      renderDuration(Math.max(0, Date.parse(record.completionTime) - Date.parse(record.startTime))),
    ]);
  return renderTable(['rollout', 'outcome', 'at its target', 'took'], rows);
}

/** Renders the number of collectors at each version, before and after the demo. */
function renderVersions({ before, after }: DemoFindings): readonly string[] {
  const was = countVersions(before);
  const is = countVersions(after);
  const versions = [...new Set([...was.keys(), ...is.keys()])].sort(oldestFirst);
  const rows = versions.map((version) => [
    version || '(hosted)',
    String(was.get(version) ?? 0).padStart('before'.length),
    String(is.get(version) ?? 0).padStart('after'.length),
  ]);
  return renderTable(['version', 'before', 'after'], rows);
}

function countVersions({ collectors }: SimulatorState): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { version } of collectors) counts.set(version, (counts.get(version) ?? 0) + 1);
  return counts;
}

/** Sorts versions, oldest first. Strings that are not versions come last. */
function oldestFirst(left: string, right: string): number {
  const [leftVersion, rightVersion] = [parseBuildVersion(left), parseBuildVersion(right)];
  if (leftVersion && rightVersion) return compareBuildVersions(leftVersion, rightVersion);
  return Number(rightVersion !== undefined) - Number(leftVersion !== undefined);
}

function renderStates(found: DemoFindings, width: number, paint: Paint): readonly string[] {
  const { collectors: counts, failureReasons = [], skippedReasons = [] } = found.policy.status ?? {};
  if (!counts) return ['logfleet has not read the fleet yet.'];
  const notes: Partial<Record<keyof CollectorCounts, readonly string[]>> = {
    updated: [updatedNote(found)],
    failed: failureReasons.map(renderReason),
    offline: ['upgraded when they are back online'],
    skipped: skippedReasons.map(renderReason),
  };
  const states = collectorStates
    .filter(({ member }) => counts[member] > 0)
    .flatMap(({ member, label, mark, colour }) => {
      const head = `${paint(colour, mark)} ${label.padEnd(11)} ${String(counts[member]).padStart(4)}   `;
      const [first = '', ...more] = (notes[member] ?? []).flatMap((note) => wrap(note, width - widthOf(head)));
      return [`${head}${first}`.trimEnd(), ...more.map((note) => ' '.repeat(widthOf(head)) + note)];
    });
  return [...states, ...renderCount(found).flatMap((line) => ['', ...wrap(line, width)])];
}

function renderCount({ policy: { status } }: DemoFindings): readonly string[] {
  const note = status && explainUpdated(status);
  return note === undefined ? [] : [`Updated ${status?.summary?.updated}: ${note}.`];
}

function updatedNote({ policy: { status } }: DemoFindings): string {
  const [canary] = status?.stages ?? [];
  return `first ${canary?.updated} in the canary, then the others`;
}

function renderReason({ reason, count, examples = [] }: ReasonCount): string {
  return `${count} × ${reason}${renderExamples(examples, count)}`;
}

function renderRequests({ after, requests: all }: DemoFindings): readonly string[] {
  const { tasksAccepted, maxPerSecond, maxInFlight, rejected429 } = after.counters;
  const tasks = after.tasks.filter(({ foreign }) => !foreign);
  const failed = tasks.filter(({ status }) => status === taskFailed).length;
  const count = (operation: string) => all.filter((request) => request.operation === operation).length;
  const searches = all.filter(({ path }) => path.includes('/search/'));
  const upgrades = all.filter((request) => !searches.includes(request));
  const listed = count('listCollectors') + count('listBuilds');
  const pages = count('listMessages') + count('listRecords');
  return [
    `${tasksAccepted} upgrade tasks, ${failed} of them failed.`,
    `${renderCost(upgrades)}: ${count('createTask')} create a task, ${count('getTask')} read a task, ${listed} list the fleet.`,
    `${renderCost(searches)}: ${count('createJob')} searches, and ${pages} pages of their results.`,
    `At most ${maxPerSecond} requests arrived in any second (the service allows 4),`,
    `at most ${maxInFlight} were in progress at once (it allows 10), and ${rejected429} were refused.`,
  ];
}

/** Returns the number of requests and the time that they took, such as `39 requests in 13 s`. */
function renderCost(requests: readonly JournalEntry[]): string {
  const tookMs = Math.max(...requests.map(({ end }) => end)) - Math.min(...requests.map(({ at }) => at));
  return `${requests.length} requests in ${(tookMs / 1_000).toFixed(0)} s`;
}

/** Status of a failed upgrade task (section 4.8 of docs/service.md). */
const taskFailed = 3;

/** Address of the simulator in the commands that the report suggests. */
const address = '127.0.0.1:8443';

export interface SuggestionPlaces {
  /** Folder that contains everything that the demo has written. */
  readonly directory: string;
  readonly manifests: string;
  readonly exports: string;
  readonly exportManifest: string;
  readonly name: string;
}

/** Renders commands that the user can paste and run in the checkout. */
export function renderSuggestions(
  { directory, manifests, exports, exportManifest, name }: SuggestionPlaces,
  paint: Paint,
): readonly string[] {
  const tls = `${directory}/tls`;
  const login = `LOGFLEET_BASE_URL=https://${address}/api LOGFLEET_CA_FILE=${tls}/ca.crt LOGFLEET_ACCESS_ID=me LOGFLEET_ACCESS_KEY=secret`;
  const flags = `--listen ${address} --tls-dir ${tls} --access-id me --access-key secret`;
  const suggestions = [
    ['Details of this policy:', `npx logfleet get cvp ${name} --dir ${manifests}`],
    ['The manifest of this policy, which kubectl also accepts:', 'cat demo/manifests/policy.yaml'],
    ['Check manifests, as in CI:', 'npx logfleet validate demo/manifests examples'],
    ['Verify the files of the export:', `npx logfleet verify ${exports}`],
    ["Run this demo's service until you press Ctrl-C:", `npx logfleet simulate --scenario demo/scenario.yaml ${flags}`],
    [
      'Plan a rollout and an export, in another terminal while the service runs:',
      `${login} npx logfleet plan demo/manifests ${exportManifest}`,
    ],
    ['Export without a manifest:', 'npx logfleet export --help'],
    ['Approve a stage (approval: Required):', 'npx logfleet approve --help'],
    ['Continue a stopped rollout:', 'npx logfleet retry --help'],
    ['Print the manifests that install the operator in a cluster:', 'make manifests'],
  ] as const;
  return [
    paint('bold', 'What to try next'),
    '',
    ...indent(suggestions.flatMap(([what, command]) => [what, `  ${paint('cyan', command)}`])),
    '',
    ...indent([`Manifests, status and files of this demo are in ${directory}. Remove it when you are done.`]),
  ];
}

const margin = '  ';

function indent(lines: readonly string[]): readonly string[] {
  return lines.map((line) => (line === '' ? '' : `${margin}${line}`));
}

const leftOut = ['offline', 'skipped', 'foreign'] as const;

/**
 * Explains why the total in the column `updated` is lower than the number of selected collectors, for example: `8
 * offline and 5 skipped of 120 do not count`.
 */
function explainUpdated({ summary, collectors }: CollectorVersionPolicyStatus): string | undefined {
  const total = Number(summary?.updated?.split('/')[1]);
  if (!collectors || total === collectors.matched) return undefined;
  const present = leftOut.filter((state) => collectors[state] > 0);
  const sum = present.reduce((count, state) => count + collectors[state], 0);
  // Omits the explanation if the offline, skipped and foreign collectors do not account for the whole difference.
  if (total + sum !== collectors.matched) return undefined;
  const list = listText(present.map((state) => `${collectors[state]} ${state}`));
  return `${list} of ${collectors.matched} ${wordFor(sum, 'does', 'do')} not count`;
}
