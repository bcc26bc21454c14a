/** Simulates the service, the API server and the operator's processes, and records everything for the checks. */
import type { JournalEntry } from '../../simulator/requests/journal.ts';
import { annotations } from '../../src/api/annotations.ts';
import type { CollectorVersionPolicyStatus } from '../../src/api/generated/collector-version-policy.ts';
import type { CollectorVersionPolicy } from '../../src/api/kinds.ts';
import { seededRandom } from '../../src/base/random.ts';
import { type Decision, decide } from '../../src/policy/decide.ts';
import type { DecideInput } from '../../src/policy/rollout/decide-input.ts';
import type { TransportRequest, TransportResponse } from '../../src/service/transport/transport.ts';
import type { RequestFault, RequestInfo } from '../support/memory-api-server.ts';
import type { ApiObject, StoreEvent } from '../support/memory-api-store.ts';
import type { WatchFault } from '../support/memory-watch.ts';
import { checkedDecide } from '../support/pure-decide.ts';
import { type Sending, SimulatedProcess } from '../support/simulated-process.ts';
import { ledgersPath, policiesPath, settingsPath, World } from '../support/world.ts';
import { ApiFaults } from './api-faults.ts';
import { Chance } from './chance.ts';
import type { Truth } from './convergence.ts';
import type { HistoryPlan } from './plan.ts';
import type { PolicySpec } from './planned-policies.ts';
import {
  type Death,
  type Disturbance,
  type HistoryRecord,
  type LedgerWrite,
  type PolicyChange,
  type PostRecord,
  type SettingsChange,
  type Sighting,
  type StatusRecord,
  type TaskNews,
  versionLookMs,
} from './record.ts';
import { intentOf, ledgerWrite, type RecordedShards } from './recorded-ledger.ts';
import { isApproval } from './rollouts.ts';

const coordinationPath = '/apis/coordination.k8s.io/v1/namespaces/logfleet-system/leases/logfleet-operator';
const policiesCollection = 'logfleet.dev/v1alpha1/collectorversionpolicies';
const ledgersCollection = 'logfleet.dev/v1alpha1/ledgers';
const upgradesPath = '/v1/collectors/upgrades';
/**
 * Maximum time in ms from a request to a recorded response. Later responses are not recorded, because the process might
 * no longer be waiting for them.
 */
const heardWithinMs = 2_000;
/** Number of decisions per check for side effects. Checking all decisions would take too long. */
const checkedShare = 10;

interface StoredLedger {
  readonly owner: { readonly uid: string };
  readonly shard: string;
  readonly content: string;
}

interface KillAtRequest {
  requestsLeft: number;
  readonly when: 'before' | 'after';
  readonly againAfterMs: number;
}

export class SimulationWorld extends World {
  readonly #plan: HistoryPlan;
  readonly #chance: Chance;
  readonly #apiFaults: ApiFaults;
  readonly #trace: ((line: string) => void) | undefined;
  readonly #processes: SimulatedProcess[] = [];
  readonly #dueKills = new Map<SimulatedProcess, KillAtRequest>();
  readonly #deaths: Death[] = [];
  #names = 0;
  #decisions = 0;
  readonly #impurities: string[] = [];
  #calm = false;
  readonly #posts: PostRecord[] = [];
  readonly #pendingPosts = new Map<TransportRequest, PostRecord>();
  readonly #sightings = new Map<string, Sighting[]>();
  readonly #statuses: StatusRecord[] = [];
  readonly #policyChanges: PolicyChange[] = [];
  readonly #disturbances: Disturbance[] = [];
  readonly #versions = new Map<string, { version: string; sinceMs: number }[]>();
  readonly #settingsChanges: SettingsChange[] = [];
  readonly #taskNews: TaskNews[] = [];
  readonly #ledgerWrites: LedgerWrite[] = [];
  #backup: readonly ApiObject[] = [];
  #largestShardBytes = 0;

  constructor(plan: HistoryPlan, trace?: (line: string) => void) {
    const { scenario, latencyMs, jitterMs } = plan;
    super({ scenario, seed: plan.seed + 1, latencyMs, jitterMs, garbageCollectionMs: 200 });
    this.#plan = plan;
    this.#trace = trace;
    this.#chance = new Chance(plan.seed ^ 0x5eed);
    this.#apiFaults = new ApiFaults(plan.apiFaults, this.#chance);
    this.api.onRequest = (info) => this.#requestFault(info);
    this.api.onWatchEvent = () => this.#watchFault();
    this.#followStore();
    this.onRequest = (entry) => this.note(`service ${describeEntry(entry, this.model.startMs)}`);
    this.addSecret();
    this.#followVersions();
  }

