/**
 * One collector of the simulated service: what it is, what it was before (for lists that lag), and how it is written.
 *
 * Invariant: `now` changes only through `change`, which keeps what was, so that `at` can tell for a named time how the
 * collector was seen then. The JSON of what does not move is kept, since pages of 1,000 are written again and again.
 */
import type { CollectorTraits } from '../scenario.ts';
import type { UpgradeTask } from './upgrade-task.ts';

/** What changes in the life of a collector. */
export interface Condition {
  readonly version: string;
  readonly running: boolean;
  /** When it was last known to run, ms since the epoch; counts while it does not. */
  readonly silentSinceMs: number;
  readonly present: boolean;
}

interface Past {
  readonly untilMs: number;
  readonly condition: Condition;
}

/** What is this old is forgotten: no list lags longer. */
const rememberedMs = 3_600_000;
const heartbeatMs = 15_000;

export class Collector {
  /** Decimal digits. */
  readonly id: string;
  readonly name: string;
  /** The group that it belongs to; undefined for one that stands alone. */
  readonly group: string | undefined;
  traits: CollectorTraits;
  now: Condition;
  /** Tasks that are neither finished nor given up. */
  readonly activeTasks: UpgradeTask[] = [];
  /** Upgrades that would have ended on it while it was silent. */
  readonly heldUpgrades: UpgradeTask[] = [];
  /** Answered 202. */
  acceptedTasks = 0;
  /** Requests to create a task, whatever came of them. */
  createTaskRequests = 0;
  #past: Past[] = [];
  #rendered: string | undefined;
  #renderedVersion: string | undefined;
  readonly #heartbeatPhaseMs: number;

  constructor(id: string, name: string, group: string | undefined, traits: CollectorTraits, condition: Condition) {
    this.id = id;
    this.name = name;
    this.group = group;
    this.traits = traits;
    this.now = condition;
    this.#heartbeatPhaseMs = (Number(id.slice(-5)) * 7) % heartbeatMs;
  }

  get hosted(): boolean {
    return this.traits.collectorType === 'Hosted';
  }

  change(changes: Partial<Condition>, atMs: number): void {
    this.#past.push({ untilMs: atMs, condition: this.now });
    if (this.#past.length > 4) this.#past = this.#past.filter(({ untilMs }) => untilMs > atMs - rememberedMs);
    this.now = { ...this.now, ...changes };
  }

  /** Takes over new traits; what they say about the condition is the caller's to apply. */
  describe(traits: CollectorTraits): void {
    this.traits = traits;
    this.#rendered = undefined;
  }

  /** How it was at `atMs`, an hour back at most. */
  at(atMs: number): Condition {
    for (const { untilMs, condition } of this.#past) if (untilMs > atMs) return condition;
    return this.now;
  }

  /** The last sign of life at or before `atMs`. */
  lastSeenAliveMs(condition: Condition, atMs: number): number {
    const lastMs = condition.running ? atMs : Math.min(atMs, condition.silentSinceMs);
    return Math.floor((lastMs - this.#heartbeatPhaseMs) / heartbeatMs) * heartbeatMs + this.#heartbeatPhaseMs;
  }

  /** What the service believes: it takes a silent one for alive for a while. */
  isAlive(condition: Condition, atMs: number, aliveForMs: number): boolean {
    return condition.running || atMs - this.lastSeenAliveMs(condition, atMs) < aliveForMs;
  }

  /** The collector as JSON (2.7), as it was at `atMs`. */
  render(atMs: number, aliveForMs: number): string {
    const condition = this.at(atMs);
    if (this.#rendered === undefined || this.#renderedVersion !== condition.version) {
      this.#rendered = this.#renderSteady(condition.version);
      this.#renderedVersion = condition.version;
    }
    const omit = this.traits.omit;
    let text = this.#rendered;
    if (!omit?.includes('lastSeenAlive')) text += `,"lastSeenAlive":${this.lastSeenAliveMs(condition, atMs)}`;
    if (!omit?.includes('alive')) text += `,"alive":${this.isAlive(condition, atMs, aliveForMs)}`;
    return `${text}}`;
  }

  /** All but the last two members, and without the closing brace. */
  #renderSteady(version: string): string {
    const { traits } = this;
    const members: Readonly<Record<string, unknown>> = {
      hostName: traits.hostName ?? `${this.name}.example.internal`,
      timeZone: traits.timeZone ?? 'Etc/UTC',
      links: [{ rel: 'sources', href: `/v1/collectors/${this.id}/sources` }],
      ephemeral: traits.ephemeral ?? false,
      sourceSyncMode: traits.sourceSyncMode ?? 'UI',
      collectorType: traits.collectorType ?? 'Installable',
      collectorVersion: version,
      osVersion: traits.osVersion ?? '6.1.0',
      osName: traits.osName ?? 'Linux',
      osArch: traits.osArch ?? 'amd64',
    };
    const kept = Object.entries(members).filter(
      ([name]) => !(traits.omit as readonly string[] | undefined)?.includes(name),
    );
    const rest = kept.map(([name, value]) => `,${JSON.stringify(name)}:${JSON.stringify(value)}`).join('');
    return `{"id":${this.id},"name":${JSON.stringify(this.name)}${rest}`;
  }
}
