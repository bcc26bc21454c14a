/** Renders the results of the rollout benchmark next to their target values. */
import { counted } from '../../src/base/number-text.ts';
import { type FigureLine, type FigureSection, percentile } from '../figures.ts';

import type { Machine } from '../parts.ts';
import type { ConvergedFigures } from './converged.ts';
import type { LatencyFigures } from './latency.ts';
import type { HeldFleet, WholeRollout } from './load.ts';
import type { RolloutFigures } from './virtual-rollout.ts';

const count = new Intl.NumberFormat('en-US');
const residentLimitMiB = 300;
const latencyLimitMs = 100;
/**
 * Maximum CPU time per collector in the largest fleet, as a multiple of the CPU time per collector in the smallest
 * fleet.
 */
const linearTolerance = 1.25;

/** Results of the rollout benchmark. A measurement that the user did not request has no results. */
export interface RolloutReport extends Machine {
  readonly requests?: readonly RolloutFigures[];
  readonly converged?: ConvergedFigures;
  readonly load?: { readonly held: HeldFleet; readonly rollouts: readonly WholeRollout[] };
  readonly latency?: LatencyFigures;
}

export function requestsSection(figures: readonly RolloutFigures[]): FigureSection {
  const [first] = figures;
  return {
    title: `Rollout to ${count.format(first?.collectors ?? 0)} collectors, virtual time, upgrades of 3 minutes, maxInProgress 1,000`,
    lines: figures.flatMap(requestLines),
    notes: [
      'Requests: number of requests to the service per upgraded collector, from the apply request until the policy is Ready. Last one:',
      'time until the last upgrade ends. The larger of requests / 4 s and the time that maxInProgress needs is the minimum time. The',
      'target is 1.05 times this minimum, plus the duration of one upgrade. A spare build is a build that no collector runs and no',
      'policy targets. The list of collectors for this build shows all collectors, and its pages do not change during the rollout.',
    ],
  };
}

function requestLines(rollout: RolloutFigures): FigureLine[] {
  const { oldVersions, pageRows, spareBuild, requestsPerCollector, lastUpgradedSeconds, allowedSeconds } = rollout;
  const name = `pages of ${count.format(pageRows)}, ${counted(oldVersions, 'old version')}${spareBuild ? '' : ', no spare build'}`;
  const limit = requestLimit(rollout);
  const { maxPerSecond, maxAtOnce, refused429, acceptedTasks, collectors, complete } = rollout;
  return [
    {
      what: `${name}: requests`,
      measured: requestsPerCollector.toFixed(3),
      ...(limit === undefined
        ? {}
        : { target: `<= ${limit.toFixed(2)}`, met: complete && requestsPerCollector <= limit }),
    },
    {
      what: `${name}: last one`,
      measured: `${count.format(Math.ceil(lastUpgradedSeconds))} s`,
      target: `<= ${count.format(Math.floor(allowedSeconds))} s`,
      met: complete && lastUpgradedSeconds <= allowedSeconds,
    },
    {
      what: `${name}: limits, tasks`,
      measured: `${maxPerSecond}/s, ${maxAtOnce} at once, ${refused429} x 429, ${count.format(acceptedTasks)} tasks`,
      target: `4, 10, 0, ${count.format(collectors)}`,
      met: maxPerSecond <= 4 && maxAtOnce <= 10 && refused429 === 0 && acceptedTasks === collectors && complete,
    },
  ];
}

/** Requests that an idle operator sends: watches, Lease renewals, lists, and reads of the Secret. */
const expectedOfApi =
  /^(?:(?:WATCH|GET) (?:collectorversionpolicies|searchexports|settings)|(?:GET|PUT) leases|GET secrets)$/;

/**
 * Returns the maximum number of requests per collector that the benchmark accepts. Returns undefined if there is no
 * maximum, for example for a fleet with fewer than 10,000 collectors.
 */
function requestLimit({ pageRows, oldVersions, spareBuild, collectors }: RolloutFigures): number | undefined {
  if (!spareBuild || collectors < 10_000) return undefined;
  if (pageRows >= 1_000) return 1.05;
  return oldVersions === 1 ? 1.1 : undefined;
}

/**
 * Number of requests in one sweep (a read of the whole collector list) that do not return a full page. The first of
 * them returns the empty page at the end. The second checks for new collectors that may be missing from the other
 * pages.
 */
const closingRequests = 2;