  note(what: string): void {
    this.#trace?.(`${seconds(this.clock.monotonic())} ${what}`);
  }

  calm(): void {
    this.#calm = true;
    this.#dueKills.clear();
    this.note('calm');
  }

  createPolicy({ name, spec }: PolicySpec): void {
    if (!this.policy(name)) this.addPolicy(name, spec, { annotations: {} });
  }

  deletePolicy(name: string): void {
    if (this.policy(name)) this.api.remove(`${policiesPath}/${name}`);
  }

  patchPolicy(name: string, patch: object): void {
    if (this.policy(name)) this.api.patch(`${policiesPath}/${name}`, patch);
  }

  /** Annotates the current rollout, as a user would. Does nothing if there is no rollout. */
  annotateRollout(name: string, annotation: string, what: string): void {
    const policy = this.policy(name);
    const id = policy?.status?.rollout?.id;
    if (id !== undefined) this.patchPolicy(name, { metadata: { annotations: { [annotation]: `${id}/${what}` } } });
  }

  /** Acts as a user who approves waiting and inconclusive stages every `everyMs`. */
  approve(name: string, everyMs: number): void {
    const policy = this.policy(name);
    const { stages, rollout } = policy?.status ?? {};
    const waiting = rollout?.stopped?.reason === 'StageInconclusive' ? 'Stopped' : 'AwaitingApproval';
    const stage = stages?.find(({ state }) => state === waiting)?.name;
    if (stage !== undefined) {
      // A rollback voids the approval, so the same stage needs a new annotation value (R9).
      const isThere = isApproval(policy?.metadata.annotations[annotations.approve], rollout?.id, stage);
      const mark = isThere ? `/${Math.round(this.clock.monotonic())}` : '';
      this.annotateRollout(name, annotations.approve, `${stage}${mark}`);
    }
    this.clock.after(everyMs, () => this.approve(name, everyMs));
  }

  /** Sets or clears the kill switch. */
  pauseAll(paused: boolean): void {
    const data = { paused: String(paused) };
    this.#settingsChanges.push({ atMs: this.clock.monotonic(), paused });
    if (this.api.get(`${settingsPath}/logfleet-settings`)) {
      this.api.patch(`${settingsPath}/logfleet-settings`, { data });
      return;
    }
    const metadata = { name: 'logfleet-settings', namespace: 'logfleet-system' };
    this.api.create(settingsPath, { apiVersion: 'v1', kind: 'ConfigMap', metadata, data });
  }

  backUp(): void {
    this.#backup = this.#ledgerObjects();
  }

