/**
 * A simulated collector. Some of its properties are defined by the scenario. The others, such as its version, change
 * during a run and form the collector's `Condition`.
 */
import type { CollectorProperties } from '../scenario/scenario.ts';

/** Properties of a simulated collector that change during a run, such as the version. */
export interface Condition {
  readonly version: string;
  readonly running: boolean;
  /** Time in ms since the epoch at which the collector stopped running. */
  readonly silentSinceMs: number;
  readonly present: boolean;
}

interface Past {
  readonly untilMs: number;
  readonly condition: Condition;
}

/** Time in ms for which past states of a collector are kept, because a fault can make the service list a past state. */
const rememberedMs = 3_600_000;
const heartbeatMs = 15_000;

export class SimulatedCollector {
  /** Id of the collector in decimal digits. */
  readonly id: string;
  readonly name: string;
  /** Name of the collector's group, if any. */
  readonly group: string | undefined;
  properties: CollectorProperties;
  now: Condition;
  /** Upgrade tasks that are neither finished nor timed out. */
  readonly activeTasks: SimulatedTask[] = [];
  /** Upgrades that are waiting for the collector to regain contact with the service. */
  readonly heldUpgrades: SimulatedTask[] = [];
  /** Number of upgrade tasks that the service accepted (status 202). */
  acceptedTasks = 0;
  /** Number of requests to create an upgrade task for the collector. */
  createTaskRequests = 0;
  #past: Past[] = [];
  #rendered: string | undefined;
  #renderedVersion: string | undefined;
  readonly #heartbeatPhaseMs: number;

  constructor(
    id: string,
    name: string,
    group: string | undefined,
    properties: CollectorProperties,
    condition: Condition,
  ) {
    this.id = id;
    this.name = name;
    this.group = group;
    this.properties = properties;
    this.now = condition;
    this.#heartbeatPhaseMs = (Number(id.slice(-5)) * 7) % heartbeatMs;
  }

  get hosted(): boolean {
    return this.properties.collectorType === 'Hosted';
  }

  change(changes: Partial<Condition>, atMs: number): void {
    this.#past.push({ untilMs: atMs, condition: this.now });
    if (this.#past.length > 4) this.#past = this.#past.filter(({ untilMs }) => untilMs > atMs - rememberedMs);
    this.now = { ...this.now, ...changes };
  }

  /** Sets the properties that the scenario defines. */
  describe(properties: CollectorProperties): void {
    this.properties = properties;
    this.#rendered = undefined;
  }

  /** Returns the collector's version and other properties at `atMs`, which must be within the last hour. */
  at(atMs: number): Condition {
    for (const { untilMs, condition } of this.#past) if (untilMs > atMs) return condition;
    return this.now;
  }

  /** Returns the last time, at or before `atMs`, at which the collector was in contact with the service. */
  lastSeenAliveMs(condition: Condition, atMs: number): number {
    const lastMs = condition.running ? atMs : Math.min(atMs, condition.silentSinceMs);
    return Math.floor((lastMs - this.#heartbeatPhaseMs) / heartbeatMs) * heartbeatMs + this.#heartbeatPhaseMs;
  }

  /** Reports whether the service lists the collector as alive. */
  isAlive(condition: Condition, atMs: number, aliveForMs: number): boolean {
    return condition.running || atMs - this.lastSeenAliveMs(condition, atMs) < aliveForMs;
  }

  /** Returns the collector's state at `atMs` as JSON. */
  render(atMs: number, aliveForMs: number): string {
    const condition = this.at(atMs);
    if (this.#rendered === undefined || this.#renderedVersion !== condition.version) {
      this.#rendered = this.#renderSteady(condition.version);
      this.#renderedVersion = condition.version;
    }
    const omit = this.properties.omit;
    let text = this.#rendered;
    if (!omit?.includes('lastSeenAlive')) text += `,"lastSeenAlive":${this.lastSeenAliveMs(condition, atMs)}`;
    if (!omit?.includes('alive')) text += `,"alive":${this.isAlive(condition, atMs, aliveForMs)}`;
    return `${text}}`;
  }

  /** Returns the collector's JSON without its last two members. This JSON rarely changes, so it is cached. */
  #renderSteady(version: string): string {
    const { properties } = this;
    const members: Readonly<Record<string, unknown>> = {
      hostName: hostNameOf(this.name, properties),
      timeZone: properties.timeZone ?? 'Etc/UTC',
      links: [{ rel: 'sources', href: `/v1/collectors/${this.id}/sources` }],
      ephemeral: properties.ephemeral ?? false,
      sourceSyncMode: properties.sourceSyncMode ?? 'UI',
      collectorType: properties.collectorType ?? 'Installable',
      collectorVersion: version,
      osVersion: properties.osVersion ?? '6.1.0',
      osName: properties.osName ?? 'Linux',
      osArch: properties.osArch ?? 'amd64',
    };
    const kept = Object.entries(members).filter(
      ([name]) => !(properties.omit as readonly string[] | undefined)?.includes(name),
    );
    const rest = kept.map(([name, value]) => `,${JSON.stringify(name)}:${JSON.stringify(value)}`).join('');
    return `{"id":${this.id},"name":${JSON.stringify(this.name)}${rest}`;
  }
}

export function hostNameOf(name: string, { hostName }: CollectorProperties): string {
  return hostName ?? `${name}.example.internal`;
}

export interface SimulatedTask {
  /** Id of the upgrade task in decimal digits. */
  readonly id: string;
  readonly collector: SimulatedCollector;
  readonly fromVersion: string;
  readonly toVersion: string;
  /** True if an event of the scenario created the upgrade task. */
  readonly foreign: boolean;
  readonly requestedMs: number;
  /**
   * Time in ms at which the task changes from status 0 (not started) to status 1 (pending). At `progressingAtMs`, the
   * task changes to `progressingStatus`.
   */
  readonly pendingAtMs: number;
  readonly progressingAtMs: number;
  readonly progressingStatus: number;
  /** Time in ms since the epoch at which the service starts to refuse other upgrades of the collector. */
  readonly lockedAtMs: number;
  readonly end: 'succeed' | 'fail' | 'hang';
  readonly endStatus: number | undefined;
  readonly endMessage: string;
  /** How and when the upgrade task ended. Undefined while the task is unfinished. */
  finished: { readonly status: number; readonly message: string; readonly atMs: number } | undefined;
  /** Time in ms at which the collector finished the upgrade. By then, the upgrade task may already have timed out. */
  collectorEndMs: number | undefined;
}
