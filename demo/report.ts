/**
 * What happened in a demo, as lines: why the first rollout stopped; in the end both rollouts, versions before and after, who was
 * upgraded and who was not and why, and what that and the export took in requests. Pure. The fleet and the requests are what the simulator saw, the reasons what the policy's status says.
 */
import type { CollectorCounts, ReasonCount } from '../src/api/generated/collector-version-policy.ts';
import type { CollectorVersionPolicy } from '../src/api/kinds.ts';
import { compareBuildVersions, parseBuildVersion } from '../src/base/build-version.ts';
import { renderDuration } from '../src/base/duration.ts';
import { renderExamples } from '../src/cli/render/examples.ts';
import { collectorStates } from '../src/cli/render/fleet-bar.ts';
import { type Paint, widthOf, wrap } from '../src/cli/render/palette.ts';
import { renderTable } from '../src/cli/render/table.ts';
import { explainUpdated } from '../src/cli/render/updated-count.ts';
import type { JournalEntry } from '../src/simulator/journal.ts';
import type { SimulatorState } from '../src/simulator/snapshot.ts';

export interface Findings {
  readonly before: SimulatorState;
  readonly after: SimulatorState;
  /** Everything that arrived at the service. */
  readonly requests: readonly JournalEntry[];
  readonly policy: CollectorVersionPolicy;
}

/** What is about to run, in words: what it is run with is gone when the demo has ended. */
export function renderIntroduction({ collectors }: SimulatorState, scenario: string): readonly string[] {
  return [
    `A log service with ${collectors.length} collectors (${scenario}), simulated on this machine;`,
    'and logfleet, which brings them to the version of demo/manifests/policy.yaml, a canary first:',
  ];
}

/** Why the first rollout stopped, and what comes next. */
export function renderStop(
  { policy, state }: { readonly policy: CollectorVersionPolicy; readonly state: SimulatorState },
  nextVersion: string,
  paint: Paint,
): readonly string[] {
  const { failureReasons = [], targetVersion } = policy.status ?? {};
  const failed = failureReasons.reduce((sum, { count }) => sum + count, 0);
  const touched = state.collectors.filter(({ tasksAccepted }) => tasksAccepted > 0).length;
  return [
    `The canary stopped it: ${failed} of ${touched} failed, and nobody touched the other ${state.collectors.length - touched}.`,
    `Now the manifest names ${nextVersion} instead of ${targetVersion}, as a commit would have it:`,
  ].map((line) => paint('bold', line));
}

/** What is exported next. */
export function renderExportIntroduction(manifest: string, paint: Paint): readonly string[] {
  return [
    'And its logs: a day of 250,000 messages, of which one search gives 100,000 at most, into files:',
    `$ npx logfleet export ${manifest} --volume exports=DIR`,
  ].map((line) => paint('bold', line));
}

/** @param width columns of the longest line */
export function renderReport(found: Findings, width: number, paint: Paint): readonly string[] {
  const room = width - margin.length;
  return [
    paint('bold', 'What happened'),
    '',
    ...indent(renderRollouts(found)),
    '',
    ...indent(renderVersions(found)),
    '',
    ...indent(renderStates(found, room, paint)),
    '',
    ...indent(renderRequests(found).flatMap((line) => wrap(line, room))),
  ];
}