  /** Kills all processes, restores the ledgers from the last backup, and starts new processes. */
  restore(): void {
    const ended = [...this.#processes];
    for (const process of ended) {
      this.#remove(process);
      process.kill();
    }
    this.#disturb('restore');
    for (const { metadata } of this.#ledgerObjects()) this.api.remove(`${ledgersPath}/${metadata.name}`);
    const isHead = (object: ApiObject) => (object as unknown as StoredLedger).shard === 'head';
    // The `head` object is created last, because it refers to the other objects of the ledger.
    const ordered = [...this.#backup].sort((left, right) => Number(isHead(left)) - Number(isHead(right)));
    for (const { metadata, ...rest } of ordered) {
      const { name, namespace, labels, ownerReferences } = metadata;
      this.api.create(ledgersPath, { ...rest, metadata: { name, namespace, labels, ownerReferences } });
    }
    for (const _ of ended) this.startProcess();
  }

  startProcess(): SimulatedProcess {
    const name = `replica-${++this.#names}`;
    const process = new SimulatedProcess({
      name,
      clock: this.clock,
      api: this.api,
      service: this.service,
      observer: {
        sending: (by, request) => this.#sending(by, request),
        sent: (by, request) => this.#sent(by, request),
        answered: (by, request, response) => this.#answered(by, request, response),
        divert: (request) => this.#divert(request),
      },
      settings: this.#plan.settings,
      decide: (input) => this.#decide(input),
      random: seededRandom(this.#plan.seed + 100 * this.#names),
      host: { leaderElection: this.#plan.leaderElection },
      skewMs: this.#plan.skewMs * (this.#names % 2 === 0 ? -1 : 1),
    });
    this.#processes.push(process);
    this.note(`start ${name}`);
    process.start();
    return process;
  }

  process(index: number): SimulatedProcess | undefined {
    return this.#processes[index % Math.max(1, this.#processes.length)];
  }

  kill(process: SimulatedProcess | undefined, againAfterMs: number): void {
    if (!process || !this.#remove(process)) return;
    this.#disturb(`kill ${process.name}`);
    process.kill();
    this.clock.after(againAfterMs, () => this.startProcess());
  }

  stop(process: SimulatedProcess | undefined, againAfterMs: number): void {
    if (!process?.running || !this.#remove(process)) return;
    this.#disturb(`stop ${process.name}`);
    void process.stop().then(() => {
      this.#disturb(`stopped ${process.name}`);
      this.clock.after(againAfterMs, () => this.startProcess());
    });
  }

  freeze(process: SimulatedProcess | undefined, forMs: number): void {
    if (!process?.running) return;
    this.#disturb(`freeze ${process.name}`);
    process.freeze();
    this.clock.after(forMs, () => {
      this.#disturb(`thaw ${process.name}`);
      process.thaw();
    });
  }

  killAtRequest(
    process: SimulatedProcess | undefined,
    due: Omit<KillAtRequest, 'requestsLeft'> & { readonly request: number },
  ): void {
    if (process)
      this.#dueKills.set(process, { requestsLeft: due.request, when: due.when, againAfterMs: due.againAfterMs });
  }

  /** Current state of the simulated world. */
  truth(): Truth {
    return {
      nowMs: this.clock.monotonic(),
      plan: this.#plan,
      state: this.snapshot(),
      policies: this.#policies(),
      ledgers: this.#ledgers(),
      posts: this.#posts,
      statuses: this.#statuses,
      policyChanges: this.#policyChanges,
      settingsChanges: this.#settingsChanges,
    };
  }

  postsSince(atMs: number): number {
    return this.#posts.filter((post) => post.atMs > atMs).length;
  }

  record(convergedAtMs: number | undefined, missing: readonly string[]): HistoryRecord {
    return {
      ...this.truth(),
      startMs: this.model.startMs,
      journal: this.journal,
      api: this.api.requests,
      sightings: this.#sightings,
      ledgerWrites: this.#ledgerWrites,
      taskNews: this.#taskNews,
      deaths: this.#deaths,
      disturbances: this.#disturbances,
      versions: this.#versions,
      largestShardBytes: this.#largestShardBytes,
      convergedAtMs,
      missing,
      impurities: this.#impurities,
      endMs: this.clock.monotonic(),
    };
  }

  /** Decides as the operator does. Checks every tenth decision for side effects. */
  #decide(input: DecideInput): Decision {
    if (this.#decisions++ % checkedShare !== 0) return decide(input);
    try {
      return checkedDecide(input);
    } catch (error) {
      this.#impurities.push(String(error));
      return decide(input);
    }
  }

  end(): void {
    for (const process of this.#processes.splice(0)) process.kill();
  }

  #remove(process: SimulatedProcess): boolean {
    const index = this.#processes.indexOf(process);
    if (index >= 0) this.#processes.splice(index, 1);
    return index >= 0;
  }

  #policies(): CollectorVersionPolicy[] {
    return this.api.store.objects(policiesCollection) as unknown as CollectorVersionPolicy[];
  }

  #ledgerObjects(): readonly ApiObject[] {
    return this.api.store.objects(ledgersCollection);
  }

  #ledgers(): ReadonlyMap<string, RecordedShards> {
    const ledgers = new Map<string, Map<string, string>>();
    for (const object of this.#ledgerObjects()) {
      const { owner, shard, content } = object as unknown as StoredLedger;
      const shards = ledgers.get(owner.uid) ?? new Map<string, string>();
      ledgers.set(owner.uid, shards.set(shard, content));
    }
    return ledgers;
  }

  #disturb(what: string): void {
    this.#disturbances.push({ atMs: this.clock.monotonic(), what });
    this.note(what);
  }

  #requestFault(info: RequestInfo): RequestFault | undefined {
    const fault = this.#calm ? undefined : this.#apiFaults.ofRequest(this.clock.monotonic());
    if (fault && info.collection === ledgersCollection)
      this.#disturb(`api fault ${fault.kind} ${info.method} ${info.name}`);
    return fault;
  }

  #watchFault(): WatchFault | undefined {
    return this.#calm ? undefined : this.#apiFaults.ofWatch(this.clock.monotonic());
  }

  #followStore(): void {
    const publish = this.api.store.onEvent;
    this.api.store.onEvent = (event) => {
      this.#noteEvent(event);
      publish(event);
    };
  }