export function convergedSection(figures: ConvergedFigures): FigureSection {
  const { collectors, minutes, api, service, pages, sweeps, resyncs } = figures;
  const { listBuilds = 0, listCollectors = 0, ...others } = service;
  const perSweep = listCollectors / sweeps;
  const nothingElse = Object.keys(others).length === 0 && perSweep <= pages + closingRequests;
  return {
    title: `Converged: ${count.format(collectors)} collectors for ${minutes} minutes of virtual time, resyncInterval 5m`,
    lines: [
      {
        what: 'to the service: targets',
        measured: String(listBuilds),
        target: String(resyncs),
        met: listBuilds <= resyncs,
      },
      {
        what: 'to the service: sweeps',
        measured: `${sweeps}, of ${perSweep} requests each for ${pages} full pages`,
        target: String(resyncs),
        met: sweeps <= resyncs && nothingElse,
      },
      ...Object.entries(api).map(([name, times]) => ({
        what: `to the API server: ${name}`,
        measured: `${times} requests`,
        ...(expectedOfApi.test(name) ? {} : { target: 'none', met: false }),
      })),
    ],
    notes: [
      'A sweep (a listing of the whole fleet) ends with an empty page, and with a request that checks for omitted new collectors.',
      'PUT leases: by the leader, every 2 s. WATCH: renewed every 20 s. GET collectorversionpolicies, searchexports: relist, every',
      'ten minutes. GET settings: relist of the ConfigMap that can pause logfleet. GET secrets: rereads of the credentials.',
    ],
  };
}

export function loadSection({ held, rollouts }: NonNullable<RolloutReport['load']>): FigureSection {
  const limit =
    held.collectors >= 100_000 ? { target: `<= ${residentLimitMiB} MiB`, met: held.peakMiB <= residentLimitMiB } : {};
  const fleet = `${count.format(held.collectors)} collectors`;
  const speeds = new Set(rollouts.map(({ speed }) => speed));
  return {
    title: 'Memory and CPU time of the operator in a separate process',
    lines: [
      { what: `${fleet}: peak resident memory`, measured: `${held.peakMiB.toFixed(0)} MiB`, ...limit },
      { what: `${fleet}: resident memory after the first listing`, measured: `${held.readMiB.toFixed(0)} MiB` },
      {
        what: `${fleet}: first listing`,
        measured: `${held.readSeconds.toFixed(0)} s, of which ${held.readCpuSeconds.toFixed(1)} s CPU time`,
      },
      { what: `${fleet}: another listing`, measured: `${held.sweepCpuSeconds.toFixed(1)} s CPU time` },
      {
        what: `${fleet}: rollout (${held.accepted} tasks in ${held.rollingSeconds} s)`,
        measured: `${(100 * held.rollingCpuShare).toFixed(1)} % of a CPU core`,
      },
      ...rollouts.map((rollout, index) => wholeLine(rollout, rollouts[0], index === rollouts.length - 1)),
    ],
    notes: [
      `${fleet}: logfleet run DIR --watch in real time. It lists the fleet, lists it`,
      `again, and starts a rollout. Whole rollouts: the same with a clock that is ${[...speeds].join(' or ')} times as fast, because a rollout`,
      'at four requests per second takes hours. The service is another process behind TLS; ledger and status are files. Linear: the',
      `CPU time per collector in the largest fleet is at most ${linearTolerance} times that in the smallest.`,
    ],
  };
}

function wholeLine(rollout: WholeRollout, smallest: WholeRollout | undefined, isLargest: boolean): FigureLine {
  const { collectors, cpuSeconds, cpuMsPerCollector, peakMiB, complete } = rollout;
  const linear = smallest !== undefined && cpuMsPerCollector <= linearTolerance * smallest.cpuMsPerCollector;
  const verdict = { target: 'linear', met: complete && linear };
  return {
    what: `whole rollout of ${count.format(collectors)}`,
    measured: `${cpuSeconds.toFixed(0)} s CPU time, ${cpuMsPerCollector.toFixed(2)} ms per collector, peak ${peakMiB.toFixed(0)} MiB`,
    ...(isLargest ? verdict : {}),
  };
}

export function latencySection({
  applies,
  newPolicyToPost,
  newTargetToPost,
  newTargetToStatus,
}: LatencyFigures): FigureSection {
  return {
    title: `Latency: ${applies} apply requests, 10 collectors each, real kube-apiserver, operator and service in separate processes`,
    lines: [
      { ...latencyLine('new policy to first POST', newPolicyToPost), ...latencyVerdict(newPolicyToPost) },
      { ...latencyLine('new target to first POST', newTargetToPost), ...latencyVerdict(newTargetToPost) },
      latencyLine('new target to written status', newTargetToStatus),
    ],
    notes: [
      'Time from the apply request until the POST arrives at the service, or until a watch shows the status. A new policy has',
      'credentials that the operator has never read. The operator takes these steps: watch, Secret, TLS, builds, list, ledger, POST.',
    ],
  };
}

function latencyLine(what: string, sorted: readonly number[]): FigureLine {
  const [p50, p99] = [percentile(sorted, 0.5), percentile(sorted, 0.99)];
  return { what, measured: `p50 ${p50.toFixed(0)} ms, p99 ${p99.toFixed(0)} ms` };
}

function latencyVerdict(sorted: readonly number[]): Pick<FigureLine, 'target' | 'met'> {
  return { target: `p99 <= ${latencyLimitMs} ms`, met: percentile(sorted, 0.99) <= latencyLimitMs };
}