/** The oldest first. */
function renderRollouts({ policy }: Findings): readonly string[] {
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

/** Collectors by version, before and after; hosted ones have none. */
function renderVersions({ before, after }: Findings): readonly string[] {
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

/** Those without a version last. */
function oldestFirst(left: string, right: string): number {
  const [leftVersion, rightVersion] = [parseBuildVersion(left), parseBuildVersion(right)];
  if (leftVersion && rightVersion) return compareBuildVersions(leftVersion, rightVersion);
  return Number(rightVersion !== undefined) - Number(leftVersion !== undefined);
}

function renderStates(found: Findings, width: number, paint: Paint): readonly string[] {
  const { collectors: counts, failureReasons = [], skippedReasons = [] } = found.policy.status ?? {};
  if (!counts) return ['The policy never came to know its fleet.'];
  const notes: Partial<Record<keyof CollectorCounts, readonly string[]>> = {
    updated: [updatedNote(found)],
    failed: failureReasons.map(renderReason),
    offline: ['left alone until they talk to the service again'],
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

/** What the screen and `logfleet get` call updated. */
function renderCount({ policy: { status } }: Findings): readonly string[] {
  const note = status && explainUpdated(status);
  return note === undefined ? [] : [`Updated ${status?.summary?.updated}: ${note}.`];
}

function updatedNote({ policy: { status } }: Findings): string {
  const [canary] = status?.stages ?? [];
  return `${canary?.updated} as the canary, and then the others`;
}

function renderReason({ reason, count, examples = [] }: ReasonCount): string {
  return `${count} × ${reason}${renderExamples(examples, count)}`;
}

function renderRequests({ after, requests: all }: Findings): readonly string[] {
  const { tasksAccepted, maxPerSecond, maxInFlight, rejected429 } = after.counters;
  const tasks = after.tasks.filter(({ foreign }) => !foreign);
  const failed = tasks.filter(({ status }) => status === taskFailed).length;
  const count = (operation: string) => all.filter((request) => request.operation === operation).length;
  const searches = all.filter(({ path }) => path.includes('/search/'));
  const upgrades = all.filter((request) => !searches.includes(request));
  const listed = count('listCollectors') + count('listBuilds');
  const pages = count('listMessages') + count('listRecords');
  return [
    `${tasksAccepted} upgrade tasks, of which ${failed} failed.`,
    `${renderCost(upgrades)}: ${count('createTask')} to create a task, ${count('getTask')} to read one, ${listed} to list.`,
    `${renderCost(searches)}: ${count('createJob')} searches, ${pages} pages of their results.`,
    `At most ${maxPerSecond} arrivals in any one second, of 4 that the service allows;`,
    `at most ${maxInFlight} at once, of 10; ${rejected429} refused for either.`,
  ];
}

/** `39 requests in 13 s` */
function renderCost(requests: readonly JournalEntry[]): string {
  const tookMs = Math.max(...requests.map(({ end }) => end)) - Math.min(...requests.map(({ at }) => at));
  return `${requests.length} requests in ${(tookMs / 1_000).toFixed(0)} s`;
}

/** The status of a task that failed (4.8). */
const taskFailed = 3;

/** Where the service stands that the last commands start: any free port would do, and both have to name it. */
const address = '127.0.0.1:8443';

export interface SuggestionPlaces {
  /** Of all that the demo has written. */
  readonly directory: string;
  readonly manifests: string;
  readonly exports: string;
  /** Of the policy. */
  readonly name: string;
}

/** Commands that work as they stand, from the checkout. */
export function renderSuggestions(
  { directory, manifests, exports, name }: SuggestionPlaces,
  paint: Paint,
): readonly string[] {
  const tls = `${directory}/tls`;
  const login = `LOGFLEET_BASE_URL=https://${address}/api LOGFLEET_CA_FILE=${tls}/ca.crt LOGFLEET_ACCESS_ID=me LOGFLEET_ACCESS_KEY=secret`;
  const flags = `--listen ${address} --tls-dir ${tls} --access-id me --access-key secret`;
  const suggestions = [
    ['All about this policy:', `npx logfleet get cvp ${name} --dir ${manifests}`],
    ['What it wants; kubectl takes the same:', 'cat demo/manifests/policy.yaml'],
    ['Check manifests, as CI would:', 'npx logfleet validate demo/manifests examples'],
    ['The files of the export, and that they are whole:', `npx logfleet verify ${exports}`],
    ['The service of this demo, until Ctrl-C:', `npx logfleet simulate --scenario demo/scenario.yaml ${flags}`],
    [
      'What a rollout and an export would do, before they do it; in another terminal, while that runs:',
      `${login} npx logfleet plan demo/manifests demo/exports`,
    ],
    ['An export without a manifest:', 'npx logfleet export --help'],
    ['A stage that waits for a person (approval: Required):', 'npx logfleet approve --help'],
    ['Go on with a rollout that was stopped, as it is:', 'npx logfleet retry --help'],
    ['The operator, in a cluster:', 'make manifests'],
  ] as const;
  return [
    paint('bold', 'What to try next'),
    '',
    ...indent(suggestions.flatMap(([what, command]) => [what, `  ${paint('cyan', command)}`])),
    '',
    ...indent([`Manifests, status and files of this demo stay in ${directory}; remove it when you have seen enough.`]),
  ];
}

const margin = '  ';

function indent(lines: readonly string[]): readonly string[] {
  return lines.map((line) => (line === '' ? '' : `${margin}${line}`));
}