  #noteEvent({ collection, type, object }: StoreEvent): void {
    const atMs = this.clock.monotonic();
    if (collection === ledgersCollection) {
      const ledger = object as unknown as StoredLedger;
      this.#largestShardBytes = Math.max(this.#largestShardBytes, Buffer.byteLength(ledger.content));
      if (type !== 'DELETED' && ledger.shard === 'head') this.#noteLedger(ledger.owner.uid, atMs);
      return;
    }
    if (collection !== policiesCollection) return;
    const policy = object as unknown as CollectorVersionPolicy;
    const { uid, name } = policy.metadata;
    const last = this.#policyChanges.findLast((change) => change.policy.metadata.uid === uid);
    const changed = last?.policy.metadata.generation !== policy.metadata.generation;
    const annotated = JSON.stringify(last?.policy.metadata.annotations) !== JSON.stringify(policy.metadata.annotations);
    if (!last || changed || annotated || type === 'DELETED') {
      this.#policyChanges.push({ atMs, policy, deleted: type === 'DELETED' });
      return;
    }
    const status = policy.status as CollectorVersionPolicyStatus;
    this.#statuses.push({ atMs, policy: name, uid, status });
    this.note(
      `status ${name} ${JSON.stringify(status.collectors)} ${status.conditions?.map((one) => `${one.type}=${one.status}/${one.reason}`)}`,
    );
  }

  #noteLedger(policy: string, atMs: number): void {
    const write = ledgerWrite(atMs, policy, this.#ledgers().get(policy) ?? new Map());
    const before = this.#ledgerWrites.findLast((other) => other.policy === policy);
    if (JSON.stringify({ ...before, atMs }) === JSON.stringify(write)) return;
    this.#ledgerWrites.push(write);
    this.note(`ledger ${JSON.stringify(write)}`);
  }

  #followVersions(): void {
    this.#lookAtVersions();
    this.clock.after(versionLookMs, () => this.#followVersions());
  }

  #lookAtVersions(): void {
    const { collectors } = this.snapshot();
    for (const { id, name, version } of collectors) {
      const known = this.#versions.get(id);
      if (!known) this.#versions.set(id, [{ version, sinceMs: this.clock.monotonic() }]);
      else if (known.at(-1)?.version !== version) {
        known.push({ version, sinceMs: this.clock.monotonic() });
        this.#planDeath(name);
      }
    }
  }

  /** Takes a collector offline after its first upgrade if the plan says so. */
  #planDeath(name: string): void {
    const death = this.#plan.deaths.find((one) => one.name === name);
    if (!death || this.#deaths.some((one) => one.name === name)) return;
    const { afterMs, againAfterMs } = death;
    const atMs = this.clock.monotonic() + afterMs;
    this.#deaths.push({ name, atMs, untilMs: atMs + (againAfterMs ?? Number.POSITIVE_INFINITY) });
    const run = (running: boolean) => {
      this.note(`${name} ${running ? 'returns' : 'goes offline'}`);
      this.model.patch({ collectors: { [name]: { running } } }, this.service.nowMs());
    };
    this.clock.after(afterMs, () => run(false));
    if (againAfterMs !== undefined) this.clock.after(afterMs + againAfterMs, () => run(true));
  }

  #sending(process: SimulatedProcess, sending: Sending): void {
    if (this.#countsDown(process, sending, 'before')) return;
    if (sending.to === 'service' && sending.request.method === 'POST') this.#notePost(process, sending.request);
  }

  #sent(process: SimulatedProcess, sending: Sending): void {
    this.#countsDown(process, sending, 'after');
  }

  /**
   * Counts a process's requests up to its planned kill, and kills it at that request. Returns true if this request
   * killed the process.
   */
  #countsDown(process: SimulatedProcess, sending: Sending, when: 'before' | 'after'): boolean {
    const due = this.#dueKills.get(process);
    if (!due || due.when !== when || (sending.to === 'api' && sending.request.path.includes('/leases'))) return false;
    if (--due.requestsLeft > 0) return false;
    this.#dueKills.delete(process);
    this.note(`killed ${when} ${sending.request.method} ${sending.request.path}`);
    this.kill(process, due.againAfterMs);
    return true;
  }

  #notePost(process: SimulatedProcess, request: TransportRequest): void {
    const { collectorId, toVersion } = decodeOrder(request.body ?? '');
    this.#lookAtVersions();
    const post: PostRecord = {
      atMs: this.clock.monotonic(),
      process: process.name,
      collectorId,
      toVersion,
      known: [...process.host.resources('CollectorVersionPolicy').list()],
      leaseHolder: this.#leaseHolder(),
      truth: this.#versions.get(collectorId)?.at(-1),
      repeats: this.#posts.some((other) => other.collectorId === collectorId && other.toVersion === toVersion),
      wallMs: process.wallMs,
      knownAllPaused: process.host.settings().pausedBy !== undefined,
      intent: intentOf(this.#ledgers(), collectorId, toVersion),
      response: undefined,
    };
    this.#posts.push(post);
    this.#pendingPosts.set(request, post);
    this.note(`post ${process.name} ${collectorId} to ${toVersion}`);
  }

  #leaseHolder(): string | undefined {
    const lease = this.api.get(coordinationPath) as
      | { readonly spec?: { readonly holderIdentity?: string } }
      | undefined;
    return lease?.spec?.holderIdentity;
  }

  #answered(process: SimulatedProcess, { atMs, request }: Sending, response: TransportResponse): void {
    const post = this.#pendingPosts.get(request as TransportRequest);
    if (post) {
      // Without a task id in the response, the operator does not know whether the service accepted the upgrade.
      const understood = response.status !== 202 || Buffer.from(response.body).includes('"id"');
      const taskId =
        response.status === 202 ? /"id":"(\d+)"/.exec(Buffer.from(response.body).toString('utf8'))?.[1] : undefined;
      post.response = { status: understood ? response.status : 0, atMs: this.clock.monotonic(), taskId };
      this.#pendingPosts.delete(request as TransportRequest);
    } else if (request.path.includes(`${upgradesPath}/collectors`) && response.status === 200) {
      this.#noteSightings(process, atMs, response.body);
    } else if (request.method === 'GET' && response.status === 200) {
      this.#noteTask(process, atMs, request.path, response.body);
    }
  }

  #noteTask(process: SimulatedProcess, sentAtMs: number, path: string, body: Uint8Array): void {
    const atMs = this.clock.monotonic();
    const asked = /\/v1\/collectors\/upgrades\/(\d+)$/.exec(path)?.[1];
    if (asked === undefined || atMs - sentAtMs > heardWithinMs) return;
    const [, taskId, code] = /"id":(\d+),.*?"status":(\d)/.exec(Buffer.from(body).toString('utf8')) ?? [];
    if (taskId !== asked || (code !== '2' && code !== '3')) return;
    this.#taskNews.push({ atMs, process: process.name, taskId, outcome: code === '2' ? 'succeeded' : 'failed' });
  }

  #noteSightings(process: SimulatedProcess, sentAtMs: number, body: Uint8Array): void {
    for (const [, id, version] of Buffer.from(body)
      .toString('utf8')
      .matchAll(/"id":(\d+),.*?"collectorVersion":"([^"]*)"/g)) {
      const sightings = this.#sightings.get(id as string) ?? [];
      this.#sightings.set(id as string, sightings);
      sightings.push({ sentAtMs, process: process.name, version: version as string });
    }
  }

  /** Replaces the task id in some status requests, so that the response is about another task (U4). */
  #divert(request: TransportRequest): TransportRequest {
    if (this.#calm || this.#plan.mixedUpTasks === 0 || request.method !== 'GET') return request;
    const match = /^(.*\/v1\/collectors\/upgrades\/)(\d+)$/.exec(request.path);
    if (!match || !this.#chance.happens(this.#plan.mixedUpTasks)) return request;
    return { ...request, path: `${match[1]}${Number(match[2]) + this.#chance.one([-1, 1, 2])}` };
  }
}

function decodeOrder(body: string): { collectorId: string; toVersion: string } {
  const [, collectorId = '', toVersion = ''] = /"collectorId":(\d+),"toVersion":"([^"]*)"/.exec(body) ?? [];
  return { collectorId, toVersion };
}

function describeEntry(
  { at, operation, status, code, fault, collectorId, taskId, path }: JournalEntry,
  startMs: number,
): string {
  const about = operation === 'createTask' ? ` ${collectorId}${taskId === null ? '' : ` task ${taskId}`}` : ` ${path}`;
  return `${operation}${about} -> ${status} ${code ?? ''}${fault === null ? '' : ` (${fault})`} arrived ${seconds(at - startMs)}`;
}

function seconds(ms: number): string {
  return (ms / 1_000).toFixed(3).padStart(9);
}
